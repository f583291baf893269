"""One set of passes: a whole study asks the model hardly more than its distinct inputs."""

import numpy as np
import pytest
import tiny
import torch

from faithlib.engine import forward
from faithlib.metrics import registry
from faithlib.study import evaluate

ATTRIBUTIONS = [
    "attention", "gradient_l2", "gradient_l1", "input_x_gradient", "input_x_gradient_abs",
    "integrated_gradients", "leave_one_out", "leave_one_out_abs", "lime", "random_uniform",
]  # fmt: skip


class Counting:
    """Counts the rows that a model computes, and the distinct ones among them."""

    def __init__(self, model, monkeypatch):
        self.rows, self.distinct, logits = 0, set(), model.logits

        def counted(batch, embeddings=None, factor=None, weight=None, **more):
            for i, n in enumerate(batch.present.sum(1).tolist()):
                parts = [batch.ids[i, :n], batch.types[i, :n]]
                parts += [] if embeddings is None else [embeddings[i, :n].detach()]
                if factor is not None:
                    parts.append(factor[i, :n].expand(n, 16))  # 1 everywhere is no factor
                    parts = parts[:-1] if (parts[-1] == 1).all() else parts
                self.distinct.add((torch.is_grad_enabled(), *(p.numpy().tobytes() for p in parts)))
                self.rows += 1
            return logits(batch, embeddings=embeddings, factor=factor, **more)

        monkeypatch.setattr(model, "logits", counted)


@pytest.mark.parametrize("metrics", ["default", "all"])
def test_a_study_computes_its_distinct_inputs_once(monkeypatch, metrics):
    model = tiny.classifier()
    counting = Counting(model, monkeypatch)
    evaluate(model, tiny.TEXTS, ATTRIBUTIONS, metrics, samples=30, steps=10)
    assert len(counting.distinct) > 1000
    assert counting.rows <= 1.1 * len(counting.distinct)


def test_metrics_added_to_a_study_share_its_passes(monkeypatch):
    model = tiny.classifier()
    counting = Counting(model, monkeypatch)
    evaluate(model, tiny.TEXTS, ["gradient_l2"], ["naopc_comprehensiveness", "naopc_sufficiency"])
    without = counting.rows
    counting.rows = 0
    evaluate(
        model,
        tiny.TEXTS,
        ["gradient_l2"],
        ["naopc_comprehensiveness", "naopc_sufficiency", "aopc_comprehensiveness", "aopc_sufficiency"],
    )
    assert counting.rows == without


def test_equal_scores_share_soft_draws(monkeypatch):
    model = tiny.classifier()
    encodings = model.encode(tiny.TEXTS)
    scores = {"mine": [np.where(e.maskable, np.arange(len(e.ids)), 0.0) for e in encodings]}
    scores["copy"] = scores["mine"]
    counting = Counting(model, monkeypatch)
    study = evaluate(model, tiny.TEXTS, scores, ["soft_ns", "equal_soft_nc"], baselines=0)
    assert counting.rows <= 1.1 * len(counting.distinct)
    values = study.values.pivot(index=["metric", "example"], columns="attribution", values="value")
    assert values.mine.tolist() == pytest.approx(values["copy"].tolist(), nan_ok=True)


def test_language_models_share_too(monkeypatch):
    model, rows, passes = tiny.causal(), [], forward._evaluate

    def counted(model, variants, tags, *rest):
        rows.extend(v for v, tag in zip(variants, tags, strict=True) if tag[0] == "distance")
        return passes(model, variants, tags, *rest)

    monkeypatch.setattr(forward, "_evaluate", counted)
    evaluate(model, tiny.PROMPTS, ["gradient_l2", "random_uniform"])
    distances = [(v.encoding.ids.tobytes(), v.key) for v in rows]
    assert len(distances) <= 1.1 * len(set(distances))


def test_a_metric_that_changes_its_scores_changes_no_other():
    """Rescaling in place is a usual slip: study.scores and the other metrics keep what there was."""

    @registry.register("rescaling", better="higher", range=(0, 1))
    def rescaling(inputs, scores):
        for row in scores:
            row *= -1
        return np.full(len(scores), 0.5)

    model = tiny.classifier()
    try:
        study = evaluate(model, tiny.TEXTS, ["leave_one_out"], ["rescaling", "ns", "aopc_sufficiency"])
    finally:
        registry.unregister("rescaling")
    plain = evaluate(model, tiny.TEXTS, ["leave_one_out"], ["ns", "aopc_sufficiency"])
    assert study.table.value[1:].tolist() == plain.table.value.tolist()
    for one, other in zip(study.scores["leave_one_out"], plain.scores["leave_one_out"], strict=True):
        assert one.tolist() == other.tolist()


def test_a_metric_that_changes_what_all_share_is_refused():
    @registry.register("subtracting", better="higher", range=(-1, 1))
    def subtracting(inputs, scores):
        drop = inputs.p_full
        drop -= 0.1
        return drop

    try:
        with pytest.raises(ValueError, match="read-only"):
            evaluate(tiny.classifier(), tiny.TEXTS, ["leave_one_out"], ["subtracting"])
    finally:
        registry.unregister("subtracting")
