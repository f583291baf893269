"""RACU and MaSF of a model trained with masks, against the model called by hand."""

import numpy as np
import pytest
import tiny
import torch

from faithlib.metrics import masf, masked
from faithlib.metrics.inputs import Inputs
from faithlib.metrics.recursion import RATIOS, performance, random_masking

LABELS = np.array([0, 1, 2, 0, 1] * 9)


def scores_of(inputs, examples, measures):
    """Two attributions that do not look: the first tokens first, and the last first."""
    order = {"first": -1.0, "last": 1.0}
    return {m: [order[m] * np.arange(len(e.ids)) for e in inputs] for m in measures}


@pytest.fixture(scope="module")
def measured():
    """A model, its texts, the reference, and what is measured."""
    model = tiny.classifier(seed=4)
    encodings = model.encode([f"{a} {b}" for a in tiny.WORDS[:9] for b in tiny.TEXTS])

    reference = masked.reference(model, encodings, "half")
    inputs = Inputs(model, encodings, LABELS)
    values = masked.masked_metrics(inputs, LABELS, reference, scores_of, [("first",), ("last",)])
    return model, encodings, reference, values


def masks(encoding, name, ratio):
    places = np.flatnonzero(encoding.maskable)
    k = ratio * len(places) // 100
    chosen = places[:k] if name == "first" else places[len(places) - k :]
    return np.isin(np.arange(len(encoding.ids)), chosen)


@torch.no_grad()
def accuracy(model, encodings, ratio, name):
    right = []
    for e, label in zip(encodings, LABELS, strict=True):
        ids = np.where(masks(e, name, ratio), model.mask_id, e.ids)
        right.append(int(model.model(torch.tensor(ids)[None]).logits.argmax()) == label)
    return np.mean(right)


def test_racu_is_the_area_above_the_curve_relative_to_what_is_possible(measured):
    model, encodings, _, values = measured
    steps = (0, *RATIOS)
    curves = {
        name: [accuracy(model, encodings, ratio, name) for ratio in steps] for name in ("first", "last")
    }
    assert curves["first"] != curves["last"]
    areas = {name: np.trapezoid(curve, np.array(steps) / 100) for name, curve in curves.items()}
    # With b the random curve and e its end: RACU = (area b − area p) / (area b − e), the same b for both.
    first, last = (values[name][0] for name in ("first", "last"))
    end = curves["first"][-1]
    random = (areas["first"] - first * end) / (1 - first)
    assert last == pytest.approx((random - areas["last"]) / (random - end))


def test_masf_is_the_share_of_levels_that_are_rejected(measured):
    model, encodings, reference, values = measured
    rejected = []
    for ratio in RATIOS[:-1]:
        inputs = [masked.mask([e], [masks(e, "last", ratio)], model.mask_id)[0] for e in encodings]
        rejected.append(reference.p_values(masf.signals(model, inputs)) < 0.05)
    assert values["last"][1] == pytest.approx(np.mean(rejected, 0))
    assert ((values["first"][1] >= 0) & (values["first"][1] <= 1)).all()


def test_a_flat_random_curve_has_no_racu(measured, monkeypatch):
    model, encodings, reference, values = measured
    assert np.isfinite([area for area, _ in values.values()]).all()
    monkeypatch.setattr(masked.curves, "FLAT", 1.0)
    inputs = Inputs(model, encodings, LABELS)
    again = masked.masked_metrics(inputs, LABELS, reference, scores_of, [("first",)])
    assert np.isnan(again["first"][0]) and again["first"][1] == pytest.approx(values["first"][1])


def test_the_random_curve_is_the_mean_of_all_draws(measured):
    model, encodings, _, values = measured
    drawn = random_masking(model, encodings, RATIOS, 0, masked.DRAWS)
    table, _ = performance(model, encodings, LABELS, dict(enumerate(drawn)), RATIOS)
    curve = table[table.metric == "accuracy"].groupby("step").value.mean()
    share, b = curve.index.to_numpy() / 100, curve.to_numpy()
    p = np.array([accuracy(model, encodings, int(ratio), "first") for ratio in curve.index])
    expected = np.trapezoid(b - p, share) / np.trapezoid(b - b[-1], share)
    assert values["first"][0] == pytest.approx(expected)
