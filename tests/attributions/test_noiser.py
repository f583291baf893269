"""Noiser: closed forms, the loop that its definition suggests, what is shared and dropped, the release."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tiny
import torch

from faithlib import models
from faithlib.attributions import attribute, noiser, releases_inseq
from faithlib.engine import batching, forward
from faithlib.models import CausalLM
from faithlib.options import BOUNDINGS
from faithlib.scores import generator

STORIES = Path(__file__).resolve().parents[3] / "shared/models/stories260K/hf"
GOLDEN = Path(__file__).parents[1] / "golden"
LAST = 1 - 2**-10  # the largest scale that ten halvings try


class Summing(torch.nn.Module):
    """A linear causal LM: logits are the sum of the embeddings so far, each times its position's weight."""

    def __init__(self, table, weights):
        super().__init__()
        self.config = SimpleNamespace(
            vocab_size=table.shape[1], max_position_embeddings=len(weights), model_type="summing"
        )
        self.words = torch.nn.Embedding.from_pretrained(torch.tensor(table, dtype=torch.float32))
        self.head = torch.nn.Identity()
        self.weights = torch.nn.Parameter(torch.tensor(weights, dtype=torch.float32))

    def get_input_embeddings(self):
        return self.words

    def get_output_embeddings(self):
        return self.head

    def forward(self, inputs_embeds, past_key_values=None, use_cache=False):
        values = inputs_embeds[:, None]  # (batch, 1 head, tokens, width)
        if past_key_values is not None:
            values, _ = past_key_values.update(values, values, 0)
        sums = (values[:, 0] * self.weights[: values.shape[2], None]).cumsum(1)
        return SimpleNamespace(logits=self.head(sums[:, -inputs_embeds.shape[1] :]))


def summing_lm(weights, seed=0, outputs=5):
    """A Summing of random word vectors as a CausalLM; its table is 12 tokens of width `outputs`."""
    table = 0.3 * np.random.default_rng(seed).normal(size=(12, outputs))
    return CausalLM(Summing(table, weights), SimpleNamespace(pad_token_id=0), "tiny-summing"), table


class WithoutPrefixes:
    def __init__(self, model):
        self.model = model

    def __getattr__(self, name):
        if name == "prefix":
            raise AttributeError(name)
        return getattr(self.model, name)


def prompts(model, n, longest=9):
    """n prompts of random words, [CLS] first, and what the model predicts after them."""
    draw, encodings = np.random.default_rng(1), []
    for _ in range(n):
        tokens = int(draw.integers(2, longest + 1))
        encodings.append(tiny.encoding(tokens, range(1, tokens), [2, *draw.integers(5, 20, tokens - 1)]))
    p = forward.probabilities(model, [forward.unchanged(e) for e in encodings])
    return encodings, p.argmax(1)


def mean_distribution(model, encoding, i, k, vectors):
    """By the definition, a vector at a time."""
    embeddings = model.embed(torch.tensor(encoding.ids)[None]).detach()
    total = 0
    for vector in vectors:
        noised = embeddings.clone()
        noised[0, i] += k * torch.tensor(vector, dtype=torch.float32)
        with torch.no_grad():
            total += model.logits(model.collate([encoding]), embeddings=noised)[0].softmax(-1)
    return total.numpy() / len(vectors)


def bisect(model, encoding, i, predicted, vectors):
    """The largest scale tried that keeps the prediction, and the last one tried."""
    low, high = 0.0, 1.0
    for _ in range(10):
        middle = (low + high) / 2
        if mean_distribution(model, encoding, i, middle, vectors).argmax() == predicted:
            low = middle
        else:
            high = middle
    return low, middle


def explained(model, encodings, targets, **settings):
    notes = {}
    scores = attribute(model, encodings, targets, ["noiser"], notes=notes, **settings)["noiser"]
    return scores, notes


# Closed forms -------------------------------------------------------------------------------------


def test_flip_scales_of_a_linear_model_are_known_in_closed_form():
    """One noise vector n moves logits to z + w_i k n: a and b cross at (z_a − z_b) / (w_i (n_b − n_a))."""
    weights = np.array([0.3, 2.0, 0.7, 1.5])
    model, table = summing_lm(weights)
    texts = ([7, 3, 3, 11], [5, 6, 7, 8], [9, 10, 11, 1], [2, 4, 6, 8])  # the first of them never flips
    encodings = [tiny.encoding(4, (0, 1, 2, 3), ids) for ids in texts]
    logits = [weights @ table[e.ids] for e in encodings]
    targets = [int(z.argmax()) for z in logits]
    scores, notes = explained(model, encodings, targets, bounding="k_max_per_token", noise=1)
    at_k_min, others = explained(model, encodings, targets, noise=1)
    scales = []
    for e, z, a, k_i, k_min, s in zip(
        encodings, logits, targets, notes["k_per_token"], others["k"], at_k_min, strict=True
    ):
        n = generator(e, 0).standard_normal((1, 5))[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = (z[a] - z) / (n - n[a]) / weights[:, None]  # (tokens, outputs)
        crossing = np.where((crossing > 0) & np.isfinite(crossing), crossing, np.inf).min(1)
        expected = np.minimum(np.floor(crossing * 1024) / 1024, LAST)
        assert k_i.tolist() == expected.tolist() and k_min == expected.min()
        scales += expected.tolist()
        for i in range(4):
            noised = np.exp(z + weights[i] * k_min * n)
            assert s[i] == pytest.approx(np.exp(z[a]) / np.exp(z).sum() - noised[a] / noised.sum(), abs=1e-6)
    assert len(set(scales)) > 6 and LAST in scales  # many flip, some do not


def test_boundings_that_search_for_nothing_are_numbers():
    model, _ = summing_lm([1.0, 1.0, 1.0], outputs=8)
    encodings = [tiny.encoding(3, (0, 1, 2), ids) for ids in ([1, 5, 9], [7, 3, 2])]
    for bounding, k in (("none", 1), ("l2", 8**-0.5), ("linf", (2 * np.log(8)) ** -0.5)):
        scores, notes = explained(model, encodings, [0, 1], bounding=bounding)
        assert notes["k"] == pytest.approx([k, k]) and set(notes) == {"k", "tied"}
        for e, target, row in zip(encodings, (0, 1), scores, strict=True):
            vectors = generator(e, 0).standard_normal((10, 8))
            clean = mean_distribution(model, e, 0, 0, vectors)[target]
            theirs = [clean - mean_distribution(model, e, i, k, vectors)[target] for i in range(3)]
            assert row == pytest.approx(theirs, abs=1e-6)
    k = np.concatenate(
        [explained(model, encodings, [0, 1], bounding="random", seed=s)[1]["k"] for s in range(40)]
    )
    assert len(set(k)) == 80 and 0 <= k.min() < 0.1 and 0.9 < k.max() < 1
    assert abs(k.mean() - 0.5) < 4 * 12**-0.5 / 80**0.5


# The loop that the definition suggests ------------------------------------------------------------


@pytest.mark.parametrize("kind", [*tiny.CAUSAL_KINDS, *tiny.KINDS])
def test_every_bounding_is_what_a_loop_finds(kind):
    model = tiny.causal(kind) if kind in tiny.CAUSAL_KINDS else tiny.classifier(kind)
    encodings = model.encode(["she liked the unlikely ending", "boring"])
    p = forward.probabilities(model, [forward.unchanged(e) for e in encodings])
    predicted, targets = p.argmax(1), p.argsort(1)[:, -2]  # what is explained need not be what is predicted
    ours = {b: explained(model, encodings, targets, bounding=b, noise=3) for b in BOUNDINGS}
    for j, e in enumerate(encodings):
        vectors = generator(e, 0).standard_normal((3, 16))
        tokens = np.flatnonzero(e.maskable)
        k = {i: bisect(model, e, i, predicted[j], vectors)[0] for i in tokens}
        ways = {"k_min": min(k.values()), "k_max": max(k.values()), "none": 1, "l2": 1 / 4}
        for bounding, scale in [*ways.items(), ("k_max_per_token", None)]:
            scores, notes = ours[bounding]
            if scale is not None:
                assert notes["k"][j] == scale
            for i in tokens:
                at = mean_distribution(model, e, i, k[i] if scale is None else scale, vectors)
                assert scores[j][i] == pytest.approx(p[j, targets[j]] - at[targets[j]], abs=1e-5)
            assert (scores[j][~e.maskable] == 0).all()
        assert ours["k_max"][1]["k_per_token"][j][tokens].tolist() == list(k.values())
        assert ours["k_min"][1]["flipped"][j] == (min(k.values()) < LAST)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_k_min_is_the_minimum_of_the_full_search_and_needs_less(kind, monkeypatch):
    model = tiny.causal(kind)
    encodings, targets = prompts(model, 50)
    passes, logits = [], model.logits
    monkeypatch.setattr(
        model, "logits", lambda batch, **more: (passes.append(batch.ids.numel()), logits(batch, **more))[1]
    )
    _, full = explained(model, encodings, targets, bounding="k_max", noise=4)
    needed = sum(passes)
    passes.clear()
    _, pruned = explained(model, encodings, targets, noise=4)
    for e, k_min, k_i in zip(encodings, pruned["k"], full["k_per_token"], strict=True):
        assert k_min == k_i[e.maskable].min()
    assert len(set(pruned["k"])) > 20 and (pruned["flipped"] == full["flipped"]).all()
    assert sum(passes) < 0.8 * needed


@pytest.mark.parametrize("kind", ["llama", "bert"])
def test_boundings_that_share_a_cache_search_once(kind, monkeypatch):
    model = tiny.causal(kind) if kind in tiny.CAUSAL_KINDS else tiny.classifier(kind)
    encodings, targets = prompts(model, 6)
    tests, whole = [], noiser.Noised.__call__

    def counting(self, places, scale):
        tests.append(int(places.sum()))
        return whole(self, places, scale)

    monkeypatch.setattr(noiser.Noised, "__call__", counting)
    cache, each, alone = forward.Cache(), {}, {}
    for bounding in ("k_max", "k_max_per_token", "k_min"):
        tests.clear()
        pair = explained(model, encodings, targets, bounding=bounding, cache=cache)
        each[bounding] = (*pair, sum(tests))
        alone[bounding] = explained(model, encodings, targets, bounding=bounding)
    tokens = sum(int(e.maskable.sum()) for e in encodings)
    assert each["k_max"][2] > 10 * tokens and each["k_max_per_token"][2] == 0 and each["k_min"][2] <= tokens
    for bounding, (scores, notes, _) in each.items():
        np.testing.assert_array_equal(notes["flipped"], alone[bounding][1]["flipped"])
        for row, single in zip(scores, alone[bounding][0], strict=True):
            np.testing.assert_allclose(row, single, atol=1e-6)
    np.testing.assert_array_equal(each["k_min"][1]["k"], alone["k_min"][1]["k"])
    fewer = [replace(e, maskable=e.maskable & (np.arange(len(e.ids)) % 2 == 0)) for e in encodings]
    for bounding in ("k_max", "k_min", "k_max_per_token"):  # the search for all tokens serves for some
        tests.clear()
        pair = explained(model, fewer, targets, bounding=bounding, cache=cache)
        assert sum(tests) <= tokens
        for row, single in zip(pair[0], explained(model, fewer, targets, bounding=bounding)[0], strict=True):
            np.testing.assert_allclose(row, single, atol=1e-6)
    other = explained(model, encodings, targets, bounding="k_max", cache=cache, seed=1)
    assert any(np.abs(a - b).max() > 0 for a, b in zip(other[0], each["k_max"][0], strict=True))


@pytest.mark.parametrize("kind", tiny.CAUSAL_KINDS)
def test_prefixes_change_nothing(kind):
    model = tiny.causal(kind)
    encodings, targets = prompts(model, 12)
    batch, target = model.collate(encodings), torch.tensor(targets)
    ours, whole = (noiser.noiser(m, batch, target, noise=4) for m in (model, WithoutPrefixes(model)))
    assert (ours["k"] == whole["k"]).all() and len(set(ours["k"].tolist())) > 3
    assert (ours["noiser"] - whole["noiser"]).abs().max() < 1e-5 and whole["noiser"].abs().max() > 1e-2


@pytest.mark.parametrize("definition", ["paper", "released"])
def test_scores_do_not_depend_on_the_batch_or_the_memory(definition, monkeypatch):
    model = tiny.causal("llama")
    encodings, targets = prompts(model, 8)
    settings = dict(definition=definition, paper="noiser", noise=4)
    together, notes = explained(model, encodings, targets, **settings)
    again, _ = explained(model, encodings, targets, **settings)
    assert all((a == b).all() for a, b in zip(together, again, strict=True))
    logits = model.logits

    def small(batch, **more):
        if len(batch.ids) > 3:
            raise torch.OutOfMemoryError("full")
        return logits(batch, **more)

    monkeypatch.setattr(model, "logits", small)
    monkeypatch.setitem(batching.TOKEN_BUDGET, "cpu", 60)
    backwards, others = explained(model, encodings[::-1], targets[::-1], **settings)
    assert (notes["k"] == others["k"][::-1]).all()
    for one, two in zip(together, backwards[::-1], strict=True):
        # The release divides by a sum that may be near 0, which magnifies rounding.
        assert np.abs(one - two).max() < (1e-5 if definition == "paper" else 1e-3)
    assert not any(p.grad is not None for p in model.model.parameters())


def test_noise_is_an_examples_own_and_depends_on_the_seed():
    model = tiny.causal("llama")
    encodings, targets = prompts(model, 3)
    one, two = (explained(model, encodings, targets, seed=s)[0] for s in (0, 1))
    assert all(np.abs(a - b).max() > 1e-4 for a, b in zip(one, two, strict=True))


# The release --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("norm", "size"),
    [("none", 1), ("l2", 4), ("l1", 16 * (2 / np.pi) ** 0.5), ("linf", (2 * np.log(16)) ** 0.5)],
)
def test_the_release_takes_the_last_scale_tried_and_divides_by_a_signed_sum(norm, size):
    model = tiny.causal("llama")
    encodings, targets = prompts(model, 2, longest=5)
    settings = dict(definition="released", paper="noiser", norm=norm, noise=3)
    scores, notes = explained(model, encodings, targets, **settings)
    vectors = np.random.RandomState(1).randn(3, 16) / size
    for j, e in enumerate(encodings):
        tokens = range(len(e.ids))  # [CLS] too
        k = min(bisect(model, e, i, targets[j], vectors)[1] for i in tokens)
        p = mean_distribution(model, e, 0, 0, vectors)[targets[j]]
        lost = np.array([p - mean_distribution(model, e, i, k, vectors)[targets[j]] for i in tokens])
        assert notes["k"][j] == k
        assert scores[j] * lost.sum() == pytest.approx(np.where(e.maskable, lost, 0), abs=1e-5)


@pytest.mark.skipif(not STORIES.is_dir(), reason="the real model is not here")
@pytest.mark.parametrize(("most", "some"), [(2, 1), pytest.param(6, 2, marks=pytest.mark.slow)])
def test_the_release_on_stories(most, some):
    golden = json.loads((GOLDEN / "noiser.json").read_text())["expected"]
    model = models.load_causal(str(STORIES))
    norms = {"none": ("None", most), "linf": ("inf", most), "l2": ("2", some), "l1": ("1", some)}
    for norm, (theirs, n) in norms.items():
        cases = [case for case in golden if str(case["norm"]) == theirs][:n]
        encodings = model.encode([case["prompt"] for case in cases])
        batch, target = model.collate(encodings), torch.tensor([case["answer_id"] for case in cases])
        released = releases_inseq.noiser_of_the_release(model, batch, target, norm=norm)
        assert len(cases) == n and released["k"].tolist() == [case["k_min"] for case in cases]
        for case, e, scores in zip(cases, encodings, released["noiser"].numpy(), strict=True):
            assert e.ids.tolist() == case["input_ids"]
            expected = np.array(case["normalised_scores"])
            # A sum near 0 magnifies the rounding of every loss, and its own.
            near = 2e-5 * max(1, np.abs(expected).max()) / abs(case["sum_of_raw"])
            assert np.abs(scores[: len(expected)] - expected).max() < near


# What is told -------------------------------------------------------------------------------------


def test_a_prompt_that_never_flips_is_told():
    model, _ = summing_lm([1e-3] * 4)
    model.model.words.weight.data *= 1e4
    encodings = [tiny.encoding(4, (1, 2, 3)), tiny.encoding(1, (0,), [5])]  # and one of a single token
    targets = forward.probabilities(model, [forward.unchanged(e) for e in encodings]).argmax(1)
    for bounding in ("k_min", "k_max", "k_max_per_token"):
        scores, notes = explained(model, encodings, targets, bounding=bounding)
        assert notes["flipped"].tolist() == [0, 0] and all(np.isfinite(s).all() for s in scores)
        assert bounding == "k_max_per_token" or notes["k"].tolist() == [LAST, LAST]
    _, notes = explained(model, encodings, targets, definition="released", paper="noiser")
    assert notes["flipped"].tolist() == [0, 0] and notes["k"].tolist() == [LAST, LAST]


def test_a_prediction_that_nothing_moves_has_scores_of_zero():
    model, _ = summing_lm([0.0] * 4)
    e = tiny.encoding(4, (1, 2, 3))
    for settings in ({}, {"definition": "released", "paper": "noiser"}):
        (scores,), notes = explained(model, [e], [2], **settings)
        assert (scores == 0).all() and notes["flipped"] == [0] and notes["tied"] == [1]


def test_a_tied_prediction_is_told():
    model, _ = summing_lm([1.0, 1.0])
    encodings = [tiny.encoding(2, (0, 1), ids) for ids in ([1, 2], [3, 4])]
    model.model.words.weight.data[1:3] = torch.tensor([0.0, 2, 2, 1, 0])
    _, notes = explained(model, encodings, [1, 0])
    assert notes["tied"].tolist() == [1, 0]


def test_broken_weights_are_told():
    model, _ = summing_lm([1.0, float("nan")])
    with pytest.raises(FloatingPointError, match="attribution 'noiser' gives NaN"):
        attribute(model, [tiny.encoding(2, (0, 1))], [0], ["noiser"])


def test_progress_adds_up(monkeypatch):
    model, shares = tiny.causal("llama"), []
    encodings, targets = prompts(model, 3)
    batch, target = model.collate(encodings), torch.tensor(targets)
    for function in (noiser.noiser, releases_inseq.noiser_of_the_release):
        function(model, batch, target, noise=2, progress=shares.append)
        assert sum(shares) == pytest.approx(1)
        shares.clear()
