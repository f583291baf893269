"""Value zeroing: how far a layer's output at a position moves when another token's value vector is 0."""

from contextlib import ExitStack

import numpy as np
import torch
from torch import nn

from faithlib.engine.forward import padded
from faithlib.progress import ignored

VALUES = ("v_proj", "value", "v_lin")  # what Llama, BERT and DistilBERT call the layer of values


def value_zeroing(model, batch, target, progress=ignored):
    """Value zeroing, rolled out over layers, from the position that the prediction is read from.

    In each layer alone, c_ij is the cosine distance between the layer's output at position i and the same
    with the value vectors of token j set to 0 in all heads; rows are divided by their sums. The score of j is
    c_rj of C_L ⋯ C_1, with r the position read (Mohebbi et al. 2023, "Quantifying Context Mixing in
    Transformers", equations 4 to 6). It knows no target. The cost is one pass a token.

    Returns:
        {"value_zeroing": (batch, tokens) float64}, in [0, 1]; the sum over all positions is 1.

    Raises:
        ValueError: a model whose layers compute no values apart, as BERT, DistilBERT, RoBERTa and Llama do.
    """
    check_values(model)
    rows = []
    for encoding, read in zip(batch.encodings, model.reads(batch).tolist(), strict=True):
        row = np.eye(len(encoding.ids))[read]
        for mixing in reversed(context_mixing(model, encoding)):
            row = row @ mixing
        rows.append(row)
        progress(1 / len(batch.encodings))
    return {"value_zeroing": padded(rows, batch)}


def check_values(model):
    """Raise ValueError if a model's layers compute no values apart, or its head reads all positions."""
    layers = _layers(getattr(model, "model", None))
    if not layers or not all(_values(layer) for layer in layers) or getattr(model, "pools", False):
        why = "has layers without a value projection, or a head that reads all positions"
        raise ValueError(f"{getattr(model, 'name', 'the model')} {why}: leave out value_zeroing")


@torch.no_grad()
def context_mixing(model, encoding):
    """C of every layer: [(tokens, tokens) float64], each row with the sum 1 (0 where nothing moves)."""
    layers, calls, distances = _layers(model.model), [], []
    with ExitStack() as hooks:
        for layer in layers:
            keep = layer.register_forward_pre_hook(lambda _, *of: calls.append(of), with_kwargs=True)
            hooks.enter_context(keep)
        # `logits` of a classifier computes its last layer at [CLS] alone
        getattr(model, "hidden_states", model.logits)(model.collate([encoding]))
    for layer, (args, kwargs) in zip(layers, calls, strict=True):
        plain, moved = _output(layer, args, kwargs), []
        for token in range(len(encoding.ids)):
            with _values(layer).register_forward_hook(
                lambda module, arguments, output, token=token: output.index_fill(
                    1, torch.tensor([token], device=output.device), 0
                )
            ):
                moved.append(1 - nn.functional.cosine_similarity(plain, _output(layer, args, kwargs), dim=-1))
        mixing = torch.stack(moved, -1).clamp(min=0)
        distances.append((mixing / mixing.sum(-1, keepdim=True).clamp(min=1e-12)).numpy())
    return distances


def _layers(network):
    """The transformer layers of a Hugging Face model, first to last; none where it has no such list."""
    count = getattr(getattr(network, "config", None), "num_hidden_layers", 0)
    for module in network.modules() if count else ():
        if isinstance(module, nn.ModuleList) and len(module) == count:
            return list(module)
    return []


def _values(layer):
    """The one linear layer of a transformer layer that computes values, or None."""
    modules = [m for name, m in layer.named_modules() if name.split(".")[-1] in VALUES]
    return modules[0] if len(modules) == 1 else None


def _output(layer, args, kwargs):
    """A layer's output, (tokens, width) float64."""
    output = layer(*args, **kwargs)
    return (output[0] if isinstance(output, tuple) else output)[0].cpu().double()
