"""The figures of Chrysostomou & Aletras 2021, drawn from the tables of `faithlib.papers.saloss.tables`."""

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D

from faithlib.attributions.registry import COLOURS
from faithlib.papers.saloss.tables import ATTRIBUTIONS, SALIENCES, named, of_definition
from faithlib.report import label, note_scale
from faithlib.report.tables import in_order

WIDTH = 6.8  # inches: the width of a page's text
LOOKS = {
    "none": (COLOURS["black"], "o"),
    "textrank": (COLOURS["blue"], "s"),
    "tfidf": (COLOURS["orange"], "^"),
    "chi2": (COLOURS["green"], "D"),
    "uniform": (COLOURS["purple"], "v"),
}
TITLES = {"top_k": "top-k", "contiguous": "contiguous"}


def decision_flip(table, scale="", definition="paper"):
    """Tables 2 and 8 as a figure: the fraction of tokens to a flip with its interval, the published hollow.

    table: from `saloss.decision_flip`. A panel a data set and model, a row an attribution, a colour a
    salience.
    """
    table = of_definition(table, definition)
    figure, panels = _panels(table, ["dataset", "model"], across=3)
    for axis, part, place in panels:
        for salience, points in part.groupby("salience", sort=False):
            bars = points.fraction - points.ci_low, points.ci_high - points.fraction
            _marks(axis, points, "fraction", place(points), salience, bars)
        axis.set_xlabel("tokens to a flip ↓")
    _legend(figure, table, "published")
    note_scale(figure, scale)
    return figure


def fresh(table, scale="", definition="paper"):
    """Tables 3 and 7 as a figure: macro-F1 of classifiers trained on rationales, the published hollow.

    table: from `saloss.fresh`. Bars are the sd over seeds; a dotted line in a salience's colour is its model
    on the whole text.
    """
    table = of_definition(table, definition)
    keys = ["dataset", "model", "thresholder"]
    figure, panels = _panels(table, keys, across=table.thresholder.nunique())
    for axis, part, place in panels:
        for salience, points in part.groupby("salience", sort=False):
            axis.axvline(points.full_text.iloc[0], color=LOOKS[salience][0], linewidth=0.8, linestyle=":")
            _marks(axis, points, "macro_f1", place(points), salience, points.sd.fillna(0))
        axis.set_xlabel("macro-F1 ↑")
    _legend(figure, table, "published", Line2D([], [], color="#777777", linestyle=":", label="whole text"))
    note_scale(figure, scale)
    return figure


def pos(table, scale="", definition="paper", attribution="scaled_attention", salience="textrank"):
    """Figure 1: mean importance of each part of speech, without salience and with it.

    table: from `saloss.pos`. A panel a data set and model; tags in the order of the baseline's importance
    there, where 1 is the average word's.
    """
    table = of_definition(table, definition)
    table = table[(table.attribution == attribution) & table.salience.isin(["none", salience])]
    groups = list(table.groupby(["dataset", "model"], sort=False))
    tags = table.groupby(["dataset", "model"]).tag.nunique().max()
    figure, axes = plt.subplots(
        1,
        len(groups),
        squeeze=False,
        sharex=True,
        figsize=(min(WIDTH, 1 + 2.3 * len(groups)), 1.1 + 0.17 * tags),
    )
    for axis, (name, part) in zip(axes[0], groups, strict=True):
        wide = (
            part.pivot(index="tag", columns="salience", values="importance")
            .reindex(columns=["none", salience])
            .sort_values("none")
        )
        axis.axvline(1, color="#999999", linewidth=0.8, linestyle=":")
        axis.hlines(range(len(wide)), wide.min(axis=1), wide.max(axis=1), color="#BBBBBB", linewidth=1)
        for column, (colour, marker) in ((c, LOOKS[c]) for c in wide):
            axis.plot(wide[column], range(len(wide)), color=colour, marker=marker, linestyle="")
        axis.set_yticks(range(len(wide)), wide.index)
        axis.set_title(_title(name, table))
        axis.set_xlabel(f"importance by {label(attribution)}")
    _legend(figure, table)
    note_scale(figure, scale)
    return figure


def _panels(table, keys, across):
    """A figure with a panel a group, `across` abreast: (figure, [(axis, part, place)]).

    place(points) are the heights of marks: a row an attribution, the saliences in it one under the other.
    """
    groups = list(table.groupby(keys, sort=False))
    names = in_order(table.attribution.unique(), ATTRIBUTIONS)
    saliences = in_order(table.salience.unique(), SALIENCES)
    across = min(across, len(groups))
    down = -(-len(groups) // across)
    height = 0.55 + len(names) * (0.12 + 0.09 * len(saliences))
    figure, axes = plt.subplots(
        down,
        across,
        squeeze=False,
        sharey=True,
        figsize=(min(WIDTH, 1.2 + 2.1 * across), 0.5 + height * down),
    )
    for axis in axes.flat[len(groups) :]:
        axis.set_visible(False)
    step = 0.8 / len(saliences)

    def place(points):
        shift = points.salience.map(saliences.index) - (len(saliences) - 1) / 2
        return points.attribution.map(names.index) + step * shift

    panels = []
    for axis, (name, part) in zip(axes.flat, groups, strict=False):
        axis.set_title(_title(name, table))
        axis.set_yticks(range(len(names)), [label(n) for n in names])
        axis.set_ylim(len(names) - 0.5, -0.5)
        panels.append((axis, part, place))
    return figure, panels


def _marks(axis, points, column, y, salience, bars):
    colour, marker = LOOKS[salience]
    axis.errorbar(points[column], y, xerr=bars, color=colour, marker=marker, markersize=3.5, linestyle="")
    axis.plot(
        points.published,
        y,
        color=colour,
        marker=marker,
        markersize=5.5,
        linestyle="",
        markerfacecolor="none",
        markeredgewidth=0.9,
    )


def _title(key, table):
    """A panel's title; the model only where a data set has several."""
    dataset, model, *more = key
    several = table[table.dataset == dataset].model.nunique() > 1
    title = f"{dataset}, {model}" if several else dataset
    return ": ".join([title, *(TITLES[name] for name in more)])


def _legend(figure, table, published="", *more):
    looks = [(named(s), *LOOKS[s]) for s in in_order(table.salience.unique(), SALIENCES)]
    handles = [Line2D([], [], color=c, marker=m, linestyle="", markersize=4, label=n) for n, c, m in looks]
    if published and table.published.notna().any():
        handles.append(
            Line2D(
                [],
                [],
                color="#555555",
                marker="o",
                linestyle="",
                markersize=5.5,
                markerfacecolor="none",
                markeredgewidth=0.9,
                label=published,
            )
        )
    handles += more
    rows = -(-len(handles) // int(figure.get_figwidth() / 0.95))
    figure.legend(handles=handles, loc="outside lower center", ncols=-(-len(handles) // rows))
