"""Checks of lesson 7: masked fine-tuning, and the test of masked texts."""

import numpy as np

from checks import Hint, call, check, choice, hints, same
from faithlib.metrics import masf

hint = hints(__name__)


def smaller_tail(z, reference):
    """min(P, 1 − P), P the share of the reference below z."""
    below = np.mean(np.asarray(reference) < z)
    return min(below, 1 - below)


@check
def on_masks(mine):
    """Was the model ever shown a text of masks only?
    The next figure shows it, at its right end.
    """
    choice(mine, "b", {"a": "the model was never taught to be unsure: what did it learn about [MASK]?"})


@check(instead=lambda n, rng: rng.random(n) < rng.random())
def random_mask(mine):
    """First one ratio for the text, rng.random().
    Then each token by itself: masked with the probability of the ratio.
    rng.random(n) < ratio
    """
    first = call(mine, 12, np.random.default_rng(7))
    if np.shape(first) != (12,) or not set(np.unique(first)) <= {0, 1}:
        raise Hint("one bool a token is expected")
    rows = [call(mine, 40, np.random.default_rng([7, i])) for i in range(2000)]
    if not np.array_equal(rows[:20], [call(mine, 40, np.random.default_rng([7, i])) for i in range(20)]):
        raise Hint("the same `rng` gives another mask: draw from `rng` alone")
    masks = np.array(rows, float)
    shares = masks.mean(1)
    if (masks == masks[0]).all():
        raise Hint("every text has the same mask: draw new numbers from `rng`, do not make another one")
    if abs(shares.mean() - 0.5) > 0.03:
        raise Hint(f"on average half of the tokens are masked, with yours {shares.mean():.2f}")
    if shares.std() < 0.2:
        raise Hint("every text has nearly the same share: draw a ratio for each text")
    if shares.std() > 0.35:
        raise Hint("a text is masked as a whole: draw each token on its own")
    if not 0.275 < shares.std() < 0.315:  # of a uniform ratio and 40 tokens: 0.296
        raise Hint("some ratios are drawn more often than others: all from 0 to 1 are equally likely")
    if np.abs(np.diff(masks)).sum(1).mean() < 8:
        raise Hint("masked tokens stand in one block: draw each token on its own")
    if np.abs(masks.mean(0) - 0.5).max() > 0.08:
        raise Hint("some places are masked more often than others: draw each token on its own")


@check(instead=smaller_tail)
def rank_p(mine):
    """P is the share of the reference that is strictly below z.
    np.mean(reference < z)
    The smaller one of P and 1 − P
    """
    reference = np.arange(10.0)
    same(call(mine, 2.5, reference), 0.3, "of 0, 1, ..., 9 three are below 2.5: the value is 0.3")
    same(call(mine, 7.5, reference), 0.2, "right below the middle only: take the smaller of P and 1 - P")
    same(call(mine, 2.0, reference), 0.2, "right but for equal values: they are not below")
    same(call(mine, -1.0, reference), 0.0, "a value below all others has P = 0")
    draws = np.random.default_rng(7)
    drawn = draws.normal(size=(31, 1, 1))
    for z in draws.normal(size=5):
        expected = masf.fit(drawn, "paper").stages(np.full((1, 1, 1), z)).p1.item()
        same(
            call(mine, np.float32(z), drawn.astype(np.float32)[:, 0, 0]),
            expected,
            "wrong for a random reference",
        )


@check(instead=masf.simes)
def simes(mine):
    """Sort the p-values.
    The i-th smallest is multiplied by N / i, i from 1 to N.
    np.min(np.sort(p) * len(p) / np.arange(1, len(p) + 1))
    """
    same(call(mine, np.array([0.2])), 0.2, "of a single p-value it is that value")
    same(call(mine, np.array([0.01, 0.5, 0.9])), 0.03, "of 0.01, 0.5, 0.9 it is 3 / 1 times 0.01")
    same(call(mine, np.array([0.04, 0.05, 0.06])), 0.06, "of 0.04, 0.05, 0.06 it is 3 / 3 times 0.06")
    same(call(mine, np.array([0.9, 0.5, 0.01])), 0.03, "right for sorted p-values only")
    draws = np.random.default_rng(7)
    for n in (2, 5, 64):
        p = draws.random(n)
        same(call(mine, p), masf.simes(p), "wrong for random p-values: see the formula")
