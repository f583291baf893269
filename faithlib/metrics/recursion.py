"""Recursive masking: mask more and more of a text, asking anew at every step what is important in the rest.

Algorithm 3 of Madsen et al. 2024 (section 3.4, appendix F.3): Recursive ROAR without the retraining, for
models that support masks.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from faithlib.engine import batching, forward
from faithlib.metrics.performance import performance as metrics_of
from faithlib.progress import bar
from faithlib.scores import RANDOM, check_scores, generator, mask, ranking, top, uniform

RATIOS = tuple(range(10, 101, 10))
NEVER = 101  # beyond every ratio: of tokens that no step masks, such as special ones


def recursive_masking(
    model: Any, encodings: Sequence, scores_of: Callable[[list, np.ndarray, list], dict], families: Sequence,
    ratios: Sequence[int] = RATIOS, once: Sequence[str] = (), seed: int = 0,
    seconds: dict[str, float] | None = None,
) -> dict[str, list[np.ndarray]]:  # fmt: skip
    """The ratio at which each token is masked: {measure: [(tokens,) int of each encoding]}.

    At ratio r, in per cent, the ⌊r · n / 100⌋ most important of the n maskable tokens are masked in total, by
    scores of the input as the ratio before left it; what is masked stays masked, and of equal scores the
    first goes first. Special tokens and text_b have NEVER. Nothing is asked at 100 %.
    scores_of(encodings, examples, measures) -> {measure: [(tokens,)]}: scores of these inputs; examples,
    (inputs,) int, are their places in `encodings`.
    families: tuples of measures whose scores one pass yields (a name is a family of its own); those that have
    masked the same tokens of a text so far are asked about it at once. once: measures that are asked about
    the unmasked input alone and then only ranked. The baseline "random" is the first draw of
    `random_masking`. seconds: a dict that receives {measure: seconds that its scores took}.
    Raises ValueError for a text that masking could not change, one longer than the model, a model without a
    mask token, ratios that do not increase, measures given twice, and scores missing or not finite.
    """
    families = [(family,) if isinstance(family, str) else tuple(family) for family in families]
    _check(model, encodings, families, ratios, once)
    seconds = {} if seconds is None else seconds
    masked_at = {RANDOM: random_masking(model, encodings, ratios, seed)[0]}
    for family in families:
        straight, recursive = ([m for m in family if (m in once) == kind] for kind in (True, False))
        anew = sum(len(due) for _, due, _ in _steps(encodings, ratios))
        total = len(straight) * len(encodings) + len(recursive) * anew
        with bar(total, f"masking by {family[0]}", "text") as progress:
            ask = partial(_ask, model, scores_of, seconds, progress)
            if straight:
                scores = ask(encodings, range(len(encodings)), straight)
                masked_at |= _ranked(model, encodings, scores, ratios)
            masked_at |= _recursive(model, encodings, ask, recursive, ratios)
    return masked_at


def random_masking(
    model: Any, encodings: Sequence, ratios: Sequence[int] = RATIOS, seed: int = 0, draws: int = 1
) -> list[list[np.ndarray]]:
    """The ratio at which each token is masked at random: for each draw [(tokens,) int of each encoding].

    One uniform number a token ranks a text's tokens, in a stream of `seed` and its ids: fewer draws are the
    first of more. ratios: increasing, per cent of the maskable tokens masked in total.

    Example:
        >>> from faithlib import models
        >>> model = models.load("tiny-bert", ("no", "yes"), ["the plot was great"])
        >>> one, two = random_masking(model, model.encode(["the plot was great"]), (50, 100), draws=2)
        >>> sorted(one[0].tolist())  # of six tokens two are special
        [50, 50, 100, 100, 101, 101]
    """
    generators = [generator(e, seed) for e in encodings]
    scores = {k: [uniform(e, g) for e, g in zip(encodings, generators, strict=True)] for k in range(draws)}
    return list(_ranked(model, encodings, scores, ratios).values())


def performance(
    model: Any, encodings: Sequence, labels: Sequence[int] | np.ndarray, masked_at: dict,
    ratios: Sequence[int] = RATIOS, cache: forward.Cache | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:  # fmt: skip
    """What a model does while tokens are masked: two DataFrames (curves, predictions).

    masked_at: as `recursive_masking` finds it. curves: per measure and step, 0 and the ratios, one row a
    metric of `metrics.performance` with its value, the tokens masked in total over all texts (masked_tokens)
    and the texts in which the step masked nothing new (unchanged_texts). predictions: per measure, step and
    example the predicted class and the probability of the label (p_gold). cache: a forward.Cache.
    """
    cache = forward.Cache() if cache is None else cache
    labels, examples = np.asarray(labels), np.arange(len(encodings))
    curves, predictions = [], []
    with bar(len(masked_at) * (1 + len(ratios)), "masking", "step") as progress:
        for measure, at in masked_at.items():
            before = np.zeros(len(encodings), int)
            for step in (0, *ratios):
                masks = [a <= step for a in at]
                pairs = zip(encodings, masks, strict=True)
                variants = [forward.replaced(e, m, model.mask_id) for e, m in pairs]
                p = forward.probabilities(model, variants, cache, progress.update)  # (examples, classes)
                predicted, masked = p.argmax(-1), np.array([m.sum() for m in masks])
                point = {"measure": measure, "step": step}
                about = {"masked_tokens": masked.sum(), "unchanged_texts": (masked == before).sum()}
                measured = metrics_of(predicted, labels).items()
                curves += [{**point, "metric": metric, "value": v, **about} for metric, v in measured]
                of_texts = {"example": examples, "predicted": predicted, "p_gold": p[examples, labels]}
                predictions.append(pd.DataFrame({**point, **of_texts}))
                before = masked
    return pd.DataFrame(curves), pd.concat(predictions, ignore_index=True)


def _recursive(model, encodings, ask, measures, ratios):
    """The ratios of measures that are asked anew at every step."""
    rest = 100 if ratios[-1] == 100 else NEVER  # what no earlier step masks
    levels = {m: [np.where(e.maskable, rest, NEVER) for e in encodings] for m in measures}
    for step, due, k in _steps(encodings, ratios):
        for alike, examples in _alike(levels, due, step).items():
            before = [levels[alike[0]][i] < step for i in examples]
            inputs = mask([encodings[i] for i in examples], before, model.mask_id)
            for m, scores in ask(inputs, examples, alike).items():
                for i, e, s in zip(examples, inputs, scores, strict=True):
                    chosen = top(s, e.maskable, _masked(model, e), k[i])
                    levels[m][i][chosen] = levels[m][i][chosen].clip(max=step)
    return levels


def _ranked(model, encodings, scores, ratios):
    """The ratios of measures whose scores of the unmasked input, {measure: [(tokens,)]}, rank all tokens."""
    masked_at, levels = {}, np.append(ratios, NEVER)
    for m, of_texts in scores.items():
        places = [ranking(s, e.maskable, _masked(model, e)) for s, e in zip(of_texts, encodings, strict=True)]
        pairs = zip(_totals(encodings, ratios).T, places, strict=True)
        masked_at[m] = [levels[np.searchsorted(k, place, side="right")] for k, place in pairs]
    return masked_at


def _totals(encodings, ratios):
    """Tokens masked in total: (ratios, texts)."""
    return np.array(ratios)[:, None] * [e.maskable.sum() for e in encodings] // 100


def _steps(encodings, ratios):
    """Each ratio below 100, the texts of which it masks more than the one before, and totals (texts,)."""
    totals = _totals(encodings, ratios)
    rows = zip(ratios, np.diff(totals, axis=0, prepend=0) > 0, totals, strict=True)
    return [(step, np.flatnonzero(new), k) for step, new, k in rows if step < 100]


def _alike(levels, due, step):
    """Texts by the measures that mask the same of them before a step: {measures: [examples]}."""
    groups = {}
    for i in due:
        same = {}
        for m, at in levels.items():
            same.setdefault((at[i] < step).tobytes(), []).append(m)
        for measures in same.values():
            groups.setdefault(tuple(measures), []).append(i)
    return groups


def _masked(model, encoding):
    return encoding.maskable & (encoding.ids == model.mask_id)


def _ask(model, scores_of, seconds, progress, inputs, examples, measures):
    """{measure: [(tokens,) of each input]}, a batch at a time: time is taken, and progress is seen."""
    results, examples = {m: [None] * len(inputs) for m in measures}, np.array(examples)
    lengths = [len(e.ids) for e in inputs]
    for rows in batching.batches_by_length(lengths, batching.token_budget(model)):
        part, start = [inputs[row] for row in rows], time.perf_counter()
        scores = scores_of(part, examples[rows], measures)
        spent = time.perf_counter() - start
        if missing := [m for m in measures if m not in scores]:
            raise ValueError(f"scores_of returns no {missing[0]!r}: return scores of every measure")
        for m in measures:
            check_scores(part, {m: scores[m]})
            seconds[m] = seconds.get(m, 0) + spent
            for row, s in zip(rows, scores[m], strict=True):
                results[m][row] = s
        progress.update(len(rows) * len(measures))
    return results


def _check(model, encodings, families, ratios, once):
    names = [RANDOM, *(m for family in families for m in family)]
    if twice := [m for m in names if names.count(m) > 1]:
        raise ValueError(f"measure {twice[0]!r} is given twice ({RANDOM!r} is always there): give each once")
    if unknown := [m for m in once if m not in names]:
        raise ValueError(f"once={list(once)}: {unknown[0]!r} is not one of the measures")
    whole = all(isinstance(r, int) and not isinstance(r, bool) and 0 < r <= 100 for r in ratios)
    if not len(ratios) or not whole or list(ratios) != sorted(set(ratios)):
        raise ValueError(f"ratios={list(ratios)} must be increasing whole percentages from 1 to 100")
    forward.check_mask(model)
    model.check(encodings)
