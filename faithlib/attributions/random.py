"""Attributions that know nothing: what every metric is compared with."""

from faithlib.forward import padded
from faithlib.scores import generator, normal, uniform


def random(model, batch, target, seed=0):
    """Scores drawn without looking at model or target: uniform in [0, 1), and standard normal."""
    return {
        name: padded([draw(e, generator(e, seed)) for e in batch.encodings], batch)
        for name, draw in (("random_uniform", uniform), ("random_normal", normal))
    }
