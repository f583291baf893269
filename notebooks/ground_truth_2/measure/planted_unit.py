"""One planted model: its texts that count, and explanations of them."""

from functools import partial

import numpy as np

from faithlib.engine.operators import OPERATORS, Operator
from faithlib.statistics import stream
from notebooks.ground_truth_2.measure import (
    entries,
    language,
    planted_models,
    planted_pairs,
    planted_truth,
    scoring,
)
from notebooks.ground_truth_2.measure.natural_texts import unigrams
from notebooks.ground_truth_2.measure.planted_texts import scored
from notebooks.ground_truth_2.measure.scoring import Prepared

UNIGRAM_TEXTS = 500  # training texts whose tokens "resample" draws from


def prepared(model, count, operators=OPERATORS):
    """What a model of a mechanism is scored on: those of `count` texts that count; none is a ValueError."""
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
    explanations, pairs = map(list, zip(*of_texts, strict=True))
    train = [row["text"] for row in model.splits["train"][:UNIGRAM_TEXTS]]
    pool = unigrams(classifier.encode(train))
    chosen = [Operator(classifier, name, "", pool, f"ground truth {seed}") for name in operators]
    of_model = entries.entries
    if model.judge is not None:
        of_model = partial(
            language.entries,
            judge=model.judge,
            model=classifier,
            texts=[rows[i]["text"] for i in kept],
            targets=targets[kept],
        )
    return Prepared(
        scoring.with_tokens(chosen), encodings, targets[kept], explanations, pairs, seed, len(rows), of_model
    )


def _explained(mechanism, row, encoding, order, generator):
    """(explanations, pairs) of one text."""
    evidence = np.isin(encoding.words, row["evidence"])[encoding.maskable]
    return planted_pairs.explanations(mechanism, evidence, row["weights"], generator, tuple(order))
