"""Agreement of attributions with known evidence: from records to tables.

`records` and `values` are what `replication.results.load` returns: values have a row per value, with the
columns dataset, model, seed, example, attribution, metric, value, chance and right (whether the prediction
is). An example is the unit of every interval; seeds are averaged first. Examples without evidence have no
value: they are counted.
"""

import pandas as pd

from faithlib.metrics.plausibility import BETTER
from replication import results
from replication.tables import bracketed, groups, metric_rows, over_examples, select, unit_columns

PAPER = "attributions"  # not one of the five; its records and tables lie where theirs do


def overview(records: list[dict], values: pd.DataFrame) -> pd.DataFrame:
    """What was measured, a row a unit; the share of evidence is the chance of precision."""
    rows = []
    for record in records:
        params = record["params"]
        texts = select(values, dataset=params["task"], model=params["model"], seed=params["seed"])
        texts = select(texts, metric="precision").drop_duplicates("example")
        row = unit_columns(record) | {
            "accuracy": select(metric_rows([record]), metric="accuracy").value.iloc[0],
            "examples": record["provenance"]["examples"]["n"],
            "with evidence": texts.chance.count(),
            "predicted right": texts.right.sum(),
            "share of evidence": texts.chance.mean(),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def evidence(values: pd.DataFrame) -> pd.DataFrame:
    """Every attribution on every data set, with all metrics.

    auprc and precision lie in [0, 1], higher is better; first_hit is a rank from 1, lower is better.

    Returns:
        A row an attribution: n and no_value count the examples with and without evidence; per metric its
        mean, `_ci_low` and `_ci_high` (95 % BCa over the n examples) and `_chance`, the mean over the same
        examples of what a random order has.
    """
    rows = []
    for row, part in groups(per_example(values), ["dataset", "model", "attribution"]):
        defined = part.groupby("example").value.count() > 0
        row |= {"model": results.slug(row["model"]), "n": defined.sum(), "no_value": (~defined).sum()}
        for metric in BETTER:
            valued = part[(part.metric == metric) & part.value.notna()]
            row |= over_examples(valued.value, metric, f"{metric}_ci_low", f"{metric}_ci_high")
            row[f"{metric}_chance"] = valued.chance.mean()
        rows.append(row)
    return pd.DataFrame(rows)


def evidence_as_printed(table: pd.DataFrame) -> pd.DataFrame:
    """The table for a page: "value [interval]" by metric, with a random order as a data set's last row.

    Args:
        table: from `evidence`.
    """
    rows = []
    for row, part in groups(table, ["dataset", "model"]):
        rows += bracketed(part, 2)[["dataset", "attribution", "n", *BETTER]].to_dict("records")
        chance = {m: f"{part[f'{m}_chance'].mean():.2f}" if part.n.any() else "" for m in BETTER}
        rows.append({"dataset": row["dataset"], "attribution": "a random order", "n": part.n.max(), **chance})
    return pd.DataFrame(rows)


def cost(records: list[dict]) -> pd.DataFrame:
    """Seconds an example of each attribution in each unit, each asked for alone: a column a unit."""
    seconds = {r["unit"]: r["volatile"]["seconds_per_example"] for r in records}
    return pd.DataFrame(seconds).rename_axis("attribution").reset_index()


def per_example(values):
    """One value per data set, model, attribution, metric and example: the mean over seeds."""
    kept = values[values.metric.isin(BETTER)]
    keys = ["dataset", "model", "attribution", "metric", "example"]
    return kept.groupby(keys, sort=False)[["value", "chance"]].mean().reset_index()
