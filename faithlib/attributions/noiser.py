"""Noiser: noise on one token's embedding, as much as the prediction bears (Ghasemi Madani et al. 2025).

Token i of a text is noised at scale k when its word embedding e_i becomes e_i + k n_m, for each of M noise
vectors n_m ~ N(0, I), the same for all tokens of a text and all scales; what the model then says is the mean
of its M distributions, P_i(k). It keeps the prediction while argmax P_i(k) = argmax P (a tie keeps it).
"""

import math

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from faithlib import forward
from faithlib.scores import generator


@torch.no_grad()
def noiser(model, batch, target, bounding="k_min", noise=10, halvings=10, seed=0, cache=None, progress=None):
    """What the target's probability loses when one token is noised, at a scale that the prediction bears.

    s_i = p(x) − p_i(k) (Ghasemi Madani et al. 2025, section 3), in [−1, 1], p_i the target's part of P_i, M =
    `noise`. k_i is the largest scale at which token i keeps the prediction, found in [0, 1] by `halvings`
    bisections. bounding (Table 2) is the choice of k: "k_min", min_i k_i over the maskable tokens; "k_max",
    their maximum; "k_max_per_token", k_i; "l2", 1/√d, and "linf", 1/√(2 ln d), d the width, which stand for
    1/E‖n‖ (appendix D); "none", 1; "random", one U[0, 1) a text. Where a prediction flips, returns and flips
    again, a bisection finds one of the flips, the paper's and this alike.

    Also, (batch,): tied, 1 where two outputs are the most probable before any noise (the first counts as
    predicted); k, where it is one for all tokens; flipped, where k is searched for, 0 if no token flips the
    prediction within the bound: k then tells the bound and nothing of the model. And k_per_token, (batch,
    tokens), where all k_i are searched for: k_max and k_max_per_token.

    Vectors belong to an example: see `random.generator`. Noise joins what `model.embed` gives, which Gemma-2
    has scaled by √d; the release adds it before. With a `cache` the search for all k_i, which k_max and
    k_max_per_token need and k_min can use, is made once.
    """
    width, draws = model.embedding_table.shape[1], [generator(e, seed) for e in batch.encodings]
    vectors = np.stack([draw.standard_normal((noise, width)) for draw in draws])
    noised, where = Noised(model, batch, target, vectors, progress, halvings + 1), batch.maskable.cpu()
    low, p, notes = noised.at_zero(), noised.clean, {"tied": noised.tied}
    if bounding.startswith("k_"):
        keys = [
            (e.ids.tobytes(), e.types.tobytes(), e.maskable.tobytes(), int(t), noise, halvings, seed)
            for e, t in zip(batch.encodings, target, strict=True)
        ]
        known, every = {} if cache is None else cache.of(model), bounding != "k_min"
        low, p, smallest = (
            recalled(known, keys, where)
            if known.keys() >= set(keys)
            else search(noised, where, halvings, every)
        )
        if every:
            for key, e, each in zip(keys, batch.encodings, zip(low, p, strict=True), strict=True):
                known[key] = [values[: len(e.ids)] for values in each]
        notes["flipped"] = smallest < 1 - 0.5**halvings
        k = {"k_min": smallest, "k_max": low.amax(1), "k_max_per_token": low}[bounding]
        if bounding != "k_min":
            notes["k_per_token"] = low
    else:
        k = {"l2": width**-0.5, "linf": (2 * math.log(width)) ** -0.5, "none": 1, "random": 0}[bounding]
        k = torch.tensor([draw.random() if bounding == "random" else k for draw in draws], dtype=low.dtype)
    if k.ndim == 1:
        notes["k"], k = k, k[:, None]
    return {"noiser": noised.losses(where, k, low, p), **notes}


def search(noised, where, halvings, every=False):
    """k_i of the tokens in `where`, (batch, tokens) bool: (low, p, smallest).

    low: k_i to 2^−halvings below the flip, (batch, tokens), 0 elsewhere. p: p_i(low). smallest: min_i k_i,
    (batch,). Unless `every`, a token is dropped once another flips where it keeps the prediction: low is then
    that scale, k_i at the least. Those left share their bounds, so the minimum is that of all k_i exactly.
    """
    low, p, live = noised.at_zero(), noised.clean, where
    for halving in range(1, halvings + 1):
        middle = low + 0.5**halving
        keeps, at_middle = noised(live, middle)
        low, p = torch.where(keeps, middle, low), torch.where(keeps, at_middle, p)
        flips = live & ~keeps
        if not every:
            live = torch.where(flips.any(1, keepdim=True), flips, live)
    return low, p, low.masked_fill(~live, torch.inf).amin(1)


def recalled(known, keys, where):
    """What `search` found when it searched for every k_i, kept a text at a time: (low, p, smallest)."""
    kept = zip(*(known[key] for key in keys), strict=True)  # low of each text, then p
    low, p = (pad_sequence(rows, batch_first=True) for rows in kept)
    return low, p, low.masked_fill(~where, torch.inf).amin(1)


class Noised:
    """A model on a batch in which one token at a time is noised.

    vectors: (batch, M, width). clean: the target's probability without noise, (batch, 1) float64 on the CPU,
    as all that is returned. tied: (batch,) bool. steps: how many calls `progress` counts.
    """

    def __init__(self, model, batch, target, vectors, progress=None, steps=1):
        self.model, self.batch, self.target = model, batch, target
        self.told = progress and (lambda: progress(1 / steps))
        self.embeddings = model.embed(batch.ids)  # (batch, tokens, width)
        self.vectors = torch.as_tensor(vectors, dtype=torch.float32, device=batch.ids.device)
        # What comes before a noised token does not see it: its keys and values are computed once.
        logits, self.prefix = model.prefix(batch) if hasattr(model, "prefix") else (model.logits(batch), None)
        p = logits.float().softmax(-1)
        self.predicted, highest = p.argmax(-1), p.topk(2).values
        self.tied = highest[:, 0] == highest[:, 1]
        self.clean = p.gather(1, target[:, None]).cpu().double()

    def at_zero(self):
        """Scale 0 for every token: (batch, tokens)."""
        return torch.zeros(self.batch.ids.shape, dtype=torch.float64)

    def losses(self, where, k, low, p):
        """p(x) − p_i(k) of the tokens in `where`, 0 elsewhere; p is p_i(low), and not computed again."""
        k = k.expand_as(low)
        missing = where & (k != low)
        _, at_k = self(missing, k)
        return torch.where(where, self.clean - torch.where(missing, at_k, p), 0)

    def __call__(self, where, scale):
        """Each token in `where` noised at its scale, both (batch, tokens): (keeps the prediction, p_i)."""
        keeps, p = torch.zeros_like(where), self.at_zero()
        rows, tokens = where.nonzero(as_tuple=True)  # (tests,)
        starts = tokens if self.prefix else torch.zeros_like(tokens)
        lengths = self.batch.present.sum(1).cpu()[rows]
        for part in self._batches(starts, lengths):
            some, at = rows[part], tokens[part]
            each = self._distributions(
                some, at, scale[some, at], int(starts[part].min()), int(lengths[part].max())
            )  # (tests, M, outputs)
            of, mean = some.to(each.device), each.mean(1)
            predicted = mean.gather(1, self.predicted[of, None])[:, 0]
            keeps[some, at] = (predicted >= mean.amax(1)).cpu()
            # In float64: vectors that change nothing shall leave no rounding, which a release divides by.
            p[some, at] = each[torch.arange(len(of)), :, self.target[of]].cpu().double().mean(1)
        if self.told:
            self.told()
        return keeps, p

    def _batches(self, starts, lengths):
        # A distribution weighs as much as some tokens: a large vocabulary must not fill the memory.
        padded = torch.maximum(lengths, starts + self.model.outputs // 1024)
        order = sorted(range(len(starts)), key=lambda i: (-starts[i], -padded[i]))
        budget = forward.token_budget(self.model) // self.vectors.shape[1]
        return forward.batches_by_start(starts.tolist(), padded.tolist(), order, budget)

    def _distributions(self, rows, tokens, scale, start, stop):
        """What the model says to each noise vector, (tests, M, outputs), computed from token `start` on."""
        draws, device = self.vectors.shape[1], self.vectors.device

        def compute(index):
            test, draw = index // draws, index % draws
            row, at = rows[test].to(device), (tokens[test] - start).to(device)
            noise = scale[test, None].float().to(device) * self.vectors[row, draw.to(device)]
            embeddings = self.embeddings[row, start:stop]  # (passes, tokens, width)
            embeddings[torch.arange(len(row), device=device), at] += noise.to(embeddings.dtype)
            given = {"prefix": self.prefix.rows(row, start)} if start else {}
            logits = self.model.logits(self.batch.at(row, start, stop), embeddings=embeddings, **given)
            return logits.float().softmax(-1)

        parts = forward.halving(compute, torch.arange(len(rows) * draws))
        return torch.cat(parts).unflatten(0, (-1, draws))
