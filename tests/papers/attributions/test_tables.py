"""Tables of the study of attributions: by hand, with what is left out."""

import numpy as np
import pandas as pd
import pytest
from sample.attributions import AROUND, LEVEL, SPREAD, N, unit
from sample.rows import cell

from faithlib import report
from faithlib.metrics.plausibility import BETTER
from notebooks.attributions import tables


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
    assert row.n == N and row.auprc == pytest.approx(0.3)
    assert np.isnan(row.auprc_ci_low) and np.isnan(row.auprc_ci_high)  # seeds cancel: all values are equal


def test_the_page_names_the_direction_and_the_file_does_not(tmp_path):
    table = tables.evidence(unit(lime=SPREAD))
    report.save_table(table, tmp_path / "evidence", better=BETTER, printed=tables.evidence_as_printed(table))
    assert list(pd.read_csv(tmp_path / "evidence.csv")) == list(table)
    html, latex = ((tmp_path / f"evidence.{kind}").read_text() for kind in ("html", "tex"))
    for text, up, down in (
        (html, "auprc ↑", "rank of the first hit ↓"),
        (latex, r"auprc $\uparrow$", r"rank of the first hit $\downarrow$"),
    ):
        assert up in text and down in text and "0.50 [0.4" in text and "a random order" in text
    last = cell(tables.evidence_as_printed(table), attribution="a random order")
    assert (last.n, last.auprc, last.precision, last.first_hit) == (N, "0.30", "0.25", "3.00")


def test_overview_and_cost_come_from_the_records():
    values = unit(lime=SPREAD)
    values.loc[values.example == 0, ["value", "chance"]] = np.nan
    record = {
        "unit": "sentiment.tiny.s0", "params": {"task": "sentiment", "model": "org/tiny", "seed": 0},
        "metrics": [{"metric": "accuracy", "value": 0.9}], "provenance": {"examples": {"n": N, "of": 300}},
        "volatile": {"seconds_per_example": {"lime": 0.5, "beam": 2.0}},
    }  # fmt: skip
    row = cell(tables.overview([record], values), dataset="sentiment")
    assert (row.model, row.accuracy, row.examples, row["with evidence"]) == ("tiny", 0.9, N, N - 1)
    assert row["predicted right"] == N - 5 and row["share of evidence"] == pytest.approx(LEVEL["precision"])
    cost = tables.cost([record])
    assert list(cost.attribution) == ["lime", "beam"] and list(cost["sentiment.tiny.s0"]) == [0.5, 2.0]
