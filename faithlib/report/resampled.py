"""Percentile intervals of resampled means: what claims used before `claims.table`.

No new code uses this module: its intervals are too narrow for few units. It goes when no paper imports it.
"""

import numpy as np
import pandas as pd

from faithlib.report.tables import case_titles
from faithlib.statistics import mean_over_groups, percentile_interval, resample_means, verdict

CLAIMS = [
    "claim",
    "baseline",
    "verdict",
    "value",
    "ci_low",
    "ci_high",
    "where",
    "published",
    "definition",
]  # the columns of every claims.csv


def pivot_groups(values, by, columns, value):
    """A frame examples × cells for each group, of the examples that have a value in every cell.

    Args:
        values: long DataFrame with a column `example`; equal cells of an example are averaged.
        by: list of the columns that tell groups apart, such as ["dataset", "model"].
        columns: list of the columns that make a cell.
        value: the column of values, or a list of several.

    Returns:
        {group: DataFrame}, in order of appearance; a group without a complete example has an empty frame.
    """
    return {
        key: part.pivot_table(index="example", columns=columns, values=value).dropna()
        for key, part in values.groupby(by, sort=False)
    }


def resampled(cells, n_resamples, seed, streams=None):
    """Means of each group's cells over examples (or seeds) that are drawn anew, all cells together.

    Args:
        cells: {group: DataFrame examples × cells}; groups without examples are left out.
        n_resamples: how many draws.
        seed: of the random numbers.
        streams: {group: int}, groups of the same number draw the same; by default each group's place.

    Returns:
        {group: DataFrame (1 + resamples) × cells}; row 0 is the estimate, the mean of all examples.

    Example:
        >>> frame = pd.DataFrame({"a": [1.0, 1.0], "b": [0.0, 2.0]})
        >>> resampled({"sst": frame}, 2, seed=0)["sst"].a.tolist()
        [1.0, 1.0, 1.0]
    """
    streams = streams or {group: i for i, group in enumerate(cells)}
    return {
        group: pd.DataFrame(
            np.vstack([frame.mean(), resample_means(frame, n_resamples, [seed, streams[group]])]),
            columns=frame.columns,
        )
        for group, frame in cells.items()
        if len(frame)
    }


def lead(means, best, others):
    """By how much the column `best` is above the highest of the columns `others`: (1 + resamples,)."""
    return (means[best] - means[others].max(axis=1)).to_numpy()


def published_lead(wide, best):
    """By how much a published column is above the highest other one, on average over its rows."""
    return (wide[best] - wide.drop(columns=best).max(axis=1)).mean()


def mean_of(cases):
    """The mean over cases of statistics (1 + resamples,): the same shape."""
    return np.mean(list(cases.values()), axis=0)


def estimate(statistic, level=0.95):
    """A statistic's value and percentile interval.

    Args:
        statistic: (1 + resamples,), row 0 the estimate.
        level: of the interval.

    Returns:
        (value, low, high).
    """
    return statistic[0], *percentile_interval(statistic[1:], level)


def contributions(values, separator=", "):
    """The text of what makes up a mean.

    Args:
        values: {name: number}.
        separator: what stands between two names.

    Example:
        >>> contributions({"sst": 0.0123, "imdb": -0.004})
        'sst +0.012, imdb -0.004'
    """
    return separator.join(f"{name} {value:+.3f}" for name, value in values.items())


def by_dataset(cases):
    """`contributions` of each data set, averaged over its cases.

    Args:
        cases: {(data set, ...): statistic (1 + resamples,)}.
    """
    found = {}
    for (dataset, *_), statistic in cases.items():
        found.setdefault(dataset, []).append(statistic[0])
    return contributions({dataset: np.mean(values) for dataset, values in found.items()})


def row(
    claim,
    found,
    where="",
    relation=">",
    threshold=0.0,
    *,
    published=np.nan,
    baseline="random",
    definition="paper",
):
    """One row of claims.csv.

    Args:
        claim: the sentence.
        found: (value, low, high), as `estimate` and `statistics.mean_over_groups` return it.
        where: what makes the value up.
        relation, threshold: what the claim says of the value, as `statistics.verdict` takes it.
        published: the same statistic of the published tables.
        baseline, definition: what the value compares with, and whose definitions it follows.

    Returns:
        A dict with the columns CLAIMS. Without an interval the verdict is "inconclusive".

    Raises:
        ValueError: an unknown relation, or an interval that is reversed.

    Example:
        >>> row("A is above B", (0.2, 0.1, 0.3))["verdict"]
        'holds'
    """
    value, low, high = found
    unknown = np.isnan(low) and np.isnan(high)
    said = "inconclusive" if unknown else verdict(low, high, relation, threshold)
    values = (claim, baseline, said, value, low, high, where, published, definition)
    return dict(zip(CLAIMS, values, strict=True))


def row_over_seeds(claim, gains, relation=">", threshold=0.0, **more):
    """One row of claims.csv about a mean over data sets of a number a seed, with its t interval.

    Args:
        claim, relation, threshold: as `row` takes them.
        gains: {(data set, model): (seeds,)}.
        more: further arguments of `row`.

    Returns:
        A dict with the columns CLAIMS; None where there is no data set.
    """
    if not gains:
        return None
    titles = case_titles(gains)
    where = ", ".join(
        f"{titles[case]} {gain.mean():+.3f} ({len(gain)} seed{'s' * (len(gain) > 1)})"
        for case, gain in gains.items()
    )
    return row(claim, mean_over_groups(gains.values()), where, relation, threshold, **more)
