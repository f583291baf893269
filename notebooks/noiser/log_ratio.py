"""Log-ratio faithfulness: soft metrics of an attribution against those of a baseline, as one number.

Ghasemi Madani et al. 2025, section 4.2: ln(NS / NS_baseline) + ln(NC / NC_baseline) of means over examples.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from faithlib.statistics import DRAW_COUNTS, monte_carlo_error

BASELINES = ("random", "matched")


def log_ratio(means):
    """ln(NS / NS_baseline) + ln(NC / NC_baseline) of means (..., 4): NS, NC and those of the baseline.

    0 is as good as the baseline, higher is better; −∞ where a mean is 0 and the baseline's is not.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ns, nc, baseline_ns, baseline_nc = np.moveaxis(np.log(means), -1, 0)
        return ns - baseline_ns + nc - baseline_nc


def faithfulness(values: pd.DataFrame, within: Sequence[str] = ()) -> pd.DataFrame:
    """Log-ratio faithfulness of every attribution against each baseline, steps of an example averaged.

    Args:
        values: rows of `soft_causal.over_draws`, with a column `setting` or without.
        within: columns of values (a data set, a model) that tell apart what is never averaged.

    Returns:
        DataFrame, a row a definition, normalisation, attribution (and setting) and baseline: soft_ns, soft_nc
        and log_ratio, 0 for what is as good as the baseline, higher is better; n: examples; undefined:
        prompts without a value (ΔP_0 is 0), which are left out of the means. A mean of 0 gives ∓∞; both means
        0 give NaN.
    """
    method = [column for column in ("attribution", "setting") if column in values]
    rows = []
    for place, part in values.groupby([*within, "definition", "normalisation"], sort=False):
        random = part[part.baseline == "random"]
        for key, named in part[part.baseline != "random"].groupby(method, sort=False):
            plain, matched = named[named.baseline == ""], named[named.baseline == "matched"]
            for baseline, drawn in zip(BASELINES, (random, matched), strict=True):
                if baseline == "matched" and matched.empty:
                    continue  # of a unit with options="none"
                names = dict(
                    zip([*within, "definition", "normalisation", *method], [*place, *key], strict=True)
                )
                rows.append({**names, "baseline": baseline, **_compared(plain, drawn)})
    return pd.DataFrame(rows)


def by_number_of_draws(draws, within=()):
    """The log ratio of the means over the first 1, 2, 4 … draws of `soft_causal.by_draw`, `within` as above.

    A row as in `faithfulness` and number of draws; mc_error: standard error of the log ratio over all draws,
    NaN for one.
    """
    keys = [*within, "definition", "normalisation", "attribution", "setting"]
    cells, rows = draws.assign(setting=draws["setting"] if "setting" in draws else ""), []
    layout = {"index": [*keys, "baseline"], "columns": "draw", "values": ["soft_ns", "soft_nc"]}
    wide = cells.pivot_table(**layout, sort=False)
    for key, ours in wide.xs("", level="baseline").iterrows():
        for baseline in BASELINES:
            random = (*key[:-2], "random", "") if baseline == "random" else key
            if (*random, baseline) not in wide.index:
                continue
            drawn = wide.loc[(*random, baseline)]
            means = np.stack([ours.soft_ns, ours.soft_nc, drawn.soft_ns, drawn.soft_nc], 1)  # (draws, 4)
            means = means[~np.isnan(means).any(1)]  # the data sets of a table may have different numbers
            error = monte_carlo_error(log_ratio(means))
            for n in [n for n in DRAW_COUNTS if n <= len(means)]:
                row = dict(zip(keys, key, strict=True)) | {"baseline": baseline, "draws": n}
                rows.append(row | {"log_ratio": float(log_ratio(means[:n].mean(0))), "mc_error": error})
    return pd.DataFrame(rows)


def _compared(ours, drawn):
    ours, drawn, undefined = _by_example(ours), _by_example(drawn), int(ours.soft_nc.isna().sum())
    both = ours.index.intersection(drawn.index)
    if not len(both):
        raise ValueError(
            "no prompt has both an attribution's and a baseline's value: the model does not "
            "look at its prompts, or rows are missing"
        )
    means = np.r_[ours.loc[both].mean(), drawn.loc[both].mean()]  # (4,): NS, NC, the baseline's
    names = {"soft_ns": means[0], "soft_nc": means[1], "log_ratio": float(log_ratio(means))}
    return names | {"n": len(both), "undefined": undefined}


def _by_example(rows):
    """Means over steps, a row an example that has a value: columns soft_ns and soft_nc."""
    return rows.groupby("example")[["soft_ns", "soft_nc"]].mean().astype(float).dropna()
