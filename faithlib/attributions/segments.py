"""Leave-one-out of segments: words, sentences or passages, of one class or token; see also `study.segmented`.

The segments of a text are one number a token, equal for the tokens of a segment and −1 outside: (tokens,).
"""

import re

import numpy as np

from faithlib.attributions.occlusion import drops, removable
from faithlib.engine.forward import check_outputs, erased
from faithlib.options import REMOVALS
from faithlib.scores import one_of

UNITS = ("passage", "sentence", "word", "token")
SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]]*$")
WIDE_END = re.compile(r"[。！？｡]+[”’」』）]*")  # of a sentence that no blank follows


def segments(encoding, text, unit, fixed=()):
    """The segments of a text: (tokens,) int, from 0 in its order; −1 at tokens not maskable or fixed.

    A passage ends at a blank line; a sentence at a passage's end, a word that ends in ".", "!", "?" or "…"
    (abbreviations too), or "。", "！" or "？"; a word at a blank.

    Args:
        encoding: the Encoding of the text.
        text: the text itself.
        unit: one of UNITS.
        fixed: indices of words of `text.split()` that are never removed: they belong to no segment.

    Raises:
        ValueError: an unknown unit, a text that has fewer words than the encoding, a word without a token of
            its own that shares one with a word of another segment, or of which one alone is fixed.

    Example:
        >>> from faithlib import models
        >>> text = "the plot was great . the plot was great ."
        >>> model = models.load("tiny-bert", ("no", "yes"), [text])
        >>> segments(model.encode([text])[0], text, "sentence").tolist()
        [-1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, -1]
    """
    one_of("unit", unit, UNITS)
    owners, words = np.full(len(encoding.ids), -1), encoding.words[encoding.maskable]
    of_word = _of_words(text, unit)
    if len(words) and words.max() >= len(of_word):
        raise ValueError(f"text {text[:40]!r} has {len(of_word)} words, its encoding more: give that text")
    for word in np.setdiff1d(np.arange(words.max(initial=0)), words):
        after = words[words > word].min()  # its letters are in the first token of this word
        spelt, behind = text.split()[word], text.split()[after]
        if not any(c.isalnum() for c in spelt):
            continue
        if unit != "token" and of_word[word] != of_word[after]:
            raise ValueError(
                f"unit={unit!r}: one token holds both {spelt!r} and {behind!r}, of two "
                f"{unit}s: use a coarser unit, or another tokenizer"
            )
        if (word in fixed) != (after in fixed):
            raise ValueError(
                f"fixed: one token holds both {spelt!r} and {behind!r}, and one of them is fixed: fix both "
                "or neither, or use another tokenizer"
            )
    numbers = np.arange(len(words)) if unit == "token" else np.array(of_word, int)[words]
    ends = [match.end() for match in WIDE_END.finditer(text)] if unit == "sentence" else []
    if ends and encoding.spans is not None:
        passed = np.searchsorted(ends, encoding.spans[encoding.maskable, 1] - 1, side="right")
        numbers = np.unique(numbers + passed, return_inverse=True)[1]
    owners[encoding.maskable] = np.where(np.isin(words, list(fixed)), -1, numbers)
    return owners


def _of_words(text, unit):
    """The segment of each word of a text, [int]; with the unit "token" as with "word"."""
    of_word, number = [], 0
    for passage in re.split(r"\n\s*\n", text):
        words = passage.split()
        for i, word in enumerate(words):
            of_word.append(number)
            ends = unit in ("word", "token") or (unit == "sentence" and SENTENCE_END.search(word))
            number += bool(ends or i == len(words) - 1)
    return of_word


def leave_one_out(model, encodings, targets, parts, removal="mask", cache=None):
    """What the target loses when a segment is removed: [{segment: y(x) − y(x without the segment)}].

    y is as in `occlusion.leave_one_out`; a segment of one token has the score of the token there. The cost is
    one pass a segment, plus one.

    Args:
        encodings: the examples.
        targets: (examples,) int, the class or next token explained.
        parts: the segments of each example, [(tokens,) int]; −1 is never removed.

    Raises:
        ValueError: targets or parts of another number than the examples, a target that the model does not
            have, parts of another length than their example, an unknown removal.
    """
    _check(model, encodings, targets, parts, removal)
    variants = [without_each(model, e, part, removal) for e, part in zip(encodings, parts, strict=True)]
    values = drops(model, encodings, targets, [list(v.values()) for v in variants], model.explains, cache)
    return [dict(zip(v, of_text.tolist(), strict=True)) for v, of_text in zip(variants, values, strict=True)]


def without_each(model, encoding, part, removal="mask"):
    """The inputs without one segment each, {segment: forward.Variant}, of segments that `removal` changes."""
    numbers = np.unique(part[removable(model, encoding, removal) & (part >= 0)])
    return {int(n): erased(model, encoding, part == n, removal) for n in numbers}


def _check(model, encodings, targets, parts, removal):
    """Raise ValueError for arguments of `leave_one_out` that do not belong together, before any pass."""
    one_of("removal", removal, REMOVALS)
    for what, values in {"targets": targets, "parts": parts}.items():
        if isinstance(values, str) or not hasattr(values, "__len__") or len(values) != len(encodings):
            raise ValueError(f"{what}={str(values)[:40]!r}: give one for each of {len(encodings)} encodings")
    check_outputs(model, "target", targets)
    for i, (e, part) in enumerate(zip(encodings, parts, strict=True)):
        if np.shape(part) != np.shape(e.ids):
            raise ValueError(
                f"parts of encoding {i} have the shape {np.shape(part)}, it has {len(e.ids)} tokens: give "
                "what segments(encoding, text, unit) returns"
            )
