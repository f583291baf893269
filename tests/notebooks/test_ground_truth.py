"""The experiment of the study of metrics: the same unit twice, its report."""

import json
from pathlib import Path

import pandas as pd
import pytest
import yaml
from sample.units import ROOT, run_here, science

from notebooks.ground_truth import tables
from notebooks.ground_truth.measure.unit import Unit

NOTEBOOK = ROOT / "notebooks/ground_truth/experiment.ipynb"
REPORT = NOTEBOOK.with_name("report.ipynb")
FEW = {
    "train_size": 20,
    "examples": 3,
    "draws": 1,
    "mechanisms": ["one_word"],
    "attributions": ["gradient_l2", "leave_one_out_abs"],
}


def test_a_model_that_fails_everywhere_is_one_line(folders):
    with pytest.raises(ValueError, match="tiny-bert passes the gates of no mechanism: train longer"):
        run_here({**FEW, **folders, "epochs": 1}, NOTEBOOK)


def test_a_unit_twice_is_the_same_and_its_report_has_all_tables(tmp_path):
    unit, found = "planted.compiled.s0", []
    for name in ("one", "two"):
        places = {"results_dir": f"{tmp_path}/{name}/results"}
        run_here({**FEW, **places, "model": "compiled"}, NOTEBOOK)
        found.append(science(places["results_dir"], unit, "ground_truth", ["milliseconds"]))
    assert found[0] == found[1]
    ends = ("", ".attributions", ".cost", ".familiarity", ".gates")
    assert set(found[0]) == {f"{unit}.json", *(f"{unit}{end}.parquet" for end in ends)}
    run_here({"scale": "quick", "results_dir": places["results_dir"], "figures_dir": str(tmp_path)}, REPORT)
    folder = Path(places["results_dir"], "quick", "ground_truth")
    metrics = pd.read_csv(folder / "tables/metrics.csv")
    assert list(metrics) == tables.METRICS and "random" in set(metrics.metric)
    whole = pd.read_csv(folder / "tables/overview.csv", index_col="metric")
    assert whole.accuracy["oracle"] == 1 and whole.passes["soft_nc"] == 1 and whole.milliseconds["nc"] > 0
    board = pd.read_csv(folder / "tables/leaderboard.csv")
    assert set(board.kind) == {"metric", "attribution"} and board.corpus.str.len().max() == 16
    assert list((tmp_path / "quick/ground_truth").glob("*.png"))


def test_parameters_are_those_of_a_unit_and_its_sizes_those_of_the_study():
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    (cell,) = (c for c in cells if "parameters" in c["metadata"].get("tags", ()))
    names = {}
    exec("".join(cell["source"]), names)
    unit = vars(Unit("tiny-bert", 0))
    sizes = {"train_size", "epochs", "draws"}
    alike = set(unit) & set(names) - {"attributions", "examples", *sizes}
    assert {"classes", "masking", "learning_rate", "batch_size"} < alike
    assert {name: names[name] for name in alike} == {name: unit[name] for name in alike}
    study = yaml.safe_load((NOTEBOOK.parents[2] / "config/small.yaml").read_text())
    study = study["papers"]["ground_truth"]["defaults"]
    assert {name: study[name] for name in sizes} == {name: unit[name] for name in sizes}
    assert all(names[name] < unit[name] for name in sizes)  # half a minute, for a reader
