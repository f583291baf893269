"""The figures of Ghasemi Madani et al. 2025, drawn from the tables of `faithlib.papers.noiser.tables`."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D

from faithlib.attributions.registry import COLOURS
from faithlib.papers.noiser.tables import METHODS, name
from faithlib.report import note_scale

WIDTH = 6.8  # inches: the width of a page's text
OTHER, NOISER = "#777777", COLOURS["vermillion"]
PARTS = {"subject": COLOURS["blue"], "distractor": COLOURS["orange"]}
# a marker a method, so that they are told apart in grey
MARKERS = dict(zip(METHODS, "osD^vPXp>*x", strict=True))


def parts(table, scale=""):
    """Figure 2: shares of the subject and of the distractor in each method's scores, two panels a task.

    table: from `noiser.parts`. Bars are 95 % intervals; the dotted line is the part's share of the tokens,
    which is what a random order has. All that is not distractor is what the paper calls the main part.
    Prompts without a distractor have no panel of it.
    """
    groups = list(table[table.part.isin(PARTS)].groupby(["task", "model"], sort=False))
    figure, axes = plt.subplots(
        len(groups),
        2,
        squeeze=False,
        sharey="row",
        figsize=(WIDTH, _height(table.method.nunique(), len(groups))),
    )
    for row, (key, group) in zip(axes, groups, strict=True):
        methods = list(dict.fromkeys(group.method))
        for axis, (part, colour) in zip(row, PARTS.items(), strict=True):
            own = group[group.part == part].set_index("method").reindex(methods)
            if own.share.isna().all():  # prompts without a distractor
                axis.set_visible(False)
                continue
            axis.barh(
                range(len(methods)),
                own.share,
                color=colour,
                alpha=0.75,
                height=0.7,
                xerr=[own.share - own.ci_low, own.ci_high - own.share],
                ecolor="black",
            )
            axis.axvline(own.chance.mean(), color="black", linewidth=0.9, linestyle=":")
            axis.set_xlabel(f"share of the {part} {'↑' if part == 'subject' else '↓'}")
            axis.set_title(_title(key, table))
        _methods(row[0], methods)
    handle = Line2D([], [], color="black", linestyle=":", label="share of the tokens")
    figure.legend(handles=[handle], loc="outside lower center")
    note_scale(figure, scale)
    return figure


def minimum(table, scale="", top=1):
    """Figure 3: the mean share of words that the judge needs to stay right, a panel a task, model and judge.

    table: from `noiser.answerability`; lower is better. Bars are 95 % intervals; hollow marks are the
    method's scores in random order, where they were judged.
    """
    table = table[(table.top == top) & table.min_top_k.notna()]
    groups = list(table.groupby(["task", "model", "judge"], sort=False))
    across = min(2, len(groups))
    down = -(-len(groups) // across)
    figure, axes = plt.subplots(
        down,
        across,
        squeeze=False,
        sharey=True,
        figsize=(min(WIDTH, 1.2 + 2.8 * across), _height(table.method.nunique(), down)),
    )
    methods = list(dict.fromkeys(table.method))
    for axis in axes.flat[len(groups) :]:
        axis.set_visible(False)
    for axis, (key, group) in zip(axes.flat, groups, strict=False):
        own = group[group.baseline == ""].set_index("method").reindex(methods)
        axis.barh(
            range(len(methods)),
            own.min_top_k,
            color=_colours(methods),
            alpha=0.75,
            height=0.7,
            xerr=[own.min_top_k - own.min_ci_low, own.min_ci_high - own.min_top_k],
            ecolor="black",
        )
        matched = group[group.baseline == "matched"].set_index("method").reindex(methods)
        axis.plot(
            matched.min_top_k,
            range(len(methods)),
            linestyle="",
            marker="o",
            markersize=4,
            markerfacecolor="white",
            markeredgecolor="black",
        )
        axis.set_xlabel("words needed (share) ↓")
        axis.set_title(f"{_title(key, table)}: judge {key[2]}")
        _methods(axis, methods)
    if (table.baseline == "matched").any():
        handle = Line2D(
            [],
            [],
            linestyle="",
            marker="o",
            markersize=4,
            markerfacecolor="white",
            markeredgecolor="black",
            label="its scores in random order",
        )
        figure.legend(handles=[handle], loc="outside lower center")
    note_scale(figure, scale)
    return figure


def agreement(faithful, answers, scale="", top=1, baseline="random", definition="paper"):
    """Figure 4: faithfulness against answerability, a point a method; left the score, right the rate.

    faithful, answers: from `noiser.faithfulness` and `noiser.answerability`, averaged over the tasks, models
    and judges that have both. Of Noiser's boundings k_min is shown; score is over all prompts.
    """
    kept = faithful[
        (faithful.baseline == baseline)
        & (faithful.definition == definition)
        & faithful.bounding.isin(["", "k_min"])
        & np.isfinite(faithful.log_ratio)
    ]
    answers = answers[(answers.top == top) & (answers.baseline == "")]
    both = answers.merge(kept[["task", "model", "method", "log_ratio"]], on=["task", "model", "method"])
    means = both.groupby("method", sort=False)[["log_ratio", "score_all", "rate"]].mean()
    figure, axes = plt.subplots(1, 2, sharex=True, figsize=(WIDTH, 2.7))
    for axis, column, words in zip(axes, ("score_all", "rate"), ("score", "rate"), strict=True):
        for method, row in means.iterrows():
            axis.plot(
                row.log_ratio,
                row[column],
                linestyle="",
                markersize=6,
                marker=MARKERS.get(method, "o"),
                color=NOISER if method == "noiser" else OTHER,
                label=name(method),
            )
        axis.axvline(0, color="#BBBBBB", linewidth=0.8, linestyle=":")
        axis.set_xlabel(f"log ratio against {baseline} ↑")
        axis.set_ylabel(f"answerability {words} ↑")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", ncols=1)
    note_scale(figure, scale)
    return figure


def _height(methods, rows):
    return 0.5 + rows * (0.75 + 0.19 * methods)


def _methods(axis, methods):
    axis.set_yticks(range(len(methods)), [name(method) for method in methods])
    axis.set_ylim(len(methods) - 0.4, -0.6)


def _colours(methods):
    return [NOISER if method == "noiser" else OTHER for method in methods]


def _title(key, table):
    """A panel's title; the model only where a task has several."""
    task, model, *_ = key
    return f"{task}, {model}" if table[table.task == task].model.nunique() > 1 else task
