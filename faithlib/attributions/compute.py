"""`attribute`: scores of several attributions of one model, each function run once."""

from functools import partial
from inspect import signature

import numpy as np
import torch

from faithlib import forward
from faithlib.attributions import registry
from faithlib.attributions.releases import RELEASED
from faithlib.progress import bar
from faithlib.scores import DEFINITIONS, one_of, suggestion

BASELINES = ("zero", "token", "pad")
PATHS = ("input", "text")
REMOVALS = ("mask", "delete", "pad")
BOUNDINGS = ("k_min", "k_max", "k_max_per_token", "l2", "linf", "none", "random")
NORMS = ("none", "l1", "l2", "linf")


def check(wanted, model=None, definition="paper", paper="", **settings):
    """Raise ValueError for what cannot be computed, before anything is.

    No name at all, an unknown one, an unknown setting, a number below 1 (steps, samples, beam, noise,
    halvings), a baseline, path, removal, bounding, norm, definition or paper that does not exist, and,
    where the model is given, attention asked of one that exposes none.
    """
    if not wanted:
        known = ", ".join(sorted(registry.names()))
        raise ValueError(f"attributions=[] leaves nothing to explain with: give some of {known}")
    entries = [registry.get(name) for name in wanted]
    functions = [registry.get(name).resolve() for name in registry.names()]
    functions += [release.function for release in RELEASED.values()]
    taken = sorted(
        {p for f in set(functions) for p in signature(f).parameters}
        - {"model", "batch", "target", "wanted", "cache", "progress"}
    )
    for setting, value in settings.items():
        if setting not in taken:
            raise ValueError(f"setting {setting!r} is unknown: {suggestion(setting, taken)}")
        if setting in ("steps", "samples", "beam", "noise", "halvings") and value < 1:
            raise ValueError(f"{setting}={value} must be at least 1")
    one_of("baseline", settings.get("baseline"), (None, *BASELINES))
    one_of("path", settings.get("path", "input"), PATHS)
    one_of("removal", settings.get("removal", "mask"), REMOVALS)
    one_of("bounding", settings.get("bounding", "k_min"), BOUNDINGS)
    one_of("norm", settings.get("norm", "none"), NORMS)
    one_of("definition", definition, DEFINITIONS)
    if definition == "released":
        one_of("paper", paper, sorted({of for of, _ in RELEASED}))
    used = [RELEASED.get((paper, e.name), e) if definition == "released" else e for e in entries]
    if model is not None and any("attention" in entry.needs for entry in used):
        model.check_attention("choose attributions that need none")


def attribute(
    model, encodings, targets, wanted, definition="paper", paper="", cache=None, notes=None, **settings
):
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
            f"target {wrong[0]} is none of the outputs: {model.name} has 0 to {model.outputs - 1}"
        )
    functions = _functions(wanted, definition, paper)
    settings = {**settings, "cache": forward.Cache() if cache is None else cache}
    scores = {name: [None] * len(encodings) for name in wanted}
    kept, budget = {}, forward.token_budget(model)
    with bar(len(encodings) * len(functions), "explaining", "example") as progress:
        for rows in forward.batches_by_length([len(e.ids) for e in encodings], budget):
            for function, own in functions.items():
                given = {**settings, "wanted": own}
                explain = partial(_explain, function, model, encodings, targets, given, progress)
                for part in forward.halving(explain, rows):
                    _keep(part, own, scores, kept)
    if notes is not None:
        listed = {n: [by_row[i] for i in range(len(encodings))] for n, by_row in kept.items()}
        notes.update({n: np.array(v) if np.ndim(v[0]) == 0 else v for n, v in listed.items()})
    return scores


def _functions(wanted, definition, paper):
    """The functions that yield `wanted`: {function: the names that are taken from it}."""
    functions = {}
    for name in wanted:
        release = RELEASED.get((paper, name)) if definition == "released" else None
        function = release.function if release else registry.get(name).resolve()
        functions.setdefault(function, set()).add(name)
    return functions


def _explain(function, model, encodings, targets, settings, whole, rows):
    """What one function says of the examples `rows`: (rows, lengths, {name: array})."""
    batch = model.collate([encodings[i] for i in rows])
    target = torch.as_tensor(targets[rows], device=model.device)
    done = 0.0

    def progress(share):
        nonlocal done
        whole.update(share * len(rows))
        done += share

    given = {**settings, "progress": progress}
    takes = {k: v for k, v in given.items() if k in signature(function).parameters}
    values, maskable, found = {}, batch.maskable.cpu(), function(model, batch, target, **takes)
    for name in settings["wanted"]:
        if name not in found:
            raise ValueError(
                f"attribution {name!r}: its function returns {', '.join(map(repr, found))} and not "
                f"the name that it is registered by: return {{{name!r}: scores}}"
            )
        if tuple(found[name].shape) != tuple(batch.ids.shape):
            raise ValueError(
                f"attribution {name!r} returns shape {tuple(found[name].shape)} for a batch of "
                f"{tuple(batch.ids.shape)}: give one score a token, (batch, tokens)"
            )
    for name, value in found.items():
        value = value.detach().cpu().double()
        values[name] = (torch.where(maskable, value, 0) if value.ndim == 2 else value).numpy()
    whole.update((1 - done) * len(rows))
    return rows, [len(e.ids) for e in batch.encodings], values


def _keep(part, own, scores, kept):
    rows, lengths, values = part
    for name, value in values.items():
        if value.ndim == 1 or name not in registry.names():
            value = value if value.ndim == 1 else [v[:n] for v, n in zip(value, lengths, strict=True)]
            kept.setdefault(name, {}).update(zip(rows, value, strict=True))
        elif name in own:
            if not np.isfinite(value).all():
                raise FloatingPointError(
                    f"attribution {name!r} gives NaN or infinite scores: the model's "
                    "weights or the method is broken"
                )
            for i, length, row in zip(rows, lengths, value, strict=True):
                scores[name][i] = row[:length]
