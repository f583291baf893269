"""AttnLRP and CP-LRP: each rule by hand, conservation, the model as it was, and what has no rule."""

import numpy as np
import pytest
import tiny
import torch
from sample import families
from torch import nn
from wrong import refused

from faithlib import attributions, models
from faithlib.attributions import relevance
from faithlib.attributions.relevance import NAMES, halved, identity, layer_norm, rules

CAUSAL = ("gpt2", "llama", "qwen2")
ENCODERS = ("bert", "distilbert")


def loaded(kind):
    model = tiny.causal(kind) if kind in CAUSAL else tiny.classifier(kind)
    model.model.double()
    encodings = model.encode(tiny.PROMPTS)
    return model, encodings, np.array([5, 6, 7, 8] if kind in CAUSAL else [0, 1, 2, 0])


def sent_back(function, *inputs):
    """x · ∂y/∂x for each input, where `function` gives y and the relevance of each y is itself."""
    inputs = [torch.tensor(x, dtype=torch.float64).requires_grad_() for x in inputs]
    y = function(*inputs)
    slopes = torch.autograd.grad(y.sum(), inputs)
    return y.detach(), [(x * slope).detach() for x, slope in zip(inputs, slopes, strict=True)]


def test_an_activation_passes_all_relevance_to_its_input():
    gelu = nn.GELU()
    y, (r,) = sent_back(lambda x: identity(gelu, (x,), gelu(x)), [-1.5, -0.2, 0.0, 0.7, 3.0])
    assert torch.allclose(r, y, atol=1e-12) and (y != 0).sum() == 4


def test_a_layer_norm_has_a_constant_deviation():
    norm = nn.LayerNorm(3, eps=0).double()
    norm.weight.data = torch.tensor([1.0, 2.0, 0.5]).double()
    norm.bias.data = torch.tensor([0.0, 3, 1]).double()
    x = [1.0, 4.0, 7.0]  # mean 4, deviation √6
    y, (r,) = sent_back(lambda x: layer_norm(norm, (x,), None), x)
    assert torch.allclose(y, norm(torch.tensor(x).double()))
    weights = np.array([1, 2, 0.5]) / np.sqrt(6)
    by_hand = np.array(x) * (weights - weights.mean())  # x_i (w_i − mean w) / deviation
    assert r.numpy() == pytest.approx(by_hand, abs=1e-12)
    assert r.sum() == pytest.approx((y - norm.bias).sum().item())  # all but the bias


def test_a_product_gives_one_half_to_each_factor():
    y, (a, b) = sent_back(lambda a, b: halved(a * b), [2.0, -3.0], [5.0, 0.5])
    assert y.tolist() == [10, -1.5] and a.tolist() == b.tolist() == [5, -0.75]


def test_softmax_is_by_the_taylor_rule_and_does_not_conserve():
    """R_i = x_i (R_i − s_i Σ R): with s = (¾, ¼) of x = (ln 3, 0) and relevance s_0 for the first output."""
    x = torch.tensor([np.log(3), 0.0]).double().requires_grad_()
    (slope,) = torch.autograd.grad(x.softmax(0)[0], x)
    assert (x * slope).tolist() == pytest.approx([np.log(3) * 3 / 4 * (1 - 3 / 4), 0])


def attended(constant):
    """Relevance of two queries, keys and values of one head of width 1, for the second token's output."""
    q, k, v = (
        torch.tensor(x).double().view(1, 1, 2, 1).requires_grad_()
        for x in ([0, 1.0], [0, np.log(3)], [4, 8.0])
    )
    output, weights = relevance.attention(None, q, k, v, None, scaling=1.0, constant=constant)
    slopes = torch.autograd.grad(output[0, 1].sum(), (q, k, v), allow_unused=True)
    assert weights[0, 0, 1].tolist() == pytest.approx([1 / 4, 3 / 4])
    assert output[0, 1].item() == pytest.approx(7)
    pairs = zip((q, k, v), slopes, strict=True)
    return [None if s is None else (x * s)[0, 0, :, 0].tolist() for x, s in pairs]


def test_attention_by_hand():
    """y = ¼ · 4 + ¾ · 8 = 7. The logit q·k = ln 3 of weight ¾ moves y by ¾ · ¼ · (8 − 4)."""
    q, k, v = attended(constant=False)
    assert v == pytest.approx([1 / 2, 6 / 2])
    shared = np.log(3) * 3 / 4 * 1 / 4 * (8 - 4) / 2  # one half of y goes to the weights ...
    assert q == pytest.approx([0, shared / 2]) and k == pytest.approx([0, shared / 2])  # ... then to q and k


def test_attention_of_cp_lrp_is_constant():
    q, k, v = attended(constant=True)
    assert q is None and k is None and v == pytest.approx([1, 6])


@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_cp_lrp_adds_up_to_the_logit_where_no_layer_has_a_bias(kind):
    model, encodings, targets = loaded(kind)
    for name, weight in model.model.named_parameters():  # Qwen2's queries, keys and values have one
        if name.endswith(".bias"):
            weight.data.zero_()
    batch, target = model.collate(encodings), torch.tensor(targets)
    logit = model.logits(batch).gather(1, target[:, None])[:, 0].detach()
    scores = relevance.relevance(model, batch, target)
    assert torch.allclose(scores["cp_lrp"].sum(1), logit, atol=1e-6) and logit.abs().max() > 1
    assert (scores["attn_lrp"].sum(1) - logit).abs().max() > 0.1  # softmax does not conserve


@pytest.mark.parametrize("kind", [*CAUSAL, *ENCODERS])
def test_rules_leave_values_and_the_model_as_they_were(kind):
    model, encodings, targets = loaded(kind)
    batch, used = model.collate(encodings), model.model.config._attn_implementation
    with torch.no_grad():
        before = model.logits(batch)
        for name in NAMES:
            with rules(model.model, name):
                assert torch.allclose(model.logits(batch), before, atol=1e-10)
        attributions.attribute(model, encodings, targets, NAMES)
        assert torch.equal(model.logits(batch), before)
    assert model.model.config._attn_implementation == used
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.model.modules())


@pytest.mark.parametrize("kind", [*CAUSAL, *ENCODERS])
def test_scores_do_not_depend_on_the_batch(kind):
    model, encodings, targets = loaded(kind)
    together = attributions.attribute(model, encodings, targets, NAMES)
    for i, encoding in enumerate(encodings):
        alone = attributions.attribute(model, [encoding], targets[[i]], NAMES)
        for name in NAMES:
            assert together[name][i] == pytest.approx(alone[name][0], abs=1e-9) and np.ptp(alone[name][0]) > 0


WITHOUT_RULES = {
    "roberta": lambda: tiny.classifier("roberta"),
    "albert": lambda: families.classifier("albert"),
    "gemma2": lambda: tiny.causal("gemma2"),
    "bilstm": lambda: models.load("bilstm", tiny.LABELS, tiny.TEXTS),
}


@pytest.mark.parametrize("kind", WITHOUT_RULES)
@pytest.mark.parametrize("name", NAMES)
def test_layers_without_a_rule_are_told_before_any_work(kind, name):
    message = "has layers without a rule of relevance propagation: leave out"
    refused(message, attributions.check, [name], WITHOUT_RULES[kind]())
