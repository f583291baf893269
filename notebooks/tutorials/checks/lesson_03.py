"""Checks of lesson 3, erase and measure."""

import numpy as np

from checks import Hint, call, check, choice, hints, same
from faithlib.metrics import erasure

hint = hints(__name__)


@check(instead=erasure.comprehensiveness)
def comprehensiveness(mine):
    """How far does p fall when the rationale is taken away?
    Where p rises instead, C is 0.
    np.maximum takes the larger of 0 and an array, entry by entry
    """
    wrong = [(-0.7, "right but for the sign: full minus rest")]
    same(call(mine, 0.9, 0.2), 0.7, "subtract the probability of the rest from that of the text", wrong=wrong)
    same(call(mine, 0.5, 0.8), 0, "right where p falls; where it rises, C is 0: use max")
    full, rest = np.random.default_rng(3).random((2, 9))
    same(call(mine, full, rest), erasure.comprehensiveness(full, rest), "right for numbers, wrong for arrays")


@check(instead=erasure.sufficiency)
def sufficiency(mine):
    """How far does p fall when only the rationale is left?
    The smaller the fall, the better: take 1 minus it; a rise counts as no fall.
    1 - np.maximum(0, …)
    """
    wrong = [(0.25, "this is the sufficiency of DeYoung et al., lower is better: take 1 minus it")]
    same(call(mine, 0.75, 0.5), 0.75, "1 minus what p falls by on the rationale alone", wrong=wrong)
    same(call(mine, 0.5, 0.8), 1, "right where p falls; where it rises, S is 1: use max")
    full, kept = np.random.default_rng(3).random((2, 9))
    same(call(mine, full, kept), erasure.sufficiency(full, kept), "right for numbers, wrong for arrays")


@check(instead=lambda scores, ratio: erasure.rationale(scores, np.ones(len(scores), bool), ratio))
def choose(mine):
    """First the number k of tokens: ratio times their number, rounded up.
    Round to 9 digits before you round up; of equal scores the earlier wins, in a stable sort.
    np.argsort(-scores, kind="stable")[:k] are their places; np.isin makes booleans of places
    """
    scores = np.array([0.1, 0.9, 0.5, 0.2])
    if np.shape(call(mine, scores, 0.5)) != (4,):
        raise Hint("one boolean per token is expected, not the indices of the tokens")
    wrong = [([1, 0, 0, 1], "these are the lowest scores: take the highest")]
    same(call(mine, scores, 0.5), [0, 1, 1, 0], "half of 4 tokens: the 2 highest", wrong=wrong)
    same(call(mine, scores, 1), [1, 1, 1, 1], "with ratio 1 all tokens are in the rationale")
    same(call(mine, scores, 0.3), [0, 1, 1, 0], "round up: 0.3 of 4 tokens are 2")
    same(call(mine, -scores, 0.25), [1, 0, 0, 0], "scores may be negative: no absolute values, please")
    hint = "right for ratio 1, wrong for ties: of equal scores the earlier goes first (a stable sort)"
    same(call(mine, np.array([0.5, 0.9, 0.5, 0.5]), 0.5), [1, 1, 0, 0], hint)
    same(call(mine, np.ones(40), 0.4), np.arange(40) < 16, hint)
    hundred = np.arange(100.0)
    hint = "0.07 · 100 is 7: round before you round up, to 9 digits say"
    same(call(mine, hundred, 0.07), hundred > 92, hint)
    fifty_two = np.arange(52.0)
    same(
        call(mine, fifty_two, 0.02), fifty_two > 49, "0.02 · 52 is 1.04: rounded up it is 2; keep more digits"
    )
    draws = np.random.default_rng(3)
    for n in range(1, 40):
        scores, ratio = draws.integers(0, 5, n) / 4, float(draws.choice([0.05, 0.1, 0.2, 0.3, 0.5]))
        expected = erasure.rationale(scores, np.ones(n, bool), ratio)
        same(call(mine, scores, ratio), expected, f"wrong for scores={scores.tolist()}, ratio={ratio}")


@check
def nc_of_default(answer):
    """NC = C / (1 − S0), and S0 is the sufficiency of nothing.
    C = 0.99 − 0.93; 1 − S0 = 0.99 − 0.98.
    """
    wrong = [
        (0.06, "this is C: divide it by 1 − S0"),
        (0.06 / 0.99, "S0 is 1 − max(0, 0.99 − 0.98): divide by 1 − S0"),
    ]
    same(answer, 6, "C is 0.99 − 0.93, and 1 − S0 is 0.99 − 0.98", wrong=wrong)


@check
def fall(answer):
    """The review states its opinion twice.
    One of the two words is still there.
    """
    choice(
        answer, "near 0", {"near 1": "the other opinion word is still there: does the model miss the first?"}
    )
