"""LIME: a linear model of what removing tokens does, fitted around one text."""

import numpy as np
import torch
from sklearn.linear_model import Ridge

from faithlib.attributions import padded, register, released
from faithlib.attributions.occlusion import removable, removed, unknown_id
from faithlib.attributions.random import generator
from faithlib.forward import batches_by_length, halving, target_values, token_budget

KERNEL_WIDTH = 25  # of Ribeiro et al.'s text explainer, on 100 times the cosine distance
VARIANTS = 50_000  # at most in one call of the engine: they take a kilobyte each


@register("lime")
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
        encodings, targets = batch.encodings[start:start + size], target[start:start + size].tolist()
        part = len(encodings) / len(batch.encodings)
        positions = [removable(model, e, removal) for e in encodings]  # each (tokens,) bool
        there = [_neighbours(generator(e, seed), at.sum(), samples)
                 for e, at in zip(encodings, positions, strict=True)]
        variants = [removed(model, e, _at(at, ~z), removal)
                    for e, at, zs in zip(encodings, positions, there, strict=True) for z in zs]
        p = target_values(model, variants, np.repeat(targets, samples), "probability",
                          progress=progress and (lambda share, part=part: progress(share * part)))
        rows += [_at(at, _coefficients(zs, ps))
                 for at, zs, ps in zip(positions, there, p.reshape(-1, samples), strict=True)]
    return {"lime": padded(rows, batch)}


@released("noiser", "lime")
def lime_of_inseq(model, batch, target, samples=50, seed=0, progress=None):
    """Noiser's release: the LIME of inseq 0.7.1 at its defaults, ≥ 0 and sum 1 over the whole prompt.

    Every token, the special ones too, is masked with probability 0.3 in each of 50 neighbours; the text
    itself is not among them. Masked means that each of its embedding's entries is the *number* of the
    unknown (else padding, end) token: a slip, the method was written for ids. The ridge regression (α = 1)
    of the target's probability sees those embedding entries, weighted by how many of them are unchanged;
    a token's score is the L2 norm of its entries' coefficients, divided by the sum over tokens.

    A token's entries change together, so its coefficients lie along e_i − c, and their norm is the
    coefficient of one feature, ‖e_i − c‖ where the token is there: (tokens) unknowns, not (tokens · width).
    """
    rows, filler = [], float(unknown_id(model))
    for e, row, y in zip(batch.encodings, batch.ids, target, strict=True):
        there = generator(e, seed).random((samples, len(e.ids))) >= 0.3  # (samples, tokens)
        embeddings = model.embed(row[: len(e.ids)]).detach()  # (tokens, width)
        p = _filled_probabilities(model, e, embeddings, there, filler, y)  # (samples,)
        scale = (embeddings.double() - filler).norm(dim=-1).cpu().numpy()  # (tokens,)
        changing = (embeddings != filler).sum(-1).cpu().numpy()  # (tokens,)
        weight = embeddings.numel() - ~there @ changing  # (samples,)
        sizes = abs(Ridge(alpha=1).fit(there * scale, p, sample_weight=weight).coef_)
        rows.append(sizes / max(sizes.sum(), 1e-12))
        if progress is not None:
            progress(1 / len(batch.encodings))
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
    return Ridge(alpha=1).fit(there, p, sample_weight=np.exp(-distance ** 2 / 2)).coef_


def _at(positions, values):
    """The array with `values` at `positions` (tokens,) bool, 0 or False elsewhere: (tokens,)."""
    array = np.zeros(len(positions), values.dtype)
    array[positions] = values
    return array


@torch.inference_mode()
def _filled_probabilities(model, encoding, embeddings, there, filler, target):
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
