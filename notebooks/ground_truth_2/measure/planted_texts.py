"""Texts with planted evidence of version 2: which class they have, and how their words decide it."""

from dataclasses import dataclass

import numpy as np

from faithlib.corpora import planted
from faithlib.statistics import stream

GRADES = 4, 2, 1  # weights of the words of a class, where evidence is graded
SLOPE = 0.35  # of the log odds of the first class, for each unit of weight
WHOLE = 0.35  # share of graded texts that have all three words of one class
PRESENT = 0.55  # chance of each word of a text in all others, whose class is drawn word by word
SIZES = {"validation": 300, "test": 1_500}
LENGTHS = {12: 1, 40: 3, 120: 8}  # words of a neutral text, about: neutral texts that it joins


@dataclass(frozen=True)
class Planted:
    """A mechanism of version 2.

    Attributes:
        corpus: the key of `corpora.planted.MECHANISMS`, or "graded".
        needs: what the class needs of its evidence: "one" of two words, "all", or the "sum" of weights.
        words: how many words of a scored text are evidence.
        classes: 2 or 3. With 3, texts without whole evidence are a class of their own; with 2, one of the
            classes is what a model says by default.
        train_size, epochs: training texts, and passes over them.
    """

    name: str
    corpus: str
    needs: str
    words: int
    classes: int
    train_size: int
    epochs: int

    @property
    def labels(self):
        """The names of the classes."""
        return planted.LABELS[: self.classes]


PLANTED = {
    p.name: p
    for p in (
        Planted("redundant", "redundant", "one", 2, 3, 6_000, 6),
        Planted("xor", "xor", "all", 2, 3, 12_000, 8),
        Planted("ordered_pair", "ordered_pair", "all", 2, 3, 12_000, 8),
        Planted("graded", "graded", "sum", 3, 2, 12_000, 6),
        Planted("default_class", "one_word", "all", 1, 2, 5_000, 5),
    )
}


def texts(mechanism, seed, length=12):
    """The texts of a mechanism and seed: {split: [example]}, splits "train", "validation" and "test".

    Examples are as `corpora.planted.make` returns them; graded ones also have `p`, the chance of their class
    "first" in [0, 1]. `joined` is how many neutral texts an example joins. length: of LENGTHS;
    above 12, half of the texts of every split are so long and all others short.
    """
    sizes = {"train": mechanism.train_size, **SIZES}
    count = sum(sizes.values())
    joined = [1] * count
    if length != 12:
        joined = stream("lengths", length, seed).choice([1, LENGTHS[length]], count).tolist()
    if mechanism.corpus == "graded":
        rows = graded(count, seed, joined)
    else:
        generator = stream("neutral texts", length, seed)
        sentences = None if length == 12 else [neutral(n, generator) for n in joined]
        rows = planted.make(mechanism.corpus, count, seed, mechanism.classes, sentences)
    rows = [{**row, "joined": n} for row, n in zip(rows, joined, strict=True)]
    splits, first = {}, 0
    for split, size in sizes.items():
        splits[split] = rows[first : first + size]
        first += size
    return splits


def chance(total):
    """The chance of the first class, σ(SLOPE · total), in (0, 1).

    total: sum of the weights of words of the first class less that of the second.

    >>> chance(0), round(chance(7), 2)
    (0.5, 0.92)
    """
    return float(1 / (1 + np.exp(-SLOPE * total)))


def neutral(joined, generator):
    """A text without evidence, of so many neutral texts joined by "and"."""
    return " and ".join(planted.neutral(generator) for _ in range(joined))


def graded(size, seed, joined=()):
    """Texts with up to three words, of weights 4, 2 and 1, whose class is drawn with `chance`.

    Because labels are drawn, a model that fits them must weigh the words: no word decides alone. A word of
    the first class counts for it, one of the second against it. Of each weight there is one word a class, and
    a text has at most one of the two. Kind "whole" is all three words of one class, "part" all others.

    joined: (size,) int, how many neutral texts each of the `size` texts joins; 1 by default.

    >>> sorted(graded(1, 0)[0])
    ['evidence', 'kind', 'label', 'p', 'text', 'text_b', 'weights']
    """
    generator = stream("graded texts", seed)
    return [_graded_text(generator, n) for n in joined or [1] * size]


def _graded_text(generator, joined):
    words = neutral(joined, generator).split()
    whole = generator.random() < WHOLE
    side = int(generator.integers(2))
    chosen = []  # (word, weight, class)
    for rank, weight in enumerate(GRADES):
        if not whole and generator.random() >= PRESENT:
            continue
        label = side if whole else int(generator.integers(2))
        chosen.append((planted.CLASSES[label][rank], weight, label))
    total = sum(weight if label == 0 else -weight for _, weight, label in chosen)
    p = chance(total)
    slots = np.sort(generator.choice(len(words) + 1, len(chosen), replace=False))
    evidence, weights = [], []
    for shift, n in enumerate(generator.permutation(len(chosen))):
        word, weight, _ = chosen[n]
        place = int(slots[shift]) + shift
        words.insert(place, word)
        evidence.append(place)
        weights.append(weight)
    return {
        "text": " ".join(words),
        "text_b": "",
        "label": int(generator.random() >= p),
        "evidence": evidence,
        "weights": weights,
        "kind": "whole" if whole else "part",
        "p": p,
    }


def scored(mechanism, rows, count, length=12):
    """The first `count` examples that have the whole evidence of their class, in their order.

    rows: of the test split. length: of LENGTHS, the texts' own.
    """
    whole = [row for row in rows if row["kind"] == "whole" and len(row["evidence"]) == mechanism.words]
    return [row for row in whole if row["joined"] == LENGTHS[length]][:count]
