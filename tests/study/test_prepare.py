"""What a study reads and refuses before any pass: models, targets, labels, operators."""

import numpy as np
import pandas as pd
import pytest
import tiny
from wrong import refused

from faithlib import load_data, load_model
from faithlib.engine import forward
from faithlib.engine.operators import Operator
from faithlib.metrics import registry
from faithlib.metrics.inputs import Inputs
from faithlib.study import evaluate, explorer

ATTRIBUTIONS = ["gradient_l2", "random_uniform"]


def test_targets_are_the_predictions_unless_given(classifier, position):
    study = evaluate(classifier, tiny.TEXTS, ["input_x_gradient"], [position])
    variants = [forward.unchanged(e) for e in study.encodings]
    assert (study.targets == forward.probabilities(classifier, variants).argmax(1)).all()
    other = evaluate(classifier, tiny.TEXTS, ["input_x_gradient"], [position], targets=[0, 1, 2, 0, 1])
    assert other.targets.tolist() == [0, 1, 2, 0, 1] and other.table.value[0] != study.table.value[0]


def test_what_is_loaded_is_read_from_its_test_split(classifier):
    reviews = load_data("sentiment", sizes={"train": 40, "validation": 20, "test": 6})
    model = load_model("tiny-bert", data=reviews)
    study = evaluate(model, reviews, ["gradient_l2"], ["auprc"])
    assert study.texts == list(reviews.splits["test"]["text"]) and study.labels is not None
    assert len(study.tokens) == 6 and [len(t) for t in study.tokens] == [len(e.ids) for e in study.encodings]


def test_classes_and_targets_have_names():
    model = tiny.classifier()
    model.model.config.id2label = dict(enumerate(tiny.LABELS))
    study = evaluate(
        model, pd.DataFrame({"text": tiny.TEXTS, "label": [0, 1, 2, 0, 1]}), ["gradient_l2"], ["ns"]
    )
    assert study.label_names == tiny.LABELS and study.target_names is None
    facts = explorer.described(study)
    assert [f["gold"] for f in facts] == ["no", "yes", "maybe", "no", "yes"]
    assert [f["target"] for f in facts] == [tiny.LABELS[t] for t in study.targets]
    both = evaluate(model, tiny.TEXTS[:1], ["lime"], ["aopc_sufficiency"], [0], contrast=[2], samples=5)
    assert both.target_names == ["no − maybe"]


def test_models_that_cannot_have_the_same_metrics_are_refused_before_work():
    bert, lm = tiny.classifier(), tiny.causal()
    with pytest.raises(ValueError, match="do not support the same metrics, only one has 'causal_"):
        evaluate([bert, lm], tiny.TEXTS[:2], ["gradient_l2"])


def test_labels_that_cannot_be_meant_are_told(classifier, position):
    texts = tiny.TEXTS[:3]
    predicted = evaluate(classifier, texts, ["random_uniform"], [position], progress=False).predicted
    frame = pd.DataFrame({"text": texts[:1], "label": (predicted[:1] + 1) % 3})
    notes = evaluate(classifier, frame, ["random_uniform"], [position], progress=False).notes
    assert notes[0].startswith("All 1 labels are one class") and "is wrong on all 1 texts" in notes[1]


def test_the_usual_operator_of_a_model_without_a_mask_token():
    bare = tiny.classifier()
    bare.tokenizer.mask_token = None
    rows = evaluate(bare, tiny.TEXTS, ["gradient_l2"], ["nc", "decision_flip"], progress=False).table
    assert rows.operator.tolist() == ["zero", "zero"]


def test_resample_draws_from_the_split_train(classifier):
    setup = dict(attributions=["gradient_l2"], metrics=["nc"], operator="resample", progress=False)
    texts = pd.DataFrame({"text": tiny.TEXTS})
    study = evaluate(classifier, {"train": texts, "test": texts}, **setup)
    assert study.table.operator.tolist() == ["resample"]
    pool = np.concatenate([e.ids[e.maskable] for e in classifier.encode(tiny.TEXTS)])
    operator = Operator(classifier, "resample", unigrams=pool, stream="study 0")
    inputs = Inputs(classifier, study.encodings, study.targets, operator=operator)
    by_hand = registry.get("nc").resolve()(inputs, study.scores["gradient_l2"])
    values = study.values.query("baseline == ''").value.tolist()
    assert values == pytest.approx(by_hand, nan_ok=True)
    refused("draws tokens of the split train", evaluate, classifier, texts, **setup)
    other = evaluate(classifier, {"train": texts, "test": texts}, **setup, seed=1)
    assert other.values.query("baseline == ''").value.tolist() != values
    long = pd.DataFrame({"text": [*tiny.TEXTS, " ".join(["plot"] * 90), " "]})
    assert len(evaluate(classifier, {"train": long, "test": texts}, **setup).table) == 1


def test_an_operator_of_another_model_is_refused(classifier):
    setup = dict(attributions=["gradient_l2"], metrics=["nc"], progress=False)
    other = Operator(tiny.classifier(seed=1), "mask")
    refused("operator is of another model than ", evaluate, classifier, tiny.TEXTS, operator=other, **setup)


def test_a_head_of_independent_labels_is_refused():
    model = tiny.classifier()
    model.model.config.problem_type = "multi_label_classification"
    refused("has a multi-label head", evaluate, model, tiny.TEXTS, ["gradient_l2"], ["nc"], progress=False)
