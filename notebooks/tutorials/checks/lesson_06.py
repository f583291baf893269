"""Checks of lesson 6: ROAR and Recursive ROAR."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from checks import Hint, call, check, choice, hints, same
from faithlib.metrics.curves import racu
from faithlib.scores import top

hint = hints(__name__)


def probe(masks, labels):
    """How much more accurate a classifier of masks is than the most frequent class."""
    accuracy = cross_val_score(LogisticRegression(), masks, labels, cv=5).mean()
    return accuracy - np.bincount(labels).max() / len(labels)


@check(instead=lambda s, masked, total: top(s, np.ones(len(s), bool), masked, total))
def next_mask(mine):
    """What is masked stays masked, and counts as part of `total`.
    Give masked tokens an infinite score, and take the `total` highest.
    np.argsort(-np.where(masked, np.inf, scores), kind="stable")[:total]
    """
    few = np.array([0.1, 0.9, 0.5])
    none = np.zeros(3, bool)
    if np.shape(call(mine, few, none, 2)) != (3,):
        raise Hint("one bool a token is expected, not the indices of the tokens")
    same(call(mine, few, none, 2), [0, 1, 1], "mask the tokens with the highest scores")
    masked = np.array([True, False, False])
    same(call(mine, few, masked, 2), [1, 1, 0], "masked tokens stay masked, and count as part of `total`")
    same(call(mine, few, none, 0), [0, 0, 0], "with total=0 no token is masked")
    same(
        call(mine, np.ones(4), np.zeros(4, bool), 2),
        [1, 1, 0, 0],
        "right but for ties: the earlier token goes first",
    )
    same(call(mine, -few, none, 1), [1, 0, 0], "scores may be negative: compare them as they are")
    draws = np.random.default_rng(6)
    for n in range(1, 12):
        scores, masked = draws.integers(0, 4, n) / 4, draws.random(n) < 0.3
        total = int(draws.integers(masked.sum(), n + 1))
        expected = top(scores, np.ones(n, bool), masked, total)
        same(
            call(mine, scores, masked, total),
            expected,
            f"wrong for scores={scores}, masked={masked}, total={total}",
        )


@check
def after_four(mine):
    """ROAR ranks once, on the first model.
    Did that model need all four informative features?
    """
    choice(
        mine,
        "b",
        {
            "a": "that is the curve of Recursive ROAR: did the first model need all informative features?",
            "c": "the features are redundant: as long as one is left, nothing is lost",
        },
    )


@check(instead=racu)
def relative_area(mine):
    """The area between two curves is the trapezoid sum of their difference.
    The divisor is the area between the random curve and its own end, random[-1].
    np.trapezoid(random - measure, ratios) / np.trapezoid(…, ratios)
    """

    def area(measure, x=(0, 0.5, 1)):
        return call(mine, *map(np.array, (x, measure, [1, 0.75, 0.5])))

    same(area([1, 0.5, 0.5]), 0.5, "these curves have areas of 1/8 and 1/4: the quotient is 1/2")
    same(area([1, 0.8, 0.5]), -0.1, "an attribution above the random curve is below 0")
    same(area([1, 0, 0.5]), 1.5, "right within [0, 1] only: the formula has no bounds")
    uneven = racu([0, 0.1, 1], [1, 0.5, 0.5], [1, 0.75, 0.5])
    same(area([1, 0.5, 0.5], (0, 0.1, 1)), uneven, "right for equal steps only: use the ratios")
    draws = np.random.default_rng(6)
    for _ in range(10):
        x = np.sort(np.append(draws.random(4), (0, 1)))
        measure, random = draws.random((2, 6))
        same(
            call(mine, x, measure, random),
            racu(x, measure, random),
            "wrong for random curves: compare with the formula",
        )


@check
def clue(mine):
    """Early tokens are masked in one class, late ones in the other.
    What can a new model learn from where the masks are?
    """
    choice(
        mine,
        "c",
        {
            "a": "the masks are early in one class and late in the other: what can a new model learn?",
            "b": "the new model needs no opinion word: what else differs between the classes?",
        },
    )


@check(instead=probe)
def leakage(mine):
    """Train a classifier on the masks, and test it on texts that it was not trained on.
    cross_val_score(LogisticRegression(), masks, labels, cv=5).mean() is its accuracy.
    Subtract the share of the most frequent class, np.bincount(labels).max() / len(labels)
    """
    draws = np.random.default_rng(6)
    labels = draws.integers(0, 2, 200)
    answer = call(mine, draws.integers(0, 2, (200, 60)), labels)  # masks without any information
    if np.ndim(answer):
        raise Hint("one number is expected")
    if 0.38 < answer < 0.62:
        raise Hint("random masks leak: subtract the share of the most frequent class")
    if answer > 0.15:
        raise Hint("random masks leak: test the classifier on texts that it was not trained on")
    if answer < -0.2:
        raise Hint("random masks are far below 0: each row of `masks` is a text")
    telling = draws.integers(0, 2, (200, 20))
    telling[:, 7] = labels
    answer = call(mine, telling, labels)
    if answer < 0.3:
        raise Hint("masks that tell the label are not noticed")
    if answer > 0.6:
        raise Hint("more than 1 minus the share of the most frequent class is not possible")
    rare = draws.permutation(np.arange(200) < 20).astype(int)
    if not -0.1001 < call(mine, draws.integers(0, 2, (200, 5)), rare) < 0.1001:
        raise Hint("right for equal classes only: subtract the share of the largest class from the accuracy")
    uneven = draws.permutation(np.arange(200) < 60).astype(int)
    masks = draws.integers(0, 2, (200, 300))
    if call(mine, masks, uneven) > max(0.02, probe(masks, uneven) + 0.05):
        raise Hint("worse than the most frequent class is below 0: take no absolute value, and no bound at 0")
