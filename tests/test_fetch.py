"""make fetch and make stale: a mirror is the hub's twin; what is missing or outdated is named."""

import json
import subprocess

import datasets
import fetch  # noqa: E402
import pytest
import stale  # noqa: E402
from test_workflow import PARAMETERS, config, notebook

from faithlib import results, tasks
from faithlib.tasks import TASKS, sources


@pytest.fixture
def hub(monkeypatch):
    """A hub of 60 rows a split, labels in turn; what was asked of it."""
    asked = []

    def download(found, split):
        task = next(t for t in TASKS.values() if t.hub is found)
        asked.append((task.name, split))
        of = {ours: [f"{split} {ours} number {i} of these six" for i in range(60)] for ours in found.columns}
        of["label"] = [i % len(task.labels) for i in range(60)]
        return datasets.Dataset.from_dict({theirs: of[ours] for ours, theirs in found.columns.items()})

    monkeypatch.setattr(sources, "_download", download)
    return asked


@pytest.mark.parametrize(
    ("task", "paper"),
    [
        ("sst", "soft_metrics"),
        ("ag_news", "saloss"),
        ("imdb", "recursive_roar"),
        ("imdb", "fmm"),
        ("mnli", "fmm"),
    ],
)
def test_a_fetched_mirror_gives_what_the_hub_gives(tmp_path, hub, task, paper):
    assert fetch.data_set(task, paper, str(tmp_path)).startswith("fetched, ")
    of_hub = tasks.load(task, paper).provenance["sha256"]
    asked = len(hub)
    assert tasks.load(task, paper, tmp_path).provenance["sha256"] == of_hub
    assert fetch.data_set(task, paper, str(tmp_path)) == "is there" and len(hub) == asked
    (tmp_path / task / "train.parquet").unlink()  # as if it was cut short
    assert fetch.data_set(task, paper, str(tmp_path)).startswith("fetched, ")


GRID = """version: 1
scale: quick
papers:
  fmm:
    notebook: paper
    units:
      - {task: sst2, model: org/name, seed: [0, 1]}
      - {task: babi_1, model: sentence-transformers/all-MiniLM-L6-v2, seed: 0}
      - {task: sentiment, model: tiny-bert, seed: 0}
"""


def test_all_is_fetched_but_what_cannot_be_and_that_is_named(tmp_path, monkeypatch, capsys, hub):
    monkeypatch.chdir(tmp_path)
    config(tmp_path, GRID)
    notebook(tmp_path / "notebooks/experiments/paper.ipynb", PARAMETERS + 'model_dir = ""')
    (tmp_path / "notebooks/reports/paper.ipynb").rename("notebooks/fmm/report.ipynb")
    for folder in ("mirror", "models"):
        (tmp_path / folder).mkdir()

    def snapshot(name, allow_patterns, local_dir):
        local_dir.mkdir(parents=True)
        (local_dir / "config.json").write_text("{}")
        return str(local_dir)

    monkeypatch.setattr(fetch, "snapshot_download", snapshot)
    with pytest.raises(SystemExit) as error:
        fetch.main(["scale=quick", "data_dir=mirror", "model_dir=models"])
    _, count, babi, name = str(error.value).splitlines()
    assert count == "2 of 4 are missing:"
    assert babi.startswith("babi_1 (fmm): task 'babi_1' has no script-free source on the hub: give data_dir")
    assert name.startswith("org/name: model 'org/name' has no safetensors on the hub, and pickles are")
    assert "sst2 (fmm): fetched, 120 rows" in capsys.readouterr().out
    assert (tmp_path / "mirror/sst2/train.parquet").is_file()
    (tmp_path / "models/org/name/model.safetensors").write_text("")
    assert fetch.model("org/name", "models") == "is there (name)"


def test_results_of_edited_code_are_listed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "faithlib/report").mkdir(parents=True)
    module, shows = tmp_path / "faithlib/roar.py", tmp_path / "faithlib/report/fmm.py"
    module.write_text("x = 1")
    shows.write_text("x = 1")
    book = notebook(tmp_path / "notebooks/fmm/experiment.ipynb", "x = 1")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "code"]):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@y", *command], check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    now = results.code_provenance() | {"git": commit, "dirty": False}
    record = tmp_path / "results/small/fmm/sst.name.s0.json"
    record.parent.mkdir(parents=True)

    def listed(**changed):
        stale.git.cache_clear(), stale.hash_then.cache_clear()
        record.write_text(json.dumps({"paper": "fmm", "provenance": now | changed}))
        stale.main()
        return capsys.readouterr().out

    assert listed() == "0 of 1 records are of other code than this\n"
    shows.write_text("x = 2")  # draws, and computes nothing
    assert listed().startswith("0 of 1")
    module.write_text("x = 2")
    assert f"faithlib's roar.py since {commit[:12]}\n" in listed()
    module.write_text("x = 1")
    notebook(book, "x = 1", "print(x)")
    assert "sst.name.s0.json: the notebook's code\n" in listed()
    notebook(book, "x = 1")
    assert "faithlib 0.0.9, now " in listed(versions=now["versions"] | {"faithlib": "0.0.9"})
    assert "is no commit here, and not by this" in listed(dirty=True, code="0" * 64)
    assert listed(dirty=True).startswith("0 of 1")
    assert listed(git="f" * 40, code="0" * 64).startswith("results/small/fmm/sst.name.s0.json: made by code")
