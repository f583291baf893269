"""Beam: the masking order that lowers the prediction fastest, found by beam search."""

from math import comb

import numpy as np

from faithlib.attributions.occlusion import removable
from faithlib.engine.forward import erased, padded, target_values, unchanged
from faithlib.progress import ignored

TIE = {"logit": 1e-4, "probability": 1e-6}  # sums of y this close are equal


def beam_search(model, batch, target, beam=10, cache=None, progress=ignored):
    """Rank of each token in the best masking order: T for the first token masked, 1 for the last of T.

    The order maximises Σ_t [y(x) − y(x with the first t tokens masked)], the area above its masking curve
    (Zhou & Shah 2023; Madsen et al. 2024, appendix E.2); y is that of leave-one-out. Each round extends the
    `beam` best sets of masked tokens by one token in every possible way. A set reached twice keeps its better
    order, and equal sums keep the order in which they were found, as in the release; the paper leaves ties
    open. Sums closer than `TIE` are equal, because outputs in float32 depend on the batch by about as much.
    The cost is at most beam · T² / 2 passes an example; the first T are those of leave-one-out.

    Args:
        beam: how many sets of masked tokens each round keeps, at least 1.

    Returns:
        {"beam": (batch, tokens) float64}, whole numbers from 1 to T; 0 for tokens that are not maskable or
        are the mask token already.

    Raises:
        ValueError: the model has no mask token.
    """
    targets = np.array(target.tolist())
    free = [np.flatnonzero(removable(model, e)).tolist() for e in batch.encodings]
    best = [[(0.0, ())] for _ in free]  # for each example the best (sum, masking order), best first
    full = target_values(model, [unchanged(e) for e in batch.encodings], targets, model.explains, cache)
    for done, share in enumerate(_work_shares(free, beam)):
        extended = [_extended(orders, tokens) for orders, tokens in zip(best, free, strict=True)]
        groups = zip(batch.encodings, extended, strict=True)
        variants = [_masked(model, e, order) for e, group in groups for _, order in group]
        sizes = [len(g) for g in extended]
        # Other attributions share the inputs of the first round only; later rounds are too many to store.
        kept = None if done else cache

        def seen(fraction, share=share):
            progress(fraction * share)

        y = target_values(model, variants, np.repeat(targets, sizes), model.explains, kept, seen)
        for i, (g, masked) in enumerate(zip(extended, np.split(y, np.cumsum(sizes)[:-1]), strict=True)):
            if g:  # otherwise all tokens of the example are masked
                pairs = zip(g, masked, strict=True)
                sums = [(total + full[i] - value, order) for (total, order), value in pairs]
                best[i] = best_first(sums, TIE[model.explains])[:beam]
    ranks = [_ranks(e, orders[0][1]) for e, orders in zip(batch.encodings, best, strict=True)]
    return {"beam": padded(ranks, batch)}


def best_first(sums, tie):
    """Sort (sum, order) pairs by falling sum; those within `tie` of the next larger keep their order.

    Example:
        >>> best_first([(1.0, "a"), (3.0, "b"), (1.00001, "c")], 1e-4)
        [(3.0, 'b'), (1.0, 'a'), (1.00001, 'c')]
    """
    falling = sorted(range(len(sums)), key=lambda i: -sums[i][0])
    group, rank = 0, {}
    for before, i in zip([None, *falling], falling, strict=False):
        group += before is not None and sums[before][0] - sums[i][0] > tie
        rank[i] = group
    return [sums[i] for i in sorted(falling, key=lambda i: (rank[i], i))]


def _extended(orders, tokens):
    """All orders with one more token: [(sum so far, order)], one for each set of masked tokens."""
    extended = {}  # set -> the first order that reached it, which is the better one
    for total, order in orders:
        for token in tokens:
            if token not in order:
                extended.setdefault(frozenset((*order, token)), (total, (*order, token)))
    return list(extended.values())


def _masked(model, encoding, order):
    """The variant in which the tokens of `order` are masked."""
    positions = np.zeros(len(encoding.ids), bool)
    positions[list(order)] = True
    return erased(model, encoding, positions)


def _ranks(encoding, order):
    """The rank of each token in a masking order, 0 for tokens that are not in it: (tokens,)."""
    ranks = np.zeros(len(encoding.ids))
    ranks[list(order)] = np.arange(len(order), 0, -1)
    return ranks


def _work_shares(free, beam):
    """Each round's share of the work, from the largest number of inputs that it can have."""
    sizes = [len(tokens) for tokens in free]
    rounds = range(max(sizes))
    work = [sum(min(beam, comb(n, done)) * max(n - done, 0) for n in sizes) for done in rounds]
    return [w / sum(work) for w in work]
