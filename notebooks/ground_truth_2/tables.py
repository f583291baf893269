"""From records to tables: accuracies by cell, the worst cell of each entry, transfer between mechanisms.

`values` is what `replication.results.load` returns: a row a unit, entry, error, shape and condition, with the
counts of `measure.scoring.counts`.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from faithlib.statistics import seeds_interval
from notebooks.ground_truth_2 import worst_case
from notebooks.ground_truth_2.card import LANGUAGE_MODEL, ORDER_PAIRS
from notebooks.ground_truth_2.worst_case import CORE, KIND

ENTRY = ["metric", "map", "operator", "by"]
OF_CLASSES = (  # entries as published
    *((name, "", "zero", "element") for name in ("ns", "nc")),
    *((name, how, "zero", "element") for name in ("soft_ns", "soft_nc") for how in ("minmax", "equal")),
    *(
        (name, "", "mask", "token")
        for name in ("aopc_sufficiency", "aopc_comprehensiveness", "decision_flip")
    ),
    *((f"f_fidelity_{sign}", "", "mask", "token") for sign in ("plus", "minus")),
)
OF_WORDS = (
    *((name, "clip", "zero", "element") for name in ("causal_soft_ns", "causal_soft_nc", "log_ratio")),
    *((name, "", "", "") for name in ("answerability", "min_top_k")),
)
PUBLISHED = (*OF_CLASSES, *OF_WORDS)
CONTROLS = ("random", "oracle", "magnitude", "mirror")
SHAPES = 3
TIES = {"right": 0.005, "right_1e4": 1e-4, "right_1e6": 1e-6}  # columns of the counts
RATIOS = "ns", "nc", "ns_10", "nc_10"


def by_kind(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(the rows of classifiers, those of language models) of a table with the column `model`."""
    causal = table.model == LANGUAGE_MODEL
    return table[~causal], table[causal]


def records_by_kind(records: list[dict]) -> tuple[list[dict], list[dict]]:
    """The same of records: two lists."""
    of_classes, of_words = [], []
    for record in records:
        (of_words if record["params"]["model"] == LANGUAGE_MODEL else of_classes).append(record)
    return of_classes, of_words


def accuracies(values, by=(), right="right"):
    """Accuracy of every entry, cell and seed: a Series with the index ENTRY, kind, error, *by, seed.

    A kind with several mechanisms has their mean, with equal weights, where all of them are there. by:
    further columns that are kept apart, such as "shape" or "flagged". right: of TIES.
    """
    values = values.assign(kind=values.mechanism.map(KIND))
    keys = [*ENTRY, "kind", "error", *by, "seed"]
    sums = values.groupby([*keys, "mechanism"], sort=False)[[right, "pairs"]].sum()
    order = values[(values.kind == "P3") & (values.error == "order")]
    pairs = order.groupby([*ENTRY, "seed"]).pairs.sum() / SHAPES
    few = set(pairs[pairs < ORDER_PAIRS].reset_index().seed)
    accuracy = (sums[right] / sums.pairs).rename("accuracy").reset_index()
    wanted = accuracy.kind.map(pd.Series(KIND).value_counts())
    there = accuracy.groupby(keys, sort=False).accuracy.transform("size")
    refused = (accuracy.kind == "P3") & (accuracy.error == "order") & accuracy.seed.isin(few)
    return accuracy[(there == wanted) & ~refused].groupby(keys, sort=False).accuracy.mean()


def matrix(accuracy, entry):
    """Accuracies of one entry in the core: a row a seed and a column a cell of CORE that it has."""
    wide = accuracy.xs(entry, level=ENTRY).unstack(["kind", "error"])
    return wide[[cell for cell in CORE if cell in wide.columns]]


def cells(values: pd.DataFrame) -> pd.DataFrame:
    """cells.csv: a row an entry and cell of the main setting, with accuracy, 95 % interval and TIES."""
    keys = [*ENTRY, "kind", "error"]
    other = {name: accuracies(values, right=name).groupby(keys, sort=False).mean() for name in list(TIES)[1:]}
    rows = []
    for key, part in accuracies(values).groupby(keys, sort=False):
        interval = seeds_interval(part.to_numpy(), limits=(0, 1))
        row = {"core": key[-2:] in CORE, "accuracy": interval.value, "ci_low": interval.low}
        row |= {"ci_high": interval.high, "n_seeds": len(part)}
        rows.append(dict(zip(keys, key, strict=True)) | row | {n: of[key] for n, of in other.items()})
    return pd.DataFrame(rows)


def entries(
    values: pd.DataFrame, resolution: pd.DataFrame, records: list[dict], core: tuple = CORE
) -> pd.DataFrame:
    """entries.csv: a row an entry of the main setting, the best first.

    Args:
        resolution: the table of that name.
        core: the cells that count, of CORE.

    Returns:
        DataFrame with ENTRY, worst (accuracy of the worst core cell, cross-fitted), cell, lowest, ci_low and
        ci_high (the core cell with the lowest mean over all seeds, that mean and its 95 % interval), mean (of
        all core cells), verdict ("passes", "fails" or "undecided"), cells (how many of the core it has), void
        (share of pairs without a value), texts (that tell a pair of `cell` apart, with a power of .8),
        seconds (CPU seconds of so many; of entries that share passes the first one paid), inside and outside
        (accuracy where the room of the text, 1 − S0, is below `worst_case.ROOM`, and elsewhere), auroc (the
        chance that a right pair has more room than a wrong one). Entries with more core cells come first.
    """
    accuracy, spent = accuracies(values), milliseconds(records)
    needed = resolution.assign(kind=resolution.mechanism.map(KIND))
    rows = []
    for entry in accuracy.index.droplevel(["kind", "error", "seed"]).unique():
        own_cells = matrix(accuracy, entry)
        if own_cells.empty or entry[0] in CONTROLS:
            continue
        kind, error = lowest = own_cells.mean().idxmin()
        interval = seeds_interval(own_cells[lowest].dropna().to_numpy(), limits=(0, 1))
        part = needed[(needed[ENTRY] == list(entry)).all(axis=1)]
        texts = part.texts_needed[(part.kind == kind) & (part.error == error)].median()
        of_entry = values[(values[ENTRY] == list(entry)).all(axis=1) & in_core(values)]
        whole = own_cells.to_numpy()
        row = {
            "worst": worst_case.worst(whole) if len(whole) > 1 else own_cells.mean().min(),
            "cell": " ".join(lowest),
            "lowest": interval.value,
            "ci_low": interval.low,
            "ci_high": interval.high,
            "mean": own_cells.mean().mean(),
            "verdict": worst_case.verdict(whole, len(core)),
            "cells": own_cells.shape[1],
            "void": of_entry.void.sum() / of_entry.pairs.sum(),
            "texts": texts,
            "seconds": texts * spent.get(" ".join(entry), float("nan")) / 1000,
            **_flagged(of_entry),
            "auroc": part.room_auroc.mean(),
        }
        rows.append(dict(zip(ENTRY, entry, strict=True)) | row)
    return pd.DataFrame(rows).sort_values(["cells", "worst"], ascending=False, ignore_index=True)


def transfer(values: pd.DataFrame) -> pd.DataFrame:
    """Do entries keep their order? Kendall's τ of mean core accuracies between kinds, operators and shapes.

    between, a, b, tau (a mean over seeds), n_entries (that both have) and n_seeds. Between operators an entry
    is a metric and a map.
    """
    core = values[in_core(values) & ~values.metric.isin(CONTROLS)]
    by_shape = accuracies(core, by=("shape",)).reset_index()
    plain = accuracies(core).reset_index()
    erased = plain[(plain.operator != "zero") | (plain.by == "element")]
    rows = []
    for between, table, names, cell in (
        ("kind", plain, ENTRY, []),
        ("operator", erased, ["metric", "map"], ["kind", "error"]),  # not all have natural texts
        ("shape", by_shape, ENTRY, []),
    ):
        wide = table.groupby([*names, "seed", *cell, between], sort=False).accuracy.mean().unstack(between)
        for a, b in combinations(wide.columns, 2):
            both = wide[[a, b]].dropna().groupby([*names, "seed"], sort=False).mean()
            n_entries = both.index.droplevel("seed").nunique()
            if n_entries < 2:
                continue
            taus = [kendalltau(part[a], part[b]).statistic for _, part in both.groupby("seed")]
            rows.append((between, a, b, pd.Series(taus, dtype=float).mean(), n_entries, len(taus)))
    return pd.DataFrame(rows, columns=["between", "a", "b", "tau", "n_entries", "n_seeds"])


def conditions(values: pd.DataFrame) -> pd.DataFrame:
    """Accuracy in the core, one condition at a time, by kind of model: a mean over errors and seeds.

    ENTRY, kind, condition (shape, flagged or empty_keeps), level and accuracy.
    """
    core, parts = values[in_core(values)], []
    for condition in ("shape", "flagged", "empty_keeps"):
        means = accuracies(core, by=(condition,)).groupby([*ENTRY, "kind", condition], sort=False).mean()
        table = means.reset_index().rename(columns={condition: "level"})
        parts.append(table.assign(condition=condition, level=table.level.astype(str)))
    return pd.concat(parts, ignore_index=True)[[*ENTRY, "kind", "condition", "level", "accuracy"]]


def ties(values: pd.DataFrame) -> pd.DataFrame:
    """The ladder of version 1, evidence in each fifth of the ranking: accuracy at three widths of ties."""
    fifths = values[values.error == "fifths"]
    columns = {
        f"ties {width:g}": accuracies(fifths, right=name).groupby(ENTRY, sort=False).mean()
        for name, width in TIES.items()
    }
    return pd.DataFrame(columns).reset_index()


def largest(certificates: pd.DataFrame) -> pd.DataFrame:
    """The certificates in short: a row a data set, variant and operator, over all seeds."""
    if certificates.empty:
        return certificates
    keys = ["dataset", "variant", "operator", "certified"]
    grouped = certificates.groupby(keys, sort=False)
    return grouped.agg(
        largest=("largest", "max"), mean=("mean", "mean"), all_mean=("all_mean", "mean")
    ).reset_index()


def in_core(values):
    """Which rows belong to a core cell: (rows,) bool."""
    cells = zip(values.mechanism.map(KIND), values.error, strict=True)
    return np.array([cell in CORE for cell in cells], bool)


def milliseconds(records):
    """CPU milliseconds of a value of each entry, medians over records: {"metric map operator by": number}."""
    spent = pd.DataFrame([record["volatile"]["milliseconds"] for record in records])
    return spent.median().to_dict()


def of_mask_kind(certificates: pd.DataFrame) -> pd.DataFrame:
    """The certificates of the `mask` kind: DataFrame with operator, mean, all_mean and seed."""
    if certificates.empty:
        return pd.DataFrame(columns=["operator", "mean", "all_mean", "seed"])
    return certificates[certificates.variant == "mask-kind"]


def _flagged(values):
    """{"inside", "outside"}: the accuracy where `flagged` is true, and elsewhere."""
    sums = values.groupby("flagged")[["right", "pairs"]].sum()
    share = (sums.right / sums.pairs).reindex([True, False])
    return {"inside": share[True], "outside": share[False]}
