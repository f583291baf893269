"""Decision flip: how much of a text must go, most important tokens first, until the prediction changes.

Chrysostomou & Aletras 2021, section 4 and appendix D; after Serrano & Smith 2019 and Nguyen 2018.
"""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from faithlib.engine import batching, forward, operators
from faithlib.options import REMOVALS
from faithlib.progress import bar
from faithlib.scores import check_scores, one_of, ranking

COLUMNS = ["attribution", "example", "fraction", "flipped", "removed"]


def steps(n: int, step: float = 0.05) -> np.ndarray:
    """How many of n tokens are gone at each step: increasing whole numbers, the last is n.

    step: a share s of the text in (0, 1], so ⌈i · s · n⌉ for i = 1, 2, …, each number once; or a whole number
    of tokens, so s, 2s, …. The release steps by the longest text of a batch: fractions may be above 1.
    """
    each = step if isinstance(step, Integral) else max(step * n, 1)  # below 1, every number comes anyway
    removed = np.ceil(np.round(np.arange(1, n + 1) * each, 9))  # 3 · 0.05 · 20 is 3, not 3.0000000000000004
    return np.unique(removed.clip(max=n).astype(int))


def decision_flip(
    model: Any, encodings: Sequence, scores: Mapping[str, Sequence], step: float = 0.05,
    removal: str = "mask", never: float = 1.0, cache: forward.Cache | None = None,
    operator: operators.Operator | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Fraction of tokens removed until the predicted class changes: a DataFrame with COLUMNS.

    fraction = k / n for the first k of `steps` at which argmax f(x without its k highest scores) is not
    argmax f(x), n being the maskable tokens; in (0, 1], lower is better. A text that keeps its class even
    without all of them has flipped False, removed n and fraction `never`.
    scores: {attribution: [scores (tokens,) of each encoding]}, ranked with their signs, the earlier of equal
    ones first. removal: tokens become the "mask" or "pad" token (the release: id 0), or "delete": what
    follows moves up. cache: a forward.Cache. operator: an `operators.Operator`, in place of `removal`.
    Raises ValueError for another step, removal or never, for scores that do not fit or are not finite, and
    for an example that is empty or too long.
    """
    one_of("removal", removal, REMOVALS)
    operator = operator or operators.Operator(model, removal)
    _check(model, encodings, step, never, operator)
    check_scores(encodings, scores)
    counts = [steps(int(e.maskable.sum()), step) for e in encodings]
    classes = forward.probabilities(model, [forward.unchanged(e) for e in encodings], cache).argmax(1)
    pairs = [(name, i) for name in scores for i in range(len(encodings))]
    places = {}
    for name, i in pairs:
        places[name, i] = ranking(np.asarray(scores[name][i], float), encodings[i].maskable, False)
    removed: dict = {}
    pending, done = pairs, 0
    with bar(sum(len(counts[i]) for _, i in pairs), "removing tokens", "step") as progress:

        def predicted(tried):
            variants = []
            for pair, k in tried:
                variants += operator.variants(encodings[pair[1]], places[pair] < k)
            n = len(tried)
            p = forward.probabilities(model, variants, cache, lambda share: progress.update(share * n))
            return p.reshape(n, operator.texts, -1).mean(1).argmax(1)  # (tried,)

        while pending:
            tokens = sum(len(encodings[i].ids) for _, i in pending)
            upto = done + max(1, batching.token_budget(model) // tokens)
            tried = [(pair, k) for pair in pending for k in counts[pair[1]][done:upto]]
            for (pair, k), predicted_class in zip(tried, predicted(tried), strict=True):
                if predicted_class != classes[pair[1]]:
                    removed.setdefault(pair, int(k))  # the smallest, as k increases
            progress.update(sum(len(counts[pair[1]][upto:]) for pair in pending if pair in removed))
            pending = [pair for pair in pending if pair not in removed and len(counts[pair[1]]) > upto]
            done = upto
    rows = []
    for name, i in pairs:
        n, flipped = int(counts[i][-1]), (name, i) in removed
        k = removed.get((name, i), n)
        rows.append((name, i, k / n if flipped else float(never), flipped, k))
    return pd.DataFrame(rows, columns=COLUMNS)


def _check(model, encodings, step, never, operator):
    whole = isinstance(step, Integral) and not isinstance(step, bool)
    if not (whole and step >= 1 or isinstance(step, float) and 0 < step <= 1):
        raise ValueError(f"step={step!r}: give a share of the text in (0, 1], or a whole number of tokens")
    operator.check(encodings)
    if not 0 <= never <= 1:
        raise ValueError(f"never={never!r}: give the fraction in [0, 1] that a text without a flip counts as")
    model.check(encodings)


def fraction_to_flip(inputs, scores):
    """The registered metric: `decision_flip` of one attribution, (examples,) in (0, 1], lower is better.

    It is the predicted class that flips, whichever target is explained. A text that never flips counts as 1.
    """
    model, operator = inputs.model, inputs.erasing("mask")
    table = decision_flip(model, inputs.encodings, {"": scores}, cache=inputs.cache, operator=operator)
    return table.fraction.to_numpy()
