"""The published tables are complete and say of themselves what the README of the folder says."""

import numpy as np
import pytest

from faithlib import published
from faithlib.statistics import rank_sum

ATTRIBUTIONS = [
    "attention", "scaled_attention", "input_x_gradient_abs", "integrated_gradients", "deeplift",
]
DATASETS = ["sst", "evidence_inference", "ag_news", "multirc"]
HARD = {"Soft-NS": "NS", "Soft-NC": "NC"}


@pytest.fixture
def cells():
    return published.load("soft_metrics", "table_6")


@pytest.mark.parametrize(
    ("table", "rows"),
    [("table_1", 24), ("table_2", 24), ("table_3", 20), ("table_4", 24), ("table_5", 4),
     ("table_6", 80)],
)
def test_tables_are_complete(table, rows):
    frame = published.load("soft_metrics", table)
    assert len(frame) == rows
    keys = frame.columns.difference(["value", "sd", "significant", "note"]).tolist()
    assert not frame.duplicated(keys).any()
    if "metric" in frame:
        assert set(frame.metric) == {"NS", "NC", "Soft-NS", "Soft-NC"}
    if "dataset" in frame:
        assert set(frame.dataset) - {"average"} == set(frame.dataset) & set(DATASETS)
    if "attribution" in frame:
        assert set(frame.attribution) <= {*ATTRIBUTIONS, "average", "random"}
    if "value" in frame:
        assert frame.value.notna().all()


@pytest.mark.parametrize(
    ("table", "by", "off"),
    [("table_2", "attribution", {("Soft-NC", "integrated_gradients"): 0.00101,
                                  ("Soft-NS", "integrated_gradients"): 0.00076}),
     ("table_3", "dataset", {})],
)
def test_averages_are_those_of_table_6(cells, table, by, off):
    ours = cells.groupby(["metric", by]).value.mean()
    frame = published.load("soft_metrics", table).set_index(["metric", by])
    for (metric, name), row in frame.iterrows():
        mean = ours[metric].mean() if name == "average" else ours[metric, name]
        # the average NC is printed 0.394 for 0.39345: rounded from rounded values
        slack = off.get((metric, name), 0.00056)
        assert row.value == pytest.approx(mean, abs=slack), (metric, name)
        if name == "average":
            assert row.sd == pytest.approx(ours[metric].std(ddof=0), abs=0.0006)
    for key in off:
        assert abs(frame.value[key] - ours[key]) > 0.0006 and frame.note[key]


def test_stars_follow_from_a_rank_sum_test_on_the_cells(cells):
    for table, by in (("table_2", "attribution"), ("table_3", "dataset")):
        frame = published.load("soft_metrics", table).set_index(["metric", by])
        for (metric, name), star in frame.significant.items():
            if metric not in HARD:
                assert not star
                continue
            part = cells if name == "average" else cells[cells[by] == name]
            soft, hard = (part.value[part.metric == m] for m in (metric, HARD[metric]))
            assert star == (rank_sum(soft, hard) < 0.01), (metric, name)


def test_sixteen_of_eighteen_and_which_two_are_lost(cells):
    lost = []
    for by in ("attribution", "dataset"):
        mean = cells.groupby(["metric", by]).value.mean()
        lost += [(soft, name) for soft, hard in HARD.items() for name in mean[soft].index
                 if mean[soft, name] <= mean[hard, name]]
    assert lost == [("Soft-NS", "ag_news"), ("Soft-NC", "multirc")]
    text = published.load("soft_metrics", "text").set_index("name").value
    assert (text.cases - len(lost), text.cases) == (text.cases_won, 18)
    wide = cells.pivot(index=["dataset", "attribution"], columns="metric", values="value")
    won = sum((wide[soft] > wide[hard]).sum() for soft, hard in HARD.items())
    assert won == 28 and (wide < 0.5).sum()[["NC", "NS", "Soft-NC", "Soft-NS"]].tolist() == [
        17, 20, 9, 11]


def test_spread_over_attributions_falls_and_over_data_sets_rises():
    over = {by: published.load("soft_metrics", t).query("sd.notna()").set_index("metric").sd
            for t, by in (("table_2", "attributions"), ("table_3", "data sets"))}
    for soft, hard in HARD.items():
        assert over["attributions"][soft] < over["attributions"][hard]
        assert over["data sets"][soft] > over["data sets"][hard]


def test_text_agrees_with_the_tables():
    text = published.load("soft_metrics", "text").set_index("name").value
    for table in ("table_2", "table_3"):
        frame = published.load("soft_metrics", table)
        for metric in ("NS", "NC", "Soft-NS", "Soft-NC"):
            row = frame[(frame.metric == metric) & frame.sd.notna()]
            assert row.value.item() == text[f"average_{metric.lower().replace('-', '_')}"]
    soft = published.load("soft_metrics", "table_2").query("attribution != 'average'")
    for metric in HARD:
        values = soft.value[soft.metric == metric]
        low, high = (text[f"{metric.lower().replace('-', '_')}_{end}"] for end in ("min", "max"))
        assert np.allclose([values.min(), values.max()], [low, high])


@pytest.mark.parametrize(
    ("paper", "table", "words"),
    [("soft", "table_6", "'soft'.*soft_metrics"),
     ("soft_metrics", "table_7", "'table_7'.*table_6")],
)
def test_unknown_names_are_told(paper, table, words):
    with pytest.raises(ValueError, match=words):
        published.load(paper, table)
