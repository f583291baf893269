"""The table of data sets: every row is complete, and rows join by `register_task` alone."""

import dataclasses
import re

import pytest

from faithlib import corpora, papers, tasks

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
