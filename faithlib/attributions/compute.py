"""`attribute` and `check`: scores by several attributions of one model, and the checks before the work."""

from collections.abc import Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import torch

import faithlib.attributions.releases_inseq  # noqa: F401, registers what it has
from faithlib import options
from faithlib.attributions import gradients, registry, releases, relevance, value_zeroing
from faithlib.engine import batching, forward
from faithlib.models.base import Encoding
from faithlib.models.causal import CausalLM
from faithlib.models.classifier import Classifier
from faithlib.options import DEFINITIONS
from faithlib.progress import bar
from faithlib.scores import one_of, suggestion

OURS = ("cache", "progress", "wanted")  # arguments that a function has only if it names them


def check(
    wanted: Sequence[str], model: Any = None, definition: str = "paper", paper: str = "", **settings: Any
) -> None:
    """Check the arguments of `attribute` before any work.

    Args:
        model: a Classifier or CausalLM that is to be explained, or None to check the other arguments only.
        wanted, definition, paper, settings: as of `attribute`.

    Raises:
        ValueError: no list, no name, an unknown name, setting, rule, definition or paper; a setting that
            `options.SETTINGS` does not allow; a wanted attribution needs attention weights, rules or layers
            of values that the model does not have.

    Example:
        >>> check(["integrated_gradients"], steps=0)
        Traceback (most recent call last):
            ...
        ValueError: steps=0 must be at least 1, a whole number
    """
    if isinstance(wanted, str):
        raise ValueError(f"attributions={wanted!r} is one name: give a list, [{wanted!r}]")
    if not wanted:
        names = ", ".join(sorted(registry.names()))
        raise ValueError(f"attributions=[] leaves nothing to explain with: give some of {names}")
    entries = [registry.get(name) for name in wanted]
    functions = [registry.get(name).resolve() for name in registry.names()]
    functions += [release.function for release in releases.RELEASED.values()]
    parameters = {p for f in set(functions) for p in signature(f).parameters}
    known_settings = sorted(parameters - {"model", "batch", "target", "wanted", "cache", "progress"})
    for setting in settings:
        if setting not in known_settings:
            raise ValueError(f"setting {setting!r} is unknown: {suggestion(setting, known_settings)}")
    options.check(settings, options.SETTINGS)
    one_of("rule", settings.get("rule", "midpoint"), tuple(gradients.RULES))
    one_of("definition", definition, DEFINITIONS)
    if definition == "released":
        one_of("paper", paper, sorted({of for of, _ in releases.RELEASED}))
    used = [releases.RELEASED.get((paper, e.name), e) if definition == "released" else e for e in entries]
    needs = {need for entry in used for need in entry.needs} if model is not None else ()
    if "attention" in needs:
        model.check_attention("choose attributions that need none")
    if "rules" in needs:
        relevance.check_rules(model)
    if "values" in needs:
        value_zeroing.check_values(model)


@torch.inference_mode(False)  # gradients exist wherever it is called
def attribute(
    model: Classifier | CausalLM,
    encodings: Sequence[Encoding],
    targets: Sequence[int] | np.ndarray,
    wanted: Sequence[str],
    definition: str = "paper",
    paper: str = "",
    cache: forward.Cache | None = None,
    notes: dict | None = None,
    budget: int | None = None,
    **settings: Any,
) -> dict[str, list[np.ndarray]]:
    """Scores of the tokens of each example, by several attributions; each function runs once a batch.

    Args:
        encodings: the examples, as `model.encode` returns them.
        targets: (examples,) int, the class or next token explained of each example.
        wanted: names of attributions; see `names()`.
        definition: "paper", or "released" for what the released code of `paper` computes where it departs
            from the paper's definition.
        paper: the short name of that paper, such as "fmm"; used with "released" only.
        cache: a forward.Cache to share outputs with metrics; by default this call makes its own.
        notes: a dict that receives what functions return beside scores: values per example, such as
            "completeness_gap", as an array (examples,); values per token as a list of (tokens,).
        budget: padded tokens of a pass, at least those of the longest example; by default what fits the
            processor's caches or the GPU's memory.
        settings: keyword arguments, passed to the functions that take them, such as steps=50.

    Returns:
        {name: [(tokens,) float64 of each example]}, 0 at tokens that are not maskable, higher = more
        important. Scores do not depend on the batch or the order of examples.

    Raises:
        ValueError: an argument that `check` refuses, targets of another number, shape, type or range, an
            example without maskable tokens or longer than the model takes, a function that returns another
            name or shape than it registered.
        FloatingPointError: scores that are not finite.

    Example:
        >>> from faithlib import models
        >>> model = models.load("tiny-bert", ("no", "yes"), ["the plot was great"])
        >>> encodings = model.encode(["the plot was great", "great"])
        >>> [row.shape for row in attribute(model, encodings, [1, 1], ["gradient_l2"])["gradient_l2"]]
        [(6,), (3,)]
    """
    check(wanted, model, definition, paper, **settings)
    model.check(encodings)
    targets = _targets(model, targets, len(encodings))
    functions, attending = _functions(wanted, definition, paper)
    settings = {**settings, "cache": forward.Cache() if cache is None else cache}
    scores = {name: [None] * len(encodings) for name in wanted}
    notes_by_row: dict[str, dict] = {}
    lengths = [len(e.ids) for e in encodings]
    batching.check_budget(budget, lengths)
    overall = bar(len(encodings) * len(functions), "explaining", "example")
    with batching.limited(model, budget), overall as progress:
        side, most = batching.border(model), batching.token_budget(model)
        for rows in batching.batches_by_length(lengths, most, border=side):
            for function, names_of in functions.items():
                arguments = {**settings, "wanted": names_of}
                explain = partial(_explain, function, model, encodings, targets, arguments, progress)
                length, pairs = len(encodings[rows[0]].ids), function in attending
                for result in batching.halving(model, explain, rows, length, pairs):
                    _store(model, result, names_of, scores, notes_by_row)
    if notes is not None:
        listed = {n: [by_row[i] for i in range(len(encodings))] for n, by_row in notes_by_row.items()}
        notes.update({n: np.array(v) if np.ndim(v[0]) == 0 else v for n, v in listed.items()})
    return scores


def completeness(
    model: Any, encodings: Sequence, targets: Any, wanted: Sequence[str], texts: int = 20, **settings: Any
) -> list[dict[str, Any]]:
    """How far integrated gradients miss completeness, as rows of a record's metrics.

    Args:
        wanted: names of attributions; without a form of integrated gradients there are no rows.
        texts: how many of the examples, from the first, are looked at.
        settings: those of integrated gradients, such as steps=50.

    Returns:
        [{"metric": "completeness_gap", "value", "median" and "largest" of the gap over the texts, "change":
        the median change of the target, all in its units, "n"}], one row or none.
    """
    if not any("integrated_gradients" in name for name in wanted):
        return []
    notes: dict[str, np.ndarray] = {}
    first = list(encodings[:texts])
    attribute(model, first, targets[:texts], ["integrated_gradients"], notes=notes, **settings)
    gap, change = notes["completeness_gap"], np.abs(notes["completeness_change"])
    row = {"value": gap.mean(), "median": np.median(gap), "largest": gap.max(), "change": np.median(change)}
    return [{"metric": "completeness_gap", "n": len(gap)} | {name: float(v) for name, v in row.items()}]


def _targets(model, targets, count):
    """The targets as (count,) int; ValueError for another number, shape, type or range."""
    array = np.asarray(targets if len(np.shape(targets)) else [])
    if array.shape != (count,):
        shape = np.shape(targets) or repr(targets)
        raise ValueError(f"targets of shape {shape} for {count} encodings: give one class or token each")
    if count and array.dtype.kind not in "iu":
        raise ValueError(f"targets of {array.dtype}: give whole numbers, a class or token of each encoding")
    forward.check_outputs(model, "target", array)
    return array.astype(np.int64)


def _functions(wanted, definition, paper):
    """The functions that yield `wanted`, {function: names to take}, and those that need attention weights."""
    functions, attending = {}, set()
    for name in wanted:
        release = releases.RELEASED.get((paper, name)) if definition == "released" else None
        function = release.function if release else registry.get(name).resolve()
        functions.setdefault(function, set()).add(name)
        if "attention" in (release or registry.get(name)).needs:
            attending.add(function)
    return functions, attending


def _explain(function, model, encodings, targets, settings, overall, rows):
    """The results of one function for the examples `rows`: (rows, lengths, {name: array})."""
    batch = model.collate([encodings[i] for i in rows])
    target = torch.as_tensor(targets[rows], device=model.device)
    model.model.eval()  # gradients have no dropout, whatever the function before has left on
    done = 0.0

    def progress(share):
        nonlocal done
        overall.update(share * len(rows))
        done += share

    arguments = {**settings, "progress": progress}
    takes = signature(function).parameters
    every = any(parameter.kind is parameter.VAR_KEYWORD for parameter in takes.values())
    accepted = {k: v for k, v in arguments.items() if k in takes or (every and k not in OURS)}
    before, maskable, ids = _state(model.model), batch.maskable.cpu(), _ids(batch)
    values, results = {}, function(model, batch, target, **accepted)
    named = f"attribution {min(settings['wanted'])!r}"
    if _state(model.model) != before:
        raise ValueError(f"{named} leaves another model behind: put back weights and hooks")
    if _ids(batch) != ids:
        raise ValueError(f"{named} changes encoding.ids, which others read: copy them first")
    if not isinstance(results, Mapping):
        raise ValueError(f"{named} returns {type(results).__name__}: return {{name: scores}}")
    results = {name: torch.as_tensor(value) for name, value in results.items()}
    if missing := settings["wanted"] - set(results):
        name = min(missing)
        raise ValueError(
            f"attribution {name!r}: its function returns {', '.join(map(repr, results))} and not "
            f"the name that it is registered by: return {{{name!r}: scores}}"
        )
    for name, value in results.items():
        shape, tokens, note = tuple(value.shape), tuple(batch.ids.shape), name not in registry.names()
        if shape != tokens and not (note and shape == tokens[:1]):
            units = "one value an example or a token" if note else "one score a token, (batch, tokens)"
            of = f"{named}, {name!r}" if note else f"attribution {name!r}"
            raise ValueError(f"{of} returns shape {shape} for a batch of {tokens}: give {units}")
        value = value.detach().cpu().double()
        values[name] = (torch.where(maskable, value, 0) if value.ndim == 2 else value).numpy()
    overall.update((1 - done) * len(rows))
    return rows, [len(e.ids) for e in batch.encodings], values


def _state(module):
    """What tells whether a module was changed: places and versions of its weights, the number of hooks."""
    weights = [(p.data_ptr(), p._version) for p in module.parameters()]
    hooks = (m._forward_hooks | m._forward_pre_hooks | m._backward_hooks for m in module.modules())
    return weights, sum(map(len, hooks))


def _ids(batch):
    return [e.ids.tobytes() for e in batch.encodings]


def _store(model, result, names, scores, notes):
    """Add a result of `_explain` to `scores`, {name: list}, and `notes`, {name: {row: value}}."""
    rows, lengths, values = result
    for name, value in values.items():
        if name not in registry.names():
            value = value if value.ndim == 1 else [v[:n] for v, n in zip(value, lengths, strict=True)]
            notes.setdefault(name, {}).update(zip(rows, value, strict=True))
        elif name in names:
            if not np.isfinite(value).all():
                why = forward.reason(model, "the model's weights or the method is broken")
                raise FloatingPointError(f"attribution {name!r} gives NaN or infinite scores{why}")
            for i, length, row in zip(rows, lengths, value, strict=True):
                scores[name][i] = row[:length]
