"""Tables of fmm: by hand, beside the published numbers, with what is flagged and left out."""

import numpy as np
import pytest
from sample.fmm import MASKED, PLAIN, curves_of, epochs_of, every, masf_of, record
from sample.rows import cell

from faithlib import store
from notebooks.fmm import areas, claims, tables
from notebooks.fmm.card import CARD
from replication import papers


def test_names_are_those_of_the_published_tables():
    four = papers.published("fmm", "table_4").set_index("measure")
    assert tables.measure_order()[: len(four) + 1] == ["random", *four.index]
    assert {m: tables.variant(m) for m in four.index} == four.variant.to_dict()
    for measure, category in four.category.items():
        entry = claims.registry.described(measure)
        assert ("occlusion" if entry.occlusion else entry.family) == category
    assert papers.published("fmm", "table_10").set_index("strategy").name.to_dict() == tables.STRATEGIES
    assert tables.strategy_title("half/masked") == "half masked, epoch by masked copy"
    assert [CARD.metric(d) for d in ("cola", "babi_1", "topics")] == ["mcc", "accuracy", "accuracy"]


def test_points_keep_each_data_sets_own_metric(points):
    assert points.groupby("dataset").metric.unique().map(list).to_dict() == {
        "sst2": ["accuracy"],
        "cola": ["mcc"],
        "whereabouts_2": ["accuracy"],
    }
    assert set(points.model) == {"MiniLM"} and points.converged.all()


def test_performance_stands_beside_the_published(records):
    table = tables.performance(tables.scores(records))
    assert table.strategy[:3].tolist() == list(tables.STRATEGIES)
    row = cell(table, dataset="sst2", strategy=MASKED)
    assert (row.unmasked, row.all_masked, row.majority) == pytest.approx((0.905, 0.5, 0.5))
    assert row.unmasked_low <= 0.9 + 1e-9 and (row.seeds, row.unconverged) == (2, 0)
    assert (row.published, row.published_low, row.published_majority) == (0.94, pytest.approx(0.938), 0.51)
    assert row.published_model == "roberta-base"  # the paper has no MiniLM
    assert np.isnan(cell(table, dataset="whereabouts_2", strategy=MASKED).published)  # generated
    plain = cell(table, dataset="sst2", strategy=PLAIN)
    assert np.isnan(plain.published) and plain.collapsed == 1 and row.collapsed == 0
    mean = cell(table, dataset="all", strategy=PLAIN)
    assert (mean.unmasked, mean.all_masked, mean.seeds) == pytest.approx((0.915, 0.4, 2))


def test_a_seed_that_did_not_converge_is_flagged_and_only_left_out_on_request(records):
    broken = [record("sst2", 0), record("sst2", 1, converged=False), *records[2:]]
    table = tables.performance(tables.scores(broken))
    row = cell(table, dataset="sst2", strategy=MASKED)
    assert (row.seeds, row.unconverged, row.unmasked) == (2, 1, pytest.approx(0.905))
    assert cell(table, dataset="all", strategy=MASKED).seeds == 1  # the paper's mean has converged seeds only
    left = cell(tables.performance(tables.scores(broken, leave_out=True)), dataset="sst2", strategy=MASKED)
    assert (left.seeds, left.unconverged, left.unmasked) == (1, 0, 0.9)
    kept, fewer = (tables.points(every(curves_of), broken, leave_out) for leave_out in (False, True))
    assert len(kept) - len(fewer) == 2 * 10 * 11
    assert cell(areas.racu(kept), dataset="sst2", strategy=MASKED, measure="beam").unconverged == 1


def test_curves_are_means_with_intervals(points):
    row = cell(tables.curve_table(points), dataset="sst2", strategy=MASKED, measure="beam", step=50)
    assert row.value == pytest.approx(0.48) and row.value_low < row.value < row.value_high
    assert (row.metric, row.seeds, row.masked_tokens) == ("accuracy", 2, 500)


def test_masf_has_a_column_for_each_definition(records):
    table = tables.masf(tables.with_convergence(every(masf_of), records))
    row = cell(table, dataset="sst2", strategy=MASKED, measure="leave_one_out", ratio=50)
    assert (row.p_paper, row.p_calibrated, row.share_paper) == pytest.approx((0.55, 0.55, 0.1))
    assert row.p_paper_low < row.p_paper < row.p_paper_high and (row.n, row.seeds) == (100, 2)
    null = cell(table, dataset="sst2", strategy=MASKED, measure="validation")
    assert (null.p_paper, null.p_released, null.ratio) == (0.5, 0, 0)
    some = masf_of().query("definition == 'paper'")
    assert tables.masf(tables.with_convergence(some, records)).p_calibrated.isna().all()


def test_walltime_is_minutes_beside_the_published(records):
    table = tables.walltime(records)
    row = cell(table, dataset="sst2", strategy=MASKED, part="leave_one_out")
    assert (row.minutes, row.published, row.seeds) == (2, 10, 2)
    assert cell(table, dataset="sst2", strategy=MASKED, part="fine_tuning").published == 79
    assert cell(table, dataset="cola", strategy=MASKED, part="masf").published == 2
    assert np.isnan(cell(table, dataset="sst2", strategy=PLAIN, part="fine_tuning").published)
    wide = tables.walltime_as_printed(table).set_index(["strategy", "part"])
    assert wide.sst2[MASKED, "leave_one_out"] == "2.00 (10)"
    assert "(" not in wide.sst2[PLAIN, "fine_tuning"]


def test_history_has_both_copies(records):
    table = tables.history(tables.with_convergence(every(epochs_of), records))
    masked = table[(table.dataset == "sst2") & (table.strategy == MASKED)]
    assert masked["copy"].tolist() == ["unmasked"] * 3 + ["masked"] * 3
    assert masked.value.tolist() == pytest.approx([0.605, 0.755, 0.805, 0.5, 0.6, 0.7 - 0.2 / 3])
    assert not ((table.strategy == PLAIN) & (table["copy"] == "masked")).any()


def test_parts_are_read_where_there_are_any(records, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "sst2.MiniLM.s0.masf.parquet"
    masf = masf_of()
    store.write_parquet(tmp_path / "results/quick/fmm" / name, masf.drop(columns=["dataset", "model"]))
    with_part = records[0] | {"files": {name: "digest"}}
    loaded = tables.load_parts("results", "quick", [with_part, records[1]], "masf")
    assert len(loaded) == len(masf) and set(loaded.model) == {"MiniLM"} and loaded.converged.all()
    assert tables.load_parts("results", "quick", records, "history").empty


def test_a_published_score_of_another_metric_stands_beside_none_of_ours():
    table = tables.pd.read_csv(store.project_root() / "results/small/fmm/tables/performance.csv")
    of_test = table[table.split == "test"].groupby("dataset").published.count()
    assert of_test["snli"] == 0 < of_test["mrpc"]
