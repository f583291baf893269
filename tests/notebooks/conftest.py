"""Fixtures of the tests of experiment notebooks."""

import pytest
from sample.units import ROOT, ReachedTraining

from faithlib.training import fine_tuning as training


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    return {"results_dir": str(tmp_path / "results")}


@pytest.fixture
def no_training(monkeypatch):
    def train(*args, **settings):
        raise ReachedTraining

    monkeypatch.setattr(training, "fine_tune", train)
