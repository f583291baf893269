"""The executed examples: the experiments' own cells on real data, with positions in place of words."""

import json
import re

import examples
import grid
import nbformat
import pytest
from sample.units import ROOT

from faithlib.report import display

EXAMPLES = sorted(ROOT.glob("notebooks/*/example.ipynb"))
TOKEN = re.compile(r"display:inline-block'>([^<]*)</span>")


def code_cells(path, injected=True):
    """The code cells of a notebook, with or without the one that papermill puts the parameters into."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    cells = [cell for cell in cells if cell["cell_type"] == "code"]
    return [c for c in cells if injected or "injected-parameters" not in c["metadata"].get("tags", [])]


def test_words_are_positions_where_they_are_to_be_hidden(monkeypatch):
    tokens = ["a", "fine", "film"]
    assert display.words(tokens) == tokens
    assert "fine" in display.heat(tokens, {"mine": [0.0, 1.0, 0.5]}).data
    monkeypatch.setenv(display.HIDE_WORDS, "1")
    assert display.words(iter(tokens)) == ["0", "1", "2"]
    assert TOKEN.findall(display.heat(tokens, {"mine": [0.0, 1.0, 0.5]}).data) == ["0", "1", "2"]


def test_each_paper_of_the_config_has_an_example():
    _, entries, _ = grid.read_all({"scale": "example"}, folder=ROOT / "config")
    assert [path.parent.name for path in EXAMPLES] == sorted(entries)
    assert all(len(entry.units) == 1 for entry in entries.values())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_an_example_is_its_experiment_executed(path):
    """Whoever edits an experiment executes its example again: python workflow/examples.py"""
    executed = code_cells(path, injected=False)
    experiment = code_cells(path.with_name("experiment.ipynb"))
    assert [cell["source"] for cell in executed] == [cell["source"] for cell in experiment]
    assert [cell["id"] for cell in executed] == [cell["id"] for cell in experiment]
    assert all(cell["execution_count"] for cell in code_cells(path))
    assert path.stat().st_size <= 1_000_000


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_an_example_shows_no_word_of_its_data_and_no_path(path):
    text = path.read_text(encoding="utf-8")
    outputs = [output for cell in code_cells(path) for output in cell["outputs"]]
    pages = ["".join(output.get("data", {}).get("text/html", "")) for output in outputs]
    tokens = [token for page in pages for token in TOKEN.findall(page)]
    assert tokens and all(token.isdigit() for token in tokens)
    assert not any(output["output_type"] == "error" for output in outputs)
    assert 'data_dir = "/' not in text and "/tmp/" not in text


def test_what_is_tidied():
    cell = nbformat.v4.new_code_cell('# Parameters\nseed = 0\ndata_dir = "/data"', id="parameters")
    cell.metadata = {"tags": ["injected-parameters"], "papermill": {"duration": 1.0}}
    bar = nbformat.v4.new_output("stream", text="training: 3/9 steps in 00:03, 00:06 left, 1.0step/s")
    said = nbformat.v4.new_output("stream", text="\n/tmp/ipykernel_3/4.py:1: UserWarning: constant\n")
    cell.outputs, cell.execution_count = [bar, said], 1
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Title", id="title"), cell])
    notebook.metadata = {"kernelspec": {"name": "python3"}, "papermill": {"input_path": "/tmp/x"}}
    tidy = examples.tidy(notebook, {"task": "sst", "model": "tiny-bert"})
    assert [one.id for one in tidy.cells] == ["title", "example", "parameters"]
    assert tidy.cells[2].source == "# Parameters\nseed = 0"
    assert [output.text for output in tidy.cells[2].outputs] == ["UserWarning: constant\n"]
    assert "papermill" not in json.dumps(tidy) and "sst" in tidy.cells[1].source
