"""What the generators share: words with tags and an evidence mark, put together to an example.

A clause is a list of (word, universal tag, is evidence); an example is the dict that a generator
returns.
"""


def choose(rng, options):
    """One of `options`, uniformly, drawn with the numpy Generator `rng`."""
    return options[rng.integers(len(options))]


def phrase(tagged, evidence=()):
    """Clause from "word/TAG word/TAG ..."; the words named in `evidence` are marked as evidence."""
    pairs = [item.rsplit("/", 1) for item in tagged.split()]
    return [(word, tag, word in evidence) for word, tag in pairs]


def join(clauses, separator=","):
    """Clauses with `separator` between them and a full stop at the end."""
    words = []
    for clause in clauses:
        words += [*clause, (separator, "PUNCT", False)]
    return [*words[:-1], (".", "PUNCT", False)]


def example(words, label, kind, text_b=""):
    """Example from marked words: text, text_b, label, evidence (word indices), pos (tags), kind."""
    return {
        "text": " ".join(word for word, _, _ in words),
        "text_b": text_b,
        "label": int(label),
        "evidence": [i for i, (_, _, evidence) in enumerate(words) if evidence],
        "pos": [tag for _, tag, _ in words],
        "kind": kind,
    }
