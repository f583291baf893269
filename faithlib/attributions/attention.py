"""Attention as attribution: what the first token (CLS) pays in the last layer."""

import torch

from faithlib.attributions import register


@register("attention", "scaled_attention")
def attention(model, batch, target):
    """The CLS row of the last layer's attention, and the same scaled by its gradient.

    attention: α, mean over heads, in [0, 1]. scaled_attention: α⊙∂y/∂α, mean over heads, signed, y the
    target's logit (Serrano & Smith 2019, as used by Zhao & Aletras 2023, section 4.3).
    """
    with torch.enable_grad():
        logits, layers = model.attentions(batch)
        y = logits.gather(1, target[:, None]).sum()
        (gradient,) = torch.autograd.grad(y, layers[-1])  # (batch, heads, from, to)
    alpha, gradient = layers[-1][:, :, 0].detach(), gradient[:, :, 0]  # (batch, heads, tokens)
    return {"attention": alpha.mean(1), "scaled_attention": (alpha * gradient).mean(1)}
