"""Follow a page of the documentation: its files are written, its commands run, its output compared."""

import io
import os
import re
import runpy
import shutil
import subprocess
import sys
from contextlib import chdir, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import grid
import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_notebook

from faithlib import attributions, tasks
from faithlib.metrics import registry as metrics

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`([\w./-]+\.(?:py|ipynb|yaml))`[^`]*:$")  # the file that a block is for, named before it
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
COPIED = ("faithlib", "workflow", "config", "replication", "notebooks")


@dataclass(frozen=True)
class Step:
    """One block of a page: its language, its text, and the file that it is for ("" where it is none)."""

    language: str
    text: str
    file: str = ""


def section(page, heading):
    """The steps of one section of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    body = re.split(rf"^## {re.escape(heading)}$", text, flags=re.MULTILINE)[1]
    body = re.split(r"^## ", body, flags=re.MULTILINE)[0]
    steps = []
    for match in BLOCK.finditer(body):
        before = body[: match.start()].rstrip().rsplit("\n", 1)[-1]
        named = FILE.search(before) if match[1] in ("python", "yaml") else None
        steps.append(Step(match[1], match[2], named[1] if named else ""))
    return steps


def project(folder):
    """A copy of the project without results, for a reader to work in."""
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, dirs_exist_ok=True)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def follow(steps, folder, by=None):
    """Do what the steps say in a project's folder; an AssertionError tells where the output is another.

    by: how commands are run: `run`, a process each, or `here`.

    Returns:
        What the commands printed.
    """
    printed = everything = ""
    for step in steps:
        if step.language == "bash":
            printed = "".join((by or run)(folder, line) for line in step.text.splitlines())
            everything += printed
        elif step.language == "text":
            assert step.text.rstrip() in printed, f"expected\n{step.text}\nbut the output is\n{printed}"
            assert "at chance" not in printed, f"the page does not show this line:\n{printed}"
        elif step.file == "config/quick.yaml":
            add_units(folder, step.text)
        else:
            assert step.file, f"no file is named before the block\n{step.text}"
            write(folder / step.file, step.text)
    return everything


@contextmanager
def registries_as_they_were():
    """What is registered inside is taken off the lists again."""
    kinds = [(attributions.names, attributions.unregister), (metrics.names, metrics.unregister),
             (lambda: tasks.TASKS, tasks.unregister_task)]  # fmt: skip
    before = [list(names()) for names, _ in kinds]
    try:
        yield
    finally:
        for (names, unregister), kept in zip(kinds, before, strict=True):
            for name in set(names()) - set(kept):
                unregister(name)


def here(folder, command):
    """As `run`, in this process, which has imported everything: a script, or the check of the grid."""
    _, script, *arguments = command.split()
    modules, output = set(sys.modules), io.StringIO()
    with registries_as_they_were(), chdir(folder), redirect_stdout(output), pytest.MonkeyPatch.context() as p:
        p.syspath_prepend(str(folder))
        if script == "workflow/grid.py":
            grid.main(arguments)
        else:
            runpy.run_path(script, run_name="__main__")
    for name in set(sys.modules) - modules:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    return output.getvalue()


def run(folder, command):
    """The output of one command, which must succeed."""
    status, output = attempt(folder, command)
    assert status == 0, f"{command}\n{output}"
    return output


def attempt(folder, command):
    """(exit status, output) of one command that begins with python, run on the folder's own faithlib."""
    python, *arguments = command.split()
    assert python == "python", command
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    progress = re.compile(r"^.*\r|^.* left, .*\n", re.MULTILINE)
    return done.returncode, done.stdout + progress.sub("", done.stderr)


def write(path, text):
    """Write a block into its file; a notebook's cells begin at `# %%`, the first holds the parameters."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix != ".ipynb":
        path.write_text(text, encoding="utf-8")
        return
    cells = [new_code_cell(cell.strip()) for cell in re.split(r"^# %%$", text, flags=re.MULTILINE)[1:]]
    cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(new_notebook(cells=cells, metadata=KERNEL), path)


def add_units(folder, text):
    """Add the units of a fragment {papers: {paper: {units: [...]}}} to the project's config/quick.yaml."""
    path = folder / "config/quick.yaml"
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    for paper, entry in yaml.safe_load(text)["papers"].items():
        config["papers"].setdefault(paper, {"units": []})["units"] += entry["units"]
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


def misspell(folder, old, new):
    """Replace a name in the project's config/quick.yaml."""
    path = folder / "config/quick.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
