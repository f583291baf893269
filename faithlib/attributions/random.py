"""Random scores as attributions: the baseline that every metric compares with."""

from faithlib.engine.forward import padded
from faithlib.scores import generator, normal, uniform


def random(model, batch, target, seed=0):
    """Random scores, uniform in [0, 1) and standard normal; they use neither the model nor the target.

    Returns:
        {"random_uniform", "random_normal": (batch, tokens) float64}.

    Example:
        >>> from faithlib import models
        >>> model = models.load("tiny-bert", ("no", "yes"), ["the plot was great"])
        >>> batch = model.collate(model.encode(["the plot was great"]))
        >>> (random(model, batch, None)["random_uniform"] > 0).tolist()
        [[False, True, True, True, True, False]]
    """

    def rows(draw):
        return padded([draw(e, generator(e, seed)) for e in batch.encodings], batch)

    return {"random_uniform": rows(uniform), "random_normal": rows(normal)}
