"""Figures of noiser: a panel for everything, drawn from the tables."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sample.noiser import judged, needed, part_shares

from notebooks.noiser import figures, tables


def test_figures_have_a_panel_for_everything(values):
    figure = figures.parts(tables.parts(part_shares()), scale="quick")
    assert [axis.get_xlabel() for axis in figure.axes] == list(figures.PARTS.values())[:2]
    shares = tables.parts(part_shares())
    without = shares[shares.part != "distractor"].assign(task="world_facts")
    figure = figures.parts(pd.concat([shares, without]))
    assert [axis.get_visible() for axis in figure.axes] == [True, True, True]
    capitals = part_shares().replace({"part": {"subject": "country and capital"}})
    figure = figures.parts(tables.parts(capitals))
    assert [axis.get_xlabel() for axis in figure.axes] == [
        figures.PARTS[name] for name in ("country and capital", "distractor")
    ]
    answers = tables.answerability(judged(), needed())
    (axis,) = figures.minimum(answers).axes
    assert axis.get_title().replace("\n", " ").startswith("generated facts in several wordings")
    names = [tick.get_text() for tick in axis.get_yticklabels()]
    assert names == ["attention α", "leave-one-out", "Noiser", "random"]
    figure = figures.agreement(tables.faithfulness(values), answers)
    for axis in figure.axes:  # against random scores and against shuffled ones
        marks = [line for line in axis.lines if line.get_linestyle() == "None"]
        assert len(marks) == 3  # a method each
    plt.close("all")


def test_marks_stand_at_their_values_and_a_judge_without_an_answer_has_no_panel(values):
    faithful, answers = tables.faithfulness(values), tables.answerability(judged(), needed())
    paper = faithful[(faithful.definition == "paper") & (faithful.normalisation == "none")]
    equal = answers.assign(rate=0.5)  # all marks at one height
    figure = figures.agreement(faithful, equal)
    for axis, baseline in zip(figure.axes, figures.BASELINES, strict=True):
        marks = [line.get_xdata()[0] for line in axis.lines if line.get_linestyle() == "None"]
        rows = paper[(paper.baseline == baseline) & (paper.task == "world_facts")]
        assert set(np.round(marks, 9)) <= set(rows.log_ratio.clip(*figures.LIMITS).round(9))
    silent = answers.assign(rate=0.0)
    both = pd.concat([faithful, faithful.assign(model="other")])
    with_silent = figures.agreement(both, pd.concat([equal, silent.assign(model="other")]))
    assert len(with_silent.axes) == len(figure.axes)
    plt.close("all")


def test_leads_are_tasks_by_normalisations_and_starred_where_an_interval_leaves_out_zero(values):
    both = pd.concat([values, values.assign(normalisation="min-max")])
    table = tables.normalisations(both)
    for question in ("method", "bounding"):
        leads = table[(table.question == question) & table.lead.notna()]
        figure = figures.leads(table, question=question)
        assert [axis.get_label() for axis in figure.axes].count("<colorbar>") == 1
        assert len(figure.axes) == 1 + 2 * leads.baseline.nunique()  # a panel a definition and baseline
        lowest = figure.axes[2 * leads.baseline.nunique() - 1]
        assert [tick.get_text() for tick in lowest.get_xticklabels()] == ["none", "min-max"]
        assert len(figure.axes[0].get_yticklabels()) == len(leads.groupby(["task", "model"]))
    figure = figures.faithfulness(tables.faithfulness(values).assign(log_ratio=-1.5, ci_low=-2, ci_high=-1))
    assert {text.get_text() for axis in figure.axes[:2] for text in axis.texts} == {"−1.5*"}
    plt.close("all")
