"""The figures of Madsen et al. 2024, drawn from the tables of `notebooks.fmm.tables`, one page each.

The paper's 16 data sets need several pages: `pages` cuts a table into them. A figure takes the table of its
name, and its scale: "quick" is noted on it.
"""

import re
from collections.abc import Collection

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from faithlib.attributions.registry import names
from faithlib.report import figures as plots
from faithlib.report import label
from faithlib.report.style import line, metric_title, role
from faithlib.scores import RANDOM
from notebooks.fmm.tables import MASKED, PLAIN, STRATEGIES, strategy_title, variant
from replication.papers import layout
from replication.tables import in_order

ROLES = {MASKED: "proposed", "half/unmasked": "fourth", "half/masked": "fifth", PLAIN: "usual"}
ROLES |= dict.fromkeys(("all/masked", "all/both", "all/unmasked"), "third")
ROLES |= dict.fromkeys(("none/masked", "none/both"), "reference")
MARKERS = {"all/both": "<", "all/unmasked": ">", "none/both": "h"}  # of those that share a colour
COPIES = {"unmasked": "unmasked texts", "masked": "masked texts"}
KINDS = {"absolute": "absolute", "signed": "signed"}  # of attributions: panels, and what they are called
P_LIMITS = (0, 0.2)  # p-values of the darkest and of the lightest colour
LIMITS = (-0.5, 2.6)  # of RACU; what lies beyond is marked
ROAR = plots.mark("Recursive ROAR", marker="|")
P_WORDS = {"paper": "paper", "released": "released code", "calibrated": "calibrated"}
FRESH = "fresh texts (control)"
CAPTIONS = layout("fmm", "captions.yaml")


def pages(table: pd.DataFrame, size: int = 3) -> list[pd.DataFrame]:
    """The table in parts of at most `size` data sets, as they come, each fit for one page of any figure."""
    datasets = list(dict.fromkeys(table.dataset))
    return [table[table.dataset.isin(datasets[i : i + size])] for i in range(0, len(datasets), size)]


def file_name(strategy: str) -> str:
    """A strategy's name as part of a file's, such as "masked_fine_tuning"."""
    return re.sub(r"\W+", "_", strategy_title(strategy))


def performance(table: pd.DataFrame, scores: pd.DataFrame, split: str = "test", scale: str = "") -> Figure:
    """Figures 2, 3 and 7 to 15: performance by strategy, a row for each data set and model.

    scores: from `tables.scores`, for the single seeds. split: "test" or "validation".
    """
    table, scores = table[table.split == split], scores[scores.split == split]
    keys = list(dict.fromkeys(zip(table.dataset, table.model, table.metric, strict=True)))
    strategies = in_order(table.strategy.unique(), STRATEGIES)
    # Of a row; None is the published value, beside the first.
    slots = [*strategies[:1], None, *strategies[1:]]
    step = plots.beside(1, len(slots)) - plots.beside(0, len(slots))  # from a strategy's mark to the next
    several = table.model.nunique() > 1
    ends = {0: ("unmasked", "nothing masked"), 100: ("all_masked", "everything masked")}
    both = pd.concat([table.assign(masked=masked, words=words) for masked, (_, words) in ends.items()])
    height = 0.35 + max(0.4, 0.14 * len(slots)) * len(keys)
    grid = plots.panels(both, ["words"], across=2, height=height, names=str, left=1.8)
    for axis, part in grid:
        masked = part.masked.iloc[0]
        column = ends[masked][0]
        for strategy in strategies:
            rows, look = part[part.strategy == strategy], _look(strategy)
            shift = plots.beside(slots.index(strategy), len(slots))
            plots.points(axis, rows, column, _rows(rows, keys) + shift, look)
            if strategy == MASKED and not masked:
                at = _rows(rows, keys) + plots.beside(slots.index(None), len(slots))
                plots.points(axis, rows, "published", at, look | {"hollow": True})
            seeds = scores[(scores.strategy == strategy) & (scores.masked == masked)]
            seeds = seeds[[key in keys for key in zip(seeds.dataset, seeds.model, seeds.metric, strict=True)]]
            for converged, colour in ((True, "#555555"), (False, "#FF0000")):
                one = seeds[seeds.converged == converged]
                at = _rows(one, keys) + shift + step / 2
                axis.plot(one.value, at, "+", color=colour, markersize=3.5, markeredgewidth=0.6)
        if masked:
            majority = part.drop_duplicates(["dataset", "model"])
            axis.plot(majority.majority, _rows(majority, keys), "|", color="#777777", markersize=13)
        plots.name_rows(axis, [_row_title(*key, several) for key in keys])
        plots.guide(axis, 0, look={"linestyle": "-"})
    grid.include(0, 1.03)
    grid.name_axes("performance ↑")
    handles = [_look(name) | {"linestyle": ""} for name in strategies]
    handles.append(plots.mark("one seed", "#555555", "+"))
    if not table.unconverged.eq(0).all():
        handles.append(plots.mark("seed that did not converge", "#FF0000", "+"))
    return grid.finish([*handles, *_published(table), plots.mark("most frequent class", marker="|")], scale)


def masf(
    table: pd.DataFrame, definition: str = "paper", scale: str = "", at_chance: Collection[str] = ()
) -> Figure:
    """Figures 4 and 18 to 21: p-values of masked data being in distribution, a heat map a data set and model.

    Strategies that meet random masks alone are left out. definition: one of `tables.DEFINITIONS`; at_chance:
    as of `racu`.
    """
    table = table.groupby("strategy", sort=False).filter(lambda part: part.measure.nunique() > 2)
    column = f"p_{definition}"
    order = in_order(set(table.measure) - {"validation"}, names())
    ways = {name: strategy_title(name) for name in in_order(table.strategy.unique(), STRATEGIES)}
    height = 0.25 + 0.125 * (len(order) + 1)
    grid = plots.panels(table, height=height, columns=("strategy", ways), left=1.8)
    artist = None
    for i, (axis, part) in enumerate(grid):
        if part.empty:
            continue
        wide, rejected = (_map(part, order, name) for name in (column, column.replace("p_", "rejected_")))
        marked = rejected.map(lambda seeds: str(int(seeds)) if seeds > 0 else "")
        artist = plots.heat(axis, wide, marked, P_LIMITS, "Blues_r")
        axis.tick_params(labelleft=i % grid.across == 0)
    if artist:
        words = f"p-value ({P_WORDS[definition]})"
        grid.figure.colorbar(artist, ax=grid.axes, shrink=0.3, aspect=15, pad=0.01, label=words)
    grid.name_axes("tokens masked [%]")
    _grey(grid, at_chance)
    return grid.finish([plots.mark("seeds with p < 0.05: out of distribution", "#000000", "$n$")], scale)


def _map(table, order, column):
    """Measures × ratios of a column; the fresh texts, which have one value, in a last row."""
    wide = table[table.measure != "validation"].pivot(index="measure", columns="ratio", values=column)
    wide = wide.reindex(order)
    for fresh in table[table.measure == "validation"][column]:
        wide.loc["validation"] = fresh
    return wide.rename(index=lambda name: FRESH if name == "validation" else label(name))


def curves(
    table: pd.DataFrame, strategy: str = MASKED, scale: str = "", at_chance: Collection[str] = ()
) -> Figure:
    """Figures 5 and 22 to 25: performance as tokens are masked, a row a data set and model.

    table: from `tables.curve_table`. Absolute attributions on the left, signed ones on the right. at_chance:
    as of `racu`.
    """
    table = table[table.strategy == strategy]
    order = in_order(table.measure.unique(), names())
    grid = plots.panels(by_kind(table), columns=("kind", KINDS), height=2.1, sharey="row")
    for axis, part in grid:
        for name in in_order(part.measure.unique(), names()):
            plots.lines(axis, part[part.measure == name], "step", "value", line(name))
    grid.include(0, which="y")
    metrics = [", ".join(map(metric_title, part.metric.unique())) for _, part in list(grid)[:: grid.across]]
    grid.name_axes("tokens masked [%]", [f"{metric} ↓" for metric in metrics])
    _grey(grid, at_chance)
    return grid.finish(plots.attribution_looks(order), scale)


def racu(table: pd.DataFrame, scale: str = "", at_chance: Collection[str] = ()) -> Figure:
    """Tables 1, 11 and 12 as a figure: RACU with its interval, the published and Recursive ROAR's beside.

    Where the random curve is flat our mark is left out, and a panel without any says so. at_chance: data sets
    whose model is not above chance; their panels are grey, with a dagger.
    """
    table = table[table.strategy == MASKED]
    order = in_order(table.measure.unique(), names())
    grid = plots.panels(table, height=0.45 + 0.2 * len(order), left=1.6)
    _grey(grid, at_chance)
    for axis, part in grid:
        plots.guide(axis, 0, look={"linestyle": "-"})
        plots.guide(axis, 1)
        for row in part.itertuples():
            y, look, one = order.index(row.measure), line(row.measure), part.loc[[row.Index]]
            if pd.notna(row.racu):
                plots.points(axis, one, "racu", [y - 0.18], look, ("ci_low", "ci_high"), LIMITS)
            plots.points(axis, one, "published", [y + 0.18], look | {"hollow": True}, None, LIMITS)
            plots.points(axis, one, "roar", [y], ROAR, None, LIMITS)
        if part.flat.all():
            axis.set_title(f"{axis.get_title()}\n(none of ours: a seed's\nrandom curve is flat)")
        plots.attribution_rows(axis, order)
    grid.name_axes("RACU ↑")
    roar = [ROAR] if table.roar.notna().any() else []
    return grid.finish([plots.mark("ours", "#555555", "o"), *_published(table), *roar], scale)


def history(table: pd.DataFrame, scale: str = "") -> Figure:
    """Figures 16 and 17: validation performance by epoch, on the unmasked copy and on the masked one."""
    strategies = in_order(table.strategy.unique(), STRATEGIES)
    grid = plots.panels(table, height=1.4, columns=("copy", COPIES))
    for axis, part in grid:
        for strategy in in_order(part.strategy.unique(), STRATEGIES):
            plots.lines(axis, part[part.strategy == strategy], "epoch", "value", _look(strategy))
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    grid.include(0, which="y")
    grid.name_axes("epoch", "performance ↑")
    return grid.finish([_look(strategy) for strategy in strategies], scale)


def _published(table):
    """The legend of hollow marks, with the paper's models; [] where there are none."""
    if not table.published.notna().any():
        return []
    return [plots.HOLLOW | {"label": plots.published_label(*sorted(set(table.published_model)))}]


def _grey(grid, at_chance):
    """Make the panels of data sets whose model is not above chance grey, with a dagger."""
    for axis, part in grid:
        if set(part.dataset) & set(at_chance):
            axis.set_facecolor("#EEEEEE")
            axis.set_title(f"{axis.get_title()} †", color="#767676")


def _look(strategy):
    look = role(ROLES[strategy], strategy_title(strategy))
    return look | {"marker": MARKERS.get(strategy, look["marker"])}


def _rows(table, keys):
    """The row of each data set and model."""
    cases = zip(table.dataset, table.model, strict=True)
    return plots.place(cases, [key[:2] for key in keys])


def _row_title(dataset, model, metric, several):
    words = "" if metric == "mean" else metric_title(metric)
    return plots.title(dataset, model if several else "", words)


def by_kind(table: pd.DataFrame) -> pd.DataFrame:
    """Curves with the column `kind`: those of absolute attributions, then of signed ones; random is both."""
    kinds = table.measure.map(variant)
    parts = [table[(kinds == kind) | (table.measure == RANDOM)].assign(kind=kind) for kind in KINDS]
    return pd.concat(parts)
