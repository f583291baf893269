"""The table of data sets: every row is complete, and rows join by `register_task` alone."""

import dataclasses
import re

import pandas as pd
import pytest
from sample.mirrors import rows, write
from wrong import refused

from faithlib import corpora, tasks
from faithlib.tasks import Hub, Task
from faithlib.tasks.table import generated
from replication import papers


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
    assert task.generated or task.hub or task.origin
    assert not (task.credentialed and task.hub)
    assert (len(task.labels) >= 2) == (task.kind == "classification")
    uses = [papers.card(paper).tasks.get(task.name) for paper in papers.names()]
    for use in [tasks.Use(task.recipe, task.metric), *filter(None, uses)]:
        assert len(use.sizes) == 3 and "test" in use.recipe.parts
    if task.hub:
        assert re.fullmatch(r"[\w-]+/[\w-]+", task.hub.id)
        assert re.fullmatch(r"[0-9a-f]{40}", task.hub.revision)
        assert ("text_b" in task.hub.columns) == bool(task.auxiliary)


def test_generated_tasks_are_told_from_others():
    names = ["world_facts", "knowns", "mine"]
    assert generated(pd.Series(names)).tolist() == [True, False, False]


def test_rows_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        tasks.TASKS["sst"].name = "other"
    with pytest.raises(TypeError):
        tasks.TASKS["new"] = tasks.TASKS["sst"]


# Rows of one's own --------------------------------------------------------------------------------

REVIEWS = Task("reviews", "our shop's reviews", ("bad", "good"))


@pytest.fixture
def registered():
    tasks.register_task(REVIEWS)
    yield
    tasks.unregister_task("reviews")


def test_a_row_of_ones_own_is_read_from_a_folder(registered, tmp_path):
    write(tmp_path, "reviews", train=rows(20), validation=rows(6, start=20), test=rows(8, start=30))
    loaded = tasks.load("reviews", data_dir=tmp_path)
    assert loaded.provenance["rows"] == {"train": 20, "validation": 6, "test": 8} and not loaded.differences
    for paper in papers.names():
        if papers.card(paper).kind == "classification":
            assert tasks.load("reviews", papers.card(paper), tmp_path).provenance["paper"] == paper
    assert tasks.register_task(REVIEWS) is REVIEWS  # a notebook's cell run again is welcome


def test_a_wrong_row_is_told_and_not_registered():
    """What else may be wrong is in tests/bad_input.txt."""
    wrong = Task("mine", "mine", ("a", "b"), hub=Hub("a/b", "c", {"text": "t"}))
    refused("its hub columns lack 'label'", tasks.register_task, wrong)
    assert "mine" not in tasks.TASKS
