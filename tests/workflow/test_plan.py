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
from replication.records import Case


def record(path, task, model, seconds, device="cpu"):
    path.parent.mkdir(parents=True, exist_ok=True)
    said = {"params": {"task": task, "model": model}, "provenance": {"device": device}}
    path.write_text(json.dumps(said | {"volatile": {"seconds": seconds}}))


@pytest.fixture
def measured(tmp_path):
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


def test_hours_are_those_of_the_nearest_measured_unit(measured):
    wanted = units(("sst", "name", 0), ("sst", "name", 1), ("snli", "name", 0), ("sst", "big", 0))
    state = {f"results/quick/fmm/{unit}.json": ("missing", unit != "sst.name.s0") for unit in wanted}
    of_fmm = {"fmm": grid.Paper(papers.card("fmm"), "", "", wanted)}
    (row,), sources = plan.plan(of_fmm, "quick", state, measured)
    assert (row["units"], row["done"]) == (4, 1)
    assert row["hours left, CPU"] == "4.00 (2 of 3 units)"  # 2 h each: the resumed one counts as the other
    assert row["hours left, GPU"] == "20 (2 of 3 units)"  # of another data set, the only one there is
    assert sources == [
        "fmm: sst.name.s0 took 2.00 h on a CPU; so will sst.name.s1, snli.name.s0",
        "fmm: big not measured at this scale; the longest there is: small/sst.big.s0, 25 h on a CPU",
    ]


def test_a_variant_is_not_measured_by_the_main_setting(measured):
    wanted = units(("sst", "name", 1))
    wanted["sst.name.s1.few-texts"] = wanted["sst.name.s1"] | {"variant": "few-texts"}
    state = {f"results/quick/fmm/{unit}.json": ("missing", True) for unit in wanted}
    of_fmm = {"fmm": grid.Paper(papers.card("fmm"), "", "", wanted)}
    (row,), sources = plan.plan(of_fmm, "quick", state, measured)
    assert row["hours left, CPU"] == "2.00 (1 of 2 units)"
    assert sources[-1].startswith("fmm: name few-texts not measured at this scale;")


FMM = grid.Paper(papers.card("fmm"), "", "", {})
UNIT = {"task": "cola", "model": "org/roberta-base", "train_size": 0, "examples": 0, "epochs": 15,
        "strategies": ["a"]}  # fmt: skip
OF_MINILM = {**UNIT, "task": "mrpc", "train_size": 1000, "examples": 100, "epochs": 1}


def rows(**values):
    """Rows of `measured`, of a GPU's unit of an hour."""
    row = {"task": "mrpc", "model": "all-MiniLM-L6-v2", "variant": "", "unit": "u", "seconds": 3600}
    return pd.DataFrame([row | {"params": OF_MINILM, "rows": {}} | values])


NONE = rows().iloc[:0]
PRINTED = {("cola", "roberta-base"): 9}  # hours


@pytest.mark.parametrize(
    ("parameters", "measured", "printed", "expected"),
    [
        (UNIT, (rows(model="roberta-base", seconds=60), rows()), PRINTED, (1 / 60, "measured")),
        (UNIT, (NONE, rows()), PRINTED, (9 * plan.FACTOR, "printed")),
        ({**UNIT, "examples": 100, "epochs": 3}, (NONE, NONE), PRINTED, (9 * 0.2, "printed")),
        (UNIT, (NONE, rows()), {}, ((85 / 10.6) ** 0.5 * 6841 * 15 / 1000, "scaled")),
        (UNIT, (NONE, NONE), {}, None),
        (UNIT | {"model": "org/other"}, (NONE, rows()), {}, None),
    ],
)
def test_hours_of_a_gpu_are_measured_then_printed_then_scaled(parameters, measured, printed, expected):
    setups = {("cola", "roberta-base"): UNIT}
    hours = plan.gpu_hours(parameters, FMM, measured, printed, setups)
    assert hours == (expected and (pytest.approx(expected[0]), expected[1]))


def test_a_record_of_a_cpu_never_stands_for_a_gpu(measured):
    wanted = units(("sst", "big", 0))
    state = {"results/small/fmm/sst.big.s0.json": ("missing", True)}
    of_fmm = {"fmm": grid.Paper(papers.card("fmm"), "", "", wanted)}
    (row,), _ = plan.plan(of_fmm, "small", state, measured[measured.kind == "CPU"])
    assert (row["hours left, CPU"], row["hours left, GPU"], row["from"]) == ("25", "no estimate", "")


@pytest.mark.parametrize("paper", ["recursive_roar", "fmm"])
def test_the_plan_of_the_papers_scale_is_within_three_times_what_they_print(paper, monkeypatch):
    monkeypatch.chdir(toy.ROOT)
    entry = grid.read_all({"scale": "paper", "papers": paper})[1][paper]
    runs = plan.measured()
    runs = runs[(runs.paper == paper) & (runs.kind == "GPU")]
    printed, setups = plan.setup_of(entry.card)
    cases = 0
    for parameters in entry.units.values():
        if hours := printed.get(Case.of(parameters)[:2]):
            guess, _ = plan.gpu_hours(parameters, entry, (runs[runs.scale == "paper"], runs), printed, setups)
            assert hours / 3 <= guess <= hours * 3
            cases += 1
    assert cases >= 85


def test_cards_say_the_minutes_of_the_afternoon_on_one_gpu(monkeypatch):
    monkeypatch.chdir(toy.ROOT)
    scale, entries, _ = grid.read_all({"scale": "one-gpu"})
    rows, _ = plan.plan(entries, scale, {}, plan.measured())
    for row in rows:
        minutes = ": never run, no estimate\n"  # of soft metrics no record is of a GPU
        if (hours := row["hours left, GPU"]) != "no estimate":
            minutes = f": {60 * float(hours):.0f} minutes of a GPU by estimate, never run\n"
        card = Path(f"notebooks/{row['paper']}/README.md").read_text(encoding="utf-8")
        assert f"PAPERS={row['paper']} SCALE=one-gpu" in card and minutes in card, minutes
    total = sum(float(row["hours left, GPU"]) for row in rows if row["paper"] != "soft_metrics")
    assert len(rows) == 5 and total < 3
    readme = Path("README.md").read_text(encoding="utf-8")
    assert f"# one run per paper with them: {total:.1f} hours of a GPU by estimate without soft " in readme


def test_texts_explained_where_no_tokens_are_generated_are_counted_once():
    next_word = {"train_size": 100, "epochs": 3, "examples": 20, "tokens": 0}
    assert plan.texts(next_word, {}) == (300, 20)
    assert plan.texts({**next_word, "epochs": 0, "tokens": 10, "soft_draws": 4}, {}) == (0, 800)
    assert plan.texts({"train_size": 100, "measures": ["a", "b"]}, {"test": 9}) == (200, 0)
    assert plan.share({**next_word, "examples": 60}, {**next_word, "epochs": 0}, {}, {}) == 3


def test_a_paper_that_is_done_has_nothing_left(measured):
    wanted = units(("sst", "name", 0))
    state = {"results/quick/fmm/sst.name.s0.json": ("", False)}
    of_fmm = {"fmm": grid.Paper(papers.card("fmm"), "", "", wanted)}
    (row,), _ = plan.plan(of_fmm, "quick", state, measured)
    assert (row["done"], row["hours left, CPU"], row["≈ GiB, largest model"]) == (1, "0", "0.0")


def test_texts_that_nobody_counts_have_no_estimate():
    assert plan.share({"task": "wikibio", "examples": 0}, {"examples": 20}, {"test": None}, {}) is None
    assert plan.share({"task": "wikibio", "examples": 20}, {"examples": 20}, {"test": None}, {}) == 1


def test_what_is_not_measured_is_not_guessed(measured):
    wanted = units(("sst", "big", 0))
    state = {"results/paper/saloss/sst.big.s0.json": ("missing", True)}
    of_saloss = {"saloss": grid.Paper(papers.card("saloss"), "", "", wanted)}
    (row,), sources = plan.plan(of_saloss, "paper", state, measured)
    assert (row["hours left, CPU"], row["hours left, GPU"]) == ("not measured", "no estimate")
    assert row["≈ GiB, largest model"] == "unknown"
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
    assert capsys.readouterr().out.splitlines()[3].split()[:3] == ["attributions", "3", "0"]
    assert written() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["quick"], "'quick' is not name=value; the names are scale, papers"),
        (["scale=huge"], "scale=huge: unknown scale; choose one of"),
        (["scale=quick", "papers=x"], "papers=x: unknown paper"),
    ],
)
def test_a_wrong_request_is_one_line(arguments, message):
    with pytest.raises(ValueError, match=message):
        plan.main(arguments)
