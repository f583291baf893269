"""`load_data`: every kind of source, with the columns by their names, and each refusal in one line."""

import json

import datasets
import pandas as pd
import pyarrow as pa
import pytest
import tiny
from sample.mirrors import rows, write
from wrong import tells

from faithlib import evaluate, load_data, load_model, tasks
from faithlib.tasks import tables

FRAME = pd.DataFrame(
    {
        "review": ["a great film", "so boring", "NA", "great, not boring"],
        "stars": ["good", "bad", "bad", "good"],
        "why": [[(2, 7)], ["boring"], [], [0]],
        "about": ["the film?", "", "1", "what"],
    }
)
NAMED = dict(text="review", label="stars")
LISTED = FRAME.assign(why=[[[2, 7]], [[3, 9]], [], [[0, 6]]])  # of one kind, as files hold it


def refused(*parts, source=FRAME, **settings):
    return tells(parts, load_data, source, error=(ValueError, FileNotFoundError), **settings)


def files(folder, frame=LISTED, name="reviews"):
    """The frame in each format: {format: path}."""
    paths = {end: folder / f"{name}.{end}" for end in ("parquet", "csv", "tsv", "jsonl")}
    written = frame.assign(why=list(map(json.dumps, frame.why)))
    frame.to_parquet(paths["parquet"])
    written.to_csv(paths["csv"], index=False)
    written.to_csv(paths["tsv"], index=False, sep="\t")
    frame.to_json(paths["jsonl"], orient="records", lines=True)
    return paths


# What is read -------------------------------------------------------------------------------------


def test_a_table_in_memory_has_the_columns_by_their_names():
    data = load_data(FRAME, text="review", text_b="about", label="stars", evidence="why")
    assert isinstance(data, tasks.Loaded) and data.source == "memory" and list(data.splits) == ["test"]
    assert data.task.labels == ("bad", "good") and data.task.kind == "classification"
    assert data.splits["test"].to_dict() == {
        "text": list(FRAME.review), "text_b": list(FRAME.about), "label": [1, 0, 0, 1],
        "evidence": [[1], [1], [], [0]],
    }  # fmt: skip
    assert data.provenance["rows"] == {"test": 4} and len(data.provenance["sha256"]["test"]) == 64
    assert list(FRAME.columns) == ["review", "stars", "why", "about"]  # not changed


@pytest.mark.parametrize("end", ["parquet", "csv", "tsv", "jsonl"])
def test_every_format_holds_the_same_rows(tmp_path, end):
    expected = load_data(LISTED, **NAMED, evidence="why").splits["test"].to_dict()
    path = files(tmp_path)[end]
    for source in (path, str(path)):
        data = load_data(source, **NAMED, evidence="why")
        assert data.splits["test"].to_dict() == expected  # "NA" stays a text
        assert data.source == "file" and data.task.name == "reviews" and data.provenance["file"] == path.name
        assert str(tmp_path) not in str(data.provenance)


def test_a_folder_has_a_file_for_each_split(tmp_path):
    folder = tmp_path / "My Reviews"
    folder.mkdir()
    for split, end in (("train", "csv"), ("test", "parquet")):
        files(tmp_path)[end].rename(folder / f"{split}.{end}")
    (folder / "notes.txt").write_text("no data")
    data = load_data(folder, **NAMED, sizes={"train": 2})
    assert data.task.name == "my_reviews" and data.provenance["rows"] == {"train": 2, "test": 4}
    assert data.provenance["source_rows"] == {"train": 4, "test": 4}
    again = load_data(folder, **NAMED, sizes={"train": 2})
    assert data.splits["train"]["text"] == again.splits["train"]["text"]
    files(tmp_path)["csv"].rename(folder / "dev.csv")
    assert load_data(folder, **NAMED).provenance["rows"] == {"train": 4, "validation": 4, "test": 4}
    (folder / "validation.csv").write_text("what,stars")
    refused("has validation.csv and dev.csv: keep one of the split", source=folder)


def test_datasets_of_the_hub_name_their_classes():
    kinds = {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["neg", "pos"])}
    made = datasets.Dataset.from_dict({"text": ["a", "b"], "label": [1, 1]}, datasets.Features(kinds))
    data = load_data(made, label="label")
    assert data.task.labels == ("neg", "pos") and data.splits["test"]["label"][:] == [1, 1]
    both = load_data(datasets.DatasetDict(train=made, test=made), label="label")
    assert list(both.splits) == ["train", "test"]
    assert list(load_data({"dev": made, "train": made}, label="label").splits) == ["train", "validation"]
    refused("data has validation and dev: keep one", source={"dev": made, "validation": made}, label="label")
    refused(
        "has the classes neg, pos, labels names pos, neg", source=made, label="label", labels=["pos", "neg"]
    )


def test_a_split_of_the_hub_that_nothing_reads_is_said(capsys):
    made = datasets.Dataset.from_dict({"text": ["a", "b"]})
    assert list(load_data(datasets.DatasetDict(test=made, unsupervised=made)).splits) == ["test"]
    line = "data: split 'unsupervised' is not read; read are train, validation, test\n"
    assert capsys.readouterr().out == line


def test_a_list_of_texts_is_enough_and_goes_through_a_study():
    data = load_data(tiny.TEXTS)
    assert data.splits["test"]["text"][:] == tiny.TEXTS and data.task.labels == ()
    assert load_data(pd.Series(tiny.TEXTS)).splits["test"]["text"][:] == tiny.TEXTS
    assert len(evaluate(tiny.classifier(), data, ["gradient_l2"], ["decision_flip"]).table) == 1


def test_labels_evidence_and_model_meet_in_a_study():
    data = load_data(FRAME, **NAMED, evidence="why")
    model = load_model("tiny-bert", data=data)
    assert list(model.model.config.id2label.values()) == ["bad", "good"]
    assert list(evaluate(model, data, ["gradient_l2"], ["auprc"]).table.metric) == ["auprc"]


def test_labels_that_are_numbers_fit_any_names_of_as_many_classes():
    data = load_data(FRAME.assign(stars=[1, 0, 0, 1]), **NAMED)
    assert data.task.labels == ("0", "1")
    words = load_model("tiny-bert", labels=("NEGATIVE", "POSITIVE"), data=data)
    model = load_model(words.model, words.tokenizer, data=data)
    assert evaluate(model, data, ["gradient_l2"], ["decision_flip"]).table.n[0] >= 0
    three = load_model("tiny-bert", labels=("a", "b", "c"), data=data)
    assert load_model(three.model, three.tokenizer, data=data).outputs == 3
    few = load_data(FRAME.assign(stars=[1, 0, 2, 1]), **NAMED)
    with pytest.raises(ValueError, match="has the classes 0 to 1 .NEGATIVE, POSITIVE., and the labels"):
        load_model(words.model, words.tokenizer, data=few)


def test_prompts_have_answers_and_contrasts():
    frame = pd.DataFrame({"prompt": tiny.PROMPTS[:2], "yes": ["great", "a film"], "no": ["boring", "great"]})
    data = load_data(frame, text="prompt", target="yes", contrast="no")
    assert data.task.kind == "prompts" and data.splits["test"].column_names == ["text", "target", "contrast"]
    assert data.splits["test"]["target"][:] == ["great", "a film"]
    same = frame.assign(no=["boring", "a film"])
    refused(
        "target and contrast are the same in row 1", source=same, text="prompt", target="yes", contrast="no"
    )


def test_a_tasks_name_is_the_task(tmp_path):
    of_task = tasks.load("sentiment", sizes={"test": 20})
    assert load_data("sentiment", sizes={"test": 20}).provenance == of_task.provenance
    write(tmp_path, "sst", train=rows(20), validation=rows(6), test=rows(8))
    assert load_data("sst", data_dir=tmp_path).source == "mirror"
    refused("label is for data of your own", "leave it out", source="sentiment", label="label")


def test_sizes_above_what_there_is_mean_all(capsys):
    data = load_data(FRAME, **NAMED, sizes={"test": 9})
    assert data.splits["test"].num_rows == 4
    assert capsys.readouterr().out == "data has 4 rows of test, fewer than 9: all are used\n"


def test_a_quote_that_is_never_closed_joins_no_rows(tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text('text\tlabel\n"a film\tpos\na bore , they said "\tneg\nfine\tpos\n')
    refused("a quote before it is never closed", source=path)


# What is refused ----------------------------------------------------------------------------------


def test_a_part_of_a_split_keeps_the_names_of_its_classes():
    frame = pd.DataFrame({"text": ["a", "b", "c"], "label": ["p", "n", "p"]})
    data = load_data(frame, label="label", labels=["p", "n"])
    assert data.splits["test"].select([0, 1]).features["label"].names == ["p", "n"]
    assert data.splits["test"]["label"][:] == [0, 1, 0]


def test_tables_are_read_in_the_order_of_their_rows_whatever_their_index():
    frame = pd.DataFrame({"text": ["a", "b", "c"], "target": ["x", "y", "z"]}, index=[2, 0, 1])
    for source in (frame, pa.Table.from_pandas(frame)):
        read = tables.as_frame(source)
        assert read.index.tolist() == [0, 1, 2] and read.target.tolist() == ["x", "y", "z"]
    numbered = load_data(pd.DataFrame([["a b", "x"], ["c d", "y"]]), text="0", label="1")
    assert numbered.task.labels == ("x", "y")
