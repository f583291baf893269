"""The experiment of the study of attributions: wrong parameters, the same unit twice."""

from pathlib import Path

import execute
import pandas as pd
import pytest
import tiny
from sample.units import ROOT, ReachedTraining, mirror, run_here, science

from replication import results

EVIDENCE = ROOT / "notebooks/attributions/experiment.ipynb"


# Attributions against known evidence --------------------------------------------------------------

FEW = {
    "train_size": 200,
    "validation_size": 60,
    "test_size": 60,
    "examples": 6,
    "epochs": 1,
    "steps": 3,
    "timed_examples": 1,
}


def test_these_parameters_reach_training(folders, no_training):
    with pytest.raises(ReachedTraining):
        run_here({**FEW, **folders}, EVIDENCE)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"task": "wikibio"}, "'wikibio'"),
        ({"attributions": ["lime", "beem"]}, "'beem'"),
        ({"attributions": []}, "attributions=[]"),
        ({"steps": 0}, "steps=0"),
        ({"max_length": 8}, "longer than"),
        ({"timed_examples": 0}, "timed_examples=0"),
    ],
)
def test_wrong_parameters_of_evidence_are_told_before_training(folders, no_training, wrong, named):
    with pytest.raises(ValueError) as error:
        run_here({**FEW, **folders, **wrong}, EVIDENCE)
    assert named in str(error.value) and "\n" not in str(error.value)


def test_a_task_without_evidence_is_told(folders, no_training, tmp_path):
    with pytest.raises(ValueError, match="task='sst' has no evidence"):
        run_here(
            {
                **FEW,
                **folders,
                "task": "sst",
                "data_dir": str(mirror(tmp_path, "sst")),
                "train_size": 0,
                "validation_size": 0,
                "test_size": 0,
            },
            EVIDENCE,
        )


def test_all_methods_meet_the_evidence_twice_with_the_same_bytes_and_make_a_table(folders, tmp_path):
    unit, found = "relation.tiny-bert.s0", []
    for name in ("one", "two"):
        places = {"results_dir": f"{tmp_path}/{name}/results"}
        run_here({**FEW, **places, "task": "relation"}, EVIDENCE)
        found.append(science(places["results_dir"], unit, "attributions", ["seconds_per_example"]))
    assert sorted(found[0]) == [f"{unit}{end}" for end in (".examples.parquet", ".json", ".parquet")]
    assert found[0] == found[1]
    (record,), values = results.load(places["results_dir"], "quick", "attributions")
    asked = execute.defaults(EVIDENCE)["attributions"]
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
