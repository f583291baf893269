"""Figures of soft_metrics: a panel for everything, drawn from the tables."""

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
def test_figures_are_the_same_bytes_every_time(name, values, diagnostic, tmp_path):
    report.use_style()
    saved = []
    for i in (0, 1):
        figure = draw(name, values, diagnostic)
        assert figure.get_figwidth() == 6.8 and "quick scale" in figure.get_suptitle()
        report.save_figure(figure, tmp_path / str(i) / name)
        files = [tmp_path / str(i) / f"{name}{kind}" for kind in (".pdf", ".svg", ".png")]
        saved.append([path.read_bytes() for path in files])
        plt.close(figure)
    assert saved[0] == saved[1]
