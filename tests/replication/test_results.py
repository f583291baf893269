"""Records: whole or absent, checked when read, and nothing computed twice."""

import json

import numpy as np
import pandas as pd
import pytest
import tiny
import torch
from wrong import refused, tells

from faithlib import store
from faithlib.provenance import peak_memory_mib
from replication import results

GIVEN = {
    "task": "sst", "model": "org/Some-Model", "seed": 3, "scale": "quick", "device": "cpu", "data_dir": "",
    "model_dir": "", "examples": 5, "ratios": [0.1, 0.5], "learning_rate": 1e-3,
}  # fmt: skip
VALUES = pd.DataFrame(
    {"example": np.arange(3, dtype=np.int32), "value": np.array([0.5, np.nan, 1], np.float32)}
)
PARTS = (
    "format paper unit scale params design metrics excluded files provenance volatile sha256 volatile_sha256"
)
METRICS = [{"metric": "accuracy", "split": "test", "value": 0.75, "n": 4}]


@pytest.fixture
def params(tmp_path):
    return {**GIVEN, "ratios": [0.1, 0.5], "results_dir": str(tmp_path / "results")}


@pytest.fixture
def run(params):
    return results.start("soft_metrics", params)


# Starting -----------------------------------------------------------------------------------------


def test_a_unit_is_named_after_task_model_and_seed(params, tmp_path):
    slugs = {"org/Some-Model": "Some-Model", "tiny-bert": "tiny-bert", "/a/folder/": "folder"}
    for model, slug in slugs.items():
        run = results.start("soft_metrics", {**params, "model": model})
        assert run.unit == f"sst.{slug}.s3"
    assert run.folder == tmp_path / "results/quick/soft_metrics"
    assert run.kept == tmp_path / "checkpoints/quick/soft_metrics/sst.folder.s3"


def test_parameters_are_the_plain_values_and_no_places(params):
    names = {**params, "np": np, "_hidden": 1, "In": ["x"], "f": tells}
    run = results.start("soft_metrics", names)
    places = {"scale", "device", "data_dir", "model_dir"}
    assert run.params == {name: value for name, value in GIVEN.items() if name not in places}
    assert run.scale == "quick" and run.device == torch.device("cpu")


@pytest.mark.parametrize("value", [None, {"a": 1}, (1, 2), {1}, b"x"])
def test_a_parameter_that_no_record_can_hold_is_told(params, value):
    with pytest.raises(ValueError, match="^parameter extra=.* which no record holds: give a text"):
        results.start("soft_metrics", {**params, "extra": value})


def test_relative_folders_are_the_projects(params, monkeypatch, tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "notebooks/deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "notebooks/deep")
    run = results.start("soft_metrics", {**params, "results_dir": "out"})
    assert run.folder == tmp_path / "out/quick/soft_metrics"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"scale": "My scale"}, "scale='My scale' is no slug: give small letters"),
        ({"scale": "archive"}, "scale='archive': results/archive holds something else"),
        ({"seed": -1}, "seed=-1 must be at least 0, a whole number"),
        ({"seed": True}, "seed=True must be"),
        ({"seed": "0"}, "seed='0' must be"),
        ({"seed": 1.0}, "seed=1.0 must be"),
        ({"device": "gpu"}, "device='gpu' is unknown: use 'auto', 'cpu', 'mps', 'cuda'"),
        ({"sed": 1}, "unknown parameter 'sed'; it takes task, model, seed"),
        ({"examples": True}, "examples=True must be at least 0, a whole number"),
        ({"ratios": "0.1"}, "give a value of that type"),
    ],
)
def test_what_cannot_be_started(params, wrong, message):
    tells([message], results.start, "soft_metrics", {**params, **wrong})


def test_cuda_where_there_is_none(params, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert results.start("soft_metrics", {**params, "device": "auto"}).device.type == "cpu"
    refused("shows no CUDA device: use 'cpu'", results.start, "soft_metrics", {**params, "device": "cuda"})


# Writing and reading ------------------------------------------------------------------------------


def test_a_record_comes_back_as_it_was(run, params):
    excluded = [{"what": "cut", "why": "long", "n": 2}]
    path = run.save(METRICS, VALUES, excluded, {"data": {"rows": 3}}, examples=VALUES)
    endings = ("examples.parquet", "json", "parquet")
    assert sorted(p.name for p in path.parent.iterdir()) == [f"sst.Some-Model.s3.{end}" for end in endings]
    record = json.loads(path.read_text())
    assert list(record) == PARTS.split()
    assert record["metrics"] == METRICS and record["params"] == run.params
    assert record["excluded"] == excluded
    assert record["provenance"]["data"] == {"rows": 3} and record["provenance"]["device"] == "cpu"
    assert {"torch", "transformers", "python", "faithlib"} <= set(record["provenance"]["versions"])
    assert set(record["volatile"]) == {"finished", "seconds", "cpu_seconds", "peak_memory_mib", "host"}
    assert str(path.parents[3]) not in path.read_text()  # no path of this machine
    records, values = results.load(params["results_dir"], "quick", "soft_metrics")
    assert records == [record]
    pd.testing.assert_frame_equal(values[["example", "value"]], VALUES)
    assert set(zip(values.dataset, values.model, values.seed, strict=True)) == {("sst", "org/Some-Model", 3)}


def test_several_units_are_read_together(params):
    for seed in (0, 1):
        results.start("soft_metrics", {**params, "seed": seed}).save(METRICS, VALUES + seed)
    records, values = results.load(params["results_dir"], "quick", "soft_metrics")
    assert [r["unit"] for r in records] == ["sst.Some-Model.s0", "sst.Some-Model.s1"]
    assert values.groupby("seed").size().to_dict() == {0: 3, 1: 3} and values.index.tolist() == list(range(6))


def test_a_record_that_cannot_be_written_is_not_there(run):
    with pytest.raises(ValueError):
        run.save([{"metric": "loss", "value": float("nan")}], VALUES)  # JSON knows no NaN
    assert not list(run.folder.glob("*.json")) and not list(run.folder.glob("*.part"))


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda json_, parquet: json_.write_text(json_.read_text()[:-40]), "is damaged"),
        (lambda json_, parquet: json_.write_text(""), "is damaged"),
        (lambda json_, parquet: json_.write_text("{}"), "is damaged"),
        (lambda json_, parquet: json_.write_text("null"), "is damaged"),
        (lambda json_, parquet: json_.write_text("[1]"), "is damaged"),
        (lambda json_, parquet: json_.write_text('"text"'), "is damaged"),
        (lambda json_, parquet: parquet.unlink(), "has lost its file sst.Some-Model.s3.parquet"),
        (lambda json_, parquet: parquet.write_bytes(parquet.read_bytes()[:-9]), "is not the one that record"),
        (lambda json_, parquet: VALUES[:2].to_parquet(parquet), "is not the one that record"),
    ],
)
def test_a_damaged_record_is_told_with_the_fix(run, params, harm, message):
    path = run.save(METRICS, VALUES)
    assert results.read_record(path)["unit"] == run.unit
    harm(path, path.with_suffix(".parquet"))
    for read in (
        lambda: results.read_record(path),
        lambda: results.load(params["results_dir"], "quick", "soft_metrics"),
    ):
        tells([message, "delete ", "run the unit again"], read)


def test_an_empty_folder_has_no_records(tmp_path):
    parts = ["no records in", "make results SCALE=quick"]
    tells(parts, results.load, str(tmp_path), "quick", "soft_metrics", error=FileNotFoundError)


# What an interruption leaves ----------------------------------------------------------------------


class Maker:
    """Makes a frame of squares, and gives up before example `until`."""

    def __init__(self, until=10**9):
        self.until, self.made = until, []

    def __call__(self, start, stop):
        if stop > self.until:
            raise KeyboardInterrupt
        self.made.append((start, stop))
        rows = range(start, stop)
        return pd.DataFrame({"x": [i * i for i in rows], "row": [[float(i)] for i in rows]})


def test_parts_that_were_made_are_not_made_again(run, params):
    whole = Maker()
    expected = run.in_parts("other", 10, whole, key=[1], size=4)
    assert whole.made == [(0, 4), (4, 8), (8, 10)] and expected.x.tolist() == [i * i for i in range(10)]
    broken = Maker(until=8)
    with pytest.raises(KeyboardInterrupt):
        run.in_parts("values", 10, broken, key=[1], size=4)
    assert broken.made == [(0, 4), (4, 8)]
    resumed, again = Maker(), Maker()
    later = results.start("soft_metrics", params)
    frame = later.in_parts("values", 10, resumed, key=[1], size=4)
    assert resumed.made == [(8, 10)]
    pd.testing.assert_frame_equal(frame, expected)
    pd.testing.assert_frame_equal(later.in_parts("values", 10, again, key=[1], size=4), expected)
    assert again.made == []


def test_another_key_or_other_code_are_other_parts(run, monkeypatch):
    for key, code in (([1], "a"), ([2], "a"), ([1], "b")):
        maker = Maker()
        monkeypatch.setattr("faithlib.store.code_digest", lambda *parts, code=code: code)
        run.in_parts("values", 4, maker, key=key)
        assert maker.made == [(0, 4)]
    assert len(list(run.kept.iterdir())) == 3


def test_a_part_that_was_being_written_is_made_again(run):
    run.in_parts("values", 4, Maker(), key=[1])
    (path,) = run.kept.iterdir()
    path.rename(path.with_name(path.name + ".123.part"))  # what a power cut leaves
    maker = Maker()
    run.in_parts("values", 4, maker, key=[1])
    assert maker.made == [(0, 4)]


def test_trained_weights_are_kept_and_not_trained_again(run, params):
    history = [{"epoch": 1.0, "train_loss": 0.1 + 0.2, "validation_loss": 1 / 3}]
    classifier, calls = tiny.classifier(seed=1), []

    def train():
        calls.append(1)
        with torch.no_grad():
            for p in classifier.model.parameters():
                p += 0.125
        return history

    assert run.keep_weights(classifier, train, key=["a"]) == history
    trained = {k: v.clone() for k, v in classifier.model.state_dict().items()}
    fresh = tiny.classifier(seed=2)
    later = results.start("soft_metrics", params)
    assert later.keep_weights(fresh, train, key=["a"]) == history and len(calls) == 1
    for name, weights in fresh.model.state_dict().items():
        assert torch.equal(weights, trained[name])
    assert results.weights_digest(fresh.model) == results.weights_digest(classifier.model)
    assert run.weights == later.weights and list(run.weights) == [p.name for p in run.kept.iterdir()]
    record = json.loads(later.save([], pd.DataFrame({"x": [0]})).read_text())
    assert list(record["provenance"]["weights"].values()) == [results.weights_digest(classifier.model)]
    assert [p.suffix for p in run.kept.iterdir()] == [".safetensors"]
    assert later.earlier_cpu > 0 and record["volatile"]["cpu_seconds"] >= 0
    spent = later.earlier
    assert spent > 0 and run.earlier == 0 and run.trained == later.trained == spent
    for of in (run, later):  # asked for once more, as where models take turns
        of.keep_weights(fresh, train, key=["a"])
    assert run.earlier == 0 and later.earlier == spent  # each second once
    later.keep_weights(fresh, train, key=["b"])
    assert len(calls) == 2  # other settings, other weights


def test_a_training_that_fails_keeps_nothing(run):
    def train():
        raise FloatingPointError("training loss is nan")

    with pytest.raises(FloatingPointError):
        run.keep_weights(tiny.classifier(), train, key=["a"])
    assert not list(run.kept.glob("*"))


# Digests ------------------------------------------------------------------------------------------


def test_digests_tell_contents_apart(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    assert store.file_digest(tmp_path / "empty").startswith("e3b0c44298fc1c149afbf4c8996fb924")
    assert results.digest({"a": 1, "b": [2]}) == results.digest({"b": [2], "a": 1})
    assert results.digest({"a": 1}) != results.digest({"a": 2})
    one, same, other = (results.weights_digest(tiny.classifier(seed=s).model) for s in (0, 0, 1))
    assert one == same != other
    assert results.code_digest("metrics") != results.code_digest("models") != results.code_digest()


def test_own_files_are_told_apart_by_what_they_hold(params, tmp_path):
    assert results.own_files(params) == {}
    (tmp_path / "bert").mkdir()
    paths = [tmp_path / "mine.csv", tmp_path / "my.py", tmp_path / "bert/weights"]
    for path in paths:
        path.write_text("from helper import b")
    (tmp_path / "helper.py").write_text("import deeper")
    data, plugin, model = map(str, (paths[0], paths[1], tmp_path / "bert"))
    named = {**params, "task": data, "plugins": [plugin], "model": model}
    hashes = results.own_files(named)
    assert list(hashes) == [data, plugin, model]
    for path, name in zip(paths, hashes, strict=True):
        path.write_text("b")
        changed = results.own_files(named)
        assert [key for key in hashes if changed[key] != hashes[key]] == [name]
        hashes = changed
    paths[1].write_text("from helper import b")
    hashes = results.own_files(named)
    (tmp_path / "deeper.py").write_text("b = 1")
    assert results.own_files(named)[plugin] != hashes[plugin]


def test_peak_memory_is_that_of_a_process_with_torch():
    assert 50 < peak_memory_mib() < 100_000


def test_parameters_that_change_after_the_start_write_nothing(params):
    run = results.start("soft_metrics", params)
    params["examples"], params["ratios"][0] = 7, 0.2
    line = r"parameters changed after results.start \(examples was 5 and is 7; ratios was \[0.1, 0.5\] and is"
    for write in (
        lambda: run.save(METRICS, VALUES),
        lambda: run.in_parts("values", 4, None, "key"),
        lambda: run.keep_weights(None, None, "key"),
    ):
        refused(line, write)
    assert not run.folder.exists() and not run.kept.exists()


def test_seeds_of_several_contents_of_a_users_file_are_left_out(params, capsys, tmp_path):
    params["plugins"] = [str(tmp_path / "mine.py")]
    for seed in range(2):
        (tmp_path / "mine.py").write_text(f"VALUE = {seed}\n")
        results.start("soft_metrics", params | {"seed": seed}).save([], VALUES)
    with pytest.raises(FileNotFoundError, match="no records"):
        results.load(params["results_dir"], "quick", "soft_metrics")
    assert f"several contents of {tmp_path / 'mine.py'}" in capsys.readouterr().out
