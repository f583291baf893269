"""RACU and MaSF in a study: of a model that was trained with masks (`fine_tune`)."""

import numpy as np
import pandas as pd

from faithlib import attributions
from faithlib.engine import batching
from faithlib.metrics import masked, registry
from faithlib.statistics import seeds_interval
from faithlib.study import table

REASON = (
    "RACU and MaSF are left out: they need a model trained with masks, fine_tune(model, data, "
    f"masking='half'), labels, and a split 'validation' of {masked.LEAST} texts or more"
)
METRICS = [registry.get(name) for name in ("masked_racu", "masf")]  # one says whether to believe the other
GIVEN, SINGLE = "scores that are given cannot be asked again", "one value of the data set: no interval"


def could(model):
    """Whether masked training would make sense: of a classifier with a mask token."""
    return not hasattr(model, "prefix") and model.mask_id is not None


def masking(model, texts, labels):
    """How a model was trained with masks; "" where it was not, or for want of labels or validation texts."""
    trained = getattr(getattr(model.model, "config", None), "masked_training", "none")
    enough = labels is not None and texts is not None and len(texts) >= masked.LEAST
    return trained if trained in ("half", "all") and enough and could(model) else ""


def measured(part):
    """({attribution: RACU}, rows of values of MaSF) of the attributions that can be asked again.

    What is explained is the label, as in the paper, and the input is what the level before left.
    """
    model, texts, settings = part.model, part.texts.validation, part.asked.settings
    pairs = [list(texts.text_b)] if "text_b" in texts else []
    encodings = [e for e in model.encode(list(texts.text), *pairs) if len(e.ids) <= model.max_length]
    if left := len(texts) - len(encodings):
        print(f"MaSF leaves out {left} of {len(texts)} validation texts: more than {model.max_length} tokens")
    families = {}
    for name in part.wanted.names:
        families.setdefault(attributions.get(name).resolve(), []).append(name)
    orders = [name for name in part.wanted.names if attributions.get(name).cost == "tokens squared"]

    def scores_of(inputs, examples, measures):
        return attributions.attribute(
            model, inputs, part.labels[examples], measures, budget=part.asked.budget, **settings
        )

    with batching.limited(model, part.asked.budget):
        of_training = masked.reference(model, encodings, part.inputs.masking, settings["seed"])
        groups = [tuple(family) for family in families.values()]
        results = masked.masked_metrics(part.inputs, part.labels, of_training, scores_of, groups, orders)
    about = {"model": part.name, "metric": "masf", "baseline": "", "draw": 0}
    rows = []
    for label, name in part.wanted.computed.items():
        shares = results[name][1]
        columns = {"example": range(len(shares)), "attribution": label, "value": shares}
        rows.append(pd.DataFrame(about | columns))
    return {label: results[name][0] for label, name in part.wanted.computed.items()}, pd.concat(rows)


def added(frame, metrics, values, areas, data="", chance=""):
    """A table with the rows of RACU and MaSF, each attribution's behind its own.

    values: of all metrics, with those of MaSF; areas: for each model {attribution: RACU}; the rest as of
    `table.table`.
    """
    names, rows, texts = list(values.attribution.unique()), [frame], values.example.nunique()
    unit = table.ONE if len(areas) == 1 else table.SEVERAL
    for metric in metrics:
        if metric.name == "masf":
            asked = values[values.attribution.isin(areas[0])]
            rows.append(table.table(asked, [metric], data, chance))
            continue
        for name in names:
            of_models = np.array([of_model.get(name, np.nan) for of_model in areas])
            finite = of_models[np.isfinite(of_models)]
            interval = seeds_interval(finite, "model") if len(areas) > 1 and len(finite) else None
            reason = interval.reason if interval else SINGLE if len(finite) else metric.void
            flags = [table.AT_CHANCE if chance else "", reason if name in areas[0] else GIVEN]
            value = finite.mean() if len(finite) and not chance else np.nan
            ends = (interval.low, interval.high) if interval and not chance else (np.nan, np.nan)
            counts = (texts, 0) if len(finite) else (0, texts)
            flag = "; ".join(filter(None, flags))
            row = (name, metric.name, value, *ends, *counts, np.nan, unit, "mask", "", flag)
            rows.append(pd.DataFrame([row], columns=table.COLUMNS))
    whole = pd.concat([part for part in rows if len(part)], ignore_index=True)
    order = whole.attribution.map(names.index).argsort(kind="stable")
    return whole.iloc[order].reset_index(drop=True)
