"""Leave-one-out: the change of the prediction when one token is removed. Papers on LMs call it occlusion."""

from functools import partial

import numpy as np

from faithlib.engine.forward import erased, padded, replacement, target_values, unchanged


def leave_one_out(model, batch, target, removal="mask", cache=None, progress=None):
    """What the target loses when one token is removed, signed and absolute.

    a_i = y(x) − y(x without token i) (Li, Monroe & Jurafsky 2016; Madsen et al. 2024, appendix E.2), where y
    is the target's logit for classifiers (a_i unbounded) and its probability for causal LMs (a_i in [−1, 1]).
    The cost is one pass a token, plus one.

    Args:
        removal: "mask" or "pad" replaces the token by the mask or padding token; "delete" takes it out. Under
            "mask", tokens that are the mask token already score 0; likewise under "pad".
        cache: a forward.Cache for the outputs, or None.

    Returns:
        {"leave_one_out", "leave_one_out_abs": (batch, tokens) float64}.

    Example:
        >>> import torch
        >>> from faithlib import models
        >>> model = models.load("tiny-bert", ("no", "yes"), ["the plot was great"])
        >>> batch = model.collate(model.encode(["the plot was great"]))
        >>> scores = leave_one_out(model, batch, torch.tensor([1]))
        >>> bool((scores["leave_one_out"].abs() == scores["leave_one_out_abs"]).all())
        True
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
    variants = []
    for e, wanted in zip(batch.encodings, positions, strict=True):
        variants += [unchanged(e), *(remove(e, mask) for mask in np.eye(len(wanted), dtype=bool)[wanted])]
    counts = [1 + wanted.sum() for wanted in positions]
    y = target_values(model, variants, np.repeat(target.tolist(), counts), of, cache, progress)
    rows = [np.zeros(len(wanted)) for wanted in positions]
    for row, wanted, values in zip(rows, positions, np.split(y, np.cumsum(counts)[:-1]), strict=True):
        row[wanted] = values[0] - values[1:]
    return padded(rows, batch)
