"""Explanations of known quality for texts with planted evidence: ladders, scales and nulls.

All explanations of a text have the same scores, given to its tokens in other orders: a metric cannot prefer
one of them for the size of its scores. Rung 0 is the best of a ladder.
"""

from itertools import combinations
from typing import Any

import numpy as np

from faithlib.metrics.plausibility import auprc
from faithlib.statistics import stream

RUNGS = 5  # fifths of the ranking that hold the evidence, and shares of tokens that are shuffled
SHUFFLED = (0, 0.25, 0.5, 0.75, 1)
SCALES = (0.01, 0.1, 1, 10)  # powers of the scores; 1 is the ladder itself
NULLS = ("flat", "peaked", "normal", "ones")


def scale(n):
    """The scores of a text of n tokens, the highest first: (n,) in (0, 1], skewed as those of attributions.

    The quantiles of an exponential distribution over its largest.

    Example:
        >>> scale(4).round(2).tolist()
        [1.0, 0.47, 0.23, 0.06]
    """
    quantiles = -np.log((np.arange(n) + 0.5) / n)
    return quantiles / quantiles[0]


def of_fifth(evidence, fifth, rng):
    """Scores whose evidence is a block at a random place inside a fifth of the ranking: (tokens,).

    Args:
        evidence: (tokens,) bool.
        fifth: from 0, the highest scores, to 4.
        rng: a numpy Generator; the other tokens are in an order of their own on every call.

    Raises:
        ValueError: a fifth of the text is shorter than its evidence.
    """
    n, k = len(evidence), int(evidence.sum())
    low, high = (int(np.floor(f * n / RUNGS)) for f in (fifth, fifth + 1))
    if high - low < k:
        raise ValueError(
            f"a fifth of a text of {n} tokens has no room for {k} tokens of evidence: leave the text out"
        )
    return with_evidence_at(rng.integers(low, high - k + 1), evidence, rng)


def shuffled(evidence, share, rng):
    """The best scores with those of a share of the tokens shuffled, evidence last: (tokens,)."""
    others, block = (rng.permutation(np.flatnonzero(which)) for which in (~evidence, evidence))
    scores = _scored([*block, *others])
    chosen = np.array([*others, *block])[: int(np.ceil(share * len(evidence)))]
    scores[chosen] = scores[rng.permutation(chosen)]
    return scores


def with_evidence_at(first, evidence, rng):
    """Scores whose evidence is a block behind so many of the other tokens: (tokens,).

    Example:
        >>> int(with_evidence_at(1, np.array([False, True]), np.random.default_rng(0)).argmax())
        0
    """
    block, others = (rng.permutation(np.flatnonzero(which)) for which in (evidence, ~evidence))
    return _scored([*others[:first], *block, *others[first:]])


def with_order(first, last, n, rng):
    """Scores of n tokens with `first` highest and `last` lowest, both in their order: (n,)."""
    others = rng.permutation(np.setdiff1d(np.arange(n), [*first, *last]))
    return _scored([*first, *others, *last])


def null(kind, n, rng):
    """Scores that know nothing, (n,): "flat" (1 to 1.01), "peaked" (one token), "normal" or all "ones"."""
    if kind == "normal":
        return rng.standard_normal(n)
    noise = 0.01 * rng.random(n)
    if kind == "peaked":
        noise[rng.integers(n)] = 1
        return noise
    return 1 + noise if kind == "flat" else np.ones(n)


def ladders(mechanism: Any, row: dict, evidence: np.ndarray, decoy: np.ndarray, name: str) -> tuple:
    """All explanations of one text, and the pairs of them whose order is known.

    Args:
        mechanism: a `corpora.planted.Mechanism`.
        row: the example; its `weights` order graded evidence.
        evidence: (tokens,) bool over the maskable tokens.
        decoy: as evidence, of words that do not decide.
        name: of the text, for its random draws.

    Returns:
        ({explanation: (tokens,) scores}, {ladder: [(better, worse)]}), explanations by name, such as
        ("fifths", 0, 1.0): ladder, rung and scale.

    Raises:
        ValueError: the text is too short for its evidence.
    """
    rng = stream("ladders", name)
    n, first = len(evidence), np.flatnonzero(evidence)
    if len(np.unique(scale(n))) < RUNGS:
        raise ValueError(f"a text of {n} tokens has fewer than {RUNGS} different scores: leave the text out")
    rungs, pairs = {}, {}
    if mechanism.needs == "one":
        rungs["copies"] = [with_order(first[:kept], first[kept:], n, rng) for kept in (2, 1, 0)]
        pairs["copies"] = [(1, 2), (0, 2)]  # one copy, or both, above none; one and both are equally good
    elif mechanism.needs == "sum":
        orders = _orders(first, row["weights"])
        rungs["grades"] = [with_order(order, [], n, rng) for order in orders]
        pairs["grades"] = list(combinations(range(len(orders)), 2))
    else:
        rungs["fifths"] = [of_fifth(evidence, fifth, rng) for fifth in range(RUNGS)]
        pairs["fifths"] = list(combinations(range(RUNGS), 2))
        rungs["shuffled"] = [shuffled(evidence, share, rng) for share in SHUFFLED]
        quality = [auprc(scores, evidence) for scores in rungs["shuffled"]]
        pairs["shuffled"] = [
            (i, j) for i in range(RUNGS) for j in range(RUNGS) if quality[i] > quality[j] + 1e-9
        ]
    if decoy.any():
        other = np.flatnonzero(decoy)
        rungs["decoy"] = [with_order(one, two, n, rng) for one, two in ((first, other), (other, first))]
        pairs["decoy"] = [(0, 1)]
    explanations = {
        (ladder, rung, float(power)): scores**power
        for ladder, found in rungs.items()
        for rung, scores in enumerate(found)
        for power in (SCALES if ladder in ("fifths", "copies", "grades") else (1,))
    }
    explanations |= {("null", kind, 1.0): null(kind, n, rng) for kind in NULLS}
    return explanations, pairs


def _orders(first, weights):
    """The three tokens in orders with 0, 1, 2 and 3 inversions of their weights."""
    best = [token for _, token in sorted(zip(weights, first, strict=True), reverse=True)]
    return [[best[i] for i in order] for order in ((0, 1, 2), (0, 2, 1), (2, 0, 1), (2, 1, 0))]


def _scored(order):
    """The scores of tokens in this order, the highest first: (tokens,)."""
    scores = np.empty(len(order))
    scores[np.asarray(order)] = scale(len(order))
    return scores
