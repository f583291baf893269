"""Entries of the benchmark: a metric, an operator, a map from scores to probabilities, and draws."""

import time
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from faithlib.engine import forward
from faithlib.metrics import erasure, soft
from faithlib.metrics.inputs import Inputs
from faithlib.metrics.registry import get

DRAWS = 8
TIE = 0.005  # of a probability: values that differ by no more are equal
TIES = {"right": TIE, "right_1e4": 1e-4, "right_1e6": 1e-6}  # the column of each width
MAPS = ("minmax", "rank", "equal")  # of soft metrics, as `soft.to_probability` knows them
TEN = tuple(n / 10 for n in range(1, 11))  # ratios of NS and NC beside the published five
HARD = ("aopc_sufficiency", "aopc_comprehensiveness", "decision_flip", "f_fidelity_plus", "f_fidelity_minus")
DRAWN = ("f_fidelity_plus", "f_fidelity_minus")  # of HARD, those that draw
KEYS = ["metric", "map", "operator", "by", "draws"]
CONDITIONS = ["room", "p", "empty_keeps"]


@dataclass(frozen=True)
class Entry:
    """What a user of a metric chooses.

    Attributes:
        map: of MAPS for a soft metric, else "".
        draws: averaged, 0 for a metric that draws nothing.
        function: (inputs, scores) -> (examples,).
        sign: 1 where higher is better, else −1.
        erases: whether its values depend on the operator.
    """

    metric: str
    map: str
    draws: int
    function: object
    sign: int
    erases: bool = True


def entries(draws=DRAWS):
    """All metrics of classes with their maps, [Entry]; the operator is that of the inputs they are given."""
    chosen = []
    for name, function in (("ns", erasure.ns), ("nc", erasure.nc)):
        chosen.append(Entry(name, "", 0, function, 1))
        chosen.append(Entry(f"{name}_10", "", 0, partial(function, ratios=TEN), 1))
    for name, keep in (("soft_ns", True), ("soft_nc", False)):
        for how in MAPS:
            function = partial(soft.of_attribution, draws=draws, keep=keep, how=how)
            chosen.append(Entry(name, how, draws, function, 1))
    return chosen + hard(draws)


def hard(draws, names=HARD):
    """The entries of metrics that erase whole tokens, [Entry]; names: of HARD."""
    chosen = []
    for name in names:
        metric, drawn = get(name), draws if name in DRAWN else 0
        function = partial(metric.resolve(), draws=draws) if drawn else metric.resolve()
        chosen.append(Entry(name, "", drawn, function, 1 if metric.better == "higher" else -1))
    return chosen


def values(operator, encodings, targets, explanations, chosen, seed=0, spent=None):
    """The values of entries for all explanations of texts under one operator.

    Args:
        operator: an `operators.Operator`.
        encodings: [Encoding].
        targets: (texts,) int.
        explanations: for each text {explanation: (maskable tokens,) scores}.
        chosen: [Entry].
        seed: of draws.
        spent: {KEYS: (CPU seconds, values)}, to which those of this call are added, or None.

    Returns:
        DataFrame, a row a text, explanation and entry: KEYS, text, explanation, value (higher is better, NaN
        where it means nothing), and CONDITIONS of the text: room (1 − S0, in [0, 1]), p (of the target) and
        empty_keeps (whether the target is the class of the text without its tokens).
    """
    texts, names, rows = [], [], []
    scores = []
    for text, of_text in enumerate(explanations):
        for name, maskable in of_text.items():
            texts.append(text)
            names.append(name)
            placed = np.zeros(len(encodings[text].ids))
            placed[encodings[text].maskable] = maskable
            scores.append(placed)
    inputs = Inputs(
        operator.model,
        [encodings[i] for i in texts],
        np.asarray(targets)[texts],
        seed=seed,
        operator=operator,
    )
    columns = {"text": texts, "explanation": names, "p": inputs.p_full}
    columns["room"] = np.maximum(0, inputs.p_full - inputs.p_empty)
    columns["empty_keeps"] = _empty_keeps(operator, encodings, targets)[texts]
    for entry in chosen:
        about = {"metric": entry.metric, "map": entry.map, "operator": operator.name if entry.erases else ""}
        about |= {"by": operator.by if entry.erases else "", "draws": entry.draws}
        began = time.process_time()
        measured = entry.sign * np.asarray(entry.function(inputs, scores), float)
        if spent is not None:
            seconds, count = spent.get(tuple(about.values()), (0.0, 0))
            spent[tuple(about.values())] = seconds + time.process_time() - began, count + len(measured)
        rows.append(pd.DataFrame({**columns, "value": measured}).assign(**about))
    return pd.concat(rows, ignore_index=True)


def _empty_keeps(operator, encodings, targets):
    """Whether the class of each text without its tokens is the target: (texts,) bool."""
    variants = []
    for encoding in encodings:
        variants += operator.variants(encoding, encoding.maskable)
    p = forward.probabilities(operator.model, variants)
    return p.reshape(len(encodings), operator.texts, -1).mean(1).argmax(1) == np.asarray(targets)


def right(values, pairs):
    """Whether entries order pairs right: 1, ½ for a tie or a void value, 0 for the wrong order.

    pairs: for each text [(error, shape, better, worse)]. A row a text, pair and entry: KEYS, text, error,
    shape, pair (the names of its two), a column for each of TIES, void, difference and CONDITIONS.
    """
    rows = []
    for (*about, text), of_text in values.groupby([*KEYS, "text"], sort=False):
        measured = dict(zip(of_text.explanation, of_text.value, strict=True))
        conditions = of_text[CONDITIONS].iloc[0]
        for error, shape, better, worse in pairs[text]:
            difference = measured[better] - measured[worse]
            names = f"{better[0]} > {worse[0]}"
            rows.append((*about, text, error, shape, names, difference, *conditions))
    columns = [*KEYS, "text", "error", "shape", "pair", "difference", *CONDITIONS]
    table = pd.DataFrame(rows, columns=columns)
    void = table.difference.isna()
    correct = np.where(table.difference > 0, 1.0, 0.0)
    for name, tie in TIES.items():
        undecided = void | (table.difference.abs() <= tie)
        table[name] = np.where(undecided, 0.5, correct)
    return table.assign(void=void)
