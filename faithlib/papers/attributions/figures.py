"""The figure of the study: agreement with known evidence."""

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D

from faithlib.attributions.registry import COLOURS
from faithlib.metrics.plausibility import BETTER
from faithlib.report import label, note_scale

TITLES = {"auprc": "AUPRC", "precision": "precision", "first_hit": "first hit (rank)"}
LOOKS = [(COLOURS[c], m) for c, m in (("blue", "o"), ("vermillion", "s"), ("green", "D"), ("purple", "^"))]


def draw(table, scale=""):
    """The table as a figure: a panel a metric, a line an attribution, a colour a data set.

    Bars are 95 % intervals; a dotted line in a data set's colour is what a random order has there.
    """
    names = list(table.attribution.unique())
    groups = list(table.groupby(["dataset", "model"], sort=False))
    figure, axes = plt.subplots(1, len(BETTER), sharey=True, figsize=(6.8, 1.1 + 0.26 * len(names)))
    for axis, (metric, better) in zip(axes, BETTER.items(), strict=True):
        for i, (_, part) in enumerate(groups):
            colour, marker = LOOKS[i % len(LOOKS)]
            y = part.attribution.map(names.index) + 0.22 * (i - (len(groups) - 1) / 2)
            bars = part[metric] - part[f"{metric}_ci_low"], part[f"{metric}_ci_high"] - part[metric]
            axis.errorbar(part[metric], y, xerr=bars, color=colour, marker=marker, markersize=3, linestyle="")
            axis.axvline(part[f"{metric}_chance"].iloc[0], color=colour, linewidth=0.8, linestyle=":")
        axis.set_xlabel(f"{TITLES[metric]} {'↑' if better == 'higher' else '↓'}")
        axis.set_ylim(len(names) - 0.4, -0.6)
    axes[0].set_yticks(range(len(names)), [label(name) for name in names])
    models = table.groupby("dataset").model.nunique()
    texts = [name if models[name] == 1 else f"{name} ({model})" for (name, model), _ in groups]
    handles = [
        Line2D([], [], color=c, marker=m, linestyle="", markersize=4, label=text)
        for text, (c, m) in zip(texts, LOOKS * len(texts), strict=False)
    ]
    chance = Line2D([], [], color="#777777", linestyle=":", label="a random order")
    figure.legend(handles=[*handles, chance], loc="outside lower center", ncols=len(handles) + 1)
    note_scale(figure, scale)
    return figure
