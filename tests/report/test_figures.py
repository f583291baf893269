"""What figures share: panels in words, curves, marks, axes that show what they must, and one legend."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from faithlib import report
from faithlib.report import figures

LOOK = {"label": "mine", "color": "#112233", "marker": "o", "linestyle": "-"}
TABLE = pd.DataFrame(
    {
        "dataset": ["sst", "sst", "topics", "topics"], "model": "bilstm", "step": [100, 0, 0, 100],
        "value": [0.5, 0.9, 0.8, 0.6], "value_low": [0.4, 0.8, 0.7, 0.5],
        "value_high": [0.6, 1.0, 0.9, 0.7],
    }
)  # fmt: skip


@pytest.fixture(autouse=True)
def style():
    report.use_style()


def test_a_panel_for_each_group_with_a_title_in_words():
    page = figures.panels(TABLE)
    titles = [" ".join(axis.get_title().split()) for axis in page.axes]
    assert titles == ["Stanford Sentiment Treebank, BiLSTM", "generated news of four topics, BiLSTM"]
    assert [part.dataset.unique().tolist() for _, part in page] == [["sst"], ["topics"]]
    page.name_axes("masked", ["accuracy"])
    assert [axis.get_xlabel() for axis in page.axes] == ["masked", "masked"]
    assert [axis.get_ylabel() for axis in page.axes] == ["accuracy", ""]
    assert page.axes[0].get_shared_y_axes().joined(*page.axes)


def test_a_row_for_each_group_and_a_panel_for_each_value():
    page = figures.panels(TABLE, columns=("step", {0: "nothing masked", 50: "half masked"}))
    assert len(page.axes) == 4 and page.across == 2
    assert [axis.texts[0].get_text() for axis, part in page if part.empty] == ["no records"] * 2


def test_a_curve_is_sorted_and_has_a_band():
    _, axis = plt.subplots()
    figures.lines(axis, TABLE[:2], "step", "value", LOOK)
    (line,) = axis.lines
    assert line.get_xdata().tolist() == [0, 100] and line.get_ydata().tolist() == [0.9, 0.5]
    assert len(axis.collections) == 1 and axis.get_legend() is None
    figures.lines(axis, TABLE[:2].drop(columns=["value_low", "value_high"]), "step", "value", LOOK, None)
    assert len(axis.collections) == 1


def test_marks_outside_the_limits_stand_at_the_edge_with_their_number():
    _, axis = plt.subplots()
    table = pd.DataFrame({"value": [0.5, 7.0, -3.0, np.nan]})
    figures.points(axis, table, "value", range(4), LOOK, interval=None, limits=(-1, 1))
    assert [text.get_text() for text in axis.texts] == ["7.00", "−3.00"]
    assert [float(line.get_xdata()[0]) for line in axis.lines] == [0.5, 1, -1]
    assert axis.get_xlim() == pytest.approx((-1.06, 1.06))


def test_an_interval_that_reaches_outside_ends_in_an_arrow():
    _, axis = plt.subplots()
    table = pd.DataFrame({"value": [0.5, 0.0], "value_low": [0.4, -5.0], "value_high": [3.0, 0.1]})
    figures.points(axis, table, "value", range(2), LOOK, limits=(-1, 1))
    ends = [axis.collections[0].get_segments()[i][:, 0].tolist() for i in range(2)]
    assert ends == [[0.4, 1], [-1, 0.1]]
    arrows = {line.get_marker(): (line.get_xdata()[0], line.get_ydata()[0]) for line in axis.lines[-2:]}
    assert arrows == {"<": (-1, 1), ">": (1, 0)}


def test_an_empty_table_is_one_panel_that_says_so():
    for columns in (None, ("step", {0: "nothing masked"})):
        page = figures.panels(TABLE[:0], columns=columns)
        assert [axis.texts[0].get_text() for axis, _ in page] == ["no records"]
        page.name_axes("masked", "accuracy")
        page.finish([LOOK])


def test_hollow_marks_are_published():
    _, axis = plt.subplots()
    figures.points(axis, TABLE[:1], "value", [0], LOOK | {"hollow": True})
    (line,) = axis.containers[0].lines[:1]
    assert line.get_markerfacecolor() == "none"
    assert figures.published_label("org/bert-base-uncased", "") == "published (BERT-base)"
    assert figures.published_label() == "published"


def test_a_heat_map_writes_its_marks():
    _, axis = plt.subplots()
    values = pd.DataFrame([[0.1, 0.9]], index=["lime"], columns=["sst", "cb"])
    artist = figures.heat(axis, values, pd.DataFrame([["", "*"]], index=["lime"], columns=["sst", "cb"]))
    assert artist.get_array().ravel().tolist() == [0.1, 0.9]
    assert "*" in [text.get_text() for text in axis.texts]


def test_axes_are_widened_and_never_narrowed():
    _, axis = plt.subplots()
    axis.set_xlim(0, 1)
    figures.include(axis, -0.5)
    assert axis.get_xlim() == (-0.5, 1)
    figures.include(axis, span=3)
    assert axis.get_xlim() == (-1.25, 1.75)
    figures.include(axis, 0.5, which="y", span=0.5)
    assert axis.get_ylim() == (0, 1)


def test_rows_stand_from_top_to_bottom_by_their_labels():
    _, axis = plt.subplots()
    figures.attribution_rows(axis, ["lime", "random"])
    assert [label.get_text() for label in axis.get_yticklabels()] == ["LIME", "random"]
    assert axis.get_ylim()[0] > axis.get_ylim()[1]


def test_one_legend_below_the_panels_and_a_note_on_a_quick_figure():
    page = figures.panels(TABLE)
    for axis, part in page:
        figures.lines(axis, part, "step", "value", LOOK)
    figure = page.finish([LOOK, figures.HOLLOW], "quick")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["mine", "published"]
    assert "quick scale" in figure.get_suptitle()
    assert figures.panels(TABLE).finish([], "small").get_suptitle() == ""
