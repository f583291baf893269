"""Figures of saloss: a panel for everything, drawn from the tables."""

import matplotlib.pyplot as plt
import pandas as pd
from sample.saloss import UNITS, tags

from faithlib.papers.saloss import figures, tables


def test_figures_have_a_panel_for_everything(records, values):
    figure = figures.decision_flip(tables.decision_flip(values))
    assert [axis.get_title() for axis in figure.axes] == ["sst", "semeval"]
    elsewhere = values[(values.definition == "paper") | (values.dataset == "sst")]
    figure = figures.decision_flip(tables.decision_flip(elsewhere), definition="released")
    assert [axis.get_title() for axis in figure.axes] == ["sst"]  # no panel with a baseline alone
    figure = figures.fresh(tables.fresh(records))
    assert [axis.get_title() for axis in figure.axes] == [
        "sst: top-k",
        "sst: contiguous",
        "semeval: top-k",
        "semeval: contiguous",
    ]
    figure = figures.pos(tables.pos(pd.concat([tags(*unit) for unit in UNITS])), scale="quick")
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["DET", "ADJ", "NOUN"]
    plt.close("all")
