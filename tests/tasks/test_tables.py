"""Tables of one's own: what a reader of parameters needs of them (the rest is in test_own.py)."""

from faithlib.tasks import tables


def test_a_source_is_read_as_it_stands(tmp_path):
    (tmp_path / "a.csv").write_text('﻿text,n\n"a, ""b""",01\nNA,\n', encoding="utf-8")  # a mark of UTF-8
    kind, name, read = tables.read_source(tmp_path / "a.csv")
    assert (kind, name, list(read)) == ("file", "a.csv", ["test"])
    assert read["test"].to_dict("list") == {"text": ['a, "b"', "NA"], "n": ["01", ""]}


def test_rows_come_with_their_task_and_origin(tmp_path):
    (tmp_path / "Some Reviews.jsonl").write_text(
        '{"text": "a", "stars": "up"}\n{"text": "b", "stars": "down"}\n'
    )
    task, frames, origin = tables.read(tmp_path / "Some Reviews.jsonl", label="stars")
    assert (task.name, task.labels, task.kind) == ("some_reviews", ("down", "up"), "classification")
    assert list(frames["test"].label) == [1, 0]
    assert origin == {
        "source": "file",
        "file": "Some Reviews.jsonl",
        "columns": {"text": "text", "label": "stars"},
        "source_rows": {"test": 2},
    }
