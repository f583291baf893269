"""Diagnosticity: how often a metric prefers an attribution to one that knows nothing."""

import numpy as np
from numpy.typing import ArrayLike

TIES = {"strict": 0.0, "half": 0.5, "at_least": 1.0}  # what a tie counts as
TOLERANCE = 1e-6  # values this close are tied: float32 probabilities do not resolve less


def indicator(u: ArrayLike, v: ArrayLike, ties: str = "strict") -> np.ndarray:
    """1 where u is preferred to v, 0 where v is preferred, the tie's worth where they are equal.

    Equation 6 of Zhao & Aletras 2023 is the mean of this over pairs, with ties="strict". u, v: values of a
    metric for which higher is better, any shapes that broadcast; NaN gives NaN. Raises ValueError for an
    unknown tie rule.
    """
    if ties not in TIES:
        raise ValueError(f"ties={ties!r} is unknown: use one of {', '.join(TIES)}")
    difference = np.asarray(u, float) - np.asarray(v, float)
    won = np.where(np.abs(difference) <= TOLERANCE, TIES[ties], (difference > 0).astype(float))
    return np.where(np.isnan(difference), np.nan, won)
