"""Metrics of predicted classes, by hand."""

import numpy as np
import pytest

from faithlib.metrics.performance import performance


def test_matthews_correlation_by_hand():
    """TP 3, TN 2, FP 1, FN 1: (3 · 2 − 1 · 1) / √(4 · 4 · 3 · 3) = 5 / 12."""
    labels, predicted = np.array([1, 1, 1, 1, 0, 0, 0]), np.array([1, 1, 1, 0, 0, 0, 1])
    assert performance(predicted, labels)["mcc"] == pytest.approx(5 / 12)
    assert performance(1 - labels, labels)["mcc"] == -1
    assert performance(np.ones(7, int), labels)["mcc"] == 0


def test_a_class_that_is_never_right_counts():
    measured = performance(np.array([0, 2, 0]), np.array([0, 1, 1]))
    assert measured["accuracy"] == measured["micro_f1"] == pytest.approx(1 / 3)
    assert measured["balanced_accuracy"] == pytest.approx(1 / 2)  # recall 1 of class 0, 0 of class 1
    assert measured["macro_f1"] == pytest.approx((2 / 3 + 0 + 0) / 3)  # class 2: predicted, never right


def test_columns_and_lists_are_read_as_rows():
    column = performance([0, 1, 1, 0], np.array([[0], [1], [0], [0]]))
    assert (
        column == performance(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0])) and column["accuracy"] == 0.75
    )
