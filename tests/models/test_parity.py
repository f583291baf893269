"""Leave-one-out, x∇x, integrated gradients and Noiser of a language model are what plain loops find.

The loops call the Hugging Face model alone. The slow test runs them on SmolLM2-135M-Instruct:

    make fetch SCALE=small MODELS=<folder>
    FAITHLIB_MODEL_DIR=<folder> python -m pytest -m slow tests/models/test_parity.py
"""

import numpy as np
import pytest
import tiny
import torch
from sample.smollm2 import FOLDER, SMOLLM2, needs_smollm2

from faithlib import models
from faithlib.attributions import attribute
from faithlib.scores import generator

NAMES = ["leave_one_out", "input_x_gradient", "integrated_gradients", "noiser"]
STEPS, NOISE, HALVINGS = 3, 2, 8
PROMPTS = [
    "The capital of France is the city of", "Water boils at one hundred degrees and freezes at",
    "The language that is spoken in Brazil is", "She opened the door with a", "Beethoven played the",
]  # fmt: skip


def loops(model, encoding, target):
    """{name: (tokens,)} by the definitions, one input at a time."""
    network, ids = model.model, torch.tensor(encoding.ids)[None]
    words = network.get_input_embeddings()(ids).detach()
    erased = network.get_input_embeddings()(torch.tensor(model.mask_id)).detach()
    tokens = np.flatnonzero(encoding.maskable)

    def probabilities(embeddings):
        return network(inputs_embeds=embeddings, use_cache=False).logits[0, -1].softmax(-1)

    def slope(embeddings):
        at = embeddings.clone().requires_grad_()
        return torch.autograd.grad(probabilities(at)[target], at)[0]

    def without(i, vector):
        changed = words.clone()
        changed[0, i] = vector
        return changed

    scores = {name: np.zeros(len(encoding.ids)) for name in NAMES}
    path = [erased + (k + 0.5) / STEPS * (words - erased) for k in range(STEPS)]
    path = ((words - erased) * sum(slope(at) for at in path) / STEPS).sum(-1)[0]
    product = (words * slope(words)).sum(-1)[0]
    vectors = generator(encoding, 0).standard_normal((NOISE, words.shape[2])).astype(np.float32)
    with torch.no_grad():
        clean = probabilities(words)

        def noised(i, k):
            draws = [probabilities(without(i, words[0, i] + k * torch.tensor(v))) for v in vectors]
            return sum(draws) / NOISE

        scales = []
        for i in tokens:
            low = 0.0
            for step in range(1, HALVINGS + 1):
                low += 0.5**step * (noised(i, low + 0.5**step).argmax() == clean.argmax()).item()
            scales.append(low)
        for i in tokens:
            scores["leave_one_out"][i] = clean[target] - probabilities(without(i, erased))[target]
            scores["noiser"][i] = clean[target] - noised(i, min(scales))[target]
            scores["input_x_gradient"][i], scores["integrated_gradients"][i] = product[i], path[i]
    return scores


def check(model, prompts):
    encodings = model.encode(prompts)
    with torch.no_grad():
        targets = model.logits(model.collate(encodings)).argmax(-1).numpy()
    ours = attribute(model, encodings, targets, NAMES, steps=STEPS, noise=NOISE, halvings=HALVINGS)
    largest = dict.fromkeys(NAMES, 0)
    for i, (encoding, target) in enumerate(zip(encodings, targets, strict=True)):
        for name, scores in loops(model, encoding, target).items():
            assert ours[name][i] == pytest.approx(scores, abs=1e-5), (name, prompts[i])
            largest[name] = max(largest[name], np.abs(scores).max())
    assert min(largest.values()) > 1e-3


@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_a_tiny_model(kind):
    check(tiny.causal(kind), [p for p in tiny.PROMPTS if " " in p])


@pytest.mark.slow
@needs_smollm2
def test_smollm2():
    model = models.load_causal(SMOLLM2, model_dir=FOLDER)
    assert model.model.config.origin["quantisation"].startswith("4 bits")
    check(model, PROMPTS)
