"""Intervals, tests and verdicts, all over examples.

Two bootstraps. `mean_interval` gives every cell of a table its own BCa interval (scipy). For claims
(functions of many cells at once: an average, a count of wins, a spread over attributions)
`resample_means` draws whole *examples*, so that all cells of a data set move together: an example
that is hard for one attribution is hard for the others, and a paired resample keeps that.
"""

import numpy as np
from scipy import stats

RESAMPLES = 1000
LEVEL = 0.95
VERDICTS = ("holds", "does not hold", "inconclusive")


def mean_interval(values, n_resamples=RESAMPLES, level=LEVEL, seed=0, memory=2**26):
    """Mean over examples with its bootstrap interval (BCa, Efron 1987; `scipy.stats.bootstrap`).

    values: (examples,) or (examples, cells), the cells of one table on the same examples. Returns
    (mean, low, high), each of shape (cells,) or a float. A cell without variance, or with a single
    example, has the interval [mean, mean]. `memory` bounds a resampled block in bytes.
    Raises ValueError for no examples and for values that are not finite.
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

    values: (examples, cells). Returns (resamples, cells). A resample is a vector of multiplicities
    w ~ Multinomial(n, 1/n), and its means are w @ values / n: one matrix product for all cells.
    Stratify by calling it once a data set; apply any statistic to the rows.
    """
    x = _finite(values)  # (examples, cells)
    n = len(x)
    rng = np.random.default_rng(seed)
    chunk = max(1, memory // (8 * n))
    sizes = [min(chunk, n_resamples - start) for start in range(0, n_resamples, chunk)]
    weights = (rng.multinomial(n, np.full(n, 1 / n), size=size) for size in sizes)
    return np.concatenate([w @ x / n for w in weights])  # (resamples, cells)


def percentile_interval(resampled, level=LEVEL):
    """Percentile interval of a resampled statistic: (low, high) over axis 0, NaN not allowed."""
    tail = (1 - level) / 2
    return tuple(np.quantile(_finite(resampled), [tail, 1 - tail], axis=0))


def rank_sum(a, b):
    """Two-sided p of the Wilcoxon rank-sum test (= Mann-Whitney U), normal approximation.

    `scipy.stats.mannwhitneyu` without continuity correction: the same number as
    `scipy.stats.ranksums` where no values are tied, and corrected for ties where they are
    (diagnosticity indicators are 0 or 1, so nearly all are tied). It treats the two samples as
    independent, which two metrics on the same examples are not: the paper's test, not the better
    one.
    Two samples that hold one and the same value give p = 1.
    """
    a, b = _finite(a), _finite(b)
    if np.ptp(np.concatenate([a, b])) == 0:
        return 1.0
    test = stats.mannwhitneyu(a, b, use_continuity=False, method="asymptotic")
    return float(test.pvalue)


def t_test(a, b):
    """Two-sided p of Student's t-test of two independent samples (`scipy.stats.ttest_ind`).

    NaN where a sample has fewer than two values or neither varies: there is no spread to compare with.
    """
    a, b = (np.asarray(x, dtype=float) for x in (a, b))
    if min(len(a), len(b)) < 2 or max(np.ptp(a), np.ptp(b)) == 0:
        return np.nan
    return float(stats.ttest_ind(_finite(a), _finite(b)).pvalue)


def mean_over_groups(groups, level=LEVEL):
    """Mean of the groups' means with its t interval, for few values a group (seeds): (mean, low, high).

    groups: list of (values,), of K groups of n_k values. The variance s² within groups is pooled:
    mean ± t · s/K · sqrt(sum_k 1/n_k), t of sum_k (n_k - 1) degrees of freedom. A bootstrap of two or three
    seeds would be far too narrow. The ends are NaN where no group has two values.
    """
    groups = [_finite(values) for values in groups]
    mean = float(np.mean([x.mean() for x in groups]))
    freedom = sum(len(x) - 1 for x in groups)
    if freedom == 0:
        return mean, np.nan, np.nan
    pooled = sum(((x - x.mean()) ** 2).sum() for x in groups) / freedom
    error = np.sqrt(pooled * sum(1 / len(x) for x in groups)) / len(groups)
    reach = stats.t.ppf((1 + level) / 2, freedom) * error
    return mean, float(mean - reach), float(mean + reach)


def monte_carlo_error(draws, axis=-1):
    """Standard error of a mean over random draws: sd(draws) / sqrt(number of draws), ddof 1.

    NaN for a single draw: one draw says nothing about its own noise.
    """
    draws = np.asarray(draws, dtype=float)
    n = draws.shape[axis]
    if n < 2:
        return np.full(np.delete(draws.shape, axis), np.nan)[()]
    return draws.std(axis=axis, ddof=1) / np.sqrt(n)


def verdict(low, high, relation, bound=0.0):
    """Does an interval satisfy a claimed relation: "holds", "does not hold" or "inconclusive".

    relation: ">" or "<" against the bound (">=" and "<=" include it). It holds if the whole
    interval satisfies the relation, does not hold if no point of it does, else it is inconclusive.
    Raises ValueError for another relation, and for an interval that is reversed or not a number.
    """
    relations = {">": np.greater, ">=": np.greater_equal, "<": np.less, "<=": np.less_equal}
    if relation not in relations:
        raise ValueError(f"unknown relation {relation!r}: use one of {', '.join(relations)}")
    if not low <= high:
        raise ValueError(f"[{low}, {high}] is not an interval: give low <= high, both numbers")
    satisfied = relations[relation](np.array([low, high]), bound)
    if satisfied.all():
        return "holds"
    return "inconclusive" if satisfied.any() else "does not hold"


def _finite(values):
    x = np.asarray(values, dtype=float)
    if x.size == 0:
        raise ValueError("no values: a mean over examples needs at least one example")
    if not np.isfinite(x).all():
        bad = np.count_nonzero(~np.isfinite(x))
        raise ValueError(f"{bad} of {x.size} values are NaN or infinite: drop or repair them first")
    return x
