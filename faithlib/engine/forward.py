"""The perturbation engine: the model's outputs for many variants of many inputs.

Variants are sorted by length and packed into batches by a token budget. Equal variants are evaluated once,
within a call and across calls that share a `Cache`. For causal language models, variants with a long common
prefix reuse its keys and values. Results do not depend on batch size or order.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
import torch
from scipy.special import softmax

from faithlib.engine import batching
from faithlib.models.base import Encoding
from faithlib.models.causal import CausalLM
from faithlib.models.placement import without_gradients


@dataclass(frozen=True)
class Variant:
    """One input as the model receives it.

    Attributes:
        encoding: the Encoding whose ids and types are used.
        factor: a function that returns the multiplier of the embedding output, (tokens,) or (tokens, width);
            or None.
        weight: the multiplier of attention, (tokens,), or None.
        key: equal for variants of equal encodings that are the same input; None for an input not shared.
        base: the Encoding of which this is a variant, or None.
        start: the first token that may differ from `base`.
    """

    encoding: Encoding
    factor: Callable[[], np.ndarray | torch.Tensor] | None = None
    weight: np.ndarray | None = None
    key: bytes | None = b""
    base: Encoding | None = None
    start: int = 0


def unchanged(encoding: Encoding) -> Variant:
    """The input itself."""
    return Variant(encoding)


def replaced(encoding: Encoding, erased: np.ndarray, token_id: int | np.ndarray) -> Variant:
    """The input with the ids at `erased` (tokens,) bool replaced."""
    ids = np.where(erased, token_id, encoding.ids)
    return Variant(replace(encoding, ids=ids), base=encoding, start=int(erased.argmax()))


def deleted(encoding: Encoding, erased: np.ndarray) -> Variant:
    """The input without the tokens at `erased` (tokens,) bool; later tokens take their positions."""
    return Variant(encoding.at(~erased), base=encoding, start=int(erased.argmax()))


def zeroed(encoding: Encoding, erased: np.ndarray) -> Variant:
    """The input with the embedding output at `erased` (tokens,) bool set to the zero vector."""
    if not erased.any():
        return unchanged(encoding)
    start = int(erased.argmax())
    return Variant(encoding, lambda: ~erased, key=erased.tobytes(), base=encoding, start=start)


def erased(model: Any, encoding: Encoding, positions: np.ndarray, removal: str = "mask") -> Variant:
    """The input without the tokens at `positions` (tokens,) bool.

    `removal` is "zero" (the zero vector), "mask", "pad" (the model's token) or "delete". Raises ValueError
    where that would leave an empty input, or the model has no such token.
    """
    if removal == "zero":
        return zeroed(encoding, positions)
    if removal != "delete":
        return replaced(encoding, positions, replacement(model, removal))
    if positions.all():
        raise ValueError(
            f"removal='delete' would leave an empty input (all {len(positions)} tokens are "
            "removed, none is special): use removal='mask' or 'pad'"
        )
    return deleted(encoding, positions)


def replacement(model, removal):
    """The id that takes an erased token's place; −1, which no token has, for "delete"."""
    token = -1 if removal == "delete" else getattr(model, f"{removal}_id")
    if token is None:
        raise ValueError(f"{model.name} has no {removal} token: give its tokenizer one")
    return token


class Cache:
    """Outputs of one model by variant, for calls that evaluate the same variants.

    A cache becomes invalid when the model's weights change: make a new one. `hits` is the number of outputs
    that were read instead of computed.

    Example:
        >>> from faithlib import models
        >>> model = models.load("tiny-bert", ("no", "yes"), ["the plot was great"])
        >>> variants, cache = [unchanged(e) for e in model.encode(["the plot was great"])], Cache()
        >>> first, second = (probabilities(model, variants, cache) for _ in range(2))
        >>> cache.hits
        1
    """

    def __init__(self):
        self.model, self.outputs, self.hits = None, {}, 0

    def of(self, model):
        """The stored outputs of `model`; raises ValueError if they are of another model."""
        if self.model not in (None, model):
            raise ValueError(f"the cache is of {self.model.name}, not {model.name}: make a new Cache()")
        self.model = model
        return self.outputs


def probabilities(
    model: Any, variants: Sequence[Variant], cache: Cache | None = None, progress: Callable | None = None
) -> np.ndarray:
    """Probabilities of classes or next tokens: (len(variants), outputs) float32, each row with the sum 1.

    Args:
        cache: a Cache to read from and to fill, or None.
        progress: called with the share of this call's work just done, or None.

    Raises:
        FloatingPointError: the model returns a value that is not finite.
        ValueError: the cache holds outputs of another model.

    Example:
        >>> from faithlib import models
        >>> model = models.load("tiny-bert", ("no", "yes"), ["the plot was great"])
        >>> probabilities(model, [unchanged(e) for e in model.encode(["the plot", "great"])]).shape
        (2, 2)
    """
    return softmax(_logits(model, variants, cache, progress), axis=-1)


def target_values(model, variants, targets, of, cache=None, progress=None):
    """The logit or probability of each variant's own target: (len(variants),) float64.

    Cache, progress and errors are those of `probabilities`.

    Args:
        targets: (len(variants),) int, classes or token ids.
        of: "logit" or "probability".
    """
    targets = np.asarray(targets)
    if not isinstance(model, CausalLM):  # few outputs: store all, for other targets and metrics
        logits = _logits(model, variants, cache, progress).astype(float)
        return (logits if of == "logit" else softmax(logits, axis=-1))[np.arange(len(targets)), targets]

    def chosen(logits, rows):  # on the device, because moving a vocabulary of outputs is slow
        target = torch.as_tensor(targets[rows], device=logits.device)[:, None]
        logits = logits.float()
        return logits.gather(1, target) if of == "logit" else logits.log_softmax(-1).gather(1, target).exp()

    tags = [(of, int(t)) for t in targets]
    return _evaluate(model, variants, tags, chosen, cache, progress)[:, 0].astype(float)


def distances(model, variants, references, reference_of, distance, cache=None):
    """The distance between each variant's probabilities p and a reference distribution q: (variants,).

    Args:
        references: (n, outputs) probabilities.
        reference_of: (len(variants),) int, the index in `references` of each variant's q.
        distance: (p, q), each (batch, outputs) -> (batch,); tensors on the model's device.
        cache: a Cache to read from and to fill, or None.
    """
    digests = [hashlib.blake2b(q.tobytes(), digest_size=16).digest() for q in np.asarray(references)]
    tags = [(distance, digests[row]) for row in reference_of]
    references, rows_of = torch.as_tensor(references, device=model.device), torch.as_tensor(reference_of)

    def compared(logits, rows):  # on the device, because moving a vocabulary of outputs is slow
        q = references[rows_of[rows].to(references.device)]
        return distance(logits.float().softmax(-1), q)[:, None]

    return _evaluate(model, variants, tags, compared, cache)[:, 0].astype(float)


def padded(rows, batch):
    """Scores of each example, [(tokens,)], as one float64 tensor (batch, tokens), 0 at padding."""
    scores = torch.zeros(batch.ids.shape, dtype=torch.float64)
    for i, row in enumerate(rows):
        scores[i, : len(row)] = torch.as_tensor(row)
    return scores


def _logits(model, variants, cache, progress):
    tags = ["logits"] * len(variants)
    return _evaluate(model, variants, tags, lambda logits, rows: logits.float(), cache, progress)


@without_gradients
def _evaluate(model, variants, tags, reduce, cache=None, progress=None):
    """reduce(logits, rows) for all variants, (len(variants), width); equal (variant, tag) share one pass."""
    model.model.eval()
    cached = (cache or Cache()).of(model)
    keys = [None if v.key is None else (_digest(v), tag) for v, tag in zip(variants, tags, strict=True)]
    first = {}  # key -> its first row
    rows_of = [i if key is None else first.setdefault(key, i) for i, key in enumerate(keys)]
    missing = [i for i, row in enumerate(rows_of) if row == i and keys[i] not in cached]
    outputs = {i: cached[key] for key, i in first.items() if key in cached}
    computed = None  # one array: many small arrays would fragment the memory, which then grows
    for rows, logits in _passes(model, variants, missing):
        values = reduce(logits, rows).cpu().numpy()
        if not np.isfinite(values).all():
            why = reason(model, "its weights are broken")
            raise FloatingPointError(f"{model.name} gives NaN or infinite outputs{why}")
        if computed is None:
            computed = np.empty((len(variants), values.shape[1]), values.dtype)
        computed[rows] = values
        if progress is not None:
            progress(len(rows) / len(missing))
    if progress is not None and not missing:
        progress(1.0)
    outputs.update((i, computed[i]) for i in missing)
    if cache is not None:
        cache.hits += len(variants) - len(missing)
        cached.update((keys[i], outputs[i]) for i in missing if keys[i] is not None)
    return np.stack([outputs[row] for row in rows_of])


def _digest(variant):
    """The cache key of a variant, 16 bytes."""
    e = variant.encoding
    return hashlib.blake2b(e.ids.tobytes() + e.types.tobytes() + variant.key, digest_size=16).digest()


def _passes(model, variants, rows):
    """Forward passes over variants[rows]: (rows of a batch, logits) pairs."""
    bounds, side = batching.limits(model), batching.border(model)
    plain, shared = rows, []
    if isinstance(model, CausalLM) and model.shares:
        alike = [i for i in rows if (v := variants[i]).base is None or _same_side(v, side)]
        shared = _families(variants, alike)
        members = {i for family in shared for i in family}
        plain = [i for i in rows if i not in members]
    lengths = [len(variants[i].encoding.ids) for i in plain]
    most = int(bounds.bytes / batching.output_bytes(model))

    def compute(rows):
        return _forward(model, [variants[i] for i in rows])

    for batch in batching.batches_by_length(lengths, bounds.tokens, most, side):
        chosen = [plain[i] for i in batch]
        longest = len(variants[chosen[0]].encoding.ids)  # batches are by length
        yield chosen, torch.cat(batching.halving(model, compute, chosen, longest))
    bases = [variants[family[0]].base for family in shared]
    for batch in batching.batches_by_length([len(base.ids) for base in bases], bounds.tokens, border=side):
        yield from _after_prefixes(model, variants, [shared[i] for i in batch])


def _same_side(variant, side):
    """Whether a variant and its base are on the same side of `causal.CausalLM.border`."""
    return (len(variant.encoding.ids) > side) == (len(variant.base.ids) > side)


def _families(variants, rows):
    """Groups of two or more rows whose variants share a base and at least its first eighth."""
    families = defaultdict(list)
    for i in rows:
        v = variants[i]
        if v.base is not None and 8 * v.start >= len(v.base.ids) and len(v.encoding.ids) > v.start:
            families[v.base.ids.tobytes()].append(i)
    return [family for family in families.values() if len(family) > 1]


def _after_prefixes(model, variants, families):
    """Passes over the variants of a batch of bases; the keys and values of the bases are computed once."""
    _, prefix = model.prefix(model.collate([variants[family[0]].base for family in families]))
    base_of = {i: k for k, family in enumerate(families) for i in family}
    order = sorted(base_of, key=lambda i: (-variants[i].start, base_of[i]))
    starts = {i: variants[i].start for i in order}
    lengths = {i: len(variants[i].encoding.ids) for i in order}
    copied = prefix.bytes_a_token, batching.output_bytes(model)
    for chosen in batching.batches_by_start(starts, lengths, order, batching.limits(model), *copied):

        def compute(rows):
            start = min(variants[i].start for i in rows)
            before = prefix.rows([base_of[i] for i in rows], start)
            return _forward(model, [variants[i] for i in rows], start, before)

        computed = max(lengths[i] for i in chosen) - min(starts[i] for i in chosen)
        yield chosen, torch.cat(batching.halving(model, compute, chosen, computed))


def _forward(model, variants, start=0, prefix=None):
    """Logits (variants, outputs); with a prefix, only the tokens from `start` on are computed."""
    encodings = [v.encoding.at(slice(start, None)) if start else v.encoding for v in variants]
    batch = model.collate(encodings)
    arguments = {"prefix": prefix} if prefix is not None else {}
    if (factor := stacked([v.factor and v.factor()[start:] for v in variants], batch)) is not None:
        arguments["factor"] = factor
    if (weight := stacked([v.weight for v in variants], batch)) is not None:
        arguments["weight"] = weight.squeeze(-1)
    return model.logits(batch, **arguments)


def stacked(rows, batch):
    """Stack (tokens,) or (tokens, width) rows to (batch, tokens, 1 or width), 1 where a row is None."""
    flat = {i: np.asarray(r, np.float32).reshape(len(r), -1) for i, r in enumerate(rows) if r is not None}
    if not flat:
        return None
    stacked = np.ones((*batch.ids.shape, max(row.shape[1] for row in flat.values())), np.float32)
    for i, row in flat.items():
        stacked[i, : len(row)] = row
    return torch.from_numpy(stacked).to(batch.ids.device)


def check_mask(model):
    """Raise ValueError for a model without a mask token."""
    if model.mask_id is None:
        raise ValueError(f"{model.name} has no mask token to replace others by: choose another model")


def check_outputs(model, what, numbers):
    """Raise ValueError for numbers of classes or tokens, called `what`, that are no outputs of a model."""
    for number in numbers.tolist() if hasattr(numbers, "tolist") else numbers:
        whole = isinstance(number, Integral) and not isinstance(number, bool)
        if not whole or not 0 <= number < model.outputs:
            raise ValueError(f"{what} {number!r} is no output: {model.name} has 0 to {model.outputs - 1}")


def reason(model, broken):
    """Why values of a model are not finite, as the end of a message: `broken`, or the dtype and the fix."""
    dtype = str(getattr(model, "dtype", torch.float32)).removeprefix("torch.")
    return f": {broken}" if dtype == "float32" else f" in {dtype}: load it with dtype='float32'"
