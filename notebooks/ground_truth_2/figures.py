"""Which metric can be believed, version 2: the figures of its report."""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from faithlib.metrics import registry
from faithlib.report.style import note_scale
from notebooks.ground_truth_2.tables import ENTRY, PUBLISHED
from notebooks.ground_truth_2.worst_case import CORE
from replication.papers import layout

TEN = "_10"  # ends the name of NS and NC of ten ratios
MAPS = {"minmax": "", "clip": "", "rank": "ranks"}
OPERATORS = {"mask": "[MASK]"}
OF_JUDGE = {"log_ratio": "log ratio", "min_top_k": "minimum top-k"}  # that no study can ask for by name
BEST = 16  # entries that are drawn beside those as published
CAPTIONS = layout("ground_truth_2", "captions.yaml")


def cells(table: pd.DataFrame, order: pd.DataFrame, scale: str) -> Figure:
    """The heat map of entries and core cells.

    order: from `tables.entries`, the best first; the BEST with the most core cells are drawn, and those as
    published.
    """
    order = order[order.cells == order.cells.max()]
    published = order[ENTRY].apply(tuple, axis=1).isin(PUBLISHED)
    order = order[published | (np.arange(len(order)) < BEST)]
    core = table[table.core].assign(
        entry=table[ENTRY].agg(label, axis=1), cell=table.kind + " " + table.error
    )
    names = order[ENTRY].agg(label, axis=1).tolist()
    columns = [" ".join(cell) for cell in CORE if " ".join(cell) in set(core.cell)]
    wide = core.pivot(index="entry", columns="cell", values="accuracy").loc[names, columns]
    figure, axes = plt.subplots(
        figsize=(1.8 + 0.5 * len(columns), 2.0 + 0.2 * len(names)), layout="constrained"
    )
    sns.heatmap(wide, vmin=0, vmax=1, cmap="RdBu", annot=True, fmt=".2f", annot_kws={"size": 6}, ax=axes,
                cbar_kws={"label": "accuracy ↑"})  # fmt: skip
    for row, name in enumerate(names):
        column = wide.columns.get_loc(wide.loc[name].idxmin())
        axes.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor="black", linewidth=1.5))
    axes.set(xlabel="", ylabel="")
    figure.suptitle("Believe an entry as far as its worst cell")
    axes.tick_params(axis="both", labelsize=7)
    note_scale(figure, scale)
    return figure


def label(row):
    """An entry (a Series with the columns ENTRY) in words: "Soft-NS, equal, zero by token"."""
    return ", ".join(part for part in (label_of(row.metric), choice(row)) if part)


def choice(row):
    """What an entry chooses besides its metric, in words: "equal, zero by token"."""
    _, how, operator, by = row[ENTRY]
    place = f"zero by {by}" if how and operator == "zero" else OPERATORS.get(operator, operator)
    return ", ".join(part for part in (MAPS.get(how, how), place) if part)


def label_of(metric):
    """A metric in words."""
    if metric.endswith(TEN):
        return f"{label_of(metric.removesuffix(TEN))} of 10 ratios"
    return registry.get(metric).label if metric in registry.names() else OF_JUDGE.get(metric, metric)
