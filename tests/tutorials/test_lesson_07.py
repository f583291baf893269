"""The checks of lesson 7: a right answer passes, a usual mistake gets the hint meant for it."""

import numpy as np
import pytest
from checks import lesson_07 as check


def rank_p(z, reference):
    below = np.mean(reference < z)
    return min(below, 1 - below)


def simes(p):
    p = np.sort(p)
    return (p * len(p) / np.arange(1, len(p) + 1)).min()


@pytest.mark.parametrize(
    "name, answer, line",
    [
        ("on_masks", "b", "right"),
        ("on_masks", "a", "never taught"),
        ("random_mask", lambda n, rng: rng.random(n) < rng.random(), "right"),
        ("random_mask", lambda n, rng: rng.random(n) < 0.5, "draw a ratio for each text"),
        ("random_mask", lambda n, rng: rng.random(n) > rng.random(), "right"),
        ("random_mask", lambda n, rng: np.full(n, rng.random() < rng.random()), "masked as a whole"),
        ("random_mask", lambda n, rng: np.arange(n) < rng.random() * n, "some places"),
        ("random_mask", lambda n, rng: rng.random(n) < rng.random() ** 2, "on average half"),
        ("random_mask", lambda n, rng: np.random.default_rng(0).random(n) < 0.4, "the same mask"),
        ("random_mask", lambda n, rng: rng.random(n), "one bool a token"),
        ("rank_p", rank_p, "right"),
        ("rank_p", lambda z, r: np.mean(r < z), "below the middle only"),
        ("rank_p", lambda z, r: 2 * rank_p(z, r), "the value is 0.3"),
        ("rank_p", lambda z, r: min(np.mean(r <= z), 1 - np.mean(r <= z)), "equal values"),
        ("simes", simes, "right"),
        ("simes", lambda p: p.min(), "of 0.01, 0.5, 0.9"),
        ("simes", lambda p: p.min() * len(p), "of 0.04, 0.05, 0.06"),
        ("simes", lambda p: (p * len(p) / np.arange(1, len(p) + 1)).min(), "sorted p-values only"),
    ],
)
def test_the_answer_gets_its_line(name, answer, line, capsys):
    passed = getattr(check, name)(answer)
    (printed,) = capsys.readouterr().out.splitlines()
    assert printed == "right" if line == "right" else line in printed
    assert bool(passed) == (line == "right")
