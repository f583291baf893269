"""The figures of Madsen et al. 2022, drawn from the tables of `notebooks.recursive_roar.tables`.

A figure takes the table of its name, and its scale: "quick" is noted on it.
"""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from faithlib.attributions.registry import names
from faithlib.report import figures as plots
from faithlib.report.style import line, metric_title, role
from notebooks.recursive_roar.card import CARD
from notebooks.recursive_roar.tables import UNITS
from replication.papers import layout
from replication.tables import in_order

LOOKS = {
    "Recursive ROAR": role("proposed", "Recursive ROAR"),
    "ROAR": role("usual", "ROAR"),
    "truth": role("fourth", "informative features first"),
    "worst case": role("reference", "informative features last"),
}
REPEATED = {False: "ROAR", True: "Recursive ROAR"}
CLIP = (-1, 1)  # where the paper clips RACU
CAPTIONS = layout("recursive_roar", "captions.yaml")


def synthetic(table: pd.DataFrame) -> Figure:
    """Figure 3: accuracy on the synthetic problem as features are masked, one line an order.

    Args:
        table: from `synthetic.curves`.
    """
    grid = plots.panels(table.assign(problem="16 features, 4 of them informative"), ["problem"], names=str)
    (axis,) = grid.axes
    looks = LOOKS | {"truth": LOOKS["truth"] | {"linewidth": 5, "marker": "", "linestyle": "-", "alpha": 0.5}}
    for name, look in reversed(looks.items()):
        plots.lines(axis, table[table.curve == name], "removed", "accuracy", look, None)
    axis.set_xticks(range(0, 17, 4))
    axis.set_ylim(0.4, 1.03)
    plots.guide(axis, 0.5, "y")
    grid.name_axes("features masked", "accuracy ↓")
    return grid.finish([*looks.values(), plots.mark("chance", dashes=":")])


def curves(
    table: pd.DataFrame, recursive: tuple[bool, ...] = (True,), by: str = "ratio", scale: str = ""
) -> Figure:
    """Figures 4 and 7 to 9: performance as tokens are masked, from `tables.curve_table`.

    recursive: a panel for each, ROAR (False) or Recursive ROAR (True). by: "ratio" (per cent of the tokens)
    or "count".
    """
    table = table[(table.by == by) & table.recursive.isin(recursive)]
    several = {"columns": ("recursive", {again: REPEATED[again] for again in recursive})}
    grid = _panels(table, across=2, height=1.7, **(several if len(recursive) > 1 else {}))
    order = in_order(table.measure.unique(), names())
    for axis, part in grid:
        for name in in_order(part.measure.unique(), names()):
            plots.lines(axis, part[part.measure == name], "step", "value", line(name))
        axis.set_ylim(0, 1.03)
        axis.xaxis.get_major_locator().set_params(integer=True)
    metrics = [metric_title(CARD.metric(part.dataset.iloc[0])) if len(part) else "" for _, part in grid]
    rows: str | list[str] = "performance ↓"
    if len(set(metrics) - {""}) == 1:
        rows = f"{max(metrics)} ↓"
    elif len(recursive) > 1:  # a row is one data set
        rows = [f"{max(metrics[i : i + 2])} ↓" for i in range(0, len(metrics), 2)]
    else:
        for axis, metric in zip(grid.axes, metrics, strict=True):
            axis.set_title(f"{axis.get_title()} ({metric})" if metric else axis.get_title())
    grid.name_axes("tokens masked [%]" if by == "ratio" else "tokens masked", rows)
    return grid.finish(plots.attribution_looks(order), scale)


def sparsity(table: pd.DataFrame, by: str, scale: str = "") -> Figure:
    """Figures 5 and 6: share of all importance that the top tokens hold; by: "count" or "ratio"."""
    table = table[table.by == by]
    order = in_order(table.measure.unique(), names())
    grid = _panels(table, across=4, height=1.5)
    for axis, part in grid:
        for name in order:
            plots.lines(axis, part[part.measure == name], "top", "share", line(name))
        axis.set_ylim(0, 1.03)
        axis.set_xlim(0, None)
        axis.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    grid.name_axes("top tokens" if by == "count" else "top tokens [%]", "share of importance")
    return grid.finish(plots.attribution_looks(order), scale)


def racu(table: pd.DataFrame, scale: str = "") -> Figure:
    """Table 2 as a figure: RACU, clipped as the paper does, with its interval; the published is hollow."""
    table = table[table.recursive.astype(bool)]
    order = in_order(table.measure.unique(), names())
    grid = _panels(table, across=3, left=1.2, height=0.45 + 0.3 * len(order))
    for axis, part in grid:
        plots.guide(axis, 0, look={"linestyle": "-"})
        for row in part.itertuples():
            y, one = order.index(row.measure), part.loc[[row.Index]]
            beyond = abs(row.racu) > max(map(abs, CLIP))
            value, interval = ("racu", None) if beyond else ("racu_clipped", ("low", "high"))
            look = line(row.measure)
            plots.points(axis, one, value, [y - 0.15], look, interval, CLIP)
            plots.points(axis, one, "published", [y + 0.15], look | {"hollow": True}, limits=CLIP)
        if part.flat.all():
            axis.set_title(f"{axis.get_title()}\n(none of ours: its\nrandom curve is flat)")
        plots.attribution_rows(axis, order)
        axis.set_xticks([-1, -0.5, 0, 0.5, 1], ["−1", "", "0", "", "1"])
    grid.name_axes("RACU ↑")
    ours = plots.mark("ours", "#555555", "o")
    models = table.dropna(subset="published").model
    paper = [plots.HOLLOW | {"label": plots.published_label(*models)}] if len(models) else []
    return grid.finish([ours, *paper], scale)


def _panels(table, **settings):
    """A panel for each data set, model and variant, variants last; "1500-texts" reads "1500 texts"."""
    table = table.sort_values(["dataset", "variant", "model"], kind="stable")

    def name(dataset, model, variant):
        return plots.title(dataset, model, variant.replace("-", " "))

    return plots.panels(table, UNITS, names=name, **settings)
