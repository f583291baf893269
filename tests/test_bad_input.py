"""Wrong input at every door: what a row of `bad_input.txt` gives is refused, in the one line that it names.

A row is `input => part of the line`, in the section of its door:

- api: a Python expression; `names` says what it may name.
- cli: the arguments of `faithlib`, in a folder with a model, a table and a method; to those of `evaluate` the
  rest is added.
- notebook: a paper and parameters of its experiment, whose cells run here up to the first step of training.
- config: a config as a YAML mapping, `paper: a row of units`, or options of the grid, with our own notebooks.
- make, shell: what is typed, as processes.
"""

import ast
import re
import shlex
import shutil
import subprocess
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

import grid
import numpy as np
import pandas as pd
import pytest
import tiny
import torch
import yaml
from sample.units import ReachedTraining, run_here
from toy import ROOT

import faithlib
from faithlib import attributions as methods
from faithlib import models
from faithlib.__main__ import main
from faithlib.metrics import registry
from faithlib.study.imports import align
from faithlib.tasks import Hub, Task
from faithlib.training import fine_tuning as training
from replication import papers
from replication.parameters import check, defaults

FIX = re.compile(
    r"\b(use|give|name|write|remove|leave|check|change|choose|add|say|it takes|did you mean|pair it)\b"
)
REFUSALS = (ValueError, OSError, NotImplementedError, ImportError, FloatingPointError)
SMALL = {"train_size": 60, "validation_size": 40, "test_size": 12, "examples": 3}
TABLE = {"review": ["a great film", "so boring and long", "a film"] * 4, "stars": ["good", "bad", "good"] * 4}
STUDY = "--model my-model --data reviews.csv --text review --attributions gradient_l2 --metrics ns"
LIBRARY = (
    "corpora engine.forward metrics.answerability metrics.curves metrics.erasure metrics.flip metrics.masf "
    "metrics.plausibility metrics.recursion metrics.soft metrics.soft_causal plugins report scores "
    "statistics store tasks training training.minibatches training.roar training.salience"
).split()
MODULES = [f"faithlib.{name}" for name in LIBRARY]
MODULES += [f"replication.{name}" for name in ("cases", "papers", "records", "results", "verdicts")]
MODULES += ["notebooks.noiser.measure.judge", "notebooks.saloss.measure.rationales"]


def rows():
    """[(door, input, part of the line)] of `bad_input.txt`."""
    cases, door = [], ""
    for line in Path(__file__).with_name("bad_input.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            door = line.strip("[]")
        elif line and not line.startswith("#"):
            text, _, part = line.rpartition(" => ")
            cases.append((door, text, part))
    return cases


ROWS = rows()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A user's folder: a model, a table, a method, a config."""
    place = tmp_path_factory.mktemp("wrong")
    model = models.load("tiny-bert", ("bad", "good"), TABLE["review"])
    tiny.save(model, place / "my-model")
    pd.DataFrame(TABLE).to_csv(place / "reviews.csv", index=False)
    (place / "my.py").write_text("def longest(model, batch, target):\n    return batch.maskable * 1.0\n")
    (place / "broken.py").write_text("def longest(model, batch, target):\n    return {}['longest']\n")
    (place / "config").mkdir()
    return place


@pytest.fixture(scope="module")
def names():
    """What expressions may name: faithlib's functions and modules, two tiny models and their inputs."""
    bert, lm = tiny.classifier(), tiny.causal()
    e, p = bert.encode(tiny.TEXTS), lm.encode(tiny.PROMPTS)
    scores = {"mine": [np.where(x.maskable, 1.0, 0) for x in e]}
    labelled = {"train": (e, [0, 1, 2, 0, 1]), "validation": (e, [0, 1, 2, 0, 1])}

    def study(model=bert, data=tiny.TEXTS, attributions=("gradient_l2",), metrics=("ns",), **more):
        return faithlib.evaluate(model, data, attributions, metrics, progress=False, **more)

    def scored(*wanted, encodings=e, targets=(0, 1, 2, 0, 1), **more):
        return methods.attribute(bert, encodings, targets, list(wanted) or ["gradient_l2"], **more)

    def train(splits=(), **settings):
        options = {"epochs": 1, "batch_size": 5, "learning_rate": 1e-3, **settings}
        return training.fine_tune(tiny.classifier(), {**labelled, **dict(splits)}, **options)

    def file(name, content=""):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return Path(name)

    named = {name.rpartition(".")[2]: import_module(name) for name in MODULES}
    named |= {name: getattr(faithlib, name) for name in faithlib.__all__}
    named |= dict(
        methods=methods, check=methods.check, align=align, metrics=registry, models=models, Task=Task
    )
    named |= dict(Hub=Hub, BERT=bert, LM=lm, E=e, P=p, TEXTS=tiny.TEXTS, PROMPTS=tiny.PROMPTS, SCORES=scores)
    named |= dict(np=np, pd=pd, torch=torch, A=np.array, nan=np.nan, inf=np.inf, Path=Path, file=file)
    named |= dict(table=lambda **columns: pd.DataFrame(columns), mine=lambda scores: {"mine": scores})
    signals = np.random.default_rng(0).random((50, 2, 4))
    return named | dict(study=study, scored=scored, train=train, signals=signals, attribute=methods.attribute)


def api(text, names, monkeypatch):
    if text.startswith("study(") and "lambda" not in text and "study()" not in text:
        for model in (names["BERT"], names["LM"]):  # no pass is made before
            monkeypatch.setattr(model, "logits", None)
    eval(text, dict(names))


def cli(text, capsys):
    arguments = shlex.split(text)
    if arguments[:1] == ["evaluate"] and len(arguments) > 1:
        arguments[1:1] = shlex.split(STUDY)
    if main(arguments):
        raise ValueError(capsys.readouterr().err.removeprefix("faithlib: ").removesuffix("\n"))


def notebook(text, folder, monkeypatch):
    def step(*inputs):
        raise ReachedTraining

    paper, *parameters = shlex.split(text)
    parameters = {name: ast.literal_eval(value) for name, _, value in (p.partition("=") for p in parameters)}
    path = ROOT / f"notebooks/{paper}/experiment.ipynb"
    accepted = defaults(path)
    check(path, parameters)
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(training, "_step", step)
    small = {name: size for name, size in SMALL.items() if name in accepted}
    run_here({**small, "results_dir": str(folder / "results"), **parameters}, path)


def config(text, folder, monkeypatch):
    monkeypatch.chdir(ROOT)
    if text.startswith("{"):
        content = text
    else:
        paper, _, unit = text.partition(": ")
        entries = {paper: {"units": [yaml.safe_load(unit)]}} if unit else {}
        content = yaml.safe_dump({"version": 2, "scale": "quick", "papers": entries}, sort_keys=False)
    (folder / "config/quick.yaml").write_text(content, encoding="utf-8")
    grid.read({}, folder / "config")


def process(arguments):
    done = subprocess.run(arguments, cwd=ROOT, stdout=-1, stderr=subprocess.STDOUT, text=True)
    lines = [line for line in done.stdout.splitlines() if not re.match(r"make(\[\d+\])?: \*\*\*", line)]
    if done.returncode:
        raise ValueError("\n".join(lines))


def make(text):
    if not shutil.which("make"):
        pytest.skip("needs make")
    fresh = ["-o", ".venv/installed-batch", f"BIN={Path(sys.executable).parent}"]  # installed as it is
    process(["make", "-s", *fresh, *shlex.split(text)])


def shell(text):
    process([sys.executable, *shlex.split(text)])


def refused(door, text, request):
    """The line that a wrong input gives."""
    monkeypatch, place = request.getfixturevalue("monkeypatch"), request.getfixturevalue("folder")
    monkeypatch.chdir(place)
    doors = {
        "api": lambda: api(text, request.getfixturevalue("names"), monkeypatch),
        "cli": lambda: cli(text, request.getfixturevalue("capsys")),
        "notebook": lambda: notebook(text, place, monkeypatch),
        "config": lambda: config(text, place, monkeypatch),
        "make": partial(make, text),
        "shell": partial(shell, text),
    }
    with pytest.raises(REFUSALS) as error:
        doors[door]()
    return str(error.value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("door", "text", "part"), ROWS, ids=[f"{door}: {text}" for door, text, _ in ROWS])
def test_it_is_refused_in_one_line(door, text, part, request):
    line, place = refused(door, text, request), request.getfixturevalue("folder")
    assert part and part in line and "\n" not in line, line
    assert FIX.search(line) or door != "config" or text.startswith("{"), line
    assert not (place / "results").exists() and not (place / "checkpoints").exists()  # by a notebook


@pytest.mark.parametrize("paper", [name for name in papers.names() if name != "noiser"])
def test_right_parameters_reach_training(folder, monkeypatch, paper):
    with pytest.raises(ReachedTraining):
        notebook(paper, folder, monkeypatch)


def test_every_door_is_tried():
    counts = pd.Series([door for door, *_ in ROWS]).value_counts()
    assert len(set(ROWS)) == len(ROWS) >= 280
    assert set(counts.index) == {"api", "cli", "notebook", "config", "make", "shell"}
    assert counts["make"] + counts["shell"] <= 15
