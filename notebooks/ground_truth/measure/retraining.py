"""RACU by retraining: do ROAR, Recursive ROAR and masked fine-tuning tell better rankings from worse?

RACU (relative area between curves) masks a share of the tokens of all texts and trains a model again on what
is left (ROAR: remove and retrain), or masks the texts of one model that was trained with masks. Rankings have
to be made again for masked texts, so a rung is a function of the evidence that a text still has: the evidence
stands at a random place in a fifth of the ranking, the first one for rung 0 and the last one for rung 4, and
the other tokens in a random order. Of each two rungs a strategy tells which has the higher RACU.
"""

import zlib
from itertools import combinations

import numpy as np
import pandas as pd
import torch

from faithlib import attributions
from faithlib.corpora import planted
from faithlib.metrics import curves
from faithlib.metrics.recursion import performance, random_masking, recursive_masking
from faithlib.scores import RANDOM
from faithlib.statistics import stream
from faithlib.training import roar
from notebooks.ground_truth.measure.explanations import RUNGS, with_evidence_at
from notebooks.ground_truth.measure.protocol import MEANS, RUNG, placed, row_of

LADDER = "retrained"
LEVELS = (25, 50, 75, 100)  # per cent of a text's tokens that are masked
DRAWS = 8  # random orders whose mean is the baseline of the model that was trained with masks
STRATEGIES = {False: "RACU by ROAR", True: "RACU by Recursive ROAR"}  # are rankings made again?
TUNED = "RACU by masked fine-tuning"
NAMES = tuple(f"{RUNG}{rung}" for rung in range(RUNGS))


def score(make_model, tuned, splits, settings, kept, seed=0):
    """RACU of every rung by every strategy, and which pairs of rungs a strategy tells right.

    Args:
        make_model: a function that returns a Classifier, always with the same weights.
        tuned: a Classifier that was trained with masks.
        splits: {"train", "validation", "test": (encodings, labels)}.
        settings: of `training.fine_tune`, for the models that are trained again.
        kept: the folder of finished models.
        seed: of training.

    Returns:
        A DataFrame with KEYS and COUNTS of `protocol`, a row a strategy, and one with MEANS: the RACU of each
        rung, its name as the attribution and the strategy as the metric.
    """
    for name in NAMES:
        attributions.register(name, signed=False, family="perturbation", cost="none")(_attribution)
    try:
        plan = roar.Plan(NAMES, steps=LEVELS)
        table, _, _ = roar.run(make_model, splits, plan, settings, kept, seed)
    finally:
        for name in NAMES:
            attributions.unregister(name)
    table = table[table.metric == "accuracy"]
    found = {
        strategy: table[table.recursive == again].pivot(index="measure", columns="step", values="value")
        for again, strategy in STRATEGIES.items()
    }
    found[TUNED] = _of_one_model(tuned, *splits["test"], seed)
    counts, means, texts = [], [], len(splits["test"][0])
    for strategy, accuracy in found.items():
        share, baseline = accuracy.columns.to_numpy() / 100, accuracy.loc[RANDOM].to_numpy()
        racu = np.array([curves.racu(share, accuracy.loc[name].to_numpy(), baseline) for name in NAMES])
        pairs = np.array([racu[better] - racu[worse] for better, worse in combinations(range(RUNGS), 2)])
        counts.append({"metric": strategy, **row_of(LADDER, pairs, texts, [])})
        means += [(name, strategy, value, texts) for name, value in zip(NAMES, racu, strict=True)]
    return pd.DataFrame(counts), pd.DataFrame(means, columns=MEANS)


def rungs(model, encodings):
    """{rung: [(tokens,) scores of each text]}, in an order of its own for every text and masking level.

    Tokens that are masked already come first in any ranking, so scores order the tokens that are left.
    """
    vocabulary, found = model.tokenizer.get_vocab(), {name: [] for name in NAMES}
    known = [vocabulary[word] for word in planted.PLANTED if word in vocabulary]
    for e in encodings:
        rng, ids = stream("retrained", zlib.crc32(e.ids.tobytes())), e.ids[e.maskable]
        left = ids != model.mask_id
        evidence = np.isin(ids[left], known)
        for rung, name in enumerate(NAMES):
            first = int((rung + rng.random()) / RUNGS * (len(ids) - evidence.sum() + 1)) - (~left).sum()
            scores = np.zeros(len(ids))
            scores[left] = with_evidence_at(max(first, 0), evidence, rng)
            found[name].append(placed(e, scores))
    return found


def _attribution(model, batch, target):
    found = {name: torch.zeros(batch.ids.shape) for name in NAMES}
    for name, scores in rungs(model, batch.encodings).items():
        for row, values in enumerate(scores):
            found[name][row, : len(values)] = torch.from_numpy(values)
    return found


def _of_one_model(model, encodings, labels, seed):
    """Accuracy at each masking level of a model that was trained with masks: rows NAMES and RANDOM."""

    def scores_of(masked, examples, names):
        scores = rungs(model, masked)
        return {name: scores[name] for name in names}

    masked_at = recursive_masking(model, encodings, scores_of, NAMES, LEVELS, seed=seed)
    del masked_at[RANDOM]
    masked_at |= dict(enumerate(random_masking(model, encodings, LEVELS, seed, DRAWS)))
    table, _ = performance(model, encodings, labels, masked_at, LEVELS)
    table = table[table.metric == "accuracy"].pivot(index="measure", columns="step", values="value")
    table.loc[RANDOM] = table.loc[list(range(DRAWS))].mean()
    return table.loc[[*NAMES, RANDOM]]
