"""Checks of lesson 2, plausible is not faithful."""

import numpy as np

from checks import Hint, call, check, choice, hints, same
from faithlib.corpora import planted
from faithlib.metrics import plausibility

hint = hints(__name__)


@check(instead=plausibility.precision)
def precision(mine):
    """h is the number of tokens that are evidence: evidence.sum().
    Take the h tokens with the highest scores, signs and all, and count the evidence among them.
    np.argsort(-scores)[:h] are their places; evidence[places].mean() is the share
    """
    scores, evidence = np.array([0.1, 0.9, 0.4, 0.8]), np.array([False, True, True, False])
    wrong = [
        (1.0, "this counts the highest token alone: h = 2 tokens are evidence here"),
        (0.25, "divide by the h highest tokens, not by all tokens"),
    ]
    same(call(mine, scores, evidence), 0.5, "of the 2 highest of 4 tokens, 1 is evidence", wrong=wrong)
    same(call(mine, scores - 1, evidence), 0.5, "right, but wrong where scores are negative")
    absolute = "scores below 0 speak against: rank the scores as they are, not their absolute values"
    lowest = [(0, "these are the lowest scores: take the highest")]
    same(call(mine, np.array([-0.9, 0.8, 0.1, -0.7]), evidence), 1, absolute, wrong=lowest)
    draws = np.random.default_rng(2)
    for n in (1, 5, 12):
        scores, evidence = draws.normal(size=n), np.arange(n) < 1 + n // 3
        expected = plausibility.precision(scores, evidence)
        same(call(mine, scores, evidence), expected, f"right for 4 tokens, wrong for {n}")


@check
def auprc(answer):
    """The person marks opinions.
    Does this model use them?
    """
    choice(answer, "low", {"high": "the person marks opinions: does this model use them?"})


def swapped(text):
    """The text with its planted word replaced by that of the other list."""
    other = dict(zip(*planted.CLASSES, strict=True)) | dict(zip(*planted.CLASSES[::-1], strict=True))
    return " ".join(other.get(word, word) for word in text.split())


@check(instead=swapped)
def swap(mine):
    """Make a dictionary from each word to its counterpart, in both directions.
    zip([*first, *second], [*second, *first]) pairs them.
    " ".join(other.get(word, word) for word in text.split())
    """
    answer = call(mine, "the copper film was great .")
    if not isinstance(answer, str):
        raise Hint(f"a text is expected, not {type(answer).__name__}: join the words")
    draws = np.random.default_rng(2)
    for word in sum(planted.CLASSES, ()):
        base = planted.neutral(draws).split()
        text = " ".join([*base[:2], word, *base[2:]])
        answer, right = call(mine, text), swapped(text)
        if answer == text:
            raise Hint(f"{word!r} stays as it is: both lists are to be exchanged")
        if sorted(answer.split()) != sorted(right.split()):
            raise Hint(f"{text!r} becomes {answer!r}, and should become {right!r}")
        if answer != right:
            raise Hint("right words, wrong order: all other words stay where they are")


@check
def comprehensiveness(answer):
    """Comprehensiveness removes what is marked, and asks how far the prediction falls.
    The person's marks are removed: the opinion words.
    What does the shortcut model still find in the rest?
    """
    choice(answer, "near 0", {"near 1": "if the marked words are removed, what is left that the model uses?"})
