"""Shapes of scores: from 1 to 0, with the means that the protocol names."""

import numpy as np
import pytest

from notebooks.ground_truth_2.measure.shapes import SHAPES, ranked


@pytest.mark.parametrize(("shape", "mean"), [("linear", 0.5), ("exponential", 0.28), ("steep", 0.12)])
def test_a_shape_falls_from_one_to_zero_with_its_mean(shape, mean):
    scores = SHAPES[shape](15)
    assert (scores[0], scores[-1]) == (1, 0) and (np.diff(scores) < 0).all()
    assert scores.mean() == pytest.approx(mean, abs=0.02)


@pytest.mark.parametrize("shape", SHAPES)
def test_scores_follow_the_order(shape):
    assert np.argsort(-ranked([3, 0, 2, 1], shape)).tolist() == [3, 0, 2, 1]
