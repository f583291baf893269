"""Sufficiency and comprehensiveness under hard erasure, normalised: the paper's and the released."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from faithlib.options import DEFINITIONS
from faithlib.scores import one_of, top

RATIOS = (0.01, 0.05, 0.10, 0.20, 0.50)  # section 4.4 of the paper
RELEASED_RATIOS = (0.01, 0.02, 0.05, 0.10, 0.20, 0.50, 1.00)
LEAST = 0.05  # of 1 − S0: below it a normalised value is a quotient of noise


def sufficiency(p_full: np.ndarray, p_kept: np.ndarray) -> np.ndarray:
    """S = 1 − max(0, p(ŷ|x) − p(ŷ|kept)) in [0, 1], higher is better (Eq. 1)."""
    return 1 - np.maximum(0, p_full - p_kept)


def comprehensiveness(p_full: np.ndarray, p_rest: np.ndarray) -> np.ndarray:
    """C = max(0, p(ŷ|x) − p(ŷ|rest)) in [0, 1], higher is better (Eq. 2)."""
    return np.maximum(0, p_full - p_rest)


def normalised_sufficiency(s: np.ndarray, s_zero: np.ndarray) -> np.ndarray:
    """NS = (S − S0) / (1 − S0), 1 for a rationale that suffices, 0 for one no better than nothing (Eq. 1).

    S0 is the sufficiency of the zeroed-out input. Not clipped: a rationale worse than nothing is below 0. NaN
    where S0 = 1.
    """
    return quotient(s - s_zero, 1 - s_zero)


def normalised_comprehensiveness(c: np.ndarray, s_zero: np.ndarray) -> np.ndarray:
    """NC = C / (1 − S0), 1 for a rationale whose erasure does what erasing everything does (Eq. 2)."""
    return quotient(c, 1 - s_zero)


def released_normalisation(s, c, s_zero, nc_first=False):
    """NS and NC as released: S0 lowered by 1e-4 so that nothing divides by 0, both clipped to [0, 1].

    An NC that is computed before any NS (nc_first, as Soft-NC is) has S0 itself, and is 0 where S0 = 1. Where
    1 − S0 is near 0 this magnifies rounding ten-thousandfold: such values are stable to 1e-3 only.
    """
    lowered = s_zero - 1e-4
    first = np.where(s_zero == 1, -1e-5, 1 - s_zero)  # as the release has it; C / -1e-5 is clipped to 0
    ns, nc = (s - lowered) / (1 - lowered), c / np.where(nc_first, first, 1 - lowered)
    return np.clip(ns, 0, 1), np.clip(nc, 0, 1)


def rationale(
    scores: np.ndarray, maskable: np.ndarray, ratio: float, definition: str = "paper"
) -> np.ndarray:
    """The k = ⌈ratio · n⌉ most important of n maskable tokens, (tokens,) bool; ties go to the earlier token.

    "released" counts the CLS token into the length: k = ⌈ratio · (n + 1)⌉, at most n. Raises ValueError for a
    ratio outside (0, 1] and for a maskable token without a finite score.
    """
    if not 0 < ratio <= 1:
        raise ValueError(f"ratio {ratio} is outside (0, 1]: give the fraction of tokens, such as 0.2")
    one_of("definition", definition, DEFINITIONS)
    n = int(maskable.sum())
    length = n if definition == "paper" else n + 1
    k = min(n, max(1, int(np.ceil(round(ratio * length, 9)))))  # 0.1 · 30 is 3, not 3.0000000000000004
    return top(np.asarray(scores, float), maskable, False, k)


def quotient(numerator, denominator):
    """numerator / denominator, NaN where that is rounding, at most 1e-6."""
    defined = denominator > 1e-6
    return np.where(defined, numerator / np.where(defined, denominator, 1), np.nan)


# Registered metrics -------------------------------------------------------------------------------


def ns(inputs, scores, ratios=RATIOS):
    """Normalised sufficiency, a mean over ratios (AOPC): (examples,) in (−∞, 1], higher is better.

    ratios: fractions of the maskable tokens that are kept; the others are erased, by default zero. NaN where
    1 − S0 is below `LEAST`.
    """
    return _mean_over_ratios(inputs, scores, ratios, keep=True)


def nc(inputs: Any, scores: Sequence, ratios: Sequence[float] = RATIOS) -> np.ndarray:
    """Normalised comprehensiveness, a mean over ratios (AOPC): (examples,), higher is better.

    As `ns`, with the most important tokens erased instead of kept; values from 0 on.
    """
    return _mean_over_ratios(inputs, scores, ratios, keep=False)


def normalised(inputs, p, keep, soft=False):
    """NS (keep) or NC from probabilities (draws, examples), a mean over draws; NaN where 1 − S0 < LEAST."""
    s_zero = sufficiency(inputs.p_full, inputs.empty(soft))  # (examples,)
    raw = (sufficiency if keep else comprehensiveness)(inputs.p_full, p).mean(0)
    value = (normalised_sufficiency if keep else normalised_comprehensiveness)(raw, s_zero)
    return np.where(1 - s_zero < LEAST, np.nan, value)


def _mean_over_ratios(inputs, scores, ratios, keep):
    masks = []
    for ratio in ratios:
        for e, s in zip(inputs.encodings, scores, strict=True):
            chosen = rationale(s, e.maskable, ratio)
            masks.append(e.maskable & ~chosen if keep else chosen)
    examples = np.tile(np.arange(len(scores)), len(ratios))
    p = inputs.without(masks, examples, "zero").reshape(len(ratios), -1)
    return normalised(inputs, p, keep)
