"""LIME: a linear model of what removing tokens does, fitted around one text."""

import numpy as np
import torch
from sklearn.linear_model import Ridge

from faithlib.attributions.occlusion import removable, removed
from faithlib.forward import batches_by_length, halving, padded, target_values, token_budget
from faithlib.scores import generator

KERNEL_WIDTH = 25  # of Ribeiro et al.'s text explainer, on 100 times the cosine distance
VARIANTS = 50_000  # at most in one call of the engine: they take a kilobyte each


def lime(model, batch, target, samples=500, removal="mask", seed=0, progress=None):
    """Coefficients of a ridge regression of the target's probability on which tokens are there.

    Of `samples` neighbours the first is the text itself, the others lose 1 to T tokens, every number
    equally often. a = argmin Σ_s w_s (p_s − b − a·z_s)² + ‖a‖², z_s the 0/1 vector of tokens that are
    there, w_s = exp(−d_s²/2), d_s = 100 (1 − √(share of tokens that are there)) / 25, the cosine distance of
    z_s to the text in kernel widths. Signed, and about what removing the token costs in probability.

    Ribeiro, Singh & Guestrin (2016) and their text explainer (lime 0.2.0.1), but for what a score of
    every token needs: tokens for words, each position on its own, all of them and not the best ten. They
    delete (removal="delete") and draw 5,000. Draws belong to an example: see `random.generator`.
    """
    size = max(1, VARIANTS // samples)
    rows = []
    for start in range(0, len(batch.encodings), size):
        encodings, targets = batch.encodings[start : start + size], target[start : start + size].tolist()
        part = len(encodings) / len(batch.encodings)
        positions = [removable(model, e, removal) for e in encodings]  # each (tokens,) bool
        there = [
            _neighbours(generator(e, seed), at.sum(), samples)
            for e, at in zip(encodings, positions, strict=True)
        ]
        variants = [
            removed(model, e, _at(at, ~z), removal)
            for e, at, zs in zip(encodings, positions, there, strict=True)
            for z in zs
        ]
        p = target_values(
            model,
            variants,
            np.repeat(targets, samples),
            "probability",
            progress=progress and (lambda share, part=part: progress(share * part)),
        )
        rows += [
            _at(at, _coefficients(zs, ps))
            for at, zs, ps in zip(positions, there, p.reshape(-1, samples), strict=True)
        ]
    return {"lime": padded(rows, batch)}


def _neighbours(draw, tokens, samples):
    """Which of so many tokens are there in each neighbour: (samples, tokens) bool, all in the first."""
    lost = draw.integers(1, tokens + 1, samples) if tokens else np.zeros(samples)  # how many are not
    lost[0] = 0
    return draw.random((samples, tokens)).argsort(1).argsort(1) >= lost[:, None]


def _coefficients(there, p):
    """What each token adds to p, by ridge regression with Ribeiro et al.'s weights: (tokens,)."""
    if not there.shape[1]:
        return np.zeros(0)
    distance = 100 * (1 - np.sqrt(there.mean(1))) / KERNEL_WIDTH  # (samples,)
    return Ridge(alpha=1).fit(there, p, sample_weight=np.exp(-(distance**2) / 2)).coef_


def _at(positions, values):
    """The array with `values` at `positions` (tokens,) bool, 0 or False elsewhere: (tokens,)."""
    array = np.zeros(len(positions), values.dtype)
    array[positions] = values
    return array


@torch.inference_mode()
def filled_probabilities(model, encoding, embeddings, there, filler, target):
    """The target's probability with `filler` in the embeddings of tokens that are not there: (samples,)."""

    def compute(rows):
        kept = torch.as_tensor(there[rows], device=model.device)[..., None]  # (rows, tokens, 1)
        batch = model.collate([encoding] * len(rows))
        logits = model.logits(batch, embeddings=torch.where(kept, embeddings, filler))
        return logits.float().softmax(-1)[:, target]

    p = np.empty(len(there))
    for rows in batches_by_length([there.shape[1]] * len(there), token_budget(model)):
        p[rows] = torch.cat(halving(compute, rows)).cpu().numpy()
    return p
