"""Budgets of passes: tokens, copied keys and values, and what is remembered after memory ran out."""

import numpy as np
import pytest
import tiny
import torch

from faithlib import batching, forward
from faithlib.attributions import attribute
from faithlib.models.causal import Prefix


def limit(model, monkeypatch, tokens):
    """Make every pass of more than `tokens` padded tokens fail; returns the list of failed passes' sizes."""
    failed, logits = [], model.logits

    def small(batch, **given):
        if batch.ids.numel() > tokens:
            failed.append(batch.ids.numel())
            raise torch.OutOfMemoryError("full")
        return logits(batch, **given)

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


def test_a_budget_that_cannot_be_is_told():
    model = tiny.classifier()
    encodings = model.encode(tiny.TEXTS[:1])
    with pytest.raises(ValueError, match="budget=3 is smaller than the longest text, of"):
        attribute(model, encodings, [0], ["lime"], budget=3)
    for budget in (0, 2.5, True):
        with pytest.raises(ValueError, match="a whole number of at least 1"), batching.limited(model, budget):
            pass


def test_other_errors_are_not_taken_for_a_full_memory():
    model = tiny.classifier()

    def broken(rows):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="mat1"):
        batching.halving(model, broken, [0, 1], 4)
    assert getattr(model, "tokens_that_fit", None) is None
    assert forward.probabilities(model, [forward.unchanged(e) for e in model.encode(["a"])]).shape[0] == 1
