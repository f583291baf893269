"""Log-ratio faithfulness: soft metrics of an attribution against those of a baseline, as one number.

Ghasemi Madani et al. 2025, section 4.2: ln(NS / NS_baseline) + ln(NC / NC_baseline) of means over examples.
"""

import numpy as np
import pandas as pd

from faithlib.statistics import RESAMPLES, monte_carlo_error, percentile_interval, resample_means

BASELINES = ("random", "matched")


def log_ratio(means):
    """ln(NS / NS_baseline) + ln(NC / NC_baseline) of means (..., 4): NS, NC and those of the baseline.

    0 is as good as the baseline, higher is better; −∞ where a mean is 0 and the baseline's is not.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ns, nc, baseline_ns, baseline_nc = np.moveaxis(np.log(means), -1, 0)
        return ns - baseline_ns + nc - baseline_nc


def faithfulness(values, within=(), n_resamples=RESAMPLES, seed=0):
    """Log-ratio faithfulness of every attribution against each baseline: a DataFrame, one row a pair.

    values: rows of `soft_causal.values`, which may have further columns: those of `within` (a data set, a
    model) tell apart what is never averaged, "bounding" variants of one attribution.
    log_ratio = ln(NS / NS_baseline) +
    ln(NC / NC_baseline) of means over examples, each first averaged over its steps; 0 is the baseline, higher
    is better. log_ns, log_nc: its parts; ci_low, ci_high: percentile interval over resampled examples;
    mc_error: the standard error that the baseline's draws leave, NaN for one draw; n: examples; undefined:
    prompts without a value (ΔP_0 is 0), which are left out of the means. A mean of 0 gives ∓∞, as an end
    too where resamples have it; both means 0 give NaN, and one such resample leaves no interval.
    """
    method = [column for column in ("attribution", "bounding") if column in values]
    rows = []
    for place, part in values.groupby([*within, "definition"], sort=False):
        random = part[part.baseline == "random"]
        for key, named in part[part.baseline != "random"].groupby(method, sort=False):
            own, matched = named[named.baseline == ""], named[named.baseline == "matched"]
            for baseline, drawn in zip(BASELINES, (random, matched), strict=True):
                rows.append(
                    {
                        **dict(zip([*within, "definition", *method], [*place, *key], strict=True)),
                        "baseline": baseline,
                        **_compared(own, drawn, n_resamples, seed),
                    }
                )
    return pd.DataFrame(rows)


def _compared(own, drawn, n_resamples, seed):
    own, drawn, undefined = _by_example(own), _by_example(drawn), int(own.soft_nc.isna().sum())
    both = own.index.intersection(drawn.index)
    if not len(both):
        raise ValueError(
            "no prompt has both an attribution's and a baseline's value: the model does not "
            "look at its prompts, or rows are missing"
        )
    own, drawn = own.loc[both], drawn.loc[both]
    cells = np.stack([t[metric].mean(axis=1) for t in (own, drawn) for metric in ("soft_ns", "soft_nc")], 1)
    means = cells.mean(0)  # (4,): NS, NC, and those of the baseline
    by_draw = [
        np.r_[means[:2], drawn["soft_ns"][d].mean(), drawn["soft_nc"][d].mean()] for d in drawn["soft_ns"]
    ]
    resampled = log_ratio(resample_means(cells, n_resamples, seed))
    low, high = _interval(resampled)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ns, log_nc = np.log(means[:2]) - np.log(means[2:])
        mc_error = monte_carlo_error(log_ratio(np.array(by_draw)))  # NaN where a draw's mean is 0
    return {
        "soft_ns": means[0],
        "soft_nc": means[1],
        "log_ns": log_ns,
        "log_nc": log_nc,
        "log_ratio": log_ns + log_nc,
        "ci_low": low,
        "ci_high": high,
        "mc_error": mc_error,
        "n": len(both),
        "undefined": undefined,
    }


def _interval(resampled):
    """The 95 % percentile interval; its ends are draws where some are infinite, NaN where one is."""
    if np.isfinite(resampled).all():
        return percentile_interval(resampled)
    if np.isnan(resampled).any():
        return np.nan, np.nan
    return np.quantile(resampled, [0.025, 0.975], method="inverted_cdf")


def _by_example(rows):
    """Means over steps: a row an example that has a value, columns soft_ns and soft_nc of each draw."""
    return rows.pivot_table(index="example", columns="draw", values=["soft_ns", "soft_nc"])
