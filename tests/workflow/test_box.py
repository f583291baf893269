"""A command in a box of time, and which units are started in it: by the plan's estimates, without a clock."""

import json
import sys

import box
import grid
import pandas as pd
import plan
import pytest
import toy
from wrong import refused

from replication import papers


@pytest.mark.parametrize(
    ("text", "line"),
    [("ten", "MINUTES=ten is no number"), ("0.5", "too short for any unit"), ("nan", "short")],
)
def test_minutes_that_are_none_are_refused_in_one_line(text, line):
    refused(line, box.main, [text, "true"])
    assert box.minutes("1.5") == 1.5


def test_a_command_ends_by_itself_or_when_the_time_is_over():
    assert box.run([sys.executable, "-c", "raise SystemExit(3)"], 60) == (3, False)
    _, over = box.run([sys.executable, "-c", "import time; time.sleep(60)"], 0.5)
    assert over


@pytest.mark.parametrize(
    ("estimates", "ends", "later", "waiting"),
    [
        ({"a": (500, 500), "b": (50, 50), "c": (60, 60)}, "bca", "", ""),
        ({"a": (500, 500), "b": (50, 50), "c": (61, 61)}, "bc", "", "a"),  # they end one after another
        ({"a": (9000, 300), "b": (9000, 700), "c": (9000, 0)}, "", "ca", "b"),  # b trains for 700 seconds
        ({"a": (9000, 9000), "b": None}, "", "b", "a"),  # nobody knows how long b takes
        ({}, "", "", ""),
    ],
)
def test_what_ends_in_the_box_is_first_and_what_would_be_cut_waits(estimates, ends, later, waiting):
    groups = box.choose(estimates, 610)
    assert [sorted(units) for units in groups] == [sorted(ends), sorted(later), sorted(waiting)]
    assert groups[0] == list(ends)


def test_the_units_that_wait_are_counted_with_the_shortest():
    estimates = {"a": (5000, 5000), "b": (1190, 1190), "c": (50, 50)}
    assert box.said(estimates, ["a", "b"], ["c"], 10) == (
        "2 of 3 units left are not started in 10 minutes: each would be cut with nothing kept, the shortest "
        "after 20 minutes by the plan."
    )
    assert box.said(estimates, [], ["a", "b", "c"], 90) == ""
    message = "^MINUTES=10 is too short for any of the 2 units left: .* give MINU"
    refused(message, box.said, estimates, ["a", "b"], [], 10)


def row(paper, seconds, task="sst2", model="name", kind="CPU", **volatile):
    said = {"task": task, "model": model, "variant": "", "paper": paper, "scale": "quick", "unit": "u"}
    piece = plan.longest_training(volatile) or seconds
    return said | {"kind": kind, "seconds": seconds, "piece": piece, "params": {}, "rows": {}}


@pytest.mark.parametrize(
    ("paper", "volatile", "piece"),
    [
        ("soft_metrics", {}, 7200),  # it trains, and nobody knows for how long
        ("soft_metrics", {"longest_training": 500.5}, 500.5),
        ("recursive_roar", {"seconds_of_models": {"a": [30, 900], "b": [40, 1]}}, 40),
        ("fmm", {"seconds_of_measures": {"half/both": {"fine_tuning": 333, "lime": 999}}}, 333),
        ("noiser", {}, 0),  # it trains nothing: each text is kept
    ],
)
def test_a_unit_goes_on_after_its_longest_training(paper, volatile, piece):
    entry, unit = grid.Paper(papers.card(paper), "", "", {}), {"task": "sst2", "model": "org/name"}
    computed = pd.DataFrame([row(paper, 7200, **volatile)])
    assert plan.unit_seconds(unit, entry, "quick", "CPU", computed) == (7200, piece)
    assert plan.unit_seconds(unit | {"model": "org/other"}, entry, "quick", "CPU", computed) is None
    assert plan.unit_seconds(unit, entry, "small", "CPU", computed) is None
    if paper == "noiser":  # a tiny model is trained on the spot
        computed = pd.DataFrame([row(paper, 7200, "world_facts", "tiny-llama")])
        unit = {"task": "world_facts", "model": "tiny-llama"}
        assert plan.unit_seconds(unit, entry, "quick", "CPU", computed) == (7200, 7200)


def test_snakemake_is_asked_for_what_the_box_holds(tmp_path, monkeypatch, capsys):
    toy.config(tmp_path, toy.GOOD)
    toy.workflow(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results/quick/attributions"
    folder.mkdir(parents=True)
    for name, seconds in (("sentiment.name.s0", 30), ("topics.name.s0", 3600)):
        task = name.partition(".")[0]
        about = {"params": {"task": task, "model": "org/name", "seed": 0}, "provenance": {"device": "cpu"}}
        (folder / f"{name}.json").write_text(json.dumps(about | {"volatile": {"seconds": seconds}}))
    unit = "results/quick/attributions/{}.json".format
    state = {unit("sentiment.name.s0"): ("ok", False), unit("sentiment.name.s1"): ("missing", True)}
    monkeypatch.setattr(plan, "status", lambda config: state)
    monkeypatch.setattr(plan, "device_kind", lambda paths: "CPU")
    words = ["snakemake", "--cores", "2", "--config", "scale=quick", "papers="]
    assert box.narrowed(words, 2) == ["snakemake", unit("sentiment.name.s1"), *words[1:]]
    line = "1 of 2 units left are not started in 2 minutes: each would be cut with nothing kept, the shortest"
    assert capsys.readouterr().out == f"{line} after 60 minutes by the plan.\n"
    assert box.narrowed(words, 90) == words  # all of them, and the report
    state[unit("sentiment.name.s1")] = ("ok", False)
    refused("^MINUTES=2 is too short for any of the 1 units left: each would be", box.narrowed, words, 2)
