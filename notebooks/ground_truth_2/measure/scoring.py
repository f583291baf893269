"""From a model's texts and explanations to accuracies: entries under all operators, controls, and counts."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from faithlib.engine.operators import Operator
from faithlib.metrics.soft import to_probability
from faithlib.statistics import stream
from notebooks.ground_truth_2.measure import entries
from notebooks.ground_truth_2.measure.entries import KEYS, TIES
from notebooks.ground_truth_2.worst_case import ROOM, flag, texts_needed

MIRRORED = ("ns", "zero")  # metric and operator, whose values the control "mirror" turns
CELL = [*KEYS, "error", "shape", "flagged", "empty_keeps"]


@dataclass(frozen=True)
class Prepared:
    """What a model is scored on.

    Attributes:
        encodings: the texts that count.
        targets: (texts,) int, the classes that are explained.
        explanations: for each text {explanation: (maskable tokens,) scores}.
        pairs: for each text [(error, shape, better, worse)].
        looked: texts that were looked at to find these.
        entries: draws -> [Entry], what is scored.
    """

    operators: list
    encodings: list
    targets: np.ndarray
    explanations: list
    pairs: list
    seed: int
    looked: int
    entries: Callable = entries.entries


def with_tokens(operators):
    """The operators, and beside "zero" by element also "zero" by token, [Operator]."""
    zero = [o for o in operators if o.name == "zero"]
    return [*operators, *(Operator(o.model, "zero", "token") for o in zero)]


def rows(prepared, start, stop, draws=entries.DRAWS):
    """The rows of `entries.right` of the texts from `start` to `stop`, with `seconds`.

    seconds: CPU seconds of one value of the entry, a mean over these texts; 0 for controls. Metrics that take
    no probabilities are the same under "zero" by token and are left out there; what erases nothing is scored
    once.
    """
    chosen, seconds = slice(start, stop), {}
    explanations, pairs = prepared.explanations[chosen], prepared.pairs[chosen]
    tables = [controls(explanations, pairs, prepared.seed, start)]
    for number, operator in enumerate(prepared.operators):
        scored = [entry for entry in prepared.entries(draws) if entry.erases or number == 0]
        if operator.name == "zero" and operator.by == "token":
            scored = [entry for entry in scored if entry.map]
        values = entries.values(
            operator,
            prepared.encodings[chosen],
            prepared.targets[chosen],
            explanations,
            scored,
            prepared.seed,
            seconds,
        )
        tables.append(values)
        if (operator.name, operator.by) == ("zero", "element"):
            tables.append(mirrored(values))
    table = entries.right(pd.concat(tables, ignore_index=True), pairs)
    each = [tuple(key) for key in table[KEYS].to_numpy()]
    spent = {key: total / count for key, (total, count) in seconds.items()}
    return table.assign(text=table.text + start, seconds=[spent.get(key, 0.0) for key in each])


def controls(explanations, pairs, seed, start):
    """Values of what is no metric, in the form of `entries.values`, of the texts from number `start` on.

    random: a random number. oracle: it knows the pairs. magnitude: the largest score after min-max.
    """
    rows = []
    for text, (of_text, pair) in enumerate(zip(explanations, pairs, strict=True)):
        depth, generator = depths(of_text, pair), stream("control", seed, start + text)
        for name, scores in of_text.items():
            everywhere = np.ones(len(scores), bool)
            value = {
                "random": generator.random(),
                "oracle": -float(depth[name]),
                "magnitude": to_probability(scores, everywhere).max(),
            }
            rows += [(control, text, name, value[control]) for control in value]
    table = pd.DataFrame(rows, columns=["metric", "text", "explanation", "value"])
    about = {"map": "", "operator": "", "by": "", "draws": 0, "p": 1.0, "room": 1.0, "empty_keeps": False}
    return table.assign(**about)


def depths(explanations, pairs):
    """How many steps down the pairs lead to each explanation at most: {explanation: int}, 0 for the best."""
    depth = dict.fromkeys(explanations, 0)
    for _ in explanations:
        for _, _, better, worse in pairs:
            depth[worse] = max(depth[worse], depth[better] + 1)
    return depth


def mirrored(values):
    """The values of MIRRORED with their sign turned, as the control "mirror"."""
    metric, operator = MIRRORED
    chosen = values[(values.metric == metric) & (values.operator == operator)]
    return chosen.assign(metric="mirror", value=-chosen.value)


def counts(table: pd.DataFrame) -> pd.DataFrame:
    """Sums over texts and pairs, a row for each of CELL: TIES, void, pairs and texts.

    table: from `rows`; flagged: whether 1 − S0 of the text is below `worst_case.ROOM`.
    """
    sums = {name: (name, "sum") for name in (*TIES, "void")}
    grouped = table.assign(flagged=table.room < ROOM).groupby(CELL, sort=False)
    return grouped.agg(**sums, pairs=("right", "size"), texts=("text", "nunique")).reset_index()


def resolution(table: pd.DataFrame) -> pd.DataFrame:
    """How many texts tell a pair apart, and whether `room` knows where an entry is wrong.

    A row for each of KEYS and error: texts_needed (median over pairs of `worst_case.texts_needed`),
    room_auroc (of `worst_case.flag`) and room (its mean over texts).
    """
    rows = []
    for key, part in table.groupby([*KEYS, "error"], sort=False):
        of_pairs = part.groupby(["shape", "pair"], sort=False).difference
        needed = [texts_needed(differences) for _, differences in of_pairs]
        about = flag(part.room, part.right)["auroc"]
        rows.append((*key, float(np.median(needed)), about, part.room.mean()))
    return pd.DataFrame(rows, columns=[*KEYS, "error", "texts_needed", "room_auroc", "room"])


def milliseconds(table: pd.DataFrame) -> dict[str, float]:
    """CPU milliseconds of one value of each entry: {"metric map operator by": number}."""
    spent = 1000 * table.groupby(KEYS, sort=False).seconds.mean()
    return {" ".join(map(str, key[:4])): round(value, 3) for key, value in spent.items() if value}
