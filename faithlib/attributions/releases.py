"""The released code of the papers, where it departs from the papers' definitions.

`attribute(definition="released", paper=...)` uses a function from this module where there is one for the
name, else the ordinary one. Two departures of the releases are not reproduced. Where a release adds up
gradients over a whole batch, these functions add up within each example, because a score that depends on the
other texts of its batch is not a property of the text. Where a release hard-codes the ids of special tokens,
these functions use those of the model's tokenizer.
"""

import math
from collections.abc import Callable
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from sklearn.linear_model import Ridge

from faithlib.attributions.attention import layers_and_slope, read_row, rollout
from faithlib.attributions.gradients import (
    baseline_embedding,
    before_text_b,
    drawn_points,
    gradient,
    in_passes,
    path_gradient,
    right_ends,
    sequential_paths,
    y_at,
)
from faithlib.attributions.noiser import Noised, search
from faithlib.attributions.occlusion import losses, unknown_id
from faithlib.attributions.surrogates import filled_probabilities
from faithlib.forward import padded, replaced
from faithlib.scores import generator

BOTH_IG = ("integrated_gradients", "integrated_gradients_abs")
BY_TYPE = ("input_x_gradient_abs", "integrated_gradients")

RELEASED = {}  # (paper, name) -> Release


class Release(NamedTuple):
    """A function that computes what a paper's released code computes, and what the model must expose."""

    function: Callable
    needs: tuple


def released(paper, *names, needs=()):
    """Register a function as what the released code of a paper computes under `names`.

    Args:
        paper: the paper's short name.
        names: registered names of attributions, which the function returns.
        needs: what the model must expose, as in `register`.

    Returns:
        The decorator, which returns the function unchanged.

    Example:
        >>> @released("my_paper", "leave_one_out")
        ... def squared(model, batch, target):
        ...     return {"leave_one_out": scores**2}
        >>> RELEASED.pop(("my_paper", "leave_one_out")).needs
        ()
    """

    def join(function):
        RELEASED.update({(paper, name): Release(function, tuple(needs)) for name in names})
        return function

    return join


# Soft metrics (Zhao & Aletras 2023) ---------------------------------------------------------------


@released("soft_metrics", "scaled_attention", needs=("attention",))
@torch.no_grad()
def attention_squared(model, batch, target):
    """ᾱ_i², where ᾱ is the mean over heads of the last layer at the position read; no gradient is used.

    In [0, 1]. The release multiplies attention by a detached copy of itself, so the ranking is that of
    attention.
    """
    _, layers = model.attentions(batch)
    return {"scaled_attention": read_row(model, batch, layers[-1]).mean(1) ** 2}


@released("soft_metrics", *BY_TYPE)
@torch.no_grad()
def by_type_of_logit(model, batch, target, wanted=BY_TYPE, progress=None):
    """Input × gradient and integrated gradients of the logit, with one gradient for each token type.

    g = Σ_j ∂y/∂e_j over the positions j that hold the same token as i.

    - input_x_gradient_abs: |e_i · g|.
    - integrated_gradients: e_i · mean of g, where the output of the embedding layer (after positions and
      layer norm) is multiplied by 0, 0.1, …, 1; signed.
    """
    return _by_type(model, batch, target, wanted, model.explained, np.full(11, 1 / 11), progress)


@released("soft_metrics", "deeplift")
@torch.no_grad()
def deeplift_of_raw_embeddings(model, batch, target):
    """e_i · ∂y/∂e_i, where the encoder receives bare word embeddings: no positions, types or layer norm.

    The release calls captum's DeepLift, which also has a rule for the tanh of BERT's pooler. That rule is
    left out here; it changes MiniLM's scores by 2e-4.
    """
    embeddings = model.embed(batch.ids)

    def y(e):
        with _embedding_output(model, lambda output: e.to(output.dtype)):
            return y_at(model, batch, target)(e)

    return {"deeplift": (embeddings * gradient(model, y, embeddings)).sum(-1)}


# Recursive ROAR (Madsen et al. 2022) --------------------------------------------------------------


@released("recursive_roar", "integrated_gradients_abs")
@torch.no_grad()
def weighted_from_zero(model, batch, target, steps=50, progress=None):
    """|e_i · (1/K) Σ_k (k/K) ∂y/∂e_i at (k/K) e|, k = 1 … K, ≥ 0: later points have more weight.

    The factor k/K arises because the release differentiates with respect to the embedding before it is
    scaled. In pairs, the tokens after `text` and its separator are not scaled. It is an attribution of its
    own too, so that one study can compare both forms.

    Args:
        model: a Classifier or CausalLM.
        batch: the Batch to explain.
        target: (batch,) int, the class or next token explained.
        steps: K, the integration steps, at least 1; one forward and backward pass each.
        progress: called with the share of the work just done, or None.

    Returns:
        {"weighted_integrated_gradients_abs": (batch, tokens) float}, in units of y, and the same scores under
        the name that the release has for them.

    Example:
        >>> from faithlib import attributions, models
        >>> model = models.load("tiny-bert", ("no", "yes"), ["the plot was great"])
        >>> name = "weighted_integrated_gradients_abs"
        >>> attributions.attribute(model, model.encode(["great"]), [1], [name], steps=5)[name][0].shape
        (3,)
    """
    embeddings = model.embed(batch.ids)
    base = torch.where(before_text_b(batch)[..., None], 0, embeddings)
    signed = _late_points(model, batch, target, embeddings, base, steps, progress)
    return dict.fromkeys(("integrated_gradients_abs", "weighted_integrated_gradients_abs"), signed.abs())


# FMM (Madsen et al. 2024) -------------------------------------------------------------------------


@released("fmm", *BOTH_IG)
@torch.no_grad()
def weighted_from_padding(model, batch, target, steps=20, progress=None):
    """e_i · (1/K) Σ_k (k/K) ∂y/∂e_i at b + (k/K)(e − b), b the padding token's embedding; signed, absolute.

    The factor k/K is that of Recursive ROAR's release. The multiplier is e although the path starts at b.
    """
    embeddings = model.embed(batch.ids)
    signed = _late_points(model, batch, target, embeddings, baseline_embedding(model, "pad"), steps, progress)
    return {"integrated_gradients": signed, "integrated_gradients_abs": signed.abs()}


# SaLoss (Chrysostomou & Aletras 2021) -------------------------------------------------------------


@released("saloss", "attention", "scaled_attention", needs=("attention",))
@torch.no_grad()
def attention_shares(model, batch, target, wanted=("attention", "scaled_attention")):
    """ᾱ_i and ᾱ_i · (mean over heads of ∂p/∂α_i), each divided by its signed sum over the maskable tokens.

    ᾱ is the mean over heads and p the target's probability. A negative sum reverses the ranking. The release
    reads the gradient that the last pass left, which belongs to integrated gradients: the embedding output is
    multiplied by 0.9.
    """
    alpha = read_row(model, batch, model.attentions(batch)[1][-1]).mean(1)  # (batch, tokens)
    scores = {"attention": _signed_shares(alpha, batch)}
    if "scaled_attention" in wanted:
        with _embedding_output(model, lambda output: 0.9 * output):
            _, slope = layers_and_slope(model, batch, target, _probability)
        scores["scaled_attention"] = _signed_shares(alpha * slope.mean(1), batch)
    return scores


@released("saloss", *BY_TYPE)
@torch.no_grad()
def by_type_of_probability(model, batch, target, wanted=BY_TYPE, progress=None):
    """The soft metrics' release, but of the probability and divided by the signed sum over maskable tokens.

    The release does not reset gradients between the integration steps, so they accumulate: the whole input
    first, then 0, 0.1, …, 0.9. The mean of the 11 running sums weighs them 11/11 and 10/11, 9/11, …, 1/11.
    """
    weights = np.array([*range(10, 0, -1), 11]) / 11
    scores = _by_type(model, batch, target, wanted, _probability, weights, progress)
    return {name: _signed_shares(values, batch) for name, values in scores.items()}


# Noiser (Ghasemi Madani et al. 2025) --------------------------------------------------------------


@released("noiser", "attention", "attention_rollout", needs=("attention",))
@torch.no_grad()
def attention_softmaxed(model, batch, target):
    """Softmax of the attention weights over all tokens of the prompt: nearly uniform, sum 1 with BOS."""
    _, layers = model.attentions(batch)
    rows = {
        "attention": read_row(model, batch, layers[-1]).mean(1),
        "attention_rollout": rollout(model, batch, layers),
    }
    return {name: row.masked_fill(~batch.present, -torch.inf).softmax(-1) for name, row in rows.items()}


@released("noiser", "input_x_gradient", "deeplift")
@torch.no_grad()
def lengths_of_one_pass(model, batch, target):
    """inseq's input × gradient, ‖e_i ⊙ ∂p/∂e_i‖₂, and DeepLift, ‖(e_i − b_i) ⊙ ∂p/∂e_i‖₂, as shares.

    All gradient scores of inseq are L2 norms over the embedding's width, divided by their sum over all tokens
    of the prompt, BOS included: ≥ 0, sum 1, without sign. p is the target's probability; b_i is the
    embedding of the unknown token, or e_i where token i is an end-of-text token.
    """
    embeddings = model.embed(batch.ids)
    slope = gradient(model, y_at(model, batch, target, _probability), embeddings)
    return {
        "input_x_gradient": _length_shares(embeddings * slope, batch),
        "deeplift": _length_shares((embeddings - _unknown(model, batch)) * slope, batch),
    }


@released("noiser", "integrated_gradients")
@torch.no_grad()
def lengths_of_integrated_gradients(model, batch, target, steps=50, progress=None):
    """inseq's integrated gradients: Gauss-Legendre quadrature with K points; norms as shares, as above."""
    embeddings, base = model.embed(batch.ids), _unknown(model, batch)
    at, weights = _gauss_legendre(steps, embeddings)
    at = at[:, None].expand(-1, len(batch.ids))
    slope = path_gradient(model, batch, target, embeddings, base, at, weights, progress)
    return {"integrated_gradients": _length_shares((embeddings - base) * slope, batch)}


@released("noiser", "sequential_integrated_gradients")
@torch.no_grad()
def lengths_of_sequential_paths(model, batch, target, steps=50, progress=None):
    """inseq's sequential integrated gradients: Gauss-Legendre with K points; norms as shares, as above."""
    base = _unknown(model, batch)
    at, weights = _gauss_legendre(steps, base)
    scores = sequential_paths(model, batch, target, base, at, weights, batch.present, progress)
    return {"sequential_integrated_gradients": _length_shares(scores, batch)}


@released("noiser", "gradient_shap")
@torch.no_grad()
def lengths_of_gradient_shap(model, batch, target, samples=5, seed=0, progress=None):
    """inseq's GradientSHAP, five draws for each prompt; norms as shares, as above."""
    embeddings, base = model.embed(batch.ids), _unknown(model, batch)
    at, weights = drawn_points(batch, samples, seed, embeddings)
    slope = path_gradient(model, batch, target, embeddings, base, at, weights, progress)
    return {"gradient_shap": _length_shares((embeddings - base) * slope, batch)}


@released("noiser", "noiser")
@torch.no_grad()
def noiser_of_the_release(model, batch, target, norm="none", noise=10, halvings=10, progress=None):
    """Noiser's release: k_min over all tokens, BOS included, and losses divided by their signed sum.

    The score is s_i / Σ_j s_j: a negative sum reverses the ranking, a sum near 0 makes scores large; a sum of
    0 leaves them unchanged. k_i is the last scale that the bisection tries, at which the prediction may
    flip. The noise is that of RandomState(1), the same for all texts, divided by an approximation of its
    expected norm.

    Args:
        model: a Classifier or CausalLM.
        batch: the Batch to explain.
        target: (batch,) int, the class or next token explained.
        norm: the divisor: "none", 1 (as in the release's notebook); "l2", √d (as in its program); "l1",
            √(2/π) d; "linf", √(2 ln d).
        noise: noise vectors, at least 1.
        halvings: bisection steps, at least 1.
        progress: called with the share of the work just done, or None.

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
    losses = noised.losses(tokens, k[:, None], low, p)
    total = losses.sum(1, keepdim=True)
    return {
        "noiser": losses / torch.where(total == 0, 1, total),
        "k": k,
        "flipped": smallest < 1 - 2 * 0.5**halvings,
        "tied": noised.tied,
    }


@released("noiser", "lime")
def lime_of_inseq(model, batch, target, samples=50, seed=0, progress=None):
    """Noiser's release: the LIME of inseq 0.7.1 at its defaults, ≥ 0 and sum 1 over the whole prompt.

    Each of 50 neighbours masks every token, special tokens included, with probability 0.3; the text itself is
    not among them. A masked token has the *id* of the unknown (else padding, else end) token, c, as each
    entry of its embedding; the method was written for ids. The features of the ridge regression (α = 1) of
    the target's probability are the embedding entries; the weight of a neighbour is the number of unchanged
    entries. A token's score is the L2 norm of its entries' coefficients, divided by the sum over tokens.

    All entries of a token change together, so its coefficients are a multiple of e_i − c, and their norm is
    the coefficient of a single feature: ‖e_i − c‖ where the token is kept. The regression therefore has
    `tokens` unknowns, not tokens · width.
    """
    rows, filler = [], float(unknown_id(model))
    for e, row, y in zip(batch.encodings, batch.ids, target, strict=True):
        kept = generator(e, seed).random((samples, len(e.ids))) >= 0.3  # (samples, tokens)
        embeddings = model.embed(row[: len(e.ids)]).detach()  # (tokens, width)
        p = filled_probabilities(model, e, embeddings, kept, filler, y)  # (samples,)
        scale = (embeddings.double() - filler).norm(dim=-1).cpu().numpy()  # (tokens,)
        changing = (embeddings != filler).sum(-1).cpu().numpy()  # (tokens,)
        weight = embeddings.numel() - ~kept @ changing  # (samples,)
        sizes = abs(Ridge(alpha=1).fit(kept * scale, p, sample_weight=weight).coef_)
        rows.append(sizes / max(sizes.sum(), 1e-12))
        if progress is not None:
            progress(1 / len(batch.encodings))
    return {"lime": padded(rows, batch)}


@released("noiser", "leave_one_out", "leave_one_out_abs")
def occlusion_of_inseq(model, batch, target, cache=None, progress=None):
    """Noiser's release: inseq 0.7.1's occlusion, divided by its sum; both names have the same scores.

    a_i = |p(x) − p(x, token i := unknown)| / Σ_j |…|, over all tokens of the prompt, special tokens included:
    ≥ 0, sum 1. All scores are 0 if no token changes the probability (the release divides by 0). inseq takes
    absolute values, so signed scores cannot be had.
    """
    loss = losses(
        model,
        batch,
        target,
        [np.ones(len(e.ids), bool) for e in batch.encodings],
        lambda e, erased: replaced(e, erased, unknown_id(model)),
        "probability",
        cache,
        progress,
    )
    loss = loss.abs()
    shares = loss / loss.sum(1, keepdim=True).clamp(min=np.finfo(float).tiny)
    return {"leave_one_out": shares, "leave_one_out_abs": shares}


# Shared helpers -----------------------------------------------------------------------------------


def _probability(logits, target):
    return logits.softmax(-1).gather(1, target[:, None])[:, 0]


def _by_type(model, batch, target, wanted, explained, weights, progress):
    """|Input × gradient|, and integrated gradients whose 11 points 0, 0.1, …, 1 have `weights` (11,)."""
    embeddings = model.embed(batch.ids)
    slope = gradient(model, y_at(model, batch, target, explained), embeddings)
    same = (batch.ids[:, :, None] == batch.ids[:, None]).to(embeddings)  # (batch, tokens, tokens)
    scores = {"input_x_gradient_abs": (embeddings * (same @ slope)).sum(-1).abs()}
    if "integrated_gradients" in wanted:
        weights = torch.from_numpy(weights).to(embeddings)
        total = weights[-1] * slope  # the point 1 is the whole input; the point 0 has no gradient
        at = torch.arange(1, 10).to(embeddings) / 10

        def compute(examples, places, rows):
            block = embeddings[examples, : rows.ids.shape[1]].repeat(len(at[places]), 1, 1)
            factor = at[places].repeat_interleave(examples.stop - examples.start)[:, None, None]
            y = y_at(model, rows, target[examples].repeat(len(at[places])), explained, factor=factor)
            slopes = gradient(model, y, block).unflatten(0, (len(at[places]), -1))
            total[examples, : block.shape[1]] += torch.tensordot(weights[1:10][places], slopes, 1)
            if progress is not None:
                progress(len(block) / len(at) / len(embeddings))

        in_passes(model, batch, len(at), compute)
        scores["integrated_gradients"] = (embeddings * (same @ total)).sum(-1)
    return scores


def _late_points(model, batch, target, embeddings, base, steps, progress):
    """e_i · (1/K) Σ_k (k/K) ∂y/∂e_i at b + (k/K)(e − b): (batch, tokens)."""
    at, weights = right_ends(steps, embeddings)
    places = at[:, None].expand(-1, len(batch.ids))
    slope = path_gradient(model, batch, target, embeddings, base, places, at * weights, progress)
    return (embeddings * slope).sum(-1)


def _gauss_legendre(steps, like):
    """Gauss-Legendre points on [0, 1] and their weights, both (steps,)."""
    x, w = np.polynomial.legendre.leggauss(steps)
    return torch.from_numpy((1 + x) / 2).to(like), torch.from_numpy(w / 2).to(like)


def _unknown(model, batch):
    """The unknown token's embedding at each position, e_i at end-of-text tokens: (batch, tokens, width)."""
    end = model.tokenizer.eos_token_id
    ends = batch.ids == (-1 if end is None else end)
    return model.embed(torch.where(ends, batch.ids, unknown_id(model)))


def _length_shares(attribution, batch):
    """L2 norms over the width, divided by their sum over present tokens: (batch, tokens)."""
    return _shares(torch.where(batch.present, attribution.norm(dim=-1), 0))


def _signed_shares(scores, batch):
    return _shares(torch.where(batch.maskable, scores, 0))


def _shares(scores):
    total = scores.sum(1, keepdim=True)
    return scores / torch.where(total == 0, 1, total)  # the releases would divide by 0


@contextmanager
def _embedding_output(model, change):
    """Context in which the embedding layer of an encoder returns change(its output)."""
    layer = getattr(model.model.base_model, "embeddings", None)
    if layer is None:
        raise ValueError(f"{model.name} is no encoder: what soft_metrics and saloss released needs one")
    hook = layer.register_forward_hook(lambda module, args, output: change(output))
    try:
        yield
    finally:
        hook.remove()
