"""What choices change: definitions, rules for ties, numbers of random masks, other soft perturbations.

`values` are those of `results.load`, `diagnostic` is `tables.diagnosticity` of them. Means are over
attributions.
"""

import numpy as np
import pandas as pd

from faithlib.metrics.diagnosticity import TIES
from faithlib.statistics import mean_interval
from notebooks.soft_metrics.measure import VARIANCE
from notebooks.soft_metrics.tables import CELL, METRICS, aopc, mean_by, preferences
from replication.tables import groups, over_paired_examples, select

NOISE = "gaussian_scores"  # Equation 7


def definitions(values: pd.DataFrame, diagnostic: pd.DataFrame) -> pd.DataFrame:
    """What the release's departures do: diagnosticity as in the paper and as released, strict ties.

    Compared are the varied texts, which both definitions have, beside what was published.
    """
    keys = ["dataset", "metric", "baseline"]
    strict = select(diagnostic, ties="strict")
    published = strict.groupby(keys, sort=False).published.mean()
    preferred = preferences(aopc(values[values.varied]))
    preferred = preferred[preferred.metric.isin(METRICS)]
    cells = mean_by(preferred, [*CELL[:3], "attribution", "baseline"], "strict")
    cells = cells.rename(columns={"strict": "value"})
    table = _means_in_columns(cells, keys, "definition").reindex(columns=[*keys, "paper", "released"])
    table["released - paper"] = table.released - table.paper
    return table.merge(published.reset_index(), "left", keys)


def tie_rules(diagnostic: pd.DataFrame) -> pd.DataFrame:
    """What counting ties as losses, halves or wins does, averaged over attributions."""
    keys = ["dataset", "metric", "definition", "baseline"]
    table = _means_in_columns(diagnostic, keys, "ties").reindex(columns=[*keys, *TIES])
    return table.assign(tied=table.at_least - table.strict)


def soft_draws(values: pd.DataFrame) -> pd.DataFrame:
    """What the number of random masks does: diagnosticity of means of the first 1, 2, 4, … draws, ties half.

    Hard metrics, without draws, stand at each number.
    """
    rows = values[(values.definition == "paper") & values.perturbation.isin(["hard", "bernoulli"])]
    counts = sorted(set(rows.draws) - {0})
    return pd.concat([_over_attributions(rows, n) for n in counts], ignore_index=True)


def alternatives(values: pd.DataFrame) -> pd.DataFrame:
    """Appendix C: diagnosticity of all soft perturbations by means of as many draws, on the varied texts.

    `variance` is σ² of Equation 7's noise, NaN for other perturbations; ties half.
    """
    rows = values[(values.definition == "paper") & values.varied]
    others = rows.draws[~rows.perturbation.isin(["hard", "bernoulli"])]
    if others.empty:
        return pd.DataFrame()
    draws = others.max()
    main = _over_attributions(rows, draws)
    noised = main.metric.str.contains(NOISE, regex=False)
    tables = [main.assign(variance=np.where(noised, 1.0, np.nan))]
    for variance, part in _by_variance(rows).items():
        tables.append(_over_attributions(part, draws).assign(variance=variance))
    return pd.concat(tables).sort_values(["dataset", "metric", "baseline", "variance"], ignore_index=True)


def tuned_noise(values: pd.DataFrame) -> pd.DataFrame:
    """Equation 7 with σ² chosen on every second varied text and measured on the others.

    Chosen is the variance with the highest diagnosticity, for each data set, metric and baseline.

    Returns:
        A row a data set, metric and baseline, ties half: variance, the one that was chosen; value, ci_low and
        ci_high of it on the n other texts; bernoulli on the same texts; and difference, the first less the
        second, with difference_low and difference_high. Empty where no variance was measured.
    """
    chosen = values[(values.definition == "paper") & values.varied]
    main, varied = chosen[chosen.option == ""], _by_variance(chosen)
    if not varied:
        return pd.DataFrame()
    draws = max(part.draws.max() for part in varied.values())
    of = {1.0: main[main.perturbation == NOISE]} | varied
    noised = pd.concat([_each(part, draws).assign(variance=v) for v, part in of.items()])
    noised["metric"] = noised.metric.str.removesuffix(f" ({NOISE})")
    masked = _each(main[main.perturbation == "bernoulli"], draws).assign(variance=0.0)
    rows, keys = [], ["dataset", "metric", "baseline"]
    for row, part in groups(pd.concat([noised, masked]), keys):
        wide = part.pivot(index="example", columns="variance", values="half").dropna()
        if 0.0 not in wide or len(wide.columns) < 3 or len(wide) < 2:  # nothing to choose from
            continue
        best = wide.iloc[::2].drop(columns=0.0).mean().idxmax()
        rest = wide.iloc[1::2]
        interval = mean_interval(np.stack([rest[best], rest[best] - rest[0.0]], 1))
        value, difference = np.transpose(interval).tolist()
        row |= {"variance": best} | dict(zip(("value", "ci_low", "ci_high"), value, strict=True))
        row |= {"n": len(rest), "bernoulli": rest[0.0].mean()}
        ends = ("difference", "difference_low", "difference_high")
        rows.append(row | dict(zip(ends, difference, strict=True)))
    return pd.DataFrame(rows)


def _by_variance(values):
    """{σ²: values with this variance of Equation 7's noise, as if they were the main setting's}."""
    options = values[values.option.str.startswith(VARIANCE)].groupby("option", observed=True)
    return {float(option.removeprefix(VARIANCE)): part.assign(option="") for option, part in options}


def _each(values, draws):
    """Diagnosticity of each text by means of `draws` draws, ties half, averaged over attributions."""
    return mean_by(preferences(aopc(values, draws=draws)), [*CELL, "baseline", "example"], "half")


def _over_attributions(values, draws):
    """Diagnosticity of means of `draws` draws, ties half, averaged over attributions, with intervals."""
    mean = _each(values, draws)
    return over_paired_examples(mean, ["dataset"], ["metric", "baseline"], "half").assign(draws=draws)


def _means_in_columns(table, keys, column):
    """Means over attributions of a table's values, a column for each value of `column`."""
    wide = table.pivot_table(index=keys, columns=column, values="value", sort=False)
    return wide.reset_index().rename_axis(columns=None)
