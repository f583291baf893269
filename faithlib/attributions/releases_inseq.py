"""What Noiser's released code computes: inseq 0.7.1's attributions of one next token, and its own method.

All are of a CausalLM, (batch, tokens). Gradient scores are L2 norms over the embedding's width, without sign;
scores are shares of their sum over all tokens of the prompt, the first one (BOS) included. p is the target's
probability; b_i is the embedding of the unknown token, or e_i where token i is an end-of-text token.
"""

import math
from functools import partial

import numpy as np
import torch
from sklearn.linear_model import Ridge

from faithlib.attributions import attention, gradients, occlusion, surrogates
from faithlib.attributions.noiser import Noised, search
from faithlib.attributions.releases import probability, released, shares
from faithlib.engine.forward import padded, replaced
from faithlib.progress import ignored
from faithlib.scores import generator


@released("noiser", "attention", "attention_rollout", needs=("attention",))
@torch.no_grad()
def attention_softmaxed(model, batch, target):
    """Softmax of the attention weights over all tokens of the prompt, in (0, 1): nearly uniform."""
    _, layers = model.attentions(batch)
    rows = {
        "attention": attention.read_row(model, batch, layers[-1]).mean(1),
        "attention_rollout": attention.rollout(model, batch, layers),
    }
    return {name: row.masked_fill(~batch.present, -torch.inf).softmax(-1) for name, row in rows.items()}


@released("noiser", "input_x_gradient", "deeplift")
@torch.no_grad()
def lengths_of_one_pass(model, batch, target):
    """inseq's input × gradient, ‖e_i ⊙ ∂p/∂e_i‖₂, and DeepLift, ‖(e_i − b_i) ⊙ ∂p/∂e_i‖₂, as shares."""
    embeddings = model.embed(batch.ids)
    slope = gradients.gradient(model, gradients.y_at(model, batch, target, probability), embeddings)
    return {
        "input_x_gradient": _length_shares(embeddings * slope, batch),
        "deeplift": _length_shares((embeddings - _unknown(model, batch)) * slope, batch),
    }


@released("noiser", "integrated_gradients")
@torch.no_grad()
def lengths_of_integrated_gradients(model, batch, target, steps=50, progress=ignored):
    """inseq's integrated gradients, by Gauss-Legendre quadrature with K = `steps` points."""
    points = _gauss_legendre(steps, model.embed(batch.ids))
    return {"integrated_gradients": _path_lengths(model, batch, target, *points, progress)}


@released("noiser", "sequential_integrated_gradients")
@torch.no_grad()
def lengths_of_sequential_paths(model, batch, target, steps=50, progress=ignored):
    """inseq's sequential integrated gradients, by Gauss-Legendre quadrature with K = `steps` points each."""
    base = _unknown(model, batch)
    at, weights = _gauss_legendre(steps, base)
    scores = gradients.sequential_paths(model, batch, target, base, at, weights, batch.present, progress)
    return {"sequential_integrated_gradients": _length_shares(scores, batch)}


@released("noiser", "gradient_shap")
@torch.no_grad()
def lengths_of_gradient_shap(model, batch, target, samples=5, seed=0, progress=ignored):
    """inseq's GradientSHAP, `samples` draws for each prompt."""
    points = gradients.drawn_points(batch, samples, seed, model.embed(batch.ids))
    return {"gradient_shap": _path_lengths(model, batch, target, *points, progress)}


@released("noiser", "noiser")
@torch.no_grad()
def noiser_of_the_release(model, batch, target, norm="none", noise=10, halvings=10, progress=ignored):
    """k_min over all tokens, BOS included, and losses divided by their signed sum.

    The score is s_i / Σ_j s_j: a negative sum reverses the ranking, a sum near 0 makes scores large; a sum of
    0 leaves them unchanged. k_i is the last scale that the bisection tries, at which the prediction may
    flip. The noise is that of RandomState(1), the same for all texts, divided by an approximation of its
    expected norm.

    Args:
        norm: the divisor: "none", 1 (as in the release's notebook); "l2", √d (as in its program); "l1",
            √(2/π) d; "linf", √(2 ln d).

    Returns:
        {"noiser": (batch, tokens) float64, "k", "flipped", "tied": (batch,)}, as `noiser`.
    """
    width = model.embedding_table.shape[1]
    divisor = {
        "none": 1,
        "l1": math.sqrt(2 / math.pi) * width,
        "l2": math.sqrt(width),
        "linf": math.sqrt(2 * math.log(width)),
    }[norm]
    vectors = np.random.RandomState(1).randn(1, noise, width) / divisor
    vectors = vectors.repeat(len(batch.encodings), 0)  # (batch, M, width)
    noised, tokens = Noised(model, batch, target, vectors, progress, halvings), batch.present.cpu()
    low, p, smallest = search(noised, tokens, halvings - 1)
    k = smallest + 0.5**halvings  # tried last, after which no bound is read
    scores, flipped = shares(noised.losses(tokens, k[:, None], low, p)), smallest < 1 - 2 * 0.5**halvings
    return {"noiser": scores, "k": k, "flipped": flipped, "tied": noised.tied}


@released("noiser", "lime")
def lime_of_inseq(model, batch, target, samples=50, seed=0, progress=ignored):
    """the LIME of inseq 0.7.1 at its defaults, ≥ 0 and sum 1 over the whole prompt.

    Each of 50 neighbours masks every token, special tokens included, with probability 0.3; the text itself is
    not among them. A masked token has the *id* of the unknown (else padding, else end) token, c, as each
    entry of its embedding; the method was written for ids. The features of the ridge regression (α = 1) of
    the target's probability are the embedding entries; the weight of a neighbour is the number of unchanged
    entries. A token's score is the L2 norm of its entries' coefficients, divided by the sum over tokens.

    All entries of a token change together, so its coefficients are a multiple of e_i − c, and their norm is
    the coefficient of a single feature: ‖e_i − c‖ where the token is kept. The regression therefore has
    `tokens` unknowns, not tokens · width.
    """
    rows, filler = [], float(occlusion.unknown_id(model))
    for e, row, y in zip(batch.encodings, batch.ids, target, strict=True):
        kept = generator(e, seed).random((samples, len(e.ids))) >= 0.3  # (samples, tokens)
        embeddings = model.embed(row[: len(e.ids)]).detach()  # (tokens, width)
        p = surrogates.filled_probabilities(model, e, embeddings, kept, filler, y)  # (samples,)
        scale = (embeddings.cpu().double() - filler).norm(dim=-1).numpy()  # (tokens,)
        changing = (embeddings != filler).sum(-1).cpu().numpy()  # (tokens,)
        weight = embeddings.numel() - ~kept @ changing  # (samples,)
        sizes = abs(Ridge(alpha=1).fit(kept * scale, p, sample_weight=weight).coef_)
        rows.append(sizes / max(sizes.sum(), 1e-12))
        progress(1 / len(batch.encodings))
    return {"lime": padded(rows, batch)}


@released("noiser", "leave_one_out", "leave_one_out_abs")
def occlusion_of_inseq(model, batch, target, cache=None, progress=None):
    """inseq 0.7.1's occlusion, divided by its sum; both names have the same scores, ≥ 0.

    a_i = |p(x) − p(x, token i := unknown)| / Σ_j |…|, over all tokens of the prompt, special tokens included.
    All scores are 0 if no token changes the probability (the release divides by 0). inseq takes absolute
    values, so signed scores cannot be had.
    """
    everywhere = [np.ones(len(e.ids), bool) for e in batch.encodings]
    unknown = partial(replaced, token_id=occlusion.unknown_id(model))
    loss = occlusion.losses(model, batch, target, everywhere, unknown, "probability", cache, progress).abs()
    return dict.fromkeys(("leave_one_out", "leave_one_out_abs"), shares(loss))


def _gauss_legendre(steps, like):
    """Gauss-Legendre points on [0, 1] and their weights, both (steps,)."""
    x, w = np.polynomial.legendre.leggauss(steps)
    return torch.from_numpy((1 + x) / 2).to(like), torch.from_numpy(w / 2).to(like)


def _unknown(model, batch):
    """The unknown token's embedding at each position, e_i at end-of-text tokens: (batch, tokens, width)."""
    end = model.tokenizer.eos_token_id
    ends = batch.ids == (-1 if end is None else end)
    return model.embed(torch.where(ends, batch.ids, occlusion.unknown_id(model)))


def _path_lengths(model, batch, target, at, weights, progress):
    """Norms, as shares, of e − b times the gradient on the path from b to e at points `at`."""
    embeddings, base = model.embed(batch.ids), _unknown(model, batch)
    slope = gradients.path_gradient(model, batch, target, embeddings, base, at, weights, progress)
    return _length_shares((embeddings - base) * slope, batch)


def _length_shares(attribution, batch):
    """L2 norms over the width, divided by their sum over present tokens: (batch, tokens)."""
    return shares(torch.where(batch.present, attribution.norm(dim=-1), 0))
