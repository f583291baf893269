"""Tables of recursive_roar: by hand, beside the published numbers, with what is flagged and left out."""

import numpy as np
import pandas as pd
import pytest
from sample.recursive_roar import record

from notebooks.recursive_roar import tables
from notebooks.recursive_roar.card import CARD


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


def test_the_published_integrated_gradients_are_the_released_ones(points):
    gradients = points[points.measure == "integrated_gradients_abs"]
    released = gradients.assign(measure="weighted_integrated_gradients_abs", value=gradients.value + 0.5)
    six = points.assign(variant="6-outputs")
    table = tables.racu(pd.concat([points, released, six]))
    table = table[table.recursive.astype(bool)].set_index(["dataset", "variant", "measure"]).sort_index()
    assert table.published["babi_1", "", "weighted_integrated_gradients_abs"] == 0.591
    assert np.isnan(table.published["babi_1", "", "integrated_gradients_abs"])
    assert table.loc["babi_1", "6-outputs"].published.isna().all()
    assert table.clipped["babi_1", "", "weighted_integrated_gradients_abs"] and table.clipped.sum() == 2


def test_gates_are_of_each_variant(points):
    values = points.assign(metric="balanced_accuracy")
    values = pd.concat([values, values.assign(metric="macro_f1")])
    poor = values.assign(variant="1500-texts", value=0.5)
    gate = tables.gates(pd.concat([values, poor])).set_index(["dataset", "variant"]).accepted
    assert gate["sst", ""] and not gate["sst", "1500-texts"]


def test_curves_and_sparsity_are_means_with_intervals(points):
    table = tables.curve_table(points).set_index(["dataset", "recursive", "measure", "step"])
    row = table.loc["sst", True, "random", 50]
    assert row.value == pytest.approx(0.75 + 0.0025) and row.value_low < row.value < row.value_high
    assert row.seeds == 3 and row.new_tokens == 10
    shares = pd.DataFrame(
        [
            {
                "dataset": "sst", "model": "a/bilstm", "seed": s, "job": job, "measure": "attention",
                "by": "count", "top": 1, "share": 0.4 + 0.1 * s, "variant": "",
            }
            for s in range(3)
            for job in ("unmasked", "attention.True.10")
        ]
    )  # fmt: skip
    (row,) = tables.sparsity(shares).to_dict("records")
    assert row["share"] == pytest.approx(0.5) and row["seeds"] == 3 and row["model"] == "bilstm"


def test_compute_counts_minutes_a_step(points):
    table = tables.compute([record(d, s) for d in ("babi_1", "sst") for s in range(3)], points)
    row = table.set_index(["dataset", "measure"]).loc["babi_1", "attention"]
    assert row.minutes == 1.5 and row.models == 27 and row.published == 9


def test_models_that_were_stopped_before_they_learned_are_told(points):
    asked = {"model": "org/bilstm", "variant": "", "epochs": 50, "patience": 15}
    records = [
        {"unit": f"babi_1.bilstm.s{seed}", "params": asked | {"task": "babi_1", "seed": seed}}
        for seed in range(3)
    ]
    points = points.assign(epochs=17.0)
    assert tables.stopped_early(records, points) == []
    one = (points.dataset == "babi_1") & (points.measure == "attention") & points.recursive
    late = one & (points.seed == 1) & (points.step >= 80)  # 80, 90 and all of it
    points.loc[late, "classes_predicted"] = 1
    points.loc[one & (points.seed == 2), ["classes_predicted", "epochs"]] = 1, 50.0  # trained to the end
    models = points[(points.dataset == "babi_1") & (points.seed == 1)].job.nunique()
    assert tables.stopped_early(records, points) == [
        f"babi_1.bilstm.s1: 2 of {models} models, predicting one class, ended before epoch 50 and may not "
        "have begun to learn (patience=15)"
    ]
