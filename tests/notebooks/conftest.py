"""Fixtures of the tests of experiment notebooks."""

from dataclasses import replace

import pytest
from sample.units import ROOT, ReachedTraining

from faithlib.training import fine_tuning as training
from replication.claims import multiverse_tables


@pytest.fixture(autouse=True)
def reports_are_coarse(coarse_figures, monkeypatch):
    """Figures of few dots, and claims with the first choice of their card alone: papers/ has all of them."""

    def first_choice(state, card, *arguments, **more):
        (choice, options), *_ = card.choices.items()
        return multiverse_tables(state, replace(card, choices={choice: options}), *arguments, **more)

    for paper in ("fmm", "noiser", "recursive_roar", "saloss", "soft_metrics"):
        monkeypatch.setattr(f"notebooks.{paper}.claims.multiverse_tables", first_choice)


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    return {"results_dir": str(tmp_path / "results")}


@pytest.fixture
def no_training(monkeypatch):
    def train(*args, **settings):
        raise ReachedTraining

    monkeypatch.setattr(training, "fine_tune", train)
