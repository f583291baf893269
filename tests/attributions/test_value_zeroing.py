"""Value zeroing: against a plain loop over the library's own layers, and what cannot have it."""

import numpy as np
import pytest
import tiny
import torch
from wrong import refused

from faithlib import attributions, models
from faithlib.attributions.value_zeroing import context_mixing

KINDS = ("bert", "roberta", "distilbert", "llama", "qwen2")


def loaded(kind):
    return tiny.causal(kind) if kind in tiny.CAUSAL_KINDS else tiny.classifier(kind)


def by_a_loop(model, encoding):
    """C of BERT's layers, each value vector zeroed in the tensor that enters the weighted mean."""
    network, ids, layers = model.model, torch.tensor(encoding.ids)[None], []
    network.set_attn_implementation("eager")
    with torch.no_grad():
        states = network.bert(ids, output_hidden_states=True).hidden_states
        for layer, x in zip(network.bert.encoder.layer, states[:-1], strict=True):
            part, rows = layer.attention.self, []
            q, k, v = (f(x)[0].view(-1, 2, 8).transpose(0, 1) for f in (part.query, part.key, part.value))
            weights = (q @ k.transpose(1, 2) / 8**0.5).softmax(-1)  # (heads, tokens, tokens)
            for zeroed in [None, *range(len(ids[0]))]:
                values = v.clone()
                if zeroed is not None:
                    values[:, zeroed] = 0
                mixed = (weights @ values).transpose(0, 1).reshape(1, -1, 16)
                attended = layer.attention.output(mixed, x)
                rows.append(layer.output(layer.intermediate(attended), attended)[0].double().numpy())
            norms = [row / np.linalg.norm(row, axis=1, keepdims=True) for row in rows]
            moved = np.stack([1 - (norms[0] * other).sum(1) for other in norms[1:]], axis=1)
            layers.append(moved / moved.sum(1, keepdims=True))
    return layers


def test_each_layer_is_that_of_a_plain_loop():
    model = tiny.classifier("bert")
    for encoding in model.encode(tiny.TEXTS[:3]):
        loop = by_a_loop(model, encoding)
        for ours, theirs in zip(context_mixing(model, encoding), loop, strict=True):
            assert np.abs(ours - theirs).max() < 1e-5
        scores = attributions.attribute(model, [encoding], [0], ["value_zeroing"])["value_zeroing"][0]
        rolled = (loop[1] @ loop[0])[0]  # from [CLS]
        assert scores == pytest.approx(np.where(encoding.maskable, rolled, 0), abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_add_up_and_the_model_stays_as_it_was(kind):
    model = loaded(kind)
    encodings = model.encode(tiny.PROMPTS)
    before = tiny.logits(model, encodings)
    for encoding in encodings:
        for mixing in context_mixing(model, encoding):
            assert mixing.min() >= 0 and mixing.sum(1) == pytest.approx(np.ones(len(encoding.ids)))
            if kind in tiny.CAUSAL_KINDS:
                assert not np.triu(mixing, 1).round(6).any()  # nothing comes from later tokens
    assert torch.equal(tiny.logits(model, encodings), before)


def test_gpt2_and_a_bilstm_are_told_before_any_work():
    for model in (tiny.causal("gpt2"), models.load("bilstm", tiny.LABELS, tiny.TEXTS)):
        message = "has layers without a value projection, or a head that reads all positions: leave out"
        refused(message, attributions.check, ["value_zeroing"], model)
