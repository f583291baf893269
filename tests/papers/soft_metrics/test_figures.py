"""Figures of soft_metrics: a panel for everything, drawn from the tables."""

import io

import matplotlib.pyplot as plt
import pytest
from sample.soft_metrics import draw

from faithlib import report


def test_only_quick_figures_carry_the_note(values, diagnostic):
    figure = draw("hard_and_soft", values, diagnostic, scale="small")
    assert figure.get_suptitle() == ""
    plt.close(figure)


NAMES = ("faithfulness_by_ratio", "diagnosticity_by_ratio", "hard_and_soft", "soft_draws")


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_the_same_bytes_every_time(name, values, diagnostic):
    """As SVG; that the other formats follow the figure is a test of `save_figure`."""
    report.use_style()
    saved = []
    for _ in range(2):
        figure = draw(name, values, diagnostic)
        assert figure.get_figwidth() == 6.8 and "quick scale" in figure.get_suptitle()
        figure.savefig(drawing := io.StringIO(), format="svg", metadata={"Date": None})
        saved.append(drawing.getvalue())
        plt.close(figure)
    assert saved[0] == saved[1]
