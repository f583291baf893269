"""F-Fidelity: erasure at random inside a part of the ranking, capped so that few tokens go at once.

After Zheng et al. (2025), arXiv 2410.02970, whose model was fine-tuned on texts with random masks. Of the
tokens at the top of the ranking (FFid+) or of the others (FFid−) a random share ALPHA becomes the mask token,
but never more than the share CAP of the text. Values are means over SIZES of the top, ours, and over draws.
"""

import numpy as np

from faithlib.scores import ranking

ALPHA = 0.5  # share of the part that is masked
CAP = 0.1  # of the text: the most that is masked
SIZES = (0.1, 0.3, 0.5)  # of the top, shares of the text


def f_fidelity_plus(inputs, scores, draws=3):
    """FFid+: the fall of the target's probability where tokens of the top are masked, higher is better.

    (examples,) float in [−1, 1], of a contrast in [−2, 2]; NaN for a text of one token, which has no top and
    rest. draws: of the masked tokens, for each size; all attributions meet the same ones.
    """
    return _mean_fall(inputs, scores, draws, top=True)


def f_fidelity_minus(inputs, scores, draws=3):
    """FFid−: as `f_fidelity_plus` where tokens below the top are masked, lower is better."""
    return _mean_fall(inputs, scores, draws, top=False)


def masked_count(part, tokens):
    """How many of `part` tokens are masked in a text of so many: min(ALPHA · part, CAP · tokens), at least 1.

    Example:
        >>> masked_count(3, 15), masked_count(13, 15), masked_count(20, 40)
        (1, 1, 4)
    """
    return max(1, int(min(ALPHA * part, CAP * tokens)))


def _mean_fall(inputs, scores, draws, top):
    masks, examples = [], []
    for i, (e, s) in enumerate(zip(inputs.encodings, scores, strict=True)):
        n, places = int(e.maskable.sum()), ranking(np.asarray(s, float), e.maskable, False)
        drawn = [np.random.default_rng(seed).random(len(e.ids)) for seed in inputs.seeds(i, draws)]
        for size in SIZES:
            first = min(max(1, round(size * n)), n - 1)
            part = np.flatnonzero(places < first if top else (places >= first) & e.maskable)
            for order in drawn:  # the same for every ranking
                erased = np.zeros(len(e.ids), bool)
                erased[part[np.argsort(order[part])[: masked_count(len(part), n)]]] = True
                masks.append(erased)
        examples += [i] * len(SIZES) * draws
    falls = inputs.p_full[examples] - inputs.without(masks, examples, "mask")
    several = np.array([e.maskable.sum() > 1 for e in inputs.encodings])
    return np.where(several, falls.reshape(len(scores), -1).mean(1), np.nan)
