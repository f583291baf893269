"""The list of attributions: a method joins, is known everywhere, and what is wrong is one line."""

import pytest
import tiny
import torch
from wrong import refused

from faithlib import attributions
from faithlib.attributions import attribute, registry


@pytest.mark.parametrize("name", registry.names())
def test_every_row_is_whole(name):
    entry = registry.get(name)
    assert entry.name == name and entry.label and callable(entry.resolve()) and isinstance(entry.signed, bool)
    assert entry.family in registry.FAMILIES and entry.cost in registry.COSTS
    assert set(entry.needs) <= set(registry.NEEDS) and entry.colour and entry.marker and entry.line
    assert registry.described(name) is registry.look(name) is entry
    assert entry.occlusion == (name in ("leave_one_out", "leave_one_out_abs", "beam"))


def test_a_sign_is_what_scores_have():
    model = tiny.classifier()
    encodings, targets = tiny.examples(model)
    scores = attribute(model, encodings, targets, registry.names(), samples=20, steps=3, noise=2)
    for name, rows in scores.items():
        lowest = min(row.min() for row in rows)
        if name != "beam":  # its scores are places in an order, from 1
            assert (lowest < 0) == registry.get(name).signed, name


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
        encodings, targets = tiny.examples(classifier)
        scores = attribute(classifier, encodings, targets, ["length_negative", "length"], scale=2.0, steps=9)
        assert sum(calls) == len(encodings)  # one call yields both
        both = zip(encodings, scores["length"], scores["length_negative"], strict=True)
        for encoding, plus, minus in both:
            assert (plus == 2 * len(encoding.ids) * encoding.maskable).all() and (minus == -plus).all()
    finally:
        for name in ("length", "length_negative"):
            attributions.unregister(name)
    refused("'length' is unknown", attributions.check, ["length"])


def test_what_is_not_registered_has_a_look_and_nothing_is_claimed_of_it():
    entry = registry.look("my_method_abs")
    assert (entry.signed, entry.label) == (False, "my method abs") and entry.colour and entry.marker
    assert registry.look("my_method_abs") == entry and "my_method_abs" not in registry.names()
    assert registry.look("my_method").signed and not entry.family
    refused("attribution 'lim' is not registered, .* did you mean 'lime'", registry.described, "lim")


def test_what_is_wrong_is_told_at_registration():
    """The other mistakes are rows of tests/bad_input.txt."""
    settings = {"signed": False, "family": "gradient", "occlusion": 1}
    with pytest.raises(ValueError, match="occlusion=1 must be True or False"):
        attributions.register("mine", **settings)(lambda model, batch, target: {})
    assert "mine" not in attributions.names()


def test_a_method_that_returns_another_name_or_shape_is_refused():
    model = tiny.classifier()
    encodings, targets = tiny.examples(model)
    for scores, message in (
        ({"other": None}, "its function returns 'other' and not the name that it is registered by"),
        ({"mine": [0.5]}, "returns shape .1,. for a batch of .*: give one score a token"),
        ({"mine": "ids", "k": [0.5]}, "attribution 'mine', 'k' returns shape .1,. for .*: give one value an"),
    ):

        @attributions.register("mine", signed=False, family="gradient", cost="none")
        def mine(model, batch, target, scores=scores):
            return {name: batch.ids if of == "ids" else torch.tensor(of or []) for name, of in scores.items()}

        try:
            refused(message, attribute, model, encodings, targets, ["mine"])
        finally:
            attributions.unregister("mine")
