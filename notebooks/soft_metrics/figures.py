"""The figures of Zhao & Aletras 2023, drawn from the tables of `notebooks.soft_metrics.tables`.

A figure takes the table of its name, and its scale: "quick" is noted on it. The definition is the paper's.
"""

import pandas as pd
from matplotlib.figure import Figure

from faithlib.attributions.registry import names
from faithlib.report import figures as plots
from faithlib.report.style import line, role
from replication.papers import layout, published
from replication.tables import in_order, ordered

INTERVAL = ("ci_low", "ci_high")
PAIRS = {"NS": "Soft-NS", "NC": "Soft-NC"}  # hard metric: its soft counterpart
FAMILY = {name: hard for hard, soft in PAIRS.items() for name in (hard, soft)}
WORDS = {"NS": "sufficiency", "NC": "comprehensiveness"}
CRITERIA = {"hard": role("usual", "hard erasure"), "soft": role("proposed", "soft erasure")}
BASELINES = {"normal": "o", "matched": "D"}  # the marker of a random baseline
CHANCE = plots.mark("no better than random", dashes=":")
CAPTIONS = layout("soft_metrics", "captions.yaml")


def faithfulness_by_ratio(table: pd.DataFrame, scale: str = "") -> Figure:
    """Figure 2: NS and NC against the rationale ratio, a row for each metric, a column for each data set."""
    table = table[(table.definition == "paper") & table.ratio.notna()]
    order = in_order(table.attribution.unique(), names())
    grid = _by_metric(table.assign(family=table.metric))
    for axis, part in grid:
        for name in order:
            plots.lines(axis, part[part.attribution == name], "ratio", "value", line(name), INTERVAL)
    grid.include(0, which="y")
    grid.name_axes("rationale length [%]", [f"{WORDS[metric]} ↑" for metric in WORDS])
    return grid.finish(plots.attribution_looks(order), scale)


def diagnosticity_by_ratio(table: pd.DataFrame, scale: str = "", baseline: str = "normal") -> Figure:
    """Figure 3: diagnosticity of NS and NC at each ratio, of the soft metrics as level lines."""
    table = table[(table.definition == "paper") & (table.baseline == baseline) & table.metric.isin(FAMILY)]
    grid = _by_metric(table.assign(family=table.metric.map(FAMILY)))
    for axis, part in grid:
        hard = part.ratio.notna()
        plots.lines(axis, part[hard], "ratio", "value", CRITERIA["hard"], INTERVAL)
        look = CRITERIA["soft"]
        for level in part[~hard].itertuples():
            axis.axhline(level.value, color=look["color"], linewidth=1.2)
            axis.axhspan(level.ci_low, level.ci_high, color=look["color"], alpha=0.15, linewidth=0)
        plots.guide(axis, 0.5, which="y")
        axis.set_ylim(0, 1)
    grid.name_axes("rationale length [%]", [f"diagnosticity,\n{WORDS[metric]} ↑" for metric in WORDS])
    return grid.finish([CRITERIA["hard"], CRITERIA["soft"] | {"marker": ""}, CHANCE], scale)


def soft_draws(table: pd.DataFrame, scale: str = "") -> Figure:
    """Diagnosticity against the number of soft draws, hard metrics as level lines."""
    table = table.assign(family=table.metric.map(FAMILY))
    table = ordered(table, dataset=(), baseline=tuple(BASELINES), family=tuple(WORDS))
    titles = {"normal": "N(0, 1)", "matched": "own scores"}

    def name(dataset, baseline, family):
        return f"{plots.title(dataset)}, {WORDS[family]},\nagainst {titles[baseline]}"

    grid = plots.panels(table, ["dataset", "baseline", "family"], 4, height=1.45, names=name)
    for axis, part in grid:
        for criterion, soft in (("hard", False), ("soft", True)):
            one = part[part.metric.isin(PAIRS) != soft]
            plots.lines(axis, one, "draws", "value", CRITERIA[criterion], INTERVAL)
        plots.guide(axis, 0.5, which="y")
        axis.set_xscale("log", base=2)
        axis.set_xticks(sorted(set(part.draws)), [str(n) for n in sorted(set(part.draws))])
        axis.set_ylim(0, 1)
    grid.name_axes("random masks a value", "diagnosticity ↑")
    return grid.finish([*CRITERIA.values(), CHANCE], scale)


def hard_and_soft(table: pd.DataFrame, scale: str = "") -> Figure:
    """`tables.diagnosticity`: hard and soft of each attribution, against both baselines, and published."""
    table = table[(table.definition == "paper") & (table.ties == "half") & table.metric.isin(FAMILY)]
    table = table.assign(family=table.metric.map(FAMILY))
    order = in_order(table.attribution.unique(), names())
    height = 0.35 + 0.26 * len(order)
    grid = plots.panels(table, ["dataset"], left=1.4, height=height, columns=("family", WORDS))
    sides = [(criterion, baseline) for criterion in CRITERIA for baseline in BASELINES]
    for axis, part in grid:
        plots.guide(axis, 0.5)
        for i, (criterion, baseline) in enumerate(sides):
            one = part[part.metric.isin(PAIRS) == (criterion == "hard")]
            one = one[one.baseline == baseline]
            look = CRITERIA[criterion] | {"marker": BASELINES[baseline]}
            rows = plots.place(one.attribution, order, plots.beside(i, len(sides)))
            plots.points(axis, one, "value", rows, look, INTERVAL, size=3.5)
            plots.points(axis, one, "published", rows, look | {"hollow": True}, None, size=5.5)
        plots.attribution_rows(axis, order)
        axis.set_xlim(-0.02, 1.02)
    grid.name_axes("diagnosticity (share of texts) ↑")
    handles = [
        CRITERIA[criterion]
        | {"marker": BASELINES[baseline], "linestyle": ""}
        | {"label": f"{criterion} erasure, {baseline} random baseline"}
        for criterion, baseline in sides
    ]
    if table.published.notna().any():
        models = published("soft_metrics", "table_5").set_index("dataset").model
        words = plots.published_label(*models.reindex(table.dataset.unique()).dropna())
        handles.append(plots.HOLLOW | {"label": words})
    return grid.finish([*handles, CHANCE], scale, columns=2)


def _by_metric(table):
    """A row for each metric and a column for each data set, ratios in per cent."""
    across = table.dataset.nunique()
    table = ordered(table.assign(ratio=100 * table.ratio), family=tuple(WORDS), dataset=())
    by = ["family", "dataset"]
    return plots.panels(table, by, across, height=1.45, names=lambda family, dataset: plots.title(dataset))
