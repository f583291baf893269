"""ACU, RACU and sparsity, by hand, by invariants and against golden values."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from wrong import refused

from faithlib.metrics import curves
from faithlib.metrics.curves import acu, racu, racu_denominator, summary

GOLDEN = Path(__file__).parents[1] / "golden" / "racu.json"


X = [0, 0.5, 1]


BASELINE = [0.9, 0.7, 0.5]


def tidy(performance, **also):
    """{(measure, seed): values at 0, 50 and 100 per cent} as `roar.run` has it."""
    case = {"dataset": "sst", "model": "bilstm", "recursive": True} | also
    rows = [
        case | {"measure": measure, "seed": seed, "step": step, "value": value}
        for (measure, seed), values in performance.items()
        for step, value in zip((0, 50, 100), values, strict=True)
    ]
    return pd.DataFrame(rows)


# Areas --------------------------------------------------------------------------------------------


def test_three_points_by_hand():
    # differences 0, 0.2, 0: two triangles of 0.5 · 0.2 / 2; the baseline is 0.4, 0.2, 0 above its end
    assert acu(X, [0.9, 0.5, 0.5], BASELINE) == pytest.approx(0.1)
    assert racu_denominator(X, BASELINE) == pytest.approx(0.5 * 0.3 + 0.5 * 0.1)
    assert racu(X, [0.9, 0.5, 0.5], BASELINE) == pytest.approx(0.5)
    assert racu(X, [0.9, 0.8, 0.5], BASELINE) == pytest.approx(-0.25)
    assert racu([0, 0.2, 1], [0.9, 0.5, 0.5], BASELINE) == pytest.approx(0.1 / 0.14)  # 0.06 + 0.08


def test_one_at_once_zero_for_the_baseline_negative_above_it():
    assert racu(X, [0.5] * 3, BASELINE) == pytest.approx(1)
    assert racu(X, BASELINE, BASELINE) == acu(X, BASELINE, BASELINE) == 0
    assert racu(X, [0.9, 0.9, 0.9], BASELINE) < 0
    assert racu(X, [0.3] * 3, BASELINE) == pytest.approx(2) and racu(X, [0.3] * 3, BASELINE, clip=True) == 1
    assert racu(X, [1.5] * 3, BASELINE, clip=True) == -1 > racu(X, [1.5] * 3, BASELINE)


def test_seeds_are_paired_and_each_has_its_own_denominator():
    measure, baseline = np.array([[0.9, 0.5, 0.5], [0.8, 0.8, 0.6]]), np.array([BASELINE, [1.0, 0.8, 0.6]])
    each = [racu(X, p, b) for p, b in zip(measure, baseline, strict=True)]
    assert racu(X, measure, baseline) == pytest.approx(each)
    assert acu(X, measure, baseline).shape == (2,)
    assert acu(X, measure, baseline[::-1]) != pytest.approx(acu(X, measure, baseline))


def test_the_area_is_that_of_the_lines_between_points_whatever_the_step():
    rng = np.random.default_rng(0)
    x, p, b = np.arange(11) / 10, rng.random(11), rng.random(11)
    expected = quad(lambda at: np.interp(at, x, b) - np.interp(at, x, p), 0, 1, points=x[1:-1])[0]
    assert acu(x, p, b) == pytest.approx(expected, abs=1e-7)
    fine = np.linspace(0, 1, 101)
    again = racu(fine, np.interp(fine, x, p), np.interp(fine, x, b))
    assert again == pytest.approx(racu(x, p, b))  # section 5.3: invariant to the step size
    assert racu(x * 100, p, b) == pytest.approx(racu(x, p, b))


def test_a_baseline_without_an_area_gives_nan():
    assert np.isnan(racu(X, [0.9, 0.5, 0.5], [0.5] * 3)) and acu(X, [0.9, 0.5, 0.5], [0.5] * 3) < 0


# Over seeds ---------------------------------------------------------------------------------------


def test_summary_by_hand():
    performance = {
        ("random", 0): BASELINE, ("random", 1): [1.0, 0.8, 0.6], ("attention", 0): [0.9, 0.5, 0.5],
        ("attention", 1): [1.0, 0.5, 0.6], ("gradient_l2", 0): BASELINE,
        ("gradient_l2", 1): [1.0, 0.8, 0.6],
    }  # fmt: skip
    table = summary(tidy(performance)).set_index("measure")
    assert table.index.tolist() == ["attention", "gradient_l2"]
    row = table.loc["attention"]
    assert (row.racu, row.acu, row.racu_clipped) == pytest.approx((0.625, 0.125, 0.625))  # 0.5, 0.75
    assert (row.racu_low, row.racu_high) == pytest.approx((0.5, 0.75))  # of two seeds: both
    assert row.acu_low <= row.acu <= row.acu_high
    assert (row.seeds, row.left_out, row.flat) == (2, "", 0)
    assert table.racu["gradient_l2"] == 0 and np.isnan(table.racu_low["gradient_l2"])  # equal in both seeds


def test_clipping_is_seed_by_seed():
    performance = {("random", 0): BASELINE, ("random", 1): BASELINE}
    performance |= {("attention", 0): [0.3] * 3, ("attention", 1): BASELINE}
    row = summary(tidy(performance)).iloc[0]
    assert (row.racu, row.racu_clipped) == pytest.approx((1, 0.5))


def test_a_seed_that_misses_a_curve_or_a_point_is_left_out_and_named():
    performance = {("random", seed): BASELINE for seed in (0, 1, 2, 3)}
    performance |= {("attention", seed): [0.9, 0.5, 0.5] for seed in (0, 1, 2, 4)}
    frame = tidy(performance)
    frame = frame[~((frame.seed == 2) & (frame.measure == "attention") & (frame.step == 50))]
    frame.loc[(frame.seed == 1) & (frame.measure == "random") & (frame.step == 100), "value"] = np.nan
    row = summary(frame).iloc[0]
    assert (row.seeds, row.racu) == (1, pytest.approx(0.5))
    assert row.left_out == (
        "seed 1: random incomplete; seed 2: attention incomplete; "
        "seed 3: attention incomplete; seed 4: random incomplete"
    )
    none = summary(frame[(frame.measure == "random") | (frame.seed == 4)]).iloc[0]
    assert none.seeds == 0 and none[["racu", "racu_low", "acu", "acu_high"]].isna().all()


def test_a_flat_baseline_is_flagged_and_its_acu_stays():
    performance = {
        ("random", 0): [0.51, 0.51, 0.5], ("random", 1): [0.49, 0.49, 0.5], ("random", 2): BASELINE,
        ("random", 3): [0.5] * 3,
    }  # fmt: skip
    performance |= {("attention", seed): [0.5, 0.3, 0.3] for seed in range(4)}
    row = summary(tidy(performance)).iloc[0]
    assert row.flat == 3 and row.seeds == 4
    assert np.isnan(row.racu) and np.isnan(row.racu_high) and 0.1 < row.acu < 0.3
    hardly = summary(tidy({key: p for key, p in performance.items() if key[1] < 3})).iloc[0]
    assert hardly.flat == 2 and np.isnan([hardly.racu, hardly.racu_clipped]).all() and hardly.acu > 0.1
    whole = summary(tidy({key: p for key, p in performance.items() if key[1] == 2})).iloc[0]
    assert whole.flat == 0


def test_rows_of_each_key_are_compared_among_themselves():
    one = tidy({("random", 0): BASELINE, ("attention", 0): [0.9, 0.5, 0.5]})
    other = tidy({("random", 0): [1.0, 0.8, 0.6], ("attention", 0): [1.0, 0.5, 0.6]}, recursive=False)
    table = summary(pd.concat([one, other]))
    assert table.recursive.tolist() == [True, False] and table.racu.tolist() == pytest.approx([0.5, 0.75])
    assert summary(one, keys=["dataset"]).columns.tolist()[:3] == ["dataset", "measure", "racu"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: pd.concat([f, f]), "bilstm, recursive=True: 'random', seed 0 has two values at step 0"),
        (lambda f: f[f.measure != "random"], "no curve of 'random' .* only attention"),
        (lambda f: f[f.step < 100], r"has steps \[0, 50\]"),
    ],
)
def test_curves_that_cannot_be_compared_are_told(change, words):
    refused(words, summary, change(tidy({("random", 0): BASELINE, ("attention", 0): [0.9, 0.5, 0.5]})))


def test_areas_and_intervals_are_those_of_the_release():
    cases = json.loads(GOLDEN.read_text())["cases"]
    for name, case in cases.items():
        inputs, expected = case["inputs"], case["expected"]
        x = np.array(inputs["ratios"]) / 100
        p, b = inputs["importance"], inputs["random"]
        for clip in (False, True):
            areas = racu(x, p, b, clip)
            assert areas == pytest.approx(expected[f"racu{'_clipped' * clip}_per_seed"], abs=1e-9), name
        assert acu(x, p, b) == pytest.approx(expected["acu_per_seed"], abs=1e-9)
        frame = pd.DataFrame(
            [
                {"case": name, "measure": measure, "seed": seed, "step": step, "value": value}
                for measure, of_seeds in (("random", b), ("attention", p))
                for seed, values in enumerate(of_seeds)
                for step, value in zip(inputs["ratios"], values, strict=True)
            ]
        )
        row = summary(frame, keys=["case"]).iloc[0]
        values = {"racu": racu(x, p, b), "racu_clipped": racu(x, p, b, clip=True), "acu": acu(x, p, b)}
        for area in curves.AREAS:
            bounds = expected[area]
            ends = [bounds["lower"], bounds["upper"]]
            if ends[0] == ends[1]:  # the release prints equal values as an interval without width
                ends = [np.nan, np.nan]
            interval = curves.over_seeds(values[area])
            assert interval == pytest.approx([bounds["mean"], *ends], abs=1e-9, nan_ok=True), (name, area)
            wanted = [np.nan] * 3 if row.flat and area != "acu" else list(interval)
            assert [row[area], row[f"{area}_low"], row[f"{area}_high"]] == pytest.approx(wanted, nan_ok=True)
        assert row.seeds == expected["n"] and (row.flat > 0) == (name == "clipped"), name


def test_one_seed_has_no_interval():
    assert curves.over_seeds([0.25])[0] == 0.25 and np.isnan(curves.over_seeds([0.25])[1:]).all()
    assert np.isnan(curves.over_seeds([0.25, np.nan])).all()
    mean, low, high = curves.over_seeds([0.1, 0.2, 0.4])
    assert low < mean < high


def test_mean_over_the_first_draws():
    values = {"random 1": 0.0, "random 2": 1.0, "random 3": 5.0}
    table = pd.DataFrame(
        [{"measure": m, "step": s, "value": v + s} for m, v in values.items() for s in (0, 10)]
    )
    means = curves.mean_over_draws(table, ["step"]).pivot(index="draws", columns="step", values="value")
    assert means.index.tolist() == [1, 2, 3]  # 1, 2, 4, ... and all
    assert means[0].tolist() == [0, 0.5, 2] and means[10].tolist() == [10, 10.5, 12]
