"""Seeds are counted by hand: planned, computed, looked at."""

from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from sample.statistics import rows

from faithlib.statistics import seeds_interval
from replication import records
from replication.claims import Claim
from replication.verdicts import sentence

CARD = SimpleNamespace(name="fmm", looks={"small": {"sst bert": (3, 5)}}, headline=(), choices={})
UNITS = "units: [{task: sst, model: org/bert, seed: [0, 1, 2, 3, 4]}]"
CONFIG = f"scale: small\npapers: {{fmm: {{{UNITS}}}}}\n"


def record(seed, device="cpu", torch="2.13.0+cpu", variant=""):
    return {
        "params": {"task": "sst", "model": "org/bert", "seed": seed, "variant": variant},
        "provenance": {"device": device, "versions": {"torch": torch}},
    }


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "small.yaml").write_text(CONFIG, encoding="utf-8")
    monkeypatch.setattr("replication.records.project_root", lambda: tmp_path)
    return tmp_path


def last(project, count):
    path = project / "results/small/fmm/tables/seeds.csv"
    path.parent.mkdir(parents=True)
    rows = pd.DataFrame([("sst", "bert", "", count)], columns=records.SEEDS[:4])
    rows.reindex(columns=records.SEEDS, fill_value=0).to_csv(path, index=False)


def test_a_case_has_its_seeds_planned_ones_and_looks(project):
    cases = records.seeds([record(s) for s in (0, 1, 2)], CARD, "small").to_dict("records")
    expected = ("sst", "bert", "", 3, 5, 2, pytest.approx(0.975), "cpu", "2.13.0+cpu")
    assert tuple(cases[0].values()) == expected and len(cases) == 1


@pytest.mark.parametrize("other", [{"device": "NVIDIA H200"}, {"torch": "2.11.0"}])
def test_a_case_mixes_neither_devices_nor_versions_of_torch(project, other):
    mixed = [record(0), record(1, **other)]
    with pytest.raises(ValueError, match="sst bert: its seeds ran on different devices"):
        records.seeds(mixed, CARD, "small")
    assert len(records.seeds(mixed, CARD, "quick")) == 1  # no verdict there
    assert len(records.seeds([record(0), record(1, variant="on-gpu", **other)], CARD, "small")) == 2


def test_a_look_that_no_card_declares_is_refused(project):
    five = [record(s) for s in range(5)]
    last(project, 3)
    assert records.seeds(five, CARD, "small").seeds.tolist() == [5]
    undeclared = SimpleNamespace(name="fmm", looks={})
    with pytest.raises(ValueError, match="last verdicts had 3 seeds, now there are 5: add 3"):
        records.seeds(five, undeclared, "small")
    assert len(records.seeds(five[:3], undeclared, "small")) == 1


def test_a_verdict_after_two_looks_has_the_wider_interval_and_says_what_is_to_come():
    values = pd.DataFrame(
        {"dataset": "sst", "model": "org/bert", "seed": range(3), "value": [0.03, 0.05, 0.07]}
    )
    claim = Claim("A above B", values, "seeds")
    table = pd.DataFrame([("sst", "bert", "", 3, 5, 2, 0.975, "cpu", "2.13.0")], columns=records.SEEDS)
    by_case = records.by_case(table)
    once, twice = (rows(claim, "small", seeds=counts)[0] for counts in ({}, by_case))
    interval = seeds_interval([0.03, 0.05, 0.07])
    assert (once["ci_low"], once["ci_high"]) == interval.ends() and once["verdict"] == "holds"
    assert (twice["ci_low"], twice["ci_high"]) == pytest.approx(interval.ends(0.975))
    assert (twice["looks"], twice["to_come"], twice["device"]) == (2, 2, "cpu")
    assert twice["verdict"] == "undecided" and "3 seeds, 2 to come" in sentence(twice)


def test_a_p_value_allows_for_every_look():
    one = seeds_interval([0.1, 0.12, 0.15])
    two = replace(one, looks=2)
    assert two.pvalue() == pytest.approx(2 * one.pvalue())
    assert two.ends(0.9) == one.ends(0.95)
