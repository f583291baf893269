"""`by_segment` and `hierarchical`: words, sentences or passages of any texts, scored and ranked."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from faithlib.attributions import occlusion, segments
from faithlib.engine import forward
from faithlib.metrics.inputs import Inputs
from faithlib.options import REMOVALS
from faithlib.scores import one_of, whole
from faithlib.study import targets as explained
from faithlib.study.data import check_model, read
from faithlib.tasks import columns

COLUMNS = ["text", "rank", "segment", "words", "score", "p", "p_without_top", "p_only_top"]
HIERARCHY = ["text", "unit", "rank", "segment", "words", "score", "passes", "flat_passes"]


def by_segment(
    model: Any,
    data: Any,
    unit: str = "sentence",
    targets: Sequence | None = None,
    *,
    contrast: Sequence | None = None,
    removal: str = "mask",
    fixed: Sequence | None = None,
) -> pd.DataFrame:
    """Leave-one-out of segments, and what is left of the prediction when they are erased by rank.

    score is what the target loses without the segment: the sum over the tokens of an answer, minus that of
    the contrast. Segments are ranked by it. p_without_top is p without the segments up to a rank: the faster
    it falls, the more comprehensive the ranking. p_only_top is p with these segments alone: the faster it
    reaches p, the more sufficient. p is the probability of the target (of the whole answer), less that of the
    contrast. The cost is three passes a segment and token of the answer.

    Args:
        model, data, targets, contrast: as `evaluate` takes them.
        unit: "passage" (texts between blank lines), "sentence", "word" or "token".
        removal: what takes a token's place: "mask", "pad" or "delete".
        fixed: one a text: the part that is never removed and has no row, such as the question in a prompt: a
            substring, or a list of substrings, of spans of characters (start, end) or of indices of words;
            None for no part.

    Returns:
        A DataFrame, a row for each segment, texts in order and segments by rank: text (its number), rank
        (from 1), segment (its place in the text, from 0), words, score, p, p_without_top, p_only_top.

    Raises:
        ValueError: as `evaluate`; a token that holds words of two segments; fixed that is not in its text.

    Example:
        >>> from faithlib import load_model
        >>> texts = ["the plot was great . it was long .", "a film ."]
        >>> model = load_model("tiny-bert", data=texts, labels=("no", "yes"), new_head=True)
        >>> by_segment(model, texts)[["text", "rank"]].values.tolist()
        [[0, 1], [0, 2], [1, 1]]
    """
    one_of("unit", unit, segments.UNITS)
    texts, encodings, of, wanted, cache = _prepared(model, data, [unit], targets, contrast, removal, fixed)
    parts = of[unit]
    of_answers = {"answers": wanted.answers, "contrast": wanted.contrast}
    inputs = Inputs(model, encodings, wanted.first, cache=cache, **of_answers)
    rows, variants = [], []
    for i, losses in enumerate(explained.left_out(model, encodings, wanted, parts, removal, cache)):
        e, part = encodings[i], parts[i]
        scores = {int(n): losses.get(n, 0.0) for n in np.unique(part[part >= 0])}
        words = _words(e, part, texts[i], unit, model)
        free = occlusion.removable(model, e, removal) & (part >= 0)
        for rank, n in enumerate(ranked := _ranked(scores), 1):
            rows.append([i, rank, n, words[n], scores[n], inputs.p_full[i]])
            top = np.isin(part, ranked[:rank]) & free
            variants += [forward.erased(model, e, positions, removal) for positions in (top, free & ~top)]
    p = inputs.target_probabilities(variants, np.repeat([row[0] for row in rows], 2)).reshape(-1, 2)
    return pd.DataFrame([[*row, *pair] for row, pair in zip(rows, p.tolist(), strict=True)], columns=COLUMNS)


def hierarchical(
    model: Any,
    data: Any,
    units: Sequence[str] = segments.UNITS,
    targets: Sequence | None = None,
    *,
    contrast: Sequence | None = None,
    removal: str = "mask",
    fixed: Sequence | None = None,
    keep: int = 1,
) -> pd.DataFrame:
    """Leave-one-out from coarse to fine: only the `keep` best segments of a unit are divided further.

    passes is how many different inputs of a text the search asks the model for, each with each token of the
    answer and the contrast; flat_passes is the same for leave-one-out of all segments of the finest unit.

    Args:
        model, data, targets, contrast, removal: as `by_segment` takes them.
        units: some of "passage", "sentence", "word" and "token", in this order.
        fixed: as `by_segment` takes it; a fixed part is neither removed nor divided.
        keep: how many segments of each unit are divided, those with the highest scores; at least 1.

    Returns:
        A DataFrame, a row for each segment that was looked at, of each text and unit by rank: text, unit,
        rank, segment, words, score (as of `by_segment`), passes, flat_passes. Segments that `removal` would
        not change are not looked at.

    Raises:
        ValueError: as `by_segment`; units that are not from coarse to fine; keep below 1.

    Example:
        >>> from faithlib import load_model
        >>> texts = ["a plot . a film ."]
        >>> model = load_model("tiny-bert", data=texts, labels=("no", "yes"), new_head=True)
        >>> table = hierarchical(model, texts, ["sentence", "token"])
        >>> table[["unit", "passes", "flat_passes"]].values.tolist()[::4]
        [['sentence', 6, 7], ['token', 6, 7]]
    """
    whole("keep", keep, 1)
    listed = isinstance(units, (list, tuple)) and units
    for unit in listed or ():
        one_of("unit", unit, segments.UNITS)
    if not listed or list(units) != sorted(set(units), key=segments.UNITS.index):
        allowed = ", ".join(segments.UNITS)
        raise ValueError(f"units={units!r}: give a list of some of {allowed}, in this order, each once")
    texts, encodings, of, wanted, cache = _prepared(model, data, units, targets, contrast, removal, fixed)
    open_tokens = [part >= 0 for part in of[units[-1]]]
    rows: list[list] = [[] for _ in encodings]
    asked: list[set] = [set() for _ in encodings]
    flat = [0 for _ in encodings]
    for unit in units:
        parts = [np.where(free, part, -1) for free, part in zip(open_tokens, of[unit], strict=True)]
        for i, scores in enumerate(explained.left_out(model, encodings, wanted, parts, removal, cache)):
            words = _words(encodings[i], parts[i], texts[i], unit, model)
            for rank, n in enumerate(ranked := _ranked(scores), 1):
                rows[i].append([i, unit, rank, n, words[n], scores[n]])
            asked[i] |= _asked(model, encodings[i], parts[i], wanted, i, removal)
            flat[i] = len(_asked(model, encodings[i], of[unit][i], wanted, i, removal))  # last: the finest
            open_tokens[i] = np.isin(parts[i], ranked[:keep])
    every = [[*row, len(asked[i]), flat[i]] for i, of_text in enumerate(rows) for row in of_text]
    return pd.DataFrame(every, columns=HIERARCHY)


def _prepared(model, data, units, targets, contrast, removal, fixed):
    """(texts, encodings, {unit: parts}, Targets, cache), all refused that can be before the first pass."""
    check_model(model)
    one_of("removal", removal, REMOVALS)
    texts, cache = read(data), forward.Cache()
    (encodings, _), of_texts = texts.encode(model), texts.column("text")
    rows = list(zip(encodings, of_texts, _fixed(fixed, of_texts), strict=True))
    parts = {unit: [segments.segments(e, text, unit, f) for e, text, f in rows] for unit in units}
    if nothing := [i for i, part in enumerate(parts[units[-1]]) if not (part >= 0).any()]:
        raise ValueError(f"fixed covers all of text {nothing[0]}: leave out what may be removed")
    explained.resolve(model, texts, encodings, targets, contrast)
    predicted = explained.predictions(model, encodings, cache)
    wanted = explained.resolve(model, texts, encodings, targets, contrast, predicted)
    return of_texts, encodings, parts, wanted, cache


def _fixed(fixed, texts):
    """The indices of the words of each text that are never removed, [[int]]."""
    if fixed is None:
        return [()] * len(texts)
    if isinstance(fixed, str) or not hasattr(fixed, "__len__") or len(fixed) != len(texts):
        raise ValueError(f"fixed={str(fixed)[:40]!r}: give one for each of {len(texts)} texts")
    evidence = []
    for i, (part, text) in enumerate(zip(fixed, texts, strict=True)):
        if isinstance(part, str) and part.strip() and part in text:
            part = [part]  # "[2]" in a text is no list in JSON
        phrases = [x for x in part if isinstance(x, str)] if isinstance(part, list) else []
        try:
            of_phrases = {x: columns.occurrences(x, text) for x in phrases}
            evidence += columns.evidence([part], [text], "fixed", "data")
        except columns.NotEvidence as error:
            raise ValueError(f"fixed of text {i}: {error.reason}") from None
        if often := [x for x, spans in of_phrases.items() if len(spans) > 1]:
            raise ValueError(
                f"fixed of text {i}: {often[0][:40]!r} stands {len(of_phrases[often[0]])} times in it: give "
                f"its span of characters, such as [{of_phrases[often[0]][0]}] for the first"
            )
        if evidence[-1] and np.ndim(evidence[-1]) > 1:
            raise ValueError(f"fixed of text {i}: it ends inside a word: give whole words")
    return evidence


def _ranked(scores):
    """Segments by score, of equal ones the earlier first."""
    return sorted(scores, key=lambda n: (-scores[n], n))


def _asked(model, encoding, part, wanted, i, removal):
    """What leave-one-out of these segments asks the model for: {(ids, token)}, each computed once."""
    answers = [wanted.listed[i]] + ([] if wanted.contrast is None else [wanted.contrast[i]])
    steps = {(answer[:k], answer[k]) for answer in answers for k in range(len(answer))}
    if not hasattr(model, "prefix"):
        steps = {((), "all")}  # one pass has the outputs of all classes
    inputs = [forward.unchanged(encoding), *segments.without_each(model, encoding, part, removal).values()]
    return {((*v.encoding.ids.tolist(), *before), token) for v in inputs for before, token in steps}


def _words(encoding, parts, text, unit, model):
    """{segment: its words}."""
    if unit == "token":
        tokens = model.tokenizer.convert_ids_to_tokens(encoding.ids.tolist())
        return {int(n): tokens[at] for at, n in enumerate(parts) if n >= 0}
    if encoding.spans is not None and any(len(set(parts[encoding.words == w])) > 1 for w in encoding.words):
        spans = {int(n): encoding.spans[parts == n] for n in np.unique(parts[parts >= 0])}
        return {n: text[of[:, 0].min() : of[:, 1].max()].strip() for n, of in spans.items()}
    of_word = dict(zip(encoding.words[parts >= 0].tolist(), parts[parts >= 0].tolist(), strict=True))
    words_of = {}
    for at, word in enumerate(text.split()):
        words_of.setdefault(of_word.get(at), []).append(word)
    return {n: " ".join(words) for n, words in words_of.items()}
