"""FRESH: rationales of a fixed length, to train a classifier on that sees nothing else.

Jain et al. 2020, as Chrysostomou & Aletras 2021 use it (section 4 and appendix D). The better the classifier
trained and tested on rationales, the more faithful the scores that chose them.
"""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from faithlib.metrics.erasure import rationale
from faithlib.scores import one_of

if TYPE_CHECKING:
    from faithlib.models.base import Encoding


def top_k(scores, maskable, ratio):
    """The k = ⌈ratio · n⌉ highest of the n maskable tokens, wherever they are: (tokens,) bool.

    k is at least 1, and the earlier of equal scores is taken. The release leaves out the last token, whatever
    its score. Raises ValueError for a ratio outside (0, 1], a text without maskable tokens and a token
    without a finite score.
    """
    if not maskable.any():
        raise ValueError("the text has no maskable token to choose: remove empty texts")
    return rationale(scores, maskable, ratio)


def contiguous(scores, maskable, ratio):
    """The k = ⌈ratio · n⌉ maskable tokens in a row of the highest sum Σ s_i: (tokens,) bool.

    The first of windows with equal sums. Raises ValueError as `top_k` does.
    """
    k = int(top_k(scores, maskable, ratio).sum())
    at = np.flatnonzero(maskable)  # (n,)
    s = np.asarray(scores, float)[at].tolist()
    sums = [fsum(s[i : i + k]) for i in range(len(s) - k + 1)]  # exact: equal sums stay equal in any order
    chosen = np.zeros(len(maskable), bool)
    start = int(np.argmax(sums))
    chosen[at[start : start + k]] = True
    return chosen


THRESHOLDERS = {"top_k": top_k, "contiguous": contiguous}
UNITS = ("word pieces", "words")


def choose(
    thresholder: str, scores: np.ndarray, encoding: Encoding, ratio: float, unit: str = "word pieces"
) -> np.ndarray:
    """The rationale of a text: (tokens,) bool.

    Args:
        thresholder: name in THRESHOLDERS.
        scores: (tokens,).
        encoding: the Encoding of the text; of n maskable tokens.
        ratio: share of the tokens, in (0, 1].
        unit: "word pieces"; or "words" as the release takes them: the score of a word is the sum over its
            pieces, a word is taken as a whole, and k = ⌈ratio · n⌉ words are, n still counting pieces. The
            release merges the pieces that its tokenizer split, here a word is what blanks separate.

    Raises:
        ValueError: an unknown thresholder or unit, and as `top_k` does.

    >>> from faithlib.models.base import Encoding
    >>> one, where = np.ones(4, int), np.ones(4, bool)
    >>> text = Encoding(one, one, where, ~where, np.array([0, 0, 1, 2]))  # the first word has two pieces
    >>> choose("top_k", np.array([2, 1, 2.5, 0]), text, 0.25, "words")
    array([ True,  True, False, False])
    """
    one_of("thresholder", thresholder, THRESHOLDERS)
    one_of("unit", unit, UNITS)
    chosen = THRESHOLDERS[thresholder](scores, encoding.maskable, ratio)
    if unit == "word pieces":
        return chosen
    _, at = np.unique(encoding.words[encoding.maskable], return_inverse=True)  # (n,) word of each piece
    sums = np.bincount(at, np.asarray(scores, float)[encoding.maskable])  # (words,)
    share = min(1, ratio * len(at) / len(sums))
    whole = THRESHOLDERS[thresholder](sums, np.ones(len(sums), bool), share)
    chosen[encoding.maskable] = whole[at]
    return chosen


def extract(encodings: list[Encoding], chosen: list[np.ndarray]) -> list[Encoding]:
    """Encodings of the chosen tokens in document order, with special tokens and text_b as they were.

    chosen: [(tokens,) bool], of maskable tokens. The release joins the tokens of a top-k rationale in the
    order of their scores. Raises ValueError for an example of which nothing is chosen, or what is not
    maskable.
    """
    for i, (encoding, which) in enumerate(zip(encodings, chosen, strict=True)):
        if not which.any():
            raise ValueError(f"nothing is chosen of example {i}: a rationale has at least one token")
        if (which & ~encoding.maskable).any():
            raise ValueError(f"tokens of example {i} are chosen that are not maskable: choose tokens of text")
    return [e.at(which | ~e.maskable) for e, which in zip(encodings, chosen, strict=True)]
