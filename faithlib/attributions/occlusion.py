"""Leave-one-out: the change of the prediction when one token is removed. Papers on LMs call it occlusion."""

from functools import partial

import numpy as np

from faithlib.engine.forward import erased, padded, replacement, target_values, unchanged


def leave_one_out(model, batch, target, removal="mask", cache=None, progress=None):
    """What the target loses when one token is removed, signed and absolute.

    a_i = y(x) − y(x without token i) (Li, Monroe & Jurafsky 2016; Madsen et al. 2024, appendix E.2), where y
    is the target's logit for classifiers (a_i unbounded) and its probability for causal LMs (a_i in [−1, 1]).
    Tokens that are the mask token already score 0 under "mask"; likewise under "pad". The cost is one pass a
    token, plus one.

    Returns:
        {"leave_one_out", "leave_one_out_abs": (batch, tokens) float64}.

    Example:
        >>> from faithlib import models
        >>> model = models.load("tiny-bert", ("no", "yes"), ["the plot was great"])
        >>> batch = model.collate(model.encode(["the plot was great"]))
        >>> leave_one_out(model, batch, np.array([1]))["leave_one_out"].shape
        torch.Size([1, 6])
    """
    positions = [removable(model, e, removal) for e in batch.encodings]
    remove = partial(erased, model, removal=removal)
    signed = losses(model, batch, target, positions, remove, model.explains, cache, progress)
    return {"leave_one_out": signed, "leave_one_out_abs": signed.abs()}


def removable(model, encoding, removal="mask"):
    """The maskable tokens that `removal` would change: (tokens,) bool."""
    return encoding.maskable & (encoding.ids != replacement(model, removal))


def unknown_id(model):
    """The token that inseq puts in place of an erased one: unknown, else padding, else end of text."""
    t = model.tokenizer
    return next(i for i in (t.unk_token_id, t.pad_token_id, t.eos_token_id, 0) if i is not None)


def losses(model, batch, target, positions, remove, of, cache, progress):
    """y(x) − y(x without token i) at each example's `positions`, 0 elsewhere: (batch, tokens) float64.

    Args:
        positions: for each example the tokens to remove in turn, (tokens,) bool.
        remove: (encoding, where (tokens,) bool) -> the Variant without these tokens.
        of: what y is, "logit" or "probability".
    """
    pairs = zip(batch.encodings, positions, strict=True)
    variants = [[remove(e, mask) for mask in np.eye(len(at), dtype=bool)[at]] for e, at in pairs]
    rows = [np.zeros(len(wanted)) for wanted in positions]
    values = drops(model, batch.encodings, target.tolist(), variants, of, cache, progress)
    for row, wanted, drop in zip(rows, positions, values, strict=True):
        row[wanted] = drop
    return padded(rows, batch)


def drops(model, encodings, targets, variants, of, cache=None, progress=None):
    """y(x) − y(variant) for the variants of each example: [(variants of it,) float64]."""
    counts = [1 + len(group) for group in variants]
    inputs = []
    for e, group in zip(encodings, variants, strict=True):
        inputs += [unchanged(e), *group]
    y = target_values(model, inputs, np.repeat(targets, counts), of, cache, progress)
    return [values[0] - values[1:] for values in np.split(y, np.cumsum(counts)[:-1])]
