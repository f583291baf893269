"""Explanations of planted texts whose errors are known, and the pairs of them whose order is certain."""

from itertools import combinations

import numpy as np

from notebooks.ground_truth_2.measure.dominance import dominates
from notebooks.ground_truth_2.measure.shapes import SHAPES, ranked

BEHIND = (0, 1, 2, 4)  # other tokens before the block of evidence
INVERSIONS = ((0, 1, 2), (0, 2, 1), (2, 0, 1), (2, 1, 0))  # of three words by weight: 0, 1, 2, 3
EXCHANGED = ((1, 2), (0, 2), (0, 1))  # the two words whose exchange leads from each of them to the next
FIFTHS, FIFTHS_SHAPE = 5, "exponential"  # as version 1 has them; beside the score, not in it
RAISED = 2  # unused tokens that are put above all others
NULLS = ("constant", "ones but one", "one", "permuted", "1 to 1.01")
BELOW = 0.98  # of the lowest score of the evidence: what "false below" gives to unused tokens


def explanations(mechanism, evidence, weights, generator, ordered=(True, True, True)):
    """All explanations of one text, and the pairs whose order is certain.

    Args:
        mechanism: a `planted_texts.Planted`.
        evidence: (tokens,) bool over the maskable tokens; a word is a token.
        weights: the weight of each word of evidence, in the order of the text.
        generator: a numpy Generator: the order of unused tokens, and nulls.
        ordered: of graded evidence, for each exchange of EXCHANGED whether the model uses the two words in
            the planted order on this text.

    Returns:
        ({explanation: (tokens,) scores}, [(error, shape, better, worse)]), explanations named (what, shape).
    """
    n, worth = len(evidence), np.zeros(len(evidence))
    worth[np.flatnonzero(evidence)] = weights
    best = [int(t) for t in np.argsort(-worth, kind="stable")[: evidence.sum()]]
    others = [int(t) for t in generator.permutation(np.flatnonzero(~evidence))]
    null = nulls(n, others, generator)
    scores, pairs = {(name, ""): values for name, values in null.items()}, []
    for shape in SHAPES:
        of_shape, errors = _of_shape(mechanism, best, others, shape, ordered)
        scores |= {(name, shape): values for name, values in of_shape.items()}
        for error, better, worse in errors:
            if error != "false below" and not dominates(of_shape[better], of_shape[worse], worth):
                raise AssertionError(f"{better} does not dominate {worse} of {mechanism.name}")
            pairs.append((error, shape, (better, shape), (worse, shape)))
        pairs += [(name, shape, ("near 0", shape), (name, "")) for name in null]
    return scores, pairs


def _of_shape(mechanism, best, others, shape, ordered):
    """({name: scores}, [(error, better, worse)]) of one shape."""
    scores, pairs = {}, []
    for k in BEHIND:
        scores[f"near {k}"] = ranked([*others[:k], *best, *others[k:]], shape)
    pairs += [("near", f"near {k}", f"near {further}") for k, further in combinations(BEHIND, 2)]
    if shape == FIFTHS_SHAPE:
        scores |= _fifths(best, others)
        pairs += [("fifths", f"fifth {k}", f"fifth {lower}") for k, lower in combinations(range(FIFTHS), 2)]
    first = scores["near 0"]
    if mechanism.needs == "one":
        scores["one of two"] = ranked([best[0], *others, best[1]], shape)
        scores["none of two"] = ranked([*others, *best], shape)
        pairs.append(("one of two", "one of two", "none of two"))
    if mechanism.needs == "sum":
        for count, order in enumerate(INVERSIONS):
            scores[f"order {count}"] = ranked([*(best[i] for i in order), *others], shape)
        for fewer, more in combinations(range(len(INVERSIONS)), 2):
            if all(ordered[fewer:more]):
                pairs.append(("order", f"order {fewer}", f"order {more}"))
    if mechanism.needs == "all":
        for name, lost in (("half missed", best[len(best) // 2 :]), ("all missed", best)):
            scores[name] = with_scores(first, lost, 0)
            pairs.append(("missed", "near 0", name))
    raised = others[-RAISED:]
    scores["false above"] = with_scores(first, raised, 1 + 0.01 * np.arange(1, RAISED + 1))
    pairs.append(("false above", "near 0", "false above"))
    scores["false below"] = with_scores(first, raised, BELOW * first[best].min())
    pairs.append(("false below", "near 0", "false below"))
    return scores, pairs


def _fifths(best, others):
    """{name: scores} with the evidence as a block at the beginning of each fifth of the ranking."""
    scores = {}
    for fifth in range(FIFTHS):
        k = min(fifth * (len(best) + len(others)) // FIFTHS, len(others))
        scores[f"fifth {fifth}"] = ranked([*others[:k], *best, *others[k:]], FIFTHS_SHAPE)
    return scores


def with_scores(scores, tokens, values):
    """A copy of the scores in which these tokens have other values."""
    changed = scores.copy()
    changed[tokens] = values
    return changed


def nulls(n, others, generator):
    """Scores that know nothing of n tokens, {null: (tokens,)}; an odd token is one of `others`, unused."""
    ones = np.ones(n)
    return {
        "constant": ones,
        "ones but one": with_scores(ones, others[0], 0),
        "one": with_scores(0 * ones, others[0], 1),
        "permuted": generator.permutation(SHAPES["exponential"](n)),
        "1 to 1.01": 1 + 0.01 * generator.random(n),
    }
