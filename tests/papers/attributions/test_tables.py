"""The table of evidence on values that are written down: means, intervals, verdicts, the figure."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from faithlib import report
from faithlib.metrics.plausibility import BETTER
from faithlib.papers.attributions import claims, figures, tables
from faithlib.report import __main__ as command

N = 20
LEVEL = {"auprc": 0.3, "precision": 0.25, "first_hit": 3.0}  # of a random order


def unit(dataset="sentiment", seed=0, model="org/tiny", **gains):
    """Values of one unit: `gains` is what an attribution's AUPRC has beyond a random order's, (N,)."""
    parts = []
    for name, gain in gains.items():
        for metric, level in LEVEL.items():
            shift = gain if metric != "first_hit" else -gain
            parts.append(
                pd.DataFrame(
                    {
                        "example": np.arange(N),
                        "attribution": name,
                        "metric": metric,
                        "value": level + shift,
                        "chance": level,
                        "right": np.arange(N) > 4,
                    }
                )
            )
    gap = pd.DataFrame(
        {
            "example": np.arange(N),
            "attribution": "integrated_gradients",
            "metric": "completeness_gap",
            "value": 9.0,
            "right": True,
        }
    )
    return pd.concat([*parts, gap], ignore_index=True).assign(dataset=dataset, seed=seed, model=model)


SPREAD = np.linspace(0.1, 0.3, N)  # mean 0.2
AROUND = np.linspace(-0.1, 0.1, N)  # mean 0


def cell(table, **where):
    for name, value in where.items():
        table = table[table[name] == value]
    assert len(table) == 1
    return table.iloc[0]


def test_a_row_an_attribution_with_every_metric_and_its_chance():
    table = tables.evidence(pd.concat([unit(lime=SPREAD, beam=AROUND), unit("topics", lime=SPREAD)]))
    assert list(zip(table.dataset, table.attribution, strict=True)) == [
        ("sentiment", "lime"),
        ("sentiment", "beam"),
        ("topics", "lime"),
    ]
    row = cell(table, dataset="sentiment", attribution="lime")
    assert row.model == "tiny" and row.n == N and row.no_value == 0
    for metric in BETTER:
        shift = -0.2 if metric == "first_hit" else 0.2
        assert row[metric] == pytest.approx(LEVEL[metric] + shift)
        assert row[f"{metric}_ci_low"] < row[metric] < row[f"{metric}_ci_high"]
        assert row[f"{metric}_chance"] == pytest.approx(LEVEL[metric])


def test_examples_without_evidence_are_counted_and_left_out_of_the_mean():
    values = unit(lime=np.r_[SPREAD[:-2], 5, 5])
    values.loc[(values.example >= N - 2), ["value", "chance"]] = np.nan
    row = cell(tables.evidence(values), attribution="lime")
    assert (row.n, row.no_value) == (N - 2, 2) and row.auprc == pytest.approx(0.3 + SPREAD[:-2].mean())
    values[["value", "chance"]] = np.nan  # no example has any
    row = cell(tables.evidence(values), attribution="lime")
    assert (row.n, row.no_value) == (0, N) and np.isnan(row.auprc)
    assert cell(tables.evidence_as_printed(tables.evidence(values)), attribution="lime").auprc == ""


def test_seeds_are_averaged_within_an_example():
    both = pd.concat([unit(lime=SPREAD), unit(seed=1, lime=-SPREAD)])
    row = cell(tables.evidence(both), attribution="lime")
    assert row.n == N and row.auprc == row.auprc_ci_low == row.auprc_ci_high == pytest.approx(0.3)


def test_the_page_names_the_direction_and_the_file_does_not(tmp_path):
    table = tables.evidence(unit(lime=SPREAD))
    report.save_table(table, tmp_path / "evidence", better=BETTER, shown=tables.evidence_as_printed(table))
    assert list(pd.read_csv(tmp_path / "evidence.csv")) == list(table)
    html, latex = ((tmp_path / f"evidence.{kind}").read_text() for kind in ("html", "tex"))
    for text, up, down in (
        (html, "auprc ↑", "first_hit ↓"),
        (latex, r"auprc $\uparrow$", r"first\_hit $\downarrow$"),
    ):
        assert up in text and down in text and "0.50 [0.4" in text and "a random order" in text
    last = cell(tables.evidence_as_printed(table), attribution="a random order")
    assert (last.n, last.auprc, last.precision, last.first_hit) == (N, "0.30", "0.25", "3.00")


def test_claims_hold_where_every_example_agrees():
    one = unit(
        lime=SPREAD, deeplift=-SPREAD, random_normal=AROUND, leave_one_out=AROUND, leave_one_out_abs=SPREAD
    )
    values = pd.concat([one, unit("topics", lime=3 * SPREAD)])
    verdicts = claims.claims(values)
    expected = {
        "lime above a random order": ("holds", (0.2 + 0.6) / 2),
        "deeplift above a random order": ("does not hold", -0.2),
        "random_normal above a random order": ("inconclusive", 0),
        "leave_one_out above a random order": ("inconclusive", 0),
        "leave_one_out_abs above a random order": ("holds", 0.2),
        "leave_one_out_abs above leave_one_out": ("holds", 0.2),
    }
    assert list(verdicts.claim) == list(expected)
    assert list(verdicts.verdict) == [verdict for verdict, _ in expected.values()]
    assert list(verdicts.value) == pytest.approx([value for _, value in expected.values()])
    assert verdicts["where"][0] == "sentiment +0.200, topics +0.600"
    assert (verdicts.ci_low <= verdicts.value).all() and (verdicts.value <= verdicts.ci_high).all()
    text = command.verdict_table(verdicts)  # what `make results` prints at its end
    assert all(claim.split()[0] in text for claim in expected)


def test_two_models_of_a_data_set_stay_apart():
    both = pd.concat([unit(lime=SPREAD), unit(model="org/large", lime=AROUND)])
    table = tables.evidence(both)
    assert cell(table, model="tiny").auprc > cell(table, model="large").auprc
    assert claims.claims(both).value[0] == pytest.approx(0.1)
    figure = figures.draw(table)
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert shown[:2] == ["sentiment (tiny)", "sentiment (large)"]
    plt.close(figure)


def test_the_figure_draws_every_mark_and_every_chance_level():
    table = tables.evidence(pd.concat([unit(lime=SPREAD, beam=AROUND), unit("topics", lime=SPREAD)]))
    report.use_style()
    figure = figures.draw(table, "quick")
    assert [axis.get_xlabel() for axis in figure.axes] == ["AUPRC ↑", "precision ↑", "first hit (rank) ↓"]
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["LIME", "Beam"]
    for axis, metric in zip(figure.axes, BETTER, strict=True):
        marks = [x for container in axis.containers for x in container[0].get_xdata()]
        assert marks == pytest.approx(list(table[metric]))
        dotted = [x.get_xdata()[0] for x in axis.lines if x.get_linestyle() == ":"]
        assert dotted == pytest.approx([LEVEL[metric]] * 2)
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()] == ["sentiment", "topics", "a random order"]
    plt.close(figure)


def test_overview_and_cost_come_from_the_records():
    values = unit(lime=SPREAD)
    values.loc[values.example == 0, ["value", "chance"]] = np.nan
    record = {
        "unit": "sentiment.tiny.s0",
        "params": {"task": "sentiment", "model": "org/tiny", "seed": 0},
        "metrics": [{"metric": "accuracy", "value": 0.9}],
        "provenance": {"examples": {"n": N, "of": 300}},
        "volatile": {"seconds_per_example": {"lime": 0.5, "beam": 2.0}},
    }
    row = cell(tables.overview([record], values), dataset="sentiment")
    assert (row.model, row.accuracy, row.examples, row["with evidence"]) == ("tiny", 0.9, N, N - 1)
    assert row["predicted right"] == N - 5 and row["share of evidence"] == pytest.approx(LEVEL["precision"])
    cost = tables.cost([record])
    assert list(cost.attribution) == ["lime", "beam"] and list(cost["sentiment.tiny.s0"]) == [0.5, 2.0]


def test_every_method_has_a_name_that_can_be_read():
    assert report.label("integrated_gradients_abs") == "|integrated gradients|"
    assert report.label("input_x_gradient") == "x∇x" and report.label("input_x_gradient_abs") == "|x∇x|"
    assert report.label("gradient_shap_abs") == "|GradientSHAP|" and report.label("my_own") == "my own"
