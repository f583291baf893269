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
from faithlib.report.tables import original, where

PAPER = "recursive_roar"
MEASURES = ("random", "attention", "gradient_l2", "input_x_gradient_abs", "integrated_gradients_abs")
CURVE = ["dataset", "model", "recursive"]


def points(values):
    """The curves' values in each data set's own metric; models by the last part of their name."""
    of_dataset = {dataset: CARD.metric(dataset) for dataset in values.dataset.unique()}
    kept = values[values.metric == values.dataset.map(of_dataset)]
    return kept.assign(model=[results.slug(model) for model in kept.model])


def performance(records, points):
    """Tables 1 and 3: test performance before masking and with everything masked, beside the published.

    Fractions. `majority` is the share of the most frequent label; `epochs` how many were trained and
    `best_epoch` the mean of those kept. published_low and published_high: the paper's interval.
    """
    paper = papers.published(PAPER, "table_1")
    rows = []
    baseline = points[points.measure == "random"]
    for (dataset, model), part in baseline.groupby(["dataset", "model"], sort=False):
        own = [
            r
            for r in records
            if (r["params"]["task"], results.slug(r["params"]["model"])) == (dataset, model)
        ]
        row = {
            "dataset": dataset,
            "model": model,
            "metric": CARD.metric(dataset),
            "seeds": part.seed.nunique(),
        }
        for name, step in (("unmasked", 0), ("all_masked", 100)):
            of_seed = part[(part.step == step) & (part.by == "ratio")].drop_duplicates("seed").value
            row |= _with_interval(name, of_seed)
        row["majority"] = np.mean([_metric(r, "majority") for r in own])
        row["epochs"] = part.epochs.max()
        row["best_epoch"] = part[part.step == 0].drop_duplicates("seed").best_epoch.mean()
        rows.append(row | _published(paper[paper.statistic != "sequence_length"], dataset, model))
    return pd.DataFrame(rows)


def racu(points):
    """Table 2 and its like for ROAR: RACU, clipped and not, and ACU, with intervals, beside the published.

    racu is unclipped (Eq. 3), racu_clipped as released, so it is what `published` compares with. flat counts
    seeds whose random curve hardly falls: there RACU is a quotient of noise. Higher is better.
    """
    paper = papers.published(PAPER, "table_2")
    table = curves.summary(points[points.by == "ratio"], CURVE)
    rows = []
    for row in table.to_dict("records"):
        known = row["recursive"] and _published(paper, row["dataset"], row["model"], measure=row["measure"])
        rows.append(row | (known or dict.fromkeys(("published", "published_low", "published_high"), np.nan)))
    return pd.DataFrame(rows)


def curve_table(points):
    """All curves of the figures: mean performance over seeds with its interval, one row a step."""
    keys = [*CURVE, "by", "measure", "step"]
    rows = []
    for key, part in points.groupby(keys, sort=False):
        rows.append(
            {
                **dict(zip(keys, key, strict=True)),
                **_with_interval("value", part.value),
                "seeds": part.seed.nunique(),
                "new_tokens": part.new_tokens.mean(),
                "unchanged_texts": part.unchanged_texts.mean(),
            }
        )
    return pd.DataFrame(rows)


def sparsity(shares):
    """Figures 5 and 6: the share of all importance that the top tokens hold, of the unmasked model's scores.

    shares: rows of `metrics.curves.sparsity` with dataset, model, seed, job and measure.
    """
    keys = ["dataset", "model", "measure", "by", "top"]
    rows = []
    for key, part in shares[shares.job == "unmasked"].groupby(keys, sort=False):
        rows.append(
            {
                **dict(zip(keys, key, strict=True)),
                **_with_interval("share", part.share),
                "seeds": part.seed.nunique(),
            }
        )
    return pd.DataFrame(rows).assign(model=lambda table: [results.slug(model) for model in table.model])


def compute(records, points):
    """Table 7: minutes a masking step takes, training and explaining, of the recursive curves by ratio.

    Ours is the mean over steps between nothing and everything masked, and over seeds, on the machine that
    made the records. `published` counts a V100 (BiLSTM) or an A100 (RoBERTa).
    """
    paper = papers.published(PAPER, "table_7").rename(columns={"minutes": "value"})
    seconds = {
        (r["params"]["task"], results.slug(r["params"]["model"]), r["params"]["seed"]): r["volatile"][
            "seconds_of_models"
        ]
        for r in records
    }
    own = points[(points.by == "ratio") & points.step.between(1, 99) & points.recursive]
    rows = []
    for (dataset, model, measure), part in own.groupby(["dataset", "model", "measure"], sort=False):
        spent = [sum(seconds[dataset, model, row.seed].get(row.job, (np.nan,))) for row in part.itertuples()]
        known = paper.query("dataset == @dataset and model == @model and measure == @measure").value
        rows.append(
            {
                "dataset": dataset,
                "model": model,
                "measure": measure,
                "minutes": np.mean(spent) / 60,
                "models": len(spent),
                "published": known.iloc[0] if len(known) else np.nan,
            }
        )
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


def _with_interval(name, of_seeds):
    mean, low, high = curves.over_seeds(of_seeds)
    return {name: mean, f"{name}_low": low, f"{name}_high": high}


def _metric(record, name):
    return next(m["value"] for m in record["metrics"] if m["metric"] == name)


def _published(table, dataset, model, **given):
    """The published value and interval as fractions, NaN where the paper has none."""
    rows = where(table, dataset=original(dataset), model=model, **given)
    if rows.empty:
        return dict.fromkeys(("published", "published_low", "published_high"), np.nan)
    row = rows.iloc[0]
    return {
        "published": row.value / 100,
        "published_low": (row.value - row.minus) / 100,
        "published_high": (row.value + row.plus) / 100,
    }
