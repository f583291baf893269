"""Checks of lesson 1, attributions."""

import numpy as np

from checks import Hint, call, check, choice, hints, same

hint = hints(__name__)


def of_pairs(y, pairs):
    """The largest loss of a pair, for each token."""
    return y - np.where(np.eye(len(pairs)), np.inf, pairs).min(1)


THREE = {"attention", "scaled_attention", "leave_one_out"}


@check
def changing(answer):
    """Which of the three is computed before the model has any class?
    Both others need the output for a class: a gradient, or a loss.
    """
    if not isinstance(answer, (set, list, tuple)) or not set(answer) <= THREE:
        raise Hint(f"write a set of some of {', '.join(sorted(THREE))}, in quotes")
    if "attention" in answer:
        raise Hint("attention is computed before the model has any class: does it know the target?")
    if missing := sorted(THREE - {"attention"} - set(answer)):
        raise Hint(f"{missing[0]} is computed from the output for the target: can it stay as it is?")


@check(instead=lambda e, g: (e * g).sum(-1))
def input_x_gradient(mine):
    """For a token, both arguments have a vector: multiply them entry by entry.
    Then add the products of a token up, and keep the sign.
    (embeddings * gradient).sum(…): over the last axis
    """
    e, g = np.array([[1.0, 2.0], [0.0, 3.0], [-1.0, 1.0]]), np.array([[0.5, 1.0], [7.0, -1.0], [2.0, 2.0]])
    wrong = [
        ([2.5, 3, 0], "right but for the sign: no absolute value is taken"),
        ([2.5, 3, 4], "add the products up with their signs: no absolute values are taken"),
        (np.linalg.norm(e * g, axis=1), "add the products up; a norm loses the sign"),
    ]
    same(call(mine, e, g), [2.5, -3, 0], "for each token, multiply the two vectors and add up", wrong=wrong)
    draws = np.random.default_rng(1)
    e, g = draws.normal(size=(2, 7, 5))
    same(
        call(mine, e, g), np.einsum("te,te->t", e, g), "right for 3 tokens of width 2, wrong for 7 of width 5"
    )


@check(instead=lambda scores, y, b: abs(np.sum(scores) - (y - b)))
def completeness_gap(mine):
    """If all were well, the sum of the scores would be y_text − y_baseline.
    The gap is the distance of the two numbers, whichever is larger.
    abs(sum(scores) - (…))
    """
    scores = np.array([0.5, -0.25, 1.0])
    signs = "keep the signs: the sum is 1.25, y_text − y_baseline is −1.5"
    rule = "compare the sum of the scores with y_text − y_baseline"
    wrong = [(-0.25, signs), (0.25, signs), (-2.75, "right but for the sign: a gap is never negative")]
    same(call(mine, scores, 0.5, 2.0), 2.75, rule, wrong=wrong)
    wrong = [(-0.25, "right but for the sign: a gap is never negative")]
    same(call(mine, scores, 2.0, 0.5), 0.25, rule, wrong=wrong)
    same(call(mine, scores, 1.0, 0.0), 0.25, "the gap is never negative, whichever side is larger")
    same(call(mine, scores, 0.25, -1.0), 0, "right where y_baseline is above 0, wrong where it is below")


@check
def redundant(answer):
    """Leave-one-out removes one word only.
    The other one still says the same.
    """
    again = "leave-one-out removes one word only: is the opinion gone then?"
    choice(answer, "small", {"large": again, "mixed": again})


@check(instead=of_pairs)
def leave_two_out(mine):
    """The loss of a pair is y − y_pairs[i, j]: an array (tokens, tokens).
    A token's score is the largest number of its row, but the diagonal is no pair.
    np.fill_diagonal(loss, -np.inf) on a copy takes the diagonal out; then the maximum of each row
    """
    pairs = np.array([[9.0, 4.0, 1.0], [4.0, 9.0, 3.0], [1.0, 3.0, 9.0]])
    yours = call(mine, 5.0, pairs)
    wrong = [
        ([1, 1, 2], "this is the smallest loss of a pair; take the largest"),
        ([4, 4, 3], "this is the output with two tokens removed; a loss is y − that"),
    ]
    same(
        yours, [4, 2, 4], "for each token, the largest y − y_pairs[i, j] over all other tokens j", wrong=wrong
    )
    pairs = np.array([[0.0, 4.0, 6.0], [4.0, 0.0, 5.5], [6.0, 5.5, 0.0]])
    wrong = [([1, 1, 1], "a loss may be below 0: no absolute values are taken")]
    hint = "leave the diagonal out: there i and j are one token"
    same(call(mine, 5.0, pairs), [1, 1, -0.5], hint, wrong=wrong)
    draws = np.random.default_rng(1).normal(size=(6, 6))
    pairs = draws + draws.T
    same(call(mine, 0.3, pairs), of_pairs(0.3, pairs), "right for 3 tokens, wrong for 6 with losses below 0")
