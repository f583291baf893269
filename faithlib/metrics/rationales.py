"""FRESH: rationales of a fixed length, to train a classifier on that sees nothing else.

Jain et al. 2020, as Chrysostomou & Aletras 2021 use it (section 4 and appendix D). The better the classifier
trained and tested on rationales, the more faithful the scores that chose them.
"""

from math import fsum

import numpy as np

from faithlib.metrics.erasure import rationale


def top_k(scores, maskable, ratio):
    """The k = ⌈ratio · n⌉ highest of the n maskable tokens, wherever they are: (tokens,) bool.

    k is at least 1, and the earlier of equal scores is taken. The release leaves out the last token, whatever
    its score. Raises ValueError for a ratio outside (0, 1] and a text without maskable tokens.
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


def extract(encodings, chosen):
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
