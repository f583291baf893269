"""Agreement of attributions with known evidence: from records to table, claims and figure.

`values` is what `faithlib.results.load` returns: a row per value, with the columns dataset, model, seed,
example, attribution, metric, value, chance and right (whether the prediction is). An example is the unit
of every interval; seeds are averaged first. Examples without evidence have no value: they are counted.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from faithlib import results
from faithlib.metrics.plausibility import BETTER
from faithlib.report import CLAIMS, OKABE_ITO, bracketed, label, note_scale
from faithlib.statistics import RESAMPLES, mean_interval, percentile_interval, resample_means, verdict

PAPER = "attributions"  # not one of the five; its records and tables lie where theirs do
TITLES = {"auprc": "AUPRC", "precision": "precision", "first_hit": "first hit (rank)"}
LOOKS = [(OKABE_ITO[c], m) for c, m in (("blue", "o"), ("vermillion", "s"), ("green", "D"), ("purple", "^"))]


def overview(records, values):
    """What was measured, one row a unit: accuracy of the model, examples, and the share of evidence."""
    rows = []
    for r in records:
        named = r["params"]
        own = values[(values.dataset == named["task"]) & (values.model == named["model"])]
        own = own[(own.seed == named["seed"]) & (own.metric == "precision")].drop_duplicates("example")
        accuracy = next(m["value"] for m in r["metrics"] if m["metric"] == "accuracy")
        rows.append({"dataset": named["task"], "model": results.slug(named["model"]), "seed": named["seed"],
                     "accuracy": accuracy, "examples": r["provenance"]["examples"]["n"],
                     "with evidence": own.chance.count(), "predicted right": own.right.sum(),
                     "share of evidence": own.chance.mean()})  # the chance level of precision
    return pd.DataFrame(rows)


def evidence(values):
    """Every attribution on every data set: one row each, with all metrics.

    Per metric its mean, `_ci_low` and `_ci_high` (95 % BCa over the n examples that have evidence) and
    `_chance`, the mean over the same examples of what a random order has. auprc and precision in [0, 1],
    higher is better; first_hit is a rank from 1, lower is better. no_value counts examples without evidence.
    """
    rows = []
    for (dataset, model, attribution), part in _per_example(values).groupby(
            ["dataset", "model", "attribution"], sort=False):
        known = part.groupby("example").value.count() > 0
        row = {"dataset": dataset, "model": results.slug(model), "attribution": attribution,
               "n": known.sum(), "no_value": (~known).sum()}
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


def claims(values, n_resamples=RESAMPLES, seed=0):
    """What the agreement supports, one row a claim, on AUPRC: each attribution against a random order,
    and each absolute score against its signed twin.

    value: the mean difference over a data set's examples, averaged over data sets; 95 % percentile
    interval over examples drawn anew within each data set. That random scores beat a random order must not
    hold.
    """
    each = _per_example(values)
    each = each[(each.metric == "auprc") & each.value.notna()]
    gain = each.assign(gain=each.value - each.chance).pivot(
        index=["dataset", "model", "example"], columns="attribution", values="gain")
    rows = []
    for name in each.attribution.unique():
        rows.append(_claim(f"{name} above a random order", gain[name], n_resamples, seed))
        if name.removesuffix("_abs") in gain.columns.drop(name):
            signed = name.removesuffix("_abs")
            rows.append(_claim(f"{name} above {signed}", gain[name] - gain[signed], n_resamples, seed))
    return pd.DataFrame(rows, columns=CLAIMS)


def cost(records):
    """Seconds an example of each attribution in each unit, each asked for alone: a column a unit."""
    seconds = {r["unit"]: r["volatile"]["seconds_per_example"] for r in records}
    return pd.DataFrame(seconds).rename_axis("attribution").reset_index()


def draw(table, scale=""):
    """The table as a figure: a panel a metric, a line an attribution, a colour a data set.

    Bars are 95 % intervals; a dotted line in a data set's colour is what a random order has there.
    """
    names = list(table.attribution.unique())
    groups = list(table.groupby(["dataset", "model"], sort=False))
    figure, axes = plt.subplots(1, len(BETTER), sharey=True, figsize=(6.8, 1.1 + 0.26 * len(names)))
    for axis, (metric, better) in zip(axes, BETTER.items(), strict=True):
        for i, (_, part) in enumerate(groups):
            colour, marker = LOOKS[i % len(LOOKS)]
            y = part.attribution.map(names.index) + 0.22 * (i - (len(groups) - 1) / 2)
            bars = part[metric] - part[f"{metric}_ci_low"], part[f"{metric}_ci_high"] - part[metric]
            axis.errorbar(part[metric], y, xerr=bars, color=colour, marker=marker, markersize=3, linestyle="")
            axis.axvline(part[f"{metric}_chance"].iloc[0], color=colour, linewidth=0.8, linestyle=":")
        axis.set_xlabel(f"{TITLES[metric]} {'↑' if better == 'higher' else '↓'}")
        axis.set_ylim(len(names) - 0.4, -0.6)
    axes[0].set_yticks(range(len(names)), [label(name) for name in names])
    models = table.groupby("dataset").model.nunique()
    texts = [name if models[name] == 1 else f"{name} ({model})" for (name, model), _ in groups]
    handles = [Line2D([], [], color=c, marker=m, linestyle="", markersize=4, label=text)
               for text, (c, m) in zip(texts, LOOKS * len(texts), strict=False)]
    chance = Line2D([], [], color="#777777", linestyle=":", label="a random order")
    figure.legend(handles=[*handles, chance], loc="outside lower center", ncols=len(handles) + 1)
    note_scale(figure, scale)
    return figure


def _per_example(values):
    """One value per data set, model, attribution, metric and example: the mean over seeds."""
    kept = values[values.metric.isin(BETTER)]
    keys = ["dataset", "model", "attribution", "metric", "example"]
    return kept.groupby(keys, sort=False)[["value", "chance"]].mean().reset_index()


def _claim(text, gain, n_resamples, seed):
    """A row of claims from a gain per (data set, model, example): is it above 0?"""
    parts = {name: x.to_numpy()[:, None] for name, x in gain.dropna().groupby(level=[0, 1], sort=False)}
    drawn = [resample_means(x, n_resamples, [seed, i]) for i, x in enumerate(parts.values())]
    low, high = percentile_interval(np.mean(drawn, axis=0)[:, 0])
    return {"claim": text, "baseline": "known exactly", "verdict": verdict(low, high, ">"),
            "value": np.mean([x.mean() for x in parts.values()]), "ci_low": low, "ci_high": high,
            "where": ", ".join(f"{dataset} {x.mean():+.3f}" for (dataset, _), x in parts.items()),
            "published": np.nan, "definition": "paper"}
