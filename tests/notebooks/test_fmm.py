"""The experiment of fmm: the same unit twice."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sample.units import ROOT, run_here, science

from replication import results

# FMM ----------------------------------------------------------------------------------------------

FMM = ROOT / "notebooks/fmm/experiment.ipynb"


TINY = {
    "train_size": 60, "validation_size": 50, "test_size": 30, "examples": 6, "epochs": 1, "ig_steps": 2,
    "beam": 1, "random_draws": 2, "ratios": [50, 100],
}  # fmt: skip


def _check_parts(results_dir, record, values):
    """The parts of a record agree with its curves."""
    parts = (
        results.load_tables(results_dir, "quick", "fmm", [record], name)
        for name in ("predictions", "draws", "masf")
    )
    predictions, draws, masf = parts
    predictions["value"] = predictions.predicted == predictions.label
    keys = ["strategy", "option", "measure", "step"]
    accuracy = predictions.groupby(keys).value.mean()
    curves = values[values.metric == "accuracy"].set_index(keys).value
    measured = curves[curves.index.get_level_values("measure") != "random"]
    np.testing.assert_allclose(accuracy.loc[measured.index], measured)
    of_draws = accuracy.reset_index().query("measure.str.startswith('random')", engine="python")
    mean = of_draws.groupby(["strategy", "step"]).value.mean()
    random = curves.reset_index().query("measure == 'random'").set_index(["strategy", "step"]).value
    np.testing.assert_allclose(mean.loc[random.index], random)
    assert sorted(draws.draws.unique()) == [1, 2]
    ends = masf[masf.ratio.isin([0, 100]) & (masf.measure != "validation")]
    assert (ends.groupby(["strategy", "definition", "ratio"]).p.nunique() == 1).all()
    assert masf.p_fisher.between(0, 1).all()


@pytest.mark.filterwarnings("ignore:.*constant in the reference")  # so few and short texts
@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_fmm_is_the_same_bytes_every_time_and_makes_a_report(folders, tmp_path, times):
    unit, runs = "sentiment.tiny-bert.s0", []
    for name in ("one", "two")[:times]:
        places = {"results_dir": f"{tmp_path}/{name}/results"}
        run_here({**TINY, **places}, FMM)
        runs.append(science(places["results_dir"], unit, "fmm", ["seconds_of_measures"]))
    parts = ("draws.", "history.", "", "masf.", "", "predictions.")
    ends = ("parquet", "parquet", "json", "parquet", "parquet", "parquet")
    assert sorted(runs[0]) == [f"{unit}.{part}{end}" for part, end in zip(parts, ends, strict=True)]
    assert runs[0] == runs[-1]
    (record,), values = results.load(places["results_dir"], "quick", "fmm")
    assert record["design"] == "crossed"
    accuracy = values[values.metric == "accuracy"]
    measured = accuracy[accuracy.option == "main"].groupby("strategy").measure.nunique().to_dict()
    assert measured == {"half/both": 10, "none/unmasked": 9}  # with random, and Beam once
    assert accuracy.groupby("option").measure.nunique().to_dict() == {
        "main": 10, "padding baseline": 2, "predicted label": 9, "released": 2,
    }  # fmt: skip
    ends = accuracy[accuracy.step.isin([0, 100])].groupby(["strategy", "step"]).value
    assert (ends.nunique() == 1).all()  # whatever the measure, nothing or everything is masked
    assert {row["metric"] for row in record["metrics"]} == set(
        "accuracy balanced_accuracy collapsed completeness_gap majority converged".split()
    )
    _check_parts(places["results_dir"], record, values)

    report = ROOT / "notebooks/fmm/report.ipynb"
    run_here({"scale": "quick", "results_dir": places["results_dir"], "figures_dir": str(tmp_path)}, report)
    folder = Path(places["results_dir"], "quick", "fmm")
    assert {p.stem for p in (folder / "tables").glob("*.csv")} == set(
        (
            "performance seeds history gates masf curves racu random_draws walltime agreement bridge printed"
        ).split()
    )
    assert (folder / "claims.csv").is_file()
    assert (tmp_path / "quick/fmm/faithfulness_curves_masked_fine_tuning.png").is_file()
    plt.close("all")
