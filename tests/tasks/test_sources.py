"""Rows from the hub and from a mirror: what is asked for, and what wrong rows are told."""

import datasets
import pandas as pd
import pytest
from sample.mirrors import rows, write
from wrong import refused, tells

from faithlib import tasks
from faithlib.tasks import sources
from replication import papers


def test_evidence_of_the_mirror_becomes_word_indices(tmp_path):
    story = "Mary went home. John got the milk. Mary slept."
    frame = pd.DataFrame(
        {"text": story, "text_b": "Who slept?", "label": range(6), "supporting_sentences": "[2, 0]"}
    )
    write(tmp_path, "babi_1", train=pd.concat([frame] * 5, ignore_index=True), test=frame)
    data = tasks.load("babi_1", papers.card("fmm"), data_dir=tmp_path)
    words = story.split()
    assert [words[i] for i in data.splits["test"]["evidence"][0]] == "Mary went home. Mary slept.".split()

    frame = rows(6, pair=True).assign(rationale_spans="[(1, 3), (2, 4)]")
    write(tmp_path, "multirc", **{split: frame for split in tasks.SPLITS})
    assert tasks.load("multirc", data_dir=tmp_path).splits["test"]["evidence"][0] == [1, 2, 3]


def test_pairs_without_a_gold_label_are_left_out_and_counted(tmp_path):
    frame = rows(9, 3, pair=True)
    frame.loc[8, "label"] = -1
    write(tmp_path, "snli", **{split: frame for split in tasks.SPLITS})
    loaded = tasks.load("snli", data_dir=tmp_path)
    assert loaded.provenance["rows"]["test"] == 8
    assert loaded.provenance["source_rows"]["test"] == 9


def test_a_column_that_a_task_does_not_read_is_told(tmp_path, capsys):
    write(tmp_path, "shop", **{split: rows(8, pair=True).assign(target="x") for split in tasks.SPLITS})
    tasks.register_task(tasks.Task("shop", "our shop's reviews", ("bad", "good")))
    try:
        loaded = tasks.load("shop", data_dir=tmp_path)
    finally:
        tasks.unregister_task("shop")
    assert set(loaded.splits["test"]["text_b"]) == {""}
    lines = capsys.readouterr().out
    for column in ("text_b", "target"):
        assert f"task 'shop' does not read the column '{column}' of 'shop/test.parquet': register" in lines


def test_columns_of_another_name_are_read(tmp_path):
    frames = {split: rows(8).rename(columns={"text": "review"}) for split in tasks.SPLITS}
    write(tmp_path, "shop", **frames)
    tasks.register_task(tasks.Task("shop", "reviews", ("bad", "good"), columns={"text": "review"}))
    try:
        assert tasks.load("shop", data_dir=tmp_path).splits["test"]["text"] == list(frames["test"].review)
    finally:
        tasks.unregister_task("shop")


# The hub ------------------------------------------------------------------------------------------


@pytest.fixture
def hub(monkeypatch):
    """The hub as a function of the call: records what is asked for, returns small data sets."""
    calls = []

    def load_dataset(path, config=None, **asked):
        calls.append((path, config, asked))
        frame = rows(30, 3, pair=True, start=100)
        frame = frame.rename(columns={"text": "premise", "text_b": "hypothesis"})
        return datasets.Dataset.from_pandas(frame.assign(idx=range(30)), preserve_index=False)

    monkeypatch.setattr(sources.datasets, "load_dataset", load_dataset)
    return calls


def test_hub_row_is_asked_for_by_id_config_and_revision(hub):
    loaded = tasks.load("mnli", papers.card("fmm"))
    row = tasks.TASKS["mnli"].hub
    assert [(path, config, asked["split"]) for path, config, asked in hub] == [
        ("nyu-mll/glue", "mnli", "train"),
        ("nyu-mll/glue", "mnli", "validation_matched"),
    ]
    assert all(asked["revision"] == row.revision for _, _, asked in hub)
    assert not any("trust_remote_code" in asked for _, _, asked in hub)
    assert loaded.source == "hub" and loaded.provenance["hub_id"] == "nyu-mll/glue"
    assert loaded.provenance["revision"] == row.revision
    assert loaded.splits["train"].column_names == ["text", "text_b", "label"]
    assert loaded.provenance["rows"] == {"train": 24, "validation": 6, "test": 30}


def test_no_network_is_one_line(monkeypatch):
    def unreachable(*_, **__):
        raise OSError("no route to host\nand much more")

    monkeypatch.setattr(sources.datasets, "load_dataset", unreachable)
    parts = ["'SetFit/sst2'", "no route to host", "data_dir", "quick"]
    tells(parts, tasks.load, "sst", error=ConnectionError)


def test_a_prompt_is_a_line_whatever_else_splits_one(tmp_path):
    prompts = ["She said:\u2028yes", "a form\x0cfeed and\x85more"]
    (tmp_path / "p.txt").write_text("\n\n".join(prompts), encoding="utf-8")
    assert sources._read_file(None, tmp_path / "p.txt").text.tolist() == prompts


def test_first_two_sentences():
    text = "He was a painter. He lived in Rome! He died there. "
    assert sources._first_sentences(text, 2) == "He was a painter. He lived in Rome!"


def test_wrong_columns_and_types(mirror):
    write(mirror, "sst", test=rows(8).rename(columns={"text": "sentence"}))
    parts = ["sst/test.parquet", "no column 'text'", "only sentence, label"]
    tells(parts, tasks.load, "sst", data_dir=mirror)
    write(mirror, "sst", test=rows(8).assign(label="positive"))
    tells(["column 'label'", "int, 0 to 1"], tasks.load, "sst", data_dir=mirror)


def test_label_out_of_range_and_missing_label(mirror):
    for label in (2, None):
        frame = rows(8)
        frame["label"] = frame["label"].astype("Int64")
        frame.loc[5, "label"] = label
        write(mirror, "sst", test=frame)
        parts = ["1 labels out of range", "row 5", "0 = negative, 1 = positive"]
        tells(parts, tasks.load, "sst", data_dir=mirror)


def test_empty_texts_are_counted_and_shown(mirror):
    frame = rows(8)
    frame.loc[[2, 6], "text"] = ["  ", None]
    write(mirror, "sst", test=frame)
    tells(["split 'test'", "column 'text' has no text in 2 rows (2, 6)"], tasks.load, "sst", data_dir=mirror)


def test_truncated_file(mirror):
    path = mirror / "sst" / "train.parquet"
    content = path.read_bytes()
    for kept in (len(content) // 2, 0):
        path.write_bytes(content[:kept])
        tells(["cannot read 'sst/train.parquet'", "damaged"], tasks.load, "sst", data_dir=mirror)
    broken = bytearray(content)
    broken[4:200] = bytes(196)  # the footer is whole, the rows are not
    path.write_bytes(bytes(broken))
    refused("cannot read 'sst/train.parquet'", tasks.load, "sst", data_dir=mirror)


def test_credentialed_and_local_only_tasks_say_what_to_provide():
    parts = ["credentials", "never downloaded", "mimic_anemia/<split>.parquet", "MIMIC-III"]
    tells(parts, tasks.load, "mimic_anemia")
    tells(["script-free", "babi_2/<split>.parquet", "en-10k"], tasks.load, "babi_2", data_dir="")


def test_credentialed_task_from_local_files(tmp_path):
    write(tmp_path, "mimic_diabetes", **{split: rows(6) for split in tasks.SPLITS})
    assert tasks.load("mimic_diabetes", papers.card("fmm"), data_dir=tmp_path).source == "mirror"
