"""Odd configs: each is refused in one line that tells the value, what is allowed and the fix."""

import grid
import pytest
import wrong
import yaml
from toy import ROOT

from faithlib import options
from replication import papers
from replication.parameters import fits

UNITS = {  # the smallest that each paper accepts
    "attributions": {"task": "sentiment", "model": "tiny-bert", "seed": 0},
    "ground_truth_2": {"task": "planted", "model": "tiny-bert", "seed": 0},
    "fmm": {"task": "sentiment", "model": "tiny-bert", "seed": 0},
    "noiser": {"task": "world_facts", "model": "tiny-llama", "seed": 0},
    "recursive_roar": {"task": "sentiment", "model": "bilstm", "seed": 0},
    "saloss": {"task": "sentiment", "model": "tiny-bert", "seed": 0},
    "soft_metrics": {"task": "sentiment", "model": "tiny-bert", "seed": 0},
}
GOOD = yaml.safe_dump(
    {"version": 2, "scale": "quick", "papers": {"fmm": {"units": [UNITS["fmm"]]}}}, sort_keys=False
)
TEXTS = [  # whole files
    ("", "must be a mapping"),
    ("- 1", "must be a mapping"),
    ("version: 2", "'scale' is missing"),
    (GOOD.replace("version: 2", "version: 2\nversion: 2"), "'version' is there twice"),
    (GOOD.replace("seed: 0", "seed: 0\n      seed: 1"), "'seed' is there twice"),
    (GOOD.replace("  fmm:", "  fmm: 1\n  fmm:"), "'fmm' is there twice"),
    (GOOD.replace("quick", "!!python/object:os.system {}"), "not valid YAML"),
    ("a: " + "[" * 3000, "not valid YAML"),
    (GOOD.replace("version: 2", "version: 3"), "version 3"),
    (GOOD.replace("- task", "\t- task"), "not valid YAML"),
    (GOOD.partition("    - ")[0] + "\n", "units = None must be a list"),
    (GOOD.replace("task: sentiment", "tusk: sentiment"), "'task' is missing"),
    (GOOD.replace("  fmm:", "  ffm:"), "paper 'ffm' is unknown"),
]


def refused(folder):
    """The one line with which a config is refused."""
    with pytest.raises((ValueError, OSError)) as error:
        grid.read({}, folder)
    *screen, line = str(error.value).splitlines()
    assert screen in ([], ["1 of 1 units cannot run here and are left out. They wait for:"])
    assert len(line) < 1200, line
    return line


def write(folder, paper, unit):
    content = {"version": 2, "scale": "quick", "papers": {paper: {"units": [unit]}}}
    (folder / "quick.yaml").write_text(yaml.safe_dump(content, allow_unicode=True))


@pytest.fixture(autouse=True)
def project(monkeypatch):
    monkeypatch.chdir(ROOT)  # with its notebooks


OUT_OF_RANGE = [
    (paper, name, value)
    for paper, unit in UNITS.items()
    for name, default in grid.defaults(ROOT / f"notebooks/{paper}/experiment.ipynb").items()
    if name in options.PARAMETERS
    for value in wrong.values(options.PARAMETERS[name])
    if fits(value, default) and not (value == 0 and name in papers.card(paper).zeros)
]


@pytest.mark.parametrize(("paper", "name", "value"), OUT_OF_RANGE)
def test_a_value_out_of_range_is_refused_in_one_line(paper, name, value, tmp_path):
    write(tmp_path, paper, UNITS[paper] | {name: value})
    line = refused(tmp_path)
    assert name in line and paper in line and "; give a" in line, line


@pytest.mark.parametrize("paper", UNITS)
def test_the_units_that_are_made_odd_are_good(paper, tmp_path):
    write(tmp_path, paper, UNITS[paper])
    assert len(grid.read({}, tmp_path)[1][paper].units) == 1


@pytest.mark.parametrize(("text", "message"), TEXTS)
def test_an_odd_file_is_refused_in_one_line(text, message, tmp_path):
    (tmp_path / "quick.yaml").write_text(text)
    line = refused(tmp_path)
    assert message in line and "quick.yaml" in line


def test_a_file_that_is_not_utf8_is_refused_in_one_line(tmp_path):
    (tmp_path / "quick.yaml").write_bytes(GOOD.encode() + b"# \xfc\n")
    assert "is not UTF-8" in refused(tmp_path)


def test_a_file_of_ones_own_is_a_task(tmp_path):
    (tmp_path / "my reviews.csv").write_text("text,label\n")
    unit = UNITS["fmm"] | {"task": str(tmp_path / "my reviews.csv")}
    write(tmp_path, "fmm", unit)
    assert list(grid.read({}, tmp_path)[1]["fmm"].units) == ["my-reviews.tiny-bert.s0"]


def test_variants_are_units_of_their_own(tmp_path):
    unit = UNITS["fmm"]
    write(tmp_path, "fmm", unit)
    text = yaml.safe_load((tmp_path / "quick.yaml").read_text())
    text["papers"]["fmm"]["units"].append(unit | {"epochs": 2})
    (tmp_path / "quick.yaml").write_text(yaml.safe_dump(text))
    assert "sentiment.tiny-bert.s0 is there twice" in refused(tmp_path)
    text["papers"]["fmm"]["units"][1]["variant"] = "two_epochs"
    (tmp_path / "quick.yaml").write_text(yaml.safe_dump(text))
    assert "'two_epochs' is no slug" in refused(tmp_path)


def test_a_device_of_several_is_allowed(tmp_path):
    (tmp_path / "quick.yaml").write_text(GOOD)
    for device in ("cpu", "mps", "auto", "cuda", "cuda:1"):
        assert grid.read_all({"device": device}, tmp_path)[2] == {"device": device}
