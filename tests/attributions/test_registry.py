"""The list of attributions: a method joins, is known everywhere, and what is wrong is one line."""

import numpy as np
import pytest
import tiny

from faithlib import attributions
from faithlib.attributions import attribute


def examples(classifier):
    return classifier.encode(tiny.TEXTS, tiny.TEXTS_B), np.array([0, 1, 2, 1, 0])


def test_a_registered_method_is_known_everywhere():
    classifier, calls = tiny.classifier(), []

    @attributions.register("length", signed=False, family="perturbation", cost="none")
    @attributions.register("length_negative", signed=True, family="perturbation", cost="none")
    def length(model, batch, target, scale=1.0):
        calls.append(len(batch.ids))
        scores = batch.present.sum(1, keepdim=True).float().expand(batch.ids.shape) * scale
        return {"length": scores, "length_negative": -scores}

    try:
        assert "length" in attributions.names()
        encodings, targets = examples(classifier)
        scores = attribute(classifier, encodings, targets, ["length_negative", "length"], scale=2.0, steps=9)
        assert sum(calls) == len(encodings)  # one call yields both
        both = zip(encodings, scores["length"], scores["length_negative"], strict=True)
        for encoding, plus, minus in both:
            assert (plus == 2 * len(encoding.ids) * encoding.maskable).all() and (minus == -plus).all()
    finally:
        for name in ("length", "length_negative"):
            attributions.unregister(name)
    with pytest.raises(ValueError, match="'length' is unknown"):
        attributions.check(["length"])
