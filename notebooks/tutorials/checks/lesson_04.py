"""Checks of lesson 4, random baselines, diagnosticity, ties."""

import numpy as np

from checks import Hint, call, check, choice, hints, same
from faithlib.metrics.diagnosticity import TIES, indicator

hint = hints(__name__)
RULES = {worth: rule for rule, worth in TIES.items()}


def shuffled(scores, maskable, rng):
    """A copy of the scores, those of maskable tokens in random order."""
    scores = scores.copy()
    scores[maskable] = rng.permutation(scores[maskable])
    return scores


@check(instead=shuffled)
def matched(mine):
    """Only the order changes: the maskable scores keep their values.
    Work on scores.copy(), and write to the places where maskable is True.
    rng.permutation(scores[maskable]) has them in random order
    """
    scores, maskable = np.arange(30.0), np.ones(30, bool)
    maskable[[0, 29]] = False
    answer = np.asarray(call(mine, scores, maskable, np.random.default_rng(4)), float)
    if answer.shape != (30,):
        raise Hint(f"one score per token is expected, an array of shape (30,), not {answer.shape}")
    if not np.array_equal(np.sort(answer), scores):
        raise Hint("the values must stay the same: permute the scores, do not draw new ones")
    if not np.array_equal(answer[~maskable], scores[~maskable]):
        raise Hint("right for the tokens of the text, wrong for special tokens: they keep their score")
    if np.array_equal(answer, scores):
        raise Hint("nothing was shuffled: permute the scores of the maskable tokens")
    copy = scores.copy()
    mine(copy, maskable, np.random.default_rng(4))
    if not np.array_equal(copy, scores):
        raise Hint("right, but the argument was changed: work on a copy")
    again = call(mine, scores, maskable, np.random.default_rng(5))
    if np.array_equal(answer, again):
        raise Hint("two generators give the same order: use rng, rng.permutation for instance")
    if not np.array_equal(answer, call(mine, scores, maskable, np.random.default_rng(4))):
        raise Hint("the same generator gives two orders: draw from rng alone")


@check(instead=lambda u, v, tie: indicator(u, v, RULES[tie]).mean())
def diagnosticity(mine):
    """Each pair is won (1), lost (0) or tied (`tie`).
    Tied is what differs by at most 1e-6, either way.
    np.where(np.abs(u - v) <= 1e-6, tie, u > v), and then the mean
    """
    u, v = np.array([0.9, 0.2, 0.5, 0.4 + 2e-7, 0.6 + 3e-6]), np.array([0.1, 0.3, 0.5, 0.4, 0.6])
    wrong = [(share, "right, but for the tolerance: values within 1e-6 are tied") for share in (0.2, 0.6)]
    same(call(mine, u, v, 0), 0.4, "two wins, one loss and two ties of 0 make 2/5", wrong=wrong)
    same(call(mine, u, v, 1), 0.8, "right for ties of 0, wrong for ties of 1: they count 1 each")
    same(call(mine, u, v, 0.5), 0.6, "right for ties of 0 and 1, wrong for 0.5")
    draws = np.random.default_rng(4)
    u, v = draws.integers(0, 4, (2, 50)) / 4
    for rule, tie in TIES.items():
        expected = indicator(u, v, rule).mean()
        same(call(mine, u, v, tie), expected, f"right for 5 pairs, wrong for 50 with ties of {tie}")


@check
def strict(answer):
    """In 40 % of the texts nobody wins.
    Both are random: each wins half of the other 60 %.
    """
    wrong = [
        (0.5, "this is D with ties of ½: here a tie is a loss"),
        (0.6, "60 % are decided; how many of them does u win?"),
        (30, "write a share between 0 and 1"),
    ]
    same(answer, 0.3, "60 % of the texts are decided, and u wins half of them", wrong=wrong)


@check
def rule(answer):
    """All pairs are tied.
    Which rule counts a tie as a win?
    """
    hints = {"strict": "then every pair is a loss, and D = 0", "half": "then D is ½, as it should be"}
    choice(answer, "at least", hints)
