"""The figures of Ghasemi Madani et al. 2025, drawn from the tables of `notebooks.noiser.tables`.

A figure takes the table of its name unless it says another, and its scale: "quick" is noted on it.
"""

import textwrap

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from faithlib.attributions.registry import names
from faithlib.report import figures as plots
from faithlib.report.style import label, line, model_title, note_scale
from notebooks.noiser.ratios import MAIN
from replication.papers import layout
from replication.results import slug
from replication.tables import in_order

PARTS = {"subject": "share on the subject ↑", "distractor": "share on the distractor ↓"}
PARTS |= {"country and capital": "share on the country and “capital” ↑"}
BASELINES = {"random": "against random scores", "matched": "against its own scores, shuffled"}
MEASURES = {"rate": "answers right (rate) ↑", "score_all": "answerability score ↑"}
LIMITS = (-6, 6)  # of the log ratio; what lies beyond is marked
COLOURED = (-2, 2)  # of a heat map; what lies beyond has the strongest colour
INTERVAL, WORDS_INTERVAL = ("ci_low", "ci_high"), ("min_ci_low", "min_ci_high")
SHUFFLED = {"marker": "x", "color": "#777777", "label": "its scores, shuffled", "linestyle": ""}
LEADS = {"paper": "as the paper defines it", "released": "as the release computes it"}
CAPTIONS = layout("noiser", "captions.yaml")


def faithfulness(table: pd.DataFrame, scale: str = "") -> Figure:
    """Table 1 as a figure: log ratio, not normalised, attributions × tasks, a panel a baseline."""
    table = _main(table)
    order = [label(name) for name in in_order(table.method.unique(), names())]
    table = table.assign(row=table.method.map(label), column=_cases(table, 26))
    grid = plots.panels(table, ["baseline"], 2, 0.8 + 0.2 * len(order), names=BASELINES.get, left=1.4)
    return _heats(grid, "log_ratio", order, "log ratio ↑", scale)


def leads(table: pd.DataFrame, scale: str = "", question: str = "method") -> Figure:
    """Noiser's lead under each normalisation: tasks × normalisations, a panel a definition and baseline.

    table: from `tables.normalisations`; question: "method" or "bounding".
    """
    table = table[(table.question == question) & table.lead.notna()]
    table = table.assign(row=_cases(table, 40), column=table.normalisation)
    order = list(dict.fromkeys(table.row))
    grid = plots.panels(table, ["baseline"], names=BASELINES.get, height=0.5 + 0.24 * len(order), left=2.2,
                  columns=("definition", _there(LEADS, table.definition)))  # fmt: skip
    return _heats(grid, "lead", order, "lead (log ratio) ↑", scale)


def _there(titles, column):
    """Those of {name: title} that a column has: of a unit with the paper's table alone not all."""
    return {name: titles[name] for name in titles if name in set(column)}


def _cases(table, width):
    cases = zip(table.task, table.model, strict=True)
    return ["\n".join(textwrap.wrap(plots.title(*case), width)) for case in cases]


def _heats(grid, value, rows, words, scale):
    """A heat map of a column in each panel; a star where the interval leaves out 0."""
    artist, columns = None, list(dict.fromkeys(name for _, part in grid for name in part.column))
    for i, (axis, part) in enumerate(grid):
        if part.empty:
            continue
        stars = np.where((part.ci_low > 0) | (part.ci_high < 0), "*", "")
        texts = part.assign(text=part[value].map("{:.1f}".format).str.replace("-", "−") + stars)
        values, marked = (
            texts.pivot(index="row", columns="column", values=name).reindex(index=rows, columns=columns)
            for name in (value, "text")
        )
        artist = plots.heat(axis, values.astype(float), marked.astype(object).fillna(""), COLOURED, "PuOr")
        axis.tick_params(labelleft=i % grid.across == 0, labelsize=6)
        axis.tick_params(axis="x", rotation=90)
    if artist:
        grid.figure.colorbar(
            artist, ax=grid.axes, shrink=0.6, aspect=20, pad=0.01, extend="both", label=words
        )
    note_scale(grid.figure, scale)
    return grid.figure


def parts(table: pd.DataFrame, scale: str = "") -> Figure:
    """Figure 2: shares of the subject and, if any, of the distractor in attributions' scores."""
    table = table[table.part.isin(PARTS) & table.share.notna()]
    table = table.assign(words=table.part.map(lambda part: PARTS[part][:-2]))
    order = in_order(table.method.unique(), names())
    grid = plots.panels(table, ["task", "model", "words"], left=1.7, height=0.6 + 0.17 * len(order))
    for axis, part in grid:
        for row in part.itertuples():
            look, one = line(row.method), part.loc[[row.Index]]
            plots.points(axis, one, "share", [order.index(row.method)], look, INTERVAL)
        plots.guide(axis, part.chance.mean())
        plots.attribution_rows(axis, order)
        axis.set_xlabel(", ".join(PARTS[name] for name in part.part.unique()))
        axis.tick_params(labelbottom=True)
    grid.include(0)
    ours = plots.mark("95 % interval", "#555555", "o", "-")
    chance = plots.mark("share of the tokens", dashes=":")
    return grid.finish([ours, chance], scale)


def minimum(table: pd.DataFrame, scale: str = "") -> Figure:
    """Figure 3: the mean share of words that the judge needs to stay right, of `tables.answerability`."""
    table = table[(table.top == 1) & table.min_top_k.notna()]
    order = in_order(table.method.unique(), names())
    judges = table.judge.map(lambda name: f"judge {model_title(slug(name))}")
    table = table.assign(words=judges if judges.nunique() > 1 else "")
    grid = plots.panels(table, ["task", "model", "words"], across=2, left=1.7, height=0.4 + 0.17 * len(order))
    for axis, part in grid:
        shuffled = part[part.baseline == "matched"]
        plots.points(axis, shuffled, "min_top_k", plots.place(shuffled.method, order), SHUFFLED, None)
        for row in part[part.baseline == ""].itertuples():
            look, one = line(row.method), part.loc[[row.Index]]
            plots.points(axis, one, "min_top_k", [order.index(row.method)], look, WORDS_INTERVAL)
        plots.attribution_rows(axis, order)
        axis.set_xlim(0, 1)
    grid.name_axes("words needed (share) ↓")
    shuffled = [SHUFFLED] if (table.baseline == "matched").any() else []
    return grid.finish([plots.mark("its scores", "#555555", "o"), *shuffled], scale)


def agreement(
    faithful: pd.DataFrame, answers: pd.DataFrame, scale: str = "", measure: str = "rate"
) -> Figure:
    """Figure 4: faithfulness against answerability, a mark a method; a row a task, a column a baseline.

    Args:
        faithful: from `tables.faithfulness`; shown is what is not normalised.
        answers: from `tables.answerability`; the judge's first answer counts.
        measure: "rate" or "score_all", over all prompts; a task and model whose every rate is 0 is left out.
    """
    kept = _main(faithful)
    kept = kept[np.isfinite(kept.log_ratio)]
    answers = answers[(answers.top == 1) & (answers.baseline == "")]
    answers = answers[answers.groupby(["task", "model"]).rate.transform("max") > 0]
    columns = ["task", "model", "method", "baseline", "log_ratio", *INTERVAL]
    both = answers.drop(columns="baseline").merge(kept[columns], on=["task", "model", "method"])
    order = in_order(both.method.unique(), names())
    baselines = _there(BASELINES, both.baseline)
    grid = plots.panels(both, ["task", "model"], height=1.9, columns=("baseline", baselines), sharey="row")
    for axis, part in grid:
        plots.guide(axis, 0)
        axis.set_xlim(LIMITS[0] - 0.4, LIMITS[1] + 0.4)
        for row in part.itertuples():
            _cross(axis, row, measure)
        beyond = part[part.log_ratio < LIMITS[0]].sort_values(measure, ascending=False)
        words = [f"{label(row.method)}: {row.log_ratio:.1f}".replace("-", "−") for row in beyond.itertuples()]
        corner = {"ha": "right", "va": "bottom", "fontsize": 6, "transform": axis.transAxes}
        axis.text(0.99, 0.03, "\n".join(["beyond the axis", *words] if words else []), **corner)
    for axis in grid.axes:
        row = axis.get_shared_y_axes().get_siblings(axis)
        axis.set_ylim(0, 1.08 * max(of.dataLim.ymax for of in row))
    grid.name_axes("log ratio ↑", MEASURES[measure])
    return grid.finish([look | {"linestyle": ""} for look in plots.attribution_looks(order)], scale)


def _main(table):
    kept = (table.definition == "paper") & (table.normalisation == "none")
    return table[kept & table.setting.isin(MAIN) & table.baseline.isin(BASELINES)]


def _cross(axis, row, measure):
    """A mark with its intervals; without one of the log ratio where that lies beyond the limits."""
    look, x, y = line(row.method), np.clip(row.log_ratio, *LIMITS), getattr(row, measure)
    if row.log_ratio >= LIMITS[0] and np.isfinite([row.ci_low, row.ci_high]).all():
        axis.plot([row.ci_low, row.ci_high], [y, y], color=look["color"], linewidth=0.8)
    if measure == "rate":
        axis.plot([x, x], [row.rate_ci_low, row.rate_ci_high], color=look["color"], linewidth=0.8)
    edge = {"markeredgecolor": "white", "markeredgewidth": 0.5}  # so that marks on one another are two
    axis.plot([x], [y], color=look["color"], marker=look["marker"], markersize=5.5, linestyle="", **edge)
