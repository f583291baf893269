"""Leave-one-out of segments: words, sentences or passages, all at once or from the coarse to the fine.

The segments of a text are one number a token, equal for the tokens of a segment and −1 outside: (tokens,).
"""

import re

import numpy as np

from faithlib.attributions.occlusion import removable
from faithlib.forward import erased, target_values, unchanged
from faithlib.scores import one_of, whole

UNITS = ("passage", "sentence", "word", "token")
SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]]*$")


def segments(encoding, text, unit):
    """The segments of a text.

    A passage ends at a blank line; a sentence at a passage's end or a word that ends in ".", "!", "?" or "…"
    (abbreviations too); a word at a blank.

    Args:
        encoding: the Encoding of the text.
        text: the text itself.
        unit: one of UNITS.

    Returns:
        (tokens,) int, from 0 in the text's order; −1 at tokens that are not maskable.

    Raises:
        ValueError: an unknown unit, a text that has fewer words than the encoding, a token that reaches over
            the border of two segments.

    Example:
        >>> from faithlib import models
        >>> model = models.load("tiny-bert", ("no", "yes"), ["the plot was great ."])
        >>> text = "the plot was great . the plot was great ."
        >>> segments(model.encode([text])[0], text, "sentence").tolist()
        [-1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, -1]
    """
    one_of("unit", unit, UNITS)
    found = np.full(len(encoding.ids), -1)
    if unit == "token":
        found[encoding.maskable] = np.arange(encoding.maskable.sum())
        return found
    passages = [passage.split() for passage in re.split(r"\n\s*\n", text) if passage.strip()]
    of_word, number = [], 0
    for words in passages:
        for i, word in enumerate(words):
            of_word.append(number)
            ends = unit == "word" or (unit == "sentence" and SENTENCE_END.search(word))
            number += bool(ends or i == len(words) - 1)
    words = encoding.words[encoding.maskable]
    if len(words) and words.max() >= len(of_word):
        raise ValueError(
            f"text {text[:40]!r} has {len(of_word)} words, its encoding more: give the same text"
        )
    for word in np.setdiff1d(np.arange(words.max(initial=0)), words):
        after = words[words > word].min()  # its letters are in the first token of this word
        spelt = text.split()[word]
        if of_word[word] != of_word[after] and any(c.isalnum() for c in spelt):
            raise ValueError(
                f"unit={unit!r}: one token holds both {spelt!r} and {text.split()[after]!r}, of two "
                f"{unit}s: use a coarser unit, or another tokenizer"
            )
    found[encoding.maskable] = np.array(of_word)[words]
    return found


def leave_one_out(model, encodings, targets, parts, removal="mask", cache=None):
    """What the target loses when a segment is removed: y(x) − y(x without the segment).

    y is as in `occlusion.leave_one_out`; a segment of one token has the score of the token there. The cost is
    one pass a segment, plus one.

    Args:
        model: a Classifier or CausalLM.
        encodings: the examples.
        targets: (examples,) int, the class or next token explained.
        parts: the segments of each example, [(tokens,) int]; −1 is never removed.
        removal: "mask", "pad" or "delete".
        cache: a forward.Cache, or None.

    Returns:
        [{segment: score}] for each example.

    Example:
        >>> from faithlib import models
        >>> text = "the plot was great"
        >>> model = models.load("tiny-bert", ("no", "yes"), [text])
        >>> encodings = model.encode([text])
        >>> words = [segments(encodings[0], text, "word")]
        >>> sorted(leave_one_out(model, encodings, [1], words)[0])
        [0, 1, 2, 3]
    """
    variants, of, numbers = [], [], []
    for e, target, part in zip(encodings, targets, parts, strict=True):
        found = [int(n) for n in np.unique(part[removable(model, e, removal) & (part >= 0)])]
        variants += [unchanged(e), *(erased(model, e, part == n, removal) for n in found)]
        of += [target] * (1 + len(found))
        numbers.append(found)
    y = target_values(model, variants, of, model.explains, cache)
    scores, at = [], 0
    for found in numbers:
        values = y[at : at + 1 + len(found)]
        scores.append({n: float(values[0] - value) for n, value in zip(found, values[1:], strict=True)})
        at += 1 + len(found)
    return scores


def hierarchical(model, encodings, texts, targets, units=UNITS, keep=1, removal="mask", cache=None):
    """Leave-one-out from coarse to fine: only the `keep` best segments of a unit are divided further.

    Args:
        model, encodings, targets, removal, cache: as of `leave_one_out`.
        texts: the texts of the encodings.
        units: of UNITS, from coarse to fine.
        keep: how many segments of each unit are divided, those with the highest scores; at least 1.

    Returns:
        (scores, passes, flat): [{unit: {segment: score}}] for each example, of the segments that were looked
        at; how many passes each example took, and how many `leave_one_out` of the finest unit would take,
        each (examples,) int.

    Raises:
        ValueError: units that are unknown or not from coarse to fine, keep below 1.

    Example:
        >>> from faithlib import models
        >>> texts = ["a plot . a film ."]
        >>> model = models.load("tiny-bert", ("no", "yes"), texts)
        >>> encodings = model.encode(texts)
        >>> _, passes, flat = hierarchical(model, encodings, texts, [1], ("sentence", "token"))
        >>> passes.tolist(), flat.tolist()
        ([6], [7])
    """
    for unit in units:
        one_of("unit", unit, UNITS)
    whole("keep", keep, 1)
    if not units or list(units) != sorted(set(units), key=UNITS.index):
        raise ValueError(f"units={units!r}: give some of {', '.join(UNITS)}, in this order, each once")
    scores = [{} for _ in encodings]
    open_tokens = [e.maskable for e in encodings]
    for unit in units:
        whole_parts = [segments(e, text, unit) for e, text in zip(encodings, texts, strict=True)]
        parts = [np.where(free, part, -1) for free, part in zip(open_tokens, whole_parts, strict=True)]
        found = leave_one_out(model, encodings, targets, parts, removal, cache)
        for i, of_unit in enumerate(found):
            scores[i][unit] = of_unit
            best = sorted(of_unit, key=of_unit.get, reverse=True)[:keep]
            open_tokens[i] = np.isin(parts[i], best)
    passes = np.array([1 + sum(map(len, of.values())) for of in scores])
    finest = [part[removable(model, e, removal)] for e, part in zip(encodings, whole_parts, strict=True)]
    return scores, passes, np.array([1 + len(np.unique(part)) for part in finest])
