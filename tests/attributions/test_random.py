"""Random attributions: one draw a text and seed, whatever the model and the target."""

import numpy as np
import tiny

from faithlib.attributions import attribute
from faithlib.scores import generator, normal, uniform

BOTH = ["random_uniform", "random_normal"]


def test_scores_are_the_draws_of_each_text():
    model = tiny.classifier()
    encodings = model.encode(tiny.TEXTS)
    scores = attribute(model, encodings, [0] * 5, BOTH, seed=3)
    for name, draw in zip(BOTH, (uniform, normal), strict=True):
        for encoding, row in zip(encodings, scores[name], strict=True):
            assert np.array_equal(row, draw(encoding, generator(encoding, 3)))
    other = attribute(model, encodings[::-1], [1] * 5, BOTH, seed=3)
    assert all(np.array_equal(a, b) for a, b in zip(scores[BOTH[0]], other[BOTH[0]][::-1], strict=True))
    assert not np.array_equal(
        attribute(model, encodings, [0] * 5, BOTH, seed=4)[BOTH[0]][0], scores[BOTH[0]][0]
    )
