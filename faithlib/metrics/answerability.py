"""Answerability: can a judge name the completion from the words that an attribution holds important?

Ghasemi Madani et al. 2025, section 4.4. A judge takes questions, each the words shown, and gives
for each up to five answers, the most probable first.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from faithlib.options import DEFINITIONS
from faithlib.progress import bar
from faithlib.scores import check_scores, one_of

COLUMNS = ["example", "attribution", "shown", "place", "mass"]
MINIMUM = ["example", "attribution", "share", "words", "calls"]


def words(text, encoding):
    """The words of a prompt, and which of them each maskable token belongs to: ([str], (maskable,) int).

    Words are those of text.split(); one without a token of its own joins the next that has one, and words cut
    off at the end are gone. Raises ValueError for an encoding of another text.
    """
    written, of_token = text.split(), encoding.words[encoding.maskable]
    present = np.unique(of_token)
    if not len(present) or present[0] < 0 or present[-1] >= len(written):
        raise ValueError(f"the encoding is of another text than {text[:40]!r} ({len(written)} words)")
    starts = [0, *(present[:-1] + 1)]
    joined = [" ".join(written[start : last + 1]) for start, last in zip(starts, present, strict=True)]
    return joined, np.searchsorted(present, of_token)


def place(answers, gold, definition="paper"):
    """Which answer is right, from 1, or 0 if none is: the first that begins with the words of `gold`.

    Case (but with definition "released") and punctuation do not count.
    """
    wanted = _normal(gold, definition)
    right = (i for i, answer in enumerate(answers, 1) if _normal(answer, definition)[: len(wanted)] == wanted)
    return next(right, 0)


def answerability(
    texts: Sequence[str], golds: Sequence[str], encodings: Sequence, scores: Mapping[str, Sequence],
    judge: Any, share: float = 0.5, definition: str = "paper",
) -> pd.DataFrame:  # fmt: skip
    """What the judge makes of the most important words of each prompt: a DataFrame with COLUMNS.

    A word's score is the sum over its tokens; the ⌊share · n⌋ best of n words, at least one and the earlier
    of equals, are shown in the order of the text. place: the right answer's, 1 to 5, or 0. mass: of
    the shown words, Σ_shown s_w / Σ_w |s_w|, in [−1, 1], 0 where all scores are; with "released" Σ_shown s_w.
    golds: the completions. scores: {attribution: [scores (tokens,)]}. What the judge costs at most is
    printed first. Raises ValueError for another share or definition, an empty gold answer or one that the
    judge cannot name, and for scores that do not fit.
    """
    pairs = _pairs(texts, golds, encodings, scores, judge, definition)
    questions = [_shown(pair, _count(share, pair)) for pair in pairs.values()]
    _tell_cost(judge, questions)
    measured = []
    for (name, i), question, answers in zip(pairs, questions, judge(questions), strict=True):
        s = pairs[name, i][1]  # (words,)
        k, size = len(question), np.abs(s).sum()
        mass = np.sort(s)[::-1][:k].sum()
        if definition == "paper":
            mass = mass / size if size else 0.0
        measured.append((i, name, k, place(answers, golds[i], definition), float(mass)))
    return pd.DataFrame(measured, columns=COLUMNS)


def plan(
    texts: Sequence[str], golds: Sequence[str], encodings: Sequence, baselines: Mapping[str, Mapping],
    judge: Any, share: float = 0.5, others: Sequence = (),
) -> None:  # fmt: skip
    """Say what `answerability` and `minimum_top_k` ask a judge at most, before the first question is asked.

    baselines: {name: scores}, each to be judged; others: further questions. Raises JudgeError where what is
    asked for certain is beyond the judge's limit, and ValueError as `answerability` does.
    """
    every = (_pairs(texts, golds, encodings, scores, judge, "paper") for scores in baselines.values())
    pairs = [pair for of in every for pair in of.values()]
    certain = [_shown(pair, k) for pair in pairs for k in (_count(share, pair), len(pair[0]))]
    judge.check_limit([*others, *certain])
    _tell_cost(judge, [*others, *(_shown(pair, k) for pair in pairs for k in range(1, len(pair[0]) + 1))])


def rows(values: pd.DataFrame, judge: str) -> list[dict]:
    """Rate and score as rows for a record, {metric, attribution, top, judge, value, n}; higher is better.

    values: of `answerability`; judge: its name. rate: share of the n prompts whose right answer is among the
    first `top` (1 or 5). score: mean mass over the prompts answered (the paper's), no row where none is;
    score_all: over all, 0 where the answer is wrong (the release's).
    """
    measured = []
    for name, part in values.groupby("attribution", sort=False):
        for top in (1, 5):
            right = part.place.between(1, top)
            cells = {"rate": right, "score": part.mass[right], "score_all": part.mass.where(right, 0.0)}
            common = {"attribution": name, "top": top, "judge": judge}
            measured += [
                {"metric": metric, **common, "value": float(cell.mean()), "n": len(cell)}
                for metric, cell in cells.items()
                if len(cell)
            ]
    return measured


def minimum_top_k(
    texts: Sequence[str], golds: Sequence[str], encodings: Sequence, scores: Mapping[str, Sequence],
    judge: Any, top: int = 1, definition: str = "paper",
) -> pd.DataFrame:  # fmt: skip
    """The smallest share of words that the judge still needs: a DataFrame with MINIMUM; lower is better.

    The least important word is taken away until the judge fails: share = k / n for the smallest k such that
    it is right with the k, k + 1, …, n most important words, in (0, 1]; NaN where it fails with all n.
    By bisection, ⌈log2 n⌉ questions, then one between any two sizes that were answered; if one of these goes
    wrong, more words may hurt this judge and every k is asked. calls: questions put for a prompt; the judge
    remembers equal ones. top: whether the right answer must be the first, or among five.
    """
    if top not in (1, 5):
        raise ValueError(f"top={top!r}: use 1 or 5")
    pairs = _pairs(texts, golds, encodings, scores, judge, definition)
    _tell_cost(judge, [_shown(pair, k) for pair in pairs.values() for k in range(1, len(pair[0]) + 1)])
    paths = {key: _path(len(pair[0])) for key, pair in pairs.items()}
    wanted = {key: next(path) for key, path in paths.items()}  # the sizes that each path asks for next
    least, calls = {}, dict.fromkeys(pairs, 0)
    with bar(len(pairs), "removing words", "prompt") as progress:
        while wanted:
            asked = [(key, k) for key, sizes in wanted.items() for k in sizes]
            answers = judge([_shown(pairs[key], k) for key, k in asked])
            pairs_of = zip(asked, answers, strict=True)
            right = {(key, k): 0 < place(a, golds[key[1]], definition) <= top for (key, k), a in pairs_of}
            for key, sizes in list(wanted.items()):
                calls[key] += len(sizes)
                try:
                    wanted[key] = paths[key].send([right[key, k] for k in sizes])
                except StopIteration as end:
                    least[key] = end.value
                    del wanted[key]
                    progress.update()
    results = []
    for (name, i), (word_list, _) in pairs.items():
        n = len(word_list)
        results.append((i, name, least[name, i] / n if least[name, i] else np.nan, n, calls[name, i]))
    return pd.DataFrame(results, columns=MINIMUM)


def minimum_rows(values: pd.DataFrame, judge: str) -> list[dict]:
    """Means of `minimum_top_k` with top=1 as rows for a record, over the n prompts that can be answered."""
    shares = values.dropna(subset="share").groupby("attribution", sort=False).share
    common = {"metric": "min_top_k", "top": 1, "judge": judge}
    return [{**common, "attribution": name, "value": float(of.mean()), "n": len(of)} for name, of in shares]


def _path(n):
    """The sizes to ask for, a list at a time; sent whether each was right, it returns the least, or 0."""
    answers = {}
    (answers[n],) = yield [n]
    if not answers[n]:
        return 0
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        (answers[middle],) = yield [middle]
        low, high = (low, middle) if answers[middle] else (middle, high)
    sizes = sorted(k for k in answers if k >= high)
    between = [(a + b) // 2 for a, b in zip(sizes[:-1], sizes[1:], strict=True) if b - a > 1]
    if between:
        answers.update(zip(between, (yield between), strict=True))
    if all(answers[k] for k in between):
        return high
    for k in range(n - 1, 0, -1):
        if k not in answers:
            (answers[k],) = yield [k]
        if not answers[k]:
            return k + 1
    return 1


def _pairs(texts, golds, encodings, scores, judge, definition):
    """{(attribution, example): (words, their scores)}, after all that can be wrong was looked at."""
    one_of("definition", definition, DEFINITIONS)
    if not len(texts) == len(golds) == len(encodings):
        raise ValueError(
            f"{len(texts)} texts, {len(golds)} gold answers and {len(encodings)} encodings: "
            "give as many of each"
        )
    for i, gold in enumerate(golds):
        if not _normal(gold, definition):
            raise ValueError(f"the gold answer of example {i} is {gold!r}: give the completion in words")
    check_scores(encodings, scores)
    judge.check(golds)
    pairs = {}
    for i, (text, encoding) in enumerate(zip(texts, encodings, strict=True)):
        word_list, of_token = words(text, encoding)
        for name, of_texts in scores.items():
            s = np.asarray(of_texts[i], float)[encoding.maskable]
            pairs[name, i] = word_list, np.bincount(of_token, s, len(word_list))
    return pairs


def _shown(pair, k):
    """The k words of the highest scores, in the order of the text."""
    text_words, scores = pair
    chosen = np.sort(np.argsort(-scores, kind="stable")[:k])
    return tuple(text_words[w] for w in chosen)


def _count(share, pair):
    """How many of a prompt's words are shown."""
    if not 0 < share <= 1:
        raise ValueError(f"share={share} is outside (0, 1]: give the share of words to show, such as 0.5")
    return max(1, int(share * len(pair[0]) + 1e-9))


def _tell_cost(judge, questions):
    if cost := judge.cost(questions):
        print(cost)


def _normal(text, definition):
    """The words that are compared: letters and digits, or the text itself where it has none ("$")."""
    text = unicodedata.normalize("NFKC", text)
    text = text if definition == "released" else text.casefold()
    return re.findall(r"\w+", text) or text.split()
