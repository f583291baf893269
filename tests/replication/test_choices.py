"""The figure of a paper's open choices."""

import matplotlib.pyplot as plt
import pandas as pd

from replication.choices import CAPTION, GRID, options_figure

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


def test_combinations_share_a_row_below_the_options():
    more = [
        ("A above B", "ties + probability", "strict + rank", 0.05, 0.0, 0.1),
        ("A above B", "sign", "absolute", 0.1, 0.0, 0.2),
        ("A above B", "ties + sign", "strict + absolute", 0.07, 0.0, 0.1),
    ]
    more = pd.DataFrame(more, columns=CHOICES.columns[:6])
    figure = options_figure(pd.concat([CHOICES, more]).fillna(CHOICES.iloc[0]), "small")
    rows = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert rows[-1] == GRID and rows.count(GRID) == 1 and "sign: absolute" in rows
    marks = [zip(line.get_xdata(), line.get_ydata(), strict=True) for line in figure.axes[0].lines]
    assert sorted(x for line in marks for x, y in line if y == len(rows) - 1) == [0.05, 0.07]
    assert GRID in {text.get_text() for legend in figure.legends for text in legend.texts}
    plt.close(figure)


def test_without_options_there_is_no_figure():
    assert options_figure(CHOICES, definition="released") is None
    assert options_figure(CHOICES, baseline="matched") is None


def test_marks_are_where_choices_csv_has_them():
    figure = options_figure(CHOICES.assign(value=CHOICES.value / 3 * (1 + 1e-9)), "small")
    marks = {x for line in figure.axes[0].lines for x in line.get_xdata()}
    plt.close(figure)
    assert {0.0333333, -0.0333333} <= marks
