"""The experiment of fmm: wrong parameters, the same unit twice."""

from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from sample.units import ROOT, ReachedTraining, run_here, science

from faithlib import results

# FMM ----------------------------------------------------------------------------------------------

FMM = ROOT / "notebooks/fmm/experiment.ipynb"


TINY = {
    "train_size": 60,
    "validation_size": 50,
    "test_size": 30,
    "examples": 6,
    "epochs": 1,
    "ig_steps": 2,
    "beam": 1,
    "ratios": [50, 100],
}


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"task": "wikibio"}, "'wikibio'"),
        ({"measures": ["beem"]}, "'beem'"),
        ({"measures": []}, "[]"),
        ({"strategies": ["half/all"]}, "'half/all'"),
        ({"ratios": [50, 20]}, "[50, 20]"),
        ({"beam": 0}, "beam=0"),
        ({"validation_size": 20}, "20"),
        ({"max_length": 8}, "longer"),
        ({"ig_steps": 0}, "steps=0"),
    ],
)
def test_wrong_parameters_of_fmm_are_told_before_training(folders, no_training, wrong, named):
    with pytest.raises(ReachedTraining):
        run_here({**TINY, **folders}, FMM)
    with pytest.raises(ValueError) as error:
        run_here({**TINY, **folders, **wrong}, FMM)
    assert named in str(error.value) and "\n" not in str(error.value)


@pytest.mark.filterwarnings("ignore:.*constant in the reference")  # so few and short texts
def test_fmm_twice_is_the_same_bytes_and_makes_a_report(folders, tmp_path):
    unit, found = "sentiment.tiny-bert.s0", []
    for name in ("one", "two"):
        places = {"results_dir": f"{tmp_path}/{name}/results"}
        run_here({**TINY, **places}, FMM)
        found.append(science(places["results_dir"], unit, "fmm", ["seconds_of_measures"]))
    assert sorted(found[0]) == [
        f"{unit}{end}" for end in (".history.parquet", ".json", ".masf.parquet", ".parquet")
    ]
    assert found[0] == found[1]
    (record,), values = results.load(places["results_dir"], "quick", "fmm")
    accuracy = values[values.metric == "accuracy"]
    assert len(accuracy) == 2 * 10 * 3  # strategies, measures with random, steps
    ends = accuracy[accuracy.step.isin([0, 100])].groupby(["strategy", "step"]).value
    assert (ends.nunique() == 1).all()  # whatever the measure, nothing or everything is masked
    assert {row["metric"] for row in record["metrics"]} == {"accuracy", "majority", "converged"}

    report = ROOT / "notebooks/fmm/report.ipynb"
    run_here({"scale": "quick", "results_dir": places["results_dir"], "figures_dir": str(tmp_path)}, report)
    folder = Path(places["results_dir"], "quick", "fmm")
    assert {p.stem for p in (folder / "tables").glob("*.csv")} == {
        "performance",
        "history",
        "gates",
        "masf",
        "curves",
        "racu",
        "walltime",
    }
    assert (folder / "claims.csv").is_file()
    assert (tmp_path / "quick/fmm/faithfulness_curves_masked_fine_tuning.png").is_file()
    plt.close("all")
