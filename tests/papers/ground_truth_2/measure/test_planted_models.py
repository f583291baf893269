"""Models of planted texts: what they must reach, and what is explained of them."""

from dataclasses import replace

import numpy as np
import pytest

from notebooks.ground_truth_2.measure import planted_models
from notebooks.ground_truth_2.measure.planted_texts import PLANTED


@pytest.fixture(scope="module")
def untrained():
    """A tiny BERT after one pass over few texts."""
    return planted_models.trained(replace(PLANTED["redundant"], train_size=64, epochs=1), 0)


def test_a_model_that_learnt_nothing_is_refused(untrained):
    assert untrained.least == 0.95
    assert untrained.refused == f"accuracy {untrained.accuracy:.3f} on test texts is below 0.950"
    assert replace(untrained, accuracy=0.95).refused == ""


def test_the_label_is_explained_and_of_drawn_labels_the_prediction(untrained):
    rows = untrained.splits["test"][:6]
    assert planted_models.explained(untrained, rows).tolist() == [row["label"] for row in rows]
    drawn = replace(untrained, mechanism=PLANTED["graded"])
    assert len(set(planted_models.explained(drawn, rows).tolist())) == 1  # of a model that learnt nothing


def test_drawn_labels_ask_for_the_accuracy_of_bayes():
    p = np.linspace(0.05, 0.95, 20)
    rows = [{"p": value, "label": int(value < 0.5)} for value in p]
    assert planted_models.least(PLANTED["graded"], rows) == pytest.approx(1 - 0.03)
    rows[0]["label"] = 0
    assert planted_models.least(PLANTED["graded"], rows) == pytest.approx(0.95 - 0.03)
