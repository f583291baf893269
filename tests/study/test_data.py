"""The texts of a study: every form they come in, and what does not fit the model, in one line."""

from types import SimpleNamespace

import datasets
import numpy as np
import pandas as pd
import pytest
import tiny
from wrong import refused

from faithlib.study import data

ROWS = {"text": ["the plot", "boring"], "label": [0, 2]}


@pytest.fixture(scope="module")
def classifier():
    model = tiny.classifier()
    model.model.config.id2label = dict(enumerate(tiny.LABELS))
    return model


def loaded(splits, labels=()):
    return SimpleNamespace(task=SimpleNamespace(name="mine", labels=labels), splits=splits)


@pytest.mark.parametrize(
    "source",
    [
        ["the plot", "boring"], ("the plot", "boring"), pd.DataFrame(ROWS, index=[7, 3]),
        pd.Series(["the plot", "boring"], index=[7, 3]), np.array(["the plot", "boring"]),
        datasets.Dataset.from_dict(ROWS),
        {"test": pd.DataFrame(ROWS), "train": pd.DataFrame({"text": ["other"]})},
        loaded({"all": datasets.Dataset.from_dict(ROWS)}),
    ],
    ids=["list", "tuple", "frame", "series", "array", "dataset", "splits", "loaded"],
)  # fmt: skip
def test_every_form_is_the_same_texts(source):
    texts = data.read(source)
    assert texts.column("text") == ["the plot", "boring"] and list(texts.frame.index) == [0, 1]
    assert texts.column("target") is None


def test_columns_that_are_not_read_are_told(capsys):
    data.read(pd.DataFrame(ROWS).assign(labels=1, idx=0))
    assert "data: not read are labels, idx; read are text, text_b, label" in capsys.readouterr().out


def test_a_model_that_was_cast_since_it_was_loaded_is_refused():
    model = tiny.classifier()
    model.model.half()
    refused("was loaded in torch.float32, and has weights in torch.float16 now", data.check_model, model)


def test_a_validation_split_may_be_a_list():
    texts = data.read({"test": ["the plot"], "validation": ["boring", "great"]})
    assert list(texts.validation.text) == ["boring", "great"]


def test_what_is_loaded_has_a_name_and_classes():
    texts = data.read(loaded({"test": pd.DataFrame(ROWS)}, ("a", "b")))
    assert (texts.name, texts.label_names) == ("mine", ("a", "b"))


def test_long_texts_are_refused_or_cut(classifier):
    texts = data.read([" ".join(["plot"] * 70), "the plot"])
    refused("1 of 2 texts are longer than tiny-bert takes", texts.encode, classifier, "error")
    encodings, note = texts.encode(classifier, "truncate")
    assert [len(e.ids) for e in encodings] == [64, 4] and note.endswith("at most 64): their ends are cut.")
    assert data.read(["the plot"]).encode(classifier, "truncate")[1] == ""
    refused("the end of a prompt decides", texts.encode, tiny.causal(), "truncate")


def test_language_models_read_text_alone():
    texts = data.read(pd.DataFrame({"text": ["the plot"], "text_b": ["was it good ?"]}))
    refused("data has the column text_b, and tiny-llama is a language model", texts.encode, tiny.causal())
    blank = data.read(pd.DataFrame({"text": ["the plot"], "text_b": [""]}))  # as of a file with labels
    assert len(blank.encode(tiny.causal())[0]) == 1


def test_evidence_is_read_as_load_data_reads_it():
    frame = pd.DataFrame({"text": ["so good", "bad film"], "evidence": [[0, 1], ["film"]]})
    assert data.read(frame.assign(evidence=[[0, 0], [1, 0]])).column("evidence") == [[], [0]]
    assert data.read(frame.assign(evidence=["good", "film"])).column("evidence") == [[1], [1]]
    refused("data: column 'text', row 0: it has half a character", data.read, ["good \ud83d"])


def test_a_split_that_a_study_does_not_read_is_said(capsys):
    assert len(data.read({"test": ["a", "b"], "unsupervised": ["c"]}).frame) == 2
    line = "data: split 'unsupervised' is not read; read are train, validation, test\n"
    assert capsys.readouterr().out == line
