"""make fetch and make stale: a mirror is the hub's twin; what is missing or outdated is named."""

import json

import datasets
import fetch
import missing
import pytest
from toy import PARAMETERS, config, notebook

from faithlib import tasks
from faithlib.tasks import TASKS, sources
from replication import papers


@pytest.fixture
def hub(monkeypatch):
    """A hub of 60 rows a split, labels in turn; what was asked of it."""
    asked = []

    def download(source, split):
        task = next(t for t in TASKS.values() if t.hub is source)
        asked.append((task.name, split))
        of = {ours: [f"{split} {ours} number {i} of these six" for i in range(60)] for ours in source.columns}
        of["label"] = [i % len(task.labels) for i in range(60)]
        return datasets.Dataset.from_dict({theirs: of[ours] for ours, theirs in source.columns.items()})

    monkeypatch.setattr(sources, "_download", download)
    return asked


@pytest.mark.parametrize(
    ("task", "paper"),
    [
        ("sst", "soft_metrics"), ("ag_news", "saloss"), ("imdb", "recursive_roar"), ("imdb", "fmm"),
        ("mnli", "fmm"),
    ],
)  # fmt: skip
def test_a_fetched_mirror_gives_what_the_hub_gives(tmp_path, hub, task, paper):
    assert fetch.data_set(task, paper, str(tmp_path)).startswith("fetched, ")
    of_hub = tasks.load(task, papers.card(paper)).provenance["sha256"]
    asked = len(hub)
    assert tasks.load(task, papers.card(paper), tmp_path).provenance["sha256"] == of_hub
    assert fetch.data_set(task, paper, str(tmp_path)) == "is there" and len(hub) == asked
    (tmp_path / task / "train.parquet").unlink()  # as if it was cut short
    assert fetch.data_set(task, paper, str(tmp_path)).startswith("fetched, ")


GRID = """version: 2
scale: quick
papers:
  fmm:
    units:
      - {task: sst2, model: org/other, seed: [0, 1]}
      - {task: mimic_anemia, model: sentence-transformers/all-MiniLM-L6-v2, seed: 0}
      - {task: sentiment, model: tiny-bert, seed: 0}
"""


def test_all_is_fetched_but_what_cannot_be_and_that_is_named(tmp_path, monkeypatch, capsys, hub):
    monkeypatch.chdir(tmp_path)
    config(tmp_path, GRID, "fmm")
    notebook(tmp_path / "notebooks/fmm/experiment.ipynb", PARAMETERS + 'model_dir = ""')
    notebook(tmp_path / "notebooks/fmm/report.ipynb", 'scale = "small"', repr(papers.card("fmm").tables))
    for folder in ("mirror", "models"):
        (tmp_path / folder).mkdir()

    def snapshot(name, allow_patterns, local_dir):
        local_dir.mkdir(parents=True)
        (local_dir / "config.json").write_text("{}")
        return str(local_dir)

    monkeypatch.setattr(fetch, "snapshot_download", snapshot)
    with pytest.raises(SystemExit) as error:
        fetch.main(["scale=quick", "data_dir=mirror", "model_dir=models"])
    _, count, mimic, name = str(error.value).splitlines()
    assert count == "2 of 4 are missing:"
    message = "task 'mimic_anemia' needs credentials and is never downloaded: give data_dir"
    assert mimic.startswith(f"mimic_anemia (fmm): {message}")
    assert name.startswith("org/other: model 'org/other' has no safetensors on the hub, and pickles are")
    assert "sst2 (fmm): fetched, 120 rows" in capsys.readouterr().out
    assert (tmp_path / "mirror/sst2/train.parquet").is_file()
    (tmp_path / "models/org/other/model.safetensors").write_text("")
    assert fetch.model("org/other", "models") == "is there (other)"


def test_a_model_is_whole_with_all_the_files_that_its_index_names(tmp_path):
    (tmp_path / "model-1.safetensors").write_text("weights")
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (tmp_path / missing.INDEX).write_text(json.dumps(index))
    assert not missing.has_weights(tmp_path)
    (tmp_path / "model-2.safetensors").write_text("")  # begun
    assert not missing.has_weights(tmp_path)
    (tmp_path / "model-2.safetensors").write_text("weights")
    assert missing.has_weights(tmp_path)
