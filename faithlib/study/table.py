"""From values per text to the table of a study: means, intervals and flags."""

import numpy as np
import pandas as pd

from faithlib.metrics.diagnosticity import indicator
from faithlib.metrics.performance import performance
from faithlib.statistics import crossed_interval, gates, text_interval

COLUMNS = [
    "attribution", "metric", "value", "ci_low", "ci_high", "n", "void", "diagnosticity", "unit", "operator",
    "dtype", "flag",
]  # fmt: skip
SHARE = 0.2  # of the texts: more that are void, or never flip, are told
AT_CHANCE = "at chance"  # the flag of a model whose predictions mean nothing
ONE, SEVERAL = "texts, for this model", "models × texts"  # what an interval speaks of


def table(values, metrics, data="", chance="", flat=None, contrast=False, operators=None):
    """A row for each attribution and metric, with COLUMNS.

    values: a row for each model, attribution, metric, baseline, draw and text; NaN values are left out and
    counted in `void`, of several models where one of them has NaN. data, with model, attribution and metric,
    names the random stream. chance: why predictions cannot be believed, else "": then no value is given.
    flat: {attribution: texts in which all its scores are equal}; operators: {metric: the name of its
    operator, or ""}; contrast: whether a contrast of two targets is explained.
    """
    models = list(dict.fromkeys(values.model))
    rows = []
    grouped = {key: part for key, part in values.groupby(["attribution", "metric"], sort=False)}
    for name in values.attribution.unique():
        for metric in metrics:
            part = grouped[name, metric.name]
            of_method = part[part.baseline == ""]
            wide = of_method.pivot(index="model", columns="example", values="value").loc[models]
            defined = wide.loc[:, wide.notna().all()]
            n, void = defined.shape[1], wide.shape[1] - defined.shape[1]
            flags = [AT_CHANCE] if chance else []
            limits = metric.limits(contrast)
            interval = _interval(defined.to_numpy(), (data, *models, name, metric.name), limits)
            numbers = (np.nan,) * 3
            if interval is None:
                flags.append("no text has a value" + (f", as {metric.void}" if metric.void else ""))
            elif not chance:
                numbers = (interval.value, interval.low, interval.high)
                flags += [interval.reason] if interval.reason else []
            if metric.name == "decision_flip" and (never := int((defined == 1).all(axis=0).sum())):
                flags.append(f"{never} of {n} texts keep their class as long as a token is left")
            if alike := (flat or {}).get(name):
                flags.append(f"all scores are equal in {alike} text{'s' * (alike != 1)}")
            share = np.nan if chance else _diagnosticity(part, wide, 1 if metric.better == "higher" else -1)
            unit = ONE if len(models) == 1 else SEVERAL
            erased = (operators or {}).get(metric.name, metric.operator)
            rows.append((name, metric.name, *numbers, n, void, share, unit, erased, "", "; ".join(flags)))
    return pd.DataFrame(rows, columns=COLUMNS)


def _interval(defined, names, limits):
    """The `Interval` of values (models, texts); None where there is none of them."""
    if not defined.size:
        return None
    if len(defined) == 1:
        return text_interval(defined[0], names, limits=limits)
    return crossed_interval(defined, unit="model", limits=limits)


def _diagnosticity(part, values, sign):
    """Share of texts, models and draws on which the attribution's value is better than its baseline's."""
    matched = part[part.baseline == "matched"]
    if matched.empty:
        return np.nan
    first = values.stack(future_stack=True).rename("original")
    pairs = matched.join(first, on=["model", "example"])
    preferred = indicator(sign * pairs.original, sign * pairs.value, "half")
    return float(np.nanmean(preferred)) if np.isfinite(preferred).any() else np.nan


def remarks(rows, values, metrics):
    """What to know about texts without a value, and about those that never flip, in sentences."""
    by_count, never = {}, []
    for metric in metrics:
        of_metric = rows[rows.metric == metric.name]
        void = of_metric.void[of_metric.void > SHARE * (of_metric.n + of_metric.void)]
        if len(void) and of_metric.n.any():
            by_count.setdefault(_span(void), []).append(metric.label)
        if metric.name == "decision_flip":
            never += _never_flipped(values[(values.metric == metric.name) & (values.baseline == "")], metric)
    void = [f"{count} texts are void in {', '.join(labels)}." for count, labels in by_count.items()]
    return void + never


def _never_flipped(flips, metric):
    of_attribution = (flips.value == 1).groupby(flips.attribution).agg(["sum", "mean"])
    counts = of_attribution["sum"][of_attribution["mean"] > SHARE]
    if counts.empty:
        return []
    n = flips.example.nunique()
    return [
        f"{_span(counts)} of {n} texts keep their class as long as a token is left: they count as 1 in "
        f"{metric.label}."
    ]


def _span(counts):
    low, high = int(counts.min()), int(counts.max())
    return f"{low} to {high}" if low < high else f"{high}"


def chance(labels, predicted):
    """Why the models are at chance on labelled data, or "": `statistics.gates.gate` of Matthews' correlation.

    labels, predicted: for each model (texts,) int. Labels of a single class cannot tell and pass.

    Example:
        >>> labels = [[0, 1, 0, 1]]
        >>> chance(labels, [[0, 1, 0, 1]]), chance(labels, [[0, 0, 1, 1]])[:9]
        ('', 'at chance')
    """
    classes = len(set(labels[0]))
    if classes < 2:
        return ""
    pairs = zip(labels, predicted, strict=True)
    measured = [performance(np.asarray(p), np.asarray(gold)) for gold, p in pairs]
    scores, recalls = ([of_model[name] for of_model in measured] for name in ("mcc", "balanced_accuracy"))
    verdict = gates.gate(scores, recalls, classes, name="Matthews' correlation")
    return "" if verdict.accepted else f"{AT_CHANCE}: {verdict.reason}"
