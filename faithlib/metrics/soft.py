"""Soft erasure: scores to probabilities, and the random perturbations that they steer."""

import numpy as np

OPTIONS = ("minmax", "sigmoid", "softmax", "raw", "clip")
PERTURBATIONS = ("bernoulli", "gaussian_scores", "gaussian_noise", "attention")


def to_probability(scores, maskable, how="minmax"):
    """Scores (tokens,) to the a of Eq. 3, in [0, 1] on maskable tokens and 0 elsewhere.

    The paper takes a for a probability and is silent on how scores, which may be negative or tiny,
    become one; the choice decides what soft metrics measure.
    minmax: (s − min) / (max − min) over the maskable tokens, ½ where all are equal: ranking and relative
    distances stay, the scale goes. sigmoid: 1 / (1 + e^−s). softmax: sums to 1 over the maskable tokens.
    raw: the scores themselves, which must lie in [0, 1]. clip: min(max(s, 0), 1), so that what is negative is
    never kept and what is above 1 always, as in the release of Noiser; the scale stays.
    Raises ValueError for another name, for raw scores outside [0, 1] and for scores that are not finite.
    """
    s = np.asarray(scores, float)[maskable]
    if not np.isfinite(s).all():
        raise ValueError("scores hold NaN or infinite values: a probability needs finite ones")
    if how == "minmax":
        span = s.max() - s.min()
        a = (s - s.min()) / span if span > 0 else np.full(len(s), 0.5)
    elif how == "sigmoid":
        a = _sigmoid(s)
    elif how == "softmax":
        a = _softmax(s)
    elif how == "raw":
        if s.min() < 0 or s.max() > 1:
            raise ValueError(f"raw scores run from {s.min():.3g} to {s.max():.3g}: use them only in [0, 1], "
                             "or choose minmax, sigmoid, softmax or clip")
        a = s
    elif how == "clip":
        a = s.clip(0, 1)
    else:
        raise ValueError(f"score-to-probability {how!r} is unknown: use one of {', '.join(OPTIONS)}")
    probability = np.zeros(len(maskable))
    probability[maskable] = a
    return probability


def released_probability(scores, maskable, option):
    """The release's options 0 to 7, over the whole row, with −∞ at positions that are not maskable.

    Soft-NS was published with option 1 (sigmoid of the score), Soft-NC with option 5 (those positions
    set to −1, then min-max over the row). Options 2 and 4 set them to −10 and −3; 3 is a softmax, 6 a
    sigmoid and then min-max, 7 what 5 gives and then a sigmoid; 0 leaves the scores. A row of equal
    values gives NaN under 2, 4, 5, 6 and 7. float32, as released.
    """
    s = np.where(maskable, scores, -np.inf).astype(np.float32)
    if option == 0:
        return s
    if option == 1:
        return _sigmoid(s)
    if option in (2, 4, 5):
        floor = {2: -10, 4: -3, 5: -1}[option]
        return _minmax(np.where(np.isinf(s), np.float32(floor), s))
    if option == 3:
        return _softmax(s)
    if option == 6:
        return _minmax(_sigmoid(s))
    if option == 7:
        return _sigmoid(_minmax(np.where(np.isinf(s), np.float32(-1), s)))
    raise ValueError(f"option {option!r} is unknown: the release has 0 to 7")


def factor(perturbation, a, where, retain, width, seed, sigma=1.0):
    """What one draw multiplies the embedding output by: float32 (tokens, width), 1 outside `where`.

    a: (tokens,) in [0, 1]; λ below is 1 − a for retaining elements and a for removing them.
    bernoulli: e ~ Ber(1 − λ), the paper's soft erasure (Eq. 3). gaussian_scores: 1 + γλ, γ ~ N(0, σ²)
    (Eq. 7). gaussian_noise: 1 + γ, γ ~ N(0, λ) (Eq. 8). The random numbers depend on `seed` alone, so
    that two attributions compared on one text meet the same ones: what is left of their difference is
    theirs.
    """
    generator, shape = np.random.default_rng(seed), (len(a), width)
    noise = (1 - a if retain else a).astype(np.float32)[:, None]  # λ, (tokens, 1)
    if perturbation == "bernoulli":
        u = generator.random(shape, dtype=np.float32)
        drawn = u < 1 - noise if retain else u >= noise
    else:
        z = generator.standard_normal(shape, dtype=np.float32)
        drawn = 1 + z * (sigma * noise if perturbation == "gaussian_scores" else np.sqrt(noise))
    return np.where(where[:, None], drawn, np.float32(1))


def attention_weight(a, maskable, retain):
    """The continuous attention mask of appendix C: a (retaining) or 1 − a (removing), 1 elsewhere."""
    return np.where(maskable, a if retain else 1 - a, 1.0)


def _sigmoid(x):
    return 1 / (1 + np.exp(-np.clip(x, -80, 80))) * ~np.isneginf(x)


def _softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def _minmax(x):
    with np.errstate(invalid="ignore", divide="ignore"):
        return (x - x.min()) / (x.max() - x.min())
