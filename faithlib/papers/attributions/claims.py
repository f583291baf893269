"""What the agreement of attributions with known evidence supports."""

import pandas as pd

from faithlib.attributions.registry import describe
from faithlib.papers.attributions.tables import per_example
from faithlib.report.claims import CLAIMS, contributions, estimate, mean_of, resampled, row
from faithlib.statistics import RESAMPLES


def claims(values, n_resamples=RESAMPLES, seed=0):
    """Each attribution against a random order, and each absolute score against its signed twin, on AUPRC.

    That random scores beat a random order must not hold.

    Args:
        values: from `results.load`.
        n_resamples, seed: of the 95 % percentile intervals; examples are drawn anew within each data set.

    Returns:
        A row a claim; value: the mean difference over a data set's examples, averaged over data sets.
    """
    each = per_example(values)
    each = each[(each.metric == "auprc") & each.value.notna()]
    gain = each.assign(gain=each.value - each.chance).pivot(
        index=["dataset", "model", "example"], columns="attribution", values="gain"
    )
    rows = []
    for name in each.attribution.unique():
        rows.append(_row(f"{name} above a random order", gain[name], n_resamples, seed))
        signed = name.removesuffix("_abs")
        if not describe(name).signed and signed in gain.columns.drop(name):
            rows.append(_row(f"{name} above {signed}", gain[name] - gain[signed], n_resamples, seed))
    return pd.DataFrame(rows, columns=CLAIMS)


def _row(claim, gain, n_resamples, seed):
    """A row of claims from a gain per (data set, model, example): is it above 0?"""
    cells = {case: part.to_frame() for case, part in gain.dropna().groupby(level=[0, 1], sort=False)}
    drawn = {case: means.iloc[:, 0].to_numpy() for case, means in resampled(cells, n_resamples, seed).items()}
    where = ", ".join(contributions({dataset: gain[0]}) for (dataset, _), gain in drawn.items())
    return row(claim, estimate(mean_of(drawn)), where, baseline="known exactly")
