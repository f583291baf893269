"""Curves of performance over masking, and the area between two (ACU, RACU).

x is the share masked, p the performance of an importance measure and b that of the random baseline. A
faithful measure takes performance away sooner: its curve lies below. Madsen et al. 2022, section 5.3.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from faithlib.scores import RANDOM, one_of
from faithlib.statistics import DRAW_COUNTS, mean_interval

RESAMPLES = 9999  # of the paper's intervals; cheap, as seeds are few
FLAT = 0.02  # a mean drop that 1000 test examples do not tell from none: their standard error is up to 0.016
AREAS = ["racu", "racu_clipped", "acu"]
COLUMNS = [f"{area}{end}" for area in AREAS for end in ("", "_low", "_high")]


def acu(x: Sequence | np.ndarray, measure: np.ndarray, baseline: np.ndarray) -> np.ndarray:
    """Area between the curves, the trapezoids of Δp_i = b_i − p_i: the numerator of Eq. 3.

    x: (steps,) increasing, such as ratios in [0, 1]; measure, baseline: performance, (..., steps), paired by
    seed. Returns (...), higher is better: 0 for the baseline, in [−1, 1] where both are in [0, 1].
    Raises ValueError where x does not increase, curves have other steps or a value is not finite.
    """
    x, measure, baseline = _checked(x, measure, baseline)
    return np.trapezoid(baseline - measure, x)


def racu_denominator(x: Sequence | np.ndarray, baseline: np.ndarray) -> np.ndarray:
    """Area between the random curve and the all-masked performance, the denominator of Eq. 3: (...).

    The trapezoids of Δb_i = b_i − b_I: the ACU of a measure that has the performance b_I from the start.
    """
    x, baseline = _checked(x, baseline)
    return np.trapezoid(baseline - baseline[..., -1:], x)


def racu(
    x: Sequence | np.ndarray, measure: np.ndarray, baseline: np.ndarray, clip: bool = False
) -> np.ndarray:
    """`acu` / `racu_denominator`, seed by seed (Eq. 3); higher is better.

    1 for a measure that is at the performance with everything masked at once, 0 for the baseline, negative
    above it. clip: to [−1, 1] as released; Eq. 3 has no bounds, and where a baseline hardly falls the ratio
    takes any value. NaN where the area below the baseline is 0.
    """
    area, possible = acu(x, measure, baseline), racu_denominator(x, baseline)
    ratio = np.divide(area, possible, out=np.full(np.shape(area), np.nan), where=possible != 0)
    return (np.clip(ratio, -1, 1) if clip else ratio)[()]


def areas(wide, area="ACU", flat=True) -> pd.DataFrame:
    """Areas of all measures of one data set and model, seed by seed.

    wide: (measure, seed) × masked share in per cent, without gaps, "random" the baseline, paired by seed.
    area: "ACU", "RACU" or "RACU clipped"; RACU is NaN for seeds whose random curve hardly falls. flat:
    whether to keep the ACU of these.
    """
    name = area.lower().replace(" ", "_")
    one_of("area", name, AREAS)
    x, random, tables = wide.columns.to_numpy(float) / 100, wide.loc[RANDOM], {}
    for measure in wide.index.unique("measure").drop(RANDOM):
        seeds = wide.loc[measure].index.intersection(random.index)
        curve, baseline = wide.loc[measure].loc[seeds].to_numpy(), random.loc[seeds].to_numpy()
        tables[measure] = pd.Series(_seeds(x, curve, baseline, name, flat), seeds, dtype=float)
    return pd.DataFrame(tables)


def falling(wide) -> pd.DataFrame:
    """The curves, as `areas` takes them, of the seeds whose random curve falls: a flat one says nothing."""
    room = racu_denominator(wide.columns.to_numpy(float) / 100, wide.loc[RANDOM].to_numpy())
    kept = wide.loc[RANDOM].index[room >= FLAT]
    return wide[wide.index.get_level_values("seed").isin(kept)]


def _seeds(x, measure, baseline, area, flat=True):
    """One of `AREAS`, seed by seed; where the random curve hardly falls RACU is NaN, ACU with flat=False."""
    values = acu(x, measure, baseline) if area == "acu" else racu(x, measure, baseline, "clipped" in area)
    kept = flat and area == "acu"
    return values if kept else np.where(racu_denominator(x, baseline) < FLAT, np.nan, values)


def mean_over_draws(
    curves: pd.DataFrame, keys: Sequence[str] = ("strategy", "option", "step", "metric")
) -> pd.DataFrame:
    """The random curve as the mean over the first 1, 2, 4, … of its draws, and over all of them.

    curves: DataFrame with columns measure (a name a draw, in their order), `keys`, which name a point, and
    numbers. Returns a DataFrame with measure ("random"), draws (how many), `keys` and the means.

    >>> curves = pd.DataFrame({"measure": ["random 1", "random 2"], "step": 10, "value": [0.5, 0.7]})
    >>> mean_over_draws(curves, ["step"])[["draws", "value"]].to_numpy().tolist()
    [[1.0, 0.5], [2.0, 0.6]]
    """
    names = curves.measure.unique()
    counts = sorted({len(names), *(k for k in DRAW_COUNTS if k <= len(names))})
    parts = {n: curves[curves.measure.isin(names[:n])] for n in counts}
    means = {n: of.groupby(list(keys), sort=False).mean(numeric_only=True) for n, of in parts.items()}
    return pd.concat(means, names=["draws"]).reset_index().assign(measure=RANDOM)


def summary(curves, keys=("dataset", "model", "recursive")):
    """RACU, RACU clipped and ACU with 95 % intervals over seeds: a DataFrame, one row a measure and `keys`.

    curves: columns `keys`, measure, seed, step (0 to 100 per cent) and value of one metric; measure "random"
    is the baseline. Each area is a mean over seeds with its BCa interval in <area>_low and <area>_high.
    seeds: how many have both curves complete; `left_out` names the others and why. denominator: the mean of
    `racu_denominator`. flat: for how many seeds it is less than `FLAT`: where there is one, RACU would be a
    quotient of noise and is NaN.
    Raises ValueError for two values of one point, steps that do not run from 0 to 100 and no baseline at all.
    """
    keys = list(keys)
    rows = []
    for key, part in curves.groupby(keys, sort=False, dropna=False):
        of = dict(zip(keys, key, strict=True))
        table = _wide(part, ", ".join(f"{name}={value}" for name, value in of.items()))
        baseline = table.loc[RANDOM]
        for measure in table.index.unique("measure").drop(RANDOM):
            rows.append({**of, "measure": measure, **_compared(table.loc[measure], baseline, measure)})
    return pd.DataFrame(rows)


def _wide(part, of):
    """One row a (measure, seed), one column a step; NaN where a curve has no value."""
    points = ["measure", "seed", "step"]
    if part.duplicated(points).any():
        measure, seed, step = part.loc[part.duplicated(points), points].iloc[0]
        raise ValueError(f"{of}: {measure!r}, seed {seed} has two values at step {step}: give one metric's")
    if RANDOM not in set(part.measure):
        raise ValueError(
            f"{of} has no curve of {RANDOM!r} to compare with, only "
            f"{', '.join(sorted(part.measure.unique()))}: run it as well"
        )
    table = part.pivot(index=["measure", "seed"], columns="step", values="value")
    if (table.columns[0], table.columns[-1]) != (0, 100):
        raise ValueError(f"{of} has steps {table.columns.tolist()}: an area needs all from 0 to 100 per cent")
    return table


def _compared(measure, baseline, name):
    """Areas of one measure, (seeds, steps), against the baseline: a dict."""
    whole = {name: measure.dropna().index, RANDOM: baseline.dropna().index}
    every = measure.index.union(baseline.index)
    paired = whole[name].intersection(whole[RANDOM])
    missing = [
        f"seed {seed}: {' and '.join(n for n, seeds in whole.items() if seed not in seeds)} incomplete"
        for seed in every.difference(paired)
    ]
    counts = {"seeds": len(paired), "left_out": "; ".join(missing)}
    if paired.empty:
        return {**dict.fromkeys([*COLUMNS, "denominator"], np.nan), "flat": 0, **counts}
    x = measure.columns.to_numpy(float) / 100  # ratios: an ACU of 1 is all of performance
    p, b = measure.loc[paired].to_numpy(), baseline.loc[paired].to_numpy()  # (seeds, steps)
    possible = racu_denominator(x, b)
    values = [value for area in AREAS for value in over_seeds(_seeds(x, p, b, area))]
    row = dict(zip(COLUMNS, values, strict=True))
    flat = int((possible < FLAT).sum())
    return {**row, "denominator": float(possible.mean()), "flat": flat, **counts}


def over_seeds(values):
    """Mean over seeds with its BCa interval, (mean, low, high): equal values have no ends, NaN no mean."""
    values = np.asarray(values, float)
    return mean_interval(values, RESAMPLES) if np.isfinite(values).all() else (np.nan,) * 3


def _checked(x, *curves):
    x, curves = np.asarray(x, float), [np.asarray(curve, float) for curve in curves]
    if x.ndim != 1 or len(x) < 2 or not (np.diff(x) > 0).all():
        raise ValueError(f"ratios {x.tolist()} do not increase: give each once, in order, at least two")
    for curve in curves:
        if curve.shape[-1:] != x.shape:
            raise ValueError(f"a curve of shape {curve.shape} for {len(x)} ratios: give one value a ratio")
        if not np.isfinite(curve).all():
            raise ValueError("a curve has NaN or infinite values: leave its seed out")
    return x, *curves
