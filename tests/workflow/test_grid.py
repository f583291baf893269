"""grid: units are named and expanded; every mistake in a config is one line, before anything starts."""

import json
import re
import sys
from dataclasses import replace
from functools import partial

import grid
import pytest
import units
from toy import GOOD, config
from wrong import refused, tells

from faithlib import tasks
from faithlib.tasks.table import TASKS
from replication import papers


def test_units_are_named_and_expanded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config(tmp_path, GOOD)
    scale, plans, paths = grid.read({"data_dir": ".", "model_dir": None, "papers": "attributions"})
    assert (scale, paths) == ("quick", {"data_dir": "."})
    assert list(plans["attributions"].units) == ["sentiment.name.s0", "sentiment.name.s1", "topics.name.s2"]
    assert plans["attributions"].units["topics.name.s2"] == {
        "task": "topics", "model": "org/name", "seed": 2, "rate": 0.25, "scale": "quick"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "old", "new", "message"),
    [
        ({"scale": "smal"}, "", "", "scale=smal: unknown scale; choose one of quick"),
        ({"sale": "small"}, "", "", "unknown key 'sale'; allowed are scale, papers, data_dir"),
        ({"papers": "fmm"}, "", "", "quick.yaml: papers=fmm: unknown paper; it has attributions"),
        ({"device": "cpu"}, "", "", "unknown parameter 'device'"),
        ({"device": "gpu"}, "", "", "device='gpu' is unknown: use 'auto', 'cpu'"),
        ({}, "version: 2", "", "quick.yaml: the config has no version, so it is older than this faithlib"),
        ({}, "version: 2", "version: 0", "has version 0, and this faithlib reads version 2: compare it"),
        ({}, "  attributions:", "  attribution:", "'attribution' is unknown: did you mean 'attributions'?"),
        ({}, "seed: 2", "seed: 2, sead: 1", "unknown parameter 'sead'"),
        ({}, "topics, seed: 2", "sentiment, seed: 1", "sentiment.name.s1 is there twice"),
        ({}, "{model: org/name}", "[org/name]", "attributions: defaults = ['org/name'] must be a mapping"),
        ({}, "  attributions:", "  ../fmm:", "paper '../fmm' is unknown"),
        ({}, "  attributions:", "  fmm:", "notebooks/fmm/report.ipynb: there is no such notebook"),
        ({}, "task: topics", "task: topic", "topic.name.s2: task 'topic' is unknown: did you mean 'topics'?"),
    ],
)
def test_config_mistakes_are_one_line(tmp_path, monkeypatch, options, old, new, message):
    monkeypatch.chdir(tmp_path)
    config(tmp_path, GOOD.replace(old, new))
    tells([message], grid.read, options, error=(ValueError, FileNotFoundError))


UNIT = {"task": "imdb", "model": "roberta", "measures": ["beam"], "max_length": 0}


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (UNIT | {"max_length": 256}, "beam takes T² passes"),
        ({"task": "multirc", "attributions": ["lime", "beam"]}, "beam takes T² passes"),
        ({"task": "world_facts", "model": "stories260K"}, "tiny-llama learns the generated world"),
        ({"task": "knowns", "model": "tiny-llama"}, "pretrained models with other prompts"),
        ({"task": "world_facts", "model": "tiny-llama", "tokens": 0}, ""),
        ({"task": "knowns", "model": "llama", "tokens": 0}, ""),
        (UNIT | {"max_length": 128}, ""),
        (UNIT | {"task": "sst2"}, ""),
        (UNIT | {"measures": ["lime"]}, ""),
        ({"model": "bilstm", "vectors": "glove.txt"}, ""),
    ],
)
def test_combinations_that_cannot_be_run(unit, message):
    if not message:
        return units.conform(unit, units.UNIT)
    tells([message], units.conform, unit, units.UNIT)


def test_the_schema_is_one_and_names_no_task_that_is_not_there():
    schema = units.SCHEMA
    units.Draft202012Validator.check_schema(schema)
    rules = re.findall(r'"task": {"enum": (\[.*?\])', json.dumps(schema))
    named = {name for rule in rules for name in json.loads(rule)}
    assert named and named <= set(TASKS)


def test_a_task_that_was_registered_may_be_in_a_grid(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config(tmp_path, GOOD.replace("task: topics", "task: reviews"))
    refused("task 'reviews' is unknown", grid.read, {})
    tasks.register_task(tasks.Task("reviews", "reviews of a shop", ("bad", "good")))
    try:
        assert "reviews.name.s2" in grid.read_all({})[1]["attributions"].units
    finally:
        tasks.unregister_task("reviews")


@pytest.mark.skipif(sys.platform == "win32", reason="limits as Unix has them")
@pytest.mark.parametrize("full", ["results", ".snakemake"])
def test_a_disk_without_room_is_told_before_anything_starts(tmp_path, monkeypatch, full):
    """As in the middle of Snakemake's lock, which ends in its own traceback otherwise."""
    import resource

    monkeypatch.chdir(tmp_path)
    config(tmp_path, GOOD)
    (tmp_path / full).mkdir()
    before = sorted(tmp_path.rglob("*"))
    assert grid.read({})
    if full == ".snakemake":  # results lies elsewhere
        monkeypatch.setattr(grid, "writable", partial(only, ".snakemake", grid.writable))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        refused(rf"^{full} cannot be written \(.*, and {full}.*goes there: make room", grid.read, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert sorted(tmp_path.rglob("*")) == before


def only(place, function, folder):
    return function(folder) if folder == place else None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("papers: &all\n  attributions: *all\n", "papers: attributions: unknown key 'attributions'"),
        ("papers:\n  attributions:\n    units: &rows [*rows]\n", r"0 = \[\[\.\.\.\]\] must be a mapping"),
        ("include: quick.yaml\npapers: {}\n", "unknown key 'include'; allowed are version, scale, asks, pap"),
    ],
)
def test_a_config_that_includes_itself_is_one_line(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    config(tmp_path, f"version: 2\nscale: quick\n{text}")
    refused(message, grid.read, {})


def test_a_type_of_any_kind_has_a_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config(tmp_path, "version: 2\nscale: quick\nasks: {gpu: 'yes'}\npapers: {}\n")
    refused("asks: gpu = 'yes' must be true or false; change it", grid.read, {})


def test_a_gpu_that_is_not_there_is_told_before_anything_starts(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    refused("device='cuda', but this machine shows no CUDA device: use", grid.demand, "cuda", {})
    assert grid.demand("auto", {}) is grid.demand("cpu", {}) is None


def test_more_gpus_than_there_are_are_told_before_anything_starts(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    entries = {"fmm": grid.Paper(papers.card("fmm"), "", "", {}, gpus=2)}
    refused(
        "asks: gpus = 2: this machine shows 1; write as many into the config", grid.demand, "cuda", entries
    )
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    grid.demand("cuda", entries)


@pytest.mark.parametrize(("has", "said"), [(True, ""), (False, "1 of the 2 units left compute in bfloat16")])
def test_a_dtype_that_the_processor_imitates_is_told_before_anything_starts(has, said, monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("faithlib.models.precision.has_instructions", lambda dtype, device: has)
    units = {name: {"dtype": name, "scale": "small"} for name in ("bfloat16", "float32")}
    grid.demand("auto", {"fmm": grid.Paper(papers.card("fmm"), "", "", units)})
    out = capsys.readouterr().out
    assert out.startswith(said) and bool(out) != has


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_outputs_of_recursive_roar_for_babi(scale):
    _, entries, _ = grid.read_all({"scale": scale, "data_dir": ".", "model_dir": "."})
    units = [u for u in entries["recursive_roar"].units.values() if u["task"].startswith("babi")]
    outputs = {(u.get("variant"), len(TASKS[u["task"]].labels) + u.get("unused_classes", 0)) for u in units}
    assert outputs == {(None, 36), ("6-outputs", 6)}  # the release has 36


def test_a_table_that_no_report_writes_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config(tmp_path, GOOD)
    card = replace(papers.card("attributions"), tables=("evidence", "evidense"))
    monkeypatch.setattr(papers, "card", lambda name: card)
    message = "writes no table 'evidense': save it, or take it out of the card"
    refused(message, grid.read, {"papers": "attributions"})


def test_any_slug_is_a_scale_and_says_what_its_units_ask_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config(tmp_path, GOOD)
    text = GOOD.replace("scale: quick", "scale: my-own")
    asking = text.replace("papers:", "asks: {memory: 99, gpu: true}\npapers:")
    (tmp_path / "config/my-own.yaml").write_text(asking)
    scale, entries, _ = grid.read({"scale": "my-own"})
    entry = entries["attributions"]
    assert scale == "my-own" and (entry.memory, entry.minutes, entry.gpu) == (99, grid.ASKED["minutes"], True)
    (tmp_path / "config/My scale.yaml").write_text(text)
    refused("scale='My scale' is no slug: give small letters", grid.read, {"scale": "My scale"})
