"""What the released code of the papers computes where it departs from the definition.

`attribute(definition="released", paper=...)` takes a function from here where there is one, else the ordinary
one. One departure of the releases is not repeated: where they add up gradients over a whole batch, these
functions add up within each example, because a score that depends on what shares its batch is no property of
the text. Nor are ids hard-coded: special tokens are those of the tokenizer at hand.
"""

import math
from collections.abc import Callable
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from sklearn.linear_model import Ridge

from faithlib.attributions.attention import differentiated, read_row, rollout
from faithlib.attributions.gradients import (
    baseline_embedding,
    before_text_b,
    drawn_points,
    gradient,
    passes,
    path_gradient,
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
    """What a paper's released code computes under a name, and what it needs of the model."""

    function: Callable
    needs: tuple


def released(paper, *names, needs=()):
    """Make a function known as what the released code of a paper computes under `names`."""

    def join(function):
        RELEASED.update({(paper, name): Release(function, tuple(needs)) for name in names})
        return function

    return join


# Soft metrics (Zhao & Aletras 2023) ---------------------------------------------------------------


@released("soft_metrics", "scaled_attention", needs=("attention",))
@torch.no_grad()
def attention_squared(model, batch, target):
    """ᾱ_i², ᾱ the heads' mean of the last layer where the prediction is read: no gradient takes part.

    In [0, 1]. The release multiplies attention by a detached copy of itself: the ranking is attention's.
    """
    _, layers = model.attentions(batch)
    return {"scaled_attention": read_row(model, batch, layers[-1]).mean(1) ** 2}


@released("soft_metrics", *BY_TYPE)
@torch.no_grad()
def by_type_of_logit(model, batch, target, wanted=BY_TYPE, progress=None):
    """x⊙grad and integrated gradients from one gradient a token type, of the logit.

    g = Σ_j ∂y/∂e_j over the positions j that hold the same token as i. input_x_gradient_abs: |e_i · g|.
    integrated_gradients: e_i · the mean of g at the embedding layer's output (positions added, layer norm
    done) times 0, 0.1, …, 1, signed.
    """
    return _by_type(model, batch, target, wanted, model.explained, np.full(11, 1 / 11), progress)


@released("soft_metrics", "deeplift")
@torch.no_grad()
def deeplift_of_raw_embeddings(model, batch, target):
    """e_i · ∂y/∂e_i where the encoder is fed word embeddings as they are: no positions, types or layer norm.

    captum's DeepLift, which this is in the release, also has a rule for the tanh of BERT's pooler; that rule
    is left out (it moves MiniLM's scores by 2e-4).
    """
    embeddings = model.embed(batch.ids)

    def y(e):
        with _embedding_output(model, lambda output: e):
            return y_at(model, batch, target)(e)

    return {"deeplift": (embeddings * gradient(model, y, embeddings)).sum(-1)}


# Recursive ROAR (Madsen et al. 2022) --------------------------------------------------------------


@released("recursive_roar", "integrated_gradients_abs")
@torch.no_grad()
def weighted_from_zero(model, batch, target, steps=50, progress=None):
    """|e_i · (1/K) Σ_k (k/K) ∂y/∂e_i at (k/K) e|, k = 1 … K: late points weigh more, ≥ 0.

    The factor k/K comes from differentiating by the embedding before it is scaled. In pairs, what follows
    `text` and its separator is not scaled.
    """
    embeddings = model.embed(batch.ids)
    base = torch.where(before_text_b(batch)[..., None], 0, embeddings)
    signed = _late_points(model, batch, target, embeddings, base, steps, progress)
    return {"integrated_gradients_abs": signed.abs()}


# FMM (Madsen et al. 2024) -------------------------------------------------------------------------


@released("fmm", *BOTH_IG)
@torch.no_grad()
def weighted_from_padding(model, batch, target, steps=20, progress=None):
    """e_i · (1/K) Σ_k (k/K) ∂y/∂e_i at b + (k/K)(e − b), b the padding token's embedding; signed, absolute.

    The factor k/K as in Recursive ROAR; times e, though the path starts at b.
    """
    embeddings = model.embed(batch.ids)
    signed = _late_points(model, batch, target, embeddings, baseline_embedding(model, "pad"), steps, progress)
    return {"integrated_gradients": signed, "integrated_gradients_abs": signed.abs()}


# SaLoss (Chrysostomou & Aletras 2021) -------------------------------------------------------------


@released("saloss", "attention", "scaled_attention", needs=("attention",))
@torch.no_grad()
def attention_shares(model, batch, target, wanted=("attention", "scaled_attention")):
    """ᾱ_i and ᾱ_i · (heads' mean of ∂p/∂α_i), each divided by its signed sum over the maskable tokens.

    ᾱ the heads' mean, p the target's probability. A negative sum turns the ranking round. The gradient is
    that of the last pass before it is read, one of integrated gradients': at the embedding output times 0.9.
    """
    alpha = read_row(model, batch, model.attentions(batch)[1][-1]).mean(1)  # (batch, tokens)
    scores = {"attention": _signed_shares(alpha, batch)}
    if "scaled_attention" in wanted:
        with _embedding_output(model, lambda output: 0.9 * output):
            _, slope = differentiated(model, batch, target, _probability)
        scores["scaled_attention"] = _signed_shares(alpha * slope.mean(1), batch)
    return scores


@released("saloss", *BY_TYPE)
@torch.no_grad()
def by_type_of_probability(model, batch, target, wanted=BY_TYPE, progress=None):
    """As the soft metrics' release, of the probability, each divided by its signed sum over maskable tokens.

    The steps of integrated gradients add up, because gradients are not reset between them: whole input first,
    then 0, 0.1, …, 0.9, so that the mean of the 11 running sums weighs them 11/11 and 10/11, 9/11, …, 1/11.
    """
    weights = np.array([*range(10, 0, -1), 11]) / 11
    scores = _by_type(model, batch, target, wanted, _probability, weights, progress)
    return {name: _signed_shares(values, batch) for name, values in scores.items()}


# Noiser (Ghasemi Madani et al. 2025) --------------------------------------------------------------


@released("noiser", "attention", "attention_rollout", needs=("attention",))
@torch.no_grad()
def attention_softmaxed(model, batch, target):
    """softmax over all tokens of the prompt of what are weights already: nearly uniform, sum 1 with BOS."""
    _, layers = model.attentions(batch)
    rows = {
        "attention": read_row(model, batch, layers[-1]).mean(1),
        "attention_rollout": rollout(model, batch, layers),
    }
    return {name: row.masked_fill(~batch.present, -torch.inf).softmax(-1) for name, row in rows.items()}


@released("noiser", "input_x_gradient", "deeplift")
@torch.no_grad()
def lengths_of_one_pass(model, batch, target):
    """inseq's x⊙grad and DeepLift: ‖e_i ⊙ ∂p/∂e_i‖₂ and ‖(e_i − b_i) ⊙ ∂p/∂e_i‖₂, each divided by its sum.

    As all of inseq's gradient scores: the L2 norm over the embedding's width, then shares over all tokens of
    the prompt, BOS too: ≥ 0, sum 1 with BOS' share, so signs are lost. p is the target's probability, b the
    embedding of the unknown token (of itself for an end-of-text token).
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
    """inseq's integrated gradients: K points of Gauss and Legendre; norms and shares as its x⊙grad."""
    embeddings, base = model.embed(batch.ids), _unknown(model, batch)
    at, weights = _gauss_legendre(steps, embeddings)
    at = at[:, None].expand(-1, len(batch.ids))
    slope = path_gradient(model, batch, target, embeddings, base, at, weights, progress)
    return {"integrated_gradients": _length_shares((embeddings - base) * slope, batch)}


@released("noiser", "sequential_integrated_gradients")
@torch.no_grad()
def lengths_of_sequential_paths(model, batch, target, steps=50, progress=None):
    """inseq's sequential integrated gradients: K points of Gauss and Legendre; norms and shares likewise."""
    base = _unknown(model, batch)
    at, weights = _gauss_legendre(steps, base)
    scores = sequential_paths(model, batch, target, base, at, weights, batch.present, progress)
    return {"sequential_integrated_gradients": _length_shares(scores, batch)}


@released("noiser", "gradient_shap")
@torch.no_grad()
def lengths_of_gradient_shap(model, batch, target, samples=5, seed=0, progress=None):
    """inseq's GradientSHAP, five draws a prompt; norms and shares likewise."""
    embeddings, base = model.embed(batch.ids), _unknown(model, batch)
    at, weights = drawn_points(batch, samples, seed, embeddings)
    slope = path_gradient(model, batch, target, embeddings, base, at, weights, progress)
    return {"gradient_shap": _length_shares((embeddings - base) * slope, batch)}


@released("noiser", "noiser")
@torch.no_grad()
def noiser_of_the_release(model, batch, target, norm="none", noise=10, halvings=10, progress=None):
    """Noiser's release: k_min over all tokens, BOS too, and losses divided by their signed sum.

    s_i / Σ_j s_j: a negative sum turns the ranking round, one near 0 makes scores large, one of 0 leaves them
    as they are. k_i is the last scale that the bisection tries, which may flip; noise is the same for all
    texts, RandomState(1)'s, divided by what stands for its expected norm: 1 ("none", its notebook's choice),
    √d ("l2", its program's), √(2/π) d ("l1") or √(2 ln d) ("linf"). Also k, flipped and tied, as `noiser`.
    """
    width = model.embedding_table.shape[1]
    size = {
        "none": 1,
        "l1": math.sqrt(2 / math.pi) * width,
        "l2": math.sqrt(width),
        "linf": math.sqrt(2 * math.log(width)),
    }[norm]
    vectors = np.random.RandomState(1).randn(1, noise, width) / size
    vectors = vectors.repeat(len(batch.encodings), 0)  # (batch, M, width)
    noised, where = Noised(model, batch, target, vectors, progress, halvings), batch.present.cpu()
    low, p, smallest = search(noised, where, halvings - 1)
    k = smallest + 0.5**halvings  # tried last; what came of it moves no bound that is read again
    losses = noised.losses(where, k[:, None], low, p)
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
        p = filled_probabilities(model, e, embeddings, there, filler, y)  # (samples,)
        scale = (embeddings.double() - filler).norm(dim=-1).cpu().numpy()  # (tokens,)
        changing = (embeddings != filler).sum(-1).cpu().numpy()  # (tokens,)
        weight = embeddings.numel() - ~there @ changing  # (samples,)
        sizes = abs(Ridge(alpha=1).fit(there * scale, p, sample_weight=weight).coef_)
        rows.append(sizes / max(sizes.sum(), 1e-12))
        if progress is not None:
            progress(1 / len(batch.encodings))
    return {"lime": padded(rows, batch)}


@released("noiser", "leave_one_out", "leave_one_out_abs")
def occlusion_of_inseq(model, batch, target, cache=None, progress=None):
    """Noiser's release: inseq 0.7.1's occlusion, divided by its sum. Both names give the same scores.

    a_i = |p(x) − p(x, token i := unknown)| / Σ_j |…|, over all tokens of the prompt, the special ones
    too: ≥ 0, sum 1 with the special tokens' own share. All 0 where no token changes anything (the
    release divides by 0). inseq takes absolute values, so the sign is lost before anybody asks for it.
    """
    lost = losses(
        model,
        batch,
        target,
        [np.ones(len(e.ids), bool) for e in batch.encodings],
        lambda e, erased: replaced(e, erased, unknown_id(model)),
        "probability",
        cache,
        progress,
    )
    lost = lost.abs()
    shares = lost / lost.sum(1, keepdim=True).clamp(min=np.finfo(float).tiny)
    return {"leave_one_out": shares, "leave_one_out_abs": shares}


# What they share ----------------------------------------------------------------------------------


def _probability(logits, target):
    return logits.softmax(-1).gather(1, target[:, None])[:, 0]


def _by_type(model, batch, target, wanted, explained, weights, progress):
    """x⊙grad (absolute), and IG over the embedding output times 0, 0.1, …, 1 with `weights` (11,)."""
    embeddings = model.embed(batch.ids)
    slope = gradient(model, y_at(model, batch, target, explained), embeddings)
    same = (batch.ids[:, :, None] == batch.ids[:, None]).to(embeddings)  # (batch, tokens, tokens)
    scores = {"input_x_gradient_abs": (embeddings * (same @ slope)).sum(-1).abs()}
    if "integrated_gradients" in wanted:
        weights = torch.from_numpy(weights).to(embeddings)
        total = weights[-1] * slope  # the whole input; the output times 0 has no gradient
        at = torch.arange(1, 10).to(embeddings) / 10
        for examples, places, part in passes(model, batch, len(at)):
            near = embeddings[examples, : part.ids.shape[1]].repeat(len(at[places]), 1, 1)
            factor = at[places].repeat_interleave(examples.stop - examples.start)[:, None, None]
            y = y_at(model, part, target[examples].repeat(len(at[places])), explained, factor=factor)
            slopes = gradient(model, y, near).unflatten(0, (len(at[places]), -1))
            total[examples, : near.shape[1]] += torch.tensordot(weights[1:10][places], slopes, 1)
            if progress is not None:
                progress(len(near) / len(at) / len(embeddings))
        scores["integrated_gradients"] = (embeddings * (same @ total)).sum(-1)
    return scores


def _late_points(model, batch, target, embeddings, base, steps, progress):
    """e_i · (1/K) Σ_k (k/K) ∂y/∂e_i at b + (k/K)(e − b): (batch, tokens)."""
    at = torch.arange(1, steps + 1).to(embeddings) / steps
    places = at[:, None].expand(-1, len(batch.ids))
    slope = path_gradient(model, batch, target, embeddings, base, places, at / steps, progress)
    return (embeddings * slope).sum(-1)


def _gauss_legendre(steps, like):
    x, w = np.polynomial.legendre.leggauss(steps)
    return torch.from_numpy((1 + x) / 2).to(like), torch.from_numpy(w / 2).to(like)


def _unknown(model, batch):
    """The unknown token's embedding at every position but end-of-text tokens: (batch, tokens, width)."""
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
    return scores / torch.where(total == 0, 1, total)  # the releases divide by 0 where nothing matters


@contextmanager
def _embedding_output(model, change):
    """Inside, the embedding layer of an encoder (words, positions, layer norm) gives change(its output)."""
    layer = getattr(model.model.base_model, "embeddings", None)
    if layer is None:
        raise ValueError(f"{model.name} is no encoder: what soft_metrics and saloss released needs one")
    hook = layer.register_forward_hook(lambda module, args, output: change(output))
    try:
        yield
    finally:
        hook.remove()
