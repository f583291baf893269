"""A data set that only the user has, named by its path: splits, sizes, refusals."""

import pandas as pd
import pytest
from wrong import tells

from faithlib import tasks
from faithlib.tasks import files
from replication import papers

ROWS = pd.DataFrame(
    {"text": [f"text number {i}" for i in range(40)], "label": ["good", "bad"] * 20, "evidence": ["[2]"] * 40}
)


@pytest.fixture
def table(tmp_path):
    ROWS.to_csv(tmp_path / "our reviews.csv", index=False)
    return tmp_path / "our reviews.csv"


def test_one_file_is_divided_by_class(table, capsys):
    loaded = tasks.load(str(table), papers.card("soft_metrics"))
    assert loaded.source == "file" and loaded.task.labels == ("bad", "good")
    assert loaded.provenance["rows"] == {"train": 28, "validation": 6, "test": 6}
    assert sum(loaded.splits["test"]["label"]) == 3 and loaded.splits["test"][0]["evidence"] == [2]
    texts = [text for split in loaded.splits.values() for text in split["text"]]
    assert sorted(texts) == sorted(ROWS.text) and len(set(texts)) == 40
    assert "28 train, 6 validation, 6 test" in capsys.readouterr().out
    assert str(table.parent) not in str(loaded.provenance) and loaded.provenance["task"] == "our-reviews"
    again = tasks.load(str(table), papers.card("fmm"), seed=3)
    assert again.provenance["sha256"] == loaded.provenance["sha256"]


def test_a_folder_has_its_own_splits(tmp_path, capsys):
    for split, rows in {"train": ROWS, "validation": ROWS[:4], "test": ROWS[4:10]}.items():
        rows.drop(columns="evidence").assign(text_b="why ?").to_parquet(tmp_path / f"{split}.parquet")
    loaded = tasks.load(f"{tmp_path}/")
    assert loaded.provenance["rows"] == {"train": 40, "validation": 4, "test": 6}
    assert loaded.task.auxiliary == "text_b" and loaded.splits["test"][0]["text_b"] == "why ?"
    assert capsys.readouterr().out == ""
    (tmp_path / "test.parquet").unlink()
    loaded = tasks.load(str(tmp_path))
    assert loaded.provenance["rows"] == {"train": 34, "validation": 4, "test": 6}


def test_sizes_above_what_there_is_mean_all_and_are_said_once(table, capsys):
    for _ in range(2):
        loaded = tasks.load(str(table), sizes={"train": 2000, "test": 4})
    assert loaded.provenance["rows"] == {"train": 28, "validation": 6, "test": 4}
    assert capsys.readouterr().out.count("28 rows of train, fewer than 2000: all are used") <= 1


def test_prompts_are_one_split(tmp_path):
    pd.DataFrame({"text": ["the sky is", "snow is"], "target": ["blue", "white"]}).to_csv(
        tmp_path / "prompts.csv", index=False
    )
    loaded = tasks.load(str(tmp_path / "prompts.csv"), papers.card("noiser"))
    assert loaded.task.kind == "prompts" and list(loaded.splits) == ["test"]
    assert loaded.splits["test"].to_pandas().to_dict("list") == {
        "text": ["the sky is", "snow is"],
        "target": ["blue", "white"],
    }


@pytest.mark.parametrize(
    ("name", "rows", "parts"),
    [
        ("none.csv", None, ["'", "none.csv'", "check the path"]),
        ("a.csv", ROWS.drop(columns="label"), ["a.csv has no column 'label'", "text, evidence"]),
        ("a.csv", ROWS.drop(columns="text"), ["no column 'text'"]),
        ("a.csv", ROWS[:3], ["3 rows", "too few"]),
        ("a.csv", ROWS.assign(evidence="[9]"), ["evidence names word 9"]),
        ("a.csv", ROWS.assign(text=""), ["no text in 40 rows"]),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(tmp_path, name, rows, parts):
    if rows is not None:
        rows.to_csv(tmp_path / name, index=False)
    tells(parts, tasks.load, str(tmp_path / name), error=(ValueError, FileNotFoundError))


@pytest.mark.parametrize(
    ("task", "slug"),
    [("sst", "sst"), ("/a/b c.csv", "b-c"), ("a\\b.parquet", "b"), ("./mine/", "mine"), ("x.tsv", "x")],
)
def test_a_unit_is_named_after_the_last_part(task, slug):
    assert files.task_slug(task) == slug
