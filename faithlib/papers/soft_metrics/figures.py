"""Figures 2 and 3 of Zhao & Aletras 2023, and diagnosticity hard against soft, as Figures.

They draw the tables of `faithlib.papers.soft_metrics.tables` and compute nothing.
"""

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from faithlib.attributions.registry import COLOURS
from faithlib.papers.soft_metrics.tables import HARD
from faithlib.report import label, line, note_scale

WIDTH = 6.8  # inches: the width of a page's text
METRIC_LINES = {  # colour tells the metric, line style hard from soft
    "NS": (COLOURS["orange"], "o", "-"),
    "NC": (COLOURS["blue"], "s", "-"),
    "Soft-NS": (COLOURS["orange"], "", "--"),
    "Soft-NC": (COLOURS["blue"], "", "--"),
}
SIDES = {  # criterion and baseline of one mark: colour, marker, shift along the axis
    ("hard", "normal"): (COLOURS["blue"], "o", 0.24),
    ("soft", "normal"): (COLOURS["vermillion"], "o", 0.08),
    ("hard", "matched"): (COLOURS["blue"], "D", -0.08),
    ("soft", "matched"): (COLOURS["vermillion"], "D", -0.24),
}


def faithfulness_by_ratio(table, scale="", definition="paper"):
    """Figure 2: NS and NC against the rationale ratio, a column of panels per data set."""
    table = table[(table.definition == definition) & table.ratio.notna()]
    datasets, metrics = table.dataset.unique(), ("NS", "NC")
    figure, axes = plt.subplots(
        len(metrics), len(datasets), sharex=True, sharey="row", squeeze=False, figsize=(WIDTH, 3.8)
    )
    for row, metric in zip(axes, metrics, strict=True):
        for axis, dataset in zip(row, datasets, strict=True):
            part = table[(table.metric == metric) & (table.dataset == dataset)]
            for attribution, points in part.groupby("attribution", sort=False):
                points = points.sort_values("ratio")
                axis.plot(points.ratio, points.value, **line(attribution))
                axis.fill_between(
                    points.ratio,
                    points.ci_low,
                    points.ci_high,
                    linewidth=0,
                    color=line(attribution)["color"],
                    alpha=0.12,
                )
        row[0].set_ylabel(f"{metric}, in [0, 1] ↑")
    _name_panels(axes[0], datasets)
    for axis in axes[-1]:
        _ratio_axis(axis)
    _legend(figure, [Line2D([], [], **line(a)) for a in table.attribution.unique()])
    note_scale(figure, scale)
    return figure


def diagnosticity_by_ratio(table, scale="", definition="paper", baseline="normal"):
    """Figure 3: diagnosticity of NS and NC at each ratio, of the soft metrics as level lines."""
    table = table[(table.definition == definition) & (table.baseline == baseline)]
    table = table[table.metric.isin(METRIC_LINES)]
    datasets = table.dataset.unique()
    columns = len(datasets) if len(datasets) < 4 else 2
    rows = -(-len(datasets) // columns)
    figure, axes = plt.subplots(
        rows, columns, sharex=True, sharey=True, squeeze=False, figsize=(WIDTH, 0.7 + 1.7 * rows)
    )
    for axis, dataset in zip(axes.flat, datasets, strict=False):
        axis.axhline(0.5, color="#999999", linewidth=0.8, linestyle=":")
        for metric, points in table[table.dataset == dataset].groupby("metric", sort=False):
            _metric_line(axis, metric, points)
        _ratio_axis(axis, shared=True)
    for axis in axes.flat[len(datasets) :]:
        axis.set_visible(False)
    for row in axes:
        row[0].set_ylabel("diagnosticity ↑")
    _name_panels(axes.flat, datasets)
    handles = [
        Line2D([], [], color=c, marker=m, linestyle=s, label=metric)
        for metric, (c, m, s) in METRIC_LINES.items()
    ]
    _legend(figure, [*handles, Line2D([], [], color="#999999", linestyle=":", label="chance")])
    note_scale(figure, scale)
    return figure


def hard_and_soft(table, scale="", definition="paper"):
    """Diagnosticity of each attribution: hard and soft, against both baselines, and published.

    table: from `diagnosticity`. A row of panels per data set, a column for sufficiency and one for
    comprehensiveness; bars are 95 % intervals, hollow marks the published values.
    """
    table = table[(table.definition == definition) & (table.ties == "strict")]
    datasets = table.dataset.unique()
    figure, axes = plt.subplots(
        len(datasets),
        len(HARD),
        sharex=True,
        sharey=True,
        squeeze=False,
        figsize=(WIDTH, 0.9 + 1.6 * len(datasets)),
    )
    order = list(table.attribution.unique())
    for row, dataset in zip(axes, datasets, strict=True):
        for axis, (soft, hard) in zip(row, HARD.items(), strict=True):
            axis.axvline(0.5, color="#999999", linewidth=0.8, linestyle=":")
            for metric, criterion in ((hard, "hard"), (soft, "soft")):
                part = table[(table.dataset == dataset) & (table.metric == metric)]
                for baseline, points in part.groupby("baseline", sort=False):
                    _marks(axis, points, order, SIDES[criterion, baseline])
            axis.set_title(f"{dataset}: {hard} and {soft}")
            axis.set_yticks(range(len(order)), [label(a) for a in order])
            axis.set_ylim(len(order) - 0.5, -0.5)
    for axis in axes[-1]:
        axis.set_xlabel("diagnosticity ↑")
    handles = _side_handles(table.published.notna().any())
    _legend(figure, handles, columns=3 if len(handles) > 4 else 2)
    note_scale(figure, scale)
    return figure


def _marks(axis, points, order, look):
    colour, marker, shift = look
    y = points.attribution.map(order.index) - shift
    axis.errorbar(
        points.value,
        y,
        color=colour,
        marker=marker,
        markersize=3.5,
        linestyle="",
        xerr=(points.value - points.ci_low, points.ci_high - points.value),
    )
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


def _side_handles(published):
    handles = [
        Line2D(
            [],
            [],
            color=colour,
            marker=marker,
            linestyle="",
            markersize=3.5,
            label=f"{criterion}, {baseline} random baseline",
        )
        for (criterion, baseline), (colour, marker, _) in SIDES.items()
    ]
    if published:
        handles.append(
            Line2D(
                [],
                [],
                color="#555555",
                marker="o",
                linestyle="",
                markersize=5.5,
                markerfacecolor="none",
                label="published (normal baseline)",
            )
        )
    return handles


def _metric_line(axis, metric, points):
    colour, marker, style = METRIC_LINES[metric]
    if metric in HARD:  # no ratio: one level across the panel
        level = points.iloc[0]
        axis.axhline(level.value, color=colour, linestyle=style)
        axis.axhspan(level.ci_low, level.ci_high, color=colour, alpha=0.12, linewidth=0)
        return
    points = points.sort_values("ratio")
    axis.plot(points.ratio, points.value, color=colour, marker=marker, linestyle=style)
    axis.fill_between(points.ratio, points.ci_low, points.ci_high, color=colour, alpha=0.12, linewidth=0)


def _ratio_axis(axis, shared=False):
    axis.set_xlim(0, 1)
    axis.set_xticks([0.1, 0.5, 0.9])  # labels at the edges would touch the next panel's
    axis.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    if not shared or axis.get_subplotspec().is_last_row():
        axis.set_xlabel("rationale ratio")


def _name_panels(axes, datasets):
    for axis, dataset in zip(axes, datasets, strict=False):
        axis.set_title(dataset)


def _legend(figure, handles, columns=6):
    figure.legend(handles=handles, loc="outside lower center", ncols=min(columns, len(handles)))
