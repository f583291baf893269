"""Which words a model that reads half of a text uses: effects on inputs that training made familiar."""

from dataclasses import replace

import numpy as np

from faithlib.engine import forward
from notebooks.ground_truth_2.measure.read_half import UNREAD, read_tokens

SUBSETS = 60  # of the read words
SHARES = (0.2, 0.9)  # the share of the read words that a subset keeps is drawn between these
PENALTY = 1.0  # of the ridge regression
EFFECT = 0.15  # on the log odds, above which a word may be positive
POSITIVE = 2  # positive words that a text needs
REMOVALS = ("mask", "resample")  # under which the removal of a positive word lowers p
CLIP = 1e-6  # probabilities are kept so far from 0 and 1


def effects(model, encoding, target, generator):
    """The effect of each read word on the target's log odds, by ridge regression: {word: effect}.

    Each input keeps a random subset of the read words; the others are unread in it. No token is erased.
    """
    words = np.unique(encoding.words[read_tokens(encoding)])
    kept = generator.random((SUBSETS, len(words))) < generator.uniform(*SHARES, (SUBSETS, 1))
    variants = [forward.unchanged(reading(encoding, words[row])) for row in kept]
    p = forward.target_values(model, variants, [target] * SUBSETS, "probability").clip(CLIP, 1 - CLIP)
    return dict(zip(words.tolist(), ridge(kept, np.log(p / (1 - p))), strict=True))


def reading(encoding, words):
    """The encoding of which only these words are read; words: (words,) int."""
    unread = encoding.maskable & ~np.isin(encoding.words, words)
    return replace(encoding, types=np.where(unread, UNREAD, encoding.types))


def ridge(kept, values):
    """Coefficients of values (inputs,) on kept words (inputs, words), with a free intercept: (words,).

    >>> ridge(np.eye(2, dtype=bool), np.array([1.0, 0.0])).round(2).tolist()
    [0.25, -0.25]
    """
    centred = kept - kept.mean(0)
    products = centred.T @ centred + PENALTY * np.eye(kept.shape[1])
    return np.linalg.solve(products, centred.T @ (values - values.mean()))


def positive(model, encoding, target, effect, operators):
    """The words whose effect is above EFFECT and whose removal lowers p, the largest effect first: [int].

    effect: from `effects`. operators: {name: Operator} with at least REMOVALS.
    """
    words = sorted((word for word in effect if effect[word] > EFFECT), key=lambda word: -effect[word])
    full = forward.target_values(model, [forward.unchanged(encoding)], [target], "probability")[0]
    lower = np.ones(len(words), bool)
    for name in REMOVALS:
        variants = [v for word in words for v in operators[name].variants(encoding, encoding.words == word)]
        if variants:
            p = forward.target_values(model, variants, [target] * len(variants), "probability")
            lower &= p.reshape(len(words), -1).mean(1) < full
    return [word for word, is_lower in zip(words, lower, strict=True) if is_lower]
