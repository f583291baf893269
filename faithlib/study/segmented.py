"""`by_segment`: words, sentences or passages scored, ranked and erased, of any texts, as one table."""

import numpy as np
import pandas as pd

from faithlib import forward
from faithlib.attributions import segments
from faithlib.attributions.occlusion import removable
from faithlib.metrics.inputs import Inputs
from faithlib.scores import one_of
from faithlib.study import targets as explained
from faithlib.study.data import read

COLUMNS = ["text", "rank", "segment", "words", "score", "p", "p_without_top", "p_only_top"]


def by_segment(model, data, unit="sentence", targets=None, *, contrast=None, removal="mask"):
    """Leave-one-out of segments, and what is left of the prediction when they are erased by rank.

    score is what the target loses without the segment: the sum over the tokens of an answer, minus that of
    the contrast; 0 where nothing would change. Segments are ranked by it. p_without_top is p without the
    segments up to a rank: the faster it falls, the more comprehensive the ranking. p_only_top is p with these
    segments alone: the faster it reaches p, the more sufficient. p is the probability of the target (of the
    whole answer), less that of the contrast. The cost is three passes a segment and token of the answer.

    Args:
        model: a `Classifier` or `CausalLM`, as `load_model` gives.
        data: as `evaluate` takes it.
        unit: "passage" (texts between blank lines), "sentence", "word" or "token".
        targets, contrast: as `evaluate` takes them; by default what the model predicts.
        removal: what takes a token's place: "mask", "pad" or "delete".

    Returns:
        A DataFrame, a row for each segment, texts in order and segments by rank: text (its number), rank
        (from 1), segment (its place in the text, from 0), words, score, p, p_without_top, p_only_top.

    Raises:
        ValueError: as `evaluate`; an unknown unit or removal; a token that reaches over two segments.

    Example:
        >>> from faithlib import load_model
        >>> texts = ["the plot was great . it was long .", "a film ."]
        >>> model = load_model("tiny-bert", data=texts, labels=("no", "yes"), new_head=True)
        >>> by_segment(model, texts)[["text", "rank"]].values.tolist()
        [[0, 1], [0, 2], [1, 1]]
    """
    one_of("removal", removal, forward.REMOVALS)
    texts, cache = read(data), forward.Cache()
    encodings = texts.encode(model)
    parts = [segments.segments(e, text, unit) for e, text in zip(encodings, texts.frame.text, strict=True)]
    explained.resolve(model, texts, encodings, targets, contrast)  # refused before any pass
    predicted, _ = explained.predictions(model, encodings, cache)
    wanted = explained.resolve(model, texts, encodings, targets, contrast, predicted)
    inputs = Inputs(
        model, encodings, wanted.first, cache=cache, answers=wanted.answers, contrast=wanted.contrast
    )
    rows, variants = [], []
    for i, found in enumerate(explained.left_out(model, encodings, wanted, parts, removal, cache)):
        e, part = encodings[i], parts[i]
        scores = {int(n): found.get(n, 0.0) for n in np.unique(part[part >= 0])}
        words, free = _words(e, part, texts.frame.text[i], unit, model), removable(model, e, removal)
        ranked = sorted(scores, key=lambda n, scores=scores: (-scores[n], n))
        for rank, n in enumerate(ranked, 1):
            rows.append([i, rank, n, words[n], scores[n], inputs.p_full[i]])
            top = np.isin(part, ranked[:rank]) & free
            variants += [forward.erased(model, e, where, removal) for where in (top, free & ~top)]
    p = inputs.target_probabilities(variants, np.repeat([row[0] for row in rows], 2)).reshape(-1, 2)
    return pd.DataFrame([[*row, *pair] for row, pair in zip(rows, p.tolist(), strict=True)], columns=COLUMNS)


def _words(encoding, parts, text, unit, model):
    """{segment: its words}."""
    if unit == "token":
        tokens = model.tokenizer.convert_ids_to_tokens(encoding.ids.tolist())
        return {int(n): tokens[at] for at, n in enumerate(parts) if n >= 0}
    of_word = dict(zip(encoding.words[parts >= 0].tolist(), parts[parts >= 0].tolist(), strict=True))
    found = {}
    for at, word in enumerate(text.split()):
        found.setdefault(of_word.get(at), []).append(word)
    return {n: " ".join(words) for n, words in found.items()}
