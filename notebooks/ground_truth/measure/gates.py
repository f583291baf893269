"""Which models and texts count: those that use the planted evidence, and nothing else, whatever is erased."""

import numpy as np
import pandas as pd

from faithlib.corpora import planted
from notebooks.ground_truth.measure.language import targets

ACCURACY = 0.99  # of a model, on whole texts and with all other words swapped
WITH, WITHOUT = 0.9, 0.1  # least probability of the class with its evidence, largest without
SWAPS = 5
SHARE = 0.8  # of a model's texts that pass
PERTURBATIONS = ("zero", "mask", "delete", "pad")


def of_texts(model, mechanism, rows, others, rng, default=False):
    """Whether the prediction of each text follows its evidence.

    Args:
        model: a Classifier, or a CausalLM.
        mechanism: a `corpora.planted.Mechanism`.
        rows: examples with whole evidence.
        others: [[word]] of texts without evidence, to swap words with.
        rng: a numpy Generator.
        default: whether the model may favour a class without evidence, as one of two classes does and one
            that learnt the labels of masked texts: what it gives without evidence then refuses no text.

    Returns:
        DataFrame, a row a text: `with_evidence` and `swapped` (the least probability of the class over SWAPS
        texts), for each of PERTURBATIONS `without_<perturbation>` (the largest probability of the class
        without its evidence, or without any word that it needs) and `one_<perturbation>` (where one word is
        enough, the least without one of them), and `passes`.
    """
    from faithlib.engine import forward  # reports read this module, and load no model

    labels = targets(model, rows)

    def p(variants):
        return forward.probabilities(model, variants)[np.arange(len(rows)), labels]

    encodings = model.encode([row["text"] for row in rows])
    table = {"with_evidence": p([forward.unchanged(e) for e in encodings])}
    swaps = []
    for _ in range(SWAPS):
        texts = [planted.swapped(row, others[rng.integers(len(others))])["text"] for row in rows]
        swaps.append(p([forward.unchanged(e) for e in model.encode(texts)]))
    table["swapped"] = np.min(swaps, axis=0)
    for perturbation in PERTURBATIONS:

        def without(word, perturbation=perturbation):
            words = [row["evidence"] if word is None else row["evidence"][word] for row in rows]
            return p([
                forward.erased(model, e, np.isin(e.words, w), perturbation)
                for e, w in zip(encodings, words, strict=True)
            ])  # fmt: skip

        single = [without(word) for word in range(mechanism.words if mechanism.words > 1 else 0)]
        gone = [without(None), *(single if mechanism.needs == "all" else [])]
        table[f"without_{perturbation}"] = np.max(gone, axis=0)
        if mechanism.needs == "one":
            table[f"one_{perturbation}"] = np.min(single, axis=0)
    table = pd.DataFrame(table)
    high = [c for c in table if c in ("with_evidence", "swapped") or c.startswith("one_")]
    low = [c for c in table if c.startswith("without_") and not default]
    return table.assign(passes=(table[high] >= WITH).all(axis=1) & (table[low] <= WITHOUT).all(axis=1))


def rejected(table):
    """{criterion: how many texts fail it}, criteria as the columns of `of_texts`."""
    return {
        c: int((table[c] > WITHOUT).sum() if c.startswith("without_") else (table[c] < WITH).sum())
        for c in table.drop(columns="passes")
    }


def accuracy(model, rows, others, rng):
    """Accuracy on texts, and with all words but the evidence swapped: (whole, swapped)."""
    from faithlib.engine import forward

    labels = targets(model, rows)
    swapped = [
        planted.swapped(row, others[rng.integers(len(others))]) if row["kind"] in ("whole", "single") else row
        for row in rows
    ]
    return tuple(
        float(
            (
                forward.probabilities(model, [forward.unchanged(e) for e in encodings]).argmax(1) == labels
            ).mean()
        )
        for encodings in (model.encode([row["text"] for row in texts]) for texts in (rows, swapped))
    )


def refused(whole, swapped, table):
    """Why a model is not scored on a mechanism, "" if it is.

    Args:
        whole, swapped: from `accuracy`; table: from `of_texts`.

    Example:
        >>> refused(1.0, 0.97, pd.DataFrame({"passes": [True]}))
        'accuracy 0.97 with other words swapped'
    """
    for value, where in ((whole, "with evidence"), (swapped, "with other words swapped")):
        if value < ACCURACY:
            return f"accuracy {value:.2f} {where}"
    share = table.passes.mean() if len(table) else 0
    return "" if share >= SHARE else f"{share:.0%} of its texts pass, fewer than {SHARE:.0%}"
