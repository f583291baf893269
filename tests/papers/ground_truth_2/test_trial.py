"""One's own metric or attribution in the cells of the study, and its command."""

import json

import numpy as np
import pandas as pd
import pytest
from sample.compiled import compiled

from faithlib.__main__ import main
from notebooks.ground_truth_2 import trial
from notebooks.ground_truth_2.measure import planted_unit
from notebooks.ground_truth_2.measure.planted_models import PlantedModel
from notebooks.ground_truth_2.measure.planted_texts import PLANTED, texts

OWN = '''
import numpy as np

def kept(inputs, scores):
    """The target's probability with the upper half of the tokens alone, by the study's operator."""
    masks = [e.maskable & (s < np.median(s[e.maskable])) for e, s in zip(inputs.encodings, scores)]
    return inputs.without(masks, np.arange(len(masks)), "mask")

def short(inputs, scores):
    return [1.0]

def nothing(inputs, scores):
    return [np.nan for s in scores]

def counter(inputs, scores):
    return np.arange(len(scores))

def last_first(model, batch, target):
    return np.arange(batch.ids.shape[1]) * batch.maskable.numpy()
'''


@pytest.fixture(scope="module")
def prepared():
    mechanism = PLANTED["redundant"]
    splits = texts(mechanism, 1)
    every = [row["text"] for rows in splits.values() for row in rows]
    model = PlantedModel(mechanism, 1, compiled("redundant", every), splits, 1.0, 0.95)
    return planted_unit.prepared(model, 4, ("zero", "mask"))


@pytest.fixture
def here(tmp_path, monkeypatch, prepared):
    """A folder with one's own functions; the compiled model, which needs no training, stands for all."""
    (tmp_path / "my.py").write_text(OWN)
    about = {"task": "planted", "mechanism": "redundant", "seed": 0}
    monkeypatch.setattr(trial, "_models", lambda *_: [(about, prepared)])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_metric_of_ones_own_has_its_cells(here, capsys):
    assert main(["ground-truth", "--metric", "my.py:kept", "-o", "out"]) == 0
    assert "kept: accuracy in 4 of 16 core cells" in capsys.readouterr().out
    saved = json.loads((here / "out/ground_truth.json").read_text())
    cells = pd.DataFrame(saved["cells"]).set_index(["operator", "error"]).accuracy
    assert cells["mask", "one of two"] == 1 and set(cells.index.levels[0]) == {"zero", "mask"}
    assert len(saved["missing"]) == 12 and "N1 halves" in saved["missing"]


def test_lower_values_can_be_better(here):
    cells = {better: trial.score("ns", better=better)["cells"] for better in ("higher", "lower")}
    assert cells["higher"] == cells["lower"]  # a registered metric knows its direction

    def mine(inputs, scores):
        return [s[e.maskable].argmax() for e, s in zip(inputs.encodings, scores, strict=True)]

    one, other = (pd.DataFrame(trial.score(mine, better=b)["cells"]).accuracy for b in ("higher", "lower"))
    assert np.allclose(one, 1 - other)


def test_an_attribution_of_ones_own_has_its_place(here, capsys):
    assert main(["ground-truth", "--attribution", "my.py:last_first"]) == 0
    rows = json.loads((here / "out/ground_truth.json").read_text())["attributions"]
    auprc = {row["attribution"]: row["auprc"] for row in rows}
    assert set(trial.BESIDE) < set(auprc) and 0 < auprc["last_first"] < 1 and "cells" not in rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to score: give --metric my.py:metric or --attribution my.py:method"),
        (["--metric", "my.py:none"], "my.py has no function 'none': it has kept, short, nothing, counter"),
        (["--metric", "racu"], "metric 'racu' has no value of a text"),
        (["--attribution", "limee"], "attribution 'limee' is unknown: did you mean 'lime'"),
        (["--metric", "ns", "--data-dir", "nowhere"], "data_dir='nowhere': there is no such folder"),
        (["--metric", "my.py:short"], "metric 'short' gives values of shape (1,): give"),
        (["--metric", "my.py:nothing"], "metric 'nothing' is NaN for 100% of the pairs"),
        (
            ["--metric", "my.py:counter"],
            "metric 'counter' gives an explanation another value in another order",
        ),
    ],
)
def test_what_is_wrong_is_one_line(here, capsys, arguments, message):
    assert main(["ground-truth", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1
