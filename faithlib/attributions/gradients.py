"""Gradients of what is explained with respect to word embeddings, one per position.

y is the target's logit (classifiers) or its probability (causal LMs); e_i the word embedding at position i,
as `model.embed` gives it; b the baseline, the same vector at every position: 0, or the embedding of the mask
token or of the padding token. Gradients of parameters are neither computed nor prepared for.
"""

import math
from contextlib import contextmanager

import numpy as np
import torch

from faithlib import forward
from faithlib.scores import generator

CHUNK = 512  # rows of the embedding table at a time: products that stay in the cache, and little memory
ONE_PASS = ("gradient_l1", "gradient_l2", "input_x_gradient", "input_x_gradient_abs", "deeplift")


@torch.no_grad()
def gradients(model, batch, target, wanted=ONE_PASS, baseline=None):
    """What one backward pass yields: Grad L1 and L2, x⊙grad signed and absolute, DeepLift as published.

    gradient_l1, gradient_l2: ‖∂y/∂x_i‖ over the one-hot vocabulary axis, ∂y/∂x_i = E ∂y/∂e_i (Madsen et al.
    2022, section 4; 2024, appendix E.1), ≥ 0. input_x_gradient: e_i · ∂y/∂e_i (Kindermans et al. 2016), the
    one-hot axis' only non-zero element; signed, and absolute. deeplift: (e_i − b) · ∂y/∂e_i: the released
    implementations know no rule for GELU, SiLU, layer norm, softmax or products, and what they have no rule
    for they differentiate. Units: those of y.
    """
    embeddings = model.embed(batch.ids)  # (batch, tokens, width)
    slope = gradient(model, y_at(model, batch, target), embeddings)  # (batch, tokens, width)
    signed = (embeddings * slope).sum(-1)
    scores = {"input_x_gradient": signed, "input_x_gradient_abs": signed.abs()}
    if "deeplift" in wanted:
        scores["deeplift"] = ((embeddings - baseline_embedding(model, baseline)) * slope).sum(-1)
    for name, norm in (("gradient_l1", vocabulary_l1), ("gradient_l2", vocabulary_l2)):
        if name in wanted:
            scores[name] = torch.zeros_like(signed)
            scores[name][batch.maskable] = norm(model, slope[batch.maskable])
    return scores


@torch.no_grad()
def integrated_gradients(
    model, batch, target, steps=20, baseline=None, path="input", cache=None, progress=None
):
    """Integrated gradients, signed and absolute, and how far they are from adding up.

    a_i = (e_i − b) · (1/K) Σ_k ∂y/∂e_i at b + (k − ½)/K · (e − b), k = 1 … K, all positions moving together
    (Sundararajan et al. 2017; Madsen et al. 2022, equation 2, by the midpoint rule). path: "input", or "text"
    if the text_b of a pair stays as it is, b_i = e_i there. Σ_i a_i over all positions tends to y(e) − y(b)
    as K grows; completeness_gap, (batch,), is what is missing: |Σ a_i − (y(e) − y(b))|, in units of y, ≥ 0.
    It stays large where the path meets what is not smooth: at the zero vector, for models that normalise
    scale away (Llama, Qwen2, Gemma-2).
    """
    embeddings = model.embed(batch.ids)
    moving = torch.ones_like(batch.present) if path == "input" else before_text_b(batch)
    base = torch.where(moving[..., None], baseline_embedding(model, baseline), embeddings)
    at, weights = midpoints(steps, embeddings)
    at = at[:, None].expand(-1, len(batch.ids))  # (steps, batch)
    slope = path_gradient(model, batch, target, embeddings, base, at, weights, progress)
    signed = ((embeddings - base) * slope).sum(-1)
    return {
        "integrated_gradients": signed,
        "integrated_gradients_abs": signed.abs(),
        "completeness_gap": completeness_gap(model, batch, target, base, moving, signed, cache),
    }


@torch.no_grad()
def sequential_integrated_gradients(model, batch, target, steps=20, baseline=None, progress=None):
    """Sequential integrated gradients, signed and absolute: for each token a path of its own.

    a_i = (e_i − b) · (1/K) Σ_k ∂y/∂e_i at e with e_i alone replaced by b + (k − ½)/K · (e_i − b)
    (Enguehard 2023). a_i tends to what y loses when token i alone becomes b, in units of y. For
    causal LMs the tokens before i are computed once: their keys and values are shared by the whole path.
    """
    base = baseline_embedding(model, baseline)
    at, weights = midpoints(steps, base)
    base = base.expand(*batch.ids.shape, -1)
    signed = sequential_paths(model, batch, target, base, at, weights, batch.maskable, progress).sum(-1)
    return {"sequential_integrated_gradients": signed, "sequential_integrated_gradients_abs": signed.abs()}


@torch.no_grad()
def gradient_shap(model, batch, target, samples=20, seed=0, baseline=None, progress=None):
    """Expected gradients on the way from the baseline, signed and absolute.

    a_i = (e_i − b) · (1/S) Σ_s ∂y/∂e_i at b + u_s · (e − b), u_s ~ U[0, 1), one number a sample for all
    positions (Lundberg & Lee 2017, as GradientSHAP; no noise is added): integrated gradients by Monte Carlo,
    in units of y. The draws belong to an example and `seed`, whatever the batch.
    """
    embeddings, base = model.embed(batch.ids), baseline_embedding(model, baseline)
    at, weights = drawn_points(batch, samples, seed, embeddings)
    slope = path_gradient(model, batch, target, embeddings, base, at, weights, progress)
    signed = ((embeddings - base) * slope).sum(-1)
    return {"gradient_shap": signed, "gradient_shap_abs": signed.abs()}


def gradient(model, y, at):
    """∂ Σ y / ∂`at`, a tensor of the shape of `at`; y maps `at` to (rows,)."""
    with frozen(model.model), torch.enable_grad():
        at = at.detach().requires_grad_()
        (slope,) = torch.autograd.grad(y(at).sum(), at)
    return slope


def y_at(model, batch, target, explained=None, **given):
    """The function from word embeddings to y, (batch,); `given` goes to the model's logits."""
    explained = explained or model.explained
    return lambda embeddings: explained(model.logits(batch, embeddings=embeddings, **given), target)


@contextmanager
def frozen(module, but=None):
    """Inside, no parameter takes a gradient (so that nothing is kept for one), but the one given."""
    changed = [p for p in module.parameters() if p.requires_grad != (p is but)]
    for p in changed:
        p.requires_grad_(p is but)
    try:
        yield
    finally:
        for p in changed:
            p.requires_grad_(p is not but)


def baseline_embedding(model, baseline=None):
    """b, (width,). Raises ValueError where the tokenizer has no such token."""
    baseline = baseline or model.baseline
    table = model.embedding_table
    if baseline == "zero":
        return torch.zeros(table.shape[1], device=table.device)
    token = model.mask_id if baseline == "token" else model.pad_id
    if token is None:
        raise ValueError(f"baseline={baseline!r}: {model.name} has no such token: use 'zero' or 'pad'")
    return model.embed(torch.tensor(token, device=table.device))


def before_text_b(batch):
    """Where an input is `text` and its special tokens, (batch, tokens) bool: all of it but for pairs."""
    ends = [np.flatnonzero(e.maskable)[-1] + 1 if e.auxiliary.any() else len(e.ids) for e in batch.encodings]
    ends = torch.tensor(ends, device=batch.ids.device)[:, None]  # of pairs, the separator behind `text`
    return torch.arange(batch.ids.shape[1], device=batch.ids.device) <= ends


def midpoints(steps, like):
    """The midpoint rule: places on the path from 0 to 1 and their weights, both (steps,)."""
    at = (torch.arange(steps, dtype=like.dtype, device=like.device) + 0.5) / steps
    return at, torch.full_like(at, 1 / steps)


def drawn_points(batch, samples, seed, like):
    """Random places on the path, each example's own: (samples, batch), and their weights (samples,)."""
    at = torch.stack([torch.from_numpy(generator(e, seed).random(samples)) for e in batch.encodings], 1)
    return at.to(like), torch.full((samples,), 1 / samples, dtype=like.dtype, device=like.device)


def passes(model, batch, points):
    """Every example at every one of `points` places, in passes that fill the token budget.

    Yields (examples, places, part): two slices, and a Batch of their rows, places outermost, cut to these
    examples' longest. As few examples as fill a pass share one, so that little of it is padding.
    """
    budget, lengths, first = forward.token_budget(model), batch.present.sum(1).tolist(), 0
    while first < len(lengths):
        last, longest = first + 1, lengths[first]
        while last < len(lengths) and (last + 1 - first) * points * max(longest, lengths[last]) <= budget:
            last, longest = last + 1, max(longest, lengths[last])
        most = max(1, budget // ((last - first) * longest))
        most = math.ceil(points / math.ceil(points / most))  # as many passes, of equal size
        everyone = torch.arange(first, last, device=batch.ids.device)
        for start in range(0, points, most):
            places = slice(start, min(start + most, points))
            index = everyone.repeat(places.stop - start)
            yield slice(first, last), places, batch.at(index, stop=longest)
        first = last


def path_gradient(model, batch, target, embeddings, base, at, weights, progress=None):
    """Σ_k w_k ∂y/∂e at b + a_k (e − b), all positions moving together: (batch, tokens, width).

    base: b, broadcast to the embeddings. at: a, (points, batch). weights: w, (points,).
    """
    base = base.expand_as(embeddings)
    total, difference = torch.zeros_like(embeddings), embeddings - base
    for examples, places, part in passes(model, batch, len(at)):
        near = examples, slice(part.ids.shape[1])  # without the padding of longer examples
        path = base[near] + at[places, examples, None, None] * difference[near]  # (places, *its shape)
        y = y_at(model, part, target[examples].repeat(len(path)))
        slope = gradient(model, y, path.flatten(0, 1)).unflatten(0, path.shape[:2])
        total[near] += torch.tensordot(weights[places], slope, 1)
        if progress is not None:
            progress(path[..., 0, 0].numel() / at.numel())
    return total


def sequential_paths(model, batch, target, base, at, weights, positions, progress=None):
    """(e_i − b_i) ⊙ Σ_k w_k ∂y/∂e_i on the path of token i alone: (batch, tokens, width).

    base: b, (batch, tokens, width). at: a, (points,). weights: w, (points,). positions: where to compute it,
    (batch, tokens) bool; 0 elsewhere.
    """
    embeddings = model.embed(batch.ids)
    scores, difference = torch.zeros_like(embeddings), embeddings - base
    prefix = model.prefix(batch)[1] if hasattr(model, "prefix") else None
    columns = positions.any(0).nonzero()[:, 0].tolist()
    for i in columns:
        index = positions[:, i].nonzero()[:, 0]  # (examples,)
        start = i if prefix else 0  # what comes before token i does not see it
        for examples, places, part in passes(model, batch.at(index, start), len(at)):
            some = index[examples]
            path = base[some, i] + at[places, None, None] * difference[some, i]  # (places, examples, width)
            every = some.repeat(len(path))
            shared = {"prefix": prefix.rows(every, start)} if start else {}
            others = embeddings[every, start : start + part.ids.shape[1]]
            y = _y_of_token(model, part, target[every], others, i - start, shared)
            slope = gradient(model, y, path.flatten(0, 1)).unflatten(0, path.shape[:2])
            scores[some, i] += torch.tensordot(weights[places], slope, 1)
        if progress is not None:
            progress(1 / len(columns))
    return difference * scores


def _y_of_token(model, batch, target, embeddings, i, given):
    """The function from token i's embedding alone, (rows, width), to y, (rows,)."""
    y = y_at(model, batch, target, **given)
    before, after = embeddings[:, :i], embeddings[:, i + 1 :]
    return lambda token: y(torch.cat([before, token[:, None], after], 1))


def completeness_gap(model, batch, target, base, moving, signed, cache=None):
    """|Σ_i a_i − (y(e) − y(b))| over all present positions: (batch,) float64.

    base: b, (batch, tokens, width), of which nothing depends on the text where `moving`, (batch, tokens).
    """
    inputs = [forward.unchanged(e) for e in batch.encodings]
    y = forward.target_values(model, inputs, target.cpu().numpy(), model.explains, cache)
    # What is left of an input at the baseline is its length, its types and what does not move: a batch has
    # few such states.
    left = torch.where(batch.present, batch.types, -1), torch.where(moving, -1, batch.ids)
    states, same = torch.cat(left, 1).unique(dim=0, return_inverse=True)
    first = torch.stack([(same == k).nonzero()[0, 0] for k in range(len(states))])
    part = batch.at(first)
    logits = model.logits(part, embeddings=base[first])  # (states, outputs)
    y_base = model.explained(logits[same], target)
    total = torch.where(batch.present, signed, 0).double().sum(1)
    return (total - (torch.from_numpy(y).to(total) - y_base)).abs()


def vocabulary_l1(model, slopes):
    """‖E g‖₁ of gradients g, (tokens, width) -> (tokens,), over chunks of the vocabulary."""
    total = torch.zeros_like(slopes[:, 0])
    for ids in _vocabulary(model):
        total += (slopes @ model.embed(ids).T).abs_().sum(1)  # (tokens, chunk)
    return total


def vocabulary_l2(model, slopes):
    """‖E g‖₂ = √(g · EᵀE g) of gradients g, (tokens, width) -> (tokens,): no vocabulary axis at all."""
    square = gram(model)
    wide = slopes.to(square.dtype)
    return ((wide @ square) * wide).sum(1).clamp(min=0).sqrt().to(slopes.dtype)


def gram(model):
    """EᵀE, (width, width) float64: kept with the model until its embedding table changes."""
    table = model.embedding_table
    state = table.data_ptr(), table._version
    if getattr(model, "_gram", (None, None))[0] != state:
        precise = torch.float32 if table.device.type == "mps" else torch.float64  # Apple GPUs have no float64
        square = torch.zeros(table.shape[1], table.shape[1], dtype=precise, device=table.device)
        for ids in _vocabulary(model):
            chunk = model.embed(ids).to(precise)
            square.addmm_(chunk.T, chunk)
        model._gram = state, square
    return model._gram[1]


def _vocabulary(model):
    """All token ids in chunks; embedded by the model, which may scale what its table says (Gemma-2 does)."""
    table = model.embedding_table
    return torch.arange(len(table), device=table.device).split(CHUNK)
