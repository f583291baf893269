"""The perturbation engine: many variants of many inputs in, a model's outputs out.

Variants are sorted by length and packed into batches by a token budget, equal variants are evaluated
once (within a call, and across calls that share a `Cache`), a batch that does not fit into memory is
halved. For causal language models, variants that share a long beginning with their base share its keys
and values, and only the last token meets the head. Results do not depend on batch size or order.
"""

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.special import softmax

from faithlib.models.base import Encoding
from faithlib.models.causal import CausalLM

# Padded tokens a batch. A CPU core is fastest while a batch fits its caches: measured from 256 to 2,048, an
# encoder does best at 640 to 768 (a tenth more than at 256, 5 % more than at 2,048), language models gain 2 %
# more at 1,024. A GPU wants large batches.
TOKEN_BUDGET = {"cpu": 768, "cuda": 65536, "mps": 8192}


@dataclass(frozen=True)
class Variant:
    """One input as the model shall see it.

    factor: makes the (tokens,) or (tokens, width) multiplier of the embedding output, or None.
    weight: the (tokens,) multiplier of attention, or None.
    key: equal for variants that are the same input; None for one that is never shared.
    base, start: the input this is a variant of, and the first token that may differ from it.
    """

    encoding: Encoding
    factor: Callable[[], np.ndarray | torch.Tensor] | None = None
    weight: np.ndarray | None = None
    key: bytes | None = b""
    base: Encoding | None = None
    start: int = 0


def unchanged(encoding):
    """The input itself."""
    return Variant(encoding)


def replaced(encoding, erased, token_id):
    """The input with the ids at `erased` (tokens,) bool replaced."""
    ids = np.where(erased, token_id, encoding.ids)
    return Variant(replace(encoding, ids=ids), base=encoding, start=int(erased.argmax()))


def deleted(encoding, erased):
    """The input without the tokens at `erased` (tokens,) bool: what follows moves up."""
    return Variant(encoding.at(~erased), base=encoding, start=int(erased.argmax()))


def zeroed(encoding, erased):
    """The input with the embedding output at `erased` (tokens,) bool set to the zero vector."""
    if not erased.any():
        return unchanged(encoding)
    return Variant(
        encoding, factor=lambda: ~erased, key=erased.tobytes(), base=encoding, start=int(erased.argmax())
    )


class Cache:
    """Outputs of one model by variant: calls that are handed the same one compute what they share once.

    It must not outlive a change of the model's weights. hits: outputs found instead of computed.
    """

    def __init__(self):
        self.model, self.outputs, self.hits = None, {}, 0

    def of(self, model):
        """The stored outputs; raises ValueError if they are another model's."""
        if self.model not in (None, model):
            raise ValueError(
                f"the cache holds outputs of {self.model.name}, not of {model.name}: make a new Cache()"
            )
        self.model = model
        return self.outputs


def probabilities(model, variants, cache=None, progress=None, budget=None):
    """Probabilities of classes or next tokens: float32 array (len(variants), outputs).

    cache: a Cache. progress: called with the share of this call's work just done, or None. budget:
    padded tokens a batch. Raises FloatingPointError if the model gives a value that is not finite.
    """
    return softmax(_logits(model, variants, cache, progress, budget), axis=-1)


def target_values(model, variants, targets, of, cache=None, progress=None, budget=None):
    """What the model gives each variant's own target: float64 array (len(variants),).

    targets: (len(variants),) int, classes or token ids. of: "logit" or "probability". Otherwise as
    `probabilities`.
    """
    targets = np.asarray(targets)
    if not isinstance(model, CausalLM):  # few outputs: keep all, so that other targets and metrics find them
        logits = _logits(model, variants, cache, progress, budget).astype(float)
        return (logits if of == "logit" else softmax(logits, axis=-1))[np.arange(len(targets)), targets]

    def chosen(logits, rows):  # on the device: a vocabulary of outputs is not worth moving
        target = torch.as_tensor(targets[rows], device=logits.device)[:, None]
        logits = logits.float()
        return logits.gather(1, target) if of == "logit" else logits.log_softmax(-1).gather(1, target).exp()

    tags = [(of, int(t)) for t in targets]
    return _evaluate(model, variants, tags, chosen, cache, progress, budget)[:, 0].astype(float)


def distances(model, variants, references, reference_of, distance, progress=None, budget=None):
    """distance(p, q) of each variant's probabilities p from a reference q: float64 array (len(variants),).

    references: (n, outputs) probabilities; reference_of: (len(variants),) int, which of them is each one's q.
    distance: (batch, outputs) twice -> (batch,), tensors on the model's device. Otherwise as `probabilities`.
    """
    references, rows_of = torch.as_tensor(references, device=model.device), torch.as_tensor(reference_of)

    def compared(logits, rows):  # on the device: a vocabulary of outputs is not worth moving
        q = references[rows_of[rows].to(references.device)]
        return distance(logits.float().softmax(-1), q)[:, None]

    tags = [("distance", int(row)) for row in reference_of]
    return _evaluate(model, variants, tags, compared, None, progress, budget)[:, 0].astype(float)


def token_budget(model):
    """Padded tokens a batch of this model, more where a token is little work (`lightness`).

    Halved as often as FAITHLIB_HALVINGS says; who restarts a process that was killed for its memory sets it.
    """
    whole = TOKEN_BUDGET[model.device.type] * getattr(model.model, "lightness", 1)
    return max(1, whole >> int(os.environ.get("FAITHLIB_HALVINGS", 0)))


def batches_by_length(lengths, budget):
    """Row indices in batches of at most `budget` padded tokens, longest first."""
    order = np.argsort(-np.asarray(lengths), kind="stable")
    batches, start = [], 0
    while start < len(order):
        size = max(1, budget // int(lengths[order[start]]))
        batches.append(order[start : start + size])
        start += size
    return batches


def batches_by_start(starts, lengths, order, budget):
    """Row indices in batches that are computed from the earliest start among them, in the order given.

    `order` falls by start. A row that starts later than its batch is computed further back than needed:
    that is worth it only while a batch is too small to keep the processor busy.
    """
    batch, needed, longest = [], 0, 0
    for i in order:
        start, length = starts[i], lengths[i]
        longest = max(longest, length)
        padded = (len(batch) + 1) * (longest - start)
        small, tight = padded <= budget // 8, 8 * (padded - needed - (length - start)) <= padded
        if batch and (padded > budget or not (small or tight)):
            yield batch
            batch, needed, longest = [], 0, length
        batch.append(i)
        needed += length - start
    if batch:
        yield batch


def padded(rows, batch):
    """Scores of each example, [(tokens,)], as one float64 tensor (batch, tokens), 0 beyond the text."""
    scores = torch.zeros(batch.ids.shape, dtype=torch.float64)
    for i, row in enumerate(rows):
        scores[i, : len(row)] = torch.as_tensor(row)
    return scores


def out_of_memory(error):
    """Whether an error says that a GPU or, where the system refuses it, the CPU has no memory left."""
    told = ("not enough memory", "can't allocate memory", "bad_alloc")  # Windows, Linux, any library
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or (
        isinstance(error, RuntimeError) and any(text in str(error) for text in told)
    )


def halving(compute, rows):
    """The results of compute(part) over parts of `rows`, one part unless memory runs out: a list."""
    try:
        return [compute(rows)]
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error) or len(rows) == 1:
            raise
    half = len(rows) // 2
    return halving(compute, rows[:half]) + halving(compute, rows[half:])


def _logits(model, variants, cache, progress, budget):
    return _evaluate(
        model,
        variants,
        ["logits"] * len(variants),
        lambda logits, rows: logits.float(),
        cache,
        progress,
        budget,
    )


@torch.inference_mode()
def _evaluate(model, variants, tags, reduce, cache, progress, budget):
    """reduce(logits, rows) of all variants, (len(variants), width); equal (variant, tag) share one pass."""
    model.model.eval()
    known = (cache or Cache()).of(model)
    keys = [None if v.key is None else (_digest(v), tag) for v, tag in zip(variants, tags, strict=True)]
    first = {}  # key -> its first row
    rows_of = [i if key is None else first.setdefault(key, i) for i, key in enumerate(keys)]
    missing = [i for i, row in enumerate(rows_of) if row == i and keys[i] not in known]
    outputs = {i: known[key] for key, i in first.items() if key in known}
    budget = budget or token_budget(model)
    computed = None  # one array: small pieces kept from each pass would leave holes in memory, which grows
    for rows, logits in _passes(model, variants, missing, budget):
        values = reduce(logits, rows).cpu().numpy()
        if not np.isfinite(values).all():
            raise FloatingPointError(_not_finite(model))
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
        known.update((keys[i], outputs[i]) for i in missing if keys[i] is not None)
    return np.stack([outputs[row] for row in rows_of])


def _digest(variant):
    e = variant.encoding
    return hashlib.blake2b(e.ids.tobytes() + e.types.tobytes() + variant.key, digest_size=16).digest()


def _passes(model, variants, rows, budget):
    """Forward passes over variants[rows]: (rows of a batch, logits) pairs."""
    plain, shared = rows, []
    if isinstance(model, CausalLM):
        shared = _families(variants, rows)
        members = {i for family in shared for i in family}
        plain = [i for i in rows if i not in members]
    for batch in batches_by_length([len(variants[i].encoding.ids) for i in plain], budget):
        part = [plain[i] for i in batch]
        yield part, torch.cat(halving(lambda r: _forward(model, [variants[i] for i in r]), part))
    bases = [variants[family[0]].base for family in shared]
    for batch in batches_by_length([len(base.ids) for base in bases], budget):
        yield from _after_prefixes(model, variants, [shared[i] for i in batch], budget)


def _families(variants, rows):
    """Rows of variants of one base that leave at least an eighth of it alone, where there are several."""
    families = defaultdict(list)
    for i in rows:
        v = variants[i]
        if v.base is not None and 8 * v.start >= len(v.base.ids) and len(v.encoding.ids) > v.start:
            families[v.base.ids.tobytes()].append(i)
    return [family for family in families.values() if len(family) > 1]


def _after_prefixes(model, variants, families, budget):
    """Passes over variants of a batch of bases, whose keys and values are computed once."""
    bases = model.collate([variants[family[0]].base for family in families])
    _, prefix = model.prefix(bases)
    base_of = {i: k for k, family in enumerate(families) for i in family}
    order = sorted(base_of, key=lambda i: (-variants[i].start, base_of[i]))
    starts = {i: variants[i].start for i in order}
    lengths = {i: len(variants[i].encoding.ids) for i in order}
    for part in batches_by_start(starts, lengths, order, budget):

        def compute(rows):
            start = min(variants[i].start for i in rows)
            return _forward(
                model, [variants[i] for i in rows], start, prefix.rows([base_of[i] for i in rows], start)
            )

        yield part, torch.cat(halving(compute, part))


def _forward(model, variants, start=0, prefix=None):
    """Logits (variants, outputs); with a prefix only the tokens from `start` on are computed."""
    encodings = [v.encoding.at(slice(start, None)) if start else v.encoding for v in variants]
    batch = model.collate(encodings)
    given = {"prefix": prefix} if prefix is not None else {}
    if (factor := _stacked([v.factor and v.factor()[start:] for v in variants], batch)) is not None:
        given["factor"] = factor
    if (weight := _stacked([v.weight for v in variants], batch)) is not None:
        given["weight"] = weight.squeeze(-1)
    return model.logits(batch, **given)


def _stacked(rows, batch):
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


def _not_finite(model):
    name = str(model.dtype).removeprefix("torch.")
    if name == "float32":
        return "the model gives NaN or infinite outputs: its weights are broken"
    return f"{model.name} gives NaN or infinite outputs in {name}: load it with dtype='float32'"
