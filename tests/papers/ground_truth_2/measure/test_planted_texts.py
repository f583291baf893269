"""Planted texts of version 2: their evidence, weights and drawn labels."""

import numpy as np
import pytest

from faithlib.corpora import planted
from notebooks.ground_truth_2.measure.planted_texts import (
    GRADES,
    PLANTED,
    SLOPE,
    chance,
    graded,
    scored,
    texts,
)

ROWS = graded(4_000, 3)
WEIGHT = {word: g for words in planted.CLASSES for word, g in zip(words, GRADES, strict=False)}


def test_graded_labels_are_drawn_by_the_sum_of_weights():
    for row in ROWS[:300]:
        words = row["text"].split()
        evidence = [words[i] for i in row["evidence"]]
        assert [WEIGHT[w] for w in evidence] == row["weights"]
        signed = [WEIGHT[w] * (1 if w in planted.CLASSES[0] else -1) for w in evidence]
        assert row["p"] == pytest.approx(1 / (1 + np.exp(-SLOPE * sum(signed))))
    p, label = (np.array([row[key] for row in ROWS]) for key in ("p", "label"))
    for low, high in ((0, 0.3), (0.3, 0.7), (0.7, 1)):
        inside = (p >= low) & (p < high)
        assert (label[inside] == 0).mean() == pytest.approx(p[inside].mean(), abs=0.04)


def test_graded_texts_have_three_words_of_one_class_or_any_of_them():
    whole = [row for row in ROWS if row["kind"] == "whole"]
    assert len(whole) / len(ROWS) == pytest.approx(0.35, abs=0.03)
    assert {tuple(sorted(row["weights"])) for row in whole} == {(1, 2, 4)}
    assert {row["p"] > 0.9 or row["p"] < 0.1 for row in whole} == {True}
    counts = [len(row["evidence"]) for row in ROWS if row["kind"] == "part"]
    assert np.mean(counts) == pytest.approx(3 * 0.55, abs=0.05)
    assert all(len(set(row["weights"])) == len(row["weights"]) for row in ROWS)


@pytest.mark.parametrize("name", ["redundant", "graded"])
def test_half_of_the_texts_may_be_long(name):
    mechanism = PLANTED[name]
    rows = texts(mechanism, 1, 40)["test"]
    assert np.mean([row["joined"] == 3 for row in rows]) == pytest.approx(0.5, abs=0.05)
    long = scored(mechanism, rows, 30, 40)
    assert len(long) == 30 and {row["joined"] for row in long} == {3}
    words = [len(row["text"].split()) for row in long]
    assert np.mean(words) == pytest.approx(46, abs=6) and {len(row["evidence"]) for row in long} == {
        mechanism.words
    }
    assert all(row["text"].split()[i] in planted.PLANTED for row in long for i in row["evidence"])


def test_a_seed_is_a_set_of_texts():
    assert graded(5, 3) == ROWS[:5] != graded(5, 4)
    assert chance(0) == 0.5 and chance(-7) == pytest.approx(1 - chance(7))


@pytest.mark.parametrize("name", PLANTED)
def test_splits_and_scored_texts(name):
    mechanism = PLANTED[name]
    splits = texts(mechanism, 1)
    assert {split: len(rows) for split, rows in splits.items()} == {
        "train": mechanism.train_size, "validation": 300, "test": 1_500,
    }  # fmt: skip
    assert {row["label"] for row in splits["test"]} == set(range(mechanism.classes))
    assert len(mechanism.labels) == mechanism.classes
    rows = scored(mechanism, splits["test"], 40)
    assert len(rows) == 40 and {len(row["evidence"]) for row in rows} == {mechanism.words}
    assert {row["kind"] for row in rows} == {"whole"}
