"""The figures of Madsen et al. 2022, drawn from tables."""

import matplotlib.pyplot as plt
import numpy as np

from faithlib.papers.recursive_roar.tables import MEASURES
from faithlib.report import label, line, note_scale
from faithlib.report.tables import in_order

LOOKS = {
    "ROAR": ("#D55E00", "s", "--"),
    "Recursive ROAR": ("#0072B2", "o", "-"),
    "truth": ("#009E73", "x", ":"),
    "worst case": ("#777777", "v", "-."),
}


def synthetic(table):
    """Figure 3: accuracy on the synthetic problem as features are masked, one line an order."""
    figure, axis = plt.subplots(figsize=(4.2, 2.4))
    for name, part in table.groupby("curve", sort=False):
        colour, marker, style = LOOKS[name]
        axis.plot(
            part.removed,
            part.accuracy,
            label=name,
            color=colour,
            marker=marker,
            linestyle=style,
            markersize=4,
        )
    axis.set_xlabel("features masked")
    axis.set_ylabel("accuracy ↓")
    axis.set_xticks(range(0, 17, 4))
    figure.legend(loc="outside right center")
    return figure


def curves(table, recursive=(True,), by="ratio", scale=""):
    """Figures 4 and 7 to 9: performance as tokens are masked, a row a data set and model.

    table: from `curve_table`. recursive: a column for each, ROAR (False) or Recursive ROAR (True). Bands are
    95 % intervals over seeds; below random is faithful.
    """
    table = table[(table.by == by) & table.recursive.isin(recursive)]
    rows = list(table.groupby(["dataset", "model"], sort=False))
    figure, axes = plt.subplots(
        len(rows),
        len(recursive),
        squeeze=False,
        sharex=True,
        sharey="row",
        figsize=(3.3 * len(recursive) + 0.4, 0.7 + 1.6 * len(rows)),
    )
    for i, ((dataset, model), part) in enumerate(rows):
        for axis, again in zip(axes[i], recursive, strict=True):
            own = part[part.recursive == again]
            for measure in in_order(own.measure.unique(), MEASURES):
                _band(axis, own[own.measure == measure], "step", "value", measure)
            axis.set_title(
                f"{dataset}, {model}"
                + (f": {'Recursive ROAR' if again else 'ROAR'}" if len(recursive) > 1 else ""),
                fontsize=8,
            )
        axes[i, 0].set_ylabel("performance ↓")
    for axis in axes[-1]:
        axis.set_xlabel("tokens masked [%]" if by == "ratio" else "tokens masked")
        axis.xaxis.get_major_locator().set_params(integer=True)
    _legend(figure, axes)
    note_scale(figure, scale)
    return figure


def sparsity(table, by, scale=""):
    """Figures 5 ("count") and 6 ("ratio"): share of all importance that the top tokens hold."""
    table = table[table.by == by]
    groups = list(table.groupby(["dataset", "model"], sort=False))
    figure, axes = plt.subplots(
        1, len(groups), squeeze=False, sharey=True, figsize=(max(3.3, 2.2 * len(groups)), 2.4)
    )
    for axis, ((dataset, model), part) in zip(axes[0], groups, strict=True):
        for measure in in_order(part.measure.unique(), MEASURES):
            _band(axis, part[part.measure == measure], "top", "share", measure)
        axis.set_title(f"{dataset}, {model}", fontsize=8)
        axis.set_xlabel("top tokens" if by == "count" else "top tokens [%]")
        axis.set_ylim(0, 1.03)
    axes[0, 0].set_ylabel("share of importance")
    _legend(figure, axes)
    note_scale(figure, scale)
    return figure


def racu(table, scale=""):
    """Table 2 as a figure: RACU (clipped) with its interval, the published one hollow beside it."""
    table = table[table.recursive.astype(bool)]
    groups = list(table.groupby(["dataset", "model"], sort=False))
    figure, axes = plt.subplots(
        1, len(groups), squeeze=False, sharey=True, figsize=(max(3.3, 1.9 * len(groups) + 1.2), 2.2)
    )
    names = in_order(table.measure.unique(), MEASURES)
    for axis, ((dataset, model), part) in zip(axes[0], groups, strict=True):
        axis.axvline(0, color="#777777", linewidth=0.8)
        for _, row in part.iterrows():
            look, y = line(row.measure), names.index(row.measure)
            _point(axis, row, "racu_clipped", y - 0.13, look["color"], look["marker"], look["color"])
            if not np.isnan(row.published):
                _point(axis, row, "published", y + 0.17, look["color"], look["marker"], "white")
        axis.set_title(f"{dataset}, {model}", fontsize=8)
        axis.set_xlabel("RACU ↑")
        axis.set_ylim(len(names) - 0.5, -0.5)
    axes[0, 0].set_yticks(range(len(names)), [label(name) for name in names])
    note_scale(figure, scale)
    return figure


def _point(axis, row, name, y, colour, marker, face):
    bars = [[row[name] - row[f"{name}_low"]], [row[f"{name}_high"] - row[name]]]
    axis.errorbar(
        [row[name]],
        [y],
        xerr=np.maximum(bars, 0),
        color=colour,
        marker=marker,
        markersize=4,
        markerfacecolor=face,
        linestyle="",
    )


def _band(axis, part, x, y, measure):
    part, look = part.sort_values(x), line(measure)
    axis.plot(part[x], part[y], markersize=3, **look)
    axis.fill_between(
        part[x], part[f"{y}_low"], part[f"{y}_high"], color=look["color"], alpha=0.15, linewidth=0
    )


def _legend(figure, axes):
    parts = [axis.get_legend_handles_labels() for axis in axes.flat]  # a model may lack a measure
    found = {name: handle for handles, names in parts for handle, name in zip(handles, names, strict=True)}
    columns = max(1, int(figure.get_figwidth() / 1.3))
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=min(columns, len(found)))
