"""ReAGent: random replacements, weighed by how they move the target, until the top tokens suffice."""

from dataclasses import replace

import numpy as np
import torch
from scipy.special import logit, softmax

from faithlib.engine.forward import Variant, padded, probabilities, unchanged
from faithlib.models.causal import CausalLM
from faithlib.progress import ignored
from faithlib.scores import generator

RATIO = 0.3  # of the tokens, replaced in each round
KEPT = 5  # tokens of a rationale, at most half of the text
TOP = 3  # the target must be among so many next tokens; a classifier must predict it
EPSILON = 1e-6  # a probability that moves by 1 moves no score further than logit(1 − EPSILON)


def reagent(model, batch, target, probes=8, rounds=100, seed=0, progress=ignored):
    """ReAGent: scores that grow where replacing a token lowers the target's probability.

    Each of `probes` runs begins with scores s ~ U[0, 1). A round replaces each token with probability .3 and
    sets s_i ← s_i + l for replaced tokens and s_i ← s_i − l for all others, with l = logit((1 + p(x) − p(x'))
    / 2). Then all tokens but the five of highest score are replaced: the run ends if the target is still
    among the three most probable next tokens. The result is the mean of softmax(s) over the runs that ended
    within `rounds`, over all runs where none did (Zhao & Shan 2024; numbers as in their release for
    GPT-2, the five tokens as in inseq).

    Replacements are drawn from the vocabulary without special tokens. The paper draws them from RoBERTa,
    inseq from the words of the same part of speech. Here a text of fewer than ten tokens keeps half of them,
    so that something is replaced, and a classifier must still predict the target.

    Args:
        probes: runs of each text, at least 1.
        rounds: rounds of each run at most, at least 1; a round costs two passes.

    Returns:
        {"reagent": (batch, tokens) float64 in [0, 1], with the sum 1 over maskable tokens,
        "ended": (batch,), the share of the runs that ended}.
    """
    texts, classes, fillers = batch.encodings, target.tolist(), vocabulary(model)
    draws, sizes = [generator(e, seed) for e in texts], [int(e.maskable.sum()) for e in texts]
    scores = [draw.random((probes, size)) for draw, size in zip(draws, sizes, strict=True)]
    ended = [np.zeros(probes, bool) for _ in texts]
    clean = probabilities(model, [unchanged(e) for e in texts])[np.arange(len(texts)), classes]
    runs = [(text, probe) for text in range(len(texts)) for probe in range(probes)]

    def outputs(positions):
        pairs = zip(runs, positions, strict=True)
        inputs = [filled(texts[t], at, draws[t].choice(fillers, sizes[t])) for (t, _), at in pairs]
        return probabilities(model, inputs)

    for _ in range(rounds):
        positions = [draws[text].random(sizes[text]) < RATIO for text, _ in runs]
        for (text, probe), at, p in zip(runs, positions, outputs(positions), strict=True):
            scores[text][probe] += step(at, clean[text] - p[classes[text]])
        positions = [but_highest(scores[text][probe]) for text, probe in runs]
        top = TOP if isinstance(model, CausalLM) else 1
        for (text, probe), p in zip(runs, outputs(positions), strict=True):
            ended[text][probe] = (p > p[classes[text]]).sum() < top
        runs = [(text, probe) for text, probe in runs if not ended[text][probe]]
        progress(1 / rounds)
        if not runs:
            break
    rows = []
    for encoding, s, done in zip(texts, scores, ended, strict=True):
        rows.append(np.zeros(len(encoding.ids)))
        rows[-1][encoding.maskable] = softmax(s, axis=1)[done if done.any() else slice(None)].mean(0)
    return {"reagent": padded(rows, batch), "ended": torch.tensor([done.mean() for done in ended])}


def step(positions, drop):
    """What a round adds to scores, (tokens,), where `positions` were replaced and p fell by `drop`."""
    moved = logit(np.clip((1 + drop) / 2, EPSILON, 1 - EPSILON))
    return np.where(positions, moved, -moved)


def but_highest(scores):
    """All tokens but those that a rationale keeps, (tokens,) bool."""
    positions = np.ones(len(scores), bool)
    positions[np.argsort(-scores, kind="stable")[: min(KEPT, (len(scores) + 1) // 2)]] = False
    return positions


def filled(encoding, positions, ids):
    """The input whose maskable tokens at `positions` have other ids; both are (maskable tokens,)."""
    if not positions.any():
        return unchanged(encoding)
    changed, places = encoding.ids.copy(), np.flatnonzero(encoding.maskable)[positions]
    changed[places] = ids[positions]
    return Variant(replace(encoding, ids=changed), base=encoding, start=int(places[0]))


def vocabulary(model):
    """The ids of all tokens that are not special."""
    size = min(len(model.tokenizer), model.embedding_table.shape[0])
    return np.setdiff1d(np.arange(size), model.tokenizer.all_special_ids)
