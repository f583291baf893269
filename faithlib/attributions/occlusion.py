"""Leave-one-out: what the prediction loses without one token. For language models papers say occlusion."""

import numpy as np

from faithlib.forward import deleted, padded, replaced, target_values, unchanged


def leave_one_out(model, batch, target, removal="mask", cache=None, progress=None):
    """What the target loses when one token is removed, signed and absolute, from one sweep.

    a_i = y(x) − y(x without token i) (Li, Monroe & Jurafsky 2016; Madsen et al. 2024, appendix E.2), y the
    target's logit for classifiers, its probability for causal LMs: unbounded, or in [−1, 1]. removal:
    "mask" or "pad" put that token in its place, "delete" takes it out. A token that is the mask token
    already scores 0 under "mask". Raises ValueError where nothing would be left.
    """
    signed = losses(
        model,
        batch,
        target,
        [removable(model, e, removal) for e in batch.encodings],
        lambda e, erased: removed(model, e, erased, removal),
        model.explains,
        cache,
        progress,
    )
    return {"leave_one_out": signed, "leave_one_out_abs": signed.abs()}


def removable(model, encoding, removal="mask"):
    """The maskable tokens that `removal` would change: (tokens,) bool."""
    return encoding.maskable & (encoding.ids != _stand_in(model, removal))


def removed(model, encoding, erased, removal="mask"):
    """The variant without the tokens at `erased` (tokens,) bool; raises ValueError if no token is left."""
    if removal != "delete":
        return replaced(encoding, erased, _stand_in(model, removal))
    if erased.all():
        raise ValueError(
            f"removal='delete' would leave an empty input (all {len(erased)} tokens are "
            "removed, none is special): use removal='mask' or 'pad'"
        )
    return deleted(encoding, erased)


def unknown_id(model):
    """The token that inseq puts in place of an erased one: unknown, else padding, else end of text."""
    t = model.tokenizer
    return next(i for i in (t.unk_token_id, t.pad_token_id, t.eos_token_id, 0) if i is not None)


def _stand_in(model, removal):
    token = {"mask": model.mask_id, "pad": model.pad_id, "delete": -1}[removal]  # no token has the id -1
    if token is None:
        raise ValueError(f"{model.name} has no {removal} token: give its tokenizer one")
    return token


def losses(model, batch, target, positions, remove, of, cache, progress):
    """y(x) − y(x without token i) at each example's `positions` (tokens,) bool, else 0: (batch, tokens)."""
    variants = []
    for e, wanted in zip(batch.encodings, positions, strict=True):
        variants += [unchanged(e), *(remove(e, erased) for erased in np.eye(len(wanted), dtype=bool)[wanted])]
    counts = [1 + wanted.sum() for wanted in positions]
    y = target_values(model, variants, np.repeat(target.tolist(), counts), of, cache, progress)
    rows = [np.zeros(len(wanted)) for wanted in positions]
    for row, wanted, values in zip(rows, positions, np.split(y, np.cumsum(counts)[:-1]), strict=True):
        row[wanted] = values[0] - values[1:]
    return padded(rows, batch)
