"""The scores of version 2: the worst of the core cells, whether an entry passes or fails, and its resolution.

A cell is a kind of model and a kind of error; its accuracy is a mean over pairs and texts. The unit is the
seed: values of a cell are one for each seed.
"""

from functools import cache
from itertools import combinations

import numpy as np

from faithlib.statistics.base import t_quantile

PLANTED_CORE = (
    ("P1", "near"),
    ("P1", "one of two"),
    ("P1", "false above"),
    ("P1", "ones but one"),
    ("P2", "missed"),
    ("P3", "order"),
)
READ_ERRORS = ("halves", "order", "missed", "false above", "ones but one")
CORE = (*PLANTED_CORE, *((model, error) for model in ("N1", "N2") for error in READ_ERRORS))
KIND = {  # of model, of each mechanism and data set; mechanisms of one kind have equal weights
    "redundant": "P1",
    "xor": "P2",
    "ordered_pair": "P2",
    "graded": "P3",
    "default_class": "P4",
    "sst": "N1",
    "ag_news": "N2",
    "imdb": "N3",
}
PASSES, FAILS = 0.70, 0.55
LEVEL = 0.05  # one-sided
ROOM = 0.05  # of 1 − S0, below which a text is flagged


def worst(cells):
    """The accuracy of the worst cell, cross-fitted: it is chosen on one half of the seeds, and its mean is
    taken from the other half; the mean over all ways to halve the seeds.

    It has not the bias of the lowest mean, which is too low where cells are equal. Where the halves choose
    different cells it lies above the mean of the lowest one.

    Args:
        cells: (seeds, cells) accuracies in [0, 1]; two seeds or more. NaN where a seed has no value; a cell
            without a value in one of two halves takes no part in them.

    >>> worst(np.array([[0.9, 0.4], [0.9, 0.6]]))
    0.5
    """
    if len(cells) < 2:
        raise ValueError(f"{len(cells)} seeds cannot be halved: give two or more")
    chosen, finite = _halves(len(cells)), np.isfinite(cells)
    count = np.array([chosen @ finite, (1 - chosen) @ finite])  # (halves, ways, cells)
    total = np.array([chosen, 1 - chosen]) @ np.where(finite, cells, 0)
    counted = (count > 0).all(axis=0)
    means = np.where(counted, total / np.maximum(count, 1), np.inf)
    places = means.argmin(axis=2)[..., None]  # of the worst cell of each half
    values, weights = (np.take_along_axis(table[::-1], places, axis=2) for table in (means, count))
    return float(np.average(values, weights=weights))


@cache
def _halves(count):
    """All ways to choose one half of so many seeds: (ways, seeds), 1 where a seed is chosen."""
    ways = combinations(range(count), count // 2)
    return np.array([np.bincount(way, minlength=count) for way in ways])


def limits(cells, level):
    """One-sided lower and upper limits of the mean of each cell, by t over seeds: two arrays (cells,).

    cells: (seeds, cells), NaN where a seed has no value; equal values are both limits. level: the error of
    one side.
    """
    count = np.isfinite(cells).sum(axis=0)
    quantiles = np.array([t_quantile(1 - level, n - 1) for n in count])
    reach = quantiles * np.nanstd(cells, axis=0, ddof=1) / np.sqrt(count)
    mean = np.nanmean(cells, axis=0)
    return mean - reach, mean + reach


def verdict(cells, count):
    """Whether an entry "passes" or "fails", or is "undecided", by its cells (seeds, cells).

    An entry passes if the lower limit of every cell is above PASSES: all must hold, so the level needs no
    correction, and no cell may be without a record. It fails if the upper limit of some cell, at
    LEVEL / count, is below FAILS. A cell with fewer than three seeds decides nothing.

    count: of the core cells that there are, with a record or without.
    """
    enough = cells[:, np.isfinite(cells).sum(axis=0) >= 3]
    if enough.shape[1] == count and (limits(enough, LEVEL)[0] > PASSES).all():
        return "passes"
    if (limits(enough, LEVEL / count)[1] < FAILS).any():
        return "fails"
    return "undecided"


def texts_needed(differences):
    """Texts that tell a better explanation from a worse one with power .8 at .05, one-sided.

    n = (1.645 + .842)² / d² with d = mean / sd over texts of the difference in value; inf where the mean is
    not above 0. NaN is left out, and fewer than two give NaN.

    >>> round(texts_needed([0.1, 0.3, 0.2, 0.2]), 1)
    1.0
    """
    finite = np.asarray(differences, float)
    finite = finite[np.isfinite(finite)]
    if len(finite) < 2:
        return float("nan")
    mean, sd = finite.mean(), finite.std(ddof=1)
    if mean <= 0:
        return float("inf")
    return max(1.0, float((1.645 + 0.842) ** 2 * (sd / mean) ** 2))


def flag(room, right):
    """What the flag `room < ROOM` says of a metric: {"share", "inside", "outside", "auroc"}.

    room, right: (rows,) 1 − S0 of each row's text, and 1, ½ or 0. inside, outside: the accuracy of flagged
    and of other rows (NaN for none); auroc: the chance that a right row has more room than a wrong one (ties
    ½; NaN without rows of both kinds).
    """
    room, right = np.asarray(room, float), np.asarray(right, float)
    flagged = room < ROOM
    inside, outside = (right[rows].mean() if rows.any() else np.nan for rows in (flagged, ~flagged))
    good, bad = room[right == 1], room[right == 0]
    auroc = np.nan
    if len(good) and len(bad):
        larger = (good[:, None] > bad).mean()
        auroc = larger + (good[:, None] == bad).mean() / 2
    return {"share": flagged.mean(), "inside": inside, "outside": outside, "auroc": auroc}
