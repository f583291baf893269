"""Worked examples like Table 4 of Zhao & Aletras 2023: what each metric says of single explanations."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from faithlib.metrics.erasure import rationale
from faithlib.scores import RANDOM
from notebooks.soft_metrics.tables import METRICS, aopc, main_setting, normalised
from replication.tables import select

RATIO = 0.2  # of the tokens, in a rationale
TEXTS = {"sst": 294, "ag_news": 369}  # rows of the test splits that the paper's Table 4 shows, from 0


def table_4(values: pd.DataFrame) -> pd.DataFrame:
    """What each metric says of the texts of the paper's Table 4, which are named by number.

    A row a text that some record explains, attribution (and "random", the first draw) and metric: value, a
    mean over seeds. NS and NC are of rationales of RATIO.
    """
    rows = values[(values.definition == "paper") & values.baseline.isin(["", "normal"]) & (values.draw == 0)]
    rows = rows[rows.example == rows.dataset.map(TEXTS).astype(float)]
    main = main_setting(rows)
    main = main[main.ratio.isna() | np.isclose(main.ratio.astype(float), RATIO)]
    main = main[main.metric.isin(METRICS) & main.perturbation.isin(["hard", "bernoulli"])]
    keys = ["dataset", "model", "example", "attribution", "metric"]
    by_text = main.assign(value=normalised(main)).groupby(keys, observed=True, sort=False)
    return by_text.value.mean().reset_index()


def unit_values(values: pd.DataFrame, record: dict) -> pd.DataFrame:
    """The values of one record."""
    params = record["params"]
    return select(values, dataset=params["task"], model=params["model"], seed=params["seed"])


def worked_examples(
    examples: pd.DataFrame, values: pd.DataFrame, which: Sequence[int] | None = None, ratio: float = 0.2
) -> pd.DataFrame:
    """A table like the paper's Table 4: what each metric says of single explanations, definition "paper".

    Args:
        examples, values: the texts and scores of one unit, and its values.
        which: indices of examples; None takes the one with the largest 1 − S0, whose values are best defined.
        ratio: of tokens in a rationale.

    Returns:
        A row an example and attribution with the rationale: the tokens ranked highest, in the order of the
        text. Random scores stand below with their first draw, and no rationale.
    """
    scored = values[(values.definition == "paper") & values.baseline.isin(["", "normal"])]
    if which is None:
        which = scored.groupby("example").denominator.first().nlargest(1).index
    measured = aopc(scored[(scored.draw == 0) & scored.example.isin(which)])
    first = measured[measured.metric.isin(METRICS)].assign(value=normalised)
    wide = first.pivot(index=["example", "attribution"], columns="metric", values="value")
    texts = examples.set_index("example")
    names = [c.removeprefix("scores_") for c in texts if c.startswith("scores_")]
    rows = []
    for example in which:
        text = texts.loc[example]
        scores = {name: np.asarray(text[f"scores_{name}"], float) for name in names}
        maskable = np.any([s != 0 for s in scores.values()], axis=0)  # others are never scored
        for name in (n for n in (*names, RANDOM) if (example, n) in wide.index):
            chosen = rationale(scores[name], maskable, ratio) if name in scores else []
            words = " ".join(np.asarray(text.tokens)[chosen]) if name in scores else ""
            row = {"example": example, "attribution": name, **wide.loc[(example, name)]}
            rows.append(row | {"rationale": words})
    columns = ["example", "attribution", *(m for m in METRICS if m in wide), "rationale"]
    return pd.DataFrame(rows, columns=columns)
