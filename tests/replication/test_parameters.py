"""The parameters of a notebook are read as they stand, and others are refused by name and by type."""

import json

import papermill
import pytest
from toy import PARAMETERS, ROOT, notebook
from wrong import tells

from replication.parameters import check, code_hash, defaults


@pytest.fixture
def book(tmp_path):
    return notebook(tmp_path / "book.ipynb", PARAMETERS)


def test_defaults_are_the_literals(book):
    values = defaults(book)
    assert values["rate"] == 0.5 and values["fast"] is True and values["ratios"] == [0.1, 1]


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("notebooks/*/experiment.ipynb")), ids=lambda p: p.parent.name
)
def test_papermill_reads_every_parameter_of_an_experiment(path, caplog):
    """It takes one "=" a line, comments included, and warns of another."""
    assert set(papermill.inspect_notebook(str(path))) == set(defaults(path))
    assert "Unable to parse" not in caplog.text


@pytest.mark.parametrize(
    "good",
    [{}, {"rate": 1}, {"seed": 3}, {"fast": False}, {"ratios": []}, {"ratios": [1, 0.25]}],
)
def test_right_parameters_pass(book, good):
    check(book, good)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sead": 1}, "unknown parameter 'sead'; it takes task, model"), ({"seed": 1.0}, "seed = 1.0"),
        ({"seed": True}, "seed = True"), ({"rate": True}, "rate = True"),
        ({"rate": "1e-3"}, "write 1.0e-5"), ({"fast": "false"}, "fast = 'false'"),
        ({"fast": 0}, "fast = 0"), ({"names": "a"}, "names = 'a'"),
        ({"names": ["a", 1]}, "names = ['a', 1]"), ({"task": None}, "task = None"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_one_line(book, wrong, message):
    tells([message], check, book, wrong)


def test_cell_that_papermill_would_overwrite(tmp_path):
    with pytest.raises(ValueError, match="0 cells are tagged 'parameters'"):
        defaults(notebook(tmp_path / "book.ipynb", "x = 1", tags=()))


@pytest.mark.parametrize("line", ['out = f"{seed}.json"', "import os", "a = b = 1", "a, b = 1, 2"])
def test_values_that_papermill_would_not_recompute(tmp_path, line):
    with pytest.raises(ValueError, match="not of the form name = literal"):
        defaults(notebook(tmp_path / "book.ipynb", f"seed = 0\n{line}"))


def test_code_hash_sees_code_only(tmp_path):
    first = notebook(tmp_path / "a.ipynb", "x = 1", "print(x)")
    content = json.loads(first.read_text())
    content["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "1\n"}]
    content["cells"].append({"cell_type": "markdown", "metadata": {}, "source": "prose"})
    (tmp_path / "b.ipynb").write_text(json.dumps(content))
    third = notebook(tmp_path / "c.ipynb", "x = 2", "print(x)")
    hashes = [code_hash(tmp_path / name) for name in ("a.ipynb", "b.ipynb", third)]
    assert hashes[0] == hashes[1] != hashes[2]
