"""LIME: a linear model of the effect of removing tokens, fitted around one text."""

import numpy as np
import torch
from sklearn.linear_model import Ridge

from faithlib.attributions.occlusion import removable
from faithlib.engine import batching, forward
from faithlib.models.placement import without_gradients
from faithlib.progress import ignored
from faithlib.scores import generator

KERNEL_WIDTH = 25  # of Ribeiro et al.'s text explainer, for 100 times the cosine distance
VARIANTS = 50_000  # at most in one call of the engine: each takes a kilobyte


def lime(model, batch, target, samples=500, removal="mask", seed=0, progress=ignored):
    """LIME: coefficients of a ridge regression of the target's probability on which tokens are kept.

    a = argmin Σ_s w_s (p_s − b − a·z_s)² + ‖a‖², where p_s is the probability of neighbour s, z_s the 0/1
    vector of the tokens that it keeps, w_s = exp(−d_s²/2), and d_s = 100 (1 − √(share of tokens kept)) / 25
    the cosine distance from z_s to the text in kernel widths. The first of `samples` neighbours is the text
    itself; each other neighbour loses 1 to T tokens, every number with equal probability.

    The method is that of Ribeiro, Singh & Guestrin (2016) and their text explainer (lime 0.2.0.1), with the
    changes that a score for every token requires: features are tokens and not words, each position is a
    feature, and all features are fitted, not the best ten. Their explainer deletes tokens
    (removal="delete") and draws 5,000 neighbours.

    Args:
        samples: neighbours of each text, at least 1.

    Returns:
        {"lime": (batch, tokens) float64}, signed, in units of probability.
    """
    size = max(1, VARIANTS // samples)
    rows = []
    for start in range(0, len(batch.encodings), size):
        encodings, targets = batch.encodings[start : start + size], target[start : start + size].tolist()
        share = len(encodings) / len(batch.encodings)
        positions = [removable(model, e, removal) for e in encodings]  # each (tokens,) bool
        pairs = zip(encodings, positions, strict=True)
        neighbours = [_neighbours(generator(e, seed), at.sum(), samples) for e, at in pairs]
        rows_of = zip(encodings, positions, neighbours, strict=True)
        variants = [
            forward.erased(model, e, _scattered(at, ~z), removal) for e, at, zs in rows_of for z in zs
        ]

        def done(fraction, share=share):
            progress(fraction * share)

        p = forward.target_values(model, variants, np.repeat(targets, samples), "probability", progress=done)
        fitted = zip(positions, neighbours, p.reshape(-1, samples), strict=True)
        rows += [_scattered(at, _coefficients(zs, ps)) for at, zs, ps in fitted]
    return {"lime": forward.padded(rows, batch)}


def _neighbours(draw, tokens, samples):
    """Which of `tokens` tokens each neighbour keeps: (samples, tokens) bool; the first keeps all."""
    lost = draw.integers(1, tokens + 1, samples) if tokens else np.zeros(samples)  # how many are removed
    lost[0] = 0
    return draw.random((samples, tokens)).argsort(1).argsort(1) >= lost[:, None]


def _coefficients(kept, p):
    """The effect of each token on p, by ridge regression with Ribeiro et al.'s weights: (tokens,)."""
    if not kept.shape[1]:
        return np.zeros(0)
    distance = 100 * (1 - np.sqrt(kept.mean(1))) / KERNEL_WIDTH  # (samples,)
    return Ridge(alpha=1).fit(kept, p, sample_weight=np.exp(-(distance**2) / 2)).coef_


def _scattered(positions, values):
    """The array with `values` at `positions` (tokens,) bool, 0 or False elsewhere: (tokens,)."""
    array = np.zeros(len(positions), values.dtype)
    array[positions] = values
    return array


@without_gradients
def filled_probabilities(model, encoding, embeddings, kept, filler, target):
    """p(target) when every embedding entry of tokens not kept is the number `filler`: (samples,).

    embeddings: (tokens, width) of the text; kept: (samples, tokens) bool.
    """

    def compute(rows):
        mask = torch.as_tensor(kept[rows], device=model.device)[..., None]  # (rows, tokens, 1)
        batch = model.collate([encoding] * len(rows))
        logits = model.logits(batch, embeddings=torch.where(mask, embeddings, filler))
        return logits.float().softmax(-1)[:, target]

    p = np.empty(len(kept))
    for rows in batching.batches_by_length([kept.shape[1]] * len(kept), batching.token_budget(model)):
        p[rows] = torch.cat(batching.halving(model, compute, rows, kept.shape[1])).cpu().numpy()
    return p
