"""The workflow from any folder, without a home, told to stop, and with more output than a screen holds."""

import ast
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import box
import execute
import grid
import nbformat
import pytest
import toy
from toy import GOOD, ROOT, config, notebook

linux = pytest.mark.skipif(sys.platform != "linux", reason="signals and processes as Linux has them")


@pytest.fixture
def project(tmp_path):
    """A project in a folder with blanks and letters beyond ASCII."""
    folder = tmp_path / "pfad mit leer ü 空 (1) 'q'"
    config(folder, GOOD.split("      - {task: topics")[0])
    toy.workflow(folder)
    (folder / "pyproject.toml").write_text("")
    return folder


def python(folder, script, *arguments, cwd, **environment):
    """Run a script of a project's workflow from another folder: (exit status, stdout, stderr)."""
    done = subprocess.run(
        [sys.executable, folder / "workflow" / script, *map(str, arguments)],
        cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_every_script_finds_its_project(project, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "data").mkdir(parents=True)
    assert python(project, "grid.py", "data_dir=data", cwd=elsewhere) == (0, "", "")
    status, _, err = python(project, "grid.py", "data_dir=nope", cwd=elsewhere)
    assert status == 1 and f"data_dir={elsewhere}/nope: there is no such folder" in err
    for path in (ROOT / "workflow").glob("*.py"):  # all of them start as grid.py does
        _, _, started = path.read_text(encoding="utf-8").partition('if __name__ == "__main__":\n')
        skip = path.stem in ("box", "execute", "warm")  # of a folder of one's own
        assert not started or skip or re.fullmatch(r"(    os.*\n)?    (execute\.)?command\(main\)\n", started)


def test_a_notebook_is_executed_in_its_project(project, tmp_path, monkeypatch):
    code = 'import os\nopen("here", "w").write(os.getcwd() + " " + str(seed))'
    book = notebook(project / "notebooks/attributions/report.ipynb", "seed = 0", code)
    (tmp_path / "own.json").write_text('{"seed": 3}')
    argv = (os.path.relpath(book, tmp_path), "out/out.ipynb", "own.json")
    monkeypatch.chdir(tmp_path)
    execute.main([*argv])
    assert (project / "here").read_text() == f"{project} 3" and (tmp_path / "out/out.ipynb").is_file()
    argv = ("notebooks/attributions/report.ipynb", tmp_path / "again.ipynb")  # as from the project's root
    assert python(project, "execute.py", *argv, cwd=tmp_path)[0] == 0
    assert (project / "here").read_text() == f"{project} 0"


def test_the_grid_outside_a_project_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="holds no scales: run this in the project's folder"):
        grid.read({})


# A home that cannot be written ---------------------------------------------------------------------

CACHES = ("XDG_CACHE_HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR", "HF_HOME")


@linux
def test_caches_go_to_the_project_where_there_is_no_home(tmp_path, monkeypatch):
    for name in CACHES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home/.cache/huggingface").mkdir(parents=True)
    before = dict(os.environ)
    execute.give_caches_a_place(tmp_path)
    assert dict(os.environ) == before  # home is good enough
    monkeypatch.setattr(execute, "_writable", lambda folder: tmp_path / "home" not in folder.parents)
    (tmp_path / ".snakemake/cache").mkdir(parents=True)
    execute.give_caches_a_place(tmp_path)
    assert os.environ["XDG_CACHE_HOME"] == str(tmp_path / ".snakemake/cache")
    assert os.environ["HF_HOME"] == str(tmp_path / "home/.cache/huggingface")  # read-only, and filled
    assert all(Path(os.environ[name]).is_dir() for name in CACHES)
    for name in CACHES:
        monkeypatch.delenv(name)


@linux
@pytest.mark.parametrize("cache", ["", "cache"])  # as make sets it
def test_a_plan_and_a_notebook_without_a_home(project, cache):
    nowhere = {"HOME": "/proc/nonexistent", "XDG_CACHE_HOME": cache and str(project / cache)}
    status, out, err = python(project, "plan.py", cwd=project, **nowhere)
    assert status == 0 and "attributions" in out, err
    book = notebook(project / "book.ipynb", "seed = 0", "print(seed)")
    status, _, err = python(project, "execute.py", book, project / "out.ipynb", cwd=project, **nowhere)
    assert (status, toy.said(err)) == (0, "")


# Units by hand -------------------------------------------------------------------------------------

UNIT = """from replication import results
import pandas as pd
run = results.start("toy", globals())
open("runs", "a").write("x")
run.save([], pd.DataFrame({"value": [1.0]}))
"""
PARAMETERS = """task = "sst"
model = "tiny"
seed = 0
variant = ""
epochs = 1
scale = "quick"
device = "cpu"
results_dir = "results"
"""


def test_a_finished_unit_is_computed_again_only_when_asked(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    book = notebook(tmp_path / "notebooks/toy/experiment.ipynb", PARAMETERS, UNIT)
    (tmp_path / "mine.csv").write_text("a")
    argv = [os.path.relpath(book, tmp_path), "out.ipynb", '{"task": "./mine.csv"}']
    execute.main(argv)
    record = tmp_path / "results/quick/toy/mine.tiny.s0.json"
    before = record.read_bytes()
    capfd.readouterr()
    execute.main(argv)
    message = "results/quick/toy/mine.tiny.s0.json is there, with these parameters: nothing to do; --again"
    assert message in capfd.readouterr().out and (tmp_path / "runs").read_text() == "x"
    execute.main([*argv, "--again"])
    assert (tmp_path / "runs").read_text() == "xx" and record.read_bytes() == before
    finished = (tmp_path / "out.ipynb").read_bytes()
    for again in ([], ["--again"]):
        with pytest.raises(SystemExit, match=r"has other parameters \(epochs=1, not 2\)"):
            execute.main([*argv, '{"epochs": 2}', *again])
    assert (tmp_path / "runs").read_text() == "xx" and record.read_bytes() == before
    assert (tmp_path / "out.ipynb").read_bytes() == finished  # told before anything starts
    capfd.readouterr()
    (tmp_path / "mine.csv").write_text("b")
    execute.main([*argv, '{"variant": "the-other"}'])  # a unit of its own
    assert record.with_name("mine.tiny.s0.the-other.json").is_file() and record.read_bytes() == before
    execute.main(argv)
    assert "of another ./mine.csv: computed anew" in capfd.readouterr().out
    assert record.read_bytes() != before


def test_the_workflow_replaces_a_unit_whose_parameters_changed_and_keeps_what_was(project):
    path = project / "config/quick.yaml"
    path.write_text(path.read_text().replace("[0, 1]", "0"))
    status, text = toy.snakemake(project)
    assert status == 0, text
    first = (project / "results/quick/attributions/sentiment.name.s0.json").read_bytes()
    path.write_text(path.read_text().replace("{model: org/name}", "{model: org/name, rate: 0.125}"))
    assert "kept as" not in toy.snakemake(project, "-n")[1]
    status, text = toy.snakemake(project)
    assert status == 0, text
    kept = "results/quick/attributions/sentiment.name.s0.json.replaced"
    assert f"the record before is kept as {kept}" in text
    assert (project / kept).read_bytes() == first
    assert "Nothing to be done" in toy.snakemake(project)[1]


# Stopping ------------------------------------------------------------------------------------------

SLOW = """import multiprocessing, os, pathlib, time
pathlib.Path("kept").write_text("a finished chunk")
child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
child.start()
pathlib.Path("pids.part").write_text(f"{os.getpid()} {child.pid}")
os.rename("pids.part", "pids")
time.sleep(600)
"""


@linux
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_notebook_that_is_stopped_says_one_line_and_leaves_no_process(tmp_path, how):
    notebook(tmp_path / "book.ipynb", "seed = 0", SLOW)
    process = subprocess.Popen(
        [sys.executable, ROOT / "workflow/execute.py", "book.ipynb", "out.ipynb"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    toy.wait_until((tmp_path / "pids").is_file, process)
    process.send_signal(how)
    out, _ = process.communicate()
    kept = "what is finished is kept, and the same command goes on"
    assert toy.said(out) == f"out.ipynb: stopped by {how.name}; {kept}\n"
    assert process.returncode == 128 + how
    for pid in (tmp_path / "pids").read_text().split():
        toy.ended(int(pid))
    assert (tmp_path / "kept").read_text() == "a finished chunk"
    assert json.loads((tmp_path / "out.ipynb").read_text())["cells"]  # as far as it came


TOOK = """import os, pathlib, time
pathlib.Path(f"took-{seed}").write_text(os.environ["CUDA_VISIBLE_DEVICES"])
while len(list(pathlib.Path().glob("took-*"))) < 2:
    time.sleep(0.1)
"""


@linux
def test_a_unit_takes_a_gpu_that_no_other_unit_holds(tmp_path, monkeypatch):
    monkeypatch.setenv("FAITHLIB_GPUS", "2")

    def taken():
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7,9")  # each unit is a process of its own
        return execute.take_gpu(tmp_path), os.environ["CUDA_VISIBLE_DEVICES"]

    (held, first), (_other, second) = taken(), taken()
    held.close()  # the first unit ends
    assert (first, second, taken()[1]) == ("4", "7", "4")
    monkeypatch.setenv("FAITHLIB_GPUS", "1")
    assert execute.take_gpu(tmp_path) is None


@pytest.mark.slow
@linux
def test_each_unit_has_one_of_the_machines_gpus(project):
    """Both units run at a time, and each waits for the other."""
    config = project / "config/quick.yaml"
    config.write_text(config.read_text().replace("scale: quick", "scale: quick\nasks: {gpu: true, gpus: 2}"))
    notebook(project / "notebooks/attributions/experiment.ipynb", toy.PARAMETERS, TOOK, toy.RECORD)
    status, text = toy.snakemake(project)
    assert status == 0, text
    assert {(project / f"took-{seed}").read_text() for seed in (0, 1)} == {"0", "1"}


@pytest.mark.slow  # test_box.py and a notebook that is stopped by a signal
@linux
def test_a_command_in_a_box_of_time_is_stopped_and_ends_with_its_processes(tmp_path, capsys):
    notebook(tmp_path / "book.ipynb", "seed = 0", SLOW)
    command = [sys.executable, str(ROOT / "workflow/execute.py"), str(tmp_path / "book.ipynb"), "out.ipynb"]
    started = f"import os, subprocess; os.chdir({str(tmp_path)!r}); subprocess.run({command!r})"
    _, over = box.run([sys.executable, "-c", started], 20)
    assert over
    for pid in (tmp_path / "pids").read_text().split():
        toy.ended(int(pid))
    assert (tmp_path / "kept").read_text() == "a finished chunk"


# More output than a screen holds -------------------------------------------------------------------


@pytest.mark.parametrize("lines", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_cell_that_prints_and_prints_is_kept_whole(tmp_path, lines):
    book = notebook(tmp_path / "book.ipynb", f"n = {lines}", 'for i in range(n):\n    print("line", i)')
    execute.run(str(book), str(tmp_path / "out.ipynb"), {})
    (cell,) = [c for c in nbformat.read(tmp_path / "out.ipynb", 4).cells if "range" in c.source]
    text = "".join(output.text for output in cell.outputs)
    assert text == "".join(f"line {i}\n" for i in range(lines))


def test_no_script_changes_folder_when_it_is_imported():
    for path in (ROOT / "workflow").glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            top = not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.If)
            assert not (top and "chdir" in ast.dump(node)), path
