"""The table of data sets and `load`: three sources, the papers' splits, and every error in one line."""

import dataclasses
import re
from pathlib import Path

import datasets
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

from faithlib import corpora, papers, tasks
from faithlib.tasks import sources, splits, table

REAL = Path(__file__).resolve().parents[3] / "shared" / "data"


def rows(n, classes=2, pair=False, start=0):
    """n examples whose text names its row, with labels 0, 1, ... in turn."""
    frame = pd.DataFrame(
        {
            "text": [f"text number {i} of the mirror" for i in range(start, start + n)],
            "label": [i % classes for i in range(n)],
        }
    )
    return frame.assign(text_b="a question") if pair else frame


def write(folder, name, **frames):
    (folder / name).mkdir(exist_ok=True)
    for split, frame in frames.items():
        frame.to_parquet(folder / name / f"{split}.parquet")


@pytest.fixture
def mirror(tmp_path):
    write(tmp_path, "sst", train=rows(20), validation=rows(6, start=20), test=rows(8, start=30))
    write(tmp_path, "ag_news", train=rows(200, 4), test=rows(8, 4, start=300))
    write(tmp_path, "mrpc", train=rows(20, pair=True), validation=rows(6, pair=True, start=20))
    return tmp_path


def one_line(error, *parts):
    message = str(error.value)
    assert "\n" not in message
    for part in parts:
        assert part in message
    return message


# The table ----------------------------------------------------------------------------------------


def test_the_table_has_every_data_set_of_the_five_papers():
    used = {paper: set(papers.card(paper).tasks) for paper in papers.names()}
    assert used["soft_metrics"] == {"sst", "ag_news", "evidence_inference", "multirc"}
    assert used["saloss"] == used["soft_metrics"] | {"semeval"}
    assert used["noiser"] == {"knowns", "longra", "wikibio", "wikitext_prompts"}
    babi, mimic = {f"babi_{i}" for i in (1, 2, 3)}, {"mimic_anemia", "mimic_diabetes"}
    assert used["recursive_roar"] == babi | mimic | {"sst", "imdb", "snli"}
    glue = {"rte", "snli", "mnli", "qnli", "cb", "mrpc", "qqp", "sst2", "imdb", "cola", "boolq"}
    assert used["fmm"] == babi | mimic | glue
    assert {n for n, t in tasks.TASKS.items() if t.generated} == set(corpora.GENERATORS)
    for name, generator in corpora.GENERATORS.items():
        row = tasks.TASKS[name]
        assert row.labels == tuple(generator.LABELS) and row.imitates in tasks.TASKS


@pytest.mark.parametrize("task", tasks.TASKS.values(), ids=tasks.TASKS)
def test_every_row_is_complete(task):
    assert task.generated or task.hub or task.where
    assert not (task.credentialed and task.hub)
    assert (len(task.labels) >= 2) == (task.kind == "classification")
    uses = [papers.card(paper).tasks.get(task.name) for paper in papers.names()]
    for use in [tasks.Use(task.recipe, task.metric), *filter(None, uses)]:
        assert len(use.sizes) == 3 and "test" in use.recipe.parts
    if task.hub:
        assert re.fullmatch(r"[\w-]+/[\w-]+", task.hub.id)
        assert re.fullmatch(r"[0-9a-f]{40}", task.hub.revision)
        assert ("text_b" in task.hub.columns) == bool(task.auxiliary)


def test_rows_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        tasks.TASKS["sst"].name = "other"
    with pytest.raises(TypeError):
        tasks.TASKS["new"] = tasks.TASKS["sst"]


# Recipes ------------------------------------------------------------------------------------------


def test_shares_by_position_are_rounded_to_the_nearest_row():
    for n, train in ((3668, 2934), (250, 200), (9427, 7542), (8551, 6841), (67349, 53879)):
        source = {"train": rows(n), "validation": rows(5)}
        made = splits.split_rows(table.HIDDEN_TEST, source)  # sizes as in FMM, Table 2
        assert (len(made["train"]), len(made["validation"]), len(made["test"])) == (train, n - train, 5)
        assert made["validation"]["text"][0] == f"text number {train} of the mirror"


def test_ag_news_is_held_out_as_in_the_release():
    made = splits.split_rows(table.AG, {"train": rows(120), "test": rows(5)})
    train, held_out = train_test_split(list(range(120)), test_size=0.15, random_state=16377)
    assert made["train"]["text"].tolist() == [f"text number {i} of the mirror" for i in train]
    assert made["validation"]["text"].tolist() == [f"text number {i} of the mirror" for i in held_out]


def test_a_source_with_a_validation_split_keeps_it():
    source = {"train": rows(120), "validation": rows(7), "test": rows(5)}
    made = splits.split_rows(table.AG, source)
    assert [len(made[split]) for split in tasks.SPLITS] == [120, 7, 5]


def test_texts_are_kept_by_their_number_of_words():
    frame = pd.DataFrame({"text": ["a " * n for n in (4, 5, 6, 7)], "label": 0})
    source = {split: frame for split in tasks.SPLITS}
    made = splits.split_rows(tasks.Recipe(words=(5, 7)), source)
    assert made["train"]["text"].str.split().str.len().tolist() == [6]


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
    loaded = tasks.load("relation", papers.card("soft_metrics"), data_dir="/no/such/folder", seed=3, sizes=sizes)
    assert loaded.source == "generated" and loaded.differences == []
    assert loaded.provenance["rows"] == {"train": 40, "validation": 300, "test": 30}
    assert set(loaded.splits["test"].column_names) >= {"text", "text_b", "label", "evidence", "pos"}
    again = tasks.load("relation", seed=3, sizes=sizes)
    assert again.provenance["sha256"] == loaded.provenance["sha256"]
    other = tasks.load("relation", seed=4, sizes=sizes)
    assert other.provenance["sha256"] != loaded.provenance["sha256"]


def test_generated_prompts_have_targets():
    loaded = tasks.load("world_agreement", papers.card("noiser"), sizes={"train": 20, "validation": 10, "test": 10})
    assert loaded.task.kind == "prompts" and loaded.provenance["rows"]["test"] == 10
    assert set(loaded.splits["test"].column_names) >= {"text", "target", "subject", "distractor", "evidence"}


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
    with pytest.raises(ConnectionError) as error:
        tasks.load("sst")
    one_line(error, "'SetFit/sst2'", "no route to host", "data_dir", "quick")


def test_first_two_sentences():
    text = "He was a painter. He lived in Rome! He died there. "
    assert sources._first_sentences(text, 2) == "He was a painter. He lived in Rome!"


# Bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sst_2", "../sst", "sst/../sst", "SST", "", 3, None])
def test_unknown_task(name):
    with pytest.raises(ValueError) as error:
        tasks.load(name, data_dir="/no/such/folder")
    one_line(error, f"unknown task {name!r}", "evidence_inference")


def test_unknown_task_names_the_closest():
    with pytest.raises(ValueError, match="did you mean 'evidence_inference'"):
        tasks.load("evidence-inference")


@pytest.mark.parametrize(
    "name, paper, parts",
    [
        ("knowns", "soft_metrics", ["'knowns'", "holds prompts", "soft_metrics explains classification", "sst"]),
        ("sentiment", "noiser", ["'sentiment'", "noiser explains prompts", "longra"]),
    ],
)
def test_a_task_of_another_kind_than_the_paper_explains(name, paper, parts):
    with pytest.raises(ValueError) as error:
        tasks.load(name, papers.card(paper))
    one_line(error, *parts)


def test_a_paper_that_does_not_mention_a_task_splits_it_as_its_row_says(mirror):
    own = tasks.load("mrpc", data_dir=mirror)
    assert "mrpc" not in papers.card("saloss").tasks
    assert tasks.load("mrpc", papers.card("saloss"), mirror).provenance["sha256"] == own.provenance["sha256"]


@pytest.mark.parametrize(
    "arguments, parts",
    [
        ({"seed": -1}, ["seed -1"]),
        ({"seed": 0.5}, ["seed 0.5"]),
        ({"sizes": 300}, ["sizes 300", "dict"]),
        ({"sizes": {"dev": 3}}, ["'dev'", "train, validation, test"]),
        ({"sizes": {"train": "many"}}, ["sizes['train'] = 'many'"]),
        ({"sizes": {"train": -3}}, ["sizes['train'] = -3"]),
        ({"sizes": {"train": True}}, ["sizes['train'] = True"]),
        ({"sizes": {"train": 10**9}}, ["1000000000", "at most 50000"]),
    ],
)
def test_bad_seed_and_sizes(arguments, parts):
    with pytest.raises(ValueError) as error:
        tasks.load("sentiment", **arguments)
    one_line(error, *parts)


def test_data_dir_of_a_wrong_type():
    with pytest.raises(ValueError) as error:
        tasks.load("sst", data_dir=3)
    one_line(error, "data_dir 3")


def test_missing_folder_task_and_split(mirror):
    with pytest.raises(FileNotFoundError) as error:
        tasks.load("sst", data_dir=mirror / "nowhere")
    one_line(error, "nowhere", "sst/<split>.parquet", "label (int, 0 to 1)")
    with pytest.raises(FileNotFoundError) as error:
        tasks.load("multirc", data_dir=mirror)
    one_line(error, "no task 'multirc'", "text_b (text)")
    (mirror / "sst" / "test.parquet").unlink()
    with pytest.raises(FileNotFoundError) as error:
        tasks.load("sst", data_dir=mirror)
    one_line(error, "no split 'test'", "only train, validation", "sst/test.parquet")


def test_wrong_columns_and_types(mirror):
    write(mirror, "sst", test=rows(8).rename(columns={"text": "sentence"}))
    with pytest.raises(ValueError) as error:
        tasks.load("sst", data_dir=mirror)
    one_line(error, "sst/test.parquet", "no column 'text'", "only sentence, label")
    write(mirror, "sst", test=rows(8).assign(label="positive"))
    with pytest.raises(ValueError) as error:
        tasks.load("sst", data_dir=mirror)
    one_line(error, "column 'label'", "int, 0 to 1")


def test_label_out_of_range_and_missing_label(mirror):
    for label in (2, None):
        frame = rows(8)
        frame["label"] = frame["label"].astype("Int64")
        frame.loc[5, "label"] = label
        write(mirror, "sst", test=frame)
        with pytest.raises(ValueError) as error:
            tasks.load("sst", data_dir=mirror)
        one_line(error, "1 labels out of range", "row 5", "0 = negative, 1 = positive")


def test_empty_texts_are_counted_and_shown(mirror):
    frame = rows(8)
    frame.loc[[2, 6], "text"] = ["  ", None]
    write(mirror, "sst", test=frame)
    with pytest.raises(ValueError) as error:
        tasks.load("sst", data_dir=mirror)
    one_line(error, "split 'test'", "2 rows with an empty text", "2, 6")


def test_split_without_rows(mirror):
    write(mirror, "sst", test=rows(8).head(0))
    with pytest.raises(ValueError) as error:
        tasks.load("sst", data_dir=mirror)
    one_line(error, "split 'test'", "no rows")


def test_class_absent_after_the_recipe(mirror):
    write(mirror, "sst", validation=rows(6).assign(label=1))
    with pytest.raises(ValueError) as error:
        tasks.load("sst", data_dir=mirror)
    one_line(error, "split 'validation'", "class 'negative'", "6 rows")
    with pytest.raises(ValueError, match="no example of class"):
        tasks.load("topics", sizes={"test": 3})


def test_size_larger_than_the_source(mirror):
    with pytest.raises(ValueError) as error:
        tasks.load("sst", data_dir=mirror, sizes={"test": 9})
    one_line(error, "sizes['test'] = 9", "8 rows")


def test_truncated_file(mirror):
    path = mirror / "sst" / "train.parquet"
    content = path.read_bytes()
    for kept in (len(content) // 2, 0):
        path.write_bytes(content[:kept])
        with pytest.raises(ValueError) as error:
            tasks.load("sst", data_dir=mirror)
        one_line(error, "cannot read 'sst/train.parquet'", "damaged")
    broken = bytearray(content)
    broken[4:200] = bytes(196)  # the footer is whole, the rows are not
    path.write_bytes(bytes(broken))
    with pytest.raises(ValueError, match="cannot read 'sst/train.parquet'"):
        tasks.load("sst", data_dir=mirror)


def test_credentialed_and_local_only_tasks_say_what_to_provide():
    with pytest.raises(ValueError) as error:
        tasks.load("mimic_anemia")
    one_line(error, "credentials", "never downloaded", "mimic_anemia/<split>.parquet", "MIMIC-III")
    with pytest.raises(ValueError) as error:
        tasks.load("babi_2", data_dir="")
    one_line(error, "script-free", "babi_2/<split>.parquet", "en-10k")


def test_credentialed_task_from_local_files(tmp_path):
    write(tmp_path, "mimic_diabetes", **{split: rows(6) for split in tasks.SPLITS})
    assert tasks.load("mimic_diabetes", papers.card("fmm"), data_dir=tmp_path).source == "mirror"


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
