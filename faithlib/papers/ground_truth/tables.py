"""Which metric can be believed: from records to tables.

`values` is what `faithlib.results.load` returns with all variants: a row a metric and ladder of one unit,
with the counts of `protocol.score`. A model with its own corpus is the unit of every interval.
"""

from itertools import combinations

import numpy as np
import pandas as pd

from faithlib import results
from faithlib.metrics import registry
from faithlib.papers.ground_truth.card import PRIMARY
from faithlib.papers.ground_truth.explanations import NULLS
from faithlib.papers.ground_truth.protocol import MIRROR, RELEASED
from faithlib.report.agreement import spearman
from faithlib.report.tables import groups
from faithlib.statistics import nested_interval, seeds_interval
from faithlib.statistics.base import t_quantile

COMPILED, PLAIN, ALL = "compiled", "none", "all"
UNIT = ["dataset", "model", "classes", "masking", "seed"]
SCORES = ["accuracy", "decided_accuracy", "tied", "invariance"]
METRICS = ["metric", "definition", "dataset", "model", "masking", "mechanism", "classes", "ladder",
"accuracy",
           "decided_accuracy", "ties", "invariance", "ceiling", "ci_low", "ci_high", "detectable", "n_models",
           "n_texts"]  # fmt: skip
AGREEMENT = ["metric_a", "metric_b", "rho", "ci_low", "ci_high", "n_models"]


def scores(values):
    """Shares of pairs from counts, one row a unit, mechanism, metric and ladder.

    Args:
        values: from `results.load`.

    Returns:
        The rows with SCORES: accuracy (ties count ½), decided_accuracy (of pairs without ties), tied (share
            of
        ties) and invariance; pairs that are void do not count. NaN where there is no such pair. Every metric
        also has rows of the mechanism and ladder "all": the mean over the ladders of each mechanism of
        `card.PRIMARY` and then over mechanisms, where it is scored on all of them.
    """
    known = values.pairs - values.void
    decided = known - values.ties
    own = values.assign(
        accuracy=_share(values.right + values.ties / 2, known),
        decided_accuracy=_share(values.right, decided),
        tied=_share(values.ties, known),
        invariance=_share(values.invariant, values.decided),
    )
    keys, wanted = [*UNIT, "metric"], {(m, ladder) for m, ladders in PRIMARY.items() for ladder in ladders}
    primary = own[[pair in wanted for pair in zip(own.mechanism, own.ladder, strict=True)]]
    by = primary.groupby([*keys, "mechanism"], sort=False).agg(
        dict.fromkeys(SCORES, "mean") | {"texts": "max"}
    )
    whole = by.groupby(keys, sort=False).agg(dict.fromkeys(SCORES, "mean") | {"texts": "sum"})
    count = by.groupby(keys, sort=False).size()
    whole = whole[count == count.groupby(UNIT).transform("max")].reset_index()
    return pd.concat([own, whole.assign(mechanism=ALL, ladder=ALL)], ignore_index=True)


def metrics(scored):
    """The table of the study: every metric on every mechanism and ladder.

    Args:
        scored: from `scores`.

    Returns:
        DataFrame with the columns METRICS: accuracy with its 95 % interval (t over models), ceiling (accuracy
            on
        the compiled model, over the same seeds, mechanism and ladder) and detectable, the smallest difference
        of the accuracy from a fixed number that such an interval would exclude.
    """
    compiled = scored[scored.model == COMPILED].groupby(["metric", "mechanism", "ladder"]).accuracy.mean()
    rows = []
    for row, part in groups(scored, ["metric", *UNIT[:-1], "mechanism", "ladder"]):
        found = part[part.accuracy.notna()]
        if found.empty:
            continue
        interval = seeds_interval(found.accuracy.to_numpy(), "model", (0, 1))
        definition = "released" if row["metric"].startswith(RELEASED) else "paper"
        rows.append(
            row
            | {
                "metric": row["metric"].removeprefix(RELEASED),
                "definition": definition,
                "accuracy": interval.value,
                "decided_accuracy": found.decided_accuracy.mean(),
                "ties": found.tied.mean(),
                "invariance": found.invariance.mean(),
                "ceiling": compiled.get((row["metric"], row["mechanism"], row["ladder"]), np.nan),
                "ci_low": interval.low,
                "ci_high": interval.high,
                "detectable": _detectable(found.accuracy),
                "n_models": len(found),
                "n_texts": int(found.texts.sum()),
            }
        )
    return pd.DataFrame(rows, columns=METRICS)


def overview(scored):
    """One row a metric: what it scores on the trained models with three classes, and the nulls.

    Args:
        scored: from `scores`.

    Returns:
        DataFrame indexed by metric, the best first: accuracy, decided_accuracy, ceiling, invariance and for
            each
        null explanation the share of texts where the evidence is preferred to it; means over models and
        primary mechanisms.
    """
    plain = scored[(scored.classes == 3) & (scored.masking == PLAIN)]
    trained = plain[plain.model != COMPILED]
    trained = plain if trained.empty else trained
    main = trained[trained.mechanism.isin(list(PRIMARY))]
    main = main[[ladder in PRIMARY[m] for m, ladder in zip(main.mechanism, main.ladder, strict=True)]]
    found = _over_mechanisms(main)[["accuracy", "decided_accuracy", "invariance"]]
    ceiling = plain[
        (plain.model == COMPILED) & plain.mechanism.isin(main.mechanism) & plain.ladder.isin(main.ladder)
    ]
    found.insert(2, "ceiling", _over_mechanisms(ceiling)["accuracy"])
    for kind in NULLS:
        own = trained[(trained.ladder == f"null {kind}") & trained.mechanism.isin(list(PRIMARY))]
        found[f"above {kind}"] = _over_mechanisms(own)["accuracy"]
    return found.sort_values("accuracy", ascending=False)


def agreement(means):
    """Do two metrics order attributions alike: Spearman's ρ, a mean over models and mechanisms.

    Args:
        means: the table `attributions` of the records: dataset, model, seed, mechanism, attribution, metric,
            value; higher is better.

    Returns:
        DataFrame with the columns AGREEMENT; the interval is t over models, of each the mean over mechanisms.
    """
    own = means[~means.metric.isin(["precision", "mean_rank"])]
    wide = own.pivot_table(
        index=[*UNIT, "mechanism", "attribution"], columns="metric", values="value", sort=False
    )
    rows = []
    for a, b in combinations(wide, 2):
        rho = {
            key: spearman(part[a].to_numpy().round(9), part[b].to_numpy().round(9)).item()
            for key, part in wide.groupby([*UNIT, "mechanism"], sort=False)
        }
        rho = pd.Series(rho).rename_axis([*UNIT, "mechanism"]).dropna()
        of_units = [part.to_numpy() for _, part in rho.groupby(UNIT)]
        if of_units:
            interval = nested_interval(of_units, "model", (-1, 1))
            rows.append((a, b, interval.value, interval.low, interval.high, len(of_units)))
    return pd.DataFrame(rows, columns=AGREEMENT)


def attributions(means):
    """Bastings' table: how well attributions find planted words.

    Args:
        means: as for `agreement`.

    Returns:
        A row a data set, model, mechanism and attribution: precision at the number of planted tokens, mean
            rank of
        planted tokens (1 is the best of one token) and AUPRC, means over texts and then over models.
    """
    own = means[
        means.metric.isin(["precision", "mean_rank", "auprc"])
        & (means.masking == PLAIN)
        & (means.classes == 3)
    ]
    keys = ["dataset", "model", "mechanism", "attribution"]
    wide = own.pivot_table(index=keys, columns="metric", values="value", sort=False).reset_index()
    return wide.assign(model=wide.model.map(results.slug))


def gates(table):
    """What the gates let through: a row a model kind and mechanism, sums over models.

    Args:
        table: the table `gates` of the records.

    Returns:
        DataFrame: models, scored models, lowest accuracies, texts, passed and the rejected texts of each
            criterion.
    """
    rows = []
    for row, part in groups(table.assign(model=table.model.map(results.slug)), [*UNIT[:-1], "mechanism"]):
        counts = part.filter(regex="^(texts|passed|too_short|rejected_)").sum().astype(int).to_dict()
        reasons = "; ".join(sorted({reason for reason in part.refused if reason}))
        rows.append(
            row
            | {"models": len(part), "scored": int((part.refused == "").sum())}
            | {"lowest_accuracy": part.accuracy.min(), "lowest_swapped": part.swapped.min()}
            | counts
            | {"refused": reasons}
        )
    return pd.DataFrame(rows)


def label(metric):
    """A metric's name as figures print it: "Soft-NC, released"."""
    if metric.startswith(MIRROR):
        return MIRROR + label(metric.removeprefix(MIRROR))
    if metric.startswith(RELEASED):
        return f"{registry.get(metric.removeprefix(RELEASED)).label}, released"
    return registry.get(metric).label if metric in registry.names() else metric


def _share(count, of):
    return (count / of.where(of > 0)).astype(float)


def _over_mechanisms(part):
    """Means over units, ladders and then mechanisms, by metric."""
    return (
        part.groupby(["metric", "mechanism"], sort=False)[SCORES].mean().groupby("metric", sort=False).mean()
    )


def _detectable(values):
    n = len(values)
    return t_quantile(0.975, n - 1) * values.std() / n**0.5 if n > 2 else np.nan
