"""One planted unit of version 2: a trained model, its texts that count, and the values of all entries."""

import numpy as np
import pandas as pd

from faithlib.engine.operators import OPERATORS, Operator
from faithlib.statistics import stream
from notebooks.ground_truth.measure import entries, planted_models, planted_pairs, planted_truth
from notebooks.ground_truth.measure.natural_texts import unigrams
from notebooks.ground_truth.measure.planted_texts import scored

UNIGRAM_TEXTS = 500  # training texts whose tokens "resample" draws from


def unit(model, count, operators=OPERATORS, by_token=False, draws=entries.DRAWS):
    """The accuracies of all entries on the texts of one model.

    Args:
        model: a `planted_models.PlantedModel`.
        count: texts; those that do not count are left out, and counted.
        operators: names.
        by_token: whether "zero" reaches whole tokens in soft metrics.
        draws: of every metric that draws.

    Returns:
        (the table of `entries.right`, {"texts", "used": those that count, "ordered": the share of graded
        texts whose three words are used in their order, else NaN}).

    Raises:
        ValueError: no text counts.
    """
    classifier, mechanism, seed = model.classifier, model.mechanism, model.seed
    rows = scored(mechanism, model.splits["test"], count, model.length)
    targets = planted_models.explained(model, rows)
    swaps = stream("swaps", mechanism.name, seed)
    counts = planted_truth.used(classifier, rows, targets, swaps)
    order = np.ones((len(rows), 3), bool)
    if mechanism.needs == "sum":
        order = planted_truth.ordered(classifier, rows, targets, swaps)
    kept = np.flatnonzero(counts)
    if not len(kept):
        raise ValueError(f"none of {len(rows)} texts of {mechanism.name} uses its evidence: train longer")
    encodings = classifier.encode([rows[i]["text"] for i in kept])
    of_texts = [
        _explained(mechanism, rows[i], encoding, order[i], stream("explanations", mechanism.name, seed, i))
        for i, encoding in zip(kept, encodings, strict=True)
    ]
    scores, pairs = map(list, zip(*of_texts, strict=True))
    train = [row["text"] for row in model.splits["train"][:UNIGRAM_TEXTS]]
    pool = unigrams(classifier.encode(train))
    tables = []
    for name in operators:
        by = "token" if by_token and name == "zero" else ""
        operator = Operator(classifier, name, by, pool, f"ground truth {seed}")
        chosen = entries.entries(draws)
        values = entries.values(operator, encodings, targets[kept], scores, chosen, seed)
        tables.append(entries.right(values, pairs))
    about = {"texts": len(rows), "used": len(kept)}
    about["ordered"] = order[kept].all(axis=1).mean() if mechanism.needs == "sum" else np.nan
    return pd.concat(tables, ignore_index=True), about


def _explained(mechanism, row, encoding, order, generator):
    """(explanations, pairs) of one text."""
    evidence = np.isin(encoding.words, row["evidence"])[encoding.maskable]
    return planted_pairs.explanations(mechanism, evidence, row["weights"], generator, tuple(order))
