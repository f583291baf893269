"""Scores of one text and what is made of them: orders, masks, random baselines, and checks.

Scores are arrays (tokens,), higher = more important, and count at maskable positions alone.
"""

import difflib
import math
import re
import zlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from faithlib.options import DEFINITIONS, Number, Of, Whole  # noqa: F401, notebooks read the first here

RANDOM = "random"  # the baseline of every curve and table: scores that know neither model nor text
HALF = re.compile("[\ud800-\udfff]")  # of a character outside of the first 65,536, as in a tweet that was cut
HALVED = "has half a character (a lone surrogate): repair the text, or drop it"
COUNTS, RATIOS = range(1, 11), range(10, 101, 10)  # of `sparsity`: top tokens, top per cent


# Orders and masks ---------------------------------------------------------------------------------


def ranking(scores: np.ndarray, maskable: np.ndarray, masked: Any) -> np.ndarray:
    """The order in which tokens are masked.

    Tokens masked already come first, then the higher score, of equal scores the earlier token.

    Args:
        scores: (tokens,) float.
        maskable: (tokens,) bool.
        masked: (tokens,) bool of the tokens masked already, or False for none.

    Returns:
        (tokens,) int: each token's place from 0; len(scores), beyond every place, where not maskable.

    Raises:
        ValueError: a maskable token has no finite score.

    Example:
        >>> ranking(np.array([0.0, 0.3, 0.9, 0.3]), np.array([False, True, True, True]), False)
        array([4, 1, 0, 2])
    """
    if unscored := (~np.isfinite(scores[maskable])).sum():
        raise ValueError(
            f"{unscored} of a text's {maskable.sum()} maskable tokens have no finite score: "
            "an attribution has to score every token of `text`"
        )
    order = np.argsort(-np.where(maskable, np.where(masked, np.inf, scores), -np.inf), kind="stable")
    places = np.empty(len(order), int)
    places[order] = np.arange(len(order))
    return np.where(maskable, places, len(order))


def top(scores: np.ndarray, maskable: np.ndarray, masked: Any, k: int) -> np.ndarray:
    """The k tokens to be masked in total, those masked already among them: (tokens,) bool; see `ranking`."""
    return ranking(scores, maskable, masked) < k


def mask(encodings: Iterable, masks: Iterable[np.ndarray], mask_id: int) -> list:
    """Encodings whose tokens at `masks`, [(tokens,) bool], are replaced by the token `mask_id`."""
    return [replace(e, ids=np.where(m, mask_id, e.ids)) for e, m in zip(encodings, masks, strict=True)]


def sparsity(scores):
    """How much of the importance the most important tokens hold (Madsen et al. 2022, appendix E).

    The share is Σ|s| of the top tokens over Σ|s| of all, a mean over examples; by "count" of the top 1 to 10
    tokens, by "ratio" of the top ⌊x · n / 100⌋, as many as a step masks. The release counts one more.

    Args:
        scores: for each example those of its maskable tokens, (tokens,); ValueError if they are not finite.

    Returns:
        Rows {by, top, share, examples}; share in [0, 1]. An example whose scores are all 0 has no shares:
        `examples` counts the others.
    """
    counts, ratios = np.array(COUNTS), np.array(RATIOS)
    shares = []
    for i, s in enumerate(scores):
        importance = np.sort(np.abs(np.asarray(s, float)))[::-1]  # (tokens,)
        n, total = len(importance), importance.sum()
        if not np.isfinite(total):
            raise ValueError(f"example {i} has NaN or infinite scores: repair them")
        if total > 0:
            held = np.append(0, importance.cumsum() / total)  # (tokens + 1,), of the top 0, 1, ..., n
            shares.append(held[np.append(counts.clip(max=n), ratios * n // 100)])
    mean = np.mean(shares, axis=0) if shares else np.full(len(counts) + len(ratios), np.nan)
    tops = [("count", top) for top in COUNTS] + [("ratio", top) for top in RATIOS]
    rows = zip(tops, mean, strict=True)
    return [{"by": by, "top": top, "share": float(s), "examples": len(shares)} for (by, top), s in rows]


# Random baselines ---------------------------------------------------------------------------------


def generator(encoding: Any, seed: int) -> np.random.Generator:
    """Random numbers that belong to an example: the same whatever the batch, order or other methods."""
    return np.random.default_rng([seed, zlib.crc32(encoding.ids.tobytes())])


def uniform(encoding: Any, generator: np.random.Generator) -> np.ndarray:
    """Independent U[0, 1) scores on maskable tokens, 0 elsewhere."""
    return _draw(encoding, generator.random)


def normal(encoding: Any, generator: np.random.Generator) -> np.ndarray:
    """Independent N(0, 1) scores on maskable tokens, 0 elsewhere: the baseline of the soft-metrics paper."""
    return _draw(encoding, generator.standard_normal)


def permuted(scores: np.ndarray, encoding: Any, generator: np.random.Generator) -> np.ndarray:
    """The matched baseline: the attribution's own scores in random order over the maskable tokens."""
    shuffled = np.array(scores)
    shuffled[encoding.maskable] = generator.permutation(shuffled[encoding.maskable])
    return shuffled


def _draw(encoding, draw):
    scores = np.zeros(len(encoding.ids))
    scores[encoding.maskable] = draw(encoding.maskable.sum())
    return scores


# Checks -------------------------------------------------------------------------------------------


def check_scores(encodings, scores):
    """Raise ValueError where {attribution: [scores (tokens,)]} do not fit the encodings or are not finite."""
    for name, rows in scores.items():
        if len(rows) != len(encodings):
            raise ValueError(
                f"{name!r} has scores of {len(rows)} examples for {len(encodings)} encodings: give as many"
            )
        for i, (s, encoding) in enumerate(zip(rows, encodings, strict=True)):
            if len(s) != len(encoding.ids):
                raise ValueError(f"{name!r}, example {i}: {len(s)} scores for {len(encoding.ids)} tokens")
            if not np.isfinite(np.asarray(s, float)[encoding.maskable]).all():
                raise ValueError(f"{name!r} has NaN or infinite scores for example {i}: repair them")


def one_of(what: str, value: Any, allowed: Iterable) -> None:
    """Raise ValueError, naming what is allowed, unless `value` is one of `allowed`."""
    Of(tuple(allowed)).check(what, value)


def whole(what, value, least=0):
    """Raise ValueError unless `value` is a whole number of at least `least`."""
    Whole(least).check(what, value)


def finite(what, value, least=-math.inf, above=False):
    """Raise ValueError unless `value` is a finite number of at least `least`, or above it."""
    Number(least, above).check(what, value)


def first_line(error):
    """The first line of an error's message, or its name; at most 200 characters."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def suggestion(name, names):
    """The end of an error message about an unknown name: those that continue it or the nearest, and all."""
    longer = [entry for entry in names if entry.startswith(f"{str(name).lower()}_")][:2]
    near = " or ".join(map(repr, longer or difflib.get_close_matches(str(name).lower(), names, 1)))
    return (f"did you mean {near}? " if near else "") + f"Known are {', '.join(names)}"
