"""Figures of fmm: a panel for everything, drawn from the tables."""

import matplotlib.pyplot as plt
import numpy as np
from sample.fmm import epochs_of, every, masf_of

from notebooks.fmm import areas, figures, tables


def test_figures_have_a_panel_for_everything(records, points):
    scores, curve_table = tables.scores(records), tables.curve_table(points)
    table = tables.performance(scores)
    figure = figures.performance(table, scores)
    assert [a.get_title() for a in figure.axes] == ["nothing masked", "everything masked"]
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == [
        "SST-2: accuracy", "CoLA: Matthews correlation",
        "generated stories, two supporting facts: accuracy", "mean of the data sets",
    ]  # fmt: skip
    figure = figures.curves(curve_table)
    assert figure.axes[1].get_title() == "SST-2, MiniLM: signed" and len(figure.axes[1].lines) == 5
    figure = figures.masf(tables.masf(tables.with_convergence(every(masf_of), records)), "calibrated")
    assert figure.axes[1].get_title() == "SST-2, MiniLM: plain fine-tuning" and len(figure.axes) == 7
    figure = figures.history(tables.history(tables.with_convergence(every(epochs_of), records)))
    assert figure.axes[1].get_title() == "SST-2, MiniLM: masked texts"
    racu = areas.racu(points)
    assert len(figures.racu(racu).axes) == 3
    panel = figures.racu(racu.assign(flat=1, racu=np.nan)).axes[0]  # the published values stay
    assert "flat" in panel.get_title() and not panel.containers
    assert np.isfinite([x for line in panel.lines[2:] for x in line.get_xdata()]).any()
    first, second = figures.pages(curve_table, 2)
    assert set(first.dataset) == {"sst2", "cola"} and set(second.dataset) == {"whereabouts_2"}
    plt.close("all")
