"""Sharpness: logits are multiplied, and all else stays."""

import numpy as np
import pytest
import tiny

from faithlib.engine import forward
from faithlib.engine.operators import Operator
from notebooks.ground_truth_2.measure.sharpness import sharpened


def test_log_odds_are_multiplied():
    model = tiny.classifier()
    variants = [forward.unchanged(e) for e in model.encode(tiny.TEXTS)]
    plain = forward.probabilities(model, variants)
    with sharpened(model, 4):
        sharp = forward.probabilities(model, variants)
        Operator(model, "zero")  # still reaches the embeddings
    odds = [np.log(p[:, 0] / p[:, 1]) for p in (plain, sharp)]
    assert odds[1] == pytest.approx(4 * odds[0], abs=1e-3)
    assert np.array_equal(forward.probabilities(model, variants), plain)
