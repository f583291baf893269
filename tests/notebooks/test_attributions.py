"""The experiment of the study of attributions: the same unit twice."""

from pathlib import Path

import pandas as pd
import pytest
import tiny
from sample.units import ROOT, mirror, run_here, science
from wrong import refused

from replication import results
from replication.parameters import defaults

EVIDENCE = ROOT / "notebooks/attributions/experiment.ipynb"


# Attributions against known evidence --------------------------------------------------------------

FEW = {
    "train_size": 200, "validation_size": 60, "test_size": 60, "examples": 6, "epochs": 1, "steps": 3,
    "timed_examples": 1,
}  # fmt: skip


def test_a_task_without_evidence_is_told(folders, no_training, tmp_path):
    refused(
        "task='sst' has no evidence",
        run_here,
        {
            **FEW, **folders, "task": "sst", "data_dir": str(mirror(tmp_path, "sst")), "train_size": 0,
            "validation_size": 0, "test_size": 0,
        },
        EVIDENCE,
    )  # fmt: skip


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_all_methods_meet_the_evidence_with_the_same_bytes_every_time_and_make_a_table(tmp_path, times):
    unit, runs = "relation.tiny-bert.s0", []
    for name in ("one", "two")[:times]:
        places = {"results_dir": f"{tmp_path}/{name}/results"}
        run_here({**FEW, **places, "task": "relation"}, EVIDENCE)
        runs.append(science(places["results_dir"], unit, "attributions", ["seconds_per_example"]))
    assert sorted(runs[0]) == [f"{unit}{end}" for end in (".examples.parquet", ".json", ".parquet")]
    assert runs[0] == runs[-1]
    (record,), values = results.load(places["results_dir"], "quick", "attributions")
    asked = defaults(EVIDENCE)["attributions"]
    # integrated gradients with another weight of each step; and ReAGent, which came after the records
    others = {"weighted_integrated_gradients_abs", "reagent"}
    assert set(asked) == set(tiny.methods()) - others
    agreement = values[values.metric != "completeness_gap"]
    assert len(agreement) == len(asked) * 3 * 6 and agreement.value.notna().all()
    gap = values[values.metric == "completeness_gap"]
    assert list(gap.example) == list(range(6)) and (gap.value >= 0).all() and gap.chance.isna().all()
    assert set(record["volatile"]["seconds_per_example"]) == set(asked)

    report = ROOT / "notebooks/attributions/report.ipynb"
    run_here({"scale": "quick", "results_dir": places["results_dir"], "figures_dir": str(tmp_path)}, report)
    folder = Path(places["results_dir"], "quick", "attributions")
    table = pd.read_csv(folder / "tables" / "evidence.csv")
    assert list(table.attribution) == asked and set(table.dataset) == {"relation"} and (table.n == 6).all()
    assert (folder / "claims.csv").is_file() and list((tmp_path / "quick/attributions").glob("*.png"))
