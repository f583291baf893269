"""The released code of the papers about classifiers, where it departs from the papers' definitions.

`attribute(definition="released", paper=...)` uses a function from this module where there is one for the
name, else the ordinary one. Two departures of the releases are not reproduced. Where a release adds up
gradients over a whole batch, these functions add up within each example, because a score that depends on the
other texts of its batch is not a property of the text. Where a release hard-codes the ids of special tokens,
these functions use those of the model's tokenizer. What Noiser's release computes is in `releases_inseq`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

from faithlib.attributions import gradients
from faithlib.attributions.attention import layers_and_slope, read_row
from faithlib.progress import ignored

BY_TYPE = ("input_x_gradient_abs", "integrated_gradients")


class Release(NamedTuple):
    """A function that computes what a paper's released code computes, and what the model must expose."""

    function: Callable
    needs: tuple


RELEASED: dict[tuple[str, str], Release] = {}  # by paper and name


def released(paper, *names, needs=()) -> Callable:
    """Register a function as what the released code of a paper computes under `names`.

    Args:
        paper: the paper's short name.
        names: registered names of attributions, which the function returns.
        needs: what the model must expose, as in `register`.
    """

    def join(function):
        RELEASED.update({(paper, name): Release(function, tuple(needs)) for name in names})
        return function

    return join


# Soft metrics (Zhao & Aletras 2023) ---------------------------------------------------------------


@released("soft_metrics", "scaled_attention", needs=("attention",))
@torch.no_grad()
def attention_squared(model, batch, target):
    """{"scaled_attention": ᾱ_i²}, in [0, 1], ᾱ the mean over heads of the last layer at the position read.

    The release multiplies attention by a detached copy of itself, so the ranking is that of attention.
    """
    _, layers = model.attentions(batch)
    return {"scaled_attention": read_row(model, batch, layers[-1]).mean(1) ** 2}


@released("soft_metrics", *BY_TYPE)
@torch.no_grad()
def by_type_of_logit(model, batch, target, wanted=BY_TYPE, progress=ignored):
    """Input × gradient and integrated gradients of the logit, with one gradient for each token type.

    g = Σ_j ∂y/∂e_j over the positions j that hold the same token as i; in units of the logit.

    - input_x_gradient_abs: |e_i · g|, always returned.
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
            return gradients.y_at(model, batch, target)(e)

    return {"deeplift": (embeddings * gradients.gradient(model, y, embeddings)).sum(-1)}


# Recursive ROAR (Madsen et al. 2022) --------------------------------------------------------------


@released("recursive_roar", "integrated_gradients_abs")
@torch.no_grad()
def weighted_from_zero(model, batch, target, steps=50, progress=ignored):
    """|e_i · (1/K) Σ_k (k/K) ∂y/∂e_i at (k/K) e|, k = 1 … K, ≥ 0: later points have more weight.

    The factor k/K arises because the release differentiates with respect to the embedding before it is
    scaled. In pairs, the tokens after `text` and its separator are not scaled. It is an attribution of its
    own too, so that one study can compare both forms.

    Args:
        steps: K, the integration steps, at least 1; one forward and backward pass each.

    Returns:
        {"weighted_integrated_gradients_abs": (batch, tokens) float}, in units of y, and the same scores under
        the name that the release has for them.
    """
    embeddings = model.embed(batch.ids)
    base = torch.where(gradients.before_text_b(batch)[..., None], 0, embeddings)
    signed = _late_points(model, batch, target, embeddings, base, steps, progress)
    return dict.fromkeys(("integrated_gradients_abs", "weighted_integrated_gradients_abs"), signed.abs())


# FMM (Madsen et al. 2024) -------------------------------------------------------------------------


@released("fmm", "integrated_gradients", "integrated_gradients_abs")
@torch.no_grad()
def weighted_from_padding(model, batch, target, steps=20, progress=ignored):
    """e_i · (1/K) Σ_k (k/K) ∂y/∂e_i at b + (k/K)(e − b), b the padding token's embedding; signed, absolute.

    The factor k/K is that of Recursive ROAR's release. The multiplier is e although the path starts at b.
    """
    embeddings = model.embed(batch.ids)
    base = gradients.baseline_embedding(model, "pad")
    signed = _late_points(model, batch, target, embeddings, base, steps, progress)
    return {"integrated_gradients": signed, "integrated_gradients_abs": signed.abs()}


# SaLoss (Chrysostomou & Aletras 2021) -------------------------------------------------------------


@released("saloss", "attention", "scaled_attention", needs=("attention",))
@torch.no_grad()
def attention_shares(model, batch, target, wanted=("attention", "scaled_attention")):
    """ᾱ_i and ᾱ_i · (mean over heads of ∂p/∂α_i), each divided by its signed sum over the maskable tokens.

    ᾱ is the mean over heads and p the target's probability. A negative sum reverses the ranking. The release
    reads the gradient that the last pass left, which belongs to integrated gradients: the embedding output is
    multiplied by 0.9. "attention" is always returned; a sum of 0 leaves scores as they are.
    """
    alpha = read_row(model, batch, model.attentions(batch)[1][-1]).mean(1)  # (batch, tokens)
    scores = {"attention": _signed_shares(alpha, batch)}
    if "scaled_attention" in wanted:
        with _embedding_output(model, lambda output: 0.9 * output):
            _, slope = layers_and_slope(model, batch, target, probability)
        scores["scaled_attention"] = _signed_shares(alpha * slope.mean(1), batch)
    return scores


@released("saloss", *BY_TYPE)
@torch.no_grad()
def by_type_of_probability(model, batch, target, wanted=BY_TYPE, progress=ignored):
    """The soft metrics' release, but of the probability and divided by the signed sum over maskable tokens.

    The release does not reset gradients between the integration steps, so they accumulate: the whole input
    first, then 0, 0.1, …, 0.9. The mean of the 11 running sums weighs them 11/11 and 10/11, 9/11, …, 1/11.
    """
    weights = np.array([*range(10, 0, -1), 11]) / 11
    scores = _by_type(model, batch, target, wanted, probability, weights, progress)
    return {name: _signed_shares(values, batch) for name, values in scores.items()}


# Shared helpers -----------------------------------------------------------------------------------


def probability(logits, target):
    """The target's probability: (batch, outputs), (batch,) -> (batch,)."""
    return logits.softmax(-1).gather(1, target[:, None])[:, 0]


def _by_type(model, batch, target, wanted, explained, weights, progress):
    """|Input × gradient|, and integrated gradients whose 11 points 0, 0.1, …, 1 have `weights` (11,)."""
    embeddings = model.embed(batch.ids)
    slope = gradients.gradient(model, gradients.y_at(model, batch, target, explained), embeddings)
    same = (batch.ids[:, :, None] == batch.ids[:, None]).to(embeddings)  # (batch, tokens, tokens)
    scores = {"input_x_gradient_abs": (embeddings * (same @ slope)).sum(-1).abs()}
    if "integrated_gradients" in wanted:
        weights = torch.from_numpy(weights).to(embeddings)
        total = weights[-1] * slope  # the point 1 is the whole input; the point 0 has no gradient
        at = torch.arange(1, 10).to(embeddings) / 10

        def compute(examples, places, rows):
            n = len(at[places])
            block = embeddings[examples, : rows.ids.shape[1]].repeat(n, 1, 1)
            factor = at[places].repeat_interleave(examples.stop - examples.start)[:, None, None]
            y = gradients.y_at(model, rows, target[examples].repeat(n), explained, factor=factor)
            slopes = gradients.gradient(model, y, block).unflatten(0, (n, -1))
            total[examples, : block.shape[1]] += torch.tensordot(weights[1:10][places], slopes, 1)
            progress(len(block) / len(at) / len(embeddings))

        gradients.in_passes(model, batch, len(at), compute)
        scores["integrated_gradients"] = (embeddings * (same @ total)).sum(-1)
    return scores


def _late_points(model, batch, target, embeddings, base, steps, progress):
    """e_i · (1/K) Σ_k (k/K) ∂y/∂e_i at b + (k/K)(e − b): (batch, tokens)."""
    at, weights = gradients.right_ends(steps, embeddings)
    slope = gradients.path_gradient(model, batch, target, embeddings, base, at, at * weights, progress)
    return (embeddings * slope).sum(-1)


def _signed_shares(scores, batch):
    return shares(torch.where(batch.maskable, scores, 0))


def shares(scores):
    """Scores (batch, tokens) divided by their sum over tokens, which may be negative; 0 where all are 0."""
    total = scores.sum(1, keepdim=True)
    return scores / torch.where(total == 0, 1, total)  # the releases would divide by 0


def _embedding_output(model, change):
    """Context in which the embedding layer of an encoder returns change(its output)."""
    layer = getattr(model.model.base_model, "embeddings", None)
    if layer is None:
        raise ValueError(f"{model.name} is no encoder: what soft_metrics and saloss released needs one")
    return layer.register_forward_hook(lambda module, args, output: change(output))
