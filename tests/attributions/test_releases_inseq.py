"""What Noiser's release computes: inseq's scores through captum, attention through golden values."""

import json
from pathlib import Path

import captum.attr
import numpy as np
import pytest
import tiny
import torch
from sample.captums import SIGNED, Probability
from sample.releases import agree, keeps_its_scores, prompts, released

from faithlib import models
from faithlib.attributions import attribute
from faithlib.scores import generator

STORIES = Path(__file__).resolve().parents[3] / "shared/models/stories260K/hf"
GOLDEN = Path(__file__).parents[1] / "golden"
GRADIENTS = (*SIGNED, "deeplift")


@pytest.fixture(params=tiny.CAUSAL_KINDS)
def causal(request):
    return tiny.causal(request.param)


@pytest.mark.filterwarnings("ignore:Setting forward")
def test_noiser_takes_lengths_and_shares(causal, monkeypatch):
    encodings, targets = prompts(causal)
    ours = released(causal, encodings, targets, "noiser", list(GRADIENTS), seed=3)
    for i, (encoding, target) in enumerate(zip(encodings, targets, strict=True)):
        ids = torch.tensor(encoding.ids)[None]
        words = causal.embed(ids).detach().requires_grad_()
        unknown = causal.embed(torch.full_like(ids, causal.tokenizer.unk_token_id)).detach()
        y = Probability(causal.model, int(target))
        draws = generator(encoding, 3).random(5)
        monkeypatch.setattr(np.random, "uniform", lambda low, high, size, draws=draws: draws.reshape(size))
        path, places = captum.attr.IntegratedGradients(y), torch.arange(ids.shape[1])[:, None]
        without = [torch.where(places == j, unknown, words) for j in range(ids.shape[1])]
        parts = [path.attribute(words, start)[:, j] for j, start in enumerate(without)]
        theirs = {
            "input_x_gradient": captum.attr.InputXGradient(y).attribute(words),
            "deeplift": captum.attr.DeepLift(y).attribute(words, unknown),
            "integrated_gradients": path.attribute(words, unknown),
            "gradient_shap": captum.attr.GradientShap(y).attribute(words, unknown),
            "sequential_integrated_gradients": torch.stack(parts, 1),
        }
        for name, attribution in theirs.items():
            lengths = attribution.detach()[0].norm(dim=-1)
            agree(ours[name][i], (lengths / lengths.sum()).numpy(), encoding)


def test_noiser_takes_the_softmax_of_attention_again(causal):
    encodings, targets = prompts(causal)
    wanted = ["attention", "attention_rollout"]
    ours = released(causal, encodings, targets, "noiser", wanted)
    causal.model.set_attn_implementation("eager")
    for i, encoding in enumerate(encodings):
        with torch.no_grad():
            layers = causal.model(torch.tensor(encoding.ids)[None], output_attentions=True).attentions
        first, last = (layer[0].mean(0) for layer in layers)
        one = torch.eye(len(encoding.ids))
        rows = {"attention": last[-1], "attention_rollout": ((last + one) / 2 @ (first + one) / 2)[-1]}
        for name in wanted:
            agree(ours[name][i], rows[name].softmax(-1).numpy(), encoding)


def test_an_end_of_text_token_is_its_own_baseline():
    model = tiny.causal("llama")
    model.tokenizer.eos_token = "was"
    encodings = model.encode(["the plot was long"])
    for name in ("deeplift", "integrated_gradients", "sequential_integrated_gradients", "gradient_shap"):
        (scores,) = released(model, encodings, [5], "noiser", [name])[name]
        assert (scores == 0).tolist() == [True, False, False, True, False], name  # [CLS] is not maskable


@pytest.mark.skipif(not STORIES.is_dir(), reason="the real model is not here")
def test_attention_of_the_noiser_release_on_stories():
    golden = json.loads((GOLDEN / "attention_rollout.json").read_text())
    model = models.load_causal(str(STORIES))
    encodings = model.encode([case["prompt"] for case in golden["expected"]])
    wanted = ["attention", "attention_rollout"]
    plain = attribute(model, encodings, np.zeros(len(encodings), int), wanted)
    again = released(model, encodings, np.zeros(len(encodings), int), "noiser", wanted)
    assert len(encodings) == 6
    for i, case in enumerate(golden["expected"]):
        assert encodings[i].ids.tolist() == case["input_ids"]
        for name, theirs in (("attention", "last"), ("attention_rollout", "rollout")):
            maskable = encodings[i].maskable
            assert maskable.sum() == len(maskable) - 1
            assert again[name][i][maskable] == pytest.approx(np.array(case[theirs])[maskable], abs=1e-5)
            before = np.array(case[f"{theirs}_before_softmax_independent"])[maskable]
            assert plain[name][i][maskable] == pytest.approx(before, abs=1e-5)


def test_scores_do_not_depend_on_the_batch(causal, monkeypatch):
    encodings, targets = prompts(causal)
    wanted = ["attention", "attention_rollout", *GRADIENTS]
    keeps_its_scores(causal, encodings, targets, "noiser", wanted, monkeypatch, steps=5)
