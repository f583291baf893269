"""Attributions that know nothing: the baselines of diagnosticity."""

import numpy as np


def normal(encoding, generator):
    """Independent N(0, 1) scores on maskable tokens, 0 elsewhere: the paper's random attribution."""
    scores = np.zeros(len(encoding.ids))
    scores[encoding.maskable] = generator.standard_normal(encoding.maskable.sum())
    return scores


def permuted(scores, encoding, generator):
    """The attribution's own scores in random order over the maskable tokens: the matched baseline.

    Same values, so same scale and same probabilities; only the ranking knows nothing.
    """
    shuffled = np.array(scores)
    shuffled[encoding.maskable] = generator.permutation(shuffled[encoding.maskable])
    return shuffled
