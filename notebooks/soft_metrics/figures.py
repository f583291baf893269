"""The figures of Zhao & Aletras 2023, drawn from the tables of `notebooks.soft_metrics.tables`."""

from faithlib.attributions.registry import names
from faithlib.report.figures import (
    HOLLOW,
    attribution_looks,
    attribution_rows,
    beside,
    guide,
    lines,
    mark,
    panels,
    place,
    points,
    published_label,
    title,
)
from faithlib.report.style import line, role
from replication.papers import published
from replication.tables import in_order, ordered

INTERVAL = ("ci_low", "ci_high")
PAIRS = {"NS": "Soft-NS", "NC": "Soft-NC"}  # hard metric: its soft counterpart
WORDS = {"NS": "sufficiency", "NC": "comprehensiveness"}
CRITERIA = {"hard": role("usual", "hard erasure"), "soft": role("proposed", "soft erasure")}
BASELINES = {"normal": "o", "matched": "D"}  # the marker of a random baseline
CHANCE = mark("no better than random", dashes=":")
CAPTIONS = {
    "diagnosticity_by_attribution": "**How often does a metric prefer an attribution to a random one?** "
    "Diagnosticity (share of texts, with 95 % intervals over texts) of hard and of soft erasure, for "
    "sufficiency (left) and comprehensiveness (right). Circles: against random scores from N(0, 1), as "
    "the authors' code draws them. Diamonds: against the attribution's own scores in random order. Hollow: "
    "published (Table 6 of the paper). A circle and a diamond of one colour that lie apart show how much of "
    "the preference comes from the scale of the scores and not from the tokens that were chosen. A tie "
    "counts one half here, in the paper nothing.",
    "soft_draws": "**How many random masks does a soft metric need?** Diagnosticity of soft metrics, mean "
    "over attributions, where a soft value is the mean of the first masks only; level lines are the hard "
    "metrics, which have none; bands are 95 % intervals over texts, ties count one half. *N(0, 1)*: against "
    "the paper's random attribution. *Own scores*: against the attribution's own scores in random order. "
    "Where a curve still rises, few draws count against soft metrics.",
    "faithfulness_by_ratio": "**Longer rationales look more faithful, whoever chose them.** Normalised "
    "sufficiency and comprehensiveness (0 to 1, clipped for each text) by rationale length, in per cent of "
    "the tokens; bands are 95 % intervals over texts. The black dotted curve is a random attribution: only "
    "what lies above it is due to the attribution (Figure 2 of the paper).",
    "diagnosticity_by_ratio": "**Is there a better rationale length?** Share of texts in which a metric "
    "prefers an attribution to a random one, mean over attributions, for hard erasure at each rationale "
    "length; bands are 95 % intervals over texts. Soft erasure has no rationale length and is a level line. "
    "Where the curve of hard erasure crosses above it, a fixed length would have been the more diagnostic "
    "choice (Figure 3 of the paper).",
}


def faithfulness_by_ratio(table, scale="", definition="paper"):
    """Figure 2: NS and NC against the rationale ratio, a row for each metric and a column for each data set.

    Args:
        table: from `tables.faithfulness_by_ratio`.
        scale: "quick" is noted on the figure.
        definition: "paper" or "released".
    """
    table = _percent(table[(table.definition == definition) & table.ratio.notna()])
    known = in_order(table.attribution.unique(), names())
    grid = _by_metric(table.assign(family=table.metric))
    for axis, part in grid:
        for name in known:
            lines(axis, part[part.attribution == name], "ratio", "value", line(name), INTERVAL)
    grid.include(0, which="y")
    grid.name_axes("rationale length [%]", [f"{WORDS[metric]} ↑" for metric in WORDS])
    return grid.finish(attribution_looks(known), scale)


def diagnosticity_by_ratio(table, scale="", definition="paper", baseline="normal"):
    """Figure 3: diagnosticity of NS and NC at each ratio, of the soft metrics as level lines.

    Args:
        table: from `tables.diagnosticity_by_ratio`.
        scale: "quick" is noted on the figure.
        definition: "paper" or "released".
        baseline: "normal" or "matched".
    """
    table = table[(table.definition == definition) & (table.baseline == baseline)]
    family = {name: hard for hard, soft in PAIRS.items() for name in (hard, soft)}
    table = _percent(table[table.metric.isin(family)])
    grid = _by_metric(table.assign(family=table.metric.map(family)))
    for axis, part in grid:
        hard = part.ratio.notna()
        lines(axis, part[hard], "ratio", "value", CRITERIA["hard"], INTERVAL)
        for level in part[~hard].itertuples():
            look = CRITERIA["soft"]
            axis.axhline(level.value, color=look["color"], linewidth=1.2)
            axis.axhspan(level.ci_low, level.ci_high, color=look["color"], alpha=0.15, linewidth=0)
        guide(axis, 0.5, which="y")
        axis.set_ylim(0, 1)
    grid.name_axes("rationale length [%]", [f"diagnosticity,\n{WORDS[metric]} ↑" for metric in WORDS])
    soft = CRITERIA["soft"] | {"marker": ""}
    return grid.finish([CRITERIA["hard"], soft, CHANCE], scale)


def soft_draws(table, scale=""):
    """Diagnosticity against the number of soft draws, hard metrics as level lines.

    Args:
        table: from `tables.soft_draws`.
        scale: "quick" is noted on the figure.
    """
    family = {name: hard for hard, soft in PAIRS.items() for name in (hard, soft)}
    table = table.assign(family=table.metric.map(family))
    table = ordered(table, dataset=(), baseline=tuple(BASELINES), family=tuple(WORDS))
    by, titles = ["dataset", "baseline", "family"], {"normal": "N(0, 1)", "matched": "own scores"}
    grid = panels(
        table, by, 4, height=1.45, names=lambda d, b, f: f"{title(d)}, {WORDS[f]},\nagainst {titles[b]}"
    )
    for axis, part in grid:
        for criterion, soft in (("hard", False), ("soft", True)):
            own = part[part.metric.isin(PAIRS) != soft]
            lines(axis, own, "draws", "value", CRITERIA[criterion], INTERVAL)
        guide(axis, 0.5, which="y")
        axis.set_xscale("log", base=2)
        axis.set_xticks(sorted(set(part.draws)), [str(n) for n in sorted(set(part.draws))])
        axis.set_ylim(0, 1)
    grid.name_axes("random masks a value", "diagnosticity ↑")
    return grid.finish([*CRITERIA.values(), CHANCE], scale)


def hard_and_soft(table, scale="", definition="paper"):
    """Diagnosticity of each attribution: hard and soft, against both baselines, and published.

    Args:
        table: from `tables.diagnosticity`.
        scale: "quick" is noted on the figure.
        definition: "paper" or "released".
    """
    table = table[(table.definition == definition) & (table.ties == "half")]
    known = in_order(table.attribution.unique(), names())
    family = {name: hard for hard, soft in PAIRS.items() for name in (hard, soft)}
    table = table[table.metric.isin(family)]
    table = table.assign(family=table.metric.map(family))
    grid = panels(table, ["dataset"], left=1.4, height=0.35 + 0.34 * len(known), columns=("family", WORDS))
    sides = [(criterion, baseline) for criterion in CRITERIA for baseline in BASELINES]
    for axis, part in grid:
        guide(axis, 0.5)
        for i, (criterion, baseline) in enumerate(sides):
            own = part[part.metric.isin(PAIRS) == (criterion == "hard")]
            own = own[own.baseline == baseline]
            look = CRITERIA[criterion] | {"marker": BASELINES[baseline]}
            rows = place(own.attribution, known, beside(i, len(sides)))
            points(axis, own, "value", rows, look, INTERVAL, size=3.5)
            if definition == "paper":
                points(axis, own, "published", rows, look | {"hollow": True}, None, size=5.5)
        attribution_rows(axis, known)
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
        handles.append(HOLLOW | {"label": published_label(*models.reindex(table.dataset.unique()).dropna())})
    return grid.finish([*handles, CHANCE], scale, columns=2)


def _percent(table):
    return table.assign(ratio=100 * table.ratio)


def _by_metric(table):
    """A row for each metric and a column for each data set."""
    by = ["family", "dataset"]
    across = table.dataset.nunique()
    table = ordered(table, family=tuple(WORDS), dataset=())
    return panels(table, by, across, height=1.45, names=lambda family, dataset: title(dataset))
