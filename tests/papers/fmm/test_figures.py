"""Figures of fmm: a panel for everything, drawn from the tables."""

import matplotlib.pyplot as plt
import numpy as np
from sample.fmm import epochs_of, every, masf_of

from faithlib.papers.fmm import figures, tables


def test_figures_have_a_panel_for_everything(records, points):
    scores, curve_table = tables.scores(records), tables.curve_table(points)
    table = tables.performance(scores)
    for masked in (0, 100):
        figure = figures.performance(table, scores, masked)
        assert [a.get_title() for a in figure.axes] == ["sst2", "cola", "whereabouts_2", "all"]
    figure = figures.curves(curve_table)
    assert figure.axes[1].get_title() == "sst2: signed" and len(figure.axes[1].lines) == 5
    figure = figures.masf(tables.masf(tables.flagged(every(masf_of), records)), "calibrated")
    assert figure.axes[1].get_title() == "sst2: plain fine-tuning" and len(figure.axes) == 6
    figure = figures.history(tables.history(tables.flagged(every(epochs_of), records)))
    assert figure.axes[1].get_title() == "sst2: masked copy"
    found = tables.racu(points)
    assert len(figures.racu(found).axes) == 3
    panel = figures.racu(found.assign(flat=1)).axes[0]  # the published values stay
    assert "flat" in panel.get_title() and not panel.containers
    assert np.isfinite([line.get_xdata()[0] for line in panel.lines[1:]]).any()
    first, second = figures.pages(curve_table, 2)
    assert set(first.dataset) == {"sst2", "cola"} and set(second.dataset) == {"whereabouts_2"}
    plt.close("all")
