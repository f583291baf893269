"""Attributions: how important each token is for a prediction.

`scores = attribution(model, batch, target)`: a float tensor (batch, tokens), 0 at positions that are
not maskable, higher = more important. One pass often yields several scores (a backward gives x⊙grad
signed and absolute), so a method is a function that returns them all by name, and `attribute` runs
each function once. A new method joins with the decorator:

    @register("my_method")
    def my_method(model, batch, target):
        return {"my_method": scores}  # (batch, tokens)
"""

import difflib
from inspect import signature

import numpy as np
import torch

from faithlib.forward import TOKEN_BUDGET, batches_by_length

_METHODS = {}  # name of scores -> the function that yields them


def register(*names):
    """Make a function known as the one that yields the scores called `names`."""
    def join(function):
        for name in names:
            _METHODS[name] = function
        return function
    return join


def names():
    """All registered attributions, by name."""
    return sorted(_METHODS)


def check(wanted, steps=1):
    """Raise ValueError for no name at all, for one that is not registered, and for steps below 1."""
    if not wanted:
        raise ValueError(f"attributions=[] leaves nothing to explain with: give some of {', '.join(names())}")
    if steps < 1:
        raise ValueError(f"steps={steps} must be at least 1 (20 is usual)")
    for name in wanted:
        if name not in _METHODS:
            near = difflib.get_close_matches(name, _METHODS, 1)
            meant = f"did you mean {near[0]!r}? " if near else ""
            raise ValueError(f"attribution {name!r} is unknown: {meant}Known are {', '.join(names())}")


def attribute(classifier, encodings, targets, wanted, progress=None, **settings):
    """Scores of several attributions: {name: [scores (tokens,) float64 for each encoding]}.

    targets: the class explained, one an example, (examples,) int. settings: keyword arguments handed
    to the methods that take them (`steps` for integrated gradients). Raises ValueError for an unknown
    name and for a target that is no class, FloatingPointError for scores that are not finite.
    """
    check(wanted, settings.get("steps", 1))
    targets, classes = np.asarray(targets), classifier.model.config.num_labels
    wrong = targets[(targets < 0) | (targets >= classes)]
    if len(wrong):
        raise ValueError(f"target {wrong[0]} is no class: the model knows 0 to {classes - 1}")
    scores = {name: [None] * len(encodings) for name in wanted}
    budget = TOKEN_BUDGET[classifier.device.type]
    for rows in batches_by_length([len(e.ids) for e in encodings], budget):
        batch = classifier.collate([encodings[i] for i in rows])
        target = torch.as_tensor(targets[rows], device=classifier.device)
        for function in dict.fromkeys(_METHODS[name] for name in wanted):
            takes = {k: v for k, v in settings.items() if k in signature(function).parameters}
            for name, values in function(classifier, batch, target, **takes).items():
                if name in scores:
                    values = torch.where(batch.maskable, values, 0).double().cpu().numpy()
                    _check_finite(name, values)
                    for i, row in zip(rows, values, strict=True):
                        scores[name][i] = row[: len(encodings[i].ids)]
        if progress is not None:
            progress.update(len(rows))
    return scores


def _check_finite(name, values):
    if not np.isfinite(values).all():
        raise FloatingPointError(
            f"attribution {name!r} gives NaN or infinite scores: the model's weights or the method is broken")


from faithlib.attributions import attention, gradients  # noqa: E402, F401  (they register themselves)
