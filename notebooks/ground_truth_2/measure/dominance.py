"""Which of two explanations is better, where that needs no weighing of one error against another."""

import numpy as np


def dominates(better, worse, worth):
    """Whether `worse` comes from `better` by errors alone, and the two differ.

    An error is an exchange of the scores of two tokens that puts the one of less worth above the other, score
    taken from a used token, or score given to an unused one. Tokens of equal worth may exchange their scores
    freely. So for each worth above 0 the tokens of at least this worth, sorted by score, have nowhere a
    higher score in `worse`, and the unused tokens have nowhere a lower one.

    Args:
        better, worse: (tokens,) scores.
        worth: (tokens,), 0 for an unused token, above 0 for a used one; NaN for a token whose use is not
            known, whose score must be the same in both.

    >>> dominates([3, 2, 1], [1, 2, 3], [1, 0, 0])  # the used token goes from the first place to the last
    True
    >>> dominates([3, 1, 2], [2, 2, 2], [1, 1, 0])  # one used token loses, and the other gains
    False
    """
    better, worse, worth = (np.asarray(values, float) for values in (better, worse, worth))
    unknown = np.isnan(worth)
    if not np.array_equal(better[unknown], worse[unknown]) or np.array_equal(better, worse):
        return False
    for least in np.unique(worth[worth > 0]):
        used = worth >= least
        if (np.sort(worse[used]) > np.sort(better[used])).any():
            return False
    unused = worth == 0
    return bool((np.sort(worse[unused]) >= np.sort(better[unused])).all())
