"""Beam: the masking order that makes the prediction fall fastest, found by beam search."""

from math import comb

import numpy as np

from faithlib.attributions.occlusion import removable, removed
from faithlib.forward import padded, target_values, unchanged


def beam_search(model, batch, target, beam=10, cache=None, progress=None):
    """Rank of each token in the best masking order: T for the first token masked, 1 for the last of T.

    Maximises Σ_t [y(x) − y(x with the first t tokens masked)], the area over the curve that the order
    draws (Zhou & Shah 2023; Madsen et al. 2024, appendix E.2); y as in leave-one-out. Every round masks
    one more token, in all ways, in each of the `beam` best sets of masked tokens so far. A set reached
    twice keeps its better order, equal sums keep the order in which they were reached. That is the
    release to the letter; the paper leaves ties open. At most beam·T² / 2 passes an example, the first T
    of them those of leave-one-out. Tokens that are the mask token already score 0.
    """
    targets = np.array(target.tolist())
    free = [np.flatnonzero(removable(model, e)).tolist() for e in batch.encodings]
    kept = [[(0.0, ())] for _ in free]  # of each example the best (sum, masking order), best first
    full = target_values(model, [unchanged(e) for e in batch.encodings], targets, model.explains, cache)
    for done, share in enumerate(_shares(free, beam)):
        grown = [_grown(orders, tokens) for orders, tokens in zip(kept, free, strict=True)]
        variants = [
            _masked(model, e, order) for e, g in zip(batch.encodings, grown, strict=True) for _, order in g
        ]
        sizes = [len(g) for g in grown]
        # Later rounds are nobody else's inputs, and too many to keep.
        y = target_values(
            model,
            variants,
            np.repeat(targets, sizes),
            model.explains,
            None if done else cache,
            progress and (lambda part, share=share: progress(part * share)),
        )
        for i, (g, masked) in enumerate(zip(grown, np.split(y, np.cumsum(sizes)[:-1]), strict=True)):
            if g:  # else all its tokens are masked
                sums = [
                    (total + full[i] - value, order) for (total, order), value in zip(g, masked, strict=True)
                ]
                kept[i] = sorted(sums, key=lambda pair: -pair[0])[:beam]
    ranks = [_ranks(e, orders[0][1]) for e, orders in zip(batch.encodings, kept, strict=True)]
    return {"beam": padded(ranks, batch)}


def _grown(orders, tokens):
    """All orders with one token more: (sum so far, order), one for each set of masked tokens."""
    grown = {}  # the set -> its first, so its better, order
    for total, order in orders:
        for token in tokens:
            if token not in order:
                grown.setdefault(frozenset((*order, token)), (total, (*order, token)))
    return list(grown.values())


def _masked(model, encoding, order):
    erased = np.zeros(len(encoding.ids), bool)
    erased[list(order)] = True
    return removed(model, encoding, erased)


def _ranks(encoding, order):
    ranks = np.zeros(len(encoding.ids))
    ranks[list(order)] = np.arange(len(order), 0, -1)
    return ranks


def _shares(free, beam):
    """The share of the work in each round, by the number of inputs there at most."""
    rounds = max(len(tokens) for tokens in free)
    work = [
        sum(min(beam, comb(len(tokens), done)) * max(len(tokens) - done, 0) for tokens in free)
        for done in range(rounds)
    ]
    return [w / sum(work) for w in work]
