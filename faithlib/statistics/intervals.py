"""Intervals of claims, by the unit of replication: trained models, texts, or both."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import special

from faithlib.statistics import base
from faithlib.statistics.base import FEWEST_UNITS, LEVEL, stream, t_quantile

ANY = -math.inf, math.inf  # limits of a statistic that has none
DRAWS = 10_000  # of an interval of a claim
EQUAL = "all values are equal"  # why values of enough units have no interval
FEWEST_TEXTS = 30  # a bootstrap needs
BORDERLINE = 4.0  # Monte-Carlo errors from bound to threshold: two of this stream, two of another
BLOCK = 2**16  # values drawn at a time, which fit a cache; the result does not depend on it


@dataclass(frozen=True)
class Interval:
    """A mean and its t interval: value ± max over components of t(df) · se.

    Attributes:
        value: the estimate.
        unit: what was replicated ("seed", "text", "fact").
        n_units: how many of them.
        components: (standard error, degrees of freedom) of each t interval; the widest counts. A crossed
            design has two, the two-way one and t over seeds. Empty where there is no interval.
        design: "seeds", "nested", "crossed", "texts", "share" or "average".
        n_texts: texts of a crossed design, else 0.
        limits: range of the statistic; the ends are clipped to it.
        reason: why there is no interval, else "".
        looks: at a verdict, with another number of units each time; ends and p-values allow for all of them
            (Bonferroni).

    >>> print(seeds_interval([0.1, 0.2, 0.3]))
    +0.200 [-0.048, +0.448] (3 seeds)
    """

    value: float
    unit: str
    n_units: int
    components: tuple[tuple[float, float], ...] = ()
    design: str = "seeds"
    n_texts: int = 0
    limits: tuple[float, float] = ANY
    reason: str = ""
    looks: int = 1

    @property
    def exists(self):
        """False where the value has no interval; `reason` says why."""
        return bool(self.components)

    @property
    def low(self):
        """Lower end of the 95 % interval; NaN where there is none."""
        return self.ends()[0]

    @property
    def high(self):
        """Upper end of the 95 % interval; NaN where there is none."""
        return self.ends()[1]

    @property
    def df(self):
        """Degrees of freedom of the component that gives the 95 % interval; NaN where there is none."""
        if not self.exists:
            return math.nan
        return max(self.components, key=lambda part: part[0] * t_quantile(0.5 + LEVEL / 2, part[1]))[1]

    def ends(self, level=LEVEL):
        """Both ends at a two-sided confidence level: (low, high), (NaN, NaN) where there is no interval."""
        base.check_level(level)
        if not self.exists:
            return math.nan, math.nan
        low, high = self._ends(1 - (1 - level) / self.looks)
        return max(low, self.limits[0]), min(high, self.limits[1])

    def pvalue(self, relation=">", bound=0.0):
        """One-sided p of the claim `value relation bound`: at most .025 where the 95 % interval shows it.

        It is 1 where there is no interval. ">=" and "<=" are the same tests as ">" and "<".
        """
        side = base.direction(relation)
        return min(1.0, self.looks * self._pvalue(side, bound)) if self.exists else 1.0

    def two_sided(self, bound=0.0):
        """Two-sided p of `value = bound`; 1 where there is no interval."""
        return min(1.0, 2 * min(self.pvalue(">", bound), self.pvalue("<", bound)))

    def borderline(self, bound=0.0, level=LEVEL):
        """Is an end so near the bound that another stream may cross it? Never without a bootstrap."""
        errors = self._errors(1 - (1 - level) / self.looks) if self.exists else (0.0, 0.0)
        pairs = zip(self.ends(level), errors, strict=True)
        return any(error > 0 and abs(end - bound) <= BORDERLINE * error for end, error in pairs)

    def __str__(self):
        ends = f" [{self.low:+.3f}, {self.high:+.3f}]" if self.exists else ""
        return f"{self.value:+.3f}{ends} ({self.n_units} {self.unit}{'s' * (self.n_units != 1)})"

    def _ends(self, level):
        reach = max(se * t_quantile(0.5 + level / 2, df) for se, df in self.components)
        return self.value - reach, self.value + reach

    def _pvalue(self, side, bound):
        distance = side * (self.value - bound)
        return max(float(special.stdtr(df, -distance / se)) for se, df in self.components)

    def _errors(self, level):
        return 0.0, 0.0


@dataclass(frozen=True)
class BootstrapInterval(Interval):
    """A mean and its studentised bootstrap interval: [value - q(.975) · se, value - q(.025) · se].

    `pivots` are the sorted (mean* - mean) / se* of the resamples, whose quantiles are q.
    """

    pivots: np.ndarray = field(default=None, repr=False, compare=False)

    def _ends(self, level):
        (se, _), tail = self.components[0], (1 - level) / 2
        return self.value - self._quantile(1 - tail) * se, self.value - self._quantile(tail) * se

    def _pvalue(self, side, bound):
        pivot = (self.value - bound) / self.components[0][0]
        beyond = np.searchsorted(self.pivots, pivot, "right")
        if side > 0:
            beyond = len(self.pivots) - np.searchsorted(self.pivots, pivot)
        return float((1 + beyond) / (1 + len(self.pivots)))

    def _errors(self, level):
        """Standard errors of both ends: half the distance of the order statistics one error away."""
        (se, _), tail = self.components[0], (1 - level) / 2
        spread, at = math.sqrt(tail * (1 - tail) / len(self.pivots)), self._quantile
        return tuple(se * (at(p + spread) - at(p - spread)) / 2 for p in (1 - tail, tail))

    def _quantile(self, p):
        """The order statistic at p, rounded away from the median."""
        n = len(self.pivots)
        rank = math.ceil(p * (n + 1) - 1e-9) if p > 0.5 else math.floor(p * (n + 1) + 1e-9)
        return float(self.pivots[min(max(rank, 1), n) - 1])


def seeds_interval(values: Any, unit: str = "seed", limits: tuple[float, float] = ANY) -> Interval:
    """t interval of a mean over trained models: mean ± t(S - 1) · sd / √S (Student 1908).

    Args:
        values: (seeds,), one number a seed.
        unit: name of what was replicated.
        limits: range of the statistic, to which the ends are clipped.

    Returns:
        Interval; without ends for fewer than three seeds and for values that are all equal.

    Raises:
        ValueError: for no values, for values that are not finite or not one a seed.

    >>> print(seeds_interval([0.034, -0.031, 0.02]))
    +0.008 [-0.077, +0.093] (3 seeds)
    >>> seeds_interval([0.034, -0.031]).reason
    '2 seeds: an interval needs 3'
    """
    x = base.vector(values, f"one number a {unit}")
    mean, n = float(x.mean()), len(x)
    if reason := _no_interval(x, n, unit):
        return Interval(mean, unit, n, design="seeds", limits=limits, reason=reason)
    return Interval(mean, unit, n, ((base.standard_error(x), n - 1),), "seeds", limits=limits)


def nested_interval(groups: Any, unit: str = "seed", limits: tuple[float, float] = ANY) -> Interval:
    """t interval over the seeds' means, where every seed has its own texts.

    The spread of the means contains that of the texts, so texts need no term of their own.

    Args:
        groups: one array of values (texts of that seed,) a seed; seeds weigh the same.

    >>> print(nested_interval([[0.1, 0.3], [0.2, 0.4, 0.6], [0.1]]))
    +0.233 [-0.146, +0.613] (3 seeds)
    """
    means = [base.vector(values, "one array of texts a seed").mean() for values in groups]
    return replace(seeds_interval(means, unit, limits), design="nested")


def crossed_interval(values: Any, unit: str = "seed", limits: tuple[float, float] = ANY) -> Interval:
    """Interval of a mean over (seeds, texts), where all seeds see the same texts.

    With MA = T · var(seed means), MB = S · var(text means) and ME the residual mean square, the variance of
    the mean is M / (S T), M = max(MA + MB - ME, MA, MB). Its degrees of freedom are Satterthwaite's (1946),
    max(S - 1, M² / (MA²/(S-1) + MB²/(T-1) + ME²/((S-1)(T-1)))). The wider of this t interval and of t over
    the seeds' means is returned.

    Returns:
        Interval with components (two-way, over seeds); without ends for fewer than three seeds or texts and
        where all values, or those of all seeds, are equal.

    Raises:
        ValueError: for another shape and values that are not finite.

    >>> print(crossed_interval(0.1 * np.arange(3)[:, None] + stream("example").normal(size=(3, 100))).n_texts)
    100
    """
    # One order of summation: the same bits from every table.
    x = np.ascontiguousarray(base.check_finite(values))
    if x.ndim != 2:
        raise ValueError(f"values of shape {x.shape} are not seeds × texts: give two axes")
    seeds, texts = x.shape
    mean = float(x.mean())
    result = Interval(mean, unit, seeds, design="crossed", n_texts=texts, limits=limits)
    if reason := _no_interval(x, seeds, unit) or (texts < FEWEST_UNITS and too_few(texts, "text")):
        return replace(result, reason=reason)
    if base.constant(x - x[0], scale=x):
        return replace(result, reason=f"every {unit} has the same values: one model")
    by_seed, by_text = x.mean(axis=1), x.mean(axis=0)
    ma, mb = texts * by_seed.var(ddof=1), seeds * by_text.var(ddof=1)
    rest = x - by_seed[:, None] - by_text + mean
    me = (rest**2).sum() / ((seeds - 1) * (texts - 1))
    m = max(ma + mb - me, ma, mb)
    spread = ma**2 / (seeds - 1) + mb**2 / (texts - 1) + me**2 / ((seeds - 1) * (texts - 1))
    two_way = (math.sqrt(m / (seeds * texts)), max(seeds - 1.0, float(m**2 / spread)))
    over_seeds = (math.sqrt(ma / (seeds * texts)), seeds - 1)
    return replace(result, components=(two_way, over_seeds) if over_seeds[0] > 0 else (two_way,))


def text_interval(
    values: Any, names: Any = (), unit: str = "text", n_resamples: int = DRAWS, limits: tuple = ANY
) -> Interval:
    """Interval of a mean over the texts of one model: t below 30 texts, studentised bootstrap from 30.

    The bootstrap draws texts with replacement, 10,000 times; [mean - q(.975) · se, mean - q(.025) · se] with
    q the quantiles of (mean* - mean) / se* (Efron & Tibshirani 1993, section 12.5). `Interval.borderline`
    compares its Monte-Carlo error with the distance to a threshold. Observations of one cluster (prompts of
    one fact) are averaged before.

    Args:
        values: (texts,).
        names: what the interval is of (data set, model, statistic): names its random stream.
        unit, limits: as in `seeds_interval`.
        n_resamples: number of draws.

    Returns:
        Interval (t) or BootstrapInterval; without ends for fewer than three texts, values that are all
        equal, and where so few differ that 2.5 % of the resamples are constant.

    Raises:
        ValueError: for no values, values that are not finite, and a bootstrap without names.

    >>> print(text_interval([0.2, 0.5, 0.1, 0.4]))
    +0.300 [+0.009, +0.591] (4 texts)
    """
    x = base.vector(values, f"one number a {unit}")
    mean, n = float(x.mean()), len(x)
    result = Interval(mean, unit, n, design="texts", limits=limits)
    if reason := _no_interval(x, n, unit):
        return replace(result, reason=reason)
    components = ((base.standard_error(x), n - 1),)
    if n < FEWEST_TEXTS:
        return replace(result, components=components)
    pivots = _pivots(x, stream(*names), n_resamples)
    boot = BootstrapInterval(mean, unit, n, components, "texts", limits=limits, pivots=pivots)
    if not np.isfinite(boot._ends(LEVEL)).all():
        return replace(result, reason=f"too few of {n} {unit}s differ: give a share")
    return boot


def too_few(n, unit):
    return f"{n} {unit}{'s' * (n != 1)}: an interval needs {FEWEST_UNITS}"


def _no_interval(x, n, unit):
    """Why these values of n units have no interval; "" if they have one."""
    if n < FEWEST_UNITS:
        return too_few(n, unit)
    return EQUAL if base.constant(x) else ""


def _pivots(x, rng, n_resamples):
    """Sorted (mean* - mean) / se* of resamples of x; infinite where a resample is constant."""
    n, centred = len(x), x - x.mean()
    smallest = 1e-12 * centred.var()
    rows = max(1, BLOCK // n)  # of resamples at a time
    pivots = []
    for start in range(0, n_resamples, rows):
        drawn = centred.take(rng.integers(n, size=(min(rows, n_resamples - start), n)))
        mean = drawn.mean(axis=1)
        variance = (np.einsum("ij,ij->i", drawn, drawn) - n * mean**2) / (n - 1)
        with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 sorts last, as infinite
            pivots.append(mean / np.sqrt(np.where(variance > smallest, variance, 0) / n))
    return np.sort(np.concatenate(pivots))
