"""Attention as attribution: the weights from the position that the prediction is read from to each token."""

import torch

from faithlib.attributions.gradients import frozen
from faithlib.models.precision import widened

NAMES = ("attention", "scaled_attention", "attention_rollout")


@torch.no_grad()
def attention(model, batch, target, wanted=NAMES):
    """Attention of the last layer, the same scaled by its gradient, and attention rollout, from one pass.

    r is the position that the prediction is read from: [CLS] for classifiers, the last token for causal LMs.

    - attention: α_ri of the last layer, the mean over heads, in [0, 1].
    - scaled_attention: the mean over heads of α_ri · ∂y/∂α_ri, signed; y is the target's logit (classifiers)
      or probability (causal LMs) (Serrano & Smith 2019).
    - attention_rollout: row r of Π_l (½ A_l + ½ I), where A_l is the mean over heads of layer l and the first
      layer stands on the right (Abnar & Zuidema 2020), in [0, 1].

    Args:
        wanted: the names to compute; "attention" is always returned.

    Returns:
        {name: (batch, tokens) float}, not 0 at special tokens, which `attribute` sets to 0.

    Raises:
        ValueError: the model exposes no attention weights.
    """
    slope = None
    if "scaled_attention" in wanted:
        layers, slope = layers_and_slope(model, batch, target)
    else:
        _, layers = model.attentions(batch)
    alpha = read_row(model, batch, layers[-1])  # (batch, heads, tokens)
    scores = {"attention": alpha.mean(1)}
    if slope is not None:
        scores["scaled_attention"] = (alpha * slope).mean(1)
    if "attention_rollout" in wanted:
        scores["attention_rollout"] = rollout(model, batch, layers)
    return scores


def layers_and_slope(model, batch, target, explained=None):
    """Attention of every layer, and ∂y/∂α of the last layer's row r: (batch, heads, tokens)."""
    explained = explained or model.explained
    # The graph must start below the last layer; the backward pass stops at the last layer's weights.
    with frozen(model.model, but=model.embedding_table), torch.enable_grad():
        logits, layers = model.attentions(batch)
        (slope,) = torch.autograd.grad(explained(logits, target).sum(), layers[-1])
    return [layer.detach() for layer in layers], read_row(model, batch, slope)


def read_row(model, batch, layer):
    """Row r of attention weights (batch, heads, from, to), r the position read: (batch, heads, to)."""
    rows, read = torch.arange(len(layer), device=layer.device), model.reads(batch).to(layer.device)
    return widened(layer[rows, :, read]).to(batch.ids.device)


def rollout(model, batch, layers):
    """Row r of Π_l (½ A_l + ½ I): (batch, tokens), by vector-matrix products only."""
    row = torch.nn.functional.one_hot(model.reads(batch), batch.ids.shape[1])  # (batch, tokens)
    row = row.to(widened(layers[0][:0]).dtype)
    for layer in reversed(layers):
        row = (row + (row[:, None] @ widened(layer).mean(1).to(row.device))[:, 0]) / 2
    return row
