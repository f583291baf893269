"""`attribute`: what all methods keep for classifiers, and what is refused."""

import numpy as np
import pytest
import tiny
import torch
from sample.captums import ALL, gap
from wrong import refused

from faithlib import attributions
from faithlib.attributions import attention, attribute, gradients
from faithlib.engine import batching

# What every attribution keeps ---------------------------------------------------------------------


def test_scores_are_zero_where_nothing_is_maskable(classifier):
    encodings, targets = tiny.examples(classifier)
    for name, rows in attribute(classifier, encodings, targets, ALL).items():
        for encoding, scores in zip(encodings, rows, strict=True):
            assert scores.shape == encoding.ids.shape and scores.dtype == np.float64
            assert (scores[~encoding.maskable] == 0).all() and (scores[encoding.maskable] != 0).all(), name


def test_batch_padding_and_order_do_not_change_scores(classifier, monkeypatch):
    encodings, targets = tiny.examples(classifier)
    together = attribute(classifier, encodings, targets, ALL)
    order = [3, 0, 4, 1, 2]
    shuffled = attribute(classifier, [encodings[i] for i in order], targets[order], ALL)
    monkeypatch.setitem(batching.TOKEN_BUDGET, "cpu", 1)
    alone = attribute(classifier, encodings, targets, ALL)
    for name in ALL:
        assert gap(together[name], alone[name]) < 1e-5
        assert gap([together[name][i] for i in order], shuffled[name]) < 1e-5


def test_the_target_is_what_is_explained(classifier):
    encodings, _ = tiny.examples(classifier)
    one, two = (attribute(classifier, encodings, np.full(5, t), ALL) for t in (0, 1))
    for name in ALL:
        assert (gap(one[name], two[name]) > 1e-3) == (name not in ("attention", "attention_rollout"))


def test_names_asked_for_are_the_names_given(classifier):
    encodings, targets = tiny.examples(classifier)
    scores = attribute(classifier, encodings[:1], targets[:1], ["deeplift", "attention"])
    assert list(scores) == ["deeplift", "attention"]
    assert set(ALL) <= set(attributions.names())


def test_explaining_leaves_the_model_as_it_was_without_gradients_of_parameters(classifier):
    encodings, targets = tiny.examples(classifier)
    batch, computed = classifier.collate(encodings), []
    for name, parameter in classifier.model.named_parameters():
        parameter.register_hook(lambda gradient, name=name: computed.append(name))
    with torch.no_grad():
        logits = classifier.logits(batch)
        before = attribute(classifier, encodings, targets, ALL)
        assert torch.equal(classifier.logits(batch), logits)
    assert not computed and all(p.grad is None and p.requires_grad for p in classifier.model.parameters())
    for parameter in classifier.model.parameters():
        parameter.requires_grad_(False)
    of_a_frozen_model = attribute(classifier, encodings, targets, ALL)
    assert not any(parameter.requires_grad for parameter in classifier.model.parameters())
    assert all(gap(before[name], of_a_frozen_model[name]) == 0 for name in ALL)


def test_scores_inside_inference_mode_are_those_outside(classifier):
    encodings, targets = tiny.examples(classifier)
    outside = attribute(classifier, encodings, targets, ALL)
    with torch.inference_mode():
        inside = attribute(classifier, classifier.encode(tiny.TEXTS, tiny.TEXTS_B), targets, ALL)
    assert all(gap(inside[name], outside[name]) == 0 for name in ALL)


def test_what_nobody_asked_for_is_not_computed(monkeypatch):
    def never(*_):
        raise AssertionError

    classifier = tiny.classifier()
    encodings, targets = tiny.examples(classifier)
    for name in ("vocabulary_l1", "vocabulary_l2"):
        monkeypatch.setattr(gradients, name, never)
    for name in ("rollout", "layers_and_slope"):
        monkeypatch.setattr(attention, name, never)
    attribute(classifier, encodings, targets, ["input_x_gradient", "deeplift", "attention"])
    for name in ("gradient_l1", "gradient_l2", "attention_rollout", "scaled_attention"):
        with pytest.raises(AssertionError):
            attribute(classifier, encodings, targets, [name])


def test_sdpa_gives_the_scores_of_eager_attention(classifier):
    encodings, targets = tiny.examples(classifier)
    scores = {}
    for kind in ("eager", "sdpa"):
        classifier.model.set_attn_implementation(kind)
        scores[kind] = attribute(classifier, encodings, targets, ALL)
    for name in ALL:
        assert gap(scores["eager"][name], scores["sdpa"][name]) < 1e-4


# Bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_scores_that_are_not_finite_are_told(classifier, name):
    encodings, targets = tiny.examples(classifier)
    with torch.no_grad():
        embedding = classifier.model.get_input_embeddings().weight
        embedding[encodings[0].ids[1]] = float("nan")
    with pytest.raises(
        FloatingPointError, match=f"(attribution '{name}'|{classifier.name}) gives NaN or infinite"
    ):
        attribute(classifier, encodings, targets, [name])


def test_a_function_with_settings_gets_those_of_the_user_alone(classifier):
    seen = {}

    def mine(model, batch, target, **settings):
        seen.update(settings)
        return {"mine": batch.maskable * 1.0}

    attributions.register("mine", signed=True, family="gradient", label="mine", cost="tokens")(mine)
    try:
        attribute(classifier, classifier.encode(["the plot was great"]), [1], ["mine"], steps=9)
    finally:
        attributions.unregister("mine")
    assert seen == {"steps": 9}


def test_a_function_that_leaves_the_model_in_training_changes_no_other(classifier):
    def training(model, batch, target):
        model.model.train()
        return {"training": batch.maskable * 1.0}

    modes = []

    def mode(model, batch, target):
        modes.append(model.model.training)
        return {"mode": batch.maskable * 1.0}

    functions = {"training": training, "mode": mode}
    try:
        for name, function in functions.items():
            attributions.register(name, signed=True, family="gradient", label=name, cost="tokens")(function)
        attribute(classifier, classifier.encode(["the plot was great"]), [1], list(functions))
    finally:
        for name in functions:
            attributions.unregister(name)
        classifier.model.eval()
    assert modes == [False]


def _halves_the_weights(module):
    with torch.no_grad():
        module.get_input_embeddings().weight.mul_(0.5)
    return lambda: module.get_input_embeddings().weight.data.mul_(2)


def _leaves_a_hook(module):
    return module.register_forward_hook(lambda *_: None).remove


@pytest.mark.parametrize("change", [_halves_the_weights, _leaves_a_hook])
def test_a_function_that_changes_the_model_is_refused(classifier, change):
    undo = []

    def mine(model, batch, target):
        undo.append(change(model.model))
        return {"mine": batch.maskable * 1.0}

    attributions.register("mine", signed=True, family="gradient", label="mine", cost="tokens")(mine)
    try:
        encodings = classifier.encode(["the plot was great"])
        refused(
            "attribution 'mine' leaves another model behind", attribute, classifier, encodings, [1], ["mine"]
        )
    finally:
        attributions.unregister("mine")
        undo[0]()


def test_a_function_that_returns_no_dictionary_is_told(classifier):
    attributions.register("mine", signed=True, family="gradient")(lambda model, batch, target: batch.maskable)
    try:
        encodings = classifier.encode(["the plot was great"])
        refused("attribution 'mine' returns Tensor: return", attribute, classifier, encodings, [1], ["mine"])
    finally:
        attributions.unregister("mine")
