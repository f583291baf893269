"""Diagnosticity: what a tie is worth."""

import numpy as np
import pytest

from faithlib.metrics import diagnosticity

NAN = float("nan")


# Diagnosticity ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ties", "worth"), [("strict", 0), ("half", 0.5), ("at_least", 1)])
def test_ties_are_worth_what_the_rule_says(ties, worth):
    u, v = np.array([0.5, 0.2, 0.4, 0.4, NAN, 0.1]), np.array([0.4, 0.3, 0.4, 0.4 + 5e-7, 0.1, NAN])
    assert np.allclose(diagnosticity.indicator(u, v, ties), [1, 0, worth, worth, NAN, NAN], equal_nan=True)


def test_small_differences_are_wins_and_shapes_broadcast():
    assert diagnosticity.indicator(0.5, 0.5 - 2e-6) == 1 and diagnosticity.indicator(0.5, 0.5 + 2e-6) == 0
    won = diagnosticity.indicator(np.array([[0.1], [0.3]]), np.array([0.0, 0.2, 0.3]))
    assert won.tolist() == [[1, 0, 0], [1, 1, 0]]
    with pytest.raises(ValueError, match="ties='loose' is unknown: use one of strict, half, at_least"):
        diagnosticity.indicator(1, 0, "loose")
