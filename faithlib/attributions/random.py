"""Attributions that know nothing: what every metric is compared with."""

import zlib

import numpy as np

from faithlib.attributions import padded, register


def generator(encoding, seed):
    """Random numbers that belong to an example: the same whatever the batch, order or other methods."""
    return np.random.default_rng([seed, zlib.crc32(encoding.ids.tobytes())])


def uniform(encoding, generator):
    """Independent U[0, 1) scores on maskable tokens, 0 elsewhere."""
    return _drawn(encoding, generator.random)


def normal(encoding, generator):
    """Independent N(0, 1) scores on maskable tokens, 0 elsewhere: as the soft-metrics paper has it."""
    return _drawn(encoding, generator.standard_normal)


def permuted(scores, encoding, generator):
    """The attribution's own scores in random order over the maskable tokens: the matched baseline.

    Same values, so same scale and same probabilities; only the ranking knows nothing.
    """
    shuffled = np.array(scores)
    shuffled[encoding.maskable] = generator.permutation(shuffled[encoding.maskable])
    return shuffled


@register("random_uniform", "random_normal")
def random(model, batch, target, seed=0):
    """Scores drawn without looking at model or target: uniform in [0, 1), and standard normal."""
    return {name: padded([draw(e, generator(e, seed)) for e in batch.encodings], batch)
            for name, draw in (("random_uniform", uniform), ("random_normal", normal))}


def _drawn(encoding, draw):
    scores = np.zeros(len(encoding.ids))
    scores[encoding.maskable] = draw(encoding.maskable.sum())
    return scores
