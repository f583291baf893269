"""Recursive ROAR's report, on curves made by hand: tables, claims and figures."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from faithlib.papers.recursive_roar import claims, figures, tables
from faithlib.papers.recursive_roar.card import CARD
from faithlib.report.claims import CLAIMS

STEPS = np.arange(0, 101, 10)
LINE = 1 - STEPS / 200  # random: from 1 to ½, evenly
DROP = np.where(STEPS > 0, 0.5, 1.0)  # at the end at once
RISE = np.where(STEPS == 60, 0.9, LINE)  # below the line before and after, and a jump at 60 %


def curve(shape, measure, recursive=True, dataset="babi_1", seed=0, metric="accuracy", model="bilstm"):
    jobs = ["unmasked", *(f"{measure}.{recursive}.{s}" for s in STEPS[1:-1]), "all-masked"]
    return pd.DataFrame(
        {
            "dataset": dataset,
            "model": f"folder/{model}",
            "seed": seed,
            "measure": measure,
            "recursive": recursive,
            "by": "ratio",
            "step": STEPS,
            "job": jobs,
            "metric": metric,
            "value": shape,
            "epochs": 8.0,
            "best_epoch": 5.0 + seed,
            "masked_tokens": STEPS * 10,
            "new_tokens": 10,
            "unchanged_texts": 0,
            "classes_predicted": 6,
        }
    )


def record(dataset="babi_1", seed=0, model="bilstm"):
    jobs = {f"{m}.True.{s}": [60.0, 30.0] for m in ("random", "attention") for s in STEPS[1:-1]}
    return {
        "unit": f"{dataset}.{model}.s{seed}",
        "params": {"task": dataset, "model": f"folder/{model}", "seed": seed},
        "metrics": [{"metric": "majority", "split": "test", "value": 0.2, "n": 10}],
        "volatile": {"seconds_of_models": jobs},
    }


@pytest.fixture
def points():
    """Two data sets, three seeds; attention is at the end at once under recursion and half way under ROAR."""
    parts = []
    for dataset in ("babi_1", "sst"):
        for seed in range(3):
            noise = 0.01 * seed * np.linspace(0, 1, 11) * (1 - np.linspace(0, 1, 11))
            for recursive in (False, True):
                given = dict(recursive=recursive, dataset=dataset, seed=seed)
                metric = CARD.metric(dataset)
                half = (LINE + DROP) / 2
                first, second = ("gradient_l2", "integrated_gradients_abs")[:: 1 if dataset == "sst" else -1]
                for measure, shape in (
                    ("random", LINE),
                    ("attention", DROP if recursive else half),
                    (first, half),
                    (second, RISE),
                ):
                    parts.append(curve(shape + noise, measure, metric=metric, **given))
                parts.append(curve(0 * LINE, "random", metric="loss", **given))  # another metric
    return tables.points(pd.concat(parts, ignore_index=True))


def test_points_keep_each_data_sets_own_metric(points):
    assert points.groupby("dataset").metric.unique().map(list).to_dict() == {
        "babi_1": ["accuracy"],
        "sst": ["macro_f1"],
    }
    assert set(points.model) == {"bilstm"}
    assert CARD.metric("snli") == "accuracy"  # micro-F1 of one label an example
    assert CARD.metric("whereabouts_1") == "accuracy"


def test_performance_stands_beside_the_published(points):
    records = [record(d, s) for d in ("babi_1", "sst") for s in range(3)]
    table = tables.performance(records, points).set_index("dataset")
    babi = table.loc["babi_1"]
    assert (babi.unmasked, babi.all_masked, babi.seeds) == (1, 0.5, 3) and babi.majority == pytest.approx(0.2)
    assert (babi.epochs, babi.best_epoch) == (8, 6)
    assert [babi.published, babi.published_low, babi.published_high] == pytest.approx([1, 0.999, 1])
    assert table.loc["sst", "published"] == 0.82


def test_racu_by_hand_and_beside_the_published(points):
    table = tables.racu(points).set_index(["dataset", "recursive", "measure"])
    row = table.loc["babi_1", True, "attention"]
    # ACU: the trapezoids between the line and the drop: 0.25 less the first half step, 0.1 · ½ · ½.
    assert row.acu == pytest.approx(0.225) and row.racu == pytest.approx(0.9, abs=1e-2)
    assert row.published == 0.665 and row.published_low == pytest.approx(0.573)
    assert table.loc["babi_1", False, "attention"].racu == pytest.approx(0.45, abs=1e-2)
    assert np.isnan(table.loc["babi_1", False, "attention"].published)  # the paper has no areas of ROAR
    assert (table.seeds == 3).all() and (table.flat == 0).all()


def test_curves_and_sparsity_are_means_with_intervals(points):
    table = tables.curve_table(points).set_index(["dataset", "recursive", "measure", "step"])
    row = table.loc["sst", True, "random", 50]
    assert row.value == pytest.approx(0.75 + 0.0025) and row.value_low < row.value < row.value_high
    assert row.seeds == 3 and row.new_tokens == 10
    shares = pd.DataFrame(
        [
            {
                "dataset": "sst",
                "model": "a/bilstm",
                "seed": s,
                "job": job,
                "measure": "attention",
                "by": "count",
                "top": 1,
                "share": 0.4 + 0.1 * s,
            }
            for s in range(3)
            for job in ("unmasked", "attention.True.10")
        ]
    )
    (row,) = tables.sparsity(shares).to_dict("records")
    assert row["share"] == pytest.approx(0.5) and row["seeds"] == 3 and row["model"] == "bilstm"


def test_compute_counts_minutes_a_step(points):
    table = tables.compute([record(d, s) for d in ("babi_1", "sst") for s in range(3)], points)
    row = table.set_index(["dataset", "measure"]).loc["babi_1", "attention"]
    assert row.minutes == 1.5 and row.models == 27 and row.published == 9


def test_claims_say_what_the_curves_were_made_to_say(points):
    table = claims.claims(points, n_resamples=200).set_index("claim")
    assert list(table.reset_index()) == CLAIMS
    assert "a measure's faithfulness differs between models (clearest difference)" not in table.index
    verdicts = table.verdict
    tasks = "which of two measures is more faithful depends on the task (smaller of both leads)"
    assert verdicts[tasks] == "holds"
    assert verdicts["attention is faithful (RACU above 0)"] == "holds"
    assert table.value["attention is faithful (RACU above 0)"] == pytest.approx(0.9, abs=1e-2)
    assert verdicts["attention leads the other measures (RACU less the best other)"] == "holds"
    assert verdicts["somewhere a cheaper gradient is more faithful than integrated gradients"] == "holds"
    assert verdicts["the top 20 % bring more than 20 % of the drop"] == "holds"
    leak = table.loc["class leakage: somewhere a curve rises by more than 1%"]
    assert leak.verdict == "holds" and leak.value == pytest.approx(0.9 - 0.75 - 0.01, abs=2e-3)
    assert "from 50 to 60 %" in leak["where"]
    gain = table.loc["Recursive ROAR finds measures more faithful than ROAR does"]
    assert gain.value == pytest.approx(0.45 / 3, abs=1e-2)  # attention gains, the other two do not


def test_two_models_are_compared(points):
    other = points[points.dataset == "sst"].assign(model="other")
    other.loc[other.measure == "attention", "value"] = other[other.measure == "random"].value.to_numpy()
    table = claims.claims(pd.concat([points, other]), n_resamples=200).set_index("claim")
    row = table.loc["a measure's faithfulness differs between models (clearest difference)"]
    assert row.verdict == "holds" and row.value == pytest.approx(0.9, abs=1e-2)
    assert "sst, attention" in row["where"]
    # The encoder's attention, equal to random, has rows of its own.
    assert table.value["attention is faithful (RACU above 0)"] == pytest.approx(0.9, abs=1e-2)
    assert table.value["an encoder's attention is faithful (RACU above 0)"] == pytest.approx(0, abs=1e-2)
    where = table["where"]["the top 20 % bring more than 20 % of the drop"]
    assert "sst, bilstm, attention +0.797" in where and "sst, other, attention -0.003" in where


def test_the_top_20_percent_are_what_a_grid_has_at_20_percent(points):
    claim = "the top 20 % bring more than 20 % of the drop"
    whole = points[points.recursive]

    def values(*steps):
        some = whole[whole.step.isin([0, *steps, 100])]
        return claims.claims(some, n_resamples=50).set_index("claim").value

    assert values(20, 50)[claim] == pytest.approx(values(*range(10, 100, 10))[claim])
    assert claim not in values(25, 50) and len(values(25, 50))


def test_figures_have_a_panel_for_everything(points):
    curves = tables.curve_table(points)
    figure = figures.curves(curves, recursive=(False, True))
    assert len(figure.axes) == 4 and all(len(axis.lines) == 4 for axis in figure.axes)
    few = curves[curves.step <= 20].assign(by="count", step=curves.step // 10)
    figure = figures.curves(few, by="count")
    assert (figure.axes[-1].get_xticks() % 1 == 0).all()  # there is no half a token
    figure = figures.racu(tables.racu(points))
    assert [axis.get_title() for axis in figure.axes] == ["babi_1, bilstm", "sst, bilstm"]
    plt.close("all")


def test_one_seed_makes_no_claim(points):
    one = points[points.seed == 0]
    assert claims.claims(one).empty
    table = tables.racu(one)
    assert table.acu.notna().all() and table.acu_low.isna().all()
    figures.racu(table)
    figures.curves(tables.curve_table(one))
    plt.close("all")
