"""Fixtures of the tests of studies."""

import numpy as np
import pytest
import tiny

from faithlib.metrics import registry

ATTRIBUTIONS = ["gradient_l2", "random_uniform"]


@pytest.fixture(scope="module")
def classifier():
    return tiny.classifier()


@pytest.fixture
def position():
    """A metric by hand: the score of the first maskable token; higher is better."""

    @registry.register("first_score", better="higher", range=(-np.inf, np.inf))
    def first_score(inputs, scores):
        return [s[e.maskable][0] for s, e in zip(scores, inputs.encodings, strict=True)]

    yield "first_score"
    registry.unregister("first_score")
