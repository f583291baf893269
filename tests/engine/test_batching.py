"""Budgets of passes: tokens, copied keys and values, and what is remembered after memory ran out."""

from types import SimpleNamespace

import numpy as np
import pytest
import tiny
import torch

from faithlib.attributions import attribute
from faithlib.engine import batching, forward
from faithlib.models.causal import Prefix


def limit(model, monkeypatch, tokens):
    """Make every pass of more than `tokens` padded tokens fail; returns the list of failed passes' sizes."""
    failed, logits = [], model.logits

    def small(batch, **more):
        if batch.ids.numel() > tokens:
            failed.append(batch.ids.numel())
            raise torch.OutOfMemoryError("full")
        return logits(batch, **more)

    monkeypatch.setattr(model, "logits", small)
    return failed


def test_a_batch_counts_the_prefixes_that_it_copies():
    starts, lengths = [8, 8, 8, 8], [10, 10, 10, 10]
    wide = list(batching.batches_by_start(starts, lengths, range(4), batching.Limits(100, 1000), 10))
    assert wide == [[0, 1, 2, 3]]  # 4 rows x 8 tokens x 10 bytes
    narrow = list(batching.batches_by_start(starts, lengths, range(4), batching.Limits(100, 160), 10))
    assert narrow == [[0, 1], [2, 3]]
    assert list(batching.batches_by_start([9], [10], [0], batching.Limits(100, 1), 10)) == [[0]]


def test_leave_one_out_of_a_long_prompt_copies_no_more_than_it_may():
    layer = torch.empty(1, 8, 1, 64, device="meta")  # keys of Llama-3.2-1B: 16 layers, 8 heads of width 64
    prefix = Prefix(((layer, layer),) * 16)
    assert prefix.bytes_a_token == 16 * 2 * 8 * 64 * 4
    starts, lengths, most = list(range(1, 1000)), [1000] * 999, 2**30
    order = sorted(range(999), key=lambda i: -starts[i])
    batches = list(
        batching.batches_by_start(starts, lengths, order, batching.Limits(65536, most), prefix.bytes_a_token)
    )
    assert sorted(i for batch in batches for i in batch) == list(range(999))
    copied = [len(batch) * min(starts[i] for i in batch) * prefix.bytes_a_token for batch in batches]
    assert max(copied) <= most and len(batches) < 999


@pytest.mark.parametrize("name", ["integrated_gradients", "sequential_integrated_gradients", "gradient_shap"])
@pytest.mark.parametrize("kind", ["classifier", "causal"])
def test_path_points_of_one_example_are_split_when_memory_runs_out(name, kind, monkeypatch):
    model = tiny.classifier() if kind == "classifier" else tiny.causal("llama")
    (encoding,) = model.encode([tiny.TEXTS[1]])
    whole = attribute(model, [encoding], [0], [name])[name][0]
    failed = limit(model, monkeypatch, 2 * len(encoding.ids))
    split = attribute(model, [encoding], [0], [name])[name][0]
    assert failed and np.abs(whole - split).max() < 1e-5
    assert model.tokens_that_fit <= 2 * len(encoding.ids)
    failed.clear()
    attribute(model, [encoding], [0], [name])
    assert not failed  # what fits is remembered


@pytest.mark.parametrize("name", ["lime", "leave_one_out", "noiser"])
def test_what_did_not_fit_is_not_tried_again(name, monkeypatch):
    model = tiny.classifier()
    encodings, targets = model.encode(tiny.TEXTS), np.zeros(len(tiny.TEXTS), int)
    whole = attribute(model, encodings, targets, [name])[name]
    failed = limit(model, monkeypatch, 60)
    split = attribute(model, encodings, targets, [name])[name]
    assert all(np.abs(a - b).max() < 1e-4 for a, b in zip(whole, split, strict=True))
    assert len(failed) <= 6  # 768 tokens halved until at most 60 are left


def test_a_budget_holds_inside_a_call_alone(monkeypatch):
    model = tiny.classifier()
    encodings = model.encode(tiny.TEXTS)
    longest = max(len(e.ids) for e in encodings)
    failed = limit(model, monkeypatch, longest)
    attribute(model, encodings, np.zeros(len(encodings), int), ["lime"], budget=longest)
    assert not failed and batching.token_budget(model) == batching.TOKEN_BUDGET["cpu"]


def test_a_budget_inside_a_budget_leaves_the_outer_one():
    model = tiny.classifier()
    with batching.limited(model, 50):
        with batching.limited(model, 60):
            assert batching.token_budget(model) == 60
        assert batching.token_budget(model) == 50


def test_other_errors_are_not_taken_for_a_full_memory():
    model = tiny.classifier()

    def broken(rows):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="mat1"):
        batching.halving(model, broken, [0, 1], 4)
    assert getattr(model, "tokens_that_fit", None) is None
    assert forward.probabilities(model, [forward.unchanged(e) for e in model.encode(["a"])]).shape[0] == 1


# Attention weights and outputs --------------------------------------------------------------------

ATTENDING = ["attention", "scaled_attention", "attention_rollout"]


def watched(model, monkeypatch, most=None):
    """The sizes (rows, tokens) of the passes with attention weights; those of more than `most` pairs fail."""
    sizes, attentions = [], model.attentions

    def seen(batch):
        rows, tokens = batch.ids.shape
        sizes.append((rows, tokens))
        if most and rows * tokens**2 > most:
            raise torch.OutOfMemoryError("full")
        return attentions(batch)

    monkeypatch.setattr(model, "attentions", seen)
    return sizes


def test_attention_weights_are_counted_by_layers_and_heads():
    # 2 heads, 2 layers of float32, and 3 more float32 copies of the layer that is computed
    assert batching.attention_bytes(tiny.classifier()) == 2 * (2 * 4 + 3 * 4)
    half = tiny.causal()
    half.dtype = torch.bfloat16
    assert batching.attention_bytes(half) == 2 * (2 * 2 + 3 * 4)


def attention_scores(model, kind):
    encodings = model.encode([tiny.TEXTS[1]] * 5 if kind == "classifier" else [tiny.PROMPTS[1]] * 5)
    return len(encodings[0].ids), attribute(model, encodings, [0] * 5, ATTENDING)


@pytest.mark.parametrize("kind", ["classifier", "causal"])
def test_passes_with_attention_weights_hold_what_the_memory_allows(kind, monkeypatch):
    model = tiny.classifier() if kind == "classifier" else tiny.causal()
    tokens, whole = attention_scores(model, kind)
    sizes = watched(model, monkeypatch)
    monkeypatch.setattr(batching, "_free", lambda model: 2 * tokens**2 * batching.attention_bytes(model) + 1)
    _, split = attention_scores(model, kind)
    assert [rows for rows, n in sizes if n == tokens] == [2, 2, 1]  # and one pass of the check before
    for name in ATTENDING:
        assert all(np.abs(a - b).max() < 1e-6 for a, b in zip(whole[name], split[name], strict=True))


@pytest.mark.parametrize("kind", ["classifier", "causal"])
@pytest.mark.parametrize("definition", ["paper", "released"])
def test_attention_weights_that_do_not_fit_are_halved_and_remembered_apart(kind, definition, monkeypatch):
    model = tiny.classifier() if kind == "classifier" else tiny.causal()
    paper = "saloss" if kind == "classifier" else "noiser"
    names = ["attention", "scaled_attention" if kind == "classifier" else "attention_rollout"]
    encodings, targets = model.encode(tiny.PROMPTS), [0] * len(tiny.PROMPTS)
    inputs = (encodings, targets, names, definition, paper)
    whole = attribute(model, *inputs)
    longest = max(len(e.ids) for e in encodings)
    sizes = watched(model, monkeypatch, most=longest**2)
    split = attribute(model, *inputs)
    for name in names:
        assert all(np.abs(a - b).max() < 1e-5 for a, b in zip(whole[name], split[name], strict=True))
    failed = sum(rows * n**2 > longest**2 for rows, n in sizes)
    assert failed and getattr(model, "tokens_that_fit", None) is None and model.pairs_that_fit
    sizes.clear()
    attribute(model, *inputs)
    assert not any(rows * n**2 > longest**2 for rows, n in sizes)  # what fits is remembered


def test_rows_are_counted_by_their_outputs():
    assert batching.output_bytes(tiny.classifier()) == 3 * 16  # three classes
    lengths = [4, 3, 3, 2, 1]
    assert [b.tolist() for b in batching.batches_by_length(lengths, 100, most=2)] == [[0, 1], [2, 3], [4]]
    assert [len(b) for b in batching.batches_by_length(lengths, 100, most=0)] == [1] * 5
    rows = list(batching.batches_by_start([2] * 3, [4] * 3, range(3), batching.Limits(100, 60), 5, 20))
    assert rows == [[0, 1], [2]]  # each copies 2 tokens of 5 bytes and returns 20


@pytest.mark.parametrize("kind", ["classifier", "causal"])
def test_passes_return_no_more_than_the_memory_allows(kind, monkeypatch):
    model = tiny.classifier() if kind == "classifier" else tiny.causal()
    variants = [forward.unchanged(e) for e in model.encode(tiny.TEXTS)]
    whole = forward.probabilities(model, variants)
    monkeypatch.setattr(batching, "_free", lambda model: 2 * batching.output_bytes(model))
    sizes, logits = [], model.logits
    monkeypatch.setattr(
        model, "logits", lambda batch, **g: sizes.append(len(batch.ids)) or logits(batch, **g)
    )
    assert np.abs(whole - forward.probabilities(model, variants)).max() < 1e-6 and sizes == [2, 2, 1]


def test_a_gpu_holds_the_activations_of_its_passes(monkeypatch):
    table, gpu = torch.empty(5, 16), torch.device("cuda", 0)
    model = SimpleNamespace(device=gpu, model=torch.nn.Linear(2, 2), embedding_table=table, outputs=2)
    each = batching.activation_bytes(model)
    assert each == 4 * (2 * 64 + 6 * 16)  # without a config, an intermediate size of four widths
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1000 * each, 0))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 500 * each)  # kept by torch
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 300 * each)
    assert batching.limits(model) == (600, 600 * each)  # half of 1,000 + 500 - 300
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (10**12, 0))
    assert batching.limits(model).tokens == batching.TOKEN_BUDGET["cuda"]
