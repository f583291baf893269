"""execute.py, grid.py and the Snakefile: mistakes end in one line, finished units stay finished."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

ROOT = Path(__file__).resolve().parent.parent
import execute  # noqa: E402
import grid  # noqa: E402

from faithlib.tasks.table import TASKS  # noqa: E402

KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
PARAMETERS = """task = "sst"
model = "tiny-bert"
seed = 0
scale = "quick"
data_dir = ""
rate = 0.5
fast = True
ratios = [0.1, 1]
names = ["a"]
"""
RECORD = """import pathlib
stem = pathlib.Path("results", scale, "paper", f"{task}.{model.split('/')[-1]}.s{seed}")
stem.parent.mkdir(parents=True, exist_ok=True)
for kind in ("json", "parquet"):
    pathlib.Path(f"{stem}.{kind}").write_text(f'{{"files": {{}}, "made": "{seed} {data_dir}"}}')
"""
CLAIMS = 'import pathlib\npathlib.Path("results", scale, "paper", "claims.csv").write_text("claim")'


def notebook(path, parameters, *code, tags=("parameters",)):
    """Write a notebook with a parameters cell and further code cells."""
    first = new_code_cell(parameters, metadata={"tags": list(tags)})
    book = new_notebook(cells=[first, *map(new_code_cell, code)], metadata=KERNEL)
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(book, path)
    return path


@pytest.fixture
def book(tmp_path):
    return notebook(tmp_path / "book.ipynb", PARAMETERS)


def test_defaults_are_the_literals(book):
    known = execute.defaults(book)
    assert known["rate"] == 0.5 and known["fast"] is True and known["ratios"] == [0.1, 1]


@pytest.mark.parametrize(
    "good",
    [{}, {"rate": 1}, {"seed": 3}, {"fast": False}, {"ratios": []}, {"ratios": [1, 0.25]}],
)
def test_right_parameters_pass(book, good):
    execute.check(book, good)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"sead": 1}, "unknown parameter 'sead'; it takes task, model"),
        ({"seed": 1.0}, "seed = 1.0"),
        ({"seed": True}, "seed = True"),
        ({"rate": True}, "rate = True"),
        ({"rate": "1e-3"}, "write 1.0e-5"),
        ({"fast": "false"}, "fast = 'false'"),
        ({"fast": 0}, "fast = 0"),
        ({"names": "a"}, "names = 'a'"),
        ({"names": ["a", 1]}, "names = ['a', 1]"),
        ({"task": None}, "task = None"),
    ],
)
def test_wrong_parameters_are_one_line(book, wrong, told):
    with pytest.raises(ValueError) as error:
        execute.check(book, wrong)
    assert told in str(error.value) and "\n" not in str(error.value)


def test_cell_that_papermill_would_overwrite(tmp_path):
    with pytest.raises(ValueError, match="0 cells are tagged 'parameters'"):
        execute.defaults(notebook(tmp_path / "book.ipynb", "x = 1", tags=()))


@pytest.mark.parametrize("line", ['out = f"{seed}.json"', "import os", "a = b = 1", "a, b = 1, 2"])
def test_values_that_papermill_would_not_recompute(tmp_path, line):
    with pytest.raises(ValueError, match="not of the form name = literal"):
        execute.defaults(notebook(tmp_path / "book.ipynb", f"seed = 0\n{line}"))


def test_code_hash_sees_code_only(tmp_path):
    first = notebook(tmp_path / "a.ipynb", "x = 1", "print(x)")
    content = json.loads(first.read_text())
    content["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "1\n"}]
    content["cells"].append({"cell_type": "markdown", "metadata": {}, "source": "prose"})
    (tmp_path / "b.ipynb").write_text(json.dumps(content))
    third = notebook(tmp_path / "c.ipynb", "x = 2", "print(x)")
    hashes = [execute.code_hash(tmp_path / name) for name in ("a.ipynb", "b.ipynb", third)]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize("text", ["{seed: 1}", "[1]", "seed"])
def test_parameters_must_be_a_json_object(book, text):
    with pytest.raises(SystemExit, match="JSON"):
        execute.main([str(book), "out.ipynb", text])


def test_types_survive_and_a_failing_cell_is_kept(tmp_path, capsys):
    check = "assert fast is False and rate == 1e-5, 'types'\nraise ValueError('a clear reason')"
    path = notebook(tmp_path / "book.ipynb", PARAMETERS, check)
    (tmp_path / "own.json").write_text('{"fast": false, "rate": 1}')
    output = tmp_path / "runs" / "out.ipynb"
    with pytest.raises(SystemExit, match="ValueError: a clear reason"):
        execute.main([str(path), str(output), str(tmp_path / "own.json"), '{"rate": 1e-5}'])
    assert "raise ValueError('a clear reason')" in capsys.readouterr().err
    assert any(
        o["output_type"] == "error" and o["ename"] == "ValueError"
        for cell in nbformat.read(output, 4).cells
        for o in cell.get("outputs", [])
    )


def config(folder, text):
    """A project folder with one paper, one config and two dummy notebooks."""
    notebook(folder / "notebooks/experiments/paper.ipynb", PARAMETERS, RECORD)
    notebook(folder / "notebooks/reports/paper.ipynb", 'scale = "small"', CLAIMS)
    (folder / "configs").mkdir(exist_ok=True)
    (folder / "config/quick.yaml").write_text(text)
    shutil.copy(ROOT / "config/schema.json", folder / "configs")


GOOD = """version: 1
scale: quick
papers:
  paper:
    notebook: paper
    defaults: {model: org/name}
    units:
      - {task: sst, seed: [0, 1]}
      - {task: topics, seed: 2, rate: 0.25}
"""


def test_units_are_named_and_expanded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config(tmp_path, GOOD)
    scale, papers, paths = grid.read({"data_dir": ".", "model_dir": None, "papers": "paper"})
    assert (scale, paths) == ("quick", {"data_dir": "."})
    assert list(papers["paper"].units) == ["sst.name.s0", "sst.name.s1", "topics.name.s2"]
    assert papers["paper"].units["topics.name.s2"] == {
        "task": "topics", "model": "org/name", "seed": 2, "rate": 0.25, "scale": "quick"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "old", "new", "told"),
    [
        ({"scale": "smal"}, "", "", "scale=smal: unknown scale; choose one of quick"),
        ({"sale": "small"}, "", "", "unknown key 'sale'; allowed are scale, papers, data_dir"),
        ({"papers": "fmm"}, "", "", "papers=fmm: unknown paper; config/quick.yaml has paper"),
        ({"data_dir": "nowhere"}, "", "", "data_dir=nowhere: there is no such folder"),
        ({"device": "cpu"}, "", "", "unknown parameter 'device'"),
        ({"device": "gpu"}, "", "", "device=gpu: unknown device; use one of auto, cpu, cuda, mps"),
        ({}, "version: 1", "", "quick.yaml: the config has no version, so it is older than this faithlib"),
        ({}, "version: 1", "version: 0", "has version 0, which reads version 1: compare it with"),
        ({}, "scale: quick", "scale: small", "says scale 'small'"),
        ({}, "scale: quick", "scale: [", "not valid YAML"),
        ({}, "    units:", "    unit:", "unknown key 'unit'"),
        ({}, "notebook: paper", "notebook: papr", "papr.ipynb: there is no such notebook"),
        ({}, "{model: org/name}", "{}", "'model' is missing"),
        ({}, "seed: 2", "seed: 2, sead: 1", "unknown parameter 'sead'"),
        ({}, "rate: 0.25", "rate: 1e-5", "rate = '1e-5' has the wrong type"),
        ({}, "topics, seed: 2", "sst, seed: 1", "sst.name.s1 is there twice"),
        ({}, "seed: 2", "seed: -2", "papers: paper: units: 1: seed: -2 is less than the minimum of 0"),
        ({}, "[0, 1]", "[0, 0]", "seed: [0, 0] has non-unique elements"),
        ({}, "{model: org/name}", "[org/name]", "papers: paper: defaults = ['org/name'] must be a mapping"),
        ({}, "notebook: paper", "notebook: ../paper", "'../paper' is no name of a notebook"),
        ({}, "task: topics", "task: topic", "topic.name.s2: task = 'topic' is unknown; use one of sst,"),
    ],
)
def test_config_mistakes_are_one_line(tmp_path, monkeypatch, options, old, new, told):
    monkeypatch.chdir(tmp_path)
    config(tmp_path, GOOD.replace(old, new))
    with pytest.raises((ValueError, FileNotFoundError)) as error:
        grid.read(options)
    assert told in str(error.value) and "\n" not in str(error.value)


UNIT = {"task": "imdb", "model": "roberta", "measures": ["beam"], "max_length": 0}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (UNIT, "beam takes T² passes"),
        (UNIT | {"max_length": 256}, "beam takes T² passes"),
        ({"task": "multirc", "attributions": ["lime", "beam"]}, "beam takes T² passes"),
        ({"model": "roberta", "vectors": "glove.txt"}, "vectors are for the model bilstm alone"),
        ({"unused_classes": -1}, "unused_classes: -1 is less than the minimum of 0"),
        ({"epochs": 0}, "epochs: 0 is less than the minimum of 1"),
        ({"long_texts": "cut"}, "long_texts = 'cut' is unknown; use one of error, truncate"),
        ({"task": "world_facts", "model": "stories260K"}, "tiny-llama learns the generated world"),
        ({"task": "knowns", "model": "tiny-llama"}, "pretrained models with other prompts"),
        ({"task": "wikibio", "model": "llama", "tokens": 0}, "these prompts are open"),
        ({"task": "world_facts", "model": "tiny-llama", "tokens": 0}, ""),
        ({"task": "knowns", "model": "llama", "tokens": 0}, ""),
        (UNIT | {"max_length": 128}, ""),
        (UNIT | {"task": "sst2"}, ""),
        (UNIT | {"measures": ["lime"]}, ""),
        ({"model": "bilstm", "vectors": "glove.txt"}, ""),
    ],
)
def test_combinations_that_cannot_be_run(given, told):
    schema = json.loads(grid.SCHEMA.read_text())["$defs"]["unit"]
    if not told:
        return grid.conform(given, schema)
    with pytest.raises(ValueError) as error:
        grid.conform(given, schema)
    assert told in str(error.value) and "\n" not in str(error.value)


def test_the_schema_is_one_and_knows_all_tasks():
    schema = json.loads(grid.SCHEMA.read_text())
    grid.Draft202012Validator.check_schema(schema)
    assert set(schema["$defs"]["unit"]["properties"]["task"]["enum"]) == set(TASKS)


def test_a_read_only_folder_is_told_before_anything_starts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config(tmp_path, GOOD)
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(grid.os, "access", lambda path, mode: False)
    with pytest.raises(ValueError, match="results is read-only, and results/quick goes there: make it"):
        grid.read({})


def test_a_gpu_that_is_not_there_is_told_before_anything_starts(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ValueError, match="device=cuda: this machine shows no such GPU; leave DEVICE out"):
        grid.demand("cuda")
    assert grid.demand("auto") is grid.demand("cpu") is None


def test_a_tagger_that_is_not_there_is_told_before_anything_starts():
    unit = {"task": "sst", "tagger": "no_such_tagger", "scale": "small"}
    with pytest.raises(ValueError, match="tagger='no_such_tagger'.*spacy download"):
        grid.demand(papers={"saloss": grid.Paper("", "", {"sst.s0": unit})})


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
def test_an_unknown_profile_is_one_line(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "workflow/profiles/default").mkdir(parents=True)
    for name in (".venv/installed-batch", "pyproject.toml", "constraints.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    command = ["make", "--no-print-directory", "results", "PROFILE=pbs", "-o", ".venv/installed-batch"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode
    assert done.stdout == "PROFILE=pbs: there is no such profile; use one of local\n"


def snakemake(folder, *arguments):
    command = [sys.executable, "-m", "snakemake", "--profile", "workflow/profiles/default", *arguments]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SNAKEMAKE")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def unrun(tmp_path):
    """The project without any results."""
    for name in ("Snakefile", "configs", "profiles", "notebooks"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize(("scale", "units"), [("quick", 18), ("small", 31), ("paper", 295)])
def test_the_projects_own_grid(unrun, scale, units):
    status, text = snakemake(unrun, "-n", "--config", f"scale={scale}")
    assert status == 0, text
    assert f"unit {units}" in " ".join(text.split())


@pytest.mark.parametrize("papers", ["fmm", "fmm,recursive_roar"])
def test_a_report_waits_for_all_records_that_it_shows(unrun, papers, monkeypatch):
    monkeypatch.chdir(ROOT)
    units = sum(len(p.units) for p in grid.read({"scale": "quick", "papers": papers})[1].values())
    status, text = snakemake(
        unrun, "results/quick/fmm/claims.csv", "-n", "--config", "scale=quick", f"papers={papers}"
    )
    assert status == 0, text
    assert f"unit {units}" in " ".join(text.split())


@pytest.mark.parametrize(("scale", "outputs"), [("small", 6), ("paper", 36)])  # 36: the release
def test_outputs_of_recursive_roar_for_babi(scale, outputs):
    _, papers, _ = grid.read({"scale": scale, "data_dir": ".", "model_dir": "."})
    units = [u for u in papers["recursive_roar"].units.values() if u["task"].startswith("babi")]
    assert units and {len(TASKS[u["task"]].labels) + u.get("unused_classes", 0) for u in units} == {outputs}


def test_finished_units_stay_finished(tmp_path):
    config(tmp_path, GOOD.split("      - {task: topics")[0].replace("[0, 1]", "0"))
    shutil.copy(ROOT / "Snakefile", tmp_path)
    shutil.copytree(ROOT / "profiles", tmp_path / "profiles")
    for name in ("execute.py", "grid.py"):
        shutil.copy(ROOT / "notebooks" / name, tmp_path / "notebooks")
    record = tmp_path / "results/quick/paper/sst.name.s0.json"
    record.parent.mkdir(parents=True)
    for kind in ("json", "parquet"):  # as in a fresh clone: records, but no .snakemake folder
        record.with_suffix(f".{kind}").write_text('{"files": {}, "made": "committed"}')

    status, text = snakemake(tmp_path)
    assert status == 0, text
    assert json.loads(record.read_text())["made"] == "committed"
    assert (tmp_path / "results/quick/paper/claims.csv").exists()

    record.unlink()
    status, text = snakemake(tmp_path, "--config", "data_dir=notebooks")
    assert status == 0, text
    assert json.loads(record.read_text())["made"] == "0 notebooks"

    experiment = tmp_path / "notebooks/experiments/paper.ipynb"
    experiment.touch()  # saved again, and the data found elsewhere: the result is the same
    status, text = snakemake(tmp_path, "--config", "data_dir=configs")
    assert status == 0 and "Nothing to be done" in text, text

    notebook(experiment, PARAMETERS, RECORD + "print(1)")
    assert "unit 1" in " ".join(snakemake(tmp_path, "-n")[1].split())


def test_only_errors_that_faithlib_words_itself_are_told_without_a_traceback():
    cell = "Cell In[2], line 1\n----> 1 run()\n\n"
    own = cell + "File ~/project/faithlib/tasks/loading.py:82, in load(name)\n---> 82 raise ValueError('x')\n"
    deeper = own + "\nFile ~/lib/python3.11/site-packages/numpy/core.py:3, in f()\n----> 3 raise ValueError\n"
    assert execute.told("ValueError", own)
    assert execute.told("ValueError", own.replace("/tasks/loading", "/results"))
    assert not execute.told("KeyError", own)  # a bug, wherever it is
    assert not execute.told("ValueError", deeper)  # something else's words
    assert not execute.told("ValueError", cell)  # the notebook's own code
