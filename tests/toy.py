"""A small project for tests of the workflow: one paper, one config and its two notebooks."""

import os
import select
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

ROOT = Path(__file__).resolve().parents[1]
PAPER = "attributions"  # one that faithlib has a card of; its notebooks are not used
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
stem = pathlib.Path("results", scale, "attributions", f"{task}.{model.split('/')[-1]}.s{seed}")
stem.parent.mkdir(parents=True, exist_ok=True)
for kind in ("json", "parquet"):
    pathlib.Path(f"{stem}.{kind}").write_text(f'{{"files": {{}}, "made": "{seed} {data_dir}"}}')
"""
CLAIMS = """import pathlib
folder = pathlib.Path("results", scale, "attributions")
(folder / "tables").mkdir(exist_ok=True)
(folder / "tables/evidence.csv").write_text("table")
(folder / "claims.csv").write_text("\\n".join(sorted(p.stem for p in folder.glob("*.json"))))
"""
GOOD = """version: 2
scale: quick
papers:
  attributions:
    defaults: {model: org/name}
    units:
      - {task: sentiment, seed: [0, 1]}
      - {task: topics, seed: 2, rate: 0.25}
"""


def notebook(path, parameters, *code, tags=("parameters",)):
    """Write a notebook with a parameters cell and further code cells."""
    first = new_code_cell(parameters, metadata={"tags": list(tags)})
    book = new_notebook(cells=[first, *map(new_code_cell, code)], metadata=KERNEL)
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(book, path)
    return path


def config(folder, text, paper=PAPER):
    """Make a project folder with one config and the two notebooks of a paper, without the workflow."""
    notebook(folder / f"notebooks/{paper}/experiment.ipynb", PARAMETERS, RECORD)
    notebook(folder / f"notebooks/{paper}/report.ipynb", 'scale = "small"', CLAIMS)
    (folder / "config").mkdir(exist_ok=True)
    (folder / "org/name").mkdir(parents=True, exist_ok=True)  # the model of GOOD, as far as anybody looks
    for file in ("config.json", "model.safetensors"):
        (folder / "org/name" / file).write_text("{}")
    (folder / "config/quick.yaml").write_text(text)
    shutil.copy(ROOT / "config/schema.json", folder / "config")


def workflow(folder):
    """Copy the workflow into a project folder."""
    shutil.copytree(ROOT / "workflow", folder / "workflow", ignore=shutil.ignore_patterns("__pycache__"))


def command(*arguments):
    """Command line and environment of a Snakemake run."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SNAKEMAKE")}
    return [sys.executable, "-m", "snakemake", *arguments], environment


def snakemake(folder, *arguments):
    """Run Snakemake in a project folder: (exit status, what it printed)."""
    line, environment = command(*arguments)
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def said(text):
    """What a script said; a kernel that ends while libzmq polls its socket adds a line, one time in many."""
    return "".join(line for line in text.splitlines(True) if "src/signaler.cpp" not in line)


def wait_until(true, process):
    """Wait for what a process does; it must not end before."""
    while not true():
        assert process.poll() is None, "it ended first"
        time.sleep(0.1)


def ended(pid):
    """Wait until a process has ended; for Linux."""
    with suppress(ProcessLookupError):
        select.select([os.pidfd_open(pid)], [], [])
