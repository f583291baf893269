"""The experiment of saloss: the same unit twice."""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from sample.units import ROOT, run_here, science

from notebooks.saloss.card import FLIPS
from replication import results

# SaLoss -------------------------------------------------------------------------------------------

SALOSS = ROOT / "notebooks/saloss/experiment.ipynb"


SHORT = {
    "train_size": 80, "validation_size": 30, "test_size": 30, "examples": 8, "tuning_examples": 6,
    "epochs": 1, "ig_steps": 2, "weights": [0.1, 1.0], "released_weights": [0.001],
}  # fmt: skip


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_saloss_is_the_same_bytes_every_time_and_makes_a_report(folders, tmp_path, times):
    unit, runs = "sentiment.tiny-bert.s0", []
    for name in ("one", "two")[:times]:
        places = {"results_dir": f"{tmp_path}/{name}/results"}
        run_here({**SHORT, **places}, SALOSS)
        runs.append(science(places["results_dir"], unit, "saloss"))
    assert sorted(runs[0]) == [
        f"{unit}{end}"
        for end in (".as_released.parquet", ".examples.parquet", ".json", ".parquet", ".pos.parquet")
    ]
    assert runs[0] == runs[-1]
    places["results_dir"] = f"{tmp_path}/{name}/resumed"  # beside the same checkpoints
    with pytest.MonkeyPatch.context() as patch:  # nothing is trained or measured again
        patch.setattr("faithlib.training.fine_tuning.fine_tune", None)
        run_here({**SHORT, **places}, SALOSS)
    assert science(places["results_dir"], unit, "saloss") == runs[0]

    (record,), values = results.load(places["results_dir"], "quick", "saloss")
    models = ["salience", "definition", "weight", "chosen"]
    rows = values.groupby([*models, "option"]).size().unstack()
    assert (rows == 5 * 8).sum().to_dict() == {  # of attributions and examples, by model
        "main": 5,  # baseline, TextRank with two weights and as released, uniform
        **dict.fromkeys(FLIPS, 4),  # of the weights that were chosen
    }
    assert values.fraction.between(0, 1, "right").all() and values.fraction.dtype == "float32"
    assert record["design"] == "crossed"
    rows = pd.DataFrame(record["metrics"])
    test = rows[(rows.split == "test") & (rows.metric == "balanced_accuracy")]
    assert test[test.input == "text"].groupby("salience").size().to_dict() == {
        "none": 1,
        "textrank": 3,
        "uniform": 1,
    }
    # FRESH, top-k and contiguous: the control has word pieces alone
    assert test[test.unit == "words"].groupby("salience").size().to_dict() == {"none": 2, "textrank": 4}
    assert (test.unit == "word pieces").sum() == 8
    assert rows[rows.metric == "flip_fraction"].chosen.sum() == 3
    assert {"loss", "collapsed", "never_flipped", "attention_kl"} <= set(rows.metric)

    report = ROOT / "notebooks/saloss/report.ipynb"
    run_here({"scale": "quick", "results_dir": places["results_dir"], "figures_dir": str(tmp_path)}, report)
    folder = Path(places["results_dir"], "quick", "saloss")
    assert {p.stem for p in (folder / "tables").glob("*.csv")} == set(
        (
            "agreement bridge decision_flip doses fresh gates lambdas options performance pos "
            "printed seeds released_scores"
        ).split()
    )
    assert (folder / "claims.csv").is_file()
    assert (tmp_path / "quick/saloss/importance_by_part_of_speech.png").is_file()
    plt.close("all")
