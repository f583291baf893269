"""Explain and measure, block by block: scores of every attribution, then values of every metric."""

import time
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import pandas as pd

from faithlib import attributions, scores
from faithlib.engine import batching, operators
from faithlib.metrics import normalised
from faithlib.progress import bar
from faithlib.study import chunks, prepare
from faithlib.study import targets as explained

BLOCK = 10  # texts whose scores and values are kept together
GAPPED = ("integrated_gradients", "integrated_gradients_abs")


@dataclass(frozen=True)
class Measured:
    """What was computed of the texts of a part, or of a block of them.

    scores: {attribution: [(tokens,)]}; values: a row for each text, attribution, metric, baseline and draw;
    notes: {note: (texts,)}, such as the completeness gap; curves: {attribution: [p as tokens are erased]}.
    """

    scores: dict
    values: pd.DataFrame
    notes: dict
    curves: dict


def in_blocks(parts):
    """(the texts that are done [number], the `Measured` of each part), block by block."""
    asked, n = parts[0].asked, len(parts[0].encodings)
    blocks = [np.arange(n)]
    if asked.resume is not None or asked.minutes:
        order = np.random.default_rng([asked.settings["seed"], n]).permutation(n)
        blocks = [np.sort(rows) for rows in np.split(order, range(BLOCK, n, BLOCK))]
    begun, done, measured = time.monotonic(), [], [[] for _ in parts]
    with bar(n, "evaluating", "text") if len(blocks) > 1 else nullcontext() as progress:
        for rows in blocks:
            for part, of_part in zip(parts, measured, strict=True):
                of_part.append(_measured(part.block(rows), rows))
            done += rows.tolist()
            if progress is not None:
                progress.update(len(rows))
            if asked.minutes and time.monotonic() - begun > 60 * asked.minutes:
                break
    return done, [_joined(done, of_part) for of_part in measured]


def _erasing(part):
    """What tells the operators of a study from those of another, whatever its metrics."""
    operator = part.asked.operator
    if isinstance(operator, operators.Operator):
        operator = operator.name, operator.by, operator.stream, operator.texts, operator.unigrams.tolist()
    return f"{operator}, usually {prepare.usual(part.model)}"


def _measured(part, rows):
    """The `Measured` of a block, whose texts have the numbers `rows`."""
    about = () if part.asked.resume is None else (
        part.weights, part.encodings, part.targets.listed, part.targets.contrast, part.asked.settings["seed"],
        part.asked.baselines, str(part.inputs.evidence), _erasing(part),
    )  # fmt: skip
    kept = chunks.Chunks(part.asked.resume, *about)
    of_texts, notes = _explain(part, kept)
    values = _measure(part, kept, of_texts)
    if len(values):
        values = values.assign(example=rows[values.example])
    return Measured(of_texts, values, notes, _curves(part, kept, of_texts))


def _explain(part, kept):
    """(scores of all attributions in their order, notes); a function runs only for what is not kept."""
    notes, computed = {}, {}
    families = [part.wanted.names]  # one call, unless blocks are kept
    if part.asked.resume is not None:
        by_function = {}
        for name in part.wanted.names:
            by_function.setdefault(attributions.get(name).function, []).append(name)
        families = by_function.values()
    for names in families:
        compute = cache(partial(_attributed, part, names, notes))
        for name in names:
            function, of_name = attributions.get(name).function, notes if name in GAPPED else {}
            computed[name] = kept.scores(name, function, part.asked.settings, compute, of_name)
    of_table = {label: computed[name] for label, name in part.wanted.computed.items()} | part.aligned
    return {name: of_table[name] for name in part.wanted.order}, notes


def _attributed(part, names, notes):
    """Scores {attribution: [(tokens,)]}; the notes on their completeness are added to `notes`."""
    of_call, more = {}, {"cache": part.inputs.cache, "budget": part.asked.budget, **part.asked.settings}
    computed = explained.attribute(part.model, part.encodings, part.targets, names, of_call, **more)
    notes.update({note: values for note, values in of_call.items() if note.startswith("completeness")})
    return computed


def _measure(part, kept, of_texts):
    """Values of every metric, text by text: of each attribution, and of its scores in random order."""
    rows = []
    passes = {metric.name: max(1, part.passes[metric.name] // len(of_texts)) for metric in part.metrics}
    overall = bar(len(of_texts) * sum(passes.values()), "measuring", "pass")
    with batching.limited(part.model, part.asked.budget), overall as progress:
        for metric in part.metrics:
            for name, of_name in of_texts.items():
                compute = partial(_values, part, metric, name, of_name)
                rows.append(kept.values(name, metric.name, metric.function, of_name, compute))
                progress.update(passes[metric.name])
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()


def _values(part, metric, name, of_texts):
    """Values of one attribution and metric, and of its baselines."""
    examples, frames = np.arange(len(part.encodings)), []
    sources = [("", 0, of_texts)]
    sources += [("matched", k, _matched(part.inputs, of_texts, k)) for k in range(part.asked.baselines)]
    for baseline, draw, source in sources:
        if not isinstance(metric.function, str):  # one of a user's own may change what it is given
            source = [row.copy() for row in source]
        value = numbers(metric.name, metric.resolve()(part.inputs, source), len(examples))
        low, high = metric.limits(part.inputs.contrast is not None)
        outside = np.isinf(value) | (value < low - 1e-6) | (value > high + 1e-6)
        if outside.any():
            raise ValueError(
                f"metric {metric.name!r} gives {value[outside][0]:g}, its range is {low:g} to {high:g}: give "
                "NaN where it means nothing, or register it with its range"
            )
        about = {"example": examples, "attribution": name, "metric": metric.name, "baseline": baseline}
        frames.append(pd.DataFrame({**about, "draw": draw, "value": value}))
    return pd.concat(frames, ignore_index=True)


def numbers(name, value, n):
    """What a metric returned for n texts, an array or a tensor, as (n,) float; ValueError if it is not."""
    try:
        value = np.asarray(value.detach().double().cpu() if hasattr(value, "detach") else value, float)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"metric {name!r} gives no numbers: give one a text, without gradients") from None
    if value.shape != (n,):
        raise ValueError(f"metric {name!r} gives values of shape {value.shape}: give {n}, one a text")
    return value


def _matched(inputs, of_texts, draw):
    """An attribution's own scores in random order: the k-th baseline, the same for every metric."""

    def permuted(i, row):
        generator = np.random.default_rng([*inputs.seeds(i, draw + 1)[draw], 1])
        return scores.permuted(row, inputs.encodings[i], generator)

    name = "matched", id(of_texts), draw
    return inputs.once(name, lambda: [permuted(i, row) for i, row in enumerate(of_texts)])


def _curves(part, kept, of_texts):
    """p of each text as the highest tokens of an attribution are erased, where AOPC asked for it."""
    if "aopc_comprehensiveness" not in {metric.name for metric in part.metrics}:
        return {}

    def frame(row_of):
        return pd.DataFrame({"p": [list(row) for row in normalised.curves(part.inputs, row_of)]})

    curves = {}
    for name, row_of in of_texts.items():
        of_name = kept.values(name, "curve", "curves", row_of, partial(frame, row_of))
        curves[name] = [list(row) for row in of_name.p]
    return curves


def _joined(done, blocks):
    """The `Measured` of all blocks, texts in order and numbered from 0."""
    if len(blocks) == 1 and done == list(range(len(done))):
        return blocks[0]
    order = np.argsort(done)

    def ordered(dictionaries):
        joined = {name: [row for of in dictionaries for row in of[name]] for name in dictionaries[0]}
        return {name: [rows[i] for i in order] for name, rows in joined.items()}

    values = pd.concat([block.values for block in blocks])
    if len(values):
        values = values.sort_values("example", kind="stable", ignore_index=True)
        values["example"] = np.searchsorted(np.sort(done), values.example)
        groups = values.groupby(["metric", "attribution", "baseline", "draw"], sort=False).ngroup()
        values = values.loc[groups.sort_values(kind="stable").index].reset_index(drop=True)
    notes = {name: np.array(rows) for name, rows in ordered([block.notes for block in blocks]).items()}
    of_texts, curves = ordered([b.scores for b in blocks]), ordered([b.curves for b in blocks])
    return Measured(of_texts, values, notes, curves)
