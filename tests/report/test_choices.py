"""The figure of a paper's open choices."""

import matplotlib.pyplot as plt
import pandas as pd

from faithlib.report.choices import CAPTION, options_figure

ROWS = [
    ("A above B", "main", "main", 0.1, 0.05, 0.15),
    ("A above B", "ties", "strict", -0.1, -0.2, 0.0),
    ("A above B", "probability", "rank", float("nan"), float("nan"), float("nan")),
    ("B above C: sst (bilstm)", "main", "main", 0.2, 0.1, 0.3),
    ("B above C: sst (bilstm)", "ties", "loose", 0.1, 0.0, 0.2),
    ("B above C: sst (bilstm)", "ties", "strict", float("nan"), float("nan"), float("nan")),
    ("C above D", "main", "main", 0.2, 0.1, 0.3),
]
CHOICES = pd.DataFrame(ROWS, columns=["claim", "choice", "option", "value", "ci_low", "ci_high"])
CHOICES = CHOICES.assign(threshold=0.0, definition="paper", baseline="normal", verdict="holds")


def test_a_panel_a_claim_and_a_row_an_option():
    figure = options_figure(CHOICES, "small")
    shown = [axis for axis in figure.axes if axis.get_visible()]
    titles = [" ".join(axis.get_title().split()) for axis in shown]
    assert titles == [
        "A above B",
        "B above C: Stanford Sentiment Treebank (BiLSTM)",
    ]  # C above D has no option
    rows = ["main setting", "ties: strict", "probability: rank", "ties: loose"]  # of one or the other
    assert [text.get_text() for text in shown[0].get_yticklabels()] == rows
    untested = [[(text.get_text(), text.xy[1]) for text in axis.texts] for axis in shown]
    assert untested == [[("not tested", 2)], [("not tested", 1)]]
    assert all(axis.get_xlim()[0] <= 0 <= axis.get_xlim()[1] for axis in shown)
    plt.close(figure)
    assert "%" in CAPTION


def test_without_options_there_is_no_figure():
    assert options_figure(CHOICES, definition="released") is None
    assert options_figure(CHOICES, baseline="matched") is None
