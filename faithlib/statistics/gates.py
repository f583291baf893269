"""Which data sets take part in a claim: those on which the model is above chance."""

from dataclasses import dataclass, fields

import pandas as pd

from faithlib.statistics import base, intervals

GATE_MARGIN = 0.05  # of balanced accuracy above chance


@dataclass(frozen=True)
class Gate:
    """Does a data set × architecture take part in the claims?

    Attributes:
        accepted: the decision.
        value, ci_low, ci_high: the data set's own score; NaN where it has no interval.
        chance: what the score is worth by chance.
        balanced_accuracy: mean over seeds.
        margin: balanced accuracy above chance (1 / classes).
        n_seeds: how many.
        tested: False where the score has no interval (one or two seeds, or all equal) and the means decided.
        reason: why it is not accepted, else "".
    """

    accepted: bool
    value: float
    ci_low: float
    ci_high: float
    chance: float
    balanced_accuracy: float
    margin: float
    n_seeds: int
    tested: bool
    reason: str = ""


def gate(scores, balanced_accuracies, classes, chance=0.0, name="score") -> Gate:
    """Does a data set × architecture take part: is the mean over its seeds above chance?

    Accepted if the t interval of its own score over seeds lies above chance and the mean balanced accuracy is
    at least .05 above 1 / classes. The decision is on the data set, never on a seed. Without an interval the
    mean score decides in its place; data sets with fewer than three seeds enter no interval of a claim.

    Args:
        scores: (seeds,), the data set's score (MCC, macro-F1 or balanced accuracy).
        balanced_accuracies: (seeds,), as fractions.
        classes: number of classes.
        chance: value of the score by chance (0 for MCC).
        name: of the score, for the reason.

    Raises:
        ValueError: for no seeds, different lengths, values that are not finite, fewer than two classes and
            balanced accuracies outside [0, 1].

    >>> gate([0.02, 0.02, 0.03], [0.51, 0.50, 0.52], classes=2).reason
    'balanced accuracy 0.510 is less than 0.05 above chance (0.500)'
    """
    score, balanced = intervals.seeds_interval(scores), intervals.seeds_interval(balanced_accuracies)
    if score.n_units != balanced.n_units:
        raise ValueError(f"{score.n_units} scores, {balanced.n_units} balanced accuracies: give one a seed")
    if classes < 2:
        raise ValueError(f"{classes} classes: chance needs at least 2")
    if not all(0 <= value <= 1 for value in balanced_accuracies):
        raise ValueError("balanced accuracies lie within [0, 1]: give fractions")
    margin = balanced.value - 1 / classes
    above = score.low - chance > base.ROUNDING
    if not score.exists:
        above = score.value > chance + base.ROUNDING
    reasons = []
    if not above:
        ends = f" [{score.low:.3f}, {score.high:.3f}]" if score.exists else ""
        reasons.append(f"{name} {score.value:.3f}{ends} is not above chance ({chance:.3f})")
    if margin < GATE_MARGIN - base.ROUNDING:
        text = f"balanced accuracy {balanced.value:.3f} is less than {GATE_MARGIN:.2f} above chance"
        reasons.append(f"{text} ({1 / classes:.3f})")
    return Gate(
        accepted=not reasons,
        value=score.value,
        ci_low=score.low,
        ci_high=score.high,
        chance=chance,
        balanced_accuracy=balanced.value,
        margin=margin,
        n_seeds=score.n_units,
        tested=score.exists,
        reason="; ".join(reasons),
    )


def gate_table(scores):
    """The gate of every data set × architecture: DataFrame with dataset, model and the fields of `Gate`.

    Args:
        scores: DataFrame, one row a seed: dataset, model, seed, score, balanced_accuracy, classes, chance.

    Raises:
        ValueError: for a missing column, a repeated seed, classes or chance that differ within a data set,
            and as `gate`.
    """
    wanted = ["dataset", "model", "seed", "score", "balanced_accuracy", "classes", "chance"]
    if missing := [name for name in wanted if name not in scores]:
        raise ValueError(f"the table of scores has no column {', '.join(missing)}")
    if scores.duplicated(["dataset", "model", "seed"]).any():
        raise ValueError("a seed of a data set and model has several scores: give one")
    rows = []
    for (dataset, model), part in scores.groupby(["dataset", "model"], sort=False):
        if part.classes.nunique() > 1 or part.chance.nunique() > 1:
            raise ValueError(f"{dataset}, {model}: seeds differ in classes or chance")
        classes, chance = int(part.classes.iloc[0]), float(part.chance.iloc[0])
        verdict = gate(part.score, part.balanced_accuracy, classes, chance)
        rows.append({"dataset": dataset, "model": model, **vars(verdict)})
    return pd.DataFrame(rows, columns=["dataset", "model", *(field.name for field in fields(Gate))])
