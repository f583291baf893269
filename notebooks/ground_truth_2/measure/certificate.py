"""The proof that a `read_half.ReadHalf` does not read: erasing all unread tokens changes nothing."""

import numpy as np
import pandas as pd
import torch

from faithlib.engine import forward
from faithlib.engine.operators import OPERATORS, Operator
from notebooks.ground_truth_2.measure.read_half import unread_tokens

LARGEST = 1e-5  # change of a probability that is rounding
CERTIFIED = {  # the operators under which a kind of model must not change; deletion moves places
    "attention": ("zero", "mask", "pad", "resample"),
    "mask": ("mask", "pad", "resample"),
}
COLUMNS = ["operator", "mean", "largest", "all_mean", "certified"]


def certificate(model, encodings, targets, operators):
    """How far the target's probability moves where all unread tokens are erased: COLUMNS, a row an operator.

    The mean and the largest |Δp| over texts with the unread tokens erased, the mean with all tokens erased,
    and whether the kind is certified under it.

    Args:
        model: a `read_half.ReadHalf`.
        encodings: [Encoding] with bits.
        targets: (texts,) int, classes.
        operators: [Operator], of `model`.

    Raises:
        AssertionError: a certified operator moves a probability by LARGEST or more, or a gradient at an
            unread token is not 0.
    """
    rows, targets = [], np.asarray(targets)
    full = forward.target_values(model, [forward.unchanged(e) for e in encodings], targets, "probability")
    for operator in operators:
        unread = _moved(operator, encodings, [unread_tokens(e) for e in encodings], targets, full)
        everything = _moved(operator, encodings, [e.maskable for e in encodings], targets, full)
        certified = operator.name in CERTIFIED[model.kind]
        rows.append((operator.name, unread.mean(), unread.max(), everything.mean(), certified))
    table = pd.DataFrame(rows, columns=COLUMNS)
    broken = table[table.certified & (table.largest >= LARGEST)]
    if len(broken):
        raise AssertionError(
            f"{model.name} reads unread tokens: erasing them with {', '.join(broken.operator)} moves a "
            f"probability by {broken.largest.max():.2g}"
        )
    gradient = largest_gradient(model, encodings, targets)
    if gradient:
        raise AssertionError(f"{model.name} has a gradient of {gradient:.2g} at an unread token")
    return table


def operators_of(model, unigrams, seed):
    """All operators of a model, [Operator]; replacement texts from the stream of a seed."""
    return [Operator(model, name, "", unigrams, f"ground truth {seed}") for name in OPERATORS]


def sentence(table):
    """The certificate in words, with what deletion does."""
    certified = table[table.certified]
    (deletion,) = table[table.operator == "delete"].itertuples()
    return (
        f"Erasing all unread tokens moves p by at most {certified.largest.max():.1e} under "
        f"{', '.join(certified.operator)}; under delete, where places move, by {deletion.mean:.3f} in the "
        f"mean and {deletion.largest:.3f} at most."
    )


def largest_gradient(model, encodings, targets):
    """The largest |gradient| of a target's logit with respect to the embedding of an unread token."""
    batch = model.collate(encodings)
    embeddings = model.embed(batch.ids).detach().requires_grad_()
    logits = model.logits(batch, embeddings=embeddings)
    total = model.explained(logits, torch.as_tensor(targets, device=logits.device)).sum()
    (gradient,) = torch.autograd.grad(total, embeddings)
    unread = (batch.types == 1) & batch.maskable
    return float(gradient[unread].abs().max()) if unread.any() else 0.0


def _moved(operator, encodings, masks, targets, full):
    """|Δp| of each text: (texts,)."""
    variants = []
    for encoding, mask in zip(encodings, masks, strict=True):
        variants += operator.variants(encoding, mask)
    repeated = np.repeat(targets, operator.texts)
    p = forward.target_values(operator.model, variants, repeated, "probability")
    return np.abs(p.reshape(-1, operator.texts).mean(1) - full)
