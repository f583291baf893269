"""Heat maps of the study of metrics: every cell is drawn from the tables."""

import matplotlib.pyplot as plt
import pandas as pd
from sample.ground_truth import counts, means

from faithlib import report
from notebooks.ground_truth import figures, tables


def test_every_score_of_every_metric_is_a_cell():
    values = pd.concat([counts(nc=80, random=50), counts("compiled", nc=90, random=50)], ignore_index=True)
    table = tables.overview(tables.scores(values))
    report.use_style()
    figure = figures.metrics(table, "quick")
    axis = figure.axes[0]
    assert [text.get_text() for text in axis.get_yticklabels()] == ["NC", "random"]
    assert {"0.80", "0.90", "0.50"} <= {text.get_text() for text in axis.texts}
    plt.close(figure)


def test_every_pair_of_metrics_is_a_cell():
    table = tables.agreement(pd.concat([means(seed, turned=("ns",)) for seed in (10, 11)]))
    figure = figures.agreement(table)
    axis = figure.axes[0]
    shown = [text.get_text() for text in axis.texts if text.get_text()]
    assert len(shown) == len(table) == 6 and any("1.0" in text for text in shown)
    assert set(figures.CAPTIONS) == {"metrics", "language_models", "agreement"}
    plt.close(figure)
