"""Values, intervals and verdicts that several tests of statistics use."""

import numpy as np
import pandas as pd

from faithlib.statistics import seeds_interval
from replication import claims, verdicts

HOLDS, FAILS, DEPENDS, UNDECIDED, UNTESTED = verdicts.WORDS
UP = seeds_interval([0.10, 0.11, 0.12])
DOWN = seeds_interval([-0.30, -0.31, -0.32])
WIDE = seeds_interval([-0.1, 0.0, 0.4])
TWO = seeds_interval([0.5, 0.6])
EQUAL = seeds_interval([0.2, 0.2, 0.2])


def seeds_of(dataset, values, model="org/bert"):
    """A value a seed, as records hold them."""
    values = np.array(values, float)
    return pd.DataFrame({"dataset": dataset, "model": model, "seed": range(len(values)), "value": values})


SST, AG = seeds_of("sst", [0.10, 0.12, 0.11]), seeds_of("ag_news", [0.2, 0.24, 0.22])


def rows(claim, scale, gate=None, seeds=None):
    """The rows of claims.csv of a claim in the main setting."""
    verdict, cases = claims.judged(claim, gate, seeds)
    return claims.rows(claims.of_accepted(claim, gate), scale, verdict, cases, seeds=seeds)


def scores_of_models(**changed):
    table = pd.DataFrame(
        {
            "dataset": ["cola"] * 3 + ["multirc"] * 3, "model": "minilm", "seed": [0, 1, 2] * 2,
            "score": [0.31, 0.27, 0.29, 0.37, 0.37, 0.36],
            "balanced_accuracy": [0.62, 0.60, 0.63, 0.5, 0.5, 0.5], "classes": 2,
            "chance": [0.0] * 3 + [0.4] * 3,
        }
    )  # fmt: skip
    return table.assign(**changed)


def verdict_of(word, value=0.1):
    """A verdict whose interval has the p that its word asks for: nothing is decided by WIDE."""
    interval = WIDE if word in (UNDECIDED, UNTESTED) else UP
    ends = value - 0.05, value + 0.05
    return verdicts.Verdict(word, value, *ends, "seed", (3,), ("sst",), interval=interval)


def table_of(seeds, texts, value=lambda seed, text: seed + (text % 7) + (seed * text) % 3):
    rows = [(seed, text, float(value(seed, text))) for seed in range(seeds) for text in range(texts)]
    return pd.DataFrame(rows, columns=["seed", "text", "value"])
