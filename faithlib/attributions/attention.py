"""Attention as attribution: what the position that the prediction is read from pays to the others."""

import torch

from faithlib.attributions.gradients import frozen

NAMES = ("attention", "scaled_attention", "attention_rollout")


@torch.no_grad()
def attention(model, batch, target, wanted=NAMES):
    """Attention of the last layer, the same scaled by its gradient, and rollout over all layers.

    One pass; r is the position read: CLS for classifiers, the last token for causal LMs. attention: α_ri of
    the last layer, mean over heads, in [0, 1]. scaled_attention: mean over heads of α_ri · ∂y/∂α_ri, signed,
    y the target's logit or probability (Serrano & Smith 2019). attention_rollout: row r of Π_l (½ A_l + ½ I),
    A_l the heads' mean, the first layer on the right (Abnar & Zuidema 2020), in [0, 1].
    """
    slope = None
    if "scaled_attention" in wanted:
        layers, slope = differentiated(model, batch, target)
    else:
        _, layers = model.attentions(batch)
    alpha = read_row(model, batch, layers[-1])  # (batch, heads, tokens)
    scores = {"attention": alpha.mean(1)}
    if slope is not None:
        scores["scaled_attention"] = (alpha * slope).mean(1)
    if "attention_rollout" in wanted:
        scores["attention_rollout"] = rollout(model, batch, layers)
    return scores


def differentiated(model, batch, target, explained=None):
    """Every layer's attention, and ∂y/∂α of the last layer where it is read: (batch, heads, tokens)."""
    explained = explained or model.explained
    # The graph has to start somewhere below the last layer; it is only ever walked down to there.
    with frozen(model.model, but=model.embedding_table), torch.enable_grad():
        logits, layers = model.attentions(batch)
        (slope,) = torch.autograd.grad(explained(logits, target).sum(), layers[-1])
    return [layer.detach() for layer in layers], read_row(model, batch, slope)


def read_row(model, batch, layer):
    """Of (batch, heads, from, to) the row that the prediction is read from: (batch, heads, to)."""
    return layer[torch.arange(len(layer), device=layer.device), :, model.reads(batch)].float()


def rollout(model, batch, layers):
    """Row r of Π_l (½ A_l + ½ I): (batch, tokens). A row times the matrices, never matrix times matrix."""
    row = torch.nn.functional.one_hot(model.reads(batch), batch.ids.shape[1]).float()  # (batch, tokens)
    for layer in reversed(layers):
        row = (row + (row[:, None] @ layer.float().mean(1))[:, 0]) / 2
    return row
