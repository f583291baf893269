"""AOPC, the area over the perturbation curve, and NAOPC, which compares it across models.

NAOPC puts it between the worst and the best order that the model can reach on the text (Edin et al. 2025,
arXiv 2408.08137), found exactly for texts of at most `EXACT` tokens and by beam search for longer ones.
"""

import numpy as np

from faithlib.metrics.erasure import LEAST
from faithlib.scores import ranking

LEVELS = 10  # points of a perturbation curve, at most
EXACT = 8  # tokens up to which all orders are compared: 2 ** 8 inputs
BEAM = 3  # sets that the search keeps
TIE = 6  # decimals: sums of float32 probabilities are no more precise


# AOPC ---------------------------------------------------------------------------------------------


def levels(n):
    """How many of n tokens are masked at each point of a curve: each number up to LEVELS, else ⌈i · n / 10⌉.

    Example:
        >>> levels(4).tolist(), levels(25).tolist()
        ([1, 2, 3, 4], [3, 5, 8, 10, 13, 15, 18, 20, 23, 25])
    """
    points = min(n, LEVELS)
    return np.array([-(-i * n // points) for i in range(1, points + 1)])


def aopc_comprehensiveness(inputs, scores):
    """AOPC, most important tokens masked first: (examples,) in [−1, 1], higher is better.

    AOPC = mean over levels k of y(x) − y(x with the first k tokens masked), y the target's probability; of a
    contrast y is a difference of two, and AOPC in [−2, 2]. Of equal scores the earlier token goes first.
    """
    return _aopc(inputs, scores, 1)


def aopc_sufficiency(inputs, scores):
    """AOPC, least important tokens masked first: as `aopc_comprehensiveness`, lower is better."""
    return _aopc(inputs, scores, -1)


def naopc_comprehensiveness(inputs, scores):
    """`aopc_comprehensiveness` between the worst (0) and the best (1) order that the model can reach.

    (examples,) in [0, 1], higher is better; NaN where best and worst differ by less than `erasure.LEAST`. A
    value beyond the bounds that beam search found counts as 0 or 1.
    """
    return _between(inputs, aopc_comprehensiveness(inputs, scores))


def naopc_sufficiency(inputs, scores):
    """`aopc_sufficiency` on the scale of `naopc_comprehensiveness`: (examples,), lower is better."""
    return _between(inputs, aopc_sufficiency(inputs, scores))


def bounds(inputs, beam=BEAM):
    """The lowest and the highest AOPC of any order: two arrays (examples,); computed once a study."""
    return inputs.once(("bounds of AOPC", beam), lambda: _bounds(inputs, beam))


def _aopc(inputs, scores, sign):
    masks, examples = _masks(inputs, [sign * np.asarray(s, float) for s in scores], ())
    return np.bincount(examples, _falls(inputs, masks, examples)) / np.bincount(examples)


def curves(inputs, scores):
    """y(x), then y(x with the first k tokens masked) at each of `levels`: [(points + 1,) of each text]."""
    masks, examples = _masks(inputs, scores, (0,))
    y = inputs.without(masks, np.array(examples), "mask")
    return np.split(y, np.flatnonzero(np.diff(examples)) + 1)


def _masks(inputs, scores, before):
    """(the first k tokens of each text's ranking, for k of `before` and of `levels`; their texts)."""
    masks, examples = [], []
    for i, (e, s) in enumerate(zip(inputs.encodings, scores, strict=True)):
        places = ranking(np.asarray(s, float), e.maskable, False)
        points = [*before, *levels(int(e.maskable.sum()))]
        masks += [places < k for k in points]
        examples += [i] * len(points)
    return masks, examples


def _between(inputs, values):
    low, high = bounds(inputs)
    room = high - low
    defined = room >= LEAST
    return np.where(defined, ((values - low) / np.where(defined, room, 1)).clip(0, 1), np.nan)


def _falls(inputs, masks, examples):
    """y(x) − y(x with the tokens of a mask erased): (masks,)."""
    return inputs.p_full[examples] - inputs.without(masks, examples, "mask")


def _bounds(inputs, beam):
    low, high = np.empty((2, len(inputs.encodings)))
    counts = np.array([e.maskable.sum() for e in inputs.encodings])
    short, long = np.flatnonzero(counts <= EXACT), np.flatnonzero(counts > EXACT).tolist()
    masks, examples = [], []
    for i in short:
        n, places = int(counts[i]), np.flatnonzero(inputs.encodings[i].maskable)
        chosen = (np.arange(2**n)[:, None] >> np.arange(n)) & 1 == 1  # (subsets, n)
        masks += [np.isin(np.arange(len(inputs.encodings[i].ids)), places[c]) for c in chosen]
        examples += [int(i)] * 2**n
    falls = _falls(inputs, masks, examples) if masks else np.empty(0)
    for i in short:
        n = int(counts[i])
        of_subsets, falls = falls[: 2**n], falls[2**n :]
        low[i], high[i] = (extreme_mean(of_subsets, n, best) for best in (min, max))
    if long:
        low[long], high[long] = (-_search(inputs, long, beam, -1), _search(inputs, long, beam, 1))
    return low, high


def extreme_mean(falls, n, best=max):
    """The extreme of mean_k falls[first k tokens] over all orders of n tokens, by dynamic programming.

    falls: (2 ** n,), of each subset of tokens; bit j of the index says whether token j is in it. best: `max`
    or `min`.

    Example:
        >>> extreme_mean([0.0, 0.1, 0.5, 0.4], 2), extreme_mean([0.0, 0.1, 0.5, 0.4], 2, min)
        (0.45, 0.25)
    """
    sums = [0.0] * 2**n
    for subset in range(1, 2**n):
        before = (sums[subset ^ 1 << j] for j in range(n) if subset >> j & 1)
        sums[subset] = float(falls[subset]) + best(before)
    return sums[-1] / n


def _search(inputs, examples, beam, sign):
    """The highest mean of sign · falls over levels that beam search finds: (examples,).

    Where a level adds several tokens, these are the best ones taken singly, with the last of them exchanged
    for the next best in the other candidates.
    """
    places = {i: np.flatnonzero(inputs.encodings[i].maskable) for i in examples}
    points = {i: np.append(0, levels(len(places[i]))) for i in examples}
    best = {i: [(0.0, np.zeros(len(inputs.encodings[i].ids), bool))] for i in examples}
    for step in range(LEVELS):
        added = {i: k[step + 1] - k[step] for i, k in points.items() if step + 1 < len(k)}
        free = {i: [places[i][~mask[places[i]]] for _, mask in best[i]] for i in added}
        singles = {}
        for i in added:
            pairs = zip(best[i], free[i], strict=True)
            singles[i] = [(total, _with(mask, [j])) for (total, mask), rest in pairs for j in rest]
        values, several = _of_each(inputs, singles, sign), {}
        for i in added:
            if added[i] > 1:
                parts = np.split(values[i].round(TIE), np.cumsum([len(rest) for rest in free[i]])[:-1])
                several[i] = [
                    grown
                    for (total, mask), rest, v in zip(best[i], free[i], parts, strict=True)
                    for grown in _grown(total, mask, rest[np.argsort(-v, kind="stable")], added[i], beam)
                ]
        groups, values = singles | several, values | _of_each(inputs, several, sign)
        for i in added:
            sums = {}  # set -> its best sum; the first of equals stays
            for (total, mask), value in zip(groups[i], values[i], strict=True):
                key, total = mask.tobytes(), total + value
                if key not in sums or round(total - sums[key][0], TIE) > 0:
                    sums[key] = (total, mask)
            best[i] = sorted(sums.values(), key=lambda parts: -round(parts[0], TIE))[:beam]
    return np.array([best[i][0][0] / (len(points[i]) - 1) for i in examples])


def _grown(total, mask, order, added, beam):
    """The `beam` candidates that mask `added` more tokens, from their order when taken singly."""
    return [(total, _with(mask, [*order[: added - 1], last])) for last in order[added - 1 :][:beam]]


def _with(mask, tokens):
    grown = mask.copy()
    grown[tokens] = True
    return grown


def _of_each(inputs, groups, sign):
    """{example: sign · falls of the last mask of each of its entries}."""
    examples = [i for i, group in groups.items() for _ in group]
    if not examples:
        return {}
    falls = sign * _falls(inputs, [entry[-1] for group in groups.values() for entry in group], examples)
    ends = np.cumsum([len(group) for group in groups.values()])[:-1]
    return dict(zip(groups, np.split(falls, ends), strict=True))
