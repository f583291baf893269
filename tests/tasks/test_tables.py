"""Tables of one's own: what a reader of parameters needs of them (the rest is in test_own.py)."""

import csv

import pandas as pd
import pytest

from faithlib import load_data
from faithlib.tasks import tables


def test_a_source_is_read_as_it_stands(tmp_path):
    (tmp_path / "a.csv").write_text('﻿text,n\n"a, ""b""",01\nNA,\n', encoding="utf-8")  # a mark of UTF-8
    kind, name, read = tables.read_source(tmp_path / "a.csv")
    assert (kind, name, list(read)) == ("file", "a.csv", ["test"])
    assert read["test"].to_dict("list") == {"text": ['a, "b"', "NA"], "n": ["01", ""]}


def test_a_text_may_be_as_long_as_a_book(tmp_path):
    book, usual = "word " * 40_000, csv.field_size_limit()
    (tmp_path / "book.csv").write_text(f"text\n{book}\n", encoding="utf-8")
    assert tables.read_source(tmp_path / "book.csv")[2]["test"].text.tolist() == [book]
    assert csv.field_size_limit() == usual


def test_rows_come_with_their_task_and_origin(tmp_path):
    (tmp_path / "Some Reviews.jsonl").write_text(
        '{"text": "a", "stars": "up"}\n{"text": "b", "stars": "down"}\n'
    )
    task, frames, origin = tables.read(tmp_path / "Some Reviews.jsonl", label="stars")
    assert (task.name, task.labels, task.kind) == ("some_reviews", ("down", "up"), "classification")
    assert list(frames["test"].label) == [1, 0]
    assert origin == {
        "source": "file", "file": "Some Reviews.jsonl", "columns": {"text": "text", "label": "stars"},
        "source_rows": {"test": 2},
    }  # fmt: skip


ROWS = pd.DataFrame({"text": ["a", "b"], "label": ["x", "y"], "evidence": [[0], [0]]})
ROWS = ROWS.assign(target=["c", "d"], contrast=["e", "f"])


@pytest.mark.parametrize("column", ["label", "evidence", "target", "contrast", "text_b"])
def test_a_column_of_our_name_that_is_not_asked_for_is_told(tmp_path, capsys, column):
    source = tmp_path / "rows.csv"
    pd.DataFrame({"text": ["a", "b"], column: ["x", "y"]}).to_csv(source, index=False)
    load_data(source)
    option = f"--{column.replace('_', '-')} {column}"
    line = f"rows.csv: column {column!r} is not used: give {column}={column!r} ({option}) to use it\n"
    assert capsys.readouterr().out == line


def test_only_columns_that_nobody_has_named_are_told(capsys):
    load_data(ROWS, label="label", evidence="evidence")
    about = "a label is for classifiers, a target for prompts"
    assert capsys.readouterr().out.splitlines() == [
        f"data: column {column!r} is not used beside label='label': {about}"
        for column in ("target", "contrast")
    ]
    load_data(ROWS[["text", "target", "contrast"]], target="target", contrast="contrast")
    load_data(ROWS[["text", "label"]].rename(columns={"label": "stars"}))
    assert capsys.readouterr().out == ""
    load_data(ROWS[["target", "label"]], text="label", target="target")  # used, though not as a label
    assert capsys.readouterr().out == ""


def test_a_folder_is_told_once(capsys):
    load_data({"train": ROWS[["text", "label"]], "test": ROWS[["text", "label"]]})
    assert capsys.readouterr().out.count("column 'label' is not used") == 1
