"""How far a replication's numbers agree with a paper's, cell by cell: one row a table."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import DegenerateDataWarning, bootstrap, spearmanr

from replication import printed

LEAST = 5  # cells; fewer have numbers and no interval
RESAMPLES = 999


def agreement(paper: str, folder: Path | None = None) -> pd.DataFrame:
    """Spearman's correlation, share of ordered pairs and ratio of levels of each table of a paper.

    Cells of models at chance and of another metric take no part. The interval is a percentile bootstrap over
    cells, which are not independent: cells of a data set share their model. Arguments as of `printed.show`.

    Returns:
        A row a table and definition: cells that count, of all that the paper prints, at_chance; spearman;
        pairs, the share of published pairs that differ in the layout's `pairs` only and come out the same way
        (ties one half); level, mean of ours / mean of published; each with _low and _high.
    """
    rows = []
    for layout in printed.layouts(paper).values():
        table = printed.cells(layout, folder)
        others = [key for key in layout.keys if key != layout.pairs]  # all keys where nothing is compared
        for definition, part in table.groupby(printed.DEFINITION, sort=False):
            counted = part[part.ours.notna() & part.published.notna() & (part.mark == "")]
            row = {"paper": paper, "table": layout.number, "definition": definition, "cells": len(counted)}
            row |= {"of": int(part.printed.notna().sum()), "at_chance": int((part.mark == "†").sum())}
            group = counted.groupby(others, sort=False).ngroup() if others else np.zeros(len(counted))
            values = counted.published.to_numpy(float), counted.ours.to_numpy(float), np.asarray(group)
            for name, statistic in STATISTICS.items():
                row[name], row[f"{name}_low"], row[f"{name}_high"] = _with_interval(statistic, values)
            rows.append(row)
    return pd.DataFrame(rows)


def same_order(published, ours, group):
    """The share of pairs of a group whose order is the same, of those that differ in the published value.

    All are (cells,) arrays. Pairs equal in ours count one half; NaN without a pair.

    >>> same_order(np.array([1, 2, 3]), np.array([1, 3, 2]), np.array([0, 0, 0])).round(3)
    np.float64(0.667)
    """
    first, second = np.triu_indices(len(published), 1)
    pairs = (group[first] == group[second]) & (published[first] != published[second])
    first, second = first[pairs], second[pairs]
    same = np.sign(published[first] - published[second]) * np.sign(ours[first] - ours[second])
    return ((same + 1) / 2).mean() if len(same) else np.nan


def _with_interval(statistic, values):
    """(value, low, high); NaN where it has none."""
    settings = {"paired": True, "vectorized": False, "method": "percentile", "n_resamples": RESAMPLES}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)  # cells, or a resample, that are all equal
        value = statistic(*values) if len(values[0]) > 1 else np.nan
        if len(values[0]) < LEAST or np.isnan(value):
            return value, np.nan, np.nan
        resampled = bootstrap(values, statistic, **settings, rng=0).bootstrap_distribution
    return value, *np.nanquantile(resampled, [0.025, 0.975])


def _spearman(published, ours, group):
    return spearmanr(published, ours).statistic


def _level(published, ours, group):
    return ours.mean() / published.mean() if published.mean() > 0 else np.nan


STATISTICS = {"spearman": _spearman, "pairs": same_order, "level": _level}
