"""Agreement of attributions with known evidence: from records to tables.

`values` is what `faithlib.results.load` returns: a row per value, with the columns dataset, model, seed,
example, attribution, metric, value, chance and right (whether the prediction is). An example is the unit
of every interval; seeds are averaged first. Examples without evidence have no value: they are counted.
"""

import numpy as np
import pandas as pd

from faithlib import results
from faithlib.metrics.plausibility import BETTER
from faithlib.report import bracketed
from faithlib.statistics import mean_interval

PAPER = "attributions"  # not one of the five; its records and tables lie where theirs do


def overview(records, values):
    """What was measured, one row a unit: accuracy of the model, examples, and the share of evidence."""
    rows = []
    for r in records:
        named = r["params"]
        own = values[(values.dataset == named["task"]) & (values.model == named["model"])]
        own = own[(own.seed == named["seed"]) & (own.metric == "precision")].drop_duplicates("example")
        accuracy = next(m["value"] for m in r["metrics"] if m["metric"] == "accuracy")
        rows.append(
            {
                "dataset": named["task"],
                "model": results.slug(named["model"]),
                "seed": named["seed"],
                "accuracy": accuracy,
                "examples": r["provenance"]["examples"]["n"],
                "with evidence": own.chance.count(),
                "predicted right": own.right.sum(),
                "share of evidence": own.chance.mean(),
            }
        )  # the chance level of precision
    return pd.DataFrame(rows)


def evidence(values):
    """Every attribution on every data set: one row each, with all metrics.

    Per metric its mean, `_ci_low` and `_ci_high` (95 % BCa over the n examples that have evidence) and
    `_chance`, the mean over the same examples of what a random order has. auprc and precision in [0, 1],
    higher is better; first_hit is a rank from 1, lower is better. no_value counts examples without evidence.
    """
    rows = []
    for (dataset, model, attribution), part in per_example(values).groupby(
        ["dataset", "model", "attribution"], sort=False
    ):
        known = part.groupby("example").value.count() > 0
        row = {
            "dataset": dataset,
            "model": results.slug(model),
            "attribution": attribution,
            "n": known.sum(),
            "no_value": (~known).sum(),
        }
        for metric in BETTER:
            own = part[(part.metric == metric) & part.value.notna()]
            found = mean_interval(own.value) if len(own) else [np.nan] * 3
            row |= dict(zip([metric, f"{metric}_ci_low", f"{metric}_ci_high"], found, strict=True))
            row[f"{metric}_chance"] = own.chance.mean()
        rows.append(row)
    return pd.DataFrame(rows)


def shown(table):
    """The table for a page: "value [interval]" by metric, with a random order as a data set's last row."""
    rows = []
    for (dataset, _), part in table.groupby(["dataset", "model"], sort=False):
        rows += bracketed(part, 2)[["dataset", "attribution", "n", *BETTER]].to_dict("records")
        chance = {m: f"{part[f'{m}_chance'].mean():.2f}" if part.n.any() else "" for m in BETTER}
        rows.append({"dataset": dataset, "attribution": "a random order", "n": part.n.max(), **chance})
    return pd.DataFrame(rows)


def cost(records):
    """Seconds an example of each attribution in each unit, each asked for alone: a column a unit."""
    seconds = {r["unit"]: r["volatile"]["secondsper_example"] for r in records}
    return pd.DataFrame(seconds).rename_axis("attribution").reset_index()


def per_example(values):
    """One value per data set, model, attribution, metric and example: the mean over seeds."""
    kept = values[values.metric.isin(BETTER)]
    keys = ["dataset", "model", "attribution", "metric", "example"]
    return kept.groupby(keys, sort=False)[["value", "chance"]].mean().reset_index()
