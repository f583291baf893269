"""make plan: what is done by Snakemake's word, hours from measured units, the papers' own beside them."""

import json
from pathlib import Path

import grid
import plan
import pytest
import toy
from toy import GOOD, config

from faithlib import papers


def record(path, task, model, seconds, device="cpu"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps(
            {
                "params": {"task": task, "model": model},
                "provenance": {"device": device},
                "volatile": {"seconds": seconds},
            }
        )
    )


@pytest.fixture
def known(tmp_path):
    folder = tmp_path / "results"
    record(folder / "quick/fmm/sst.name.s0.json", "sst", "org/name", 7200)
    record(folder / "quick/fmm/sst.name.s1.json", "sst", "org/name", 360)  # resumed
    record(folder / "quick/fmm/topics.name.s0.json", "topics", "org/name", 36000, "NVIDIA H100")
    record(folder / "small/fmm/sst.big.s0.json", "sst", "org/big", 90000)
    (folder / "quick/fmm/damaged.json").write_text("{")
    return plan.measured(folder)


def units(*names):
    return {
        f"{task}.{model}.s{seed}": {"task": task, "model": f"org/{model}", "seed": seed}
        for task, model, seed in names
    }


def test_hours_are_those_of_the_nearest_measured_unit(known):
    wanted = units(("sst", "name", 0), ("sst", "name", 1), ("snli", "name", 0), ("sst", "big", 0))
    state = {f"results/quick/fmm/{unit}.json": ("missing", unit != "sst.name.s0") for unit in wanted}
    (row,), sources = plan.plan(
        {"fmm": grid.Paper(papers.card("fmm"), "", "", wanted)}, "quick", state, known
    )
    assert (row["units"], row["done"]) == (4, 1)
    assert row["hours left, CPU"] == "4.00 (2 of 3 units)"  # 2 h each: the resumed one counts as the other
    assert row["hours left, GPU"] == "20 (2 of 3 units)"  # of another data set, the only one there is
    assert sources == [
        "fmm: sst.name.s0 took 2.00 h on a CPU; so will sst.name.s1, snli.name.s0",
        "fmm: topics.name.s0 took 10 h on a GPU; so will sst.name.s1, snli.name.s0",
        "fmm: big not measured at this scale; the longest there is: small/sst.big.s0, 25 h on a CPU",
    ]


def test_what_is_not_measured_is_not_guessed(known):
    wanted = units(("sst", "big", 0))
    (row,), sources = plan.plan(
        {"saloss": grid.Paper(papers.card("saloss"), "", "", wanted)},
        "paper",
        {"results/paper/saloss/sst.big.s0.json": ("missing", True)},
        known,
    )
    assert row["hours left, CPU"] == row["hours left, GPU"] == "not measured"
    assert row["in the paper"] == "not printed"
    assert sources == ["saloss: big not measured at this scale; nor is any other unit of this paper"]


def test_the_whole_plan_of_a_small_grid(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    config(tmp_path, GOOD)
    toy.workflow(tmp_path)
    before = sorted(p for p in Path().rglob("*") if ".snakemake" not in p.parts)
    plan.main(["scale=quick", "papers="])
    told = capsys.readouterr().out
    assert told.splitlines()[3].split()[:3] == ["attributions", "3", "0"]
    assert sorted(p for p in Path().rglob("*") if ".snakemake" not in p.parts) == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["quick"], "'quick' is not name=value; the names are scale, papers"),
        (["scale=huge"], "scale=huge: unknown scale; choose one of"),
        (["scale=quick", "papers=x"], "papers=x: unknown paper"),
    ],
)
def test_a_wrong_request_is_one_line(arguments, told):
    with pytest.raises(ValueError, match=told):
        plan.main(arguments)
