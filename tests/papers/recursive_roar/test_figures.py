"""Figures of recursive_roar: a panel for everything, drawn from the tables."""

import matplotlib.pyplot as plt

from notebooks.recursive_roar import claims, figures, tables


def test_figures_have_a_panel_for_everything(points):
    curves = tables.curve_table(points)
    figure = figures.curves(curves, recursive=(False, True))
    assert len(figure.axes) == 4 and all(len(axis.lines) == 4 for axis in figure.axes)
    few = curves[curves.step <= 20].assign(by="count", step=curves.step // 10)
    figure = figures.curves(few, by="count")
    assert (figure.axes[-1].get_xticks() % 1 == 0).all()  # there is no half a token
    figure = figures.racu(tables.racu(points))
    assert [axis.get_title() for axis in figure.axes] == [
        "bAbI-1, BiLSTM",
        "Stanford Sentiment Treebank, BiLSTM",
    ]
    plt.close("all")


def test_one_seed_makes_no_claim(points):
    one = points[points.seed == 0]
    assert claims.claims(one)[0].ci_low.isna().all()
    table = tables.racu(one)
    assert table.acu.notna().all() and table.acu_low.isna().all()
    figures.racu(table)
    figures.curves(tables.curve_table(one))
    plt.close("all")
