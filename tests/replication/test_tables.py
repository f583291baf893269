"""What tables share: rows by group, intervals, published values, order and layout, by hand."""

import numpy as np
import pandas as pd
import pytest

from faithlib import attributions
from faithlib.scores import RANDOM
from replication import tables

NAN = float("nan")
RECORD = {
    "unit": "sst.tiny.s1",
    "params": {"task": "sst", "model": "org/tiny", "seed": 1},
    "metrics": [{"metric": "accuracy", "value": 0.75}, {"metric": "loss", "value": 0.5, "strategy": "plain"}],
    "excluded": [
        {"what": "rows", "why": "empty", "n": 2, "split": "train"},
        {"what": "x", "why": "y", "n": 0},
    ],
    "files": {"sst.tiny.s1.parquet": "0123456789abcdef"},
    "provenance": {
        "git": "f" * 40, "dirty": False, "device": "cpu",
        "versions": {"torch": "2.13.0", "transformers": "5.0"},
    },
}  # fmt: skip


def test_rows_are_selected_and_grouped_as_they_come():
    frame = pd.DataFrame({"dataset": ["sst", "imdb", "sst"], "seed": [0, 0, 1], "value": [1, 2, 3]})
    assert tables.select(frame, dataset="sst", seed=1).value.tolist() == [3]
    groups = [(row, part.value.tolist()) for row, part in tables.groups(frame, ["dataset"])]
    assert groups == [({"dataset": "sst"}, [1, 3]), ({"dataset": "imdb"}, [2])]


def test_rows_of_records():
    frame = tables.metric_rows([RECORD], columns=["flagged"])
    assert list(frame) == ["dataset", "model", "seed", "metric", "value", "strategy", "flagged"]
    assert frame.model.tolist() == ["tiny", "tiny"] and frame.flagged.isna().all()
    (left_out,) = tables.excluded([RECORD]).to_dict("records")
    assert left_out == {"unit": "sst.tiny.s1", "split": "train", "what": "rows", "why": "empty", "n": 2}
    (source,) = tables.sources([RECORD]).to_dict("records")
    assert source["values"] == "0123456789ab" and source["code"] == "f" * 12 and source["torch"] == "2.13.0"


def test_intervals_have_columns_of_their_own_and_need_values():
    row = tables.over_examples([0.0, 1.0, 1.0, 0.0], "share")
    assert row["share"] == 0.5 and row["ci_low"] < 0.5 < row["ci_high"]
    assert all(np.isnan(list(tables.over_examples([], "share").values())))
    one = tables.over_seeds(np.array([0.5]), "racu")
    assert one["racu"] == 0.5 and np.isnan(one["racu_low"]) and list(one) == ["racu", "racu_low", "racu_high"]
    assert all(np.isnan(list(tables.over_seeds(np.array([]), "racu").values())))


def test_a_published_value_is_of_the_data_set_itself():
    published = pd.DataFrame({"dataset": ["ag_news", "sst"], "seed": [1, 1], "value": [0.9, 0.8]})
    assert tables.published_value(published, "ag_news", seed=1) == 0.9
    assert np.isnan(tables.published_value(published, "ag_news", seed=2))
    assert np.isnan(tables.published_value(published, "topics", seed=1))  # generated, imitates ag_news
    assert tables.published_row(published, "imdb") == {}
    ends = tables.published_interval({"value": 94.0, "plus": 0.5, "minus": 1.0})
    assert ends == pytest.approx({"published": 0.94, "published_low": 0.93, "published_high": 0.945})
    assert all(np.isnan(list(tables.published_interval({}).values())))


def test_known_names_come_first_in_their_order():
    names = tables.in_order(["z", "lime", "a", "attention"], ["attention", "lime"])
    assert names == ["attention", "lime", "a", "z"]
    order = tables.attribution_order(["lime", RANDOM, "lime"])
    assert order[:2] == [RANDOM, "lime"] and sorted(order) == sorted([RANDOM, *attributions.names()])
    assert tables.attribution_order(["lime"], baseline_last=True)[-1] == RANDOM
    frame = pd.DataFrame({"dataset": ["b", "a", "b"], "attribution": ["lime", "lime", "attention"]})
    sorted_frame = tables.ordered(frame, dataset=None, attribution=["attention"], absent=["x"])
    assert sorted_frame.values.tolist() == [["b", "attention"], ["b", "lime"], ["a", "lime"]]


def test_a_registered_attribution_is_in_the_order_of_every_table():
    attributions.register("mine", signed=False, family="gradient")(lambda model, batch, target: {})
    try:
        assert tables.attribution_order(["lime"])[-1] == "mine"
    finally:
        attributions.unregister("mine")


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((0.614,), "0.614"),
        ((0.614, 0.56, 0.69), "0.614 [0.560, 0.690]"),
        ((NAN,), ""),
    ],
)
def test_a_cell(numbers, text):
    assert tables.cell_text(*numbers) == text


def test_a_cell_with_all_its_parts():
    text = tables.cell_text(0.614, 0.56, 0.69, sd=0.02, mark="*", published="0.58", precision=2, ends=1)
    assert text == "0.61* ± 0.02 [0.6, 0.7] (0.58)"


def test_intervals_stand_behind_their_values():
    table = pd.DataFrame(
        {
            "task": ["a", "b", "c"], "f1": [0.5, 0.25, NAN], "f1_low": [0.4, NAN, NAN],
            "f1_high": [0.625, NAN, NAN], "auc": [1.0, 0.0, -1.0], "n": [3, 4, 5],
            "auc_ci_low": [0.9, -0.1, -1.0], "auc_ci_high": [1.0, 0.1, -0.5],
        }
    )  # fmt: skip
    cells = tables.bracketed(table, precision=2)
    assert list(cells) == ["task", "f1", "auc", "n"] and cells.n.tolist() == [3, 4, 5]
    assert cells.f1.tolist() == ["0.50 [0.40, 0.62]", "0.25", ""]
    assert cells.auc.tolist() == ["1.00 [0.90, 1.00]", "0.00 [-0.10, 0.10]", "-1.00 [-1.00, -0.50]"]
    assert len(table.columns) == 8 and tables.bracketed(cells).equals(cells)


def test_a_long_table_in_the_layout_of_a_paper():
    table = pd.DataFrame({"metric": ["NS", "NS", "NC"], "dataset": ["sst", "imdb", "sst"]})
    wide = tables.as_printed(table, ["1", "2", "3"], ["metric"], ["dataset"])
    assert wide.to_dict("list") == {"metric": ["NS", "NC"], "sst": ["1", "3"], "imdb": ["2", ""]}


def test_a_banner_says_what_the_records_are_of():
    def record(task, seed, dtype="float32", **more):
        about = {"paper": "fmm", "params": {"task": task, "model": "org/tiny", "seed": seed}}
        return about | {"provenance": {"device": "cpu", "dtype": dtype, **more}}

    some = {"examples": {"n": 40, "of": 2000}}
    records = [record("sst", 0, **some), record("sst", 1, **some), record("cola", 0, "bfloat16")]
    assert tables.banner(records, "small") == (
        "**Small scale, 3 records.** tiny: sst (2 seeds, 40 of 2,000 texts), cola (1 seed). "
        "Computed in float32 and bfloat16 on cpu. [All tables as CSV](../../results/small/fmm/tables)."
    )
    assert "no verdict follows" in tables.banner(records, "quick")
