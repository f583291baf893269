"""Which metric can be believed: two heat maps."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from faithlib.report import note_scale
from faithlib.report.figures import WIDTH, heat
from faithlib.report.style import cell_text
from notebooks.ground_truth.tables import label

CAPTIONS = {
    "metrics": "**Which metric tells better explanations from worse ones?** A row a metric, the best "
    "first; `random`, `oracle`, `magnitude` and 1 − m are controls. Accuracy: share of pairs of explanations "
    "of known order that the metric orders right, ties ½, .50 is chance. Decided accuracy: of the pairs that "
    "it does not tie. Compiled: the accuracy on the compiled model. Invariance: decided pairs that keep "
    "their order when scores are raised to a power. The last columns: how often the evidence is preferred "
    "to an explanation that knows nothing.",
    "language_models": "**Which metric of a language model tells better explanations from worse ones?** As "
    "above, on tiny language models whose next word is the class. Answerability shows a second model half of "
    "the words, minimum top-k as few as it needs.",
    "agreement": "**Do metrics agree on attributions?** Spearman's rank correlation between the values that "
    "two metrics give to the attributions, a mean over mechanisms and models, ± half the width of its 95 % "
    "interval (t over models).",
}


def metrics(table: pd.DataFrame, scale: str = "", models: str = "Trained models") -> Figure:
    """Metric × score.

    Args:
        table: from `tables.overview`; columns without values are left out.
        scale: "quick" is noted on the figure.
        models: what they are called in the title.
    """
    import matplotlib.pyplot as plt

    shown = table.dropna(axis=1, how="all").rename(
        index=label, columns=lambda name: name.replace("_", "\n").replace(" ", "\n")
    )
    figure, axis = plt.subplots(figsize=(WIDTH, 1.0 + 0.24 * len(table)))
    cells = np.array([[cell_text(x, precision=2) for x in row] for row in shown.to_numpy()])
    artist = heat(axis, shown, cells, (0, 1), "PuOr")
    axis.set_title(f"{models}, three classes, mean over mechanisms")
    figure.colorbar(artist, ax=axis, label="share of pairs →", fraction=0.04)
    note_scale(figure, scale)
    return figure


def agreement(table: pd.DataFrame, scale: str = "") -> Figure:
    """Metric × metric, the lower half.

    Args:
        table: from `tables.agreement`.
        scale: "quick" is noted on the figure.
    """
    import matplotlib.pyplot as plt

    order = list(dict.fromkeys([*table.metric_a, *table.metric_b]))
    texts = [_cell(row) for row in table.itertuples()]
    square = {
        name: part.pivot(index="metric_b", columns="metric_a", values=name).reindex(
            index=order[1:], columns=order[:-1]
        )
        for name, part in (("rho", table), ("cell", table.assign(cell=texts)))
    }
    figure, axis = plt.subplots(figsize=(WIDTH, 1.2 + 0.36 * len(order)))
    shown = square["rho"].rename(index=label, columns=label)
    artist = heat(axis, shown, square["cell"].fillna("").to_numpy(), (-1, 1), "PuOr")
    axis.set_title("Attributions of all models, mean over mechanisms")
    axis.tick_params(axis="x", rotation=90)
    axis.set_facecolor("none")
    figure.colorbar(artist, ax=axis, label="Spearman's ρ", fraction=0.04)
    note_scale(figure, scale)
    return figure


def _cell(row):
    """The correlation above half its interval's width, without zeros before the points: cells are narrow."""
    text = cell_text(row.rho, precision=2)
    if not np.isnan(row.ci_low):
        text += f"\n± {(row.ci_high - row.ci_low) / 2:.2f}"
    return text.replace("0.", ".")
