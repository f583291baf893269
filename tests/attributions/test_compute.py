"""`attribute`: what all methods keep for classifiers, and what is refused."""

import numpy as np
import pytest
import tiny
import torch

from faithlib import attributions
from faithlib.attributions import attention, attribute, gradients
from faithlib.engine import batching

SIGNED = ("input_x_gradient", "integrated_gradients", "sequential_integrated_gradients", "gradient_shap")


GRADIENTS = (*SIGNED, *(f"{name}_abs" for name in SIGNED), "deeplift", "gradient_l1", "gradient_l2")


ALL = ("attention", "scaled_attention", "attention_rollout", *GRADIENTS)


@pytest.fixture(params=tiny.KINDS)
def classifier(request):
    return tiny.classifier(request.param)


def gap(ours, theirs):
    """The largest difference over the tokens of all examples, padding left out; a share of scores above 1."""
    pairs = [(o, t[: len(o)]) for o, t in zip(ours, theirs, strict=True)]
    return max(np.abs(o - t).max() / max(1, np.abs(o).max()) for o, t in pairs)


def examples(classifier):
    return classifier.encode(tiny.TEXTS, tiny.TEXTS_B), np.array([0, 1, 2, 1, 0])


# What every attribution keeps ---------------------------------------------------------------------


def test_scores_are_zero_where_nothing_is_maskable(classifier):
    encodings, targets = examples(classifier)
    for name, rows in attribute(classifier, encodings, targets, ALL).items():
        for encoding, scores in zip(encodings, rows, strict=True):
            assert scores.shape == encoding.ids.shape and scores.dtype == np.float64
            assert (scores[~encoding.maskable] == 0).all() and (scores[encoding.maskable] != 0).all(), name


def test_batch_padding_and_order_do_not_change_scores(classifier, monkeypatch):
    encodings, targets = examples(classifier)
    together = attribute(classifier, encodings, targets, ALL)
    order = [3, 0, 4, 1, 2]
    shuffled = attribute(classifier, [encodings[i] for i in order], targets[order], ALL)
    monkeypatch.setitem(batching.TOKEN_BUDGET, "cpu", 1)
    alone = attribute(classifier, encodings, targets, ALL)
    for name in ALL:
        assert gap(together[name], alone[name]) < 1e-5
        assert gap([together[name][i] for i in order], shuffled[name]) < 1e-5


def test_the_target_is_what_is_explained(classifier):
    encodings, _ = examples(classifier)
    one, two = (attribute(classifier, encodings, np.full(5, t), ALL) for t in (0, 1))
    for name in ALL:
        assert (gap(one[name], two[name]) > 1e-3) == (name not in ("attention", "attention_rollout"))


def test_names_asked_for_are_the_names_given(classifier):
    encodings, targets = examples(classifier)
    scores = attribute(classifier, encodings[:1], targets[:1], ["deeplift", "attention"])
    assert list(scores) == ["deeplift", "attention"]
    assert set(ALL) <= set(attributions.names())


def test_explaining_leaves_the_model_as_it_was(classifier):
    encodings, targets = examples(classifier)
    batch = classifier.collate(encodings)
    with torch.no_grad():
        before = classifier.logits(batch)
        attribute(classifier, encodings, targets, ALL)
        assert torch.equal(classifier.logits(batch), before)
    assert all(p.grad is None and p.requires_grad for p in classifier.model.parameters())


def test_scores_inside_inference_mode_are_those_outside(classifier):
    encodings, targets = examples(classifier)
    outside = attribute(classifier, encodings, targets, ALL)
    with torch.inference_mode():
        inside = attribute(classifier, classifier.encode(tiny.TEXTS, tiny.TEXTS_B), targets, ALL)
    assert all(gap(inside[name], outside[name]) == 0 for name in ALL)


def test_gradients_of_parameters_are_never_computed(classifier):
    encodings, targets = examples(classifier)
    before = attribute(classifier, encodings, targets, ALL)
    computed = []
    for name, parameter in classifier.model.named_parameters():
        parameter.register_hook(lambda gradient, name=name: computed.append(name))
    after = attribute(classifier, encodings, targets, ALL)
    assert not computed
    for parameter in classifier.model.parameters():
        parameter.requires_grad_(False)
    of_a_frozen_model = attribute(classifier, encodings, targets, ALL)
    assert not any(parameter.requires_grad for parameter in classifier.model.parameters())
    for name in ALL:
        assert gap(before[name], after[name]) == 0 and gap(before[name], of_a_frozen_model[name]) == 0


def test_what_nobody_asked_for_is_not_computed(monkeypatch):
    def never(*_):
        raise AssertionError

    classifier = tiny.classifier()
    encodings, targets = examples(classifier)
    for module, name in (
        (gradients, "vocabulary_l1"),
        (gradients, "vocabulary_l2"),
        (attention, "rollout"),
        (attention, "layers_and_slope"),
    ):
        monkeypatch.setattr(module, name, never)
    attribute(classifier, encodings, targets, ["input_x_gradient", "deeplift", "attention"])
    for name in ("gradient_l1", "gradient_l2", "attention_rollout", "scaled_attention"):
        with pytest.raises(AssertionError):
            attribute(classifier, encodings, targets, [name])


def test_sdpa_gives_the_scores_of_eager_attention(classifier):
    encodings, targets = examples(classifier)
    scores = {}
    for kind in ("eager", "sdpa"):
        classifier.model.set_attn_implementation(kind)
        scores[kind] = attribute(classifier, encodings, targets, ALL)
    for name in ALL:
        assert gap(scores["eager"][name], scores["sdpa"][name]) < 1e-4


# Bad input ----------------------------------------------------------------------------------------


def test_an_unknown_name_is_told_with_the_nearest_one(classifier):
    encodings, targets = examples(classifier)
    with pytest.raises(ValueError) as error:
        attribute(classifier, encodings, targets, ["attention", "integrated_gradient"])
    message = str(error.value)
    assert "'integrated_gradient' is unknown: did you mean 'integrated_gradients'" in message
    assert "\n" not in message and "scaled_attention" in message
    with pytest.raises(ValueError, match="'zzz' is unknown: Known are attention"):
        attributions.check(["zzz"])


def test_a_target_that_is_no_class_is_told(classifier):
    encodings, targets = examples(classifier)
    with pytest.raises(ValueError, match="target 3 is no output: tiny-.* has 0 to 2"):
        attribute(classifier, encodings, targets + 1, ["attention"])


def test_a_negative_target_is_named(classifier):
    encodings, targets = examples(classifier)
    with pytest.raises(ValueError, match="target -1 is no output"):
        attribute(classifier, encodings, targets - 1, ["attention"])


def test_steps_below_one_are_told(classifier):
    encodings, targets = examples(classifier)
    for steps in (0, -3):
        with pytest.raises(ValueError, match=f"steps={steps} must be at least 1"):
            attribute(classifier, encodings, targets, ["integrated_gradients"], steps=steps)


@pytest.mark.parametrize("name", ALL)
def test_scores_that_are_not_finite_are_told(classifier, name):
    encodings, targets = examples(classifier)
    with torch.no_grad():
        embedding = classifier.model.get_input_embeddings().weight
        embedding[encodings[0].ids[1]] = float("nan")
    with pytest.raises(
        FloatingPointError, match=f"(attribution '{name}'|{classifier.name}) gives NaN or infinite"
    ):
        attribute(classifier, encodings, targets, [name])
