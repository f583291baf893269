"""Checks of lesson 5, soft erasure, scale and equal retention."""

import numpy as np

from checks import Hint, call, check, choice, hints, same
from faithlib.metrics import soft

hint = hints(__name__)


@check(instead=lambda s: soft.to_probability(s, np.ones(len(s), bool)))
def min_max(mine):
    """The smallest score becomes 0: subtract it.
    The largest becomes 1: divide by the distance of the largest from the smallest.
    If that distance is 0, np.full(len(scores), 0.5)
    """
    s = np.array([-1.0, 3.0, 0.6])
    wrong = [
        ([0, 1, 0.2], "negative scores are not cut off at 0: the smallest score becomes 0"),
        ([0, 1, 0.5], "these are ranks: distances between scores are kept"),
        ([-1 / 3, 1, 0.2], "subtract the smallest score first"),
        ([0, 4 / 3, 1.6 / 3], "divide by the largest minus the smallest score, not by the largest"),
        ([0, 4, 1.6], "divide by the largest minus the smallest score"),
    ]
    same(
        call(mine, s),
        [0, 1, 0.4],
        "the smallest score becomes 0, the largest 1, -1 to 3 linearly",
        wrong=wrong,
    )
    same(call(mine, np.full(3, 0.2)), [0.5, 0.5, 0.5], "right but for equal scores: return ½ for each")
    s = np.random.default_rng(5).normal(size=20)
    same(call(mine, s), soft.to_probability(s, np.ones(20, bool)), "right for 3 scores, wrong for 20")


@check(instead=lambda a, u, keep: u < (a if keep else 1 - a)[:, None])
def soft_mask(mine):
    """q = a to keep what is important, 1 − a to remove it.
    u has a number for each entry of each token, q one for each token.
    q[:, None] makes a column of q: u < q[:, None]
    """
    a, u = np.array([0.0, 0.25, 1.0]), np.random.default_rng(5).random((3, 8))
    u[1, :2] = 0.1, 0.9
    kept = u < a[:, None]
    wrong = [
        (~kept, "this is the mask of what is removed; return True for kept entries"),
        (u < 1 - a[:, None], "the two cases are swapped: to keep what is important, q = a"),
    ]
    answer = call(mine, a, u, True)
    if np.shape(answer) != (3, 8):
        raise Hint(f"an array (tokens, width) is expected, (3, 8), not {np.shape(answer)}")
    same(answer, kept, "to keep what is important, an entry is kept where u < a of its token", wrong=wrong)
    removed = call(mine, a, u, False)
    wrong = [(kept, "right for keeping, but keep_important=False gives the same: there q = 1 − a")]
    same(removed, u < 1 - a[:, None], "to remove what is important, q = 1 − a: kept where u < q", wrong=wrong)


@check
def higher(answer):
    """Flat scores are nearly all close to 1: how much of the text is kept?
    A model that sees more of the text keeps its prediction more often.
    """
    hints = {
        "sharp": "how much of the text does it keep? Compare with the flat one",
        "equal": "this would be so if only the order mattered, as for hard erasure",
    }
    choice(answer, "flat", hints)


@check(instead=soft.equal_retention)
def equal_retention(mine):
    """For a given b the result is (a + b).clip(0, 1); only b is searched.
    Bisection: try the middle of [low, high]; if the mean is below the share, b has to grow.
    for _ in range(60): b = (low + high) / 2, and then low = b or high = b
    """
    a = np.array([1.0, 0.0, 0.0, 0.0])
    yours = np.asarray(call(mine, a, 0.5), float)
    if yours.shape != (4,):
        raise Hint(f"one probability per token is expected, an array of shape (4,), not {yours.shape}")
    if yours.min() < 0 or yours.max() > 1:
        raise Hint("probabilities lie between 0 and 1: clip after shifting")
    if abs(yours.mean() - 0.5) > 1e-4:
        raise Hint(f"the mean is {yours.mean():.4f} and should be 0.5")
    same(yours, [1, 1 / 3, 1 / 3, 1 / 3], "right mean, but shift all scores by one constant, then clip", 1e-4)
    draws = np.random.default_rng(5)
    for share in (0.2, 0.5, 0.9):
        a = draws.random(15) ** 3
        expected = soft.equal_retention(a, share)
        same(call(mine, a, share), expected, f"right for share 0.5, wrong for {share} and 15 tokens", 1e-4)


@check
def prefers(answer):
    """The released code keeps an entry with probability 1 − a.
    What is then left of the tokens with high scores?
    """
    choice(answer, "reverse", {"good": "it keeps with 1 − a: what is left of the tokens with high scores?"})
