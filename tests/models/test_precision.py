"""Half precision: every attribution and metric, training, and what stays float32."""

from functools import cache

import numpy as np
import pytest
import tiny
import torch
from scipy.stats import spearmanr
from wrong import refused

from faithlib import attributions, evaluate, load_model, models
from faithlib.engine import forward
from faithlib.models import bilstm, precision
from faithlib.training import fine_tuning as training

TEXTS = ["the plot was great and the cast was good", "a dull film", "the cast was dull and the plot was good"]
PAIRS = [(k, d) for k in ("tiny-bert", "tiny-llama", "bilstm") for d in ("bfloat16", "float16")][:-1]


def loaded(kind, dtype):
    if kind == "bilstm" and not bilstm.has_lstm(getattr(torch, dtype)):
        pytest.skip(f"torch has no LSTM in {dtype} for this processor")
    if kind == "tiny-llama":
        return models.load_causal(kind, TEXTS, dtype=dtype)
    return models.load(kind, ("no", "yes"), TEXTS, dtype=dtype)


def test_auto_is_half_precision_only_where_the_processor_has_it(monkeypatch, capsys):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    assert precision.resolve("auto") == torch.bfloat16
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict)
    assert precision.resolve("auto") == torch.float32 and not capsys.readouterr().out
    assert precision.resolve("bfloat16") == torch.bfloat16
    assert "no instructions" in capsys.readouterr().out


@cache
def explained(kind, dtype):
    """{attribution: scores of all tokens}."""
    model, names = loaded(kind, dtype), [n for n in tiny.methods() if n != "random_normal"]
    settings = dict(beam=2, steps=4, samples=20, noise=3)
    scores = attributions.attribute(model, model.encode(TEXTS), [0] * len(TEXTS), names, **settings)
    return {name: np.concatenate(rows) for name, rows in scores.items()}


@pytest.mark.parametrize("kind, dtype", PAIRS)
def test_every_attribution_is_finite_and_close_to_float32(kind, dtype):
    whole, half = explained(kind, "float32"), explained(kind, dtype)
    assert set(whole) == set(half)
    for name, a in whole.items():
        b = half[name]
        assert b.dtype == np.float64 and np.isfinite(b).all()
        if name in ("gradient_l2", "input_x_gradient", "integrated_gradients", "attention"):
            assert spearmanr(a, b)[0] > 0.9, name


@pytest.mark.parametrize("kind, dtype", PAIRS)
def test_every_metric_that_erases_works(kind, dtype):
    study = evaluate(loaded(kind, dtype), TEXTS, ["gradient_l2"])
    assert set(study.table.metric) >= ({"causal_soft_ns"} if kind == "tiny-llama" else {"nc", "soft_nc"})
    assert (study.table.n + study.table.void == len(TEXTS)).all()


def test_probabilities_embeddings_and_logits_are_float32():
    model = loaded("tiny-bert", "bfloat16")
    batch = model.collate(model.encode(TEXTS))
    assert next(model.model.parameters()).dtype == torch.bfloat16
    assert model.embed(batch.ids).dtype == model.logits(batch).dtype == torch.float32
    p = forward.probabilities(model, [forward.unchanged(e) for e in model.encode(TEXTS)])
    assert p.dtype == np.float32 and p.sum(1) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_the_last_layer_gives_more_digits_than_half_precision_has(dtype):
    model = models.load("tiny-bert", ("a", "b"), TEXTS, dtype=dtype)
    logits = forward._logits(model, [forward.unchanged(e) for e in model.encode(TEXTS)], None, None)
    assert (torch.from_numpy(logits).to(model.dtype).float().numpy() != logits).any()
    pooled = []
    hook = model.model.classifier.register_forward_pre_hook(lambda module, args: pooled.append(args[0]))
    batch = model.collate(model.encode(TEXTS[:1]))
    with torch.no_grad():
        output = model.logits(batch)
    hook.remove()
    head = model.model.classifier
    expected = pooled[0].double() @ head.weight.double().T + head.bias.double()
    torch.testing.assert_close(output.double(), expected.detach(), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("kind", ["tiny-bert", "bilstm"])
def test_training_keeps_its_weights_in_float32(kind, monkeypatch):
    model = loaded(kind, "bfloat16")
    data = {s: (model.encode(TEXTS * 4), np.array([1, 0, 1] * 4)) for s in ("train", "validation")}
    seen, logits = set(), model.logits

    def watched(batch, **more):
        if model.model.training:
            seen.add(next(model.model.parameters()).dtype)
        return logits(batch, **more)

    monkeypatch.setattr(model, "logits", watched)
    history = training.fine_tune(model, data, epochs=8, batch_size=4, learning_rate=5e-3)
    assert seen == {torch.float32} and history[-1]["train_loss"] < history[0]["train_loss"]
    assert next(model.model.parameters()).dtype == (torch.bfloat16 if kind == "tiny-bert" else torch.float32)


def test_a_bilstm_in_float16_is_refused():
    message = "precision='float16' is unknown: use 'float32', 'bfloat16'"
    refused(message, models.load, "bilstm", ("no", "yes"), TEXTS, dtype="float16")


def test_a_bilstm_in_a_dtype_that_torch_has_no_lstm_for_is_refused(monkeypatch):
    monkeypatch.setattr(bilstm, "has_lstm", lambda dtype: dtype == torch.float32)
    message = "no bfloat16 LSTM for this processor: use float32 or a GPU"
    refused(message, models.load, "bilstm", ("no", "yes"), TEXTS, dtype="bfloat16")
    assert models.load("bilstm", ("no", "yes"), TEXTS).outputs == 2


def test_training_in_float16_is_refused():
    model = loaded("tiny-bert", "float16")
    split = model.encode(TEXTS), np.array([1, 0, 1])
    data = {"train": split, "validation": split}
    message = "float16, whose gradients vanish: train it in bfloat16"
    refused(message, training.fine_tune, model, data, epochs=1, batch_size=2, learning_rate=1e-3)


def test_outputs_that_overflow_name_the_dtype():
    model = loaded("tiny-bert", "float16")
    model.model.bert.encoder.layer[0].output.dense.weight.data.fill_(6e4)
    with pytest.raises(FloatingPointError, match="infinite outputs in float16: load it with dtype='float32'"):
        forward.probabilities(model, [forward.unchanged(e) for e in model.encode(TEXTS)])
    with pytest.raises(FloatingPointError, match="infinite scores in float16: load it with dtype='float32'"):
        attributions.attribute(model, model.encode(TEXTS), [0, 1, 0], ["gradient_l2"])


def test_a_model_in_double_precision_stays_as_it_is():
    model = tiny.classifier()
    model.model.double()
    assert model.logits(model.collate(model.encode(TEXTS[:1]))).dtype == torch.float64


class Coded(torch.nn.Module):
    """A linear layer whose weight is kept in 8 bits, as a quantised model's."""

    def __init__(self, layer):
        super().__init__()
        self.scale, self.bias = layer.weight.detach().abs().max() / 127, layer.bias
        codes = (layer.weight.detach() / self.scale).round().to(torch.int8)
        self.weight = torch.nn.Parameter(codes, requires_grad=False)

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight.to(x) * self.scale, self.bias)


def test_quantised_weights_are_explained_as_they_are_and_not_trained():
    plain = loaded("tiny-bert", "float32")
    layer = plain.model.base_model.encoder.layer[0].intermediate
    layer.dense = Coded(layer.dense)
    codes = layer.dense.weight.clone()
    model = load_model(plain.model, plain.tokenizer, labels=["no", "yes"])
    scores = attributions.attribute(model, model.encode(TEXTS), [1, 0, 1], ["gradient_l2", "leave_one_out"])
    assert all(np.isfinite(row).all() and row.any() for rows in scores.values() for row in rows)
    model.cast(torch.bfloat16)
    assert layer.dense.weight.dtype == torch.int8 and torch.equal(layer.dense.weight, codes)
    split = model.encode(TEXTS), np.array([1, 0, 1])
    data = {"train": split, "validation": split}
    message = "has quantised weights: load it without quantisation to train it"
    refused(message, training.fine_tune, model, data, epochs=1, batch_size=2, learning_rate=1e-3)
