"""Explanations of texts of which a model reads half, and the pairs of them whose order is certain."""

import numpy as np

from notebooks.ground_truth_2.measure.dominance import dominates
from notebooks.ground_truth_2.measure.planted_pairs import nulls, with_scores
from notebooks.ground_truth_2.measure.shapes import SHAPES, ranked

TOP = 0.3  # of the text: the most that the top holds
SHARES = (0, 50, 100)  # per cent of the top that is exchanged with unread tokens
ONE_SHAPE = "exponential"  # of the halves, which need no effects


def top_of(tokens, unread, n):
    """The first tokens of the positive ones that are the top: [int]; fewer than two are no top.

    tokens: positive ones, the largest effect first. unread: how many tokens are not read. n: how many are
    maskable.
    """
    return list(tokens[: min(len(tokens), unread, max(2, int(TOP * n)))])


def explanations(top, read, effect, generator):
    """All explanations of one text, and the pairs whose order is certain, as `planted_pairs.explanations`.

    Args:
        top: [int] two or more positive tokens, the largest effect first.
        read: (tokens,) bool over the maskable tokens.
        effect: (tokens,) of each token's word; of unread tokens it is not used.
        generator: a numpy Generator.
    """
    unread = [int(t) for t in generator.permutation(np.flatnonzero(~read))]
    rest = [int(t) for t in np.flatnonzero(read) if t not in top]
    helpful = sorted((t for t in rest if effect[t] >= 0), key=lambda t: -effect[t])
    harmful = sorted((t for t in rest if effect[t] < 0), key=lambda t: -effect[t])
    best = [*top, *helpful, *unread, *harmful]
    exchanged = generator.permutation(len(top))
    worth = np.where(read, np.nan, 0.0)
    worth[top] = 1
    null = nulls(len(read), unread, generator)
    scores, pairs = {(name, ""): values for name, values in null.items()}, []
    for shape in SHAPES:
        of_shape, errors = _of_shape(top, unread, ranked(best, shape), exchanged)
        for error, better, worse in errors:
            if not dominates(of_shape[better], of_shape[worse], worth):
                raise AssertionError(f"{better} does not dominate {worse}")
            pairs.append((error, shape, (better, shape), (worse, shape)))
        pairs += [(name, shape, ("order 0", shape), (name, "")) for name in null]
        scores |= {(name, shape): values for name, values in of_shape.items()}
    halves = generator.permutation(np.flatnonzero(read)), generator.permutation(unread)
    for name, order in (("read first", halves), ("unread first", halves[::-1])):
        scores[name, ONE_SHAPE] = ranked(np.concatenate(order), ONE_SHAPE)
    pairs.append(("halves", ONE_SHAPE, ("read first", ONE_SHAPE), ("unread first", ONE_SHAPE)))
    return scores, pairs


def _of_shape(top, unread, best, exchanged):
    """({name: scores}, [(error, better, worse)]) of one shape."""
    scores, half = {}, max(1, len(top) // 2)
    for share in SHARES:
        count = round(share * len(top) / 100)
        chosen = exchanged[:count]
        one, other = [top[i] for i in chosen], [unread[i] for i in chosen]
        scores[f"order {share}"] = with_scores(best, [*one, *other], best[[*other, *one]])
    scores["half missed"] = with_scores(best, top[:half], 0)
    scores["all missed"] = with_scores(best, top, 0)
    scores["false above"] = with_scores(best, unread[-half:], 1 + 0.01 * np.arange(1, half + 1))
    pairs = [
        ("order", "order 0", "order 50"),
        ("order", "order 0", "order 100"),
        ("order", "order 50", "order 100"),
        ("missed", "order 0", "half missed"),
        ("missed", "order 0", "all missed"),
        ("false above", "order 0", "false above"),
    ]
    return scores, pairs
