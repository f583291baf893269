"""Attention, rollout and scaled attention against own calculations."""

import numpy as np
import pytest
import tiny
import torch

from faithlib.attributions import attribute

# Attention, against own calculations --------------------------------------------------------------


def test_attention_is_what_cls_pays_in_the_last_layer(classifier):
    encodings, targets = tiny.examples(classifier)
    ours = attribute(classifier, encodings, targets, ["attention"])["attention"]
    model = classifier.model
    model.set_attn_implementation("eager")
    for encoding, scores in zip(encodings, ours, strict=True):
        types = torch.tensor(encoding.types)[None]
        typed = {"token_type_ids": types} if model.config.model_type == "bert" else {}
        with torch.no_grad():
            layers = model(torch.tensor(encoding.ids)[None], **typed, output_attentions=True).attentions
        expected = layers[-1][0, :, 0].mean(0).numpy()
        assert expected.sum() == pytest.approx(1, abs=1e-5)
        assert np.abs(scores - np.where(encoding.maskable, expected, 0)).max() < 1e-5
        assert 0 < scores.sum() < 1 - 1e-3  # special tokens and text_b got their part, and it is not ours


def test_rollout_is_a_product_of_matrices(classifier):
    encodings, targets = tiny.examples(classifier)
    ours = attribute(classifier, encodings, targets, ["attention_rollout"])["attention_rollout"]
    for encoding, scores in zip(encodings, ours, strict=True):
        with torch.no_grad():
            _, layers = classifier.attentions(classifier.collate([encoding]))
        product = np.eye(len(encoding.ids))
        for layer in layers:
            product = (layer[0].mean(0).numpy() / 2 + np.eye(len(encoding.ids)) / 2) @ product
        assert product[0].sum() == pytest.approx(1, abs=1e-5)
        assert np.abs(scores - np.where(encoding.maskable, product[0], 0)).max() < 1e-6


def test_scaled_attention_is_attention_times_finite_differences():
    """BERT's last layer computed here from its parts, its attention weights moved one by one."""
    classifier = tiny.classifier("bert")
    model, eps, target = classifier.model.double(), 1e-5, 1
    (encoding,) = classifier.encode(tiny.TEXTS[:1], tiny.TEXTS_B[:1])
    batch = classifier.collate([encoding])
    layer = model.bert.encoder.layer[-1]
    with torch.no_grad():
        below = classifier.hidden_states(batch)[-2]  # (1, tokens, width)
        heads = layer.attention.self.num_attention_heads
        split = (1, below.shape[1], heads, -1)
        query, key, value = (
            part(below).view(split).transpose(1, 2)
            for part in (layer.attention.self.query, layer.attention.self.key, layer.attention.self.value)
        )
        alpha = (query @ key.transpose(2, 3) / query.shape[-1] ** 0.5).softmax(-1)  # (1, heads, to, from)

        def y(weights):
            context = (weights @ value).transpose(1, 2).reshape(below.shape)
            attended = layer.attention.output(context, below)
            top = layer.output(layer.intermediate(attended), attended)
            return model.classifier(model.bert.pooler(top))[0, target].item()

        assert y(alpha) == pytest.approx(classifier.logits(batch)[0, target].item(), abs=1e-6)
        expected = np.zeros(below.shape[1])
        for head in range(heads):
            for j in range(below.shape[1]):
                moved = torch.zeros_like(alpha)
                moved[0, head, 0, j] = eps
                slope = (y(alpha + moved) - y(alpha - moved)) / (2 * eps)
                expected[j] += alpha[0, head, 0, j].item() * slope / heads
    ours = attribute(classifier, [encoding], [target], ["scaled_attention"])["scaled_attention"][0]
    assert np.abs(expected).max() > 1e-2 and expected.min() < 0
    assert np.abs(ours - np.where(encoding.maskable, expected, 0)).max() < 1e-6
