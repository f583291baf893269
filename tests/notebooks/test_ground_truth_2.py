"""The experiment of version 2: a unit twice and in parts, its report."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from sample.units import ROOT, run_here, science

from notebooks.ground_truth_2 import card
from notebooks.ground_truth_2.measure import planted_models, planted_texts, read_training, scoring, units
from notebooks.ground_truth_2.measure.natural_texts import Natural
from notebooks.ground_truth_2.worst_case import CORE

NOTEBOOK = ROOT / "notebooks/ground_truth_2/experiment.ipynb"
REPORT = NOTEBOOK.with_name("report.ipynb")
GOOD, BAD = ("good", "great", "fine", "nice"), ("bad", "poor", "weak", "dull")
NEUTRAL = ("a", "the", "film", "plot")
FEW = {"examples": 2, "draws": 1, "operators": ["mask"]}


@pytest.fixture
def shallow(monkeypatch):
    """One pass over few texts, and a gate that such a model passes: what matters here is no accuracy."""
    quick = planted_texts.Planted("redundant", "redundant", "one", 2, 3, 600, 8)
    monkeypatch.setitem(planted_texts.PLANTED, "redundant", quick)
    monkeypatch.setattr(planted_models, "ACCURACY", 0.3)
    monkeypatch.setattr("notebooks.ground_truth_2.measure.planted_truth.FALL", -100.0)


def test_a_unit_twice_is_the_same_and_its_report_has_all_tables(tmp_path, shallow):
    unit, runs = "planted.tiny-bert.s0", []
    for name in ("one", "two"):
        places = {"results_dir": f"{tmp_path}/{name}/results"}
        run_here({**FEW, **places}, NOTEBOOK)
        runs.append(science(places["results_dir"], unit, "ground_truth_2", ["milliseconds"]))
    assert runs[0] == runs[1]
    ends = ("", ".gates", ".resolution")
    assert set(runs[0]) == {f"{unit}.json", *(f"{unit}{end}.parquet" for end in ends)}
    folder = Path(places["results_dir"], "quick", "ground_truth_2")
    counts = pd.read_parquet(folder / f"{unit}.parquet")
    assert set(scoring.CELL) <= set(counts) and counts[counts.metric == "oracle"].right.sum() > 0
    run_here({"scale": "quick", "results_dir": places["results_dir"], "figures_dir": str(tmp_path)}, REPORT)
    for table in card.CARD.tables:
        assert len(pd.read_csv(folder / "tables" / f"{table}.csv"))
    assert list((tmp_path / "quick/ground_truth_2").glob("*.png"))
    assert json.loads((folder / f"{unit}.json").read_text())["design"] == "nested"


def test_a_unit_of_natural_texts_is_certified_and_goes_on_where_it_stopped(tmp_path, monkeypatch):
    generator = np.random.default_rng(0)
    (tmp_path / "sst").mkdir()
    for split, count in (("train", 600), ("validation", 20), ("test", 60)):
        labels = generator.integers(2, size=count)
        words = [
            [*generator.choice((BAD, GOOD)[label], 6), *generator.choice(NEUTRAL, 8)] for label in labels
        ]
        table = pd.DataFrame({"text": [" ".join(generator.permutation(w)) for w in words], "label": labels})
        table.to_parquet(tmp_path / "sst" / f"{split}.parquet")
    monkeypatch.setitem(units.NATURAL, "sst", Natural("sst", 60, 600, 60, 6))
    settings = partial(units.Settings, learning_rate=2e-3, head_learning_rate=2e-3)
    monkeypatch.setattr(units, "Settings", settings)
    places = {"results_dir": f"{tmp_path}/results", "data_dir": str(tmp_path)}
    run_here({**FEW, **places, "task": "sst"}, NOTEBOOK)
    folder = tmp_path / "results/quick/ground_truth_2"
    certificate = pd.read_parquet(folder / "sst.tiny-bert.s0.certificate.parquet")
    assert certificate[certificate.certified].largest.max() < 1e-5 and len(certificate) == 5
    errors = set(pd.read_parquet(folder / "sst.tiny-bert.s0.parquet").error)
    assert {error for kind, error in CORE if kind == "N1"} <= errors
    before = (folder / "sst.tiny-bert.s0.parquet").read_bytes()
    (folder / "sst.tiny-bert.s0.json").unlink()

    def again(*_, **settings):
        raise AssertionError("computed again: weights and parts are not read back")

    monkeypatch.setattr(read_training, "train", again)
    monkeypatch.setattr(scoring, "rows", again)
    run_here({**FEW, **places, "task": "sst"}, NOTEBOOK)
    assert (folder / "sst.tiny-bert.s0.parquet").read_bytes() == before


def test_the_units_are_those_that_the_card_fixed():
    config = yaml.safe_load((ROOT / "config/small.yaml").read_text(encoding="utf-8"))
    entry = config["papers"]["ground_truth_2"]
    planned = {
        "P": {"task": "planted"},
        "N1": {"task": "sst"},
        "N2": {"task": "ag_news"},
        "N1, mask kind": {"task": "sst", "kind": "mask"},
        "language models": {"task": "planted", "model": "tiny-llama"},
    }
    assert len(entry["units"]) == len(planned)
    for (name, wanted), row in zip(planned.items(), entry["units"], strict=True):
        unit = entry["defaults"] | row
        assert {key: unit[key] for key in wanted} == wanted
        assert (unit["seed"], unit["examples"]) == ([*card.SEEDS[name]], card.TEXTS[name])
