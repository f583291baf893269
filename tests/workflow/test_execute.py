"""execute: parameters are checked, types survive, a failing notebook is kept."""

import subprocess
import sys

import execute
import nbformat
import pytest
from toy import PARAMETERS, ROOT, notebook


@pytest.fixture
def book(tmp_path):
    return notebook(tmp_path / "book.ipynb", PARAMETERS)


@pytest.mark.parametrize("text", ["{seed: 1}", "[1]", "seed"])
def test_parameters_must_be_a_json_object(book, text):
    with pytest.raises(SystemExit, match="JSON"):
        execute.main([str(book), "out.ipynb", text])


def test_types_survive_and_a_failing_cell_is_kept(tmp_path, capsys):
    cell = "assert fast is False and rate == 1e-5, 'types'\nraise ValueError('a clear reason')"
    path = notebook(tmp_path / "book.ipynb", PARAMETERS, cell)
    (tmp_path / "own.json").write_text('{"fast": false, "rate": 1}')
    output = tmp_path / "runs" / "out.ipynb"
    with pytest.raises(SystemExit, match="ValueError: a clear reason"):
        execute.main([str(path), str(output), str(tmp_path / "own.json"), '{"rate": 1e-5}'])
    assert "raise ValueError('a clear reason')" in capsys.readouterr().err
    outputs = [o for cell in nbformat.read(output, 4).cells for o in cell.get("outputs", [])]
    assert "ValueError" in [o["ename"] for o in outputs if o["output_type"] == "error"]


@pytest.mark.skipif(sys.platform != "linux", reason="signals as Linux has them")
def test_a_kernel_that_is_killed_starts_again_with_half_the_budget(tmp_path):
    code = (
        'import os, pathlib, signal\ntold = os.environ.get("FAITHLIB_HALVINGS", "0")\n'
        'with open("tries", "a") as file:\n    file.write(told)\n'
        'print("training: 1/2 steps in 00:01, 00:01 left, 1 step/s")\n'
        'if told == "0":\n    os.kill(os.getpid(), signal.SIGKILL)'
    )
    book = notebook(tmp_path / "book.ipynb", "seed = 0", code)
    command = [sys.executable, ROOT / "workflow/execute.py", book, tmp_path / "runs/out.ipynb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tries").read_text() == "01"
    assert "for lack of memory; once more with half the token budget" in done.stderr
    assert "out: training: 1/2 steps" in done.stdout and "done in" in done.stdout
    log = (tmp_path / "runs/out.log").read_text()
    assert "training: 1/2 steps" in log and "the kernel died" in log


def test_only_errors_that_faithlib_words_itself_are_told_without_a_traceback():
    cell = "Cell In[2], line 1\n----> 1 run()\n\n"
    log = cell + "File ~/project/faithlib/tasks/loading.py:82, in load(name)\n---> 82 raise ValueError('x')\n"
    deeper = log + "\nFile ~/lib/python3.11/site-packages/numpy/core.py:3, in f()\n----> 3 raise ValueError\n"
    assert execute.says_it_all("ValueError", log)
    assert execute.says_it_all("ValueError", log.replace("/tasks/loading", "/results"))
    blanks = log.replace("~/project/faithlib/tasks/loading", "/tmp/pfad mit ü/replication/results")
    assert execute.says_it_all("ValueError", blanks)
    assert not execute.says_it_all("ValueError", blanks.replace("replication/", "elsewhere/"))
    assert execute.says_it_all("JudgeError", log.replace("/tasks/loading", "/papers/noiser/experiment"))
    assert not execute.says_it_all("KeyError", log)  # a bug, wherever it is
    assert not execute.says_it_all("ValueError", deeper)  # something else's words
    assert not execute.says_it_all("ValueError", cell)  # the notebook's own code
