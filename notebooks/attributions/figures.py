"""The figure of the study: agreement with known evidence."""

import pandas as pd
from matplotlib.figure import Figure

from faithlib.metrics.plausibility import BETTER
from faithlib.report import figures as plots
from faithlib.report import note_scale
from faithlib.report.style import role
from replication.papers import layout

TITLES = {
    "auprc": "area under the\nprecision-recall curve",
    "precision": "precision at the\nnumber of evidence tokens",
    "first_hit": "rank of the first\ntoken of evidence",
}
ARROWS = {"higher": "↑", "lower": "↓"}
LOOKS = ("proposed", "usual", "third", "fourth", "fifth", "reference")
CAPTIONS = layout("attributions", "captions.yaml")


def draw(table: pd.DataFrame, scale: str = "") -> Figure:
    """Agreement with evidence: a panel for each metric, a row for each attribution, a colour a data set.

    Args:
        table: from `tables.evidence`.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullLocator

    lead = (table.auprc - table.auprc_chance).groupby([table.attribution, table.dataset]).mean().unstack()
    lead = lead.dropna(axis="columns").mean(axis="columns")  # over the data sets that all of them have
    order = list(lead.sort_values(ascending=False, kind="stable").index)
    groups = list(table.groupby(["dataset", "model"], sort=False))
    looks = [
        role(LOOKS[i % len(LOOKS)], plots.title(dataset, model if table.model.nunique() > 1 else ""))
        for i, ((dataset, model), _) in enumerate(groups)
    ]
    height = 1.1 + len(order) * (0.09 + 0.034 * len(groups))
    figure, axes = plt.subplots(1, len(BETTER), sharey=True, figsize=(6.8, height))
    for axis, (metric, better) in zip(axes, BETTER.items(), strict=True):
        for i, ((_, part), look) in enumerate(zip(groups, looks, strict=True)):
            rows = plots.place(part.attribution, order, plots.beside(i, len(groups)))
            plots.points(axis, part, metric, rows, look, ("ci_low", "ci_high"), size=3)
            plots.guide(axis, part[f"{metric}_chance"].iloc[0], look={"color": look["color"]})
        if better == "lower":  # a rank from 1, of a few dozen tokens or of hundreds
            axis.set_xscale("log")
            axis.xaxis.set(major_locator=LogLocator(subs=(1, 2, 5)), major_formatter="{x:.0f}")
            axis.xaxis.set_minor_locator(NullLocator())
            plots.include(axis, 1)
        else:
            plots.include(axis, 0)
        axis.set_xlabel(f"{TITLES[metric]} {ARROWS[better]}")
    plots.attribution_rows(axes[0], order)
    axes[1].set_title("Does an attribution find the evidence? Best on average first")
    chance = plots.mark("a random order", dashes=":")
    plots.add_legend(figure, [*(look | {"linestyle": ""} for look in looks), chance])
    note_scale(figure, scale)
    return figure
