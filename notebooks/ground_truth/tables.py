"""Which metric can be believed: from records to tables.

`values` is what `replication.results.load` returns with all variants: a row a metric and ladder of one unit,
with the counts of `protocol.score`. A model with its own corpus is the unit of every interval.
"""

from itertools import combinations

import numpy as np
import pandas as pd

from faithlib.metrics import registry
from faithlib.report.agreement import spearman
from faithlib.report.style import cell_text, dataset_title, model_title
from faithlib.statistics import nested_interval, seeds_interval
from faithlib.statistics.base import t_quantile
from faithlib.store import digest
from notebooks.ground_truth.card import NO_DIFFERENCE, PRIMARY
from notebooks.ground_truth.measure import language
from notebooks.ground_truth.measure.explanations import NULLS, RUNGS
from notebooks.ground_truth.measure.protocol import MIRROR, RELEASED, RETRAINED, RUNG
from replication import results
from replication.tables import as_printed, excluded, groups, select

COMPILED, PLAIN, ALL = "compiled", "none", "all"
MORE = "100-texts"  # variant: models scored on more texts than were fixed before the runs
UNIT = ["dataset", "model", "classes", "masking", "seed"]
SCORES = ["accuracy", "decided_accuracy", "tied", "invariance"]
METRICS = ["metric", "definition", "dataset", "model", "masking", "mechanism", "classes", "ladder",
           "accuracy", "decided_accuracy", "ties", "invariance", "compiled", "ci_low", "ci_high",
           "detectable", "n_models", "n_texts"]  # fmt: skip
LEADERBOARD = ["kind", "name", "definition", "version", "dataset", "corpus", "model", "masking", "classes",
               "mechanism", "ladder", "score", "value", "ci_low", "ci_high", "n_models"]  # fmt: skip
RACU = ["metric", "model", "mechanism", "accuracy", "ci_low", "ci_high", "n_models",
        *(f"rung {rung}" for rung in range(RUNGS))]  # fmt: skip
AGREEMENT = ["metric_a", "metric_b", "rho", "ci_low", "ci_high", "n_models"]


def scores(values: pd.DataFrame) -> pd.DataFrame:
    """Shares of pairs from counts, one row a unit, mechanism, metric and ladder.

    Args:
        values: from `results.load`.

    Returns:
        The rows with SCORES: accuracy (ties count ½), decided_accuracy (of pairs without ties), tied (share
        of ties) and invariance; pairs that are void do not count. NaN where there is no such pair. Every
        metric also has rows of the mechanism and ladder "all": the mean over the ladders of each mechanism
        of `card.PRIMARY` and then over mechanisms, where it is scored on all of them.
    """
    known = values.pairs - values.void
    decided = known - values.ties
    own = values.assign(
        accuracy=_share(values.right + values.ties / 2, known),
        decided_accuracy=_share(values.right, decided),
        tied=_share(values.ties, known),
        invariance=_share(values.invariant, values.decided),
    )
    keys = [*UNIT, "metric"]
    by = (
        primary(own)
        .groupby([*keys, "mechanism"], sort=False)
        .agg(dict.fromkeys(SCORES, "mean") | {"texts": "max"})
    )
    whole = by.groupby(keys, sort=False).agg(dict.fromkeys(SCORES, "mean") | {"texts": "sum"})
    count = by.groupby(keys, sort=False).size()
    whole = whole[count == count.groupby(UNIT).transform("max")].reset_index()
    return pd.concat([own, whole.assign(mechanism=ALL, ladder=ALL)], ignore_index=True)


def as_fixed(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the units that were fixed before the runs: without the variant MORE."""
    return table[table.variant != MORE]


def with_more_texts(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table of units, the variant MORE in the place of the same models with fewer texts."""
    keys = ["dataset", "model", "seed"]
    more = table[table.variant == MORE]
    twice = table[keys].agg(tuple, axis=1).isin(more[keys].agg(tuple, axis=1)) & (table.variant == "")
    return table[~twice]


def by_kind(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(the rows of classifiers, those of language models): their metrics are not the same, nor averaged."""
    causal = table.model == language.MODEL
    return table[~causal], table[causal]


def primary(table):
    """The rows of the mechanisms and ladders of `card.PRIMARY`."""
    of = zip(table.mechanism, table.ladder, strict=True)
    return table.loc[[ladder in PRIMARY.get(mechanism, ()) for mechanism, ladder in of]]


def plain(table):
    """The rows of models with three classes that were trained without masks."""
    return table[(table.classes == 3) & (table.masking == PLAIN)]


def metrics(scored: pd.DataFrame) -> pd.DataFrame:
    """The table of the study: every metric on every mechanism and ladder.

    Args:
        scored: from `scores`.

    Returns:
        DataFrame with the columns METRICS: accuracy with its 95 % interval (t over models), compiled (that
        of the compiled model, over the same seeds, mechanism and ladder) and detectable, the smallest
        difference of the accuracy from a fixed number that such an interval would exclude.
    """
    compiled = scored[scored.model == COMPILED].groupby(["metric", "mechanism", "ladder"]).accuracy.mean()
    rows = []
    for row, part in groups(scored, ["metric", *UNIT[:-1], "mechanism", "ladder"]):
        found = part[part.accuracy.notna()]
        if found.empty:
            continue
        definition = "released" if row["metric"].startswith(RELEASED) else "paper"
        rows.append(
            row
            | {
                "metric": row["metric"].removeprefix(RELEASED),
                "definition": definition,
                **_over_models(found.accuracy, "accuracy"),
                "decided_accuracy": found.decided_accuracy.mean(),
                "ties": found.tied.mean(),
                "invariance": found.invariance.mean(),
                "compiled": compiled.get((row["metric"], row["mechanism"], row["ladder"]), np.nan),
                "detectable": _detectable(found.accuracy),
                "n_models": len(found),
                "n_texts": int(found.texts.sum()),
            }
        )
    return pd.DataFrame(rows, columns=METRICS)


def by_model(table: pd.DataFrame) -> pd.DataFrame:
    """The table of metrics as a page shows it: a row a metric, a column a kind of model.

    Args:
        table: from `metrics`.

    Returns:
        DataFrame of texts, accuracy [95 % interval] over the primary mechanisms and ladders.
    """
    whole = table[table.mechanism == ALL]
    released = [RELEASED * (definition == "released") for definition in whole.definition]
    rows = whole.assign(
        metric=[label(name) for name in released + whole.metric],
        kind=[
            model_title(row.model)
            + f" on {dataset_title(row.dataset)}" * (row.dataset != "planted")
            + ", masked-tuned" * (row.masking != PLAIN)
            + ", two classes" * (row.classes == 2)
            for row in whole.itertuples()
        ],
    )
    texts = [cell_text(row.accuracy, row.ci_low, row.ci_high, precision=2) for row in rows.itertuples()]
    return as_printed(rows, texts, ["metric"], ["kind"])


def by_mechanism(scored: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of a metric on each mechanism: means over trained models with three classes and over ladders.

    Args:
        scored: from `scores`, of one kind of `by_kind`.

    Returns:
        DataFrame, a row a metric, the best first, a column a primary mechanism that was scored.
    """
    every = primary(plain(scored))
    own = every[every.model != COMPILED]
    own = every if own.empty else own
    models = own.groupby(["metric", "mechanism", *UNIT], sort=False).accuracy.mean()
    wide = models.groupby(["metric", "mechanism"], sort=False).mean().unstack()
    best_first = wide.mean(axis=1).sort_values(ascending=False).index
    wide = wide.loc[best_first, [name for name in PRIMARY if name in wide]]
    return wide.rename(index=label).rename_axis(columns=None).reset_index()


def overview(scored: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: what it scores on the trained models with three classes, and the nulls.

    Args:
        scored: from `scores`, of one kind of `by_kind`.

    Returns:
        DataFrame indexed by metric, the best first: accuracy, decided_accuracy, compiled, invariance and for
        each null explanation the share of texts where the evidence is preferred to it; means over models and
        primary mechanisms.
    """
    known = plain(scored)
    trained = known[known.model != COMPILED]
    trained = known if trained.empty else trained
    main = primary(trained)
    found = over_mechanisms(main)[["accuracy", "decided_accuracy", "invariance"]]
    reference = known[
        (known.model == COMPILED) & known.mechanism.isin(main.mechanism) & known.ladder.isin(main.ladder)
    ]
    found.insert(2, "compiled", over_mechanisms(reference)["accuracy"])
    for kind in NULLS:
        own = trained[(trained.ladder == f"null {kind}") & trained.mechanism.isin(list(PRIMARY))]
        found[f"above {kind}"] = over_mechanisms(own)["accuracy"]
    return found.sort_values("accuracy", ascending=False)


def cost(records: pd.DataFrame, passes: pd.DataFrame, causal: bool = False) -> pd.DataFrame:
    """What a metric costs, for one explanation of one text.

    Args:
        records: of `results.load`; passes: the table `cost` of the records.
        causal: whether the costs are those of language models.

    Returns:
        DataFrame indexed by metric, means over the trained models: passes, as the registry states them for a
        text of mean length (an upper bound where inputs coincide), and milliseconds of one CPU core; inputs
        that several explanations of a text share are computed once.
    """
    own = [r for r in records if (r["params"]["model"] == language.MODEL) == causal]
    trained = [r for r in own if r["params"]["model"] != COMPILED] or own
    spent = pd.DataFrame([r["volatile"]["milliseconds"] for r in trained]).mean()
    of = by_kind(passes)[causal].astype({"passes": float}).groupby("metric", sort=False).passes.mean()
    costs = {"passes": of.round().astype("Int64"), "milliseconds": spent}
    return pd.DataFrame(costs).rename_axis("metric")


def stable_order(scored: pd.DataFrame) -> pd.DataFrame:
    """What differences the models can show, and how many models small differences would take, by metric.

    Args:
        scored: from `scores`; the trained models with three classes and plain training, on generated texts.

    Returns:
        DataFrame indexed by metric: detectable, half the width of the interval of the accuracy, which is
        t(n - 1) · sd / √n of the n models there are; models_needed, the smallest n with which it is
        `card.NO_DIFFERENCE` at most. sd is between models of one architecture, the largest of the
        architectures. No row where an architecture has fewer than three models.
    """
    own = scored[(scored.mechanism == ALL) & (scored.model != COMPILED) & (scored.dataset == "planted")]
    sds = plain(own).groupby(["metric", "model"]).accuracy.agg(["std", "count"])
    rows = {
        metric: {
            "detectable": max(_half_width(row["std"], row["count"]) for _, row in part.iterrows()),
            "models_needed": next(
                n for n in range(3, 10_000) if _half_width(part["std"].max(), n) <= NO_DIFFERENCE
            ),
        }
        for metric, part in sds.groupby(level=0, sort=False)
        if (part["count"] > 2).all()
    }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["detectable", "models_needed"])
    return table.astype({"models_needed": "Int64"}).rename_axis("metric")


def familiarity(table: pd.DataFrame) -> pd.DataFrame:
    """Are the inputs that metrics build familiar to the model: shares of texts that MaSF rejects.

    Args:
        table: the table `familiarity` of the records.

    Returns:
        A row a data set, model, training, perturbation and input: rejected, the mean over models of the mean
        over mechanisms, with its 95 % interval (t over models), and n_models.
    """
    keys, rows = ["dataset", "model", "classes", "masking", "perturbation", "input"], []
    of = table.groupby([*keys, "seed"], sort=False).rejected.mean().reset_index()
    for row, part in groups(of.assign(model=of.model.map(results.slug)), keys):
        rows.append(row | _over_models(part.rejected, "rejected") | {"n_models": len(part)})
    return pd.DataFrame(rows)


def leaderboard(
    metrics_table: pd.DataFrame, means: pd.DataFrame, gates: pd.DataFrame, version: str
) -> pd.DataFrame:
    """The leaderboard: one row a score of a metric or attribution, to which others may add theirs.

    Args:
        metrics_table: from `metrics`; means: the table `attributions` of the records; gates: the table
            `gates`.
        version: of faithlib.

    Returns:
        DataFrame with the columns LEADERBOARD. `corpus` begins the SHA-256 of the digests of the planted
        texts of all models; "" for mechanism "all".
    """
    corpora = {
        key: digest(sorted(part.corpus))[:16]
        for key, part in gates.groupby(["dataset", "classes", "mechanism"], sort=False)
    }
    scores_of = ["accuracy", "decided_accuracy", "invariance", "compiled"]
    names = {"metric": "name", "variable": "score"}
    one = metrics_table.melt([c for c in metrics_table if c not in scores_of], scores_of).rename(
        columns=names
    )
    one.loc[one.score != "accuracy", ["ci_low", "ci_high"]] = np.nan
    other = means[means.metric.isin(["precision", "mean_rank", "auprc"])]
    keys = ["dataset", "model", "masking", "mechanism", "classes", "attribution", "metric"]
    other = other.groupby(keys, sort=False).value.agg(["mean", "size"]).reset_index()
    other.columns = [*keys[:-2], "name", "score", "value", "n_models"]
    table = pd.concat([one.assign(kind="metric"), other.assign(kind="attribution", definition="paper")])
    of = zip(table.dataset, table.classes, table.mechanism, strict=True)
    table = table.assign(version=version, corpus=[corpora.get(key, "") for key in of])
    return table[table.value.notna()].reindex(columns=LEADERBOARD).reset_index(drop=True)


def agreement(means: pd.DataFrame) -> pd.DataFrame:
    """Do two metrics order attributions alike: Spearman's ρ, a mean over models and mechanisms.

    Args:
        means: the table `attributions` of the records: dataset, model, seed, mechanism, attribution, metric,
            value; higher is better.

    Returns:
        DataFrame with the columns AGREEMENT; the interval is t over models, of each the mean over mechanisms.
    """
    own = means[~means.metric.isin(["precision", "mean_rank"]) & (means.masking != RETRAINED)]
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


def attributions(means: pd.DataFrame) -> pd.DataFrame:
    """Bastings' table: how well attributions find planted words.

    Args:
        means: as for `agreement`.

    Returns:
        A row a data set, model, mechanism and attribution: precision at the number of planted tokens, mean
        rank of planted tokens (1 is the best of one token) and AUPRC, means over texts and then over models.
    """
    own = means[
        means.metric.isin(["precision", "mean_rank", "auprc"])
        & (means.masking == PLAIN)
        & (means.classes == 3)
    ]
    keys = ["dataset", "model", "mechanism", "attribution"]
    wide = own.pivot_table(index=keys, columns="metric", values="value", sort=False).reset_index()
    return wide.assign(model=wide.model.map(results.slug))


def auprc(found: pd.DataFrame) -> pd.DataFrame:
    """What `attributions` gives as a page shows it: AUPRC, a row a model and mechanism, a column a method."""
    keys = ["dataset", "model", "mechanism"]
    return found.pivot(index=keys, columns="attribution", values="auprc").reset_index().round(2)


def unscored(records: pd.DataFrame) -> pd.DataFrame:
    """The metrics that mean nothing too often on a mechanism: a row for all that share models and texts.

    Columns: mechanism, metrics, why; models, how many of them are concerned; texts, those of all of them.
    """
    rows = excluded(records)
    what = [text.rpartition(" of ") for text in rows.what]
    rows = rows.assign(metric=[label(part[0]) for part in what], mechanism=[part[2] for part in what])
    together = rows.groupby(["unit", "mechanism", "why", "n"], sort=False).metric.agg(", ".join)
    together = together.rename("metrics").reset_index().groupby(["mechanism", "metrics", "why"], sort=False)
    return together.agg(models=("unit", "nunique"), texts=("n", "sum")).reset_index()


def retrained(scored: pd.DataFrame, means: pd.DataFrame) -> pd.DataFrame:
    """Does RACU by retraining tell better rankings from worse.

    Args:
        scored: from `scores`; means: the table `attributions` of the records.

    Returns:
        A row a model kind, mechanism and strategy: accuracy with its 95 % interval (t over models), n_models,
        and RACU of each rung, "rung 0" the best, means over models.
    """
    rows = []
    for row, part in groups(scored[scored.masking == RETRAINED], ["metric", "model", "mechanism"]):
        if row["mechanism"] == ALL:
            continue
        found = _over_models(part.accuracy, "accuracy")
        own = select(means, metric=row["metric"], model=row["model"], mechanism=row["mechanism"])
        racu = own.groupby("attribution").value.mean().rename(lambda name: name.replace(RUNG, "rung "))
        rows.append(row | found | {"n_models": len(part)} | racu.to_dict())
    return pd.DataFrame(rows, columns=RACU)


def gates(table: pd.DataFrame) -> pd.DataFrame:
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


def label(metric: str) -> str:
    """A metric's name as figures print it: "Soft-NC, released"."""
    if metric.startswith(MIRROR):
        return MIRROR + label(metric.removeprefix(MIRROR))
    if metric.startswith(RELEASED):
        return f"{registry.get(metric.removeprefix(RELEASED)).label}, released"
    return registry.get(metric).label if metric in registry.names() else metric.replace("_", " ")


def _over_models(values, name):
    """The mean of shares, one a model, under `name`, with its 95 % interval (t over models)."""
    interval = seeds_interval(values.to_numpy(), "model", (0, 1))
    return {name: interval.value, "ci_low": interval.low, "ci_high": interval.high}


def _share(count, of):
    return (count / of.where(of > 0)).astype(float)


def over_mechanisms(part):
    """Means over units, ladders and then mechanisms, by metric."""
    return (
        part.groupby(["metric", "mechanism"], sort=False)[SCORES].mean().groupby("metric", sort=False).mean()
    )


def _detectable(values):
    return _half_width(values.std(), len(values)) if len(values) > 2 else np.nan


def _half_width(sd, n):
    return t_quantile(0.975, n - 1) * sd / n**0.5
