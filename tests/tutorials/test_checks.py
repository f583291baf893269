"""The machinery of checks, and of lessons 0 to 5: right answers pass, usual mistakes get their own hint."""

from importlib import import_module

import numpy as np
import pytest
from checks import Hint, call, check, choice, same


@check
def double(mine):
    same(call(mine, 2.0), 4, "twice the number", wrong=[(2, "this is the number itself")])


@check
def letter(answer):
    choice(answer, "b", {"a": "think again"})


def fails(x):
    raise ValueError("two\nlines")


@pytest.mark.parametrize(
    ("function", "answer", "line"),
    [
        (double, lambda x: 2 * x, "right"),
        (double, lambda x: np.float32(4), "right"),
        (double, lambda x: x, "not yet: this is the number itself"),
        (double, lambda x: 5, "not yet: twice the number"),
        (double, lambda x: None, "not yet: your function returns nothing yet"),
        (double, lambda x: ..., "not yet: your function returns nothing yet"),
        (double, fails, "not yet: your function raises ValueError: two lines"),
        (double, lambda: 4, "not yet: your function raises TypeError"),
        (double, lambda x: [4, 4], "not yet: a number is expected, not an array of shape (2,)"),
        (double, lambda x: "four", "not yet: a number is expected, not a value of type str"),
        (double, 4, "not yet: a function is expected, not a value of type int"),
        (double, None, "not yet: there is no answer yet"),
        (double, ..., "not yet: there is no answer yet"),
        (letter, " B", "right"),
        (letter, "a", "not yet: think again"),
        (letter, "c", "not yet: 'c' is no choice: write one of 'a', 'b'"),
        (letter, ["b"], "not yet: ['b'] is no choice"),
        (letter, None, "not yet: there is no answer yet"),
    ],
)
def test_one_line_and_never_a_traceback(capsys, function, answer, line):
    assert bool(function(answer)) == (line == "right")
    printed = capsys.readouterr().out
    assert printed.startswith(line) and printed.count("\n") == 1


def test_a_check_without_an_argument_or_that_is_broken_itself_says_so(capsys):
    assert not letter()
    assert not check(lambda answer: 1 / 0)(1)
    first, second = capsys.readouterr().out.splitlines()
    assert first == "not yet: there is no answer yet"
    assert second == "not yet: the answer cannot be checked: ZeroDivisionError: division by zero"


def test_a_students_function_cannot_change_what_it_is_given():
    given = np.zeros(2)
    with pytest.raises(Hint, match="nothing yet"):
        call(lambda x: x.fill(1), given)
    assert not given.any()


def test_a_notebook_does_not_show_the_outcome_a_second_time():
    assert letter("b")._ipython_display_() is None


# Lessons 0 to 5 -----------------------------------------------------------------------------------


def ranked(n):
    """A choice of k = ⌈ratio · n⌉ tokens as a student may write it, with one of the usual mistakes."""
    return {
        "ties": lambda s, r: np.isin(
            np.arange(len(s)), np.argsort(s)[::-1][: int(np.ceil(round(r * len(s), 9)))]
        ),
        "float": lambda s, r: np.isin(
            np.arange(len(s)), np.argsort(-s, kind="stable")[: int(np.ceil(r * len(s)))]
        ),
        "down": lambda s, r: np.isin(np.arange(len(s)), np.argsort(-s, kind="stable")[: int(r * len(s))]),
        "indices": lambda s, r: np.argsort(-s, kind="stable")[: int(np.ceil(r * len(s)))],
        "absolute": lambda s, r: np.isin(np.arange(len(s)), np.argsort(-abs(s))[: int(np.ceil(r * len(s)))]),
    }[n]


def shuffled_all(scores, maskable, rng):
    return rng.permutation(scores)


def shuffled_in_place(scores, maskable, rng):
    scores[maskable] = rng.permutation(scores[maskable])
    return scores


def shuffled_by_another(scores, maskable, rng):
    return shuffled_in_place(scores.copy(), maskable, np.random.default_rng())


def redrawn(scores, maskable, rng):
    return np.where(maskable, rng.random(len(scores)), scores)


def wins(u, v, tie):
    return np.where(u == v, tie, u > v).mean()


def pairs_with_diagonal(y, pairs):
    return (y - pairs).max(1)


WRONG = [
    (0, "vote", "a", "how far does the probability fall"),
    (0, "leave_one_out", lambda p, q: q - p, "right but for the signs"),
    (0, "leave_one_out", lambda p, q: abs(p - q), "right but for the signs"),
    (0, "leave_one_out", lambda p, q: p - q.mean(), "an array of shape (3,) is expected, not a number"),
    (0, "leave_one_out", lambda p, q: q, "probability of the whole text"),
    (0, "opposite", "negative", "which word did the model use"),
    (0, "after_swap", "always", "if the model used the opinion"),
    (0, "after_swap", "half", "if the model used neither"),
    (1, "changing", {...}, "write a set of some of"),
    (1, "changing", {"attention", "leave_one_out"}, "does it know the target"),
    (1, "changing", {"leave_one_out"}, "scaled_attention is computed from the output"),
    (1, "input_x_gradient", lambda e, g: abs((e * g).sum(-1)), "right but for the sign"),
    (1, "input_x_gradient", lambda e, g: np.linalg.norm(e * g, axis=1), "a norm loses the sign"),
    (1, "input_x_gradient", lambda e, g: e * g, "an array of shape (3,) is expected"),
    (1, "completeness_gap", lambda s, y, b: s.sum() - (y - b), "right but for the sign"),
    (1, "completeness_gap", lambda s, y, b: abs(s.sum() - y), "compare the sum"),
    (1, "completeness_gap", lambda s, y, b: abs(abs(s.sum()) - abs(y - b)), "keep the signs"),
    (1, "redundant", "large", "removes one word only"),
    (1, "leave_two_out", pairs_with_diagonal, "leave the diagonal out"),
    (1, "leave_two_out", lambda y, p: (y - p).min(1), "for each token, the largest"),
    (1, "leave_two_out", lambda y, p: np.array([1, 1, 2]), "the smallest loss of a pair"),
    (2, "precision", lambda s, e: e[s.argmax()], "counts the highest token alone"),
    (2, "precision", lambda s, e: e[np.argsort(-s)[: e.sum()]].sum() / len(s), "divide by the h highest"),
    (2, "auprc", "high", "does this model use them"),
    (2, "swap", lambda text: text, "stays as it is"),
    (2, "swap", str.split, "a text is expected, not list"),
    (2, "swap", lambda text: text.replace("copper", "garlic"), "and should become"),
    (2, "comprehensiveness", "near 1", "what is left that the model uses"),
    (3, "comprehensiveness", lambda p, q: q - p, "right but for the sign"),
    (3, "comprehensiveness", lambda p, q: p - q, "use max"),
    (3, "comprehensiveness", lambda p, q: max(0, p - q), "your function raises ValueError"),
    (3, "sufficiency", lambda p, q: p - q, "lower is better: take 1 minus it"),
    (3, "sufficiency", lambda p, q: 1 - (p - q), "where it rises, S is 1"),
    (3, "choose", ranked("ties"), "right for ratio 1, wrong for ties"),
    (3, "choose", ranked("float"), "round before you round up"),
    (3, "choose", ranked("down"), "round up: 0.3 of 4 tokens are 2"),
    (3, "choose", ranked("indices"), "not the indices"),
    (3, "choose", ranked("absolute"), "no absolute values"),
    (3, "nc_of_default", 0.06, "this is C"),
    (3, "nc_of_default", "six", "a number is expected"),
    (3, "fall", "near 1", "the other opinion word"),
    (4, "matched", shuffled_all, "wrong for special tokens"),
    (4, "matched", shuffled_in_place, "work on a copy"),
    (4, "matched", shuffled_by_another, "draw from rng alone"),
    (4, "matched", redrawn, "permute the scores, do not draw new ones"),
    (4, "matched", lambda s, m, rng: s.copy(), "nothing was shuffled"),
    (4, "matched", lambda s, m, rng: np.append(s[:1], [*s[-2:0:-1], s[-1]]), "use rng"),
    (4, "diagnosticity", wins, "within 1e-6 are tied"),
    (4, "diagnosticity", lambda u, v, tie: (u > v + 1e-6).mean(), "wrong for ties of 1"),
    (4, "strict", 0.5, "here a tie is a loss"),
    (4, "rule", "half", "as it should be"),
    (5, "min_max", lambda s: s.clip(0) / s.max(), "not cut off at 0"),
    (5, "min_max", lambda s: (s - s.min()) / max(s.max() - s.min(), 1e-9), "right but for equal scores"),
    (5, "soft_mask", lambda a, u, keep: u >= a[:, None], "the mask of what is removed"),
    (5, "soft_mask", lambda a, u, keep: u < a[:, None], "keep_important=False gives the same"),
    (5, "soft_mask", lambda a, u, keep: u[:, 0] < a, "(tokens, width) is expected"),
    (5, "higher", "sharp", "how much of the text does it keep"),
    (5, "equal_retention", lambda a, share: a + share - a.mean(), "between 0 and 1"),
    (5, "equal_retention", lambda a, share: np.full(len(a), share), "shift all scores by one constant"),
    (5, "equal_retention", lambda a, share: a * share, "the mean is 0.1250 and should be 0.5"),
    (5, "prefers", "good", "keeps with 1 − a"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "name", "answer", "hint"), WRONG, ids=range(len(WRONG)))
def test_a_usual_mistake_gets_the_hint_meant_for_it(capsys, number, name, answer, hint):
    assert not getattr(import_module(f"checks.lesson_{number:02}"), name)(answer)
    printed = capsys.readouterr().out
    assert hint in printed and printed.count("\n") == 1
