"""Sharpness: the same mechanism in a model that is less sure of itself, or more."""

from contextlib import contextmanager
from functools import wraps

FACTORS = (0.25, 1, 4)


@contextmanager
def sharpened(model, factor):
    """Context in which a classifier's logits are multiplied by `factor`; outside caches are not of it."""
    plain = model.logits

    @wraps(plain)
    def logits(*inputs, **settings):
        return factor * plain(*inputs, **settings)

    model.logits = logits
    try:
        yield
    finally:
        del model.logits
