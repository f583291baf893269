"""Sharpness: the same mechanism in a model that is less sure of itself, or more."""

from contextlib import contextmanager
from functools import wraps

FACTORS = (0.25, 1, 4)


@contextmanager
def sharpened(model, factor):
    """Context in which the model's logits are multiplied by `factor`.

    Args:
        model: a Classifier; outputs that were cached outside are not of this model.
        factor: of FACTORS.
    """
    plain = model.logits

    @wraps(plain)
    def logits(*inputs, **settings):
        return factor * plain(*inputs, **settings)

    model.logits = logits
    try:
        yield
    finally:
        del model.logits
