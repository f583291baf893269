"""Plausibility: how well scores agree with evidence that is known, example by example.

Evidence is a set of words: those a generated corpus was built on, or those a person marked; it tells what a
model *should* have used. The metrics look at the order of the scores of the n maskable tokens, h of which are
evidence: what speaks against the target ranks last.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score

from faithlib.scores import check_scores

COLUMNS = ["example", "attribution", "metric", "value", "chance"]
PART_COLUMNS = ["example", "attribution", "part", "share", "chance"]
BETTER = {"auprc": "higher", "precision": "higher", "first_hit": "lower"}  # the metrics, by direction


def auprc(scores, true):
    """Area under the precision-recall curve as average precision, in (0, 1], higher is better.

    AP = Σ_k (R_k − R_{k−1}) · P_k over the distinct scores, from the highest
    (`sklearn.metrics.average_precision_score`, used for rationales by DeYoung et al. 2020): constant scores
    have h/n. scores, true: (maskable tokens,) float and bool.
    """
    return float(average_precision_score(true, scores))


def precision(scores, true):
    """Share of evidence among the h highest scores, in [0, 1], higher is better.

    Where scores are tied at the edge, the expectation over all ways to break the tie.
    """
    edge, h = np.sort(scores)[::-1][true.sum() - 1], true.sum()
    above, tied = scores > edge, scores == edge
    return float((true[above].sum() + (h - above.sum()) * true[tied].mean()) / h)


def first_hit(scores, true):
    """Rank of the highest token that is evidence, from 1 for the best to n − h + 1, lower is better.

    The expectation over all ways to break ties: e marked among g tied tokens come first at (g + 1)/(e + 1).
    """
    best = scores[true].max()
    tied = scores == best
    return float((scores > best).sum() + (tied.sum() + 1) / (true[tied].sum() + 1))


def chance(n, h):
    """{metric: its expectation} for n tokens in random order, h of them evidence, 1 ≤ h ≤ n.

    precision: h/n. first_hit: (n + 1)/(h + 1). auprc: [H_n + (n − H_n)(h − 1)/(n − 1)]/n, H_n = 1 + … + 1/n.
    """
    harmonic = (1 / np.arange(1, n + 1)).sum()
    others = (h - 1) / (n - 1) if n > 1 else 0.0
    area = (harmonic + (n - harmonic) * others) / n
    return {"auprc": float(area), "precision": h / n, "first_hit": (n + 1) / (h + 1)}


def evidence_tokens(encoding: Any, words: Sequence) -> np.ndarray:
    """The maskable tokens of the evidence, (tokens,) bool.

    words: indices into text.split(), or spans of characters of the text, [(start, end)], of which every token
    that overlaps one counts. Raises ValueError for something else, and for spans where the encoding has none.
    """
    indices = np.asarray(words)
    if indices.size and not (np.issubdtype(indices.dtype, np.integer) and indices.min() >= 0):
        raise ValueError(f"evidence {list(words)!r}: give indices of words, whole numbers from 0 on")
    if indices.ndim < 2:
        if indices.size > 2 and indices.max() < 2:
            raise ValueError(f"evidence {list(words)!r} is a mask: give the indices of words, where it is 1")
        return encoding.maskable & np.isin(encoding.words, indices)
    if encoding.spans is None:
        raise ValueError(f"evidence {list(words)!r}: this model knows no characters: give indices of words")
    (first, last), (start, end) = encoding.spans.T[..., None], indices.T  # (tokens, 1), (spans,)
    return encoding.maskable & ((first < end) & (start < last)).any(1)


def plausibility(encodings: Sequence, evidence: Sequence, scores: Mapping[str, Sequence]) -> pd.DataFrame:
    """Agreement of scores with evidence: a DataFrame, one row a value, with COLUMNS.

    evidence: for each example the indices of its evidence words; scores: {attribution: [scores (tokens,) of
    each example]}. `chance` is the value of a random order. An example that has no evidence among its tokens
    has NaN for both. Raises ValueError where lengths do not belong together or scores are not finite.
    """
    if len(evidence) != len(encodings):
        raise ValueError(f"evidence of {len(evidence)} examples for {len(encodings)} encodings: give as many")
    check_scores(encodings, scores)
    rows = []
    for i, (encoding, words) in enumerate(zip(encodings, evidence, strict=True)):
        true = evidence_tokens(encoding, words)[encoding.maskable]
        level = chance(len(true), int(true.sum())) if true.any() else dict.fromkeys(BETTER, np.nan)
        for name, of_texts in scores.items():
            s = np.asarray(of_texts[i], float)[encoding.maskable]
            for metric, value in zip(BETTER, (auprc, precision, first_hit), strict=True):
                rows.append((i, name, metric, value(s, true) if true.any() else np.nan, level[metric]))
    return pd.DataFrame(rows, columns=COLUMNS)


def without_evidence(encodings: Sequence, evidence: Sequence) -> list[dict]:
    """What evidence there is not, as rows for a record's `excluded`: {what, why, n}, each with n > 0."""
    units = [np.unique(words, axis=0) for words in evidence]  # words, or spans
    marked = np.array([len(of_text) for of_text in units])
    pairs = zip(encodings, units, strict=True)
    left = np.array([sum(evidence_tokens(e, [unit]).any() for unit in of) for e, of in pairs])
    cut = "the end of the text was cut"
    rows = [
        ("no value: no evidence", "none is marked in the text", marked == 0),
        ("no value: no evidence left", cut, (marked > 0) & (left == 0)),
        ("a part of the evidence missing", cut, (left > 0) & (left < marked)),
    ]
    return [{"what": what, "why": why, "n": int(which.sum())} for what, why, which in rows if which.any()]


# Registered metrics -------------------------------------------------------------------------------


def auprc_of(inputs, scores):
    """`auprc` of one attribution's scores against the evidence of each text: (examples,), NaN without any."""
    return _of_evidence(inputs, scores, auprc)


def precision_of(inputs, scores):
    """`precision` of one attribution's scores against the evidence of each text: (examples,)."""
    return _of_evidence(inputs, scores, precision)


def first_hit_of(inputs, scores):
    """`first_hit` of one attribution's scores against the evidence of each text: (examples,)."""
    return _of_evidence(inputs, scores, first_hit)


def _of_evidence(inputs, scores, metric):
    values = []
    for encoding, words, s in zip(inputs.encodings, inputs.evidence, scores, strict=True):
        true = evidence_tokens(encoding, words)[encoding.maskable]
        values.append(metric(np.asarray(s, float)[encoding.maskable], true) if true.any() else np.nan)
    return np.array(values)


# Parts of a text -----------------------------------------------------------------------------------


def words_of(text, phrase):
    """Indices of the words of text.split() that hold a letter or digit of `phrase`, where it first occurs.

    "Japan" is the word "Japan,". Raises ValueError for a phrase that the text does not have.
    """
    start = text.find(phrase := phrase.strip())
    if start < 0:
        raise ValueError(f"{phrase!r} is not in {text[:40]!r}: give a part as the text has it")
    first = len(text[: start + 1].split()) - 1
    return list(range(first, first + len(phrase.split())))


def part_shares(encodings: Sequence, parts: Sequence, scores: Mapping[str, Sequence]) -> pd.DataFrame:
    """The share of each part in the scores of a text: a DataFrame, one row a value, with PART_COLUMNS.

    share = Σ_(i in part) |s_i| / Σ_i |s_i| over the maskable tokens, in [0, 1], NaN where all scores are 0;
    chance: the part's share of the tokens. After Figure 2 of Ghasemi Madani et al. 2025, which adds up the
    scores themselves; absolute ones are shares where signs are mixed. parts: for each example {part: indices
    of its words}; scores: {attribution: [(tokens,)]}. Raises ValueError where lengths do not belong together
    and for scores that are not finite.
    """
    if len(parts) != len(encodings):
        raise ValueError(f"parts of {len(parts)} examples for {len(encodings)} encodings: give as many")
    check_scores(encodings, scores)
    rows = []
    for i, (encoding, named) in enumerate(zip(encodings, parts, strict=True)):
        for name, of_texts in scores.items():
            size = np.abs(np.asarray(of_texts[i], float)) * encoding.maskable
            for part, words in named.items():
                tokens = evidence_tokens(encoding, words)
                share = size[tokens].sum() / size.sum() if size.any() else np.nan
                rows.append((i, name, part, share, tokens.sum() / encoding.maskable.sum()))
    return pd.DataFrame(rows, columns=PART_COLUMNS)
