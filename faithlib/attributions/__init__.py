"""Attributions: how important each token is for a prediction.

`scores = attribution(model, batch, target)`: a float tensor (batch, tokens), 0 at positions that are
not maskable, higher = more important. One pass often yields several scores (a backward gives x⊙grad
signed and absolute), so a method is a function that returns them all by name, and `attribute` runs
each function once. A new method joins with the decorator:

    @register("my_method")
    def my_method(model, batch, target):
        return {"my_method": scores}  # (batch, tokens)

A method may take settings as keyword parameters; those of the same name mean the same everywhere:
`wanted` (the names asked for), `cache` (a forward.Cache), `progress` (called with the share of the
work just done), `seed`, `steps`, `samples`, `baseline`, `path`, `removal`, `beam`, and Noiser's own. It may
also return values per example, (batch,), such as a completeness gap, and per token under names that are no
scores.
"""

import difflib
from functools import partial
from inspect import signature

import numpy as np
import torch

from faithlib import forward

BASELINES = ("zero", "token", "pad")
PATHS = ("input", "text")
REMOVALS = ("mask", "delete", "pad")
BOUNDINGS = ("k_min", "k_max", "k_max_per_token", "l2", "linf", "none", "random")
NORMS = ("none", "l1", "l2", "linf")
PAPERS = ("soft_metrics", "recursive_roar", "saloss", "noiser", "fmm")
_METHODS = {}  # name of scores -> the function that yields them
_RELEASED = {}  # (paper, name of scores) -> the function that yields them as the release does
_ATTENDING = set()  # functions that need attention weights


def register(*names, needs=()):
    """Make a function known as the one that yields the scores called `names`.

    needs: ("attention",) for one that needs attention weights. Raises ValueError for a name that another
    function has.
    """
    return _joining(_METHODS, names, needs)


def released(paper, *names, needs=()):
    """The same for what the released code of a paper computes where it departs from the definition."""
    return _joining(_RELEASED, [(paper, name) for name in names], needs)


def _joining(registry, keys, needs):
    def join(function):
        for key in keys:
            taken, own = (f and f"{f.__module__}.{f.__qualname__}" for f in (registry.get(key), function))
            if taken not in (None, own):  # the same function anew is a notebook's cell run again
                raise ValueError(f"attribution {key!r} is {taken} already: choose another name")
            registry[key] = function
        if "attention" in needs:
            _ATTENDING.add(function)
        return function
    return join


def names():
    """All registered attributions, by name."""
    return sorted(_METHODS)


def check(wanted, model=None, definition="paper", paper="", **settings):
    """Raise ValueError for what cannot be computed, before anything is.

    No name at all, an unknown one, an unknown setting, a number below 1 (steps, samples, beam, noise,
    halvings), a baseline, path, removal, bounding, norm, definition or paper that does not exist, and,
    where the model is given, attention asked of one that exposes none.
    """
    if not wanted:
        raise ValueError(f"attributions=[] leaves nothing to explain with: give some of {', '.join(names())}")
    for name in wanted:
        if name not in _METHODS:
            raise ValueError(f"attribution {name!r} is unknown: {_meant(name, names())}")
    taken = sorted({p for f in {*_METHODS.values(), *_RELEASED.values()} for p in signature(f).parameters}
                   - {"model", "batch", "target", "wanted", "cache", "progress"})
    for setting, value in settings.items():
        if setting not in taken:
            raise ValueError(f"setting {setting!r} is unknown: {_meant(setting, taken)}")
        if setting in ("steps", "samples", "beam", "noise", "halvings") and value < 1:
            raise ValueError(f"{setting}={value} must be at least 1")
    _one_of("baseline", settings.get("baseline"), (None, *BASELINES))
    _one_of("path", settings.get("path", "input"), PATHS)
    _one_of("removal", settings.get("removal", "mask"), REMOVALS)
    _one_of("bounding", settings.get("bounding", "k_min"), BOUNDINGS)
    _one_of("norm", settings.get("norm", "none"), NORMS)
    _one_of("definition", definition, ("paper", "released"))
    if definition == "released":
        _one_of("paper", paper, PAPERS)
    if model is not None and any(f in _ATTENDING for f in _functions(wanted, definition, paper)):
        model.check_attention("choose attributions that need none")


def attribute(model, encodings, targets, wanted, definition="paper", paper="", cache=None, notes=None,
              **settings):
    """Scores of several attributions: {name: [scores (tokens,) float64 for each encoding]}.

    model: a Classifier or a CausalLM. targets: the class or next token explained, one an example,
    (examples,) int. definition="released" computes what the released code of `paper` does, where it
    departs from the definition. cache: a forward.Cache to share with metrics; within the call all methods
    share one anyway. notes: a dict that receives values per example, such as "completeness_gap", as an array,
    and values per token that are no scores, as a list of (tokens,).
    settings: keyword arguments for the methods that take them (`steps` for integrated gradients).
    Raises ValueError for all that `check` refuses, for a target that does not exist, an example without
    maskable tokens and one longer than the model; FloatingPointError for scores that are not finite.
    """
    check(wanted, model, definition, paper, **settings)
    model.check(encodings)
    targets = np.asarray(targets)
    wrong = targets[(targets < 0) | (targets >= model.outputs)]
    if len(wrong):
        raise ValueError(
            f"target {wrong[0]} is none of the outputs: {model.name} has 0 to {model.outputs - 1}")
    functions = _functions(wanted, definition, paper)
    settings = {**settings, "cache": forward.Cache() if cache is None else cache}
    scores = {name: [None] * len(encodings) for name in wanted}
    kept, budget = {}, forward.token_budget(model)
    with forward.bar(len(encodings) * len(functions), "explaining", "example") as bar:
        for rows in forward.batches_by_length([len(e.ids) for e in encodings], budget):
            for function, own in functions.items():
                given = {**settings, "wanted": own}
                explain = partial(_explain, function, model, encodings, targets, given, bar)
                for part in forward.halving(explain, rows):
                    _keep(part, own, scores, kept)
    if notes is not None:
        told = {n: [by_row[i] for i in range(len(encodings))] for n, by_row in kept.items()}
        notes.update({n: np.array(v) if np.ndim(v[0]) == 0 else v for n, v in told.items()})
    return scores


def padded(rows, batch):
    """Scores of each example, [(tokens,)], as one float64 tensor (batch, tokens), 0 beyond the text."""
    scores = torch.zeros(batch.ids.shape, dtype=torch.float64)
    for i, row in enumerate(rows):
        scores[i, : len(row)] = torch.as_tensor(row)
    return scores


def _functions(wanted, definition, paper):
    """The functions that yield `wanted`: {function: the names that are taken from it}."""
    released, functions = _RELEASED if definition == "released" else {}, {}
    for name in wanted:
        functions.setdefault(released.get((paper, name), _METHODS[name]), set()).add(name)
    return functions


def _explain(function, model, encodings, targets, settings, bar, rows):
    """What one function says of the examples `rows`: (rows, lengths, {name: array})."""
    batch = model.collate([encodings[i] for i in rows])
    target = torch.as_tensor(targets[rows], device=model.device)
    done = 0.0

    def progress(share):
        nonlocal done
        bar.update(share * len(rows))
        done += share

    given = {**settings, "progress": progress}
    takes = {k: v for k, v in given.items() if k in signature(function).parameters}
    values, maskable = {}, batch.maskable.cpu()
    for name, value in function(model, batch, target, **takes).items():
        value = value.cpu().double()
        values[name] = (torch.where(maskable, value, 0) if value.ndim == 2 else value).numpy()
    bar.update((1 - done) * len(rows))
    return rows, [len(e.ids) for e in batch.encodings], values


def _keep(part, own, scores, kept):
    rows, lengths, values = part
    for name, value in values.items():
        if value.ndim == 1 or name not in _METHODS:
            value = value if value.ndim == 1 else [v[:n] for v, n in zip(value, lengths, strict=True)]
            kept.setdefault(name, {}).update(zip(rows, value, strict=True))
        elif name in own:
            if not np.isfinite(value).all():
                raise FloatingPointError(f"attribution {name!r} gives NaN or infinite scores: the model's "
                                         "weights or the method is broken")
            for i, length, row in zip(rows, lengths, value, strict=True):
                scores[name][i] = row[:length]


def _one_of(what, value, allowed):
    if value not in allowed:
        raise ValueError(f"{what}={value!r} is unknown: use {', '.join(repr(a) for a in allowed if a)}")


def _meant(name, known):
    near = difflib.get_close_matches(name, known, 1)
    return (f"did you mean {near[0]!r}? " if near else "") + f"Known are {', '.join(known)}"


# They register themselves.
from faithlib.attributions import (  # noqa: E402, F401
    attention,
    beam,
    gradients,
    noiser,
    occlusion,
    random,
    releases,
    surrogates,
)
