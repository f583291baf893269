"""Counts of entries as units of version 2 of the study of metrics record them, made by hand."""

from itertools import product

import pandas as pd

from faithlib.statistics import stream
from notebooks.ground_truth_2 import claims, tables
from notebooks.ground_truth_2.worst_case import KIND

ERRORS = ("near", "one of two", "missed", "order", "halves", "false above", "ones but one")
COMPARED = (claims.AOPC_S, claims.AOPC_C, claims.NS, claims.NC, claims.SOFT_NS, claims.SOFT_NC, claims.FLIP)
ALL = {*COMPARED, claims.EQUAL, claims.EQUAL_MASK, *(entry for entry, _, _ in claims.WEAK.values())}
MECHANISMS = [name for name in KIND if name != "imdb"]


def counts(accuracy, seeds=range(20, 24)):
    """Counts as records have them; accuracy(entry, kind, error, shape, flagged) in [0, 1], varied by seed."""
    rows, shapes = [], ("linear", "exponential", "steep")
    for about in product(sorted(ALL), MECHANISMS, ERRORS, shapes, (False, True)):
        entry, mechanism, *others = about
        share = accuracy(entry, KIND[mechanism], *others)
        for seed in seeds:
            varied = min(1.0, share + stream(*map(str, about), seed).uniform(0, 0.01))
            rows.append((*entry, mechanism, *others, seed, 100 * varied, 100))
    columns = [*tables.ENTRY, "mechanism", "error", "shape", "flagged", "seed", "right", "pairs"]
    table = pd.DataFrame(rows, columns=columns).assign(empty_keeps=False, void=0, texts=10)
    return table.assign(right_1e4=table.right, right_1e6=table.right)
