"""Shapes of scores: how fast they fall from the first token of a ranking to the last, from 1 to 0."""

import numpy as np


def exponential(n):
    """The quantiles of an exponential distribution, min-max scaled: (n,), falling from 1 to 0.

    >>> exponential(4).round(2).tolist()
    [1.0, 0.44, 0.17, 0.0]
    """
    quantiles = -np.log((np.arange(n) + 0.5) / n)
    return (quantiles - quantiles[-1]) / (quantiles[0] - quantiles[-1])


SHAPES = {  # means over the tokens of a long text: .50, .28 and .12
    "linear": lambda n: np.linspace(1, 0, n),
    "exponential": exponential,
    "steep": lambda n: exponential(n) ** 3,
}


def ranked(order, shape):
    """The scores of two or more tokens in this order, the highest first: (tokens,) in [0, 1].

    >>> ranked([2, 0, 1], "linear").tolist()
    [0.5, 0.0, 1.0]
    """
    scores = np.empty(len(order))
    scores[np.asarray(order, int)] = SHAPES[shape](len(order))
    return scores
