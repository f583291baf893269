"""Noiser: bounded noise on one token's embedding (Ghasemi Madani et al. 2025).

Token i is noised at scale k by replacing its word embedding e_i by e_i + k n_m, for each of M noise vectors
n_m ~ N(0, I), which are the same for all tokens of a text and all scales. P_i(k) is the mean of the model's M
output distributions. Token i keeps the prediction at scale k if argmax P_i(k) = argmax P, ties included.
"""

import math

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from faithlib.engine import batching
from faithlib.progress import ignored
from faithlib.scores import generator


@torch.no_grad()
def noiser(
    model, batch, target, bounding="k_min", noise=10, halvings=10, seed=0, cache=None, progress=ignored
):
    """The loss in the target's probability when one token is noised at a bounded scale.

    s_i = p(x) − p_i(k) (Ghasemi Madani et al. 2025, section 3), where p_i is the target's entry of P_i and k
    the scale that `bounding` (their Table 2) chooses. k_i is the largest scale in [0, 1] at which token i
    keeps the prediction, found by bisection; if the prediction flips, returns and flips again, the bisection
    finds one of the flips, as the paper's does. Noise is added to the output of `model.embed`, which Gemma-2
    has scaled by √d; the release adds it before scaling.

    Args:
        bounding: "k_min", the minimum of k_i over the maskable tokens; "k_max", their maximum;
            "k_max_per_token", each token's own k_i; "l2", 1/√d, or "linf", 1/√(2 ln d), with d the embedding
            width, which approximate 1/E‖n‖ (appendix D); "none", 1; "random", one U[0, 1) for each text.
        noise: M, the noise vectors of each text, at least 1.
        halvings: bisection steps of the search for k_i, at least 1.
        cache: stores the search for all k_i, which all boundings that need it then share.

    Returns:
        A dict. "noiser": (batch, tokens) float64 in [−1, 1]. "tied": (batch,), true if two outputs are the
        most probable before any noise; the first then counts as predicted. "k": (batch,), where one scale
        holds for all tokens. "flipped": (batch,), for "k_min", "k_max" and "k_max_per_token", false if no
        token flips the prediction within the bound, so that k is the bound and not a property of the model.
        "k_per_token": (batch, tokens), k_i for "k_max" and "k_max_per_token".
    """
    width, draws = model.embedding_table.shape[1], [generator(e, seed) for e in batch.encodings]
    vectors = np.stack([draw.standard_normal((noise, width)) for draw in draws])
    noised, tokens = Noised(model, batch, target, vectors, progress, halvings + 1), batch.maskable.cpu()
    low, p, notes = noised.at_zero(), noised.clean, {"tied": noised.tied}
    if bounding.startswith("k_"):
        pairs = zip(batch.encodings, target, strict=True)
        keys = [(e.ids.tobytes(), e.types.tobytes(), int(t), noise, halvings, seed) for e, t in pairs]
        kept_tokens, every = {} if cache is None else cache.of(model), bounding != "k_min"
        cached = cached_search(kept_tokens, keys, tokens)
        low, p, smallest = cached or search(noised, tokens, halvings, every)
        if every and not cached:
            for key, e, *each in zip(keys, batch.encodings, tokens, low, p, strict=True):
                kept_tokens[key] = [values[: len(e.ids)] for values in each]
        notes["flipped"] = smallest < 1 - 0.5**halvings
        k = {"k_min": smallest, "k_max": low.amax(1), "k_max_per_token": low}[bounding]
        if bounding != "k_min":
            notes["k_per_token"] = low
    else:
        k = {"l2": width**-0.5, "linf": (2 * math.log(width)) ** -0.5, "none": 1, "random": 0}[bounding]
        k = torch.tensor([draw.random() if bounding == "random" else k for draw in draws], dtype=low.dtype)
    if k.ndim == 1:
        notes["k"], k = k, k[:, None]
    return {"noiser": noised.losses(tokens, k, low, p), **notes}


def search(noised, tokens, halvings, every=False):
    """Search for k_i by bisection.

    Unless `every`, the search for a token ends when another token flips the prediction at a scale at which
    this one keeps it; `low` is then a lower bound of k_i. The tokens still searched have equal bounds, so the
    minimum is that of all k_i.

    Args:
        tokens: the tokens to search, (batch, tokens) bool.
        every: search for every k_i and not only for their minimum.

    Returns:
        (low, p, smallest): k_i, at most 2^−halvings below the flip, (batch, tokens), 0 elsewhere; p_i(low),
        (batch, tokens); min_i k_i, (batch,).
    """
    low, p, live = noised.at_zero(), noised.clean, tokens
    for step in range(1, halvings + 1):
        middle = low + 0.5**step
        keeps, at_middle = noised(live, middle)
        low, p = torch.where(keeps, middle, low), torch.where(keeps, at_middle, p)
        flips = live & ~keeps
        if not every:
            live = torch.where(flips.any(1, keepdim=True), flips, live)
    return low, p, low.masked_fill(~live, torch.inf).amin(1)


def cached_search(table, keys, tokens):
    """The result of `search` with every=True from a table {key: (searched, low, p), each (tokens,)}, or None.

    It is None where some of `tokens`, (batch, tokens) bool, have not been searched.
    """
    if not table.keys() >= set(keys):
        return None
    cached = zip(*(table[key] for key in keys), strict=True)  # searched of each text, low, then p
    searched, low, p = (pad_sequence(rows, batch_first=True) for rows in cached)
    if (tokens & ~searched).any():
        return None
    return torch.where(tokens, low, 0), p, low.masked_fill(~tokens, torch.inf).amin(1)


class Noised:
    """A model on a batch in which one token at a time is noised.

    Args:
        vectors: the noise vectors, (batch, M, width).
        steps: how many calls of this object make up the whole work, of which `progress` is told.

    Attributes:
        clean: the target's probability without noise, (batch, 1) float64 on the CPU, as all results are.
        tied: whether two outputs are the most probable without noise, (batch,) bool.
    """

    def __init__(self, model, batch, target, vectors, progress=ignored, steps=1):
        self.model, self.batch, self.target = model, batch, target
        self.report_step = lambda: progress(1 / steps)
        self.embeddings = model.embed(batch.ids)  # (batch, tokens, width)
        self.vectors = torch.as_tensor(vectors, dtype=torch.float32, device=batch.ids.device)
        # Tokens before a noised token do not depend on it: their keys and values are computed once.
        if batching.shares_prefix(model):
            logits, self.prefix = model.prefix(batch)
        else:
            logits, self.prefix = model.logits(batch), None
        p = logits.float().softmax(-1)
        self.predicted, highest = p.argmax(-1), p.topk(2).values
        self.tied = highest[:, 0] == highest[:, 1]
        self.clean = p.gather(1, target[:, None]).cpu().double()

    def at_zero(self):
        """Scale 0 for every token: (batch, tokens)."""
        return torch.zeros(self.batch.ids.shape, dtype=torch.float64)

    def losses(self, tokens, k, low, p):
        """p(x) − p_i(k) at `tokens` (batch, tokens) bool, 0 elsewhere; p, which is p_i(low), is reused."""
        k = k.expand_as(low)
        missing = tokens & (k != low)
        _, at_k = self(missing, k)
        return torch.where(tokens, self.clean - torch.where(missing, at_k, p), 0)

    def __call__(self, tokens, scale):
        """Noise each of `tokens`, (batch, tokens) bool, at its scale, (batch, tokens).

        Returns (whether the token keeps the prediction, (batch, tokens) bool; p_i(scale), (batch, tokens)
        float64); False and 0 elsewhere.
        """
        keeps, p = torch.zeros_like(tokens), self.at_zero()
        rows, places = tokens.nonzero(as_tuple=True)  # (noised inputs,)
        starts = places if self.prefix else torch.zeros_like(places)
        lengths = self.batch.present.sum(1).cpu()[rows]
        for chosen in self._batches(starts, lengths):
            row, place = rows[chosen], places[chosen]
            each = self._distributions(
                row, place, scale[row, place], int(starts[chosen].min()), int(lengths[chosen].max())
            )  # (noised inputs, M, outputs)
            on_device, mean = row.to(each.device), each.mean(1)
            predicted = mean.gather(1, self.predicted[on_device, None])[:, 0]
            keeps[row, place] = (predicted >= mean.amax(1)).cpu()
            # In float64, so that vectors without effect give exactly 0: the release divides by the sum.
            p[row, place] = each[torch.arange(len(row)), :, self.target[on_device]].cpu().double().mean(1)
        self.report_step()
        return keeps, p

    def _batches(self, starts, lengths):
        """Indices of the noised inputs in batches; an output distribution counts as tokens of the budget."""
        # Without that a large vocabulary would fill the memory.
        padded = torch.maximum(lengths, starts + self.model.outputs // 1024)
        order = sorted(range(len(starts)), key=lambda i: (-starts[i], -padded[i]))
        tokens, memory = batching.limits(self.model)
        each = batching.Limits(max(1, tokens // self.vectors.shape[1]), memory / self.vectors.shape[1])
        kept = self.prefix.bytes_a_token if self.prefix else 0
        return batching.batches_by_start(starts.tolist(), padded.tolist(), order, each, kept)

    def _distributions(self, rows, tokens, scale, start, stop):
        """Output distributions, (noised inputs, M, outputs), computed from token `start` on."""
        draws, device = self.vectors.shape[1], self.vectors.device

        def compute(index):
            i, draw = index // draws, index % draws
            row, at = rows[i].to(device), (tokens[i] - start).to(device)
            noise = scale[i, None].float().to(device) * self.vectors[row, draw.to(device)]
            embeddings = self.embeddings[row, start:stop]  # (passes, tokens, width)
            embeddings[torch.arange(len(row), device=device), at] += noise.to(embeddings.dtype)
            arguments = {"prefix": self.prefix.rows(row, start)} if start else {}
            logits = self.model.logits(self.batch.at(row, start, stop), embeddings=embeddings, **arguments)
            return logits.float().softmax(-1)

        pieces = batching.halving(self.model, compute, torch.arange(len(rows) * draws), stop - start)
        return torch.cat(pieces).unflatten(0, (-1, draws))
