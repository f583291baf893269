"""Gradients of the target's logit with respect to each position's word embedding."""

import torch

from faithlib.attributions import register


def embedding_gradient(model, batch, target, embeddings):
    """∂y/∂e at `embeddings` (batch, tokens, width), y the target's logit; same shape."""
    with torch.enable_grad():
        embeddings = embeddings.detach().requires_grad_()
        y = model.logits(batch, embeddings=embeddings).gather(1, target[:, None]).sum()
        (gradient,) = torch.autograd.grad(y, embeddings)
    return gradient


@register("input_x_gradient", "input_x_gradient_abs", "deeplift")
def input_x_gradient(model, batch, target):
    """x⊙∇x, summed over the embedding's width: signed, absolute, and DeepLift as published.

    a_i = e_i · ∂y/∂e_i (Kindermans et al. 2016). DeepLift with the zero baseline is (e_i − 0) · ∂y/∂e_i
    on these models, because the released implementations have rules for none of their activations:
    the same numbers as the signed x⊙∇x.
    """
    embeddings = model.embed(batch.ids)  # (batch, tokens, width)
    signed = (embeddings * embedding_gradient(model, batch, target, embeddings)).sum(-1).detach()
    return {"input_x_gradient": signed, "input_x_gradient_abs": signed.abs(), "deeplift": signed}


@register("integrated_gradients", "integrated_gradients_abs")
def integrated_gradients(model, batch, target, steps=20):
    """Integrated gradients from the zero word embedding, signed and absolute.

    a_i = e_i · (1/K) Σ_k ∂y/∂e_i at e·(k − ½)/K, k = 1 … K (Sundararajan et al. 2017; the mid-point
    rule). Σ a_i over all positions tends to y(e) − y(0).
    """
    embeddings = model.embed(batch.ids)
    total = torch.zeros_like(embeddings)
    for k in range(steps):
        total += embedding_gradient(model, batch, target, embeddings * ((k + 0.5) / steps))
    signed = (embeddings * total / steps).sum(-1).detach()
    return {"integrated_gradients": signed, "integrated_gradients_abs": signed.abs()}
