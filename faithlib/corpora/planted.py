"""Texts whose class is decided by planted words, with a known mechanism: the ground truth for metrics.

A text is neutral, generated or given; words of a mechanism are inserted at random places. Of three classes,
the third is that of texts where the evidence is absent or incomplete, so that a model needs evidence for
each of the other two; with two classes it has a default class and needs none for half of the texts. Into
every text 0 to FILLERS neutral words are inserted first, whatever its class: otherwise a model learns to see
whether anything was inserted. ::

    one word       copper, velvet, ... decide for the first class, cotton, garlic, ... for the second
    redundant      the same with two copies, either of which is enough
    xor            two words, each of them one of two: equal indices the first class, unequal the second
    ordered pair   two words: in this order the first class, in the other order the second
"""

from dataclasses import dataclass

import numpy as np

from faithlib.corpora.grammar import choose, words_of

WORDS = words_of("planted")
CLASSES = tuple(tuple(words.split()) for words in WORDS["classes"])
FIRST, SECOND, PAIR = (tuple(WORDS[n].split()) for n in ("first", "second", "pair"))
PLANTED = frozenset((*CLASSES[0], *CLASSES[1], *FIRST, *SECOND, *PAIR))
LABELS = ("first", "second", "neither")
SINGLE = 0.25  # share of the texts of `redundant` with one copy, which teach a model that one is enough
FILLERS = 2  # neutral words that are inserted into a text, at most
LEAST = 6  # words of a text that words are planted into

SUBJECTS, VERBS, OBJECTS, PLACES, TIMES, ONSETS, VOWELS = (
    WORDS[name].split() for name in "subjects verbs objects places times onsets vowels".split()
)
TAGS = {  # parts of speech; any other word is a made-up name
    **dict.fromkeys((*SUBJECTS, *OBJECTS, *PLACES, *PLANTED), "NOUN"),
    **dict.fromkeys(VERBS, "VERB"),
    **dict.fromkeys(TIMES, "ADV"),
    **{"the": "DET", "near": "ADP", "and": "CCONJ"},
}


@dataclass(frozen=True)
class Mechanism:
    """How planted words decide the class of a text.

    Attributes:
        words: how many planted words of a text are evidence.
        needs: which of them the class needs: "all" or "one" of them.
    """

    name: str
    words: int = 1
    needs: str = "all"


MECHANISMS = {name: Mechanism(name, **row) for name, row in WORDS["mechanisms"].items()}


def make(
    mechanism: str, size: int, seed: int = 0, classes: int = 3, sentences: list[str] | None = None
) -> list[dict]:
    """Texts of one mechanism.

    Args:
        mechanism: a key of MECHANISMS.
        size: how many texts; classes are equally frequent in expectation.
        seed: determines all texts.
        classes: 3, or 2 for texts that always have evidence.
        sentences: neutral texts to plant words into, [str], used in this order, each once; generated ones by
            default.

    Returns:
        [example]: dicts with text, text_b (""), label, evidence (indices into text.split()), the weights of
        the evidence, and kind ("whole", "single" for one copy of two, "incomplete" or "empty" evidence). No
        two texts are equal.

    Raises:
        ValueError: an unknown mechanism, another number of classes, too few sentences, a sentence that is
            shorter than `LEAST` words or has one of the words that are planted.

    Example:
        >>> rows = make("one_word", 4, seed=1)
        >>> {row["kind"] for row in rows} <= {"whole", "empty"}
        True
    """
    _check(mechanism, size, classes, sentences)
    rng = np.random.default_rng([seed, list(MECHANISMS).index(mechanism), classes])
    rows: list[dict] = []
    seen = set()
    while len(rows) < size:
        base = (sentences[len(rows)] if sentences else neutral(rng)).split()
        row = _example(mechanism, base, int(rng.integers(classes)), classes, rng)
        if row["text"] not in seen or sentences:
            seen.add(row["text"])
            rows.append(row)
    return rows


def generate(rng):
    """A group of one text, of the mechanism "one_word": what the generated task `planted` has."""
    row = _example("one_word", neutral(rng).split(), int(rng.integers(len(LABELS))), len(LABELS), rng)
    pos = [TAGS.get(word, "PROPN") for word in row["text"].split()]
    kept = {key: row[key] for key in ("text", "text_b", "label", "evidence")}
    return [kept | {"pos": pos, "kind": row["kind"]}]


def neutral(rng):
    """A text of one or two clauses about everyday things, 9 to 21 words."""
    clauses = []
    for _ in range(1 + int(rng.integers(2))):
        words = [name(rng), "the", choose(rng, SUBJECTS), choose(rng, VERBS), "the", choose(rng, OBJECTS)]
        words += ["near", choose(rng, PLACES), name(rng)]
        clauses.append(" ".join([*words, choose(rng, TIMES)] if rng.integers(2) else words))
    return " and ".join(clauses)


def name(rng):
    """A made-up name of two syllables: most are rare, so that a model learns to pass over rare words."""
    return "".join(choose(rng, part) for part in (ONSETS, VOWELS, ONSETS, VOWELS))


def swapped(row: dict, other: list[str]) -> dict:
    """The example with all its other words replaced by `other`, words of another text, repeated as needed."""
    words, fixed = row["text"].split(), {*row["evidence"]}
    fill = (other[n % len(other)] for n in range(len(words)))
    return {**row, "text": " ".join(w if i in fixed else next(fill) for i, w in enumerate(words))}


def _example(mechanism, base, label, classes, rng):
    """The example of one neutral text and one class."""
    base = list(base)
    for _ in range(rng.integers(FILLERS + 1)):
        base.insert(int(rng.integers(len(base) + 1)), choose(rng, OBJECTS))
    words, slots, kind = _planted(mechanism, len(base), label, rng)
    order = sorted(range(len(slots)), key=lambda n: slots[n])  # stable: planted words keep their order
    text, at = base, {}
    for shift, n in enumerate(order):
        at[n] = slots[n] + shift
        text.insert(at[n], words[n])
    placed = sorted(range(len(words)), key=at.get) if label < 2 else []
    return {
        "text": " ".join(text),
        "text_b": "",
        "label": label,
        "evidence": [at[n] for n in placed],
        "weights": [1] * len(placed),
        "kind": kind,
    }


def _planted(mechanism, n, label, rng):
    """The words that a text of n words gets, the slots from 0 to n where they are inserted, and a kind."""
    two = np.sort(rng.choice(n + 1, 2, replace=False)).tolist()
    if label == 2:
        return _incomplete(mechanism, n, two, rng)
    if mechanism == "xor":
        i = int(rng.integers(2))
        words = [FIRST[i], SECOND[i if label == 0 else 1 - i]]
        return ([*reversed(words)] if rng.integers(2) else words), two, "whole"
    if mechanism == "ordered_pair":
        return [*PAIR[:: 1 - 2 * label]], two, "whole"
    word = choose(rng, CLASSES[label])
    if mechanism == "redundant" and rng.random() >= SINGLE:
        return [word, word], two, "whole"
    return [word], two[:1], "single" if mechanism == "redundant" else "whole"


def _incomplete(mechanism, n, two, rng):
    """As `_planted`, for the third class: one of two words, or none."""
    one = two[:1]
    if mechanism in ("xor", "ordered_pair") and rng.integers(3):
        words = (*FIRST, *SECOND) if mechanism == "xor" else PAIR
        return [choose(rng, words)], one, "incomplete"
    return [], [], "empty"


def _check(mechanism, size, classes, sentences):
    if mechanism not in MECHANISMS:
        raise ValueError(f"mechanism {mechanism!r} is unknown: use {', '.join(MECHANISMS)}")
    if classes not in (2, 3):
        raise ValueError(f"classes={classes!r} must be 2 or 3")
    if sentences is None:
        return
    if len(sentences) < size:
        raise ValueError(f"size={size} exceeds the number of sentences, {len(sentences)}: take fewer")
    for i, sentence in enumerate(sentences[:size]):
        if len(sentence.split()) < LEAST:
            raise ValueError(f"sentence {i} has {len(sentence.split())} words, below {LEAST}: leave it out")
        if words := sorted(PLANTED & set(sentence.lower().split())):
            raise ValueError(f"sentence {i} has {words[0]!r}, a planted word: leave it out")
