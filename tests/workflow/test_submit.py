"""Arrays of jobs, with programs in place of Slurm's: each unit once, reports last, what is left again."""

import json
import os
import re
import subprocess
import sys

import pytest
import submit as slurm
import toy
from wrong import refused

SBATCH = """#!{python}
import json, os, pathlib, subprocess, sys
options = dict(a.partition("=")[::2] for a in sys.argv[1:] if a.startswith("--"))
log = pathlib.Path("jobs.json")
jobs = json.loads(log.read_text()) if log.is_file() else []
wrap = sys.argv[sys.argv.index("--wrap") + 1]
first, _, last = options.get("--array", "0-0").partition("-")
fine, waits_for = True, options.get("--dependency", "").split(":")[1:]
if all(jobs[int(job)]["fine"] for job in waits_for):
    for number in range(int(first), int(last) + 1):
        environment = {{**os.environ, "SLURM_ARRAY_TASK_ID": str(number)}}
        done = subprocess.run(wrap, shell=True, env=environment, capture_output=True)
        fine = fine and done.returncode == 0
else:
    fine = False
log.write_text(json.dumps([*jobs, {{"fine": fine, "ran": wrap, **options}}]))
print(f"{{len(jobs)}};cluster")
"""
SQUEUE = "#!/bin/sh\ncat queue 2>/dev/null || true\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of three units, and a folder with the two programs first on the PATH."""
    toy.config(tmp_path, toy.GOOD)
    toy.workflow(tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("sbatch", SBATCH.format(python=sys.executable)), ("squeue", SQUEUE)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def submit(project, *arguments):
    """Exit status and what was printed."""
    command = [sys.executable, "workflow/submit.py", "scale=quick", *arguments]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_a_queue_that_holds_the_grid_and_a_machine_without_slurm_are_one_line(project, monkeypatch):
    monkeypatch.chdir(project)
    (project / "queue").write_text("17\n18\n")
    line = (
        "2 jobs of this scale are in the queue (17): wait for them, or scancel --name=faithlib-quick, then "
        "give the same command again"
    )
    refused(f"^{re.escape(line)}$", slurm.main, ["scale=quick"])
    (project / "bin/squeue").unlink()
    monkeypatch.setenv("PATH", str(project / "bin"))
    line = "there is no squeue here: run this on a login node of a Slurm cluster"
    refused(f"^{line}$", slurm.main, ["scale=quick"])


@pytest.mark.slow
def test_every_unit_runs_once_and_the_reports_last(project):
    records = project / "results/quick/attributions"
    code, out = submit(project, "--", "--partition=debug")
    assert code == 0, out
    assert "attributions: job 0, 3 units" in out and "reports: job 1, once all have ended well" in out
    assert len(list(records.glob("*.json"))) == 3 and (records / "claims.csv").is_file()
    array, reports = json.loads((project / "jobs.json").read_text())
    assert (array["--array"], array["--mem"], array["--time"]) == ("0-2", "8192M", "360")
    assert reports["--dependency"] == "afterok:0" and "--gpus" not in array
    assert array["--partition"] == reports["--partition"] == "debug"

    path = sorted(records.glob("*.json"))[1]
    kept = {p: p.read_bytes() for p in records.glob("*.json") if p != path}
    path.unlink()
    notebook = project / "notebooks/attributions/experiment.ipynb"
    code, out = submit(project)
    assert code == 0 and "attributions: job 2, 1 units" in out and path.is_file()
    assert all(p.read_bytes() == content for p, content in kept.items()) and notebook.is_file()


@pytest.mark.slow
def test_a_unit_that_fails_holds_the_reports_and_alone_is_submitted_again(project):
    book = project / "notebooks/attributions/experiment.ipynb"
    toy.notebook(book, toy.PARAMETERS, "assert seed != 1 or fast is False", toy.RECORD)
    assert submit(project)[0] == 0
    records = project / "results/quick/attributions"
    assert len(list(records.glob("*.json"))) == 2 and not (records / "claims.csv").exists()
    code, out = submit(project)
    assert "attributions: job 2, 1 units" in out and not (records / "claims.csv").exists()
