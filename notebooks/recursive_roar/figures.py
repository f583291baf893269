"""The figures of Madsen et al. 2022, drawn from the tables of `notebooks.recursive_roar.tables`."""

from matplotlib.ticker import MaxNLocator

from faithlib.attributions.registry import names
from faithlib.report.figures import (
    HOLLOW,
    attribution_looks,
    attribution_rows,
    guide,
    lines,
    mark,
    panels,
    points,
    published_label,
    title,
)
from faithlib.report.style import line, metric_title, role
from notebooks.recursive_roar.card import CARD
from notebooks.recursive_roar.tables import UNITS
from replication.tables import in_order

LOOKS = {
    "Recursive ROAR": role("proposed", "Recursive ROAR"),
    "ROAR": role("usual", "ROAR"),
    "truth": role("fourth", "informative features first"),
    "worst case": role("reference", "informative features last"),
}
REPEATED = {False: "ROAR", True: "Recursive ROAR"}
CLIP = (-1, 1)  # where the paper clips RACU
BANDS = "Bands are 95 % intervals over seeds. "
CURVES = (
    "Test performance of models retrained after tokens were masked, the most important ones of each "
    "attribution first. Lower is more faithful: a curve well below that of random masking (black, "
    "dotted) means that the tokens named as important were needed. "
)
CAPTIONS = {
    "synthetic_accuracy": "**A problem whose answer is known.** Accuracy of a linear model as features are "
    "masked; four of the 16 features decide the label, and each of them is enough once others tell the "
    "noise. ROAR ranks the features once, Recursive ROAR after each removal. Recursive ROAR falls as early "
    "as is possible; ROAR masks noise features before it has found all four (Figure 3 of the paper).",
    "recursive_curves": "**Does masking important tokens hurt?** "
    + CURVES
    + BANDS
    + "A curve that rises again can mean that the masks themselves leak the label, or that models below it "
    "predict one class; where the random curve stays flat there is little to measure "
    "(Recursive ROAR, Figure 4 of the paper).",
    "recursive_curves_by_count": "**One token at a time.** "
    + CURVES
    + BANDS
    + "The ranking is renewed after "
    "each token (Figure 7 of the paper).",
    "roar_and_recursive": "**Why the ranking is renewed.** " + CURVES + "Left, ROAR ranks the tokens once; "
    "right, Recursive ROAR ranks what is left after each step. " + BANDS + "Where ROAR stays at the random "
    "curve and Recursive ROAR falls below it, the texts say the same thing more than once (Figures 8 and 9 "
    "of the paper).",
    "sparsity": "**How many tokens hold the importance?** Share of the summed absolute scores that the top "
    "tokens of a text hold, in the model trained on whole texts. " + BANDS + "A steep curve is a sparse "
    "explanation, which is easier to read and not more faithful for it (Figures 5 and 6 of the paper).",
    "racu_by_dataset": "**Faithfulness as one number.** RACU is the area between an attribution's curve and "
    "the random curve, divided by the area between the random curve and the performance with everything "
    "masked: 0 is no better than random, and near 1 the first tokens take everything away. Filled marks are "
    "ours, with 95 % intervals over seeds. Hollow marks are published, for the paper's model of this kind "
    "(its BiLSTM has pretrained word vectors), with the paper's intervals. Values are clipped "
    "at −1 and 1 for each seed, as in the paper; an arrow marks a mean beyond, with its unclipped value. The "
    "published integrated gradients are the weighted ones of the released code (Table 2 of the paper).",
    "racu_on_the_same_texts": "**Does faithfulness depend on the model?** RACU of two models that were "
    "trained and tested on the same texts, with the same masking levels and integration steps; 95 % "
    "intervals over seeds. These are fewer texts than the paper has, so nothing published stands beside.",
}


def synthetic(table):
    """Figure 3: accuracy on the synthetic problem as features are masked, one line an order.

    Args:
        table: from `synthetic.curves`.
    """
    grid = panels(table.assign(problem="16 features, 4 of them informative"), ["problem"], names=str)
    (axis,) = grid.axes
    looks = LOOKS | {"truth": LOOKS["truth"] | {"linewidth": 5, "marker": "", "linestyle": "-", "alpha": 0.5}}
    for name, look in reversed(looks.items()):
        lines(axis, table[table.curve == name], "removed", "accuracy", look, None)
    axis.set_xticks(range(0, 17, 4))
    axis.set_ylim(0.4, 1.03)
    guide(axis, 0.5, "y")
    grid.name_axes("features masked", "accuracy ↓")
    return grid.finish([*looks.values(), mark("chance", dashes=":")])


def curves(table, recursive=(True,), by="ratio", scale=""):
    """Figures 4 and 7 to 9: performance as tokens are masked.

    Args:
        table: from `tables.curve_table`.
        recursive: a panel for each, ROAR (False) or Recursive ROAR (True).
        by: "ratio" (per cent of the tokens) or "count".
        scale: "quick" is noted on the figure.
    """
    table = table[(table.by == by) & table.recursive.isin(recursive)]
    several = {"columns": ("recursive", {again: REPEATED[again] for again in recursive})}
    grid = _panels(table, across=2, height=1.7, **(several if len(recursive) > 1 else {}))
    known = in_order(table.measure.unique(), names())
    for axis, part in grid:
        for name in known:
            own = part[part.measure == name]
            if len(own):
                lines(axis, own, "step", "value", line(name))
        axis.set_ylim(0, 1.03)
        axis.xaxis.get_major_locator().set_params(integer=True)
    metrics = [metric_title(CARD.metric(part.dataset.iloc[0])) if len(part) else "" for _, part in grid]
    if len(set(metrics) - {""}) == 1:
        rows = f"{max(metrics)} ↓"
    elif len(recursive) > 1:  # a row is one data set
        rows = [f"{max(metrics[i : i + 2])} ↓" for i in range(0, len(metrics), 2)]
    else:
        rows = "performance ↓"
        for axis, metric in zip(grid.axes, metrics, strict=True):
            axis.set_title(f"{axis.get_title()} ({metric})" if metric else axis.get_title())
    grid.name_axes("tokens masked [%]" if by == "ratio" else "tokens masked", rows)
    return grid.finish(attribution_looks(known), scale)


def sparsity(table, by, scale=""):
    """Figures 5 and 6: share of all importance that the top tokens hold.

    Args:
        table: from `tables.sparsity`.
        by: "count" or "ratio".
        scale: "quick" is noted on the figure.
    """
    table = table[table.by == by]
    known = in_order(table.measure.unique(), names())
    grid = _panels(table, across=4, height=1.5)
    for axis, part in grid:
        for name in known:
            lines(axis, part[part.measure == name], "top", "share", line(name))
        axis.set_ylim(0, 1.03)
        axis.set_xlim(0, None)
        axis.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    grid.name_axes("top tokens" if by == "count" else "top tokens [%]", "share of importance")
    return grid.finish(attribution_looks(known), scale)


def racu(table, scale=""):
    """Table 2 as a figure: RACU, clipped as the paper does, with its interval; the published is hollow.

    Args:
        table: from `tables.racu`.
        scale: "quick" is noted on the figure.
    """
    table = table[table.recursive.astype(bool)]
    known = in_order(table.measure.unique(), names())
    grid = _panels(table, across=3, left=1.2, height=0.45 + 0.3 * len(known))
    for axis, part in grid:
        guide(axis, 0, look={"linestyle": "-"})
        for row in part.itertuples():
            y, one = known.index(row.measure), part.loc[[row.Index]]
            beyond = abs(row.racu) > max(map(abs, CLIP))
            interval = None if beyond else ("low", "high")
            points(
                axis, one, "racu" if beyond else "racu_clipped", [y - 0.15], line(row.measure), interval, CLIP
            )
            shown, hollow = one.dropna(subset="published"), line(row.measure) | {"hollow": True}
            points(axis, shown, "published", [y + 0.15] * len(shown), hollow, limits=CLIP)
        if part.flat.all():
            axis.set_title(f"{axis.get_title()}\n(none of ours: its\nrandom curve is flat)")
        attribution_rows(axis, known)
        axis.set_xticks([-1, -0.5, 0, 0.5, 1], ["−1", "", "0", "", "1"])
    grid.name_axes("RACU ↑")
    ours = mark("ours", "#555555", "o")
    models = table.dropna(subset="published").model
    paper = [HOLLOW | {"label": published_label(*models)}] if len(models) else []
    return grid.finish([ours, *paper], scale)


def _panels(table, **settings):
    """A panel for each data set, model and variant, variants last; "1500-texts" reads "1500 texts"."""
    table = table.sort_values(["dataset", "variant", "model"], kind="stable")
    return panels(table, UNITS, names=lambda *unit: title(*unit[:2], unit[2].replace("-", " ")), **settings)
