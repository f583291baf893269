"""Random models, texts and settings: every attribution and every metric that they can meet gives numbers."""

import numpy as np
import pandas as pd
import pytest
import tiny
import torch
from sample import families

from faithlib import evaluate, scores

LEAST = dict(samples=4, steps=2, beam=2, noise=2, halvings=2, probes=2, rounds=2)
KINDS = families.ENCODERS + tiny.CAUSAL_KINDS


def drawn(kind, seed):
    """A model whose weights are of a random size, and a table of random texts with all that it may hold."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    model = (tiny.causal if kind in tiny.CAUSAL_KINDS else families.classifier)(kind, seed)
    with torch.no_grad():
        for weight in model.model.parameters():
            weight *= rng.choice([0.05, 1, 1, 2.5])
    words = [*tiny.WORDS, "unlikely", "☃"]
    texts = [" ".join(rng.choice(words, rng.integers(1, 9))) for _ in range(3)]
    frame = pd.DataFrame({"text": [f"the {text}" for text in texts]})
    if rng.random() < 0.7:
        frame["evidence"] = [[int(rng.integers(len(text.split())))] for text in frame.text]
    if kind in tiny.CAUSAL_KINDS:
        frame["target"] = rng.choice([*tiny.WORDS, "it was great"], 3)
    else:
        frame["label"] = rng.integers(0, model.outputs, 3)
        if rng.random() < 0.5:
            frame["text_b"] = rng.choice(["", *tiny.TEXTS_B], 3)
    return model, frame, rng


def check(kind, seed, share=1.0):
    model, frame, rng = drawn(kind, seed)
    names = [name for name in tiny.methods() if rng.random() < share]
    settings = LEAST | {"baselines": int(rng.integers(2)), "seed": seed}
    if rng.random() < 0.5:
        settings["budget"] = 64  # padded tokens of a pass
    study = evaluate(model, frame, names or ["lime"], "all", progress=False, **settings)
    scores.check_scores(study.encodings, study.scores)  # finite
    for name, of_texts in study.scores.items():
        for encoding, s in zip(study.encodings, of_texts, strict=True):
            assert not s[~encoding.maskable].any(), name
    assert set(study.table.attribution) == set(names or ["lime"]) and len(set(study.table.metric)) >= 6
    assert not np.isinf(study.values.value).any()  # a value that means nothing is NaN, and counted
    texts = study.table.groupby(["attribution", "metric"])[["n", "void"]].sum().sum(axis=1)
    assert (texts == len(frame)).all()


@pytest.mark.parametrize(("kind", "seed"), [("albert", 1), ("deberta-v2", 2), ("mpnet", 3), ("gpt2", 4)])
def test_a_few_attributions(kind, seed):
    check(kind, seed, share=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", KINDS)
def test_every_attribution(kind, seed):
    check(kind, seed)
