"""Checks of lesson 2, plausible is not faithful."""

import numpy as np

from checks import Hint, call, check, choice, same
from faithlib.corpora import planted
from faithlib.metrics import plausibility


@check
def precision(mine):
    scores, evidence = np.array([0.1, 0.9, 0.4, 0.8]), np.array([False, True, True, False])
    wrong = [
        (1.0, "this counts the highest token alone: h = 2 tokens are evidence here"),
        (0.25, "divide by the h highest tokens, not by all tokens"),
    ]
    same(call(mine, scores, evidence), 0.5, "of the 2 highest of 4 tokens, 1 is evidence", wrong=wrong)
    same(call(mine, scores - 1, evidence), 0.5, "right, but wrong where scores are negative")
    draws = np.random.default_rng(2)
    for n in (1, 5, 12):
        scores, evidence = draws.normal(size=n), np.arange(n) < 1 + n // 3
        expected = plausibility.precision(scores, evidence)
        same(call(mine, scores, evidence), expected, f"right for 4 tokens, wrong for {n}")


@check
def auprc(answer):
    choice(answer, "low", {"high": "the person marks opinions: does this model use them?"})


def swapped(text):
    """The text with its planted word replaced by that of the other list."""
    other = dict(zip(*planted.CLASSES, strict=True)) | dict(zip(*planted.CLASSES[::-1], strict=True))
    return " ".join(other.get(word, word) for word in text.split())


@check
def swap(mine):
    found = call(mine, "the copper film was great .")
    if not isinstance(found, str):
        raise Hint(f"a text is expected, not {type(found).__name__}: join the words")
    draws = np.random.default_rng(2)
    for word in sum(planted.CLASSES, ()):
        base = planted.neutral(draws).split()
        text = " ".join([*base[:2], word, *base[2:]])
        found, right = call(mine, text), swapped(text)
        if found == text:
            raise Hint(f"{word!r} stays as it is: both lists are to be exchanged")
        if sorted(found.split()) != sorted(right.split()):
            raise Hint(f"{text!r} becomes {found!r}, and should become {right!r}")
        if found != right:
            raise Hint("right words, wrong order: all other words stay where they are")


@check
def comprehensiveness(answer):
    choice(answer, "near 0", {"near 1": "if the marked words are removed, what is left that the model uses?"})
