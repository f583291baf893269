"""Checks of lesson 8: language models."""

import numpy as np

from checks import Hint, call, check, hints, same
from faithlib.metrics import soft_causal

hint = hints(__name__)


def bisection(keeps, halvings=10):
    """The last scale at which the prediction was seen to stay."""
    low = 0.0
    for step in range(1, halvings + 1):
        low += 0.5**step * bool(keeps(low + 0.5**step))
    return low


def highest(scores, share):
    """The places of the highest scores, in the order of the text."""
    k = max(1, int(share * len(scores) + 1e-9))
    return np.sort(np.argsort(-np.asarray(scores), kind="stable")[:k])


@check(instead=bisection)
def tolerated_scale(mine):
    """Keep one number, the last scale at which the prediction was seen to stay, from 0.
    Steps are ½, ¼, ⅛, …: try the number plus the step, and move there if the prediction stays.
    if keeps(low + 0.5**step): low += 0.5**step
    """
    same(call(mine, lambda k: k <= 0.3, 2), 0.25, "for a flip at 0.3 two halvings find 0.25")
    same(call(mine, lambda k: k <= 0.3, 10), 0.2998046875, "for a flip at 0.3 ten halvings find 0.2998")
    same(call(mine, lambda k: False, 10), 0.0, "if the prediction never stays, the scale is 0")
    same(call(mine, lambda k: True, 3), 0.875, "if it always stays, the search ends at 1 minus the last step")
    asked = []
    call(mine, lambda k: asked.append(k) or k <= 0.7, 10)
    if len(asked) > 10:
        raise Hint(f"right, but it asks {len(asked)} times for 10 halvings")


@check(instead=soft_causal.hellinger)
def hellinger(mine):
    """Take the roots of both arrays first.
    Then the sum of the squared differences, divided by 2.
    np.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2)
    """
    half, one, two, other = map(np.array, ([0.5, 0.5], [1.0, 0.0], [0.0, 1.0], [0.36, 0.64]))
    same(call(mine, half, half), 0.0, "equal distributions have distance 0")
    same(call(mine, one, two), 1.0, "disjoint distributions have distance 1: mind the factor")
    same(call(mine, one, other), 0.4**0.5, "of (1, 0) and (0.36, 0.64) it is the root of 0.4")
    draws = np.random.default_rng(8)
    for n in (2, 10, 100):
        p, q = (x / x.sum() for x in draws.random((2, n)))
        same(call(mine, p, q), soft_causal.hellinger(p, q), "wrong for random distributions: see the formula")


@check(instead=highest)
def shown_words(mine):
    """How many: share times the number of words, rounded down, at least 1.
    Add 1e-9 before you round down, and sort stably, so that of equal scores the earlier comes first.
    np.sort(np.argsort(-scores, kind="stable")[:k])
    """

    def shown(scores, share, expected, hint):
        answer = call(mine, np.array(scores, float), share)
        if np.ndim(answer) == 1 and len(answer) != len(expected):
            raise Hint(hint)
        same(answer, expected, hint)

    shown([0.1, 0.9, 0.5, 0.2], 0.5, [1, 2], "of 0.1, 0.9, 0.5, 0.2 half are words 1 and 2")
    shown([0.5, 0.1, 0.9, 0.2], 0.5, [0, 2], "give the indices in the order of the text, not of the scores")
    shown([0.3, 0.2, 0.1], 0.5, [0], "half of three words is one: round down")
    shown([0.3, 0.2, 0.1], 0.1, [0], "at least one word is shown")
    shown([0.5, 0.5, 0.5], 0.7, [0, 1], "right but for ties: take the earlier word")
    shown([-0.5, 0.1, 0.0], 0.67, [1, 2], "scores below 0 speak against the answer")
    shown(
        range(100), 0.29, range(71, 100), "right but for rounding: 0.29 * 100 is just below 29 on a computer"
    )
