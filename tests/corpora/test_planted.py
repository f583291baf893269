"""Planted texts: what decides is where it is said to be, and nothing else does."""

import numpy as np
import pytest
from wrong import refused

from faithlib.corpora import planted


def words_of(row):
    words = row["text"].split()
    return [words[i] for i in row["evidence"]]


def expected(mechanism, words):
    """The class by the rule in words, written out a second time."""
    classes = [c for w in words for c in (0, 1) if w in planted.CLASSES[c]]
    if mechanism == "xor":
        first = [planted.FIRST.index(w) for w in words if w in planted.FIRST]
        second = [planted.SECOND.index(w) for w in words if w in planted.SECOND]
        return int(first != second) if first and second else 2
    if mechanism == "ordered_pair":
        pair = [w for w in words if w in planted.PAIR]
        return 2 if len(pair) < 2 else int(tuple(pair) != planted.PAIR)
    return classes[0] if classes else 2


@pytest.mark.parametrize("mechanism", planted.MECHANISMS)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_rule_gives_the_class(mechanism, classes):
    rows = planted.make(mechanism, 300, seed=5, classes=classes)
    for row in rows:
        assert expected(mechanism, row["text"].split()) == row["label"]
        assert (row["kind"] in ("whole", "single")) == (row["label"] < 2)
        if row["kind"] == "whole":
            assert len(row["evidence"]) == planted.MECHANISMS[mechanism].words
            assert expected(mechanism, words_of(row)) == row["label"]
    assert len({row["text"] for row in rows}) == 300
    assert {row["label"] for row in rows} == set(range(classes))


@pytest.mark.parametrize("mechanism", [m for m in planted.MECHANISMS if planted.MECHANISMS[m].needs == "all"])
def test_without_any_word_of_the_evidence_it_is_the_third_class(mechanism):
    for row in planted.make(mechanism, 100, seed=1):
        for missing in row["evidence"] if row["kind"] == "whole" else []:
            left = [w for i, w in enumerate(row["text"].split()) if i != missing]
            assert expected(mechanism, left) == 2


def test_neutral_words_are_inserted_whatever_the_class_is():
    """Otherwise an inserted word, or its absence, would tell the third class."""
    base = "a b c d e f g h"
    for mechanism in planted.MECHANISMS:
        rows = planted.make(mechanism, 3000, sentences=[base] * 3000)
        inserted = [
            [w for w in row["text"].split() if w not in base.split() and w not in planted.PLANTED]
            for row in rows
        ]
        counts = np.array([len(words) for words in inserted])
        assert set(counts) == {0, 1, 2} and {w for words in inserted for w in words} == {*planted.OBJECTS}
        labels = np.array([row["label"] for row in rows])
        for label in range(3):  # 1,000 texts: the standard error of the mean is .026
            assert counts[labels == label].mean() == pytest.approx(1, abs=0.09)


def test_swapping_keeps_the_evidence_and_changes_the_rest():
    rows = planted.make("xor", 20, seed=3)
    row = next(r for r in rows if r["kind"] == "whole")
    other = planted.swapped(row, ["one", "two"])
    assert words_of(other) == words_of(row)
    rest = [w for i, w in enumerate(other["text"].split()) if i not in row["evidence"]]
    assert set(rest) == {"one", "two"}
    assert len(other["text"].split()) == len(row["text"].split())


def test_the_seed_determines_the_texts():
    one, other, third = (planted.make("xor", 20, seed=s) for s in (0, 0, 1))
    assert one == other != third


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"mechanism": "and"}, "mechanism 'and' is unknown: use one_word"),
        ({"classes": 4}, "classes=4 must be 2 or 3"),
        ({"sentences": ["a b c d e f"]}, "size=2 exceeds the number of sentences, 1: take fewer"),
        ({"sentences": ["a b c d e f", "a b"]}, "sentence 1 has 2 words, below 6: leave"),
        ({"sentences": ["a b c d e f", "a b c d copper f"]}, "sentence 1 has 'copper', a planted word"),
    ],
)
def test_wrong_input_is_told_in_one_line(settings, line):
    refused(line, planted.make, **{"mechanism": "one_word", "size": 2, **settings})
