"""The figures of Madsen et al. 2024, drawn from the tables of `faithlib.papers.fmm.tables`, one page each.

The paper's 16 data sets need several pages: `pages` cuts a table into them.
"""

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from faithlib.attributions.registry import COLOURS
from faithlib.papers.fmm.tables import MASKED, MEASURES, P_OF, PLAIN, STRATEGIES, named, variant
from faithlib.report import label, line, note_scale
from faithlib.report.tables import in_order

WIDTH = 6.8  # inches: the width of a page's text
LOOKS = {
    MASKED: (COLOURS["blue"], "o"),
    PLAIN: (COLOURS["vermillion"], "s"),
    "all/masked": (COLOURS["green"], "^"),
}


def pages(table, size=6):
    """The table in parts of at most `size` data sets, each fit for one page of any of the figures."""
    datasets = list(dict.fromkeys(table.dataset))
    return [table[table.dataset.isin(datasets[i : i + size])] for i in range(0, len(datasets), size)]


def performance(table, scores, masked=0, split="test", scale=""):
    """Figures 2, 7 to 9, 12 and 13 (masked=0), 3, 10, 11, 14 and 15 (masked=100): performance by strategy.

    table: from `fmm.performance`; scores: from `fmm.scores`. A panel a data set and model; a plus is a seed,
    in red where it did not converge. The dashed line is plain fine-tuning's mean, or with everything masked
    the class majority; the published value is hollow.
    """
    table, name = table[table.split == split], "all_masked" if masked else "unmasked"
    names = in_order(table.strategy.unique(), STRATEGIES)
    figure, panels = _panels(table, 4, 0.6 + 0.22 * len(names))
    for axis, part in panels:
        first = part.iloc[0]
        plain = part[part.strategy == PLAIN].unmasked
        dashed = first.majority if masked else plain.iloc[0] if len(plain) else float("nan")
        axis.axvline(dashed, color="#777777", linewidth=0.8, linestyle="--")
        seeds = scores[
            (scores.dataset == first.dataset)
            & (scores.model == first.model)
            & (scores.metric == first.metric)
            & (scores.split == split)
            & (scores.masked == masked)
        ]
        for row in part.to_dict("records"):
            y, (colour, marker) = names.index(row["strategy"]), _look(row["strategy"])
            own = seeds[seeds.strategy == row["strategy"]]
            for converged, edge in ((True, "#999999"), (False, "#FF0000")):
                these = own[own.converged == converged].value
                axis.plot(these, [y + 0.32] * len(these), "+", color=edge, markersize=3.5)
            bars = [[row[name] - row[f"{name}_low"]], [row[f"{name}_high"] - row[name]]]
            axis.errorbar([row[name]], [y], xerr=bars, color=colour, marker=marker, markersize=4)
            if not masked:
                axis.plot(
                    [row["published"]],
                    [y],
                    color=colour,
                    marker=marker,
                    markersize=6.5,
                    linestyle="",
                    markerfacecolor="none",
                    markeredgewidth=0.9,
                )
        axis.xaxis.set_major_locator(MaxNLocator(3))
        axis.set_yticks(range(len(names)), [named(n) for n in names])
        axis.set_ylim(len(names) - 0.3, -0.6)
        axis.set_xlabel(f"{first.metric.replace('_', ' ')} ↑")
    of_line = "class majority" if masked else "plain fine-tuning"
    shown = [
        Line2D([], [], color="#777777", linestyle="--", label=of_line),
        _mark("+", "one seed", "#999999"),
    ]
    if not table.unconverged.eq(0).all():
        shown.append(_mark("+", "seed that did not converge", "#FF0000"))
    if not masked and table.published.notna().any():
        shown.append(_mark("o", _published(table), "#555555"))
    figure.legend(handles=shown, loc="outside lower center", ncols=len(shown))
    note_scale(figure, scale)
    return figure


def masf(table, definition="paper", scale=""):
    """Figures 4 and 18 to 21: p-values of masked data being in distribution, a row a data set and model.

    table: from `fmm.masf`. A column a strategy, a line a measure, absolute ones beside signed ones hollow;
    below the dashed line masked data is out of distribution at 5 %. The grey dotted line is a fresh
    in-distribution set, that should lie above as well.
    """
    name = P_OF[definition]
    strategies = in_order(table.strategy.unique(), STRATEGIES)
    figure, axes = _grid(table, len(strategies))
    for row, (title, part) in zip(axes, _groups(table), strict=True):
        for axis, strategy in zip(row, strategies, strict=True):
            own = part[part.strategy == strategy]
            for measure in in_order(set(own.measure) - {"validation"}, MEASURES):
                hollow = {"markerfacecolor": "white"} if measure.endswith("_abs") else {}
                _band(axis, own[own.measure == measure], "ratio", name, line(measure) | hollow)
            axis.axhline(0.05, color="#777777", linewidth=0.8, linestyle="--")
            for fresh in own[own.measure == "validation"][name]:
                axis.axhline(fresh, color="#777777", linewidth=1, linestyle=":", label="fresh data")
            axis.set_title(f"{title}: {named(strategy)}")
            axis.set_ylim(-0.03, 1.03)
        row[0].set_ylabel(f"p, {definition}")
    return _finished(figure, axes, "tokens masked [%]", scale)


def curves(table, strategy=MASKED, scale=""):
    """Figures 5 and 22 to 25: performance as tokens are masked, a row a data set and model.

    table: from `fmm.curve_table`. Absolute measures on the left, signed ones on the right, random in both.
    Bands are 95 % intervals over seeds; below random is faithful.
    """
    table = table[table.strategy == strategy]
    figure, axes = _grid(table, 2)
    for row, (title, part) in zip(axes, _groups(table), strict=True):
        for axis, kind in zip(row, ("absolute", "signed"), strict=True):
            for measure in in_order(part.measure.unique(), MEASURES):
                if measure == "random" or variant(measure) == kind:
                    _band(axis, part[part.measure == measure], "step", "value", line(measure))
            axis.set_title(f"{title}: {kind}")
        row[0].set_ylabel(f"{part.metric.iloc[0].replace('_', ' ')} ↓")
    return _finished(figure, axes, "tokens masked [%]", scale)


def racu(table, scale=""):
    """Tables 1, 11 and 12 as a figure: RACU with its interval, the published and Recursive ROAR's beside.

    table: from `fmm.racu`. A panel a data set and model. Where the random curve is flat our point is left
    out, and a panel without any says so.
    """
    table = table[table.strategy == MASKED]
    names = in_order(table.measure.unique(), MEASURES)
    figure, panels = _panels(table, 3, 0.5 + 0.19 * len(names))
    for axis, part in panels:
        axis.axvline(0, color="#777777", linewidth=0.8)
        for row in part.to_dict("records"):
            y, look = names.index(row["measure"]), line(row["measure"])
            own = {"color": look["color"], "marker": look["marker"], "linestyle": ""}
            if not row["flat"]:
                bars = [[row["racu"] - row["ci_low"]], [row["ci_high"] - row["racu"]]]
                axis.errorbar([row["racu"]], [y], xerr=bars, markersize=4, **own)
            axis.plot(
                [row["published"]], [y], markersize=6.5, markerfacecolor="none", markeredgewidth=0.9, **own
            )
            axis.plot([row["roar"]], [y + 0.25], "|", color="#555555", markersize=6, markeredgewidth=1.5)
        if part.flat.all():
            axis.set_title(axis.get_title() + "\n(none of ours: random curve flat)")
        axis.set_yticks(range(len(names)), [label(name) for name in names])
        axis.set_ylim(len(names) - 0.4, -0.6)
        axis.set_xlabel("RACU ↑")
    shown = [_mark("o", _published(table), "#555555")] if table.published.notna().any() else []
    shown += [_mark("|", "Recursive ROAR", "#555555")] if table.roar.notna().any() else []
    if shown:
        figure.legend(handles=shown, loc="outside lower center", ncols=2)
    note_scale(figure, scale)
    return figure


def history(table, scale=""):
    """Figures 16 and 17: validation performance by epoch, on the unmasked copy and on the masked one.

    table: from `fmm.history`. A row a data set and model; bands are 95 % intervals over seeds.
    """
    copies = ("unmasked", "masked")
    figure, axes = _grid(table, len(copies))
    for row, (title, part) in zip(axes, _groups(table), strict=True):
        for axis, copy in zip(row, copies, strict=True):
            for strategy in in_order(part.strategy.unique(), STRATEGIES):
                own, (colour, marker) = part[part.strategy == strategy], _look(strategy)
                look = {"color": colour, "marker": marker, "label": named(strategy)}
                _band(axis, own[own["copy"] == copy], "epoch", "value", look)
            axis.set_title(f"{title}: {copy} copy")
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        row[0].set_ylabel("validation ↑")
    return _finished(figure, axes, "epoch", scale)


def _look(strategy):
    return LOOKS.get(strategy, ("#777777", "D"))


def _published(table):
    return ", ".join(["published", *sorted(set(table.published_model) - {""})])


def _mark(marker, name, colour):
    face = "none" if marker == "o" else colour
    return Line2D(
        [], [], color=colour, marker=marker, linestyle="", markersize=5, markerfacecolor=face, label=name
    )


def _groups(table):
    """[(title, part)] of each data set and model; the model is in the title where a data set has several."""
    found = []
    for (dataset, model), part in table.groupby(["dataset", "model"], sort=False):
        several = table[table.dataset == dataset].model.nunique() > 1
        found.append((f"{dataset}, {model}" if several else dataset, part))
    return found


def _panels(table, across, height):
    """A figure with a panel a data set and model, `across` abreast: (figure, [(axis, part)])."""
    groups = _groups(table)
    across = min(across, len(groups))
    down = -(-len(groups) // across)
    figure, axes = plt.subplots(
        down,
        across,
        squeeze=False,
        sharey=True,
        figsize=(min(WIDTH, 1.5 + 1.9 * across), 0.4 + height * down),
    )
    for axis in axes.flat[len(groups) :]:
        axis.set_visible(False)
    for axis, (title, _) in zip(axes.flat, groups, strict=False):
        axis.set_title(title)
    return figure, [(axis, part) for axis, (_, part) in zip(axes.flat, groups, strict=False)]


def _grid(table, across):
    """A figure with a row a data set and model: (figure, axes)."""
    down = len(_groups(table))
    return plt.subplots(
        down,
        across,
        squeeze=False,
        sharex=True,
        sharey="row",
        figsize=(min(WIDTH, 0.6 + 3.1 * across), 0.8 + 1.5 * down),
    )


def _band(axis, part, x, y, look):
    part = part.sort_values(x)
    axis.plot(part[x], part[y], markersize=3, **look)
    axis.fill_between(
        part[x], part[f"{y}_low"], part[f"{y}_high"], color=look["color"], alpha=0.15, linewidth=0
    )


def _finished(figure, axes, xlabel, scale):
    """The figure with labels below and one legend of all that its panels have."""
    for axis in axes[-1]:
        axis.set_xlabel(xlabel)
    found = {}
    for axis in axes.flat:
        found |= dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
    columns = max(1, int(figure.get_figwidth() / 1.35))
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=min(columns, len(found)))
    note_scale(figure, scale)
    return figure
