"""What the agreement of attributions with known evidence supports."""

import numpy as np
import pandas as pd

from faithlib.papers.attributions.tables import per_example
from faithlib.report.claims import CLAIMS
from faithlib.statistics import RESAMPLES, percentile_interval, resample_means, verdict


def claims(values, n_resamples=RESAMPLES, seed=0):
    """What the agreement supports, one row a claim, on AUPRC: each attribution against a random order,
    and each absolute score against its signed twin.

    value: the mean difference over a data set's examples, averaged over data sets; 95 % percentile
    interval over examples drawn anew within each data set. That random scores beat a random order must not
    hold.
    """
    each = per_example(values)
    each = each[(each.metric == "auprc") & each.value.notna()]
    gain = each.assign(gain=each.value - each.chance).pivot(
        index=["dataset", "model", "example"], columns="attribution", values="gain"
    )
    rows = []
    for name in each.attribution.unique():
        rows.append(_claim(f"{name} above a random order", gain[name], n_resamples, seed))
        if name.removesuffix("_abs") in gain.columns.drop(name):
            signed = name.removesuffix("_abs")
            rows.append(_claim(f"{name} above {signed}", gain[name] - gain[signed], n_resamples, seed))
    return pd.DataFrame(rows, columns=CLAIMS)


def _claim(text, gain, n_resamples, seed):
    """A row of claims from a gain per (data set, model, example): is it above 0?"""
    parts = {name: x.to_numpy()[:, None] for name, x in gain.dropna().groupby(level=[0, 1], sort=False)}
    drawn = [resample_means(x, n_resamples, [seed, i]) for i, x in enumerate(parts.values())]
    low, high = percentile_interval(np.mean(drawn, axis=0)[:, 0])
    return {
        "claim": text,
        "baseline": "known exactly",
        "verdict": verdict(low, high, ">"),
        "value": np.mean([x.mean() for x in parts.values()]),
        "ci_low": low,
        "ci_high": high,
        "where": ", ".join(f"{dataset} {x.mean():+.3f}" for (dataset, _), x in parts.items()),
        "published": np.nan,
        "definition": "paper",
    }
