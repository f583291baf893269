"""Explanations of planted texts: kinds of error, their number, and that pairs stand by dominance."""

from itertools import product

import numpy as np
import pytest

from notebooks.ground_truth_2.measure import planted_pairs
from notebooks.ground_truth_2.measure.dominance import dominates
from notebooks.ground_truth_2.measure.planted_texts import PLANTED
from notebooks.ground_truth_2.measure.shapes import SHAPES

COUNTS = {  # pairs of each error and shape
    "redundant": {"near": 6, "one of two": 1, "false above": 1, "false below": 1},
    "xor": {"near": 6, "missed": 2, "false above": 1, "false below": 1},
    "ordered_pair": {"near": 6, "missed": 2, "false above": 1, "false below": 1},
    "graded": {"near": 6, "order": 6, "false above": 1, "false below": 1},
    "default_class": {"near": 6, "missed": 2, "false above": 1, "false below": 1},
}
WEIGHTS = {
    "redundant": [1, 1],
    "xor": [1, 1],
    "ordered_pair": [1, 1],
    "graded": [2, 4, 1],
    "default_class": [1],
}


def explained(name, **settings):
    """(evidence, explanations, pairs) of a text of 15 words."""
    evidence = np.isin(np.arange(15), [3, 7, 11][: PLANTED[name].words])
    generator = np.random.default_rng(2)
    made = planted_pairs.explanations(PLANTED[name], evidence, WEIGHTS[name], generator, **settings)
    return evidence, *made


@pytest.mark.parametrize("name", PLANTED)
def test_pairs_of_a_mechanism(name):
    _, scores, pairs = explained(name)
    expected = COUNTS[name] | dict.fromkeys(planted_pairs.NULLS, 1)
    counts = {(e, s): 0 for e, s in product(expected, SHAPES)} | {("fifths", "exponential"): 0}
    for error, shape, better, worse in pairs:
        counts[error, shape] += 1
        assert better in scores and worse in scores
    assert counts.pop(("fifths", "exponential")) == 10
    assert counts == {(e, s): n for (e, n), s in product(expected.items(), SHAPES)}
    assert all(s.shape == (15,) and np.isfinite(s).all() for s in scores.values())


@pytest.mark.parametrize("name", PLANTED)
def test_every_pair_but_nulls_stands_by_dominance(name):
    evidence, scores, pairs = explained(name)
    worth = np.zeros(15)
    worth[evidence] = WEIGHTS[name]
    for error, _, better, worse in pairs:
        if error not in planted_pairs.NULLS and error != "false below":
            assert dominates(scores[better], scores[worse], worth), (better, worse)


def test_the_evidence_stands_where_its_name_says():
    evidence, scores, _ = explained("graded")
    ranking = {name: np.argsort(-s, kind="stable") for name, s in scores.items()}
    assert ranking["near 0", "linear"][:3].tolist() == [7, 3, 11]  # by weight
    assert ranking["order 3", "steep"][:3].tolist() == [11, 3, 7]
    assert evidence[ranking["near 2", "linear"][2:5]].all()
    assert not evidence[ranking["false above", "linear"][:2]].any()
    assert evidence[ranking["false below", "linear"][:3]].all()
    for k in range(5):
        order = np.argsort(-scores[f"fifth {k}", "exponential"])
        assert evidence[order[min(3 * k, 12) :][:3]].all()
    _, scores, _ = explained("redundant")
    ranking = np.argsort(-scores["one of two", "linear"])
    assert (ranking[0], ranking[-1]) == (3, 7)


def test_pairs_of_words_that_a_model_does_not_order_are_left_out():
    _, _, pairs = explained("graded", ordered=(False, True, True))
    order = [(b[0], w[0]) for e, s, b, w in pairs if e == "order" and s == "linear"]
    assert order == [("order 1", "order 2"), ("order 1", "order 3"), ("order 2", "order 3")]


def test_nulls_stay_null():
    evidence, scores, _ = explained("xor")
    assert len(set(scores["constant", ""])) == 1
    assert np.flatnonzero(scores["ones but one", ""] == 0).size == 1
    assert not evidence[scores["ones but one", ""].argmin()] and not evidence[scores["one", ""].argmax()]
