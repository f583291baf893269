"""Recursive ROAR: from records to the tables of Madsen et al. 2022.

`values` is what `faithlib.results.load` returns: a row per value, with the columns dataset, model, seed,
measure, recursive, by, step, job, metric and value. A seed is the unit of every interval, as in the paper:
means over seeds with 95 % BCa intervals, measure and random baseline paired by seed. One seed has none.
"""

import numpy as np
import pandas as pd

from faithlib import papers, results
from faithlib.metrics import curves
from faithlib.papers.recursive_roar.card import CARD
from faithlib.report import claims
from faithlib.report.tables import (
    groups,
    metric_rows,
    original,
    over_seeds,
    published_interval,
    published_row,
    select,
    unit_columns,
)
from faithlib.scores import RANDOM

PAPER = "recursive_roar"
CURVE = ["dataset", "model", "recursive"]


def points(values):
    """The curves' values in each data set's own metric; models by the last part of their name.

    Args:
        values: from `results.load`.
    """
    metric = {dataset: CARD.metric(dataset) for dataset in values.dataset.unique()}
    kept = values[values.metric == values.dataset.map(metric)]
    return kept.assign(model=[results.slug(model) for model in kept.model])


def gates(values):
    """Which data sets × models take part in claims: those above chance before anything is masked.

    Args:
        values: from `results.load`. The score is macro-F1, which stands in for balanced accuracy too.

    Returns:
        DataFrame as `report.claims.gates`.
    """
    own = select(values, measure=RANDOM, step=0, by="ratio")
    own = own.assign(model=[results.slug(model) for model in own.model])
    return claims.gates(own.drop_duplicates(["dataset", "model", "seed", "metric"]))


def complete_curves(points, collapsed_models="kept", masking_levels="all"):
    """The curves by ratio of all measures, those without a gap.

    Args:
        points: from `points`.
        collapsed_models: "kept", or "interpolated over": the value of a masking level whose model predicts a
            single class is then that of the line between its neighbours. The model of fully masked texts, of
            which nothing else is expected, is kept.
        masking_levels: "all", or "every second".

    Returns:
        {(data set, model, recursive): DataFrame (measure, seed) × masking levels in per cent}.
    """
    found = {}
    points = points[points.by == "ratio"]
    if collapsed_models != "kept":
        points = points.assign(value=points.value.mask(collapsed(points)))
    for key, part in points.groupby(CURVE, sort=False):
        table = part.pivot(index=["measure", "seed"], columns="step", values="value")
        if collapsed_models != "kept":
            table = table.T.interpolate(method="index", limit_area="inside").T
        if masking_levels != "all" and table.shape[1] % 2:
            table = table.iloc[:, ::2]
        table = table.dropna()
        if RANDOM in table.index.unique("measure"):
            found[key] = table
    return found


def collapsed(points):
    """Where the model of a masking level predicts a single class, before everything is masked: booleans."""
    classes = points.get("classes_predicted", pd.Series(np.nan, points.index))
    return points.step.between(1, 99) & (classes == 1)


def performance(records, points):
    """Tables 1 and 3: test performance before masking and with everything masked, beside the published.

    Args:
        records: from `results.load`.
        points: from `points`.

    Returns:
        A row a data set and model, in fractions. majority: share of the most frequent label; epochs: how many
        were trained; best_epoch: mean of those kept; published_low and published_high: the paper's interval.
    """
    paper = papers.published(PAPER, "table_1")
    paper = paper[paper.statistic != "sequence_length"]
    majority = select(metric_rows(records), metric="majority").groupby(["dataset", "model"]).value.mean()
    rows = []
    for row, part in groups(points[points.measure == RANDOM], ["dataset", "model"]):
        own = select(part, by="ratio")
        known = _published(paper, row["dataset"], model=row["model"])
        row |= {
            "metric": CARD.metric(row["dataset"]),
            "seeds": part.seed.nunique(),
            **over_seeds(select(own, step=0).drop_duplicates("seed").value, "unmasked"),
            **over_seeds(select(own, step=100).drop_duplicates("seed").value, "all_masked"),
            "majority": majority[row["dataset"], row["model"]],
            "epochs": part.epochs.max(),
            "best_epoch": select(part, step=0).drop_duplicates("seed").best_epoch.mean(),
            **published_interval(known),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def racu(points):
    """Table 2 and its like for ROAR: RACU, clipped and not, and ACU, with intervals, beside the published.

    Args:
        points: from `points`.

    Returns:
        A row a curve; higher is better. racu is unclipped (Eq. 3), racu_clipped as released, so it is what
        `published` compares with. flat counts seeds whose random curve hardly falls: there RACU is a quotient
        of noise. collapsed counts the models of the curves that predict a single class although something is
        left; `complete_curves` gives the curves without them.
    """
    paper = papers.published(PAPER, "table_2")
    rows = curves.summary(points[points.by == "ratio"], CURVE).to_dict("records")
    single = points[(points.by == "ratio") & collapsed(points)].groupby([*CURVE, "measure"]).size()
    for row in rows:
        given = {"model": row["model"], "measure": row["measure"]}
        known = _published(paper, row["dataset"], **given) if row["recursive"] else {}
        row["collapsed"] = int(single.get(tuple(row[name] for name in (*CURVE, "measure")), 0))
        row |= published_interval(known)
    return pd.DataFrame(rows)


def curve_table(points):
    """All curves of the figures: mean performance over seeds with its interval, one row a step.

    Args:
        points: from `points`.
    """
    rows = [
        row
        | over_seeds(part.value, "value")
        | {"seeds": part.seed.nunique()}
        | part[["new_tokens", "unchanged_texts"]].mean().to_dict()
        for row, part in groups(points, [*CURVE, "by", "measure", "step"])
    ]
    return pd.DataFrame(rows)


def sparsity(shares):
    """Figures 5 and 6: the share of all importance that the top tokens hold, of the unmasked model's scores.

    Args:
        shares: rows of `scores.sparsity` with dataset, model, seed, job and measure, from `load_shares`.
    """
    rows = [
        row | over_seeds(part.share, "share") | {"seeds": part.seed.nunique()}
        for row, part in groups(select(shares, job="unmasked"), ["dataset", "model", "measure", "by", "top"])
    ]
    return pd.DataFrame(rows).assign(model=lambda table: [results.slug(model) for model in table.model])


def compute(records, points):
    """Table 7: minutes a masking step takes, training and explaining, of the recursive curves by ratio.

    Args:
        records: from `results.load`.
        points: from `points`.

    Returns:
        A row a measure: the mean over steps between nothing and everything masked, and over seeds, on the
        machine that made the records. `published` counts a V100 (BiLSTM) or an A100 (RoBERTa).
    """
    paper = papers.published(PAPER, "table_7")
    seconds = {tuple(unit_columns(r).values()): r["volatile"]["seconds_of_models"] for r in records}
    own = points[(points.by == "ratio") & points.step.between(1, 99) & points.recursive]
    rows = []
    for row, part in groups(own, ["dataset", "model", "measure"]):
        known = select(paper, **row).minutes  # a generated corpus is another size than what it imitates
        jobs = zip(part.dataset, part.model, part.seed, part.job, strict=True)
        spent = [sum(seconds[tuple(unit)].get(job, (np.nan,))) for *unit, job in jobs]
        row |= {"minutes": np.mean(spent) / 60, "models": len(spent)}
        rows.append(row | {"published": known.iloc[0] if len(known) else np.nan})
    return pd.DataFrame(rows)


def load_shares(results_dir, scale, records):
    """The sparsity rows that stand beside the records, with dataset, model and seed."""
    folder = results.project_root() / results_dir / scale / PAPER
    parts = [
        pd.read_parquet(folder / f"{r['unit']}.sparsity.parquet").assign(
            dataset=r["params"]["task"], model=r["params"]["model"], seed=r["params"]["seed"]
        )
        for r in records
    ]
    return pd.concat(parts, ignore_index=True)


def _published(table, dataset, **given):
    """The published row of a data set; {} where there is none, and beside generated data."""
    return published_row(table, dataset, **given) if original(dataset) == dataset else {}
