"""Explanations of known quality: ladders by hand, one multiset of scores, nulls."""

import numpy as np
import pytest

from faithlib.corpora.planted import MECHANISMS
from faithlib.metrics.plausibility import auprc
from notebooks.ground_truth.measure import explanations
from notebooks.ground_truth.measure.explanations import RUNGS, ladders, null, of_fifth, scale, shuffled

ONE, TWO, NONE = (np.isin(np.arange(15), places) for places in ((4,), (4, 9), ()))


def ranks(scores):
    """Ranks from 0 for the highest score."""
    return np.argsort(np.argsort(-scores))


def made(name, evidence, decoy=NONE, weights=(1, 1)):
    return ladders(MECHANISMS[name], {"weights": weights}, evidence, decoy, "text")


def test_scores_fall_from_one():
    assert scale(15)[0] == 1 and (np.diff(scale(15)) < 0).all() and scale(15)[-1] > 0


@pytest.mark.parametrize("fifth", range(RUNGS))
def test_evidence_is_a_block_inside_its_fifth(fifth):
    for seed in range(30):
        places = np.sort(ranks(of_fifth(TWO, fifth, np.random.default_rng(seed)))[TWO])
        assert 3 * fifth <= places[0] and places[1] == places[0] + 1 < 3 * (fifth + 1)


def test_what_is_shuffled_last_is_the_evidence():
    for share in (0, 0.25, 0.75):  # of 15 tokens 0, 4 and 12 of the 13 others
        scores = shuffled(TWO, share, np.random.default_rng(1))
        assert set(ranks(scores)[TWO]) == {0, 1}
    assert len({tuple(ranks(shuffled(TWO, 1, np.random.default_rng(s)))[TWO]) for s in range(20)}) > 5


@pytest.mark.parametrize(
    ("name", "evidence", "found"),
    [
        ("one_word", ONE, {"fifths": 10, "shuffled": None}),
        ("xor", TWO, {"fifths": 10, "shuffled": None}),
        ("redundant", TWO, {"copies": 2}),
        ("decoy", ONE, {"fifths": 10, "shuffled": None, "decoy": 1}),
    ],
)
def test_pairs_of_a_ladder_are_those_whose_order_is_known(name, evidence, found):
    decoy = np.isin(np.arange(15), [12]) & (name == "decoy")
    scores, pairs = made(name, evidence, decoy)
    assert set(pairs) == set(found)
    for ladder, count in found.items():
        assert count is None or len(pairs[ladder]) == count
        for better, worse in pairs[ladder]:
            good, bad = (scores[ladder, rung, 1.0] for rung in (better, worse))
            np.testing.assert_array_equal(np.sort(good), np.sort(bad))  # one multiset
            if ladder != "copies":
                assert auprc(good, evidence) > auprc(bad, evidence)
    for (ladder, rung, power), s in scores.items():
        if ladder in ("fifths", "copies"):
            np.testing.assert_allclose(s, scores[ladder, rung, 1.0] ** power)


def test_copies_have_two_one_and_no_copy_on_top():
    scores, pairs = made("redundant", TWO)
    on_top = [int((ranks(scores["copies", rung, 1.0])[TWO] < 2).sum()) for rung in range(3)]
    assert on_top == [2, 1, 0] and set(pairs["copies"]) == {(0, 2), (1, 2)}


def test_graded_words_stand_in_orders_with_more_and_more_inversions():
    three = np.isin(np.arange(15), [2, 5, 8])
    scores, pairs = made("graded", three, weights=(1, 4, 2))
    orders = [tuple(ranks(scores["grades", rung, 1.0])[[5, 8, 2]]) for rung in range(4)]
    assert orders == [(0, 1, 2), (0, 2, 1), (1, 2, 0), (2, 1, 0)]  # ranks of the weights 4, 2, 1
    assert len(pairs["grades"]) == 6


def test_nulls_are_flat_peaked_normal_and_ones():
    flat, peaked, normal, ones = (null(kind, 200, np.random.default_rng(0)) for kind in explanations.NULLS)
    assert 1 <= flat.min() and flat.max() <= 1.01 and peaked.max() == 1 and np.sort(peaked)[-2] < 0.011
    assert normal.min() < 0 and (ones == 1).all()


def test_a_text_too_short_for_its_mechanism_is_one_line():
    short = np.isin(np.arange(7), [1, 2])
    with pytest.raises(ValueError, match="7 tokens has no room for 2 tokens of evidence: leave the text out"):
        made("xor", short, short & False)
    with pytest.raises(ValueError, match="4 tokens has fewer than 5 different scores: leave the text out"):
        made("one_word", np.isin(np.arange(4), [1]), np.zeros(4, bool))
