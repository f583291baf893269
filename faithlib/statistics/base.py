"""What every interval and verdict needs: named random streams, Holm's correction, quantiles, checks."""

import hashlib
import json
import math

import numpy as np
from scipy import special

LEVEL = 0.95
FEWEST_UNITS = 3  # an interval needs
DRAW_COUNTS = (1, 2, 4, 8, 16)
CONSTANT = 1e-12  # relative: values that differ by less are equal up to rounding
ROUNDING = 1e-9  # of a threshold: closer than this is equal


def stream(*names) -> np.random.Generator:
    """A random generator named by what it is for: adding a data set changes no other stream.

    The SHA-256 of names (strings or numbers: data set, model, statistic) is the seed; ValueError without
    names.

    >>> stream("sst", "minilm", "soft_ns").integers(1000, size=3).tolist()
    [328, 676, 819]
    """
    if not names:
        raise ValueError("a random stream needs names: what it is for (data set, model, statistic)")
    digest = hashlib.sha256(json.dumps([str(name) for name in names]).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def holm(pvalues):
    """Holm's (1979) adjusted p-values: max over j ≤ i of min(1, (m - j + 1) · p_(j)), in the given order.

    A test is rejected where its adjusted p is at most the level. Raises ValueError for no p-values and for
    numbers outside [0, 1].

    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = vector(pvalues, "one p-value a test")
    if ((p < 0) | (p > 1)).any():
        raise ValueError("p-values lie within [0, 1]")
    order = np.argsort(p, kind="stable")
    steps = np.minimum(1, p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(steps)
    return adjusted


def t_quantile(p, df):
    """Quantile of Student's t (`scipy.stats.t.ppf`, for any degrees of freedom above 0).

    >>> round(t_quantile(1 - 0.025 / 18, 2), 1)  # one-sided Holm, 3 seeds and 18 cases
    18.9
    """
    return float(special.stdtrit(df, p))


def direction(relation):
    """+1 for ">" and ">=", -1 for "<" and "<="; ValueError for another relation."""
    sides = {">": 1, ">=": 1, "<": -1, "<=": -1}
    if relation not in sides:
        raise ValueError(f"unknown relation {relation!r}: use one of {', '.join(sides)}")
    return sides[relation]


def monte_carlo_error(draws):
    """Standard error of a mean over random draws, on the last axis: sd(draws) / sqrt(their number), ddof 1.

    It is NaN for a single draw.

    >>> round(float(monte_carlo_error([1.0, 2.0, 3.0])), 3)
    0.577
    """
    draws = np.asarray(draws, dtype=float)
    n = draws.shape[-1]
    if n < 2:
        return np.full(draws.shape[:-1], np.nan)[()]
    return draws.std(axis=-1, ddof=1) / np.sqrt(n)


def check_finite(values):
    x = np.asarray(values, dtype=float)
    if x.size == 0:
        raise ValueError("no values: a mean over examples needs at least one example")
    if not np.isfinite(x).all():
        bad = np.count_nonzero(~np.isfinite(x))
        raise ValueError(f"{bad} of {x.size} values are NaN or infinite: drop or repair them first")
    return x


def vector(values, wanted):
    x = check_finite(values)
    if x.ndim != 1:
        raise ValueError(f"values of shape {x.shape}: give {wanted}")
    return x


def check_level(level):
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} is outside (0, 1): give the confidence level, such as 0.95")


def constant(x, scale=None):
    return np.ptp(x) <= CONSTANT * max(1e-300, np.abs(x if scale is None else scale).max())


def standard_error(x):
    return float(x.std(ddof=1) / math.sqrt(len(x)))
