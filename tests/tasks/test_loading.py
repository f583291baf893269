"""`load`: three sources, the papers' splits, and every error in one line."""

from pathlib import Path

import datasets
import pandas as pd
import pytest
from sample.mirrors import rows, write
from wrong import refused, tells

from faithlib import tasks
from replication import papers

REAL = Path(__file__).resolve().parents[3] / "shared" / "data"


# The mirror ---------------------------------------------------------------------------------------


def test_mirror(mirror):
    loaded = tasks.load("sst", papers.card("soft_metrics"), data_dir=mirror)
    assert loaded.source == "mirror" and loaded.task.labels == ("negative", "positive")
    assert isinstance(loaded.splits["test"], datasets.Dataset)
    assert loaded.splits["test"][0] == {
        "text": "text number 30 of the mirror",
        "text_b": "",
        "label": 0,
    }
    assert loaded.provenance["rows"] == {"train": 20, "validation": 6, "test": 8}
    assert loaded.provenance["folder"] == f"{mirror.name}/sst"
    assert str(mirror) not in str(loaded.provenance)
    assert [(d["split"], d["rows"], d["published"]) for d in loaded.differences] == [
        ("train", 20, 6920),
        ("validation", 6, 872),
        ("test", 8, 1821),
    ]


def test_mirror_without_validation_gets_the_papers_holdout(mirror):
    loaded = tasks.load("ag_news", papers.card("soft_metrics"), data_dir=str(mirror))
    assert loaded.provenance["paper"] == "soft_metrics"
    assert loaded.provenance["rows"] == {"train": 170, "validation": 30, "test": 8}
    assert loaded.provenance["source_rows"] == {"train": 200, "test": 8}


def test_fmm_tests_on_the_validation_split(mirror):
    loaded = tasks.load("mrpc", papers.card("fmm"), data_dir=mirror)
    assert loaded.provenance["rows"] == {"train": 16, "validation": 4, "test": 6}
    assert loaded.splits["test"]["text"][0] == "text number 20 of the mirror"
    assert loaded.splits["test"]["text_b"][0] == "a question"


def test_a_size_as_published_is_no_difference(tmp_path):
    write(tmp_path, "cb", train=rows(250, 3, pair=True), validation=rows(56, 3, pair=True))
    loaded = tasks.load("cb", papers.card("fmm"), data_dir=tmp_path)
    assert loaded.differences == []
    loaded = tasks.load("cb", papers.card("fmm"), data_dir=tmp_path, sizes={"test": 9})
    assert loaded.differences == [{"split": "test", "rows": 9, "published": 56, "note": "drawn from 56 rows"}]


def test_a_subset_is_drawn_with_the_seed_and_keeps_its_order(mirror):
    def texts(seed):
        data = tasks.load("sst", data_dir=mirror, seed=seed, sizes={"train": 10, "test": 0})
        assert data.provenance["rows"] == {"train": 10, "validation": 6, "test": 8}
        return list(data.splits["train"]["text"])

    numbers = [int(text.split()[2]) for text in texts(0)]
    assert numbers == sorted(numbers) and len(set(numbers)) == 10
    assert texts(0) == texts(0) != texts(1)


def test_the_hash_sees_every_row(mirror):
    first = tasks.load("sst", data_dir=mirror).provenance["sha256"]
    assert tasks.load("sst", data_dir=mirror).provenance["sha256"] == first
    changed = rows(8, start=30)
    changed.loc[7, "text"] += " !"
    write(mirror, "sst", test=changed)
    again = tasks.load("sst", data_dir=mirror).provenance["sha256"]
    assert again["train"] == first["train"] and again["test"] != first["test"]


def test_prompt_sets(tmp_path):
    frame = pd.DataFrame({"prompt": ["Paris is in"], "attribute": ["France"], "subject": ["Paris"]})
    write(tmp_path, "knowns", test=frame)
    loaded = tasks.load("knowns", data_dir=tmp_path)
    assert loaded.splits["test"][0] == {"text": "Paris is in", "target": "France", "subject": "Paris"}
    (tmp_path / "lm_prompts").mkdir()
    (tmp_path / "lm_prompts" / "noiser_wikitext.txt").write_text("One prompt \n\nAnother one\n")
    loaded = tasks.load("wikitext_prompts", papers.card("noiser"), data_dir=tmp_path)
    assert list(loaded.splits["test"]["text"]) == ["One prompt", "Another one"]
    assert list(loaded.splits["test"]["target"]) == ["", ""]
    assert loaded.differences[0]["published"] == 22
    story = "One day. Two cats! They ran. End."
    write(tmp_path, "tinystories_sample", sample=pd.DataFrame({"text": [story]}))
    loaded = tasks.load("tinystories", data_dir=tmp_path)
    assert list(loaded.splits["test"]["text"]) == ["One day. Two cats!"]
    (tmp_path / "tinystories_sample" / "sample.parquet").unlink()
    with pytest.raises(FileNotFoundError, match="tinystories_sample/sample.parquet, a column text"):
        tasks.load("tinystories", data_dir=tmp_path)


# Generated ----------------------------------------------------------------------------------------


def test_generated_tasks_ignore_data_dir_and_follow_seed_and_sizes():
    sizes = {"train": 40, "test": 30}
    loaded = tasks.load(
        "relation", papers.card("soft_metrics"), data_dir="/no/such/folder", seed=3, sizes=sizes
    )
    assert loaded.source == "generated" and loaded.differences == []
    assert loaded.provenance["rows"] == {"train": 40, "validation": 300, "test": 30}
    assert set(loaded.splits["test"].column_names) >= {"text", "text_b", "label", "evidence", "pos"}
    again = tasks.load("relation", seed=3, sizes=sizes)
    assert again.provenance["sha256"] == loaded.provenance["sha256"]
    other = tasks.load("relation", seed=4, sizes=sizes)
    assert other.provenance["sha256"] != loaded.provenance["sha256"]


def test_generated_prompts_have_targets():
    loaded = tasks.load(
        "world_agreement", papers.card("noiser"), sizes={"train": 20, "validation": 10, "test": 10}
    )
    assert loaded.task.kind == "prompts" and loaded.provenance["rows"]["test"] == 10
    assert set(loaded.splits["test"].column_names) >= {"text", "target", "subject", "distractor", "evidence"}


# Bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sst_2", "SST", "", 3, None])
def test_unknown_task(name):
    tells([f"task {name!r} is unknown", "evidence_inference"], tasks.load, name, data_dir="/no/such/folder")


def test_a_task_of_another_kind_than_the_paper_explains():
    parts = ["'knowns'", "holds prompts", "soft_metrics explains classification", "sst"]
    tells(parts, tasks.load, "knowns", papers.card("soft_metrics"))


def test_a_paper_that_does_not_mention_a_task_splits_it_as_its_row_says(mirror):
    data = tasks.load("mrpc", data_dir=mirror)
    assert "mrpc" not in papers.card("saloss").tasks
    assert tasks.load("mrpc", papers.card("saloss"), mirror).provenance["sha256"] == data.provenance["sha256"]


def test_missing_folder_task_and_split(mirror):
    parts = ["nowhere", "sst/<split>.parquet", "label (int, 0 to 1)"]
    tells(parts, tasks.load, "sst", data_dir=mirror / "nowhere", error=FileNotFoundError)
    parts = ["no task 'multirc'", "text_b (text)"]
    tells(parts, tasks.load, "multirc", data_dir=mirror, error=FileNotFoundError)
    (mirror / "sst" / "test.parquet").unlink()
    parts = ["no split 'test'", "only train, validation", "sst/test.parquet"]
    tells(parts, tasks.load, "sst", data_dir=mirror, error=FileNotFoundError)


def test_split_without_rows(mirror):
    write(mirror, "sst", test=rows(8).head(0))
    tells(["split 'test'", "no rows"], tasks.load, "sst", data_dir=mirror)


def test_class_absent_after_the_recipe(mirror):
    write(mirror, "sst", validation=rows(6).assign(label=1))
    tells(["split 'validation'", "class 'negative'", "6 rows"], tasks.load, "sst", data_dir=mirror)
    refused("no example of class", tasks.load, "topics", sizes={"test": 3})


def test_size_larger_than_the_source(mirror):
    assert tasks.load("sst", data_dir=mirror, sizes={"test": 9}).splits["test"].num_rows == 8


# The real mirror, where there is one ----------------------------------------------------------------


PARTIAL = {"ag_news", "evidence_inference", "snli", "babi_3", "boolq"}  # train is a part


@pytest.mark.skipif(not REAL.is_dir(), reason="no local mirror of the real data sets")
@pytest.mark.parametrize("name", [n for n, t in tasks.TASKS.items() if (REAL / n).is_dir() or t.files])
def test_real_mirror_has_the_published_sizes(name):
    for paper in [paper for paper in papers.names() if name in papers.card(paper).tasks]:
        loaded = tasks.load(name, papers.card(paper), data_dir=REAL)
        wrong = {row["split"] for row in loaded.differences}
        if name in PARTIAL:
            assert wrong == {"train"} or wrong == {"train", "validation"}
        elif (name, paper) == ("imdb", "recursive_roar"):  # the paper counts other tokens
            for row in loaded.differences:
                assert abs(row["rows"] / row["published"] - 1) < 0.02
        elif name in ("semeval", "knowns"):  # one or two rows more or less
            for row in loaded.differences:
                assert abs(row["rows"] - row["published"]) <= 2
        else:
            assert not wrong
        assert loaded.provenance["rows"]["test"] == len(loaded.splits["test"])
        texts = loaded.splits["test"]["text"]
        if "evidence" in loaded.splits["test"].column_names:
            for text, evidence in zip(texts, loaded.splits["test"]["evidence"], strict=True):
                assert not evidence or max(evidence) < len(text.split())
