"""MaSF by hand, against golden values and scipy; its null distribution, its power, and bad input."""

import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from scipy import stats
from wrong import refused

from faithlib import models
from faithlib.engine import batching
from faithlib.metrics import masf

GOLDEN = Path(__file__).parents[1] / "golden"

# Five examples, two layers, three embeddings.
FIRST = [[1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 1], [5, 1, 2]]
REFERENCE = np.array([[embeddings, [i] * 3] for i, embeddings in enumerate(FIRST, 1)])


def drawn(seed, n, layers=2, width=24):
    """Signals (n, layers, width) of one distribution, whose embeddings depend on each other."""
    rng, weights = np.random.default_rng(seed), np.random.default_rng(0).normal(size=(4, layers * width))
    values = rng.normal(size=(n, 4)) @ weights + 2 * rng.normal(size=(n, layers * width))
    return values.reshape(n, layers, width)


def of_seeds(definition, shift=0.0, seeds=50):
    """p of one new example, and p of 40 new ones together, for references of 300: both (seeds,)."""
    one, together = [], []
    for seed in range(seeds):
        reference, new = np.split(drawn(seed, 340), [300])
        fitted = masf.fit(reference, definition, seed=seed)
        p = fitted.p_values(new + shift)
        one.append(p[0])
        together.append(fitted.dataset_p(p, seed))
    return np.array(one), np.array(together)


# Algorithm 2 -------------------------------------------------------------------------------------------


def test_every_stage_by_hand():
    fitted = masf.fit(REFERENCE, resolution=0.2)
    # Values 1 to 5 have 0 to 4 of 5 below them: p = 0, .2, .4, .4, .2, so the examples' z2 are
    # min(3 · .2, 1.5 · .4, .4) = .4 and the like in the first layer, p itself in the second.
    stages = fitted.stages(REFERENCE)
    assert stages.p1[1].tolist() == pytest.approx(np.array([[0.2, 0.4, 0.4], [0.2, 0.2, 0.2]]))
    assert stages.z2 == pytest.approx(np.array([[0, 0], [0.4, 0.2], [0.4, 0.4], [0, 0.4], [0, 0.2]]))
    # Below .4 are 3 of the first layer's z2, 0 0 0 .4 .4; below .2 is one of the second's, 0 .2 .2 .4 .4.
    assert stages.p2 == pytest.approx(stages.z2)
    logs = np.array([[1e-8, 1e-8], [0.4, 0.2], [0.4, 0.4], [1e-8, 0.4], [1e-8, 0.2]])
    assert stages.z3 == pytest.approx(-2 * np.log(logs).sum(1), rel=1e-6)
    assert stages.p == pytest.approx([0.2, 0.8, 1, 0.6, 0.4])
    # A new one between the others but for its last embedding, above all; its z3 ties with the fourth's.
    new = fitted.stages([[[2.5, 3.5, 4.5], [1.5, 2.5, 9]]])
    assert new.p1[0] == pytest.approx(np.array([[0.4, 0.4, 0.2], [0.2, 0.4, 0]]))
    assert new.z2[0] == pytest.approx([0.4, 0]) and new.p2[0] == pytest.approx([0.4, 0])
    assert new.z3 == pytest.approx(-2 * np.log([4e-9]), rel=1e-6)
    assert new.p == pytest.approx([0.6])
    # In float32 1 − .6 is not .4 to the last bit: of two equal z2 the release has one below the other.
    released = masf.fit(REFERENCE, "released", resolution=0.2).stages(REFERENCE)
    assert released.z2 == pytest.approx(stages.z2, abs=1e-6) and released.p2[2, 1] == pytest.approx(0.2)


@pytest.mark.parametrize("name", ["small", "ties", "power_of_two", "big"])
def test_golden_values(name):
    case = json.loads((GOLDEN / "masf.json").read_text())["cases"][name]
    arrays = np.load(GOLDEN / "masf.npz")

    def read(values):
        is_array = isinstance(values, str) and values.startswith("npz:")
        return np.array(arrays[values[4:]] if is_array else values, np.float32)

    inputs = {
        k: arrays[case["inputs"][k]] if name == "big" else read(case["inputs"][k])
        for k in ("reference", "test")
    }
    expected = case["expected"]
    fitted = masf.fit(inputs["reference"], "released")
    stages = fitted.stages(inputs["test"])
    for stage, key in {"p1": "level1_p", "z2": "level2_simes", "p2": "level2_p", "p": "p"}.items():
        values = getattr(stages, stage)
        assert values.dtype == np.float32 and (values == read(expected[key])).all()
    np.testing.assert_allclose(stages.z3, read(expected["level3_fisher"]), rtol=1e-6)
    p = fitted.p_values(inputs["reference"])
    same = p == read(expected["reference_p_self_scored"])
    assert same.mean() > 0.98  # the last bit of a logarithm, which libraries differ in, may part a tie
    assert fitted.dataset_p(stages.p) == expected["dataset"]["simes_p"]
    assert fitted.dataset_p(stages.p, combination="fisher") == pytest.approx(expected["dataset"]["fisher_p"])
    exact = masf.fit(inputs["reference"], "paper").p_values(inputs["test"])
    assert exact == pytest.approx(expected["p_if_computed_in_exact_arithmetic"], abs=1e-12)


def test_golden_pooling():
    case = json.loads((GOLDEN / "masf.json").read_text())["cases"]["repository_test_test_ood_mafs"]
    signal = np.array(case["inputs"]["signal"])
    with pytest.warns(UserWarning, match="4 of 6 embeddings are constant"):
        fitted = masf.fit(signal, "released", resolution=0.2)
    assert fitted.p_values(signal).tolist() == case["expected"]["p"]


def test_calibrated_by_comparing_all_pairs():
    reference, new = np.split(drawn(1, 33, width=5).round(0), [30])  # rounded: many ties
    fitted = masf.fit(reference, "calibrated", resolution=0.1, seed=3)
    order = np.random.default_rng(3).permutation(30)
    ranking, calibrating = reference[order[:15]], reference[order[15:]]

    def p(z, others):
        rank = (others < z).sum(0) + (others == z).sum(0) / 2
        return (1 + np.minimum(rank, len(others) - rank)) / 16

    def z2(z, others):
        return masf.simes(p(z, others)).round(9)

    of_ranking = np.array([z2(ranking[i], np.delete(ranking, i, 0)) for i in range(15)])

    def z3(z):
        return masf.fisher(p(z2(z, ranking), of_ranking)).round(9)

    calibrated, tested = (np.array([z3(z) for z in part]) for part in (calibrating, new))
    expected = [(1 + (calibrated >= z).sum()) / 16 for z in tested]
    stages = fitted.stages(new)
    assert stages.z3 == pytest.approx(tested) and stages.p == pytest.approx(expected)
    assert fitted.calibration == 15


def test_simes_and_fisher():
    assert masf.simes([0.01, 0.5]) == pytest.approx(0.02)  # 2 · .01
    assert masf.simes([0.5, 0.04, 0.05]) == pytest.approx(0.075)  # 1.5 · .05
    assert masf.simes([[0.9, 0.8], [0, 1]]) == pytest.approx([0.9, 0])
    p = np.random.default_rng(0).uniform(0.01, 1, (20, 7))
    assert masf.simes(p) == pytest.approx([stats.false_discovery_control(row).min() for row in p])
    assert masf.fisher(p) == pytest.approx([stats.combine_pvalues(row).statistic for row in p], rel=1e-5)
    assert masf.fisher([0.0]) == pytest.approx(36.84136)
    uniform = np.random.default_rng(1).random((2000, 30))
    assert stats.kstest(masf.simes(uniform), "uniform").pvalue > 0.05


def test_below_counts_all_pairs():
    rng = np.random.default_rng(0)
    columns, z = np.sort(rng.integers(0, 9, (4, 30))), rng.integers(-1, 10, (12, 4))
    assert (masf.below(z, columns) == (columns < z[..., None]).sum(-1)).all()
    assert (masf.below(z, columns, "right") == (columns <= z[..., None]).sum(-1)).all()


def test_columns_are_sorted_whatever_their_number_of_rows():
    for n in (1, 511, 512, 1300):
        z = drawn(0, n)[:, 1]  # every other layer: not in one piece of memory
        columns = masf.in_columns(z)
        assert columns.flags.c_contiguous and (columns == np.sort(z.T)).all()


# Null distribution and power ---------------------------------------------------------------------------


def test_calibrated_p_is_uniform_for_new_examples():
    one, together = of_seeds("calibrated")
    assert stats.kstest(one, "uniform").pvalue > 0.05
    assert stats.kstest(together, "uniform").pvalue > 0.05


@pytest.mark.parametrize("definition", ["paper", "released"])
def test_in_sample_p_is_not(definition):
    one, together = of_seeds(definition)
    assert stats.kstest(together, "uniform").pvalue < 1e-4 and together.mean() < 0.4


@pytest.mark.parametrize("definition", masf.DEFINITIONS)
def test_power_against_a_shift(definition):
    one, together = of_seeds(definition, shift=8.0, seeds=10)
    # No p is below the share of the reference that is as extreme in all layers: in sample, those with p = 0.
    assert (one < 0.05).all() and (together < 0.05).all()
    if definition == "calibrated":
        assert (one >= 1 / 151).all() and (together < 0.001).all()


def test_many_at_the_least_value():
    # Of the first embedding 8 of 20 share the least value: Eq. 2 has none below it, so p = 0 for all of them.
    reference = drawn(0, 20, layers=1, width=3)
    reference[:8, 0, 0] = reference.min() - 1
    assert (masf.fit(reference).stages(reference).p1[:8, 0, 0] == 0).all()
    calibrated = masf.fit(reference, "calibrated", resolution=0.1).stages(reference)
    assert (calibrated.p1[:8, 0, 0] > 2 / 11).all()


def test_examples_do_not_see_each_other():
    reference, new = np.split(drawn(0, 70), [40])
    for definition in masf.DEFINITIONS:
        fitted = masf.fit(reference, definition)
        parts = [fitted.p_values(part) for part in (new[:1], new[1:20], new[20:])]
        assert (np.concatenate(parts) == fitted.p_values(new)).all()
        other = masf.fit(reference[::-1], definition).p_values(new)
        assert (other == fitted.p_values(new)).all() == (definition != "calibrated")  # which draws its halves


def test_p_of_a_data_set():
    fitted = masf.fit(drawn(0, 40))
    assert fitted.dataset_p([0.5, 0.01]) == pytest.approx(0.02)
    assert fitted.dataset_p([0.5, 0]) == 0
    calibrated = masf.fit(drawn(0, 400), "calibrated")
    least = np.full(30, 1 / 201)
    assert 0 < calibrated.dataset_p(least) < 0.001
    assert calibrated.dataset_p(np.linspace(0.05, 1, 30)) > 0.2
    assert calibrated.dataset_p(least, seed=1) != calibrated.dataset_p(least)


def test_fishers_p_of_a_data_set():
    p = [0.5, 0.01, 0.3]
    combined = masf.fit(drawn(0, 40)).dataset_p(p, combination="fisher")
    assert combined == pytest.approx(stats.combine_pvalues(p, "fisher").pvalue, rel=1e-5)
    released = masf.fit(drawn(0, 40), "released").dataset_p(p, combination="fisher")
    assert released == pytest.approx(1 - combined)
    calibrated = masf.fit(drawn(0, 400), "calibrated")
    assert calibrated.dataset_p(np.full(30, 1 / 201), combination="fisher") < 0.001
    new = np.arange(1, 31) / 31  # as uniform as can be
    assert calibrated.dataset_p(new, combination="fisher") > 0.2
    with pytest.raises(ValueError, match="combination='stouffer' is unknown: use 'simes', 'fisher'"):
        calibrated.dataset_p(new, combination="stouffer")


@pytest.mark.parametrize("combination", ["simes", "fisher"])
def test_a_calibrated_p_of_a_data_set_is_uniform(combination):
    p = []
    for seed in range(60):
        reference, new = np.split(drawn(seed, 340), [300])
        fitted = masf.fit(reference, "calibrated", seed=seed)
        p.append(fitted.dataset_p(fitted.p_values(new), seed, combination))
    assert stats.kstest(p, "uniform").pvalue > 0.01


# Signals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_signals_are_maxima_over_all_tokens(kind):
    model = tiny.classifier(kind)
    encodings = model.encode(tiny.TEXTS, tiny.TEXTS_B)
    signals = masf.signals(model, encodings)
    assert signals.shape == (5, 3, 16) and signals.dtype == np.float32
    for encoding, row in zip(encodings, signals, strict=True):
        with torch.inference_mode():
            states = model.hidden_states(model.collate([encoding]))
        np.testing.assert_allclose(row, torch.cat(states).amax(1), atol=1e-5)
    for budget in (1, 40):
        with batching.limited(model, budget):
            np.testing.assert_allclose(masf.signals(model, encodings[::-1])[::-1], signals, atol=1e-5)


def test_p_does_not_depend_on_batches():
    model = tiny.classifier()
    rng = np.random.default_rng(0)
    words = [" ".join(rng.choice(tiny.WORDS, rng.integers(3, 12))) for _ in range(80)]
    encodings = model.encode(words)
    signals = [masf.signals(model, encodings)]
    with batching.limited(model, 16):
        signals.append(masf.signals(model, encodings))
    for definition in masf.DEFINITIONS:
        p = [masf.fit(s[:60], definition).p_values(s[60:]) for s in signals]
        np.testing.assert_allclose(*p, atol=1 / 30)  # a bit may move one example of the reference


def test_equal_inputs_are_computed_once(monkeypatch):
    model, rows = tiny.classifier(), []
    encodings = model.encode(tiny.TEXTS)
    encodings = encodings[:1] * 4 + encodings
    masked = [replace(e, ids=np.where(e.maskable, model.mask_id, e.ids)) for e in encodings]
    inner = model.hidden_states
    monkeypatch.setattr(model, "hidden_states", lambda batch: rows.append(len(batch.ids)) or inner(batch))
    signals = masf.signals(model, masked)
    assert sum(rows) == len({len(e.ids) for e in masked}) and (signals[:4] == signals[4]).all()


# Bad input ---------------------------------------------------------------------------------------------


def test_signals_refuse():
    model = tiny.classifier()
    refused("no maskable token", masf.signals, model, model.encode(["", "the plot"]))
    bilstm = models.load("bilstm", ["a", "b"], tiny.TEXTS, width=6, hidden=4)
    refused("widths 6, 8", masf.signals, bilstm, bilstm.encode(tiny.TEXTS))
    with torch.no_grad():
        model.model.base_model.embeddings.LayerNorm.bias[0] = torch.nan
    refused("NaN", masf.signals, model, model.encode(tiny.TEXTS), error=FloatingPointError)


def test_fit_refuses():
    reference = drawn(0, 40)
    for resolution in (0, 1, 5):
        refused("resolution", masf.fit, reference, resolution=resolution)
    for definition, n in ("paper", 19), ("released", 19), ("calibrated", 36):
        with pytest.raises(
            ValueError, match=f"reference of {n} gives {definition} p-values of at least 0.0526"
        ):
            masf.fit(reference[:n], definition)
        masf.fit(reference[: n + 1], definition)
    for wrong in (reference[0], reference[:0], reference[..., :0]):
        refused("examples, layers, width", masf.fit, wrong)
    broken = reference.copy()
    broken[7, 1, 2] = np.nan
    refused("example 7 has NaN", masf.fit, broken)
    refused("example 7 has NaN", masf.fit(reference).p_values, broken)
    refused("one model", masf.fit(reference).p_values, reference[:, :1])
    refused(r"in \[0, 1\]", masf.fit(reference).dataset_p, [[0.5]])


def test_constant_embeddings():
    reference = drawn(0, 40)
    reference[:, 1, 5] = 0.5
    with pytest.warns(UserWarning, match="1 of 48 embeddings are constant.*5 of layer 1"):
        fitted = masf.fit(reference)
    assert (fitted.stages(reference).p2[:, 1] == 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calibrated = masf.fit(reference, "calibrated")
    assert (calibrated.stages(reference).p1[:, 1, 5] > 0.5).all()
    reference[:, 0] = 0.5
    for definition in masf.DEFINITIONS:
        refused("layer 0 has the same hidden states in all examples", masf.fit, reference, definition)
