"""The checks of lesson 8: a right answer passes, a usual mistake gets the hint meant for it."""

import numpy as np
import pytest
from checks import lesson_08 as check


def tolerated(keeps, halvings=10):
    low = 0.0
    for step in range(1, halvings + 1):
        low += 0.5**step * keeps(low + 0.5**step)
    return low


def upper(keeps, halvings=10):
    return tolerated(keeps, halvings) + 0.5**halvings


def grid(keeps, halvings=10):
    return max((k / 2**halvings for k in range(2**halvings) if keeps(k / 2**halvings)), default=0.0)


def hellinger(p, q):
    return (np.sqrt(p) - np.sqrt(q)) @ (np.sqrt(p) - np.sqrt(q))


def shown(scores, share, least=1, more=1e-9):
    return np.sort(np.argsort(-scores, kind="stable")[: max(least, int(share * len(scores) + more))])


@pytest.mark.parametrize(
    "name, answer, line",
    [
        ("tolerated_scale", tolerated, "right"),
        ("tolerated_scale", upper, "two halvings find 0.25"),
        ("tolerated_scale", lambda keeps, halvings=10: tolerated(keeps, 2), "ten halvings"),
        ("tolerated_scale", grid, "it asks 1024 times"),
        ("hellinger", lambda p, q: (hellinger(p, q) / 2) ** 0.5, "right"),
        ("hellinger", lambda p, q: hellinger(p, q) ** 0.5, "mind the factor"),
        ("hellinger", lambda p, q: hellinger(p, q) / 2, "the root of 0.4"),
        ("shown_words", shown, "right"),
        ("shown_words", lambda s, share: list(shown(s, share)), "right"),
        ("shown_words", lambda s, share: np.argsort(-s)[: max(1, int(share * len(s)))], "order of the text"),
        ("shown_words", lambda s, share: shown(s, share, more=0.5), "round down"),
        ("shown_words", lambda s, share: shown(s, share, 0), "at least one"),
        ("shown_words", lambda s, share: shown(np.abs(s), share), "below 0"),
        ("shown_words", lambda s, share: shown(s, share, more=0), "just below 29"),
    ],
)
def test_the_answer_gets_its_line(name, answer, line, capsys):
    passed = getattr(check, name)(answer)
    (printed,) = capsys.readouterr().out.splitlines()
    assert printed == "right" if line == "right" else line in printed
    assert bool(passed) == (line == "right")
