"""From values per text to the table of a study: means, intervals and flags."""

import numpy as np
import pandas as pd

from faithlib.metrics.diagnosticity import indicator
from faithlib.metrics.performance import performance
from faithlib.statistics import crossed_interval, text_interval
from faithlib.statistics.gates import gate

COLUMNS = [
    "attribution", "metric", "value", "ci_low", "ci_high", "n", "void", "diagnosticity", "unit", "operator",
    "flag",
]  # fmt: skip
ONE, SEVERAL = "texts, for this model", "models × texts"  # what an interval speaks of


def table(values, metrics, data="", chance="", flat=None, contrast=False, operator=""):
    """A row for each attribution and metric, with COLUMNS.

    Args:
        values: DataFrame, a row for each model, attribution, metric, baseline, draw and text.
        metrics: the `Metric`s.
        data: name of the data set; with model, attribution and metric it names the random stream.
        chance: why nothing about the model's predictions can be believed, else "". Then no value is given,
            and the flag is what stands before its colon.
        flat: {attribution: texts in which all its scores are equal}.
        operator: with which all metrics erase, "" for that of each.
        contrast: whether a contrast of two targets is explained, of which some metrics have another range.

    Returns:
        DataFrame. Values that are NaN are left out and counted in `void`. With several models a text that
        is void for one of them is left out of all.
    """
    models = list(dict.fromkeys(values.model))
    rows = []
    grouped = {key: part for key, part in values.groupby(["attribution", "metric"], sort=False)}
    for name in values.attribution.unique():
        for metric in metrics:
            part = grouped[name, metric.name]
            own = (
                part[part.baseline == ""].pivot(index="model", columns="example", values="value").loc[models]
            )
            known = own.loc[:, own.notna().all()]
            n, void = known.shape[1], own.shape[1] - known.shape[1]
            flags = [chance.partition(":")[0]] if chance else []
            limits = metric.limits(contrast)
            interval = _interval(known.to_numpy(), (data, *models, name, metric.name), limits)
            found = (np.nan,) * 3
            if interval is None:
                flags.append("no text has a value" + (f", as {metric.void}" if metric.void else ""))
            elif not chance:
                found = (interval.value, interval.low, interval.high)
                flags += [interval.reason] if interval.reason else []
            if metric.name == "decision_flip" and (never := int((known == 1).all(axis=0).sum())):
                flags.append(f"{never} of {n} texts keep their class as long as a token is left")
            if alike := (flat or {}).get(name):
                flags.append(f"all scores are equal in {alike} text{'s' * (alike != 1)}")
            share = np.nan if chance else _diagnosticity(part, own, 1 if metric.better == "higher" else -1)
            unit = ONE if len(models) == 1 else SEVERAL
            erased = metric.operator and (operator or metric.operator)
            rows.append((name, metric.name, *found, n, void, share, unit, erased, "; ".join(flags)))
    return pd.DataFrame(rows, columns=COLUMNS)


def _interval(known, names, limits):
    """The `Interval` of values (models, texts); None where there is none of them."""
    if not known.size:
        return None
    if len(known) == 1:
        return text_interval(known[0], names, limits=limits)
    return crossed_interval(known, unit="model", limits=limits)


def _diagnosticity(part, own, sign):
    """Share of texts, models and draws on which the attribution's value is better than its baseline's."""
    matched = part[part.baseline == "matched"]
    if matched.empty:
        return np.nan
    first = own.stack(future_stack=True).rename("own")
    pairs = matched.join(first, on=["model", "example"])
    preferred = indicator(sign * pairs.own, sign * pairs.value, "half")
    return float(np.nanmean(preferred)) if np.isfinite(preferred).any() else np.nan


def chance(labels, predicted):
    """Why the models are at chance on labelled data, or "": see `statistics.gates.gate`.

    The score is Matthews' correlation. Data with labels of a single class cannot tell and pass.

    Args:
        labels: (texts,) int.
        predicted: for each model (texts,) int.

    Example:
        >>> chance([0, 1, 0, 1], [[0, 1, 0, 1]]), chance([0, 1, 0, 1], [[0, 0, 1, 1]])[:9]
        ('', 'at chance')
    """
    labels = np.asarray(labels)
    classes = len(np.unique(labels))
    if classes < 2:
        return ""
    measured = [performance(np.asarray(of_model), labels) for of_model in predicted]
    scores, recalls = ([of_model[name] for of_model in measured] for name in ("mcc", "balanced_accuracy"))
    verdict = gate(scores, recalls, classes, name="Matthews' correlation")
    return "" if verdict.accepted else f"at chance: {verdict.reason}"
