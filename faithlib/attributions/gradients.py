"""Attributions from gradients of the explained output with respect to word embeddings, one per position.

y is the target's logit (classifiers) or probability (causal LMs); e_i is the word embedding at position i, as
returned by `model.embed`; b is the baseline, the same vector at every position.
"""

import math
from contextlib import contextmanager

import numpy as np
import torch

from faithlib.engine import batching, forward
from faithlib.progress import ignored
from faithlib.scores import generator

CHUNK = 512  # rows of the embedding table at a time: small enough for the processor cache
ONE_PASS = ("gradient_l1", "gradient_l2", "input_x_gradient", "input_x_gradient_abs", "deeplift")


@torch.no_grad()
def gradients(model, batch, target, wanted=ONE_PASS, baseline=None):
    """Gradient norms (L1, L2), input × gradient (signed, absolute) and DeepLift, from one backward pass.

    - gradient_l1, gradient_l2: ‖∂y/∂x_i‖ over the one-hot vocabulary axis, with ∂y/∂x_i = E ∂y/∂e_i and E the
      embedding table (Madsen et al. 2022, section 4; 2024, appendix E.1), ≥ 0.
    - input_x_gradient, input_x_gradient_abs: e_i · ∂y/∂e_i (Kindermans et al. 2016), which is the only
      non-zero element of x_i ⊙ ∂y/∂x_i; signed, and its absolute value.
    - deeplift: (e_i − b) · ∂y/∂e_i. The released implementations of DeepLift have no rule for GELU, SiLU,
      layer norm, softmax or products and use the gradient there.

    Args:
        wanted: the names to compute; input × gradient is always returned.
        baseline: b of deeplift.

    Returns:
        {name: (batch, tokens) float}, in units of y.
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
    model, batch, target, steps=20, baseline=None, path="input", rule="midpoint", cache=None, progress=ignored
):
    """Integrated gradients, signed and absolute, and their completeness gap.

    a_i = (e_i − b) · (1/K) Σ_k ∂y/∂e_i at b + a_k (e − b), k = 1 … K, where all positions move together
    (Sundararajan et al. 2017). As K grows, Σ_i a_i over all positions approaches y(e) − y(b). The gap stays
    large where y is not smooth on the path: at the zero vector for models whose normalisation removes scale
    (Llama, Qwen2, Gemma-2).

    Args:
        steps: K, the integration steps, at least 1; one forward and backward pass each.
        path: "input" moves all positions; "text" leaves the text_b of a pair unchanged (b_i = e_i there).
        rule: a_k, "midpoint" for (k − ½)/K, which has the smaller gap, or "right" for k/K, as Madsen et al.
            (2022) print it in equation 2.

    Returns:
        {"integrated_gradients", "integrated_gradients_abs": (batch, tokens) float, "completeness_gap":
        (batch,) float64, |Σ_i a_i − (y(e) − y(b))| ≥ 0, "completeness_change": (batch,) y(e) − y(b)}, all in
        units of y.

    Example:
        >>> from faithlib import models
        >>> model = models.load("tiny-bert", ("no", "yes"), ["the plot was great"])
        >>> batch = model.collate(model.encode(["the plot was great"]))
        >>> bool(integrated_gradients(model, batch, torch.tensor([1]), 50)["completeness_gap"] < 0.01)
        True
    """
    embeddings = model.embed(batch.ids)
    moving = torch.ones_like(batch.present) if path == "input" else before_text_b(batch)
    base = torch.where(moving[..., None], baseline_embedding(model, baseline), embeddings)
    points = RULES[rule](steps, embeddings)
    slope = path_gradient(model, batch, target, embeddings, base, *points, progress)
    signed = ((embeddings - base) * slope).sum(-1)
    gap, change = completeness(model, batch, target, base, moving, signed, cache)
    scores = {"integrated_gradients": signed, "integrated_gradients_abs": signed.abs()}
    return scores | {"completeness_gap": gap, "completeness_change": change}


@torch.no_grad()
def sequential_integrated_gradients(model, batch, target, steps=20, baseline=None, progress=ignored):
    """Sequential integrated gradients, signed and absolute: a separate path for each token.

    a_i = (e_i − b) · (1/K) Σ_k ∂y/∂e_i at e with only e_i replaced by b + (k − ½)/K · (e_i − b) (Enguehard
    2023). As K grows, a_i approaches the loss in y when token i alone becomes b. For causal LMs the keys and
    values of the tokens before i are computed once and shared by the whole path.

    Args:
        steps: K, the integration steps of each token, at least 1.

    Returns:
        {"sequential_integrated_gradients", "sequential_integrated_gradients_abs": (batch, tokens) float}, in
        units of y.
    """
    base = baseline_embedding(model, baseline)
    at, weights = midpoints(steps, base)
    base = base.expand(*batch.ids.shape, -1)
    signed = sequential_paths(model, batch, target, base, at, weights, batch.maskable, progress).sum(-1)
    return {"sequential_integrated_gradients": signed, "sequential_integrated_gradients_abs": signed.abs()}


@torch.no_grad()
def gradient_shap(model, batch, target, samples=20, seed=0, baseline=None, progress=ignored):
    """GradientSHAP, signed and absolute: integrated gradients by Monte Carlo.

    a_i = (e_i − b) · (1/S) Σ_s ∂y/∂e_i at b + u_s · (e − b), u_s ~ U[0, 1), the same u_s for all positions
    (Lundberg & Lee 2017, as GradientSHAP; no noise is added).

    Args:
        samples: S, at least 1; one forward and backward pass each.

    Returns:
        {"gradient_shap", "gradient_shap_abs": (batch, tokens) float}, in units of y.
    """
    embeddings, base = model.embed(batch.ids), baseline_embedding(model, baseline)
    points = drawn_points(batch, samples, seed, embeddings)
    slope = path_gradient(model, batch, target, embeddings, base, *points, progress)
    signed = ((embeddings - base) * slope).sum(-1)
    return {"gradient_shap": signed, "gradient_shap_abs": signed.abs()}


def gradient(model, y, at):
    """The gradient of Σ y(`at`) with respect to `at`, a tensor of its shape; y maps `at` to (rows,)."""
    with frozen(model.model), torch.enable_grad():
        at = at.detach().requires_grad_()
        (slope,) = torch.autograd.grad(y(at).sum(), at)
    return slope


def y_at(model, batch, target, explained=None, **outputs):
    """The function from word embeddings to y, (batch,); `outputs` is passed to `model.logits`."""
    explained = explained or model.explained
    return lambda embeddings: explained(model.logits(batch, embeddings=embeddings, **outputs), target)


@contextmanager
def frozen(module, but=None):
    """Context in which no parameter but `but` requires a gradient, so that less memory is used."""
    named = module.named_parameters(remove_duplicate=False)
    changed = {name for name, p in named if p.requires_grad != (p is but)}
    _flip(module, changed)
    try:
        yield
    finally:
        _flip(module, changed)


def _flip(module, names):
    """Change whether the parameters `names` require a gradient; by name, as offloaded ones are replaced."""
    named = module.named_parameters(remove_duplicate=False)
    for p in {id(p): p for name, p in named if name in names}.values():  # tied ones once
        p.requires_grad_(not p.requires_grad)


def baseline_embedding(model, baseline=None):
    """b, (width,). Raises ValueError if the tokenizer has no such token."""
    baseline = baseline or model.baseline
    table = model.embedding_table
    if baseline == "zero":
        return torch.zeros(table.shape[1], dtype=torch.float32, device=model.device)
    kind, other = ("mask", "pad") if baseline == "token" else ("pad", "token")
    token = getattr(model, f"{kind}_id")
    if token is None:
        raise ValueError(f"baseline={baseline!r}: {model.name} has no {kind} token: use 'zero' or {other!r}")
    return model.embed(torch.tensor(token, device=model.device))


def before_text_b(batch):
    """The positions of `text` and its special tokens, (batch, tokens) bool: all but those of text_b."""
    ends = [np.flatnonzero(e.maskable)[-1] + 1 if e.auxiliary.any() else len(e.ids) for e in batch.encodings]
    ends = torch.tensor(ends, device=batch.ids.device)[:, None]  # in pairs, the separator after `text`
    return torch.arange(batch.ids.shape[1], device=batch.ids.device) <= ends


def midpoints(steps, like):
    """The midpoint rule: points on the path from 0 to 1 and their weights, both (steps,)."""
    at = (torch.arange(steps, dtype=like.dtype, device=like.device) + 0.5) / steps
    return at, torch.full_like(at, 1 / steps)


def right_ends(steps, like):
    """The right end points 1/K, …, 1 of a path from 0 to 1 and their weights, both (steps,)."""
    at = torch.arange(1, steps + 1, dtype=like.dtype, device=like.device) / steps
    return at, torch.full_like(at, 1 / steps)


RULES = {"midpoint": midpoints, "right": right_ends}


def drawn_points(batch, samples, seed, like):
    """Random points on the path, drawn for each example: (samples, batch), and their weights (samples,)."""
    at = torch.stack([torch.from_numpy(generator(e, seed).random(samples)) for e in batch.encodings], 1)
    return at.to(like), torch.full((samples,), 1 / samples, dtype=like.dtype, device=like.device)


def in_passes(model, batch, points, compute):
    """Call `compute` on every example at each of `points` path points, in passes that fill the token budget.

    A pass holds as few examples as fill it, to limit padding; one that does not fit into memory is split.
    compute(examples, places, rows) gets slices of the examples and of the path points, and the Batch of their
    product, path points outermost, cut to the longest of these examples.
    """
    lengths, first = batch.present.sum(1).tolist(), 0
    while first < len(lengths):
        budget, last, longest = batching.token_budget(model), first + 1, lengths[first]
        while last < len(lengths) and (last + 1 - first) * points * max(longest, lengths[last]) <= budget:
            last, longest = last + 1, max(longest, lengths[last])
        most = max(1, budget // ((last - first) * longest))
        most = math.ceil(points / math.ceil(points / most))  # as many passes, of equal size
        for start in range(0, points, most):
            places = slice(start, min(start + most, points))
            _pass(model, batch, slice(first, last), places, longest, compute)
        first = last


def _pass(model, batch, examples, places, longest, compute):
    """One pass of `in_passes`, or the two halves of it where memory runs out."""
    n, k = examples.stop - examples.start, places.stop - places.start
    try:
        index = torch.arange(examples.start, examples.stop, device=batch.ids.device).repeat(k)
        compute(examples, places, batch.at(index, stop=longest))
        return
    except (RuntimeError, MemoryError) as error:
        if not batching.out_of_memory(error) or n * k == 1:
            raise
    batching.shrink(model, n * k * longest)
    half = places.start + k // 2 if k > 1 else examples.start + n // 2
    for part in (slice(None, half), slice(half, None)):
        if k > 1:
            piece = examples, slice(part.start or places.start, part.stop or places.stop)
        else:
            piece = slice(part.start or examples.start, part.stop or examples.stop), places
        _pass(model, batch, *piece, longest, compute)


def path_gradient(model, batch, target, embeddings, base, at, weights, progress=ignored):
    """Σ_k w_k ∂y/∂e at b + a_k (e − b), where all positions move together: (batch, tokens, width).

    Args:
        embeddings: e, (batch, tokens, width).
        base: b, any shape that broadcasts to e.
        at: a, (points,) or (points, batch).
        weights: w, (points,).
    """
    base, at = base.expand_as(embeddings), at.reshape(len(at), -1).expand(-1, len(embeddings))
    total, difference = torch.zeros_like(embeddings), embeddings - base

    def compute(examples, places, rows):
        block = examples, slice(rows.ids.shape[1])  # without the padding of longer examples
        path = base[block] + at[places, examples, None, None] * difference[block]  # (places, *block's shape)
        y = y_at(model, rows, target[examples].repeat(len(path)))
        slope = gradient(model, y, path.flatten(0, 1)).unflatten(0, path.shape[:2])
        total[block] += torch.tensordot(weights[places], slope, 1)
        progress(path[..., 0, 0].numel() / at.numel())

    in_passes(model, batch, len(at), compute)
    return total


def sequential_paths(model, batch, target, base, at, weights, positions, progress=ignored):
    """(e_i − b_i) ⊙ Σ_k w_k ∂y/∂e_i at b_i + a_k (e_i − b_i), only token i moving: (batch, tokens, width).

    Args:
        base: b, (batch, tokens, width).
        at, weights: a and w, (points,).
        positions: the tokens to compute, (batch, tokens) bool; the result is 0 elsewhere.
    """
    embeddings = model.embed(batch.ids)
    scores, difference = torch.zeros_like(embeddings), embeddings - base
    prefix = model.prefix(batch)[1] if batching.shares_prefix(model) else None
    columns = positions.any(0).nonzero()[:, 0].tolist()
    for i in columns:
        index = positions[:, i].nonzero()[:, 0]  # (examples,)
        start = i if prefix else 0  # in a causal LM the tokens before i do not depend on it

        def compute(examples, places, rows, i=i, index=index, start=start):
            chosen = index[examples]  # (examples,)
            path = base[chosen, i] + at[places, None, None] * difference[chosen, i]  # (places, *, width)
            repeated = chosen.repeat(len(path))
            shared = {"prefix": prefix.rows(repeated, start)} if start else {}
            others = embeddings[repeated, start : start + rows.ids.shape[1]]
            y = _y_of_token(model, rows, target[repeated], others, i - start, shared)
            slope = gradient(model, y, path.flatten(0, 1)).unflatten(0, path.shape[:2])
            scores[chosen, i] += torch.tensordot(weights[places], slope, 1)

        in_passes(model, batch.at(index, start), len(at), compute)
        progress(1 / len(columns))
    return difference * scores


def _y_of_token(model, batch, target, embeddings, i, outputs):
    """The function from the embedding of token i, (rows, width), to y, (rows,); the others are fixed."""
    y = y_at(model, batch, target, **outputs)
    before, after = embeddings[:, :i], embeddings[:, i + 1 :]
    return lambda token: y(torch.cat([before, token[:, None], after], 1))


def completeness(model, batch, target, base, moving, signed, cache=None):
    """|Σ_i a_i − (y(e) − y(b))| over all present positions, and y(e) − y(b): each (batch,) float64.

    b, (batch, tokens, width), does not depend on the text at `moving` positions, (batch, tokens) bool;
    `signed` is a, (batch, tokens).
    """
    inputs = [forward.unchanged(e) for e in batch.encodings]
    y = forward.target_values(model, inputs, target.cpu().numpy(), model.explains, cache)
    # At the baseline, inputs differ only in length, token types and the tokens that do not move, so a batch
    # has few different ones.
    rest = torch.where(batch.present, batch.types, -1), torch.where(moving, -1, batch.ids)
    states, same = torch.cat(rest, 1).unique(dim=0, return_inverse=True)
    first = torch.stack([(same == k).nonzero()[0, 0] for k in range(len(states))])
    logits = model.logits(batch.at(first), embeddings=base[first])  # (states, outputs)
    y_base = model.explained(logits[same], target)
    total = torch.where(batch.present, signed, 0).cpu().double().sum(1)  # Apple GPUs have no float64
    change = torch.from_numpy(y).to(total) - y_base.cpu()
    return (total - change).abs(), change


def vocabulary_l1(model, slopes):
    """‖E g‖₁ of gradients g, (tokens, width) -> (tokens,), computed in blocks of the vocabulary."""
    total = torch.zeros_like(slopes[:, 0])
    for ids in _vocabulary(model):
        total += (slopes @ model.embed(ids).T).abs_().sum(1)  # (tokens, CHUNK)
    return total


def vocabulary_l2(model, slopes):
    """‖E g‖₂ = √(g · EᵀE g) of gradients g, (tokens, width) -> (tokens,), without a vocabulary axis."""
    square = gram(model)
    wide = slopes.to(square.dtype)
    return ((wide @ square) * wide).sum(1).clamp(min=0).sqrt().to(slopes.dtype)


def gram(model):
    """EᵀE, (width, width) float64, cached on the model until its embedding table changes."""
    table = model.embedding_table
    device, state = model.device, "offloaded"  # such a table does not change
    precise = torch.float32 if device.type == "mps" else torch.float64  # Apple GPUs have no float64
    if not table.is_meta:  # a write through `.data` changes no version
        norm = torch.linalg.vector_norm(table.detach(), dtype=precise).item()
        state = table.data_ptr(), table._version, norm
    if getattr(model, "_gram", (None, None))[0] != state:
        square = torch.zeros(table.shape[1], table.shape[1], dtype=precise, device=device)
        for ids in _vocabulary(model):
            rows = model.embed(ids).to(precise)
            square.addmm_(rows.T, rows)
        model._gram = state, square
    return model._gram[1]


def _vocabulary(model):
    """All token ids in blocks of CHUNK, to be embedded by the model, which may scale its table (Gemma-2)."""
    table = model.embedding_table
    size = 32 * CHUNK if table.is_meta else CHUNK  # an offloaded table is loaded once for each block
    return torch.arange(len(table), device=model.device).split(size)
