"""The protocol on one's own metric or attribution, and its command."""

import numpy as np
import pandas as pd
import pytest

from faithlib.__main__ import main
from notebooks.ground_truth.measure import trial
from notebooks.ground_truth.measure import unit as measure
from notebooks.ground_truth.measure.compiled import compiled

OWN = '''
import numpy as np

def first_places(inputs, scores):
    """The share of evidence in the first fifth of the ranking: a metric that knows."""
    found = []
    for e, s, words in zip(inputs.encodings, scores, inputs.evidence):
        top = np.argsort(-s[e.maskable], kind="stable")[: max(1, e.maskable.sum() // 5)]
        found.append(np.isin(e.words[e.maskable][top], words).mean())
    return found

def nothing(inputs, scores):
    return [np.nan for s in scores]

def last_first(model, batch, target):
    return np.arange(batch.ids.shape[1]) * batch.maskable.numpy()
'''


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with one's own functions; the compiled model, which needs no training, stands for both."""

    def model_of(run, unit, mechanism, rows):
        return compiled(mechanism.name, [row["text"] for row in rows["test"]]), []

    (tmp_path / "my.py").write_text(OWN)
    monkeypatch.setattr(measure, "model_of", model_of)
    monkeypatch.setattr(trial, "MODELS", dict.fromkeys(trial.MODELS, ("one_word",)))
    monkeypatch.setattr(trial, "SIZES", trial.SIZES | {"examples": 3, "draws": 1, "train_size": 20})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_metric_of_ones_own_has_its_place(here, capsys):
    assert main(["ground-truth", "--metric", "my.py:first_places", "-o", "out"]) == 0
    out = capsys.readouterr().out
    table = pd.read_csv(here / "out/metrics.csv", index_col="metric")
    place = table.index.get_loc("first_places") + 1
    assert f"first_places is number {place} of {len(table)}." in out and "> first_places" in out
    assert table.accuracy["oracle"] == 1 and table.accuracy["magnitude"] == 0.5
    assert {"nc", "soft_nc", "1 - first_places"} < set(table.index) and not (
        here / "out/attributions.csv"
    ).exists()


def test_lower_values_can_be_better(here):
    def mine(inputs, scores):
        return [s.argmax() for s in scores]

    tables = [
        trial.compare(mine, better=better, output="out")["metrics"][0] for better in ("higher", "lower")
    ]
    assert tables[0].accuracy["mine"] == pytest.approx(1 - tables[1].accuracy["mine"])


def test_a_registered_metric_and_an_attribution(here, capsys):
    arguments = ["--metric", "ns", "--attribution", "my.py:last_first"]
    assert main(["ground-truth", *arguments]) == 0
    assert "ns is number" in capsys.readouterr().out
    found = pd.read_csv(here / "out/attributions.csv", index_col="attribution")
    assert found.auprc["leave_one_out"] == 1 and 0 < found.auprc["last_first"] < 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "nothing to score: give --metric my.py:metric or --attribution my.py:method"),
        (
            ["--metric", "my.py:none"],
            "my.py has no function 'none': it has first_places, nothing, last_first",
        ),
        (["--metric", "racu"], "metric 'racu' has no value of a text"),
        (["--metric", "my.py:nothing"], "metric 'nothing' is NaN for 100% of the pairs of one_word"),
        (["--metric", "ns", "--better", "up"], "'up' is unknown: Known are higher, lower"),
    ],
)
def test_what_is_wrong_is_one_line(here, capsys, arguments, told):
    assert main(["ground-truth", *arguments]) == 2
    err = capsys.readouterr().err
    assert told in err and err.count("\n") == 1


@pytest.mark.slow
def test_the_whole_trial_trains_a_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table, own = trial.compare("soft_nc")["metrics"]
    assert own == "soft_nc" and table.accuracy[own] > 0.7
    assert np.abs(table.accuracy["random"] - 0.5) < 0.1
