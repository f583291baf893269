"""Dominance: what follows from single errors, and what does not."""

import numpy as np
import pytest

from notebooks.ground_truth_2.measure.dominance import dominates

WORTH = [4, 2, 1, 0, 0]


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ([5, 4, 3, 2, 1], [2, 4, 3, 5, 1]),  # a used token exchanged with an unused one
        ([5, 4, 3, 2, 1], [5, 4, 0, 2, 1]),  # score taken from a used token
        ([5, 4, 3, 2, 1], [5, 4, 3, 2, 9]),  # score given to an unused token
        ([5, 4, 3, 2, 1], [4, 5, 3, 2, 1]),  # two used tokens of other worth exchanged
        ([5, 4, 3, 2, 1], [1, 2, 3, 4, 5]),  # several errors
    ],
)
def test_errors_make_an_explanation_worse(better, worse):
    assert dominates(better, worse, WORTH)
    assert not dominates(worse, better, WORTH)


@pytest.mark.parametrize(
    ("one", "other", "worth"),
    [
        ([5, 4, 3, 2, 1], [5, 4, 3, 2, 1], WORTH),  # equal
        ([5, 1, 0, 0, 0], [3, 3, 0, 0, 0], [1, 1, 0, 0, 0]),  # one on top, other last, against both fifth
        ([5, 4, 3, 2, 1], [4, 4, 3, 1, 1], WORTH),  # an error, and a repair
        ([5, 4, 3, 2, 1], [4, 4, 3, 2, 1], [np.nan, 2, 1, 0, 0]),  # a token whose use is not known
    ],
)
def test_what_needs_weighing_is_no_pair(one, other, worth):
    assert not dominates(one, other, worth) and not dominates(other, one, worth)


def test_tokens_of_equal_worth_exchange_freely():
    assert dominates([5, 4, 2, 1], [3, 5, 4, 1], [1, 1, 0, 0])  # the block goes behind another token
