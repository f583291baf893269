"""Intervals and tests.

Intervals of claims (`faithlib.verdicts` turns them into verdicts) depend on the unit of replication:

| design | function | interval |
|---|---|---|
| trained models (seeds), one number each | `seeds_interval` | t over seeds |
| every seed has its own texts | `nested_interval` | t over the seeds' means |
| every seed has the same texts | `crossed_interval` | two-way, never narrower than t over seeds |
| one model | `text_interval` | t below 30 texts, studentised bootstrap from 30 |
| a share of tests | `share_interval` | Wilson, corrected for clusters |

`interval_from_table` chooses among them for a long table. Fewer than three units, or values that are all
equal, have no interval.

Intervals of figures and of single table cells: `mean_interval` (BCa bootstrap) and `percentile_interval` of
`resample_means`, a bootstrap of whole examples: all cells of a data set share one resample, so the
correlation between cells on the same examples is kept.
"""

import hashlib
import json
import math
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import special, stats

RESAMPLES = 1000  # of an interval in a figure
DRAWS = 10_000  # of an interval of a claim
LEVEL = 0.95
VERDICTS = ("holds", "does not hold", "inconclusive")
FEWEST_UNITS = 3  # an interval needs
FEWEST_TEXTS = 30  # a bootstrap needs
BORDERLINE = 2.0  # Monte-Carlo errors between a bootstrap bound and a threshold
DRAW_COUNTS = (1, 2, 4, 8, 16)
DESIGNS = ("seeds", "nested", "crossed")
BLOCK = 2**21  # values drawn at a time: bounds the memory of a bootstrap, not its result
CONSTANT = 1e-12  # relative: values that differ by less are equal up to rounding


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

    >>> interval = seeds_interval([0.1, 0.2, 0.3])
    >>> print(interval)
    +0.200 [-0.048, +0.448] (3 seeds)
    >>> [round(end, 3) for end in interval.ends(0.9)]
    [0.031, 0.369]
    """

    value: float
    unit: str
    n_units: int
    components: tuple[tuple[float, float], ...] = ()
    design: str = "seeds"
    n_texts: int = 0
    limits: tuple[float, float] = (-math.inf, math.inf)
    reason: str = ""

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
        if not self.exists:
            return math.nan, math.nan
        low, high = self._ends(level)
        return max(low, self.limits[0]), min(high, self.limits[1])

    def pvalue(self, relation=">", bound=0.0):
        """One-sided p of the claim `value relation bound`: at most .025 where the 95 % interval shows it.

        Args:
            relation: ">" or "<" (">=" and "<=" are the same test).
            bound: the threshold.

        Returns:
            The p-value, 1 where there is no interval.

        Raises:
            ValueError: for another relation.
        """
        side = direction(relation)
        return self._pvalue(side, bound) if self.exists else 1.0

    def two_sided(self, bound=0.0):
        """Two-sided p of `value = bound`; 1 where there is no interval."""
        return min(1.0, 2 * min(self.pvalue(">", bound), self.pvalue("<", bound)))

    def borderline(self, bound=0.0, level=LEVEL):
        """Is an end within two Monte-Carlo errors of the bound? Never for intervals without a bootstrap."""
        errors = self._errors(level) if self.exists else (0.0, 0.0)
        return any(
            error > 0 and abs(end - bound) <= BORDERLINE * error
            for end, error in zip(self.ends(level), errors, strict=True)
        )

    def clip(self, low, high):
        """The same interval of a statistic that lies within [low, high]."""
        return replace(self, limits=(low, high))

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

    Attributes:
        pivots: sorted (mean* - mean) / se* of the resamples, whose quantiles are q.
    """

    pivots: np.ndarray = field(default=None, repr=False, compare=False)

    def _ends(self, level):
        (se, _), tail = self.components[0], (1 - level) / 2
        return self.value - self._quantile(1 - tail) * se, self.value - self._quantile(tail) * se

    def _pvalue(self, side, bound):
        pivot = (self.value - bound) / self.components[0][0]
        beyond = (
            len(self.pivots) - np.searchsorted(self.pivots, pivot)
            if side > 0
            else np.searchsorted(self.pivots, pivot, "right")
        )
        return float((1 + beyond) / (1 + len(self.pivots)))

    def _errors(self, level):
        """Standard errors of both ends: half the distance of the order statistics one error away."""
        (se, _), tail = self.components[0], (1 - level) / 2
        spread = math.sqrt(tail * (1 - tail) / len(self.pivots))
        return tuple(
            se * (self._quantile(p + spread) - self._quantile(p - spread)) / 2 for p in (1 - tail, tail)
        )

    def _quantile(self, p):
        """The order statistic at p, rounded away from the median."""
        n = len(self.pivots)
        rank = math.ceil(p * (n + 1) - 1e-9) if p > 0.5 else math.floor(p * (n + 1) + 1e-9)
        return float(self.pivots[min(max(rank, 1), n) - 1])


@dataclass(frozen=True)
class ShareInterval(Interval):
    """A share and its Wilson interval, with n / deff observations and the t quantile of clusters - 1.

    Attributes:
        effective: n / deff.
        deff: design effect, by how much clusters inflate the variance.
    """

    effective: float = math.nan
    deff: float = math.nan

    def _ends(self, level):
        n, q = self.effective, t_quantile(0.5 + level / 2, self.components[0][1])
        centre = (self.value + q * q / (2 * n)) / (1 + q * q / n)
        reach = q / (1 + q * q / n) * math.sqrt(self.value * (1 - self.value) / n + q * q / (4 * n * n))
        return max(0.0, centre - reach), min(1.0, centre + reach)

    def _pvalue(self, side, bound):
        distance = side * (self.value - bound)
        se = math.sqrt(max(0.0, bound * (1 - bound)) / self.effective)
        t = distance / se if se > 0 else math.copysign(math.inf, distance) if distance else 0.0
        return float(special.stdtr(self.components[0][1], -t))


def seeds_interval(values, unit="seed", limits=(-math.inf, math.inf)):
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
    x = _vector(values, f"one number a {unit}")
    mean, n = float(x.mean()), len(x)
    if reason := _no_interval(x, n, unit):
        return Interval(mean, unit, n, design="seeds", limits=limits, reason=reason)
    return Interval(mean, unit, n, ((_standard_error(x), n - 1),), "seeds", limits=limits)


def nested_interval(groups, unit="seed", limits=(-math.inf, math.inf)):
    """t interval over the seeds' means, where every seed has its own texts.

    The spread of the means contains that of the texts, so texts need no term of their own.

    Args:
        groups: one array of values (texts of that seed,) a seed; seeds weigh the same.
        unit: name of what was replicated.
        limits: range of the statistic, to which the ends are clipped.

    Returns:
        Interval, see `seeds_interval`.

    Raises:
        ValueError: for no seeds, a seed without texts, values that are not finite.

    >>> print(nested_interval([[0.1, 0.3], [0.2, 0.4, 0.6], [0.1]]))
    +0.233 [-0.146, +0.613] (3 seeds)
    """
    means = [_vector(values, "one array of texts a seed").mean() for values in groups]
    return replace(seeds_interval(means, unit, limits), design="nested")


def crossed_interval(values, unit="seed", limits=(-math.inf, math.inf)):
    """Interval of a mean over seeds × texts, where all seeds see the same texts.

    With MA = T · var(seed means), MB = S · var(text means) and ME the residual mean square, the variance of
    the mean is M / (S T), M = max(MA + MB - ME, MA, MB). Its degrees of freedom are Satterthwaite's (1946),
    max(S - 1, M² / (MA²/(S-1) + MB²/(T-1) + ME²/((S-1)(T-1)))). The wider of this t interval and of t over
    the seeds' means is returned.

    Args:
        values: (seeds, texts).
        unit: name of the first axis.
        limits: range of the statistic, to which the ends are clipped.

    Returns:
        Interval with components (two-way, over seeds); without ends for fewer than three seeds or texts and
        where all values, or those of all seeds, are equal.

    Raises:
        ValueError: for another shape and values that are not finite.

    >>> rng = stream("crossed_interval", "example")
    >>> values = 0.1 + 0.05 * rng.normal(size=(3, 1)) + 0.2 * rng.normal(size=100) + np.zeros((3, 100))
    >>> interval = crossed_interval(values + 0.2 * rng.normal(size=(3, 100)))
    >>> interval.n_units, interval.n_texts, len(interval.components)
    (3, 100, 2)
    """
    x = np.ascontiguousarray(_finite(values))  # one order of summation: the same bits from every table
    if x.ndim != 2:
        raise ValueError(f"values of shape {x.shape} are not seeds × texts: give two axes")
    seeds, texts = x.shape
    mean = float(x.mean())
    result = Interval(mean, unit, seeds, design="crossed", n_texts=texts, limits=limits)
    if reason := _no_interval(x, seeds, unit) or (texts < FEWEST_UNITS and _too_few(texts, "text")):
        return replace(result, reason=reason)
    if _constant(x - x[0], scale=x):
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


def text_interval(values, names=(), unit="text", n_resamples=DRAWS, limits=(-math.inf, math.inf)):
    """Interval of a mean over the texts of one model: t below 30 texts, studentised bootstrap from 30.

    The bootstrap draws texts with replacement, 10,000 times; [mean - q(.975) · se, mean - q(.025) · se] with
    q the quantiles of (mean* - mean) / se* (Efron & Tibshirani 1993, section 12.5). `Interval.borderline`
    compares its Monte-Carlo error with the distance to a threshold. Observations of one cluster (prompts of
    one fact) are averaged before.

    Args:
        values: (texts,).
        names: what the interval is of (data set, model, statistic): names its random stream.
        unit: what one value is of.
        n_resamples: number of draws.
        limits: range of the statistic, to which the ends are clipped.

    Returns:
        Interval (t) or BootstrapInterval; without ends for fewer than three texts, values that are all
        equal, and where so few differ that 2.5 % of the resamples are constant.

    Raises:
        ValueError: for no values, values that are not finite, and a bootstrap without names.

    >>> print(text_interval([0.2, 0.5, 0.1, 0.4]))
    +0.300 [+0.009, +0.591] (4 texts)
    >>> values = stream("text_interval", "example").exponential(size=50)
    >>> first, again = (text_interval(values, names=("sst", "minilm", "soft_ns")) for _ in range(2))
    >>> (first.low, first.high) == (again.low, again.high)
    True
    """
    x = _vector(values, f"one number a {unit}")
    mean, n = float(x.mean()), len(x)
    result = Interval(mean, unit, n, design="texts", limits=limits)
    if reason := _no_interval(x, n, unit):
        return replace(result, reason=reason)
    components = ((_standard_error(x), n - 1),)
    if n < FEWEST_TEXTS:
        return replace(result, components=components)
    pivots = _pivots(x, stream(*names), n_resamples)
    boot = BootstrapInterval(mean, unit, n, components, "texts", limits=limits, pivots=pivots)
    if not np.isfinite(boot._ends(LEVEL)).all():
        return replace(result, reason=f"too few of {n} {unit}s differ: give a share")
    return boot


def share_interval(true, clusters=None, unit="cluster"):
    """Wilson interval of a share, corrected for observations that come in clusters.

    n / deff observations (Kish 1965) and the t quantile of K - 1 clusters take the place of n and z in
    Wilson's (1927) interval. deff is the variance of the share by clusters, K/(K-1) Σ(y_k - p m_k)² / n²
    with y_k of m_k true, over the binomial p (1 - p) / n, kept within [1, Σm_k²/n]. For clusters of one
    size m: m · var(shares) / (p (1 - p)), within [1, m].

    deff is estimated with two clusters of mean size added, one all true and one all false. Near 0 and 1 it
    rests on the few clusters that fail, and where none happens to, the plain estimate is close to 1: with 50
    clusters of ten tests, half of them with one outcome for all ten, the interval of a true share of .95 lay
    above .95 in 17 % of simulated studies, with the added clusters in none. All or none true: deff = m.

    Args:
        true: (observations,), truth values.
        clusters: (observations,), labels; None: every observation is its own cluster.
        unit: what a cluster is.

    Returns:
        ShareInterval; without ends for fewer than three clusters. Its ends lie within [0, 1] and have a
        width where all are true, too.

    Raises:
        ValueError: for no observations, other values than truth values, another number of labels.

    >>> print(share_interval([True] * 95 + [False] * 5))
    +0.950 [+0.887, +0.979] (100 clusters)
    >>> whole = share_interval([True] * 95 + [False] * 5, clusters=np.arange(100) // 5)  # one cluster fails
    >>> print(whole, whole.deff)
    +0.950 [+0.746, +0.992] (20 clusters) 5.0
    """
    x = _vector(true, "one truth value an observation")
    if not np.isin(x, (0, 1)).all():
        raise ValueError("a share is of truth values: give True or False (1 or 0)")
    labels = np.arange(len(x)) if clusters is None else np.asarray(clusters)
    if labels.shape != x.shape:
        raise ValueError(f"{len(x)} observations, but cluster labels of shape {labels.shape}: give one each")
    index, sizes = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    n, p, k = len(x), float(x.mean()), len(sizes)
    result = ShareInterval(p, unit, k, design="share", limits=(0.0, 1.0))
    if k < FEWEST_UNITS:
        return replace(result, reason=_too_few(k, unit))
    m = np.append(sizes, [n / k, n / k])
    y = np.append(np.bincount(index, weights=x), [n / k, 0])
    added = y.sum() / m.sum()  # the share with the two added clusters
    inflation = (k + 2) / (k + 1) * ((y - added * m) ** 2).sum() / m.sum() / (added * (1 - added))
    deff = float(np.clip(inflation, 1, (sizes**2).sum() / n))
    found = replace(result, effective=n / deff, deff=deff, components=((math.nan, k - 1),))
    low, high = found.ends()
    se = (high - low) / 2 / t_quantile(0.5 + LEVEL / 2, k - 1)
    return replace(found, components=((se, k - 1),))


def interval_from_table(
    table,
    design,
    names=(),
    value="value",
    seed="seed",
    text="text",
    cluster=None,
    limits=(-math.inf, math.inf),
):
    """The interval of a mean that the design of a long table asks for.

    One seed has the interval over its texts ("this model"), two seeds have none, three and more that of the
    design. With "seeds" texts never stand in for seeds. A crossed design keeps the texts that have a finite
    value with every seed.

    Args:
        table: DataFrame, one row a value.
        design: "seeds" (one value a seed), "nested" (own texts) or "crossed" (same texts).
        names: what the interval is of (data set, model, statistic): names the random stream.
        value: column of the values.
        seed: column of the seeds.
        text: column of the texts, for "nested" and "crossed".
        cluster: column of clusters of texts (facts); they are averaged first and are the unit then.
        limits: range of the statistic, to which the ends are clipped.

    Returns:
        Interval.

    Raises:
        ValueError: for another design, a column that is not there, two rows of one seed and text, no values,
            and seeds without a common text.

    >>> from pandas import DataFrame
    >>> table = DataFrame({"seed": [0, 1, 2], "value": [0.1, 0.2, 0.3]})
    >>> print(interval_from_table(table, "seeds"))
    +0.200 [-0.048, +0.448] (3 seeds)
    """
    if design not in DESIGNS:
        raise ValueError(f"unknown design {design!r}: use one of {', '.join(DESIGNS)}")
    keys = [seed] if design == "seeds" else [seed, text]
    if missing := {value, *keys, *filter(None, [cluster])} - set(table):
        raise ValueError(f"the table has no column {', '.join(sorted(missing))}")
    twice = table.duplicated(keys)
    if twice.any():
        raise ValueError(f"{twice.sum()} rows repeat {' and '.join(keys)}: give one value each")
    if design == "seeds":
        return seeds_interval(table[value].dropna(), seed, limits)
    unit = text
    if cluster is not None:
        table = table.groupby([seed, cluster], as_index=False)[value].mean()
        unit = cluster
    wide = table.pivot(index=seed, columns=unit, values=value).dropna(how="all")
    if wide.empty:
        raise ValueError("the table has no values: give one row a value")
    if len(wide) == 1:
        return text_interval(wide.iloc[0].dropna(), names, unit, limits=limits)
    if design == "nested":
        return nested_interval([row.dropna() for _, row in wide.iterrows()], seed, limits)
    common = wide.dropna(axis=1)
    if common.empty:
        raise ValueError(f"no {unit} has a value with all {len(wide)} seeds: is the design nested?")
    return crossed_interval(common, seed, limits)


@dataclass(frozen=True)
class Ratio:
    """A ratio for the eye and the interval of its numerator for the claim.

    Attributes:
        ratio: mean of the units' ratios, without the excluded ones; NaN where none is left.
        numerator: Interval of the numerator, without the excluded ones.
        numerator_all: Interval of the numerator of all units.
        excluded: how many values have a denominator too small to divide by.
    """

    ratio: float
    numerator: Interval
    numerator_all: Interval
    excluded: int


def ratio_interval(numerators, denominators, smallest, limits=(-math.inf, math.inf)):
    """A ratio whose claim is tested on its numerator, which has the same sign and needs no clip.

    RACU is ACU / (area of the random curve), normalised sufficiency (S - S0) / (1 - S0). Values with a
    denominator below `smallest` mean nothing: they are excluded and counted, and the claim is given with them
    as well.

    Args:
        numerators: (seeds,) or (seeds, texts) of a crossed design.
        denominators: of the same shape.
        smallest: denominators below are excluded; a text goes with all its seeds.
        limits: range of the numerator.

    Returns:
        Ratio.

    Raises:
        ValueError: for different shapes, values that are not finite, `smallest` of 0 or less.

    >>> found = ratio_interval([0.10, 0.12, 0.11, 0.3], [0.20, 0.24, 0.22, 0.001], smallest=0.05)
    >>> found.ratio, found.excluded
    (0.5, 1)
    >>> print(found.numerator, found.numerator_all, sep="; ")
    +0.110 [+0.085, +0.135] (3 seeds); +0.158 [+0.006, +0.309] (4 seeds)
    """
    over, under = _finite(numerators), _finite(denominators)
    if over.shape != under.shape:
        raise ValueError(f"numerators {over.shape} and denominators {under.shape} differ in shape")
    if not smallest > 0:
        raise ValueError(f"smallest denominator {smallest}: give a number above 0")
    small = under < smallest
    kept = ~small if over.ndim == 1 else ~small.any(axis=0)
    interval = seeds_interval if over.ndim == 1 else crossed_interval
    if not kept.any():
        none = Interval(math.nan, "seed", 0, limits=limits, reason="every denominator is too small")
        return Ratio(math.nan, none, interval(over, limits=limits), int(small.sum()))
    ratio = float((over[..., kept] / under[..., kept]).mean())
    return Ratio(
        ratio, interval(over[..., kept], limits=limits), interval(over, limits=limits), int(small.sum())
    )


@dataclass(frozen=True)
class Uncollapsed:
    """A mean over the models that predict more than one class, and the share of those that do not.

    Attributes:
        interval: Interval over the other models.
        share: share of collapsed models.
        collapsed: their number.
    """

    interval: Interval
    share: float
    collapsed: int


def uncollapsed_interval(values, collapsed, limits=(-math.inf, math.inf)):
    """t interval over the seeds whose model did not collapse to one class, and the share that did.

    Args:
        values: (seeds,).
        collapsed: (seeds,), true where the model predicts a single class.
        limits: range of the statistic.

    Returns:
        Uncollapsed.

    Raises:
        ValueError: for different lengths and values that are not finite.

    >>> found = uncollapsed_interval([0.4, 0.5, 0.6, 0.0], [False, False, False, True])
    >>> print(found.interval, found.share)
    +0.500 [+0.252, +0.748] (3 seeds) 0.25
    """
    x, gone = _vector(values, "one number a seed"), np.asarray(collapsed, dtype=bool)
    if gone.shape != x.shape:
        raise ValueError(f"{len(x)} values, but {gone.size} flags: give one a seed")
    if gone.all():
        interval = Interval(math.nan, "seed", 0, limits=limits, reason="every model predicts a single class")
    else:
        interval = seeds_interval(x[~gone], limits=limits)
    return Uncollapsed(interval, float(gone.mean()), int(gone.sum()))


def stream(*names):
    """A random generator named by what it is for: adding a data set changes no other stream.

    Args:
        names: strings or numbers (data set, model, statistic); their SHA-256 is the seed.

    Returns:
        numpy.random.Generator.

    Raises:
        ValueError: for no names.

    >>> stream("sst", "minilm", "soft_ns").integers(1000, size=3).tolist()
    [328, 676, 819]
    >>> stream("ss", "tminilm", "soft_ns").integers(1000, size=3).tolist()  # other names, another stream
    [614, 86, 216]
    """
    if not names:
        raise ValueError("a random stream needs names: what it is for (data set, model, statistic)")
    digest = hashlib.sha256(json.dumps([str(name) for name in names]).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def holm(pvalues):
    """Holm's (1979) adjusted p-values: max over j ≤ i of min(1, (m - j + 1) · p_(j)), in the given order.

    Args:
        pvalues: (tests,).

    Returns:
        (tests,); a test is rejected where its adjusted p is at most the level.

    Raises:
        ValueError: for no p-values and for numbers outside [0, 1].

    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = _vector(pvalues, "one p-value a test")
    if ((p < 0) | (p > 1)).any():
        raise ValueError("p-values lie within [0, 1]")
    order = np.argsort(p, kind="stable")
    steps = np.minimum(1, p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(steps)
    return adjusted


def cumulative_means(draws, at=DRAW_COUNTS, axis=-1):
    """Means of the first 1, 2, 4, 8 and 16 random draws, which show whether more draws change a value.

    Args:
        draws: array with the draws on one axis.
        at: numbers of draws; those above the number there is are left out.
        axis: the axis of the draws.

    Returns:
        {number of draws: mean, without that axis}.

    Raises:
        ValueError: for no draws and for values that are not finite.

    >>> cumulative_means([1.0, 0.0, 1.0, 1.0])
    {1: 1.0, 2: 0.5, 4: 0.75}
    """
    x = np.moveaxis(_finite(draws), axis, 0)
    means = {k: x[:k].mean(axis=0) for k in at if k <= len(x)}
    return {k: mean.item() if mean.ndim == 0 else mean for k, mean in means.items()}


def t_quantile(p, df):
    """Quantile of Student's t (`scipy.stats.t.ppf`, for any degrees of freedom above 0).

    >>> round(t_quantile(1 - 0.025 / 18, 2), 1)  # one-sided Holm, 3 seeds and 18 cases
    18.9
    """
    return float(special.stdtrit(df, p))


def direction(relation):
    """+1 for ">" and ">=", -1 for "<" and "<=".

    Raises:
        ValueError: for another relation.

    >>> direction(">="), direction("<")
    (1, -1)
    """
    sides = {">": 1, ">=": 1, "<": -1, "<=": -1}
    if relation not in sides:
        raise ValueError(f"unknown relation {relation!r}: use one of {', '.join(sides)}")
    return sides[relation]


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


def mean_over_groups(groups, level=LEVEL):
    """Mean of the groups' means with its t interval by a pooled variance; superseded by `verdicts.average`.

    mean ± t · s/K · sqrt(sum_k 1/n_k), t of sum_k (n_k - 1) degrees of freedom, s² the variance within
    groups. It assumes one variance for all groups and lends it to groups of one value.

    Args:
        groups: list of (values,), of K groups of n_k values.
        level: confidence level.

    Returns:
        (mean, low, high); the ends are NaN where no group has two values.

    Raises:
        ValueError: for an empty group and for values that are not finite.

    >>> [round(end, 2) for end in mean_over_groups([[1.0, 2.0, 6.0]])]
    [3.0, -3.57, 9.57]
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

    Args:
        draws: array with the draws on one axis.
        axis: the axis of the draws.

    Returns:
        The standard errors, without that axis; NaN for a single draw.

    >>> round(float(monte_carlo_error([1.0, 2.0, 3.0])), 3)
    0.577
    """
    draws = np.asarray(draws, dtype=float)
    n = draws.shape[axis]
    if n < 2:
        return np.full(np.delete(draws.shape, axis), np.nan)[()]
    return draws.std(axis=axis, ddof=1) / np.sqrt(n)


def verdict(low, high, relation, bound=0.0):
    """Does an interval satisfy a relation, thresholds met exactly included; superseded by `verdicts.decide`.

    Args:
        low: lower end.
        high: upper end.
        relation: ">" or "<" against the bound (">=" and "<=" include it).
        bound: the threshold.

    Returns:
        "holds" if the whole interval satisfies the relation, "does not hold" if no point of it does, else
        "inconclusive".

    Raises:
        ValueError: for another relation, and for an interval that is reversed or not a number.

    >>> verdict(0.1, 0.2, ">")
    'holds'
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


def _vector(values, wanted):
    x = _finite(values)
    if x.ndim != 1:
        raise ValueError(f"values of shape {x.shape}: give {wanted}")
    return x


def _constant(x, scale=None):
    return np.ptp(x) <= CONSTANT * max(1e-300, np.abs(x if scale is None else scale).max())


def _too_few(n, unit):
    return f"{n} {unit}{'s' * (n != 1)}: an interval needs {FEWEST_UNITS}"


def _no_interval(x, n, unit):
    """Why these values of n units have no interval; "" if they have one."""
    if n < FEWEST_UNITS:
        return _too_few(n, unit)
    return "all values are equal" if _constant(x) else ""


def _standard_error(x):
    return float(x.std(ddof=1) / math.sqrt(len(x)))


def _pivots(x, rng, n_resamples):
    """Sorted (mean* - mean) / se* of resamples of x; infinite where a resample is constant."""
    n, centred = len(x), x - x.mean()
    smallest = 1e-12 * centred.var()
    rows = max(1, BLOCK // n)  # of resamples at a time
    found = []
    for start in range(0, n_resamples, rows):
        drawn = centred[rng.integers(n, size=(min(rows, n_resamples - start), n))]
        mean = drawn.mean(axis=1)
        variance = (np.einsum("ij,ij->i", drawn, drawn) - n * mean**2) / (n - 1)
        with np.errstate(divide="ignore"):
            found.append(mean / np.sqrt(np.where(variance > smallest, variance, 0) / n))
    return np.sort(np.concatenate(found))
