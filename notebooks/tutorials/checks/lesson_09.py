"""Checks of lesson 9: training for faithfulness."""

import numpy as np
import torch
from scipy.stats import entropy

from checks import call, check, choice, hints, same
from faithlib.training import salience

hint = hints(__name__)


def ranked(links, d=0.85):
    """TextRank of a graph's tokens."""
    sigma = np.ones(len(links))
    for _ in range(200):
        sigma = (1 - d) + d * links @ (sigma / links.sum(0))
    return sigma


def until_flip(scores, predicted):
    """The share of tokens deleted, highest scores first, when the class changes; 1 if it never does."""
    deleted = np.zeros(len(scores), bool)
    before = predicted(deleted.copy())
    for k, token in enumerate(np.argsort(-np.asarray(scores), kind="stable"), 1):
        deleted[token] = True
        if predicted(deleted.copy()) != before:
            return k / len(scores)
    return 1.0


def graph(ids, window=4):
    """The links of the different ids of a text, sorted: 1 where two occur less than `window` apart."""
    nodes = sorted(set(ids))
    links = np.zeros((len(nodes), len(nodes)), int)
    for i, a in enumerate(ids):
        for b in ids[i + 1 : i + window]:
            links[nodes.index(a), nodes.index(b)] = links[nodes.index(b), nodes.index(a)] = a != b
    return links


@check(instead=ranked)
def textrank(mine):
    """The number of neighbours of each token is a column sum of `links`.
    Token j gives σ_j divided by its number of neighbours; links @ … adds up what each token gets.
    sigma = (1 - d) + d * links @ (sigma / links.sum(0)), 200 times
    """
    path = graph([1, 2, 3], window=2)
    expected = np.array([0.77027027, 1.45945946, 0.77027027])  # solves side = 0.15 + 0.85 middle / 2
    wrong = [
        (expected / 3, "right but for the scale: it is divided by its sum only later"),
        ([1, 1, 1], "divide by the number of neighbours of j, the token that gives, not of i"),
    ]
    same(call(mine, path), expected, "of a - b - c it is 0.770, 1.459, 0.770", wrong=wrong, atol=1e-5)
    same(call(mine, path, 0.5), [5 / 6, 4 / 3, 5 / 6], "right for d = 0.85 only", atol=1e-5)
    for ids in ([1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 1, 3, 4, 1, 5, 2, 6]):
        of_nodes = salience.textrank(ids)[[ids.index(node) for node in sorted(set(ids))]]
        same(
            call(mine, graph(ids)), of_nodes, "right for a - b - c, wrong for the graph of a text", atol=1e-4
        )


@check(instead=entropy)
def divergence(mine):
    """Divide both arrays by their sums.
    Use only entries where alpha is above 0.
    np.sum(alpha[used] * (np.log(alpha[used]) - np.log(sigma[used])))
    """
    half = np.array([0.5, 0.5])
    same(call(mine, half, half), 0.0, "equal distributions have divergence 0")
    expected = 0.75 * np.log(1.5) + 0.25 * np.log(0.5)
    wrong = [
        (0.5 * np.log(0.5 / 0.75) + 0.5 * np.log(2), "that is KL(σ, α): the divergence is not symmetric"),
        (expected / np.log(2), "right but for the logarithm: take the natural one"),
        (-expected, "right but for the sign: it is never negative"),
    ]
    same(call(mine, np.array([0.75, 0.25]), half), expected, "of (¾, ¼) and (½, ½) it is 0.131", wrong=wrong)
    same(call(mine, np.array([3.0, 1.0]), np.array([2.0, 2.0])), expected, "divide both by their sums first")
    same(call(mine, np.array([1.0, 0.0]), half), np.log(2), "right but for 0: there the term is 0")
    alpha, sigma = np.random.default_rng(9).random((2, 12)) + 0.01
    pair = [torch.tensor(row / row.sum())[None] for row in (alpha, sigma)]
    loss = salience.salience_loss(*pair, torch.ones(1, 12, dtype=torch.bool))
    same(call(mine, alpha, sigma), float(loss), "wrong for twelve random numbers: see the formula")


@check(instead=until_flip)
def flip_fraction(mine):
    """First ask for the class when nothing is deleted.
    Delete in the order of np.argsort(-scores, kind="stable"); what is deleted stays deleted.
    Return k / n at the first other class, and 1.0 after the loop
    """
    scores = np.array([0.1, 0.9, 0.5, 0.3])

    def needs(*tokens):
        """A model that predicts 1 until all of `tokens` are deleted."""
        return lambda deleted: int(not all(np.asarray(deleted)[list(tokens)]))

    same(call(mine, scores, needs(1)), 0.25, "if the best token alone decides, one of four is deleted: 0.25")
    same(call(mine, scores, needs(1, 2)), 0.5, "delete token after token: what is deleted stays deleted")
    same(call(mine, scores, needs(0)), 1.0, "if only the last deletion flips, the share is 1")
    same(call(mine, scores, lambda deleted: 1), 1.0, "a text that never flips counts as 1")
    same(call(mine, np.zeros(4), needs(1)), 0.5, "right but for ties: the earlier token goes first")
    same(call(mine, -scores, needs(0)), 0.25, "scores may be negative: take them as they are")
    twice = call(mine, scores, lambda deleted: int(np.sum(deleted)) in (1, 3))
    same(twice, 0.25, "take the first change, also if the class changes back")


@check
def control(mine):
    """On these short headlines TextRank is nearly uniform.
    Run the next cells, and compare the marks of the two seed by seed.
    """
    agree = "run the next cells, and compare the marks of TextRank and uniform seed by seed"
    choice(mine, "b", {"a": agree, "c": agree})
