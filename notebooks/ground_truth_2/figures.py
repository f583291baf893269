"""Which metric can be believed, version 2: the figures of its report."""

import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

from faithlib.report.style import note_scale
from notebooks.ground_truth_2.tables import ENTRY
from notebooks.ground_truth_2.worst_case import CORE

CAPTIONS = {
    "cells": "Accuracy of each entry (rows: metric, map, operator) in each core cell (columns: kind of model "
    "and error): the share of pairs that it orders right. Chance is .50; the worst cell of a row is framed. "
    "Entries are sorted by their worst cell. An empty cell was not computed."
}


def cells(table, order, scale):
    """The heat map of entries and core cells: a Figure.

    Args:
        table: from `tables.cells`; order: from `tables.entries`, the best first.
        scale: its name.
    """
    core = table[table.core].assign(
        entry=table[ENTRY].agg(label, axis=1), cell=table.kind + " " + table.error
    )
    names = order[ENTRY].agg(label, axis=1).tolist()
    columns = [" ".join(cell) for cell in CORE if " ".join(cell) in set(core.cell)]
    wide = core.pivot(index="entry", columns="cell", values="accuracy").loc[names, columns]
    figure, axes = plt.subplots(
        figsize=(1.8 + 0.5 * len(columns), 1.2 + 0.2 * len(names)), layout="constrained"
    )
    sns.heatmap(wide, vmin=0, vmax=1, cmap="RdBu", annot=True, fmt=".2f", annot_kws={"size": 6}, ax=axes,
                cbar_kws={"label": "accuracy ↑"})  # fmt: skip
    for row, name in enumerate(names):
        column = wide.columns.get_loc(wide.loc[name].idxmin())
        axes.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor="black", linewidth=1.5))
    axes.set(xlabel="", ylabel="", title="No entry should be believed beyond its worst cell")
    axes.tick_params(axis="both", labelsize=7)
    note_scale(figure, scale)
    return figure


def label(row):
    """An entry in words: "soft_ns, equal, zero, token".

    Args:
        row: a Series with the columns ENTRY.
    """
    metric, how, operator, by = row[ENTRY]
    return ", ".join(part for part in (metric, how, operator, by if operator == "zero" else "") if part)
