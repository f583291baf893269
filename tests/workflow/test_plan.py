"""make plan: what is done by Snakemake's word, hours from measured units, the papers' own beside them."""

import json
from pathlib import Path

import grid
import pandas as pd
import plan
import pytest
import toy
from toy import GOOD, config

from replication import papers

RATES = {"cpu": 100, "cuda": 10_000}


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
        {"fmm": grid.Paper(papers.card("fmm"), "", "", wanted)}, "quick", state, known, RATES
    )
    assert (row["units"], row["done"]) == (4, 1)
    assert row["hours left, CPU"] == "4.00 (2 of 3 units)"  # 2 h each: the resumed one counts as the other
    assert row["hours left, GPU"] == "20 (2 of 3 units)"  # of another data set, the only one there is
    assert sources == [
        "fmm: sst.name.s0 took 2.00 h on a CPU; so will sst.name.s1, snli.name.s0",
        "fmm: topics.name.s0 took 10 h on a GPU; so will sst.name.s1, snli.name.s0",
        "fmm: big not measured at this scale; the longest there is: small/sst.big.s0, 25 h on a CPU",
    ]


def test_a_variant_is_not_measured_by_the_main_setting(known):
    wanted = units(("sst", "name", 1))
    wanted["sst.name.s1.few-texts"] = wanted["sst.name.s1"] | {"variant": "few-texts"}
    state = {f"results/quick/fmm/{unit}.json": ("missing", True) for unit in wanted}
    of_fmm = {"fmm": grid.Paper(papers.card("fmm"), "", "", wanted)}
    (row,), sources = plan.plan(of_fmm, "quick", state, known, RATES)
    assert row["hours left, CPU"] == "2.00 (1 of 2 units)"
    assert sources[-1].startswith("fmm: name few-texts not measured at this scale;")


def test_an_estimate_is_the_longest_unit_times_parameters_and_texts():
    params = {"train_size": 1000, "epochs": 2, "examples": 50, "strategies": ["a"]}
    known = pd.DataFrame(
        [
            {"task": "sst", "model": "all-MiniLM-L6-v2", "seconds": s, "texts": plan.texts(params, {})}
            for s in (60, 3600)
        ]
    )
    asked = {**params, "task": "sst", "model": "org/roberta-base", "epochs": 6, "strategies": ["a", "b"]}
    hours = plan.estimate(known, asked, papers.card("fmm"), RATES)
    assert hours == pytest.approx(1.0 * (85 / 10.6) * (3 * 2) * (100 / 10_000))
    assert plan.estimate(known, asked | {"model": "org/other"}, papers.card("fmm"), RATES) is None
    whole = {**asked, "train_size": 0, "examples": 0}  # the paper's own sizes of cola: 6840 and 1043
    sizes = papers.card("fmm").use("cola").sizes
    hours = plan.estimate(known, whole | {"task": "cola"}, papers.card("fmm"), RATES)
    more = max(sizes[0] * 6 * 2 / 2000, sizes[2] / 50)
    assert hours == pytest.approx((85 / 10.6) * more * (100 / 10_000))


def test_texts_explained_where_no_tokens_are_generated_are_counted_once():
    next_word = {"train_size": 100, "epochs": 3, "examples": 20, "tokens": 0}
    assert plan.texts(next_word, {}) == (300, 20)
    assert plan.texts({**next_word, "epochs": 0, "tokens": 10}, {}) == (0, 200)
    untrained = {"task": "world_facts", "model": "tiny-llama", "seconds": 3600}
    untrained |= {"texts": plan.texts({**next_word, "epochs": 0}, {})}
    asked = {**next_word, "task": "world_facts", "model": "tiny-llama", "examples": 60}
    hours = plan.estimate(pd.DataFrame([untrained]), asked, papers.card("noiser"), RATES)
    assert hours == pytest.approx(3 * (100 / 10_000))


def test_a_paper_that_is_done_has_nothing_left(known):
    wanted = units(("sst", "name", 0))
    state = {"results/quick/fmm/sst.name.s0.json": ("", False)}
    of_fmm = {"fmm": grid.Paper(papers.card("fmm"), "", "", wanted)}
    (row,), _ = plan.plan(of_fmm, "quick", state, known, RATES)
    assert (row["done"], row["hours left, CPU"], row["≈ GiB, largest model"]) == (1, "0", "0.0")


def test_texts_that_nobody_counts_have_no_estimate():
    params = {"task": "knowns", "model": "all-MiniLM-L6-v2", "examples": 20}
    known = pd.DataFrame([params | {"seconds": 3600, "texts": (0, 20)}])
    asked = params | {"task": "wikibio"}  # its card names no size
    assert plan.estimate(known, asked, papers.card("noiser"), RATES) > 0
    assert plan.estimate(known, asked | {"examples": 0}, papers.card("noiser"), RATES) is None


def test_peaks_are_those_of_the_benchmarks(tmp_path):
    assert plan.peaks(tmp_path) == {"cuda": plan.PEAK}
    for device in ("cpu", "cuda"):
        text = json.dumps({"device": device, "peak_gflop_per_second": len(device) * 10})
        (tmp_path / f"{device}.json").write_text(text)
    (tmp_path / "memory.json").write_text("{}")
    assert plan.peaks(tmp_path) == {"cpu": 30, "cuda": 40}


def test_what_is_not_measured_is_not_guessed(known):
    wanted = units(("sst", "big", 0))
    (row,), sources = plan.plan(
        {"saloss": grid.Paper(papers.card("saloss"), "", "", wanted)},
        "paper",
        {"results/paper/saloss/sst.big.s0.json": ("missing", True)},
        known,
        RATES,
    )
    assert row["hours left, CPU"] == row["hours left, GPU"] == "not measured"
    assert (row["≈ GPU hours by FLOP"], row["≈ GiB, largest model"]) == ("no estimate", "unknown")
    assert row["in the paper"] == "not printed"
    assert sources == ["saloss: big not measured at this scale; nor is any other unit of this paper"]


def written():
    """All files here, caches aside."""
    caches = {".snakemake", "__pycache__"}
    return sorted(path for path in Path().rglob("*") if not caches & set(path.parts))


def test_the_whole_plan_of_a_small_grid(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    config(tmp_path, GOOD)
    toy.workflow(tmp_path)
    before = written()
    plan.main(["scale=quick", "papers="])
    told = capsys.readouterr().out
    assert told.splitlines()[3].split()[:3] == ["attributions", "3", "0"]
    assert written() == before


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
