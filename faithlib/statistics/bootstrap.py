"""Intervals of figures and of single table cells, and the tests that papers report."""

import numpy as np
from scipy import stats

from faithlib.statistics.base import LEVEL, check_finite

RESAMPLES = 1000  # of an interval in a figure


def mean_interval(values, n_resamples=RESAMPLES, seed=0, memory=2**26):
    """Mean over examples with its bootstrap interval (BCa, Efron 1987; `scipy.stats.bootstrap`).

    For figures and single table cells; claims have `text_interval`.

    Args:
        values: (examples,) or (examples, cells), the cells of one table on the same examples.
        memory: bound of a resampled block in bytes.

    Returns:
        (mean, low, high), each of shape (cells,) or a float. A cell whose values are all equal has no
        interval: its ends are NaN.

    Raises:
        ValueError: for no examples and values that are not finite.

    >>> [round(end, 2) for end in mean_interval([0.0, 0.2, 0.4, 0.9])]
    [0.38, 0.1, 0.78]
    """
    x = check_finite(values)
    columns = x.reshape(len(x), -1)  # (examples, cells)
    mean = columns.mean(axis=0)
    low, high = np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    varied = np.ptp(columns, axis=0) > 1e-12  # BCa divides by the spread: 0/0 for a constant cell
    if varied.any():
        sample = columns[:, varied]
        settings = {"n_resamples": n_resamples, "confidence_level": LEVEL, "method": "BCa", "rng": seed}
        batch = max(1, memory // sample.nbytes)
        result = stats.bootstrap((sample,), np.mean, axis=0, vectorized=True, batch=batch, **settings)
        low[varied], high[varied] = result.confidence_interval
    if x.ndim == 1:
        return mean.item(), low.item(), high.item()
    return mean, low, high


def rank_sum(a, b):
    """Two-sided p of the Wilcoxon rank-sum test (= Mann-Whitney U) of two samples, normal approximation.

    `scipy.stats.mannwhitneyu` without continuity correction: the same number as `scipy.stats.ranksums` where
    no values are tied, and corrected for ties where they are (diagnosticity indicators are 0 or 1, so nearly
    all are tied). It treats the two samples as independent, although two metrics on the same examples are
    paired: it is the test of the soft-metrics paper. It is 1 where both samples hold one and the same value;
    ValueError for an empty sample and for values that are not finite.

    >>> round(rank_sum([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]), 4)
    0.009
    """
    a, b = check_finite(a), check_finite(b)
    if np.ptp(np.concatenate([a, b])) == 0:
        return 1.0
    return float(stats.mannwhitneyu(a, b, use_continuity=False, method="asymptotic").pvalue)


def t_test(a, b):
    """Two-sided p of Student's t-test of two independent samples (`scipy.stats.ttest_ind`).

    It is NaN where a sample has fewer than two values or neither varies; ValueError for values that are not
    finite.

    >>> round(t_test([0.8, 0.9], [0.6, 0.7]), 3)
    0.106
    """
    a, b = (np.asarray(x, dtype=float) for x in (a, b))
    if min(len(a), len(b)) < 2 or max(np.ptp(a), np.ptp(b)) == 0:
        return np.nan
    return float(stats.ttest_ind(check_finite(a), check_finite(b)).pvalue)
