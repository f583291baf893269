"""Helpers of the generators: clauses of tagged words with evidence marks, and examples made from them.

A clause is a list of (word, universal part-of-speech tag, is evidence). An example is a dict that a generator
returns.
"""

import tomllib
from pathlib import Path

import numpy as np


def words_of(corpus):
    """The words and wordings of a corpus, {name: what words/<corpus>.toml holds}."""
    path = Path(__file__).parent / "words" / f"{corpus}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def choose(rng, options):
    """One of `options`, uniformly, drawn with the numpy Generator `rng`."""
    return options[rng.integers(len(options))]


def phrase(tagged, evidence=()):
    """The clause of "word/TAG word/TAG ..."; the words in `evidence` are marked as evidence."""
    pairs = [item.rsplit("/", 1) for item in tagged.split()]
    return [(word, tag, word in evidence) for word, tag in pairs]


def join(clauses, separator=","):
    """The words of clauses, with `separator` between them and a full stop at the end."""
    words = []
    for clause in clauses:
        words += [*clause, (separator, "PUNCT", False)]
    return [*words[:-1], (".", "PUNCT", False)]


def example(words, label, kind, text_b=""):
    """The example of marked words, [(word, tag, is evidence)].

    It is {"text", "text_b", "label", "evidence": indices into text.split(), "pos": [universal tag of each
    word], "kind": the generator's name for this kind of example}.
    """
    return {
        "text": " ".join(word for word, _, _ in words),
        "text_b": text_b,
        "label": int(label),
        "evidence": [i for i, (_, _, evidence) in enumerate(words) if evidence],
        "pos": [tag for _, tag, _ in words],
        "kind": kind,
    }


def with_gaps(text, seed):
    """A text with words left out at random, from none to four fifths of them: what a judge learns from."""
    words, draw = np.array(text.split()), np.random.default_rng([seed, *text.encode()])
    left = draw.random(len(words)) < draw.uniform(0.2, 1)
    return " ".join(words[left] if left.any() else words[-1:])
