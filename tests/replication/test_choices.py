"""The figure of a paper's open choices."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from replication.multiverse import COLOURS, options_figure, verdicts
from replication.verdicts import UNTESTED, WORDS

ROWS = [
    ("A above B", "main", "main", "holds"), ("A above B", "ties", "strict", "does not hold"),
    ("A above B", "probability", "rank", "not tested"),
    ("A above B", "ties + probability", "strict + rank", "holds"),
    ("B above C: sst (bilstm)", "main", "main", "undecided"),
    ("B above C: sst (bilstm)", "ties", "loose", "undecided"), ("C above D", "main", "main", "holds"),
]  # fmt: skip
CHOICES = pd.DataFrame(ROWS, columns=["claim", "choice", "option", "verdict"])
CHOICES = CHOICES.assign(definition="paper", baseline="normal")


def test_a_row_a_claim_with_options_and_a_column_an_option():
    table = verdicts(CHOICES)
    assert list(table.index) == ["A above B", "B above C: sst (bilstm)"]
    assert list(table) == ["main setting", "ties: strict", "ties: loose"]
    assert table.loc["A above B"].tolist()[:2] == ["holds", "does not hold"]
    assert table.isna().to_numpy().sum() == 2  # options that do not concern the claim, or have no record
    many = pd.concat([CHOICES.assign(claim=f"{i}" + CHOICES.claim) for i in range(13)])
    assert list(verdicts(many, headline=["3A above B"]).index) == ["3A above B"]


def test_the_figure_has_words_a_sign_a_cell_and_the_verdicts_that_there_are():
    figure = options_figure(CHOICES, "small")
    axis = figure.axes[0]
    rows = [" ".join(text.get_text().split()) for text in axis.get_yticklabels()]
    assert rows == ["A above B", "B above C: Stanford Sentiment Treebank (BiLSTM)"]
    assert [text.get_text() for text in axis.texts] == ["+", "−", "?", "?"]
    legend = {text.get_text() for text in figure.legends[0].texts}
    assert legend == {"holds", "does not hold", "undecided"}
    assert {*COLOURS, UNTESTED} == set(WORDS)
    plt.close(figure)


@pytest.mark.parametrize("change", [{"definition": "released"}, {"verdict": ""}, {"choice": "main"}])
def test_without_options_or_verdicts_there_is_no_figure(change):
    assert options_figure(CHOICES.assign(**change)) is None
