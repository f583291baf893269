"""Intervals of figures and of single table cells, and the tests that papers report.

`mean_interval` (BCa bootstrap), and `percentile_interval` of `resample_means`, a bootstrap of whole examples:
all cells of a data set share one resample, so the correlation between cells on the same examples is kept.
"""

import numpy as np
from scipy import stats

from faithlib.statistics.base import LEVEL, _finite

RESAMPLES = 1000  # of an interval in a figure


def mean_interval(values, n_resamples=RESAMPLES, level=LEVEL, seed=0, memory=2**26):
    """Mean over examples with its bootstrap interval (BCa, Efron 1987; `scipy.stats.bootstrap`).

    For figures and single table cells; claims have `text_interval`.

    Args:
        values: (examples,) or (examples, cells), the cells of one table on the same examples.
        n_resamples: number of resamples.
        level: confidence level.
        seed: of the resamples.
        memory: bound of a resampled block in bytes.

    Returns:
        (mean, low, high), each of shape (cells,) or a float. A cell without variance, or with a single
        example, has the interval [mean, mean].

    Raises:
        ValueError: for no examples and for values that are not finite.

    >>> [round(end, 2) for end in mean_interval([0.0, 0.2, 0.4, 0.9])]
    [0.38, 0.1, 0.78]
    """
    x = _finite(values)
    columns = x.reshape(len(x), -1)  # (examples, cells)
    mean = columns.mean(axis=0)
    low, high = mean.copy(), mean.copy()
    varied = np.ptp(columns, axis=0) > 1e-12  # BCa divides by the spread: 0/0 for a constant cell
    if varied.any():
        sample = columns[:, varied]
        result = stats.bootstrap(
            (sample,),
            np.mean,
            axis=0,
            n_resamples=n_resamples,
            confidence_level=level,
            method="BCa",
            vectorized=True,
            batch=max(1, memory // sample.nbytes),
            rng=seed,
        )
        low[varied], high[varied] = result.confidence_interval
    if x.ndim == 1:
        return mean.item(), low.item(), high.item()
    return mean, low, high


def resample_means(values, n_resamples=RESAMPLES, seed=0, memory=2**26):
    """Means of all cells over the same resampled examples: one draw of examples serves every cell.

    A resample is a vector of multiplicities w ~ Multinomial(n, 1/n), and its means are w @ values / n: one
    matrix product for all cells. Stratify by calling it once a data set; apply any statistic to the rows.

    Args:
        values: (examples, cells).
        n_resamples: number of resamples.
        seed: of the resamples.
        memory: bound of a block of multiplicities in bytes.

    Returns:
        (resamples, cells).

    Raises:
        ValueError: for no examples and for values that are not finite.

    >>> means = resample_means([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]], n_resamples=5)
    >>> means.shape, (means[:, 1] - means[:, 0]).round(9).tolist()
    ((5, 2), [1.0, 1.0, 1.0, 1.0, 1.0])
    """
    x = _finite(values)  # (examples, cells)
    n = len(x)
    rng = np.random.default_rng(seed)
    chunk = max(1, memory // (8 * n))
    sizes = [min(chunk, n_resamples - start) for start in range(0, n_resamples, chunk)]
    weights = (rng.multinomial(n, np.full(n, 1 / n), size=size) for size in sizes)
    return np.concatenate([w @ x / n for w in weights])  # (resamples, cells)


def percentile_interval(resampled, level=LEVEL):
    """Percentile interval of a resampled statistic, over axis 0; for figures.

    Args:
        resampled: (resamples, ...).
        level: confidence level.

    Returns:
        (low, high).

    Raises:
        ValueError: for no resamples and for values that are not finite.

    >>> [round(float(end), 2) for end in percentile_interval(range(101), level=0.9)]
    [5.0, 95.0]
    """
    tail = (1 - level) / 2
    return tuple(np.quantile(_finite(resampled), [tail, 1 - tail], axis=0))


def rank_sum(a, b):
    """Two-sided p of the Wilcoxon rank-sum test (= Mann-Whitney U), normal approximation.

    `scipy.stats.mannwhitneyu` without continuity correction: the same number as `scipy.stats.ranksums` where
    no values are tied, and corrected for ties where they are (diagnosticity indicators are 0 or 1, so nearly
    all are tied). It treats the two samples as independent, although two metrics on the same examples are
    paired: it is the test of the soft-metrics paper.

    Args:
        a: (examples of one sample,).
        b: (examples of the other,).

    Returns:
        The p-value; 1 where both samples hold one and the same value.

    Raises:
        ValueError: for an empty sample and for values that are not finite.

    >>> round(rank_sum([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]), 4)
    0.009
    """
    a, b = _finite(a), _finite(b)
    if np.ptp(np.concatenate([a, b])) == 0:
        return 1.0
    test = stats.mannwhitneyu(a, b, use_continuity=False, method="asymptotic")
    return float(test.pvalue)


def t_test(a, b):
    """Two-sided p of Student's t-test of two independent samples (`scipy.stats.ttest_ind`).

    Args:
        a: (values of one sample,).
        b: (values of the other,).

    Returns:
        The p-value; NaN where a sample has fewer than two values or neither varies.

    Raises:
        ValueError: for values that are not finite.

    >>> round(t_test([0.8, 0.9], [0.6, 0.7]), 3)
    0.106
    """
    a, b = (np.asarray(x, dtype=float) for x in (a, b))
    if min(len(a), len(b)) < 2 or max(np.ptp(a), np.ptp(b)) == 0:
        return np.nan
    return float(stats.ttest_ind(_finite(a), _finite(b)).pvalue)
