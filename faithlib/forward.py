"""The perturbation engine: many variants of inputs in, class probabilities out.

Variants are sorted by length and packed into batches by a token budget, equal variants are evaluated
once, a batch that does not fit into memory is halved. Results do not depend on batch size or order.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from tqdm import tqdm

from faithlib.models.classifier import Encoding

# Padded tokens a batch. A CPU core is fastest while a batch fits its caches (measured on MiniLM: 6.3 ms
# a sentence at 512 to 1,024 tokens, 8.0 at 4,096, 12.9 at 16,384); a GPU wants large batches.
TOKEN_BUDGET = {"cpu": 1024, "cuda": 65536, "mps": 8192}


@dataclass(frozen=True)
class Variant:
    """One input as the model shall see it.

    factor: makes the (tokens,) or (tokens, width) multiplier of the embedding output, or None.
    weight: the (tokens,) multiplier of attention, or None.
    key: equal for variants that are the same input; None for one that is never shared.
    """

    encoding: Encoding
    factor: Callable[[], np.ndarray | torch.Tensor] | None = None
    weight: np.ndarray | None = None
    key: bytes | None = b""


def unchanged(encoding):
    """The input itself."""
    return Variant(encoding)


def replaced(encoding, erased, token_id):
    """The input with the ids at `erased` (tokens,) bool replaced."""
    ids = np.where(erased, token_id, encoding.ids)
    return Variant(replace(encoding, ids=ids))


def zeroed(encoding, erased):
    """The input with the embedding output at `erased` (tokens,) bool set to the zero vector."""
    if not erased.any():
        return unchanged(encoding)
    return Variant(encoding, factor=lambda: ~erased, key=erased.tobytes())


@torch.inference_mode()
def probabilities(classifier, variants, progress=None, budget=None):
    """Class probabilities of variants: float32 array (len(variants), classes).

    progress: a tqdm bar that is advanced by every variant, or None. budget: padded tokens a batch.
    Raises FloatingPointError if the model gives a value that is not finite.
    """
    classifier.model.eval()
    first, distinct = _distinct(variants)
    outputs = None
    budget = budget or TOKEN_BUDGET[classifier.device.type]
    for rows in batches_by_length([len(v.encoding.ids) for v in distinct], budget):
        part = _halving(classifier, [distinct[i] for i in rows])  # (rows, classes)
        if outputs is None:
            outputs = np.empty((len(distinct), part.shape[1]), np.float32)
        outputs[rows] = part
        if progress is not None:
            progress.update(len(rows) * len(variants) / len(distinct))
    if not np.isfinite(outputs).all():
        raise FloatingPointError("the model gives NaN or infinite probabilities: its weights are broken")
    return outputs[first]


def batches_by_length(lengths, budget):
    """Row indices in batches of at most `budget` padded tokens, longest first."""
    order = np.argsort(-np.asarray(lengths), kind="stable")
    batches, start = [], 0
    while start < len(order):
        size = max(1, budget // int(lengths[order[start]]))
        batches.append(order[start:start + size])
        start += size
    return batches


def bar(total, what, unit):
    """A progress bar with a rate and the remaining time; silent for the first seconds.

    Where the output is saved and not watched it writes a short line now and then, not a picture, and
    to stdout: a notebook prints stderr on red.
    """
    watched = sys.stderr.isatty()
    text = "{desc}: {n:.0f}/{total:.0f} {unit}s in {elapsed}, {remaining} left, {rate_fmt} "
    return tqdm(total=total, desc=what, unit=unit, file=sys.stderr if watched else sys.stdout,
                delay=3, mininterval=1 if watched else 15, bar_format=None if watched else text)


def _distinct(variants):
    """(index of each variant among the distinct ones, the distinct ones in order of appearance)."""
    index, distinct, first = {}, [], np.empty(len(variants), int)
    for i, variant in enumerate(variants):
        encoding = variant.encoding
        key = variant.key if variant.key is None else (
            encoding.ids.tobytes(), encoding.types.tobytes(), variant.key)
        if key is None or key not in index:
            index[key] = len(distinct)
            distinct.append(variant)
        first[i] = index[key]
    return first, distinct


def _halving(classifier, variants):
    try:
        return _forward(classifier, variants)
    except (torch.OutOfMemoryError, RuntimeError) as error:
        memory = isinstance(error, torch.OutOfMemoryError) or "not enough memory" in str(error)
        if not memory or len(variants) == 1:
            raise
    half = len(variants) // 2
    return np.concatenate([_halving(classifier, variants[:half]), _halving(classifier, variants[half:])])


def _forward(classifier, variants):
    batch = classifier.collate([v.encoding for v in variants])
    factor = _padded([v.factor and v.factor() for v in variants], batch)
    weight = _padded([v.weight for v in variants], batch)
    logits = classifier.logits(
        batch, factor=factor, weight=None if weight is None else weight.squeeze(-1))
    return logits.float().softmax(-1).cpu().numpy()


def _padded(rows, batch):
    """Stack (tokens,) or (tokens, width) rows to (batch, tokens, 1 or width), 1 where nothing is given."""
    given = [torch.as_tensor(np.asarray(r), dtype=torch.float32) for r in rows if r is not None]
    if not given:
        return None
    width = max(r.shape[1] if r.ndim == 2 else 1 for r in given)
    stacked = torch.ones(*batch.ids.shape, width)
    given = iter(given)
    for i, row in enumerate(rows):
        if row is not None:
            row = next(given)
            stacked[i, : len(row)] = row if row.ndim == 2 else row[:, None]
    return stacked.to(batch.ids.device)
