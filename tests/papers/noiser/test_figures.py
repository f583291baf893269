"""Figures of noiser: a panel for everything, drawn from the tables."""

import matplotlib.pyplot as plt
import pandas as pd
from sample.noiser import found, judged, needed

from faithlib.papers.noiser import figures, tables


def test_figures_have_a_panel_for_everything(values):
    figure = figures.parts(tables.parts(found()), scale="quick")
    assert [axis.get_title() for axis in figure.axes] == ["world_agreement"] * 2
    shares = tables.parts(found())
    without = shares[shares.part != "distractor"].assign(task="world_facts")
    figure = figures.parts(pd.concat([shares, without]))
    assert [axis.get_visible() for axis in figure.axes] == [True, True, True, False]
    answers = tables.answerability(judged(), needed())
    (axis,) = figures.minimum(answers).axes
    assert axis.get_title() == "world_facts: judge other"
    assert [tick.get_text() for tick in axis.get_yticklabels()] == [
        "last attention",
        "occlusion",
        "Noiser",
        "random",
    ]
    figure = figures.agreement(tables.faithfulness(values), answers)
    assert [len(axis.lines) for axis in figure.axes] == [4, 4]  # three methods, and the line at 0
    plt.close("all")
