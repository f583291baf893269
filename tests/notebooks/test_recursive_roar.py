"""The experiment of recursive_roar: the same unit twice."""

from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from sample.units import ROOT, run_here, science

from notebooks.recursive_roar import synthetic
from replication import results

# Recursive ROAR -----------------------------------------------------------------------------------

ROAR = ROOT / "notebooks/recursive_roar/experiment.ipynb"


BRIEF = {
    "train_size": 60, "validation_size": 20, "test_size": 20, "epochs": 1, "ig_steps": 2, "width": 8,
    "hidden": 4, "ratios": [50, 100],
}  # fmt: skip


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_roar_is_the_same_bytes_every_time_and_makes_a_report(folders, tmp_path, monkeypatch, times):
    unit, runs = "relation.bilstm.s0", []
    for name in ("one", "two")[:times]:
        places = {"results_dir": f"{tmp_path}/{name}/results"}
        run_here({**BRIEF, **places, "task": "relation", "counts": [1, 2]}, ROAR)
        runs.append(science(places["results_dir"], unit, "recursive_roar", ["seconds_of_models"]))
    assert sorted(runs[0]) == [
        f"{unit}{end}" for end in (".json", ".parquet", ".predictions.parquet", ".sparsity.parquet")
    ]
    assert runs[0] == runs[-1]
    (record,), values = results.load(places["results_dir"], "quick", "recursive_roar")
    curves = values[values.metric == "accuracy"]
    assert len(curves) == 5 * 2 * (3 + 3)  # measures with random, ROAR or not, steps by ratio and by count
    assert curves.value.between(0, 1).all()
    assert set(record["volatile"]["seconds_of_models"]) == set(values.job)
    assert record["design"] == "crossed" and set(values.classes_predicted) <= {1, 2}
    rows = pd.DataFrame(record["metrics"]).set_index("metric")
    assert {"accuracy", "balanced_accuracy", "macro_f1", "majority", "acu"} <= set(rows.index)
    assert (rows.clipped[rows.clipped.notna()] == (rows.value[rows.clipped.notna()].abs() > 1)).all()

    few = partial(synthetic.curves, train=3000, test=2000)  # test_synthetic.py has more, and all
    monkeypatch.setattr(synthetic, "curves", few)
    report = ROOT / "notebooks/recursive_roar/report.ipynb"
    run_here({"scale": "quick", "results_dir": places["results_dir"], "figures_dir": str(tmp_path)}, report)
    folder = Path(places["results_dir"], "quick", "recursive_roar")
    table = pd.read_csv(folder / "tables" / "racu.csv")
    assert len(table) == 8 and table.ci_low.isna().all() and (folder / "claims.csv").is_file()
    assert {p.stem for p in (tmp_path / "quick/recursive_roar").glob("*.png")} >= {
        "racu_by_dataset", "recursive_curves", "roar_and_recursive_bilstm", "sparsity_by_count",
        "sparsity_by_ratio", "synthetic_accuracy",
    }  # fmt: skip
    plt.close("all")


def test_roar_by_count_alone_has_no_areas(folders):
    run_here({**BRIEF, **folders, "ratios": [], "counts": [1], "measures": ["attention"]}, ROAR)
    (record,), values = results.load(folders["results_dir"], "quick", "recursive_roar")
    assert set(values.by) == {"count"} and not {"acu", "racu"} & {row["metric"] for row in record["metrics"]}
