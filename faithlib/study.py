"""`evaluate`: attributions × metrics of one model on one's own texts, as a table."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from faithlib import attributions as methods
from faithlib import forward, scores
from faithlib.metrics import registry
from faithlib.metrics.diagnosticity import indicator
from faithlib.metrics.inputs import Inputs
from faithlib.progress import bar
from faithlib.statistics import mean_interval

COLUMNS = ["attribution", "metric", "value", "ci_low", "ci_high", "n", "void", "diagnosticity"]


@dataclass
class Study:
    """What `evaluate` returns.

    Attributes:
        table: a row for each attribution and metric, with COLUMNS. value: the mean over the n texts where the
            metric means something; ci_low, ci_high: its 95 % interval over these texts, for this model;
            void: texts left out because the value means nothing there; diagnosticity: share of texts on which
            the attribution's value is better than that of its own scores in random order (ties count ½).
        values: a row for each text, attribution, metric and baseline ("" or "matched").
        scores: {attribution: [(tokens,) of each text]}.
        encodings, targets: the texts as the model reads them, and what was explained.
    """

    table: pd.DataFrame
    values: pd.DataFrame = field(repr=False)
    scores: dict = field(repr=False)
    encodings: list = field(repr=False)
    targets: np.ndarray = field(repr=False)


def evaluate(model, data, attributions, metrics="default", targets=None, seed=0, **settings):
    """Score attributions of a model by faithfulness metrics, on any texts.

    Args:
        model: a `Classifier` or `CausalLM`, as `load_model` gives.
        data: a list of texts, or a DataFrame or `datasets.Dataset` with the column text; columns text_b
            (never masked or scored) and evidence (indices of decisive words) are used where they are there.
        attributions: names of `faithlib.attributions.names()`; your own after `register`.
        metrics: names of `faithlib.metrics.registry.names()`, or "default": all that this model and data can
            have a value of.
        targets: the class or next token explained, one a text; by default what the model predicts.
        seed: of every random draw.
        settings: of the attributions, such as `steps=50`.

    Returns:
        A `Study`.

    Raises:
        ValueError: an unknown attribution, metric or setting, a metric whose needs are not met, texts that
            are empty or too long; before any work starts.

    Example:
        >>> from faithlib import evaluate, load_data, load_model
        >>> reviews = load_data("sentiment", sizes={"train": 200, "validation": 20, "test": 20})
        >>> model = load_model("tiny-bert", reviews.task.labels, reviews.splits["train"]["text"])
        >>> study = evaluate(model, reviews.splits["test"], ["gradient_l2", "lime"], ["auprc"], samples=20)
        >>> study.table[["attribution", "metric", "n"]].values.tolist()
        [['gradient_l2', 'auprc', 20], ['lime', 'auprc', 20]]
    """
    frame = _frame(data)
    attributions = list(dict.fromkeys(attributions))
    methods.check(attributions, model, **settings)
    pairs = [list(frame.text_b)] if "text_b" in frame else []
    encodings = model.encode(list(frame.text), *pairs)
    model.check(encodings)
    evidence = list(frame.evidence) if "evidence" in frame else None
    cache = forward.Cache()
    inputs = Inputs(model, encodings, np.zeros(len(encodings), int), evidence, seed, cache)
    metrics = _chosen(metrics, inputs)
    if targets is None:
        variants = [forward.unchanged(e) for e in encodings]
        targets = forward.probabilities(model, variants, cache).argmax(1)
    inputs.targets = np.asarray(targets)
    found = methods.attribute(model, encodings, inputs.targets, attributions, cache=cache, **settings)
    values = _values(inputs, found, metrics)
    return Study(_table(values, metrics), values, found, encodings, inputs.targets)


def _frame(data):
    """The texts as a DataFrame with at least the column text."""
    if isinstance(data, str):
        raise ValueError(
            f"data={data[:40]!r} is one text: give a list of texts, or a table with the column text"
        )
    if isinstance(data, (list, tuple)):
        data = pd.DataFrame({"text": list(data)})
    frame = data if isinstance(data, pd.DataFrame) else data.to_pandas()
    if "text" not in frame:
        raise ValueError(
            f"data has the columns {', '.join(map(str, frame))}: name the column of texts 'text'"
        )
    if frame.empty:
        raise ValueError("data has no rows: give at least one text")
    return frame


def _chosen(metrics, inputs):
    """The `Metric`s of a study; ValueError for one that it cannot have a value of."""
    if metrics == "default":
        every = [registry.get(name) for name in registry.names()]
        return [m for m in every if m.level == "example" and set(m.needs) <= inputs.has]
    chosen = [registry.get(name) for name in dict.fromkeys(metrics)]
    for metric in chosen:
        inputs.check(metric)
    return chosen


def _values(inputs, found, metrics):
    """Values of every metric, text by text: of each attribution, and of its scores in random order."""
    rows, examples = [], np.arange(len(inputs.encodings))
    matched = {
        name: [
            scores.permuted(s, e, np.random.default_rng([*inputs.seeds(i, 1)[0], 1]))
            for i, (s, e) in enumerate(zip(of_texts, inputs.encodings, strict=True))
        ]
        for name, of_texts in found.items()
    }
    with bar(2 * len(found) * len(metrics), "measuring", "metric") as progress:
        for metric in metrics:
            function = metric.resolve()
            for baseline, given in (("", found), ("matched", matched)):
                for name, of_texts in given.items():
                    value = np.asarray(function(inputs, of_texts), float)
                    if value.shape != examples.shape:
                        raise ValueError(
                            f"metric {metric.name!r} gives values of shape {value.shape} for {len(examples)} "
                            "texts: give one a text"
                        )
                    part = {"example": examples, "attribution": name, "metric": metric.name}
                    rows.append(pd.DataFrame({**part, "baseline": baseline, "value": value}))
                    progress.update()
    return pd.concat(rows, ignore_index=True)


def _table(values, metrics):
    """Means with intervals over texts, a row an attribution and metric."""
    better = {metric.name: 1 if metric.better == "higher" else -1 for metric in metrics}
    wide = values.pivot(index=["attribution", "metric", "example"], columns="baseline", values="value")
    rows = []
    for name in values.attribution.unique():
        for metric in better:
            part = wide.loc[name, metric]
            known = part[""].dropna()
            interval = mean_interval(known) if len(known) > 1 else (known.mean(), np.nan, np.nan)
            preferred = indicator(better[metric] * part[""], better[metric] * part["matched"], "half")
            share = np.nanmean(preferred) if np.isfinite(preferred).any() else np.nan
            rows.append((name, metric, *interval, len(known), len(part) - len(known), share))
    return pd.DataFrame(rows, columns=COLUMNS)
