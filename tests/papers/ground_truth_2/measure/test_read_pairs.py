"""Explanations of texts that are read by half: kinds of error, by dominance."""

from collections import Counter

import numpy as np
import pytest

from notebooks.ground_truth_2.measure import read_pairs
from notebooks.ground_truth_2.measure.planted_pairs import NULLS
from notebooks.ground_truth_2.measure.shapes import SHAPES

READ = np.arange(20) % 2 == 0
EFFECT = np.where(READ, np.linspace(1, -0.5, 20), 0)
TOP = [0, 2, 4, 6]


@pytest.fixture
def made():
    return read_pairs.explanations(TOP, READ, EFFECT, np.random.default_rng(1))


def test_pairs(made):
    scores, pairs = made
    counts = Counter(error for error, *_ in pairs)
    assert counts == {"order": 9, "missed": 6, "false above": 3, "halves": 1} | dict.fromkeys(NULLS, 3)
    assert len(scores) == 3 * 6 + 2 + 5  # those of 25 explanations, as the protocol counts its hours
    assert all(better in scores and worse in scores for _, _, better, worse in pairs)


@pytest.mark.parametrize("shape", SHAPES)
def test_only_the_scores_of_the_top_and_of_unread_tokens_change(made, shape):
    scores, pairs = made
    rest = np.setdiff1d(np.flatnonzero(READ), TOP)
    for error, of, better, worse in pairs:
        if of == shape and error in ("order", "missed", "false above"):
            assert np.array_equal(scores[better][rest], scores[worse][rest])
    best, none = scores["order 0", shape], scores["order 100", shape]
    assert np.argsort(-best)[:4].tolist() == TOP
    assert not READ[np.argsort(-none)[:4]].any()
    half = scores["order 50", shape]
    assert READ[np.argsort(-half)[:4]].sum() == 2
    assert (scores["half missed", shape][TOP] == 0).sum() == 2
    assert not READ[np.argsort(-scores["false above", shape])[:2]].any()


def test_halves_need_no_effects(made):
    scores, _ = made
    order = np.argsort(-scores["read first", "exponential"])
    assert READ[order[:10]].all() and not READ[order[10:]].any()
    assert not READ[np.argsort(-scores["unread first", "exponential"])[:10]].any()


def test_the_top_is_at_most_three_tenths_of_the_text():
    assert read_pairs.top_of(range(9), 8, 20) == [0, 1, 2, 3, 4, 5]
    assert read_pairs.top_of(range(9), 3, 20) == [0, 1, 2]
    assert read_pairs.top_of([4], 8, 20) == [4]
    assert read_pairs.top_of(range(9), 8, 5) == [0, 1]
