"""Figures of saloss: a panel for everything, drawn from the tables."""

import matplotlib.pyplot as plt
import pandas as pd
from sample.saloss import UNITS, tags

from notebooks.saloss import figures, tables


def test_figures_have_a_panel_for_everything(records, values):
    figure = figures.decision_flip(tables.decision_flip(values))
    assert [axis.get_title() for axis in figure.axes] == [
        "Stanford Sentiment Treebank, tiny",
        "SemEval-2017 task 4A, tiny",
    ]
    elsewhere = values[(values.definition == "paper") | (values.dataset == "sst")]
    figure = figures.decision_flip(tables.decision_flip(elsewhere), definition="released")
    assert [axis.get_title() for axis in figure.axes] == [
        "Stanford Sentiment Treebank, tiny"
    ]  # no panel with a baseline alone
    figure = figures.fresh(tables.fresh(records))
    assert [axis.get_title().replace("\n", " ") for axis in figure.axes] == [
        "Stanford Sentiment Treebank, tiny: top tokens", "Stanford Sentiment Treebank, tiny: one span",
        "SemEval-2017 task 4A, tiny: top tokens", "SemEval-2017 task 4A, tiny: one span",
    ]  # fmt: skip
    figure = figures.pos(tables.pos(pd.concat([tags(*unit) for unit in UNITS])), scale="quick")
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == [
        "noun",
        "adjective",
        "determiner",
    ]
    plt.close("all")
