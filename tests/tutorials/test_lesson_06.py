"""The checks of lesson 6: a right answer passes, a usual mistake gets the hint meant for it."""

import numpy as np
import pytest
from checks import lesson_06 as check
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score


def next_mask(scores, masked, total, kind="stable"):
    order = np.argsort(-np.where(masked, np.inf, scores), kind=kind)
    return np.isin(np.arange(len(scores)), order[:total])


def area(x, measure, random, end=-1):
    return np.trapezoid(np.subtract(random, measure), x) / np.trapezoid(np.subtract(random, random[end]), x)


def accuracy(masks, labels):
    return cross_val_score(LogisticRegression(), masks, labels, cv=5).mean()


def in_sample(masks, labels):
    return LogisticRegression().fit(masks, labels).score(masks, labels)


def largest(labels):
    return np.bincount(labels).max() / len(labels)


@pytest.mark.parametrize(
    "name, answer, line",
    [
        ("next_mask", next_mask, "right"),
        ("next_mask", lambda s, m, k: next_mask(s, m, k).astype(int), "right"),
        ("next_mask", lambda s, m, k: np.argsort(-s)[:k], "not the indices"),
        ("next_mask", lambda s, m, k: next_mask(-s, m, k), "the highest scores"),
        ("next_mask", lambda s, m, k: next_mask(s, False, k), "masked tokens stay masked"),
        ("next_mask", lambda s, m, k: m | next_mask(s, False, k), "masked tokens stay masked"),
        ("next_mask", lambda s, m, k: next_mask(s[::-1], m[::-1], k)[::-1], "right but for ties"),
        ("next_mask", lambda s, m, k: next_mask(np.abs(s), m, k), "scores may be negative"),
        ("next_mask", lambda s, m, k: None, "returns nothing yet"),
        ("next_mask", 3, "a function is expected"),
        ("after_four", " B", "right"),
        ("after_four", "a", "the curve of Recursive ROAR"),
        ("after_four", "d", "is no choice"),
        ("after_four", None, "no answer yet"),
        ("relative_area", area, "right"),
        ("relative_area", lambda x, p, b: np.trapezoid(np.subtract(b, p), x), "1/8 and 1/4"),
        ("relative_area", lambda x, p, b: max(area(x, p, b), 0), "below 0"),
        ("relative_area", lambda x, p, b: np.clip(area(x, p, b), -1, 1), "within [0, 1] only"),
        ("relative_area", lambda x, p, b: area(np.linspace(0, 1, len(x)), p, b), "equal steps only"),
        ("told", "c", "right"),
        ("told", "b", "needs no opinion word"),
        ("leakage", lambda m, y: accuracy(m, y) - largest(y), "right"),
        ("leakage", accuracy, "subtract the share"),
        ("leakage", lambda m, y: in_sample(m, y) - largest(y), "not trained on"),
        ("leakage", lambda m, y: 0.0, "not noticed"),
        ("leakage", lambda m, y: accuracy(m, y) - 0.5, "equal classes only"),
        ("leakage", lambda m, y: 2 * (accuracy(m, y) - largest(y)), "is not possible"),
        ("leakage", lambda m, y: np.zeros(2), "one number"),
    ],
)
def test_the_answer_gets_its_line(name, answer, line, capsys):
    passed = getattr(check, name)(answer)
    (printed,) = capsys.readouterr().out.splitlines()
    assert printed == "right" if line == "right" else line in printed
    assert bool(passed) == (line == "right")
