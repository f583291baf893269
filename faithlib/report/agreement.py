"""Rank agreement of the metrics of a study, over attributions and over texts: a table and two heat maps.

matplotlib and seaborn are imported by the functions that draw.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from faithlib.metrics import registry
from faithlib.report import display, figures, style
from faithlib.scores import whole
from faithlib.statistics.base import FEWEST_UNITS, LEVEL, stream

DRAWS = 500  # resamples of an interval
COLUMNS = ["over", "metric_a", "metric_b", "rho", "ci_low", "ci_high", "n"]
BESIDE = 4  # metrics: of more the heat maps stand below each other, without intervals
LEVELS = {"attributions": "ranks of attributions", "texts": "ranks of texts"}
CAPTION = (
    "Spearman's rank correlation of each pair of metrics, turned so that better is higher, with 95 % "
    "bootstrap intervals over texts. Ranks of attributions: by their means. Ranks of texts: by their own "
    "values, averaged over attributions."
)


def agreement(study, draws=DRAWS):
    """Rank agreement of the metrics of a study: Spearman's ρ of each pair.

    Values are turned so that higher is better. Over attributions: the ranks that two metrics give to the
    attributions, by their means over texts. Over texts: the ranks that they give to the texts, for each
    attribution, averaged over attributions. Intervals are 95 % percentile intervals over texts, drawn anew
    together for all attributions and metrics, `draws` times. In a notebook the heat map is shown, too.

    Returns:
        DataFrame with the columns COLUMNS; over: "attributions" or "texts"; n: how many of them both
        metrics have values of, the least over attributions. ρ is NaN below 3 of them and where a metric has
        one value for all. No rows with a single metric.

    Raises:
        ValueError: no draws.
    """
    table = computed(study, draws)
    if len(table) and display.in_notebook():
        with display.figure_style():
            display.show_drawn(figure(table), CAPTION)
    return table


def computed(study, draws=DRAWS):
    """The table of `agreement`; nothing is shown."""
    whole("draws", draws, 1)
    values = study.values[study.values.baseline == ""]
    names, metrics = list(values.attribution.unique()), list(values.metric.unique())
    cube = _cube(values, names, metrics)  # (attributions, metrics, texts)
    texts = cube.shape[2]
    generator = stream("agreement", getattr(study, "model_name", ""), *names, *metrics)
    resamples = generator.integers(texts, size=(draws, texts))
    drawn = np.vstack([np.arange(texts), resamples])  # the estimate first
    of_means, of_texts = _means(cube, drawn), _Ranks(cube, drawn)
    rows = []
    for a, b in combinations(range(len(metrics)), 2):
        rho = spearman(of_means[..., a], of_means[..., b])
        n = int(np.isfinite(of_means[0, :, [a, b]]).all(axis=0).sum())
        rows.append(("attributions", metrics[a], metrics[b], *_estimate(rho, texts), n))
    for a, b in combinations(range(len(metrics)), 2):
        defined = np.isfinite(cube[:, [a, b]]).all(axis=1).sum(-1)
        with_rho = [of_texts.spearman(i, a, b) for i in range(len(names))]
        rows.append(("texts", metrics[a], metrics[b], *_estimate(_mean(with_rho), texts), int(defined.min())))
    return pd.DataFrame(rows, columns=COLUMNS)


def figure(table):
    """The agreement of metrics, a table of `agreement` with at least one pair, as two heat maps: a figure."""
    import matplotlib.pyplot as plt

    order = list(dict.fromkeys([*table.metric_a, *table.metric_b]))
    labels = {name: registry.get(name).label for name in order}
    size, few = len(order) - 1, len(order) <= BESIDE
    shape = (1, len(LEVELS)) if few else (len(LEVELS), 1)
    height = 1.2 + 0.42 * size if few else len(LEVELS) * (0.5 + 0.25 * size) + 0.7
    inches = figures.WIDTH, height
    drawn, axes = plt.subplots(*shape, figsize=inches, sharex=True, sharey=True, squeeze=False)
    for axis, (over, title) in zip(axes.flat, LEVELS.items(), strict=True):
        part = table[table.over == over]
        ends = part[["ci_low", "ci_high"]].to_numpy() if few else np.full((len(part), 2), np.nan)
        texts = [style.cell_text(r, *end, precision=2) for r, end in zip(part.rho, ends, strict=True)]
        part = part.assign(cell=[text.replace(" ", "\n", 1).replace("-", "−") for text in texts])
        pivoted = (part.pivot(index="metric_b", columns="metric_a", values=c) for c in ("rho", "cell"))
        rho, cells = (square.reindex(index=order[1:], columns=order[:-1]) for square in pivoted)
        rho = rho.rename(index=labels, columns=labels)
        artist = figures.heat(axis, rho, cells.fillna("").to_numpy(), (-1, 1), "PuOr")
        axis.tick_params(axis="x", rotation=90)
        axis.set_facecolor("none")  # of the half that is left out
        counts = part.n.unique()
        axis.set_title(f"{title} ({'–'.join(map(str, sorted({counts.min(), counts.max()})))})")
    drawn.colorbar(artist, ax=axes, label="Spearman's ρ", fraction=0.04)
    return drawn


def spearman(x, y):
    """Spearman's rank correlation of x and y, (..., n), over the last axis; ties have their mean rank.

    Where one of them is NaN, both are left out; NaN where fewer than 3 pairs are left or one side is
    constant.

    Example:
        >>> spearman(np.array([1.0, 2.0, 3.0, np.nan]), np.array([5.0, 9.0, 7.0, 1.0])).item()
        0.5
    """
    defined = np.isfinite(x) & np.isfinite(y)
    return _correlation(_ranked(x, defined), _ranked(y, defined), defined)


def _ranked(x, valid):
    return rankdata(np.where(valid, x, np.inf), axis=-1)  # those that are not known come last


def _correlation(x, y, valid):
    n = valid.sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        x, y = (np.where(valid, v - (v * valid).sum(-1, keepdims=True) / n[..., None], 0.0) for v in (x, y))
        rho = (x * y).sum(-1) / np.sqrt((x * x).sum(-1) * (y * y).sum(-1))
    return np.where(n >= FEWEST_UNITS, np.clip(rho, -1, 1), np.nan)


class _Ranks:
    """Correlations over texts of all resamples, each ranking computed once."""

    def __init__(self, cube, drawn):
        self.cube, self.drawn, self.kept = cube, drawn, {}

    def spearman(self, attribution, a, b):
        """(1 + draws,) of one attribution and two metrics."""
        defined = np.isfinite(self.cube[attribution, [a, b]]).all(axis=0)  # (texts,)
        ranks = [self._of(attribution, metric, defined) for metric in (a, b)]
        return _correlation(*ranks, defined[self.drawn])

    def _of(self, attribution, metric, defined):
        key = attribution, metric, defined.tobytes()
        if key not in self.kept:
            drawn = self.cube[attribution, metric][self.drawn]
            self.kept[key] = _ranked(drawn, defined[self.drawn]).astype(np.float32)  # halves are exact
        return self.kept[key].astype(float)


def _cube(values, names, metrics):
    """Values turned so that higher is better, averaged over models: (attributions, metrics, texts)."""
    wide = values.groupby(["attribution", "metric", "example"]).value.mean().unstack("example")
    signs = {metric: 1 if registry.get(metric).better == "higher" else -1 for metric in metrics}
    wide = wide.reindex(pd.MultiIndex.from_product([names, metrics]))  # scores from elsewhere have no MaSF
    return np.array([[signs[m] * wide.loc[(name, m)] for m in metrics] for name in names], float)


def _means(cube, drawn):
    """Means over resampled texts: (1 + draws, attributions, metrics)."""
    texts = cube.shape[2]
    weights = np.array([np.bincount(row, minlength=texts) for row in drawn], float)
    flat = cube.reshape(-1, texts)
    defined = np.isfinite(flat)
    with np.errstate(invalid="ignore"):
        means = weights @ np.where(defined, flat, 0).T / (weights @ defined.T)
    return means.reshape(len(drawn), *cube.shape[:2]).round(12)  # equal up to rounding is a tie


def _mean(rhos):
    """The mean over attributions of those that are known: (1 + draws,)."""
    rhos = np.array(rhos)
    defined = np.isfinite(rhos)
    with np.errstate(invalid="ignore"):
        return np.where(defined, rhos, 0).sum(0) / defined.sum(0)


def _estimate(rho, texts):
    """The estimate, row 0, and the percentile interval of the draws; none below 3 texts."""
    drawn = rho[1:][np.isfinite(rho[1:])]
    if not np.isfinite(rho[0]) or texts < FEWEST_UNITS or 2 * len(drawn) < len(rho):
        return rho[0], np.nan, np.nan
    return rho[0], *np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
