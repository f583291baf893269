"""Layer-wise relevance propagation through transformers: AttnLRP and CP-LRP.

Both are e_i · g_i, where g is the gradient of the target's logit by changed rules: what a rule sends back is
written as the gradient of an expression with the same value, in which some factors are constants.
"""

from contextlib import ExitStack, contextmanager
from functools import partial

import torch
from torch import nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from faithlib.attributions.gradients import gradient, y_at
from faithlib.models import placement

FAMILIES = ("bert", "distilbert", "gpt2", "llama", "mistral", "qwen2")  # all their layers have a rule here
ACTIVATIONS = ("transformers.activations", "torch.nn.modules.activation")
NAMES = ("attn_lrp", "cp_lrp")


@torch.no_grad()
def relevance(model, batch, target, wanted=NAMES):
    """AttnLRP and CP-LRP: relevance of word embeddings, one forward and backward pass each.

    The target's logit is sent back layer by layer (Achtibat et al. 2024, "AttnLRP: Attention-Aware Layer-Wise
    Relevance Propagation for Transformers", equations 8 to 15), for causal LMs too, where probabilities of
    other methods are explained:

    - linear layers: each input gets its own summand, x_i · w_i (the 0-rule); a bias keeps its share;
    - activations and norms, y_i = x_i · c_i: all of y_i goes to x_i, c_i is a constant (the identity rule);
    - products of two signals, q · k, attention · values and gates: one half to each (the uniform rule);
    - the softmax: x_i · ∂/∂x_i, the Taylor rule, which does not conserve relevance.

    CP-LRP (Ali et al. 2022) has attention weights as constants in place of the last rule and of the halves
    in attention. Where no layer has a bias, as in Llama, its relevances of all positions add up to the logit.

    The authors of AttnLRP state that layer-wise relevance propagation is patented and that its commercial use
    needs a licence. No code of theirs is used here.

    Returns:
        {name: (batch, tokens) float}, in units of the logit, signed.

    Raises:
        ValueError: a model of none of FAMILIES, with layers that have no rule here.
    """
    check_rules(model)
    embeddings, scores = model.embed(batch.ids), {}
    y = y_at(model, batch, target, lambda logits, of: logits.gather(1, of[:, None])[:, 0])
    for name in NAMES:
        if name in wanted:
            with rules(model.model, name):
                scores[name] = (embeddings * gradient(model, y, embeddings)).sum(-1)
    return scores


def check_rules(model):
    """Raise ValueError if some layers of a Classifier or CausalLM have no rule here."""
    config = getattr(getattr(model, "model", None), "config", None)  # other modules join by adapters
    kind = getattr(config, "model_type", type(model).__name__)
    if kind not in FAMILIES:
        raise ValueError(
            f"{model.name} ({kind}) has layers without a rule of relevance propagation: leave out "
            f"{' and '.join(NAMES)}, or use a model of {', '.join(FAMILIES)}"
        )


@contextmanager
def rules(network, name):
    """Inside, gradients of a Hugging Face model are those of the rules of `name`, of NAMES; values stay."""
    used = network.config._attn_implementation
    network.set_attn_implementation(name)
    try:
        with ExitStack() as hooks:
            for module in network.modules():
                if isinstance(module, nn.LayerNorm):
                    hooks.callback(module.register_forward_hook(layer_norm).remove)
                elif type(module).__module__ in ACTIVATIONS or "RMSNorm" in type(module).__name__:
                    hooks.callback(module.register_forward_hook(identity).remove)
                elif hasattr(module, "gate_proj"):  # its product goes into down_proj
                    gated = module.down_proj.register_forward_pre_hook(lambda _, args: (halved(args[0]),))
                    hooks.callback(gated.remove)
            yield
    finally:
        network.set_attn_implementation(used)


def identity(module, args, output):
    """y = x · (y / x), the second factor a constant; 0 where x is 0."""
    x = args[0]
    return x * torch.where(x == 0, 0, output / x).detach()


def layer_norm(module, args, output):
    """y = (x − mean) · (weight / deviation) + bias, the second factor a constant."""
    x = args[0]
    deviation = (x.var(-1, correction=0, keepdim=True) + module.eps).sqrt()
    weight, bias = (placement.loaded(module, name).to(x.device) for name in ("weight", "bias"))
    return (x - x.mean(-1, keepdim=True)) * (weight / deviation).detach() + bias


def halved(product):
    """The same value with half of the gradient: each factor of a product gets one half."""
    return (product + product.detach()) / 2


def attention(module, query, key, value, mask, scaling=None, constant=False, **_):
    """Attention by the rules of AttnLRP; with constant=True, whose weights are constants, by those of CP-LRP.

    query, key, value: (batch, heads, tokens, width), where heads of keys and values may be fewer; mask is
    added to the logits, (batch, 1, tokens from, tokens to), or None. Returns (output (batch, tokens, heads,
    width), weights (batch, heads, tokens from, tokens to)).
    """
    shared = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(shared, dim=1) for x in (key, value))
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    logits = halved(query @ key.transpose(2, 3)) * scaling
    weights = (logits if mask is None else logits + mask).softmax(-1)
    output = weights.detach() @ value if constant else halved(weights @ value)
    return output.transpose(1, 2).contiguous(), weights


for _name, _function in zip(NAMES, (attention, partial(attention, constant=True)), strict=True):
    AttentionInterface.register(_name, _function)
    AttentionMaskInterface.register(_name, eager_mask)
