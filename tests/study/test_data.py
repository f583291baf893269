"""The texts of a study: every form they come in, and what does not fit the model, in one line."""

from types import SimpleNamespace

import datasets
import numpy as np
import pandas as pd
import pytest
import tiny

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
    "given",
    [
        ["the plot", "boring"],
        ("the plot", "boring"),
        pd.DataFrame(ROWS, index=[7, 3]),
        datasets.Dataset.from_dict(ROWS),
        {"test": pd.DataFrame(ROWS), "train": pd.DataFrame({"text": ["other"]})},
        loaded({"all": datasets.Dataset.from_dict(ROWS)}),
    ],
    ids=["list", "tuple", "frame", "dataset", "splits", "loaded"],
)
def test_every_form_is_the_same_texts(given):
    texts = data.read(given)
    assert texts.column("text") == ["the plot", "boring"] and list(texts.frame.index) == [0, 1]
    assert texts.column("target") is None


def test_what_is_loaded_has_a_name_and_classes():
    texts = data.read(loaded({"test": pd.DataFrame(ROWS)}, ("a", "b")))
    assert (texts.name, texts.label_names) == ("mine", ("a", "b"))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("a text", "data='a text' is one text"),
        ([], "data has no rows"),
        (7, "data is of type int: give a list of texts"),
        (["a", None], "text of row 1 is None"),
        (["a", 3.5], "text of row 1 is 3.5"),
        (["a", " "], "text of row 1 is ' '"),
        (pd.DataFrame({"review": ["a"]}), "data has the columns review: name the column"),
        (pd.DataFrame({"text": ["a"], "text_b": [np.nan]}), "text_b of row 0 is nan"),
        (pd.DataFrame({"text": ["a"], "evidence": [0]}), "evidence of row 0 is 0: give a list"),
        (pd.DataFrame({"text": ["a"], "evidence": [[1]]}), "evidence of row 0 has word 1, its text has 0"),
        (pd.DataFrame({"text": ["a b"], "evidence": [[-1]]}), "evidence of row 0 has word -1"),
        (pd.DataFrame({"text": ["a b"], "evidence": [[0.5]]}), "evidence of row 0 is [0.5]"),
        ({"train": ROWS, "validation": ROWS}, "data has the splits 'train', 'validation': give one of them"),
    ],
)  # fmt: skip
def test_wrong_data_are_one_line(given, told):
    with pytest.raises(ValueError) as error:
        data.read(given)
    assert told in str(error.value) and "\n" not in str(error.value)


def test_labels_are_numbers_or_names(classifier):
    assert data.labels(data.read(pd.DataFrame(ROWS)), classifier).tolist() == [0, 2]
    named = pd.DataFrame({"text": ["a", "b"], "label": ["maybe", "no"]})
    assert data.labels(data.read(named), classifier).tolist() == [2, 0]
    assert data.labels(data.read(["a"]), classifier) is None


@pytest.mark.parametrize(
    ("label", "names", "told"),
    [
        ([0, 3], (), "label of row 1 is 3: the model has the classes 0 to 2 (no, yes, maybe)"),
        ([0, -1], (), "label of row 1 is -1"),
        ([0, np.nan], (), "label of row 0 is 0.0"),
        ([0, "perhaps"], (), "label of row 1 is 'perhaps'"),
        ([True, False], (), "label of row 0 is True"),
        ([0, 1], ("no", "yes"), "data has the 2 classes no, yes, tiny-bert has 3"),
        ([0, 1], ("yes", "no", "maybe"), "tiny-bert has no, yes, maybe: give data and a model of the same"),
    ],
)
def test_labels_that_are_not_the_models_are_one_line(classifier, label, names, told):
    frame = pd.DataFrame({"text": ["a", "b"], "label": label})
    texts = data.read(loaded({"test": frame}, names))
    with pytest.raises(ValueError) as error:
        data.labels(texts, classifier)
    assert told in str(error.value) and "\n" not in str(error.value)


def test_classes_without_names_are_any():
    model = tiny.classifier()
    assert data.class_names(model) == []
    texts = data.read(loaded({"test": pd.DataFrame(ROWS)}, ("a", "b", "c")))
    assert data.labels(texts, model).tolist() == [0, 2]


def test_language_models_read_text_alone():
    texts = data.read(pd.DataFrame({"text": ["the plot"], "text_b": ["was it good ?"]}))
    with pytest.raises(ValueError, match="data has the column text_b, and tiny-llama is a language model"):
        texts.encode(tiny.causal())
