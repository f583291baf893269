"""Labels meet the classes of a model by name or number, in whatever order and type."""

from types import SimpleNamespace

import datasets
import numpy as np
import pandas as pd
import pytest
import tiny
from wrong import refused

from faithlib import load_data
from faithlib.study import classes, data, evaluate

ROWS = {"text": ["the plot", "boring"], "label": [0, 2]}


@pytest.fixture(scope="module")
def classifier():
    model = tiny.classifier()
    model.model.config.id2label = dict(enumerate(tiny.LABELS))
    return model


def loaded(splits, labels=()):
    return SimpleNamespace(task=SimpleNamespace(name="mine", labels=labels), splits=splits)


def test_labels_that_are_numbers_count_from_0(classifier):
    texts = data.read(loaded({"test": pd.DataFrame(ROWS)}, ("0", "1", "2", "3")))
    with pytest.raises(ValueError, match="labels up to 3, tiny-bert has the classes 0 to 2: number the cla"):
        classes.labels(texts, classifier)


def test_classes_that_are_called_by_numbers():
    stars = tiny.classifier()
    stars.model.config.id2label = {0: "1", 1: "2", 2: "3"}
    texts = data.read(loaded({"test": pd.DataFrame(ROWS)}, ("0", "1", "2")))
    line = r"label of row 1 is 2, and the classes are called 1, 2, 3: give names, as '2' \(load_data: labels="
    refused(line, classes.labels, texts, stars)
    frame = pd.DataFrame({"text": ["the plot", "boring", "great"], "stars": [1, 3, 2]})
    of_file = load_data(frame, label="stars", labels=["1", "2", "3"])
    assert classes.labels(data.read(of_file), stars).tolist() == [0, 2, 1]
    for source in (list(frame.text), frame[["text"]], load_data(list(frame.text))):
        assert classes.labels(data.read(source), stars) is None
    assert classes.labels(data.read(frame.assign(label=["1", "3", "2"])), stars).tolist() == [0, 2, 1]
    assert evaluate(stars, list(frame.text), ["gradient_l2"], ["ns"], targets=["1", "1", "3"]).targets[2] == 2
    line = "targets of text 0 is 1, and the classes are called"
    refused(line, evaluate, stars, ["the plot"], ["gradient_l2"], targets=[1])


def test_labels_are_numbers_or_names(classifier):
    assert classes.labels(data.read(pd.DataFrame(ROWS)), classifier).tolist() == [0, 2]
    named = pd.DataFrame({"text": ["a", "b"], "label": ["maybe", "no"]})
    assert classes.labels(data.read(named), classifier).tolist() == [2, 0]
    assert classes.labels(data.read(["a"]), classifier) is None


@pytest.mark.parametrize("names", [("bad", "good"), ("false", "true"), ("0", "1")])
def test_true_is_the_second_of_two_classes_or_the_one_of_its_name(names):
    assert [classes.class_of(value, names, "label") for value in (True, np.bool_(False))] == [1, 0]
    assert classes.class_of(True, ("True", "False"), "label") == 0
    refused("label is True: the model has classes 0 to 2", classes.class_of, True, tiny.LABELS, "label")


def test_classes_without_names_are_any():
    model = tiny.classifier()
    assert classes.class_names(model) == []
    texts = data.read(loaded({"test": pd.DataFrame(ROWS)}, ("a", "b", "c")))
    assert classes.labels(texts, model).tolist() == [0, 2]


@pytest.mark.parametrize(
    "source",
    [
        pd.DataFrame({"text": ["a", "b"], "label": ["MAYBE", "no"]}),
        pd.DataFrame({"text": ["a", "b"], "label": [2.0, 0.0]}),
        pd.DataFrame({"text": ["a", "b"], "label": ["LABEL_2", "LABEL_0"]}),
        pd.DataFrame({"text": ["a", "b"], "label": ["2", "0"]}),
        loaded({"test": pd.DataFrame({"text": ["a", "b"], "label": [0, 1]})}, ("maybe", "no", "yes")),
        datasets.Dataset.from_dict(
            {"text": ["a", "b"], "label": [0, 1]},
            datasets.Features(
                {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["maybe", "no"])}
            ),
        ),
    ],
    ids=["names", "floats", "LABEL_2", "digits", "loaded", "ClassLabel"],
)
def test_labels_meet_by_name_in_any_order_and_type(classifier, source):
    assert classes.labels(data.read(source), classifier).tolist() == [2, 0]


def test_other_classes_and_missing_labels_are_refused(classifier):
    frame = pd.DataFrame({"text": ["a", "b"], "label": [0, 1]})
    message = "data has the classes good, bad, tiny-bert has no, yes, maybe: give"
    refused(message, classes.labels, data.read(loaded({"test": frame}, ("good", "bad"))), classifier)
    with pytest.raises(ValueError, match="label of row 1 is nan: the model has classes"):
        classes.labels(data.read(frame.assign(label=[1, float("nan")])), classifier)
    texts = data.read(loaded({"test": frame}, ("a", "b", "c")))
    message = "tiny-bert does not name its classes: taken as 0 = a, 1 = b, 2 = c."
    assert classes.taken_as(texts, tiny.classifier()) == message
    assert classes.taken_as(texts, classifier) == ""
