"""How much fits into one pass of a model: batches by a budget of tokens and of memory.

What did not fit once is remembered with the model, so that later passes are smaller from the start.
"""

import os
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch

from faithlib.models import placement
from faithlib.scores import whole

# Padded tokens a batch. A CPU core is fastest while a batch fits its caches: of 256 to 2,048 tokens, encoders
# are fastest at 640 to 768 (10 % faster than at 256, 5 % than at 2,048); language models are 2 % faster at
# 1,024. A GPU needs large batches.
TOKEN_BUDGET = {"cpu": 768, "cuda": 65536, "mps": 8192}
CPU_SHARE, GPU_SHARE = 8, 2  # one part in so many of the free memory is for what a pass copies
# Soft draws are not counted. A factor is made when its pass begins: 4 bytes an element on the CPU and on the
# device, where embeddings and product are float32 too, so 12 bytes times the width for each token. The
# activations of one layer take 26 times the width in bfloat16 and 52 in float32 (an intermediate size of 3.5
# widths), and the share above leaves as much again.


class Limits(NamedTuple):
    """What one pass may hold: padded tokens that are computed, and bytes of what is copied or returned."""

    tokens: int
    bytes: float


def limits(model):
    """The `Limits` of a pass of a model.

    Tokens: TOKEN_BUDGET of its device times its `lightness` if it has one, at most what is known to fit; the
    environment variable FAITHLIB_HALVINGS, set when a process is restarted after it ran out of memory, halves
    them that many times. On a GPU their activations fit into the bytes. Bytes: a share of the memory that is
    free on this machine, or on the fullest of the GPUs that hold weights. Inside `limited`, what that allows.
    """
    if set_limits := getattr(model, "limits", None):
        return set_limits
    tokens = TOKEN_BUDGET[model.device.type] * getattr(model.model, "lightness", 1)
    tokens >>= int(os.environ.get("FAITHLIB_HALVINGS", 0))
    free = _free(model)
    if model.device.type == "cuda":
        tokens = min(tokens, int(free / activation_bytes(model)))
    return Limits(max(1, min(tokens, getattr(model, "tokens_that_fit", None) or tokens)), free)


def token_budget(model):
    """Padded tokens of a pass of a model: see `limits`."""
    return limits(model).tokens


def check_budget(budget, lengths):
    """Raise ValueError for a budget, not None, that is no whole number or below the longest text."""
    if budget is None:
        return
    whole("budget", budget, 1)
    longest = max(lengths, default=0)
    if budget < longest:
        raise ValueError(f"budget={budget} is less than the longest text: give {longest} or more")


@contextmanager
def limited(model, budget):
    """Inside, passes of the model hold at most `budget` padded tokens, and copies as large as these.

    None changes nothing; ValueError for a budget that is no whole number of at least 1.
    """
    if budget is None:
        yield
        return
    whole("budget", budget, 1)  # padded tokens of a pass
    before, model.limits = getattr(model, "limits", None), Limits(budget, budget * activation_bytes(model))
    try:
        yield
    finally:
        model.limits = before


def activation_bytes(model):
    """Memory of one computed token without gradients, in bytes: one layer's activations at a time."""
    config = getattr(model.model, "config", None)
    width = getattr(config, "hidden_size", None) or model.embedding_table.shape[1]
    return _size(model) * (2 * (getattr(config, "intermediate_size", None) or 4 * width) + 6 * width)


def attention_bytes(model):
    """Memory of the attention weights of one pair of tokens in all layers and heads, in bytes.

    Eager attention holds those of one layer three times more in float32: scores, with the mask, softmax.
    """
    config = getattr(model.model, "config", None)
    layers, heads = (getattr(config, f"num_{what}", 1) for what in ("hidden_layers", "attention_heads"))
    return heads * (layers * _size(model) + 3 * 4)


def output_bytes(model):
    """Memory of the outputs of one row, in bytes: logits, their softmax, and two more of a distance."""
    return 4 * 4 * model.outputs


def batches_by_length(lengths, budget, most=None, border=0):
    """Row indices in batches of at most `budget` padded tokens and `most` rows, longest first.

    Rows of more than `border` tokens and others are in batches apart; see `causal.CausalLM.border`.
    """
    lengths = np.asarray(lengths)
    order = np.argsort(-lengths, kind="stable")
    batches, start, beyond = [], 0, int((lengths > border).sum())
    while start < len(order):
        size = budget // int(lengths[order[start]])
        size = max(1, size if most is None else min(size, most))
        stop = min(start + size, beyond) if start < beyond else start + size
        batches.append(order[start:stop])
        start = stop
    return batches


def shares_prefix(model):
    """Whether keys and values of a prefix can be reused: of language models that are no hybrids."""
    return hasattr(model, "prefix") and getattr(model, "shares", True)


def border(model):
    """Tokens above which a model computes otherwise, 0 for none."""
    return getattr(model, "border", 0)


def batches_by_start(starts, lengths, order, limits, prefix_bytes=0, row_bytes=0):
    """Row indices in batches, each of which is computed from the earliest start of its rows.

    Batching rows with different prefix lengths recomputes tokens; that is accepted for small batches only.

    Args:
        starts, lengths: the first token to compute of each row, and its number of tokens.
        order: the rows, in order of decreasing start.
        prefix_bytes: memory of the keys and values of one token, which are copied for each row.
        row_bytes: memory of the outputs of a row.
    """
    batch, needed, longest, budget = [], 0, 0, limits.tokens
    for i in order:
        start, length = starts[i], lengths[i]
        longest = max(longest, length)
        padded = (len(batch) + 1) * (longest - start)
        small, tight = padded <= budget // 8, 8 * (padded - needed - (length - start)) <= padded
        copied = (len(batch) + 1) * (start * prefix_bytes + row_bytes)
        if batch and (padded > budget or copied > limits.bytes or not (small or tight)):
            yield batch
            batch, needed, longest = [], 0, length
        batch.append(i)
        needed += length - start
    if batch:
        yield batch


def out_of_memory(error):
    """Whether an error reports that a GPU, or the CPU where the system refuses the memory, has none left.

    Text decides where torch has no class of its own: on a CPU, an Apple GPU and in cuBLAS it is a
    RuntimeError.
    """
    phrases = ("not enough memory", "can't allocate memory", "bad_alloc", "out of memory", "ALLOC_FAILED")
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or (
        isinstance(error, RuntimeError) and any(phrase in str(error) for phrase in phrases)
    )


def shrink(model, tokens):
    """Remember that a pass of so many padded tokens did not fit: later ones hold half of it at most."""
    model.tokens_that_fit = max(1, tokens // 2)
    if set_limits := getattr(model, "limits", None):
        model.limits = Limits(min(set_limits.tokens, model.tokens_that_fit), set_limits.bytes)


def halving(model, compute, rows, length, pairs=False):
    """compute(rows) as a list of one result, or, where memory runs out, of the results of smaller pieces.

    Args:
        length: padded tokens of a row.
        pairs: whether the pass returns the attention weights of all layers: then pairs of tokens are counted,
            from the start by their memory, and remembered apart from the tokens of other passes.
    """
    each, fitting = (length**2, _pairs(model)) if pairs else (length, getattr(model, "tokens_that_fit", None))
    if fitting and len(rows) > 1 and len(rows) * each > fitting:
        size = max(1, fitting // each)
        pieces = [rows[start : start + size] for start in range(0, len(rows), size)]
        return [result for piece in pieces for result in halving(model, compute, piece, length, pairs)]
    try:
        return [compute(rows)]
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error) or len(rows) == 1:
            raise
    if pairs:
        model.pairs_that_fit = max(1, len(rows) * each // 2)
    else:
        shrink(model, len(rows) * each)
    half = len(rows) // 2
    return [x for part in (rows[:half], rows[half:]) for x in halving(model, compute, part, length, pairs)]


def _pairs(model):
    """Pairs of tokens whose attention weights fit into the memory of a pass, at least 1."""
    most = max(1, int(limits(model).bytes / attention_bytes(model)))
    return min(most, getattr(model, "pairs_that_fit", None) or most)


def _size(model):
    return torch.finfo(getattr(model, "dtype", torch.float32)).bits // 8


def _free(model):
    """Bytes of the free memory that a pass may use."""
    if model.device.type == "cuda":
        gpus = {device for device in placement.devices(model.model) if device.type == "cuda"}
        return min(_free_on(device) for device in gpus | {model.device}) / GPU_SHARE
    import psutil

    return psutil.virtual_memory().available / CPU_SHARE


def _free_on(gpu):
    """Bytes that are free on a GPU; torch keeps some of them to itself."""
    free, _ = torch.cuda.mem_get_info(gpu)
    return free + torch.cuda.memory_reserved(gpu) - torch.cuda.memory_allocated(gpu)
