"""The checks of lesson 9: a right answer passes, a usual mistake gets the hint meant for it."""

import numpy as np
import pytest
from checks import lesson_09 as check


def textrank(links, d=0.85, over=0, times=200):
    sigma = np.ones(len(links))
    for _ in range(times):
        given = sigma / links.sum(0)
        sigma = 1 - d + d * (links @ given if over == 0 else (links @ sigma) / links.sum(0))
    return sigma


def kl(a, s):
    a, s = a / a.sum(), s / s.sum()
    return np.sum(a[a > 0] * np.log(a[a > 0] / s[a > 0]))


def flip_fraction(scores, predicted, last=False, never=1.0, again=False):
    deleted, before, found = np.zeros(len(scores), bool), predicted(np.zeros(len(scores), bool)), never
    for k, token in enumerate(np.argsort(-scores, kind="stable"), 1):
        deleted = np.zeros(len(scores), bool) if again else deleted
        deleted[token] = True
        if predicted(deleted.copy()) != before:
            found = k / len(scores)
            if not last:
                return found
    return found


def test_graph_of_a_text_links_near_tokens():
    assert check.graph([7, 8, 7, 9], window=2).tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    "name, answer, line",
    [
        ("textrank", textrank, "right"),
        ("textrank", lambda links, d=0.85: textrank(links, d) / textrank(links, d).sum(), "the scale"),
        ("textrank", lambda links, d=0.85: textrank(links, d, over=1), "the token that gives"),
        ("textrank", lambda links, d=0.85: textrank(links), "d = 0.85 only"),
        ("textrank", lambda links, d=0.85: textrank(links, d, times=2), "0.770, 1.459"),
        ("divergence", kl, "right"),
        ("divergence", lambda a, s: kl(s, a), "not symmetric"),
        ("divergence", lambda a, s: -kl(a, s), "right but for the sign"),
        ("divergence", lambda a, s: kl(a, s) / np.log(2), "the logarithm"),
        ("divergence", lambda a, s: np.sum(a * np.log(a / s)), "by their sums"),
        ("divergence", lambda a, s: np.sum(a / a.sum() * np.log(a / a.sum() / (s / s.sum()))), "but for 0"),
        ("flip_fraction", flip_fraction, "right"),
        ("flip_fraction", lambda s, p: flip_fraction(s, p, again=True), "stays deleted"),
        ("flip_fraction", lambda s, p: flip_fraction(s, p, never=0.0), "never flips"),
        ("flip_fraction", lambda s, p: flip_fraction(-s, p), "the best token"),
        ("flip_fraction", lambda s, p: flip_fraction(s, p, last=True), "one of four is deleted"),
        ("flip_fraction", lambda s, p: flip_fraction(np.abs(s), p), "may be negative"),
        ("control", "b", "right"),
        ("control", "a", "seed by seed"),
    ],
)
def test_the_answer_gets_its_line(name, answer, line, capsys):
    with np.errstate(all="ignore"):
        passed = getattr(check, name)(answer)
    (printed,) = capsys.readouterr().out.splitlines()
    assert printed == "right" if line == "right" else line in printed
    assert bool(passed) == (line == "right")
