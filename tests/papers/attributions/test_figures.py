"""Figures of the study of attributions: a panel for everything, drawn from the tables."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from sample.attributions import AROUND, LEVEL, SPREAD, unit
from sample.rows import cell

from faithlib import report
from faithlib.metrics.plausibility import BETTER
from notebooks.attributions import claims, figures, tables
from replication.claims import judged


def test_two_models_of_a_data_set_stay_apart():
    both = pd.concat([unit(lime=SPREAD), unit(model="org/large", lime=AROUND)])
    table = tables.evidence(both)
    assert cell(table, model="tiny").auprc > cell(table, model="large").auprc
    (claim,) = claims.statements(both, "crossed")
    assert judged(claim)[0].value == pytest.approx(0.1)
    figure = figures.draw(table)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:2] == [f"generated reviews with negation, {model}" for model in ("tiny", "large")]
    plt.close(figure)


def test_the_figure_draws_every_mark_and_every_chance_level():
    table = tables.evidence(pd.concat([unit(lime=SPREAD, beam=AROUND), unit("topics", lime=SPREAD)]))
    report.use_style()
    figure = figures.draw(table, "quick")
    assert [axis.get_xlabel() for axis in figure.axes] == [
        f"{figures.TITLES[m]} {figures.ARROWS[way]}" for m, way in BETTER.items()
    ]
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["LIME", "Beam"]
    for axis, metric in zip(figure.axes, BETTER, strict=True):
        marks = [x for container in axis.containers for x in container[0].get_xdata()]
        assert marks == pytest.approx(list(table[metric]))
        dotted = [x.get_xdata()[0] for x in axis.lines if x.get_linestyle() == ":"]
        assert dotted == pytest.approx([LEVEL[metric]] * 2)
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()] == [
        "generated reviews with negation",
        "generated news of four topics",
        "a random order",
    ]
    plt.close(figure)
