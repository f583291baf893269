"""Soft sufficiency and comprehensiveness of language models: how far the next-token distribution moves.

Ghasemi Madani et al. 2025, appendix A, after Zhao & Aletras 2023 and Zhao & Shan 2024. Where a prompt's own
next token is explained it is one step; an open-ended prompt is continued, and every step explained.
"""

from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from faithlib import forward
from faithlib.metrics import soft
from faithlib.metrics.soft import soft_variants
from faithlib.scores import DEFINITIONS, check_scores, permuted, uniform

COLUMNS = [
    "example",
    "step",
    "attribution",
    "baseline",
    "draw",
    "definition",
    "soft_ns",
    "soft_nc",
    "denominator",
]
TINY = 1e-6  # a ΔP_0 below it is rounding: the model does not look at its prompt


def hellinger(p, q, definition="paper"):
    """Distance of two distributions over a vocabulary: (..., vocabulary) twice -> (...).

    paper: H(p, q) = sqrt(Σ_v (√p_v − √q_v)²) / √2, in [0, 1], 0 for equal and 1 for disjoint ones.
    released: Σ_v (√p_v − √q_v)² / √2 = √2 H², in [0, √2]. Arrays or tensors.
    """
    squares = ((p**0.5 - q**0.5) ** 2).sum(-1)
    return (squares / 2) ** 0.5 if definition == "paper" else squares / 2**0.5


def soft_ns(delta, delta_zero):
    """Soft-NS = max(0, ΔP_0 − ΔP_X') / ΔP_0 (Eq. 7), in [0, 1], higher is better; NaN where ΔP_0 is 0."""
    return _ratio(np.maximum(0, delta_zero - delta), delta_zero)


def soft_nc(delta, delta_zero):
    """Soft-NC = ΔP_(X' without R) / ΔP_0 (Eq. 8), from 0 on, higher is better; NaN where ΔP_0 is 0.

    It exceeds 1 where a text without its rationale misleads more than no text.
    """
    return _ratio(delta, delta_zero)


@dataclass(frozen=True)
class Settings:
    """What is measured; every field is checked on construction, before any work.

    definition "paper": Eqs. 7 and 8 with `hellinger`; only maskable tokens are softly erased or zeroed, so
    that scores of 0 have Soft-NS 0 and scores of 1 have Soft-NC 1, whatever special token stands before.
    "released": the squared distance, and special tokens (BOS) are scored, erased and zeroed like others.
    probability: how a score becomes the q of Eq. 4 (`soft.to_probability`). The paper calls scores
    probabilities and is silent on those below 0 or above 1; "clip" is what the release does with them.
    soft_draws: Bernoulli draws averaged for one value; random_draws: draws of each baseline.
    """

    definition: str = "paper"
    probability: str = "clip"
    soft_draws: int = 3
    random_draws: int = 3
    seed: int = 0

    def __post_init__(self):
        for field, known in (("definition", DEFINITIONS), ("probability", soft.OPTIONS)):
            if getattr(self, field) not in known:
                raise ValueError(f"{field}={getattr(self, field)!r} is unknown, use {', '.join(known)}")
        if self.definition == "released" and self.probability != "clip":
            raise ValueError(f"probability={self.probability!r}: the release knows 'clip' only")
        for name in ("soft_draws", "random_draws"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1")

    def as_dict(self):
        """The plan as plain values, for the record."""
        return asdict(self)


class Steps(NamedTuple):
    """Prompts that lead to one next token each; those of one example belong together."""

    encodings: list  # of Encoding
    targets: np.ndarray  # (prompts,) int, the next token that the model predicts
    examples: np.ndarray  # (prompts,) int, which open-ended prompt it continues
    steps: np.ndarray  # (prompts,) int, how many tokens were generated before


def continuations(model, encodings, tokens=10):
    """Each prompt continued greedily, every step a prompt of its own: Steps, ordered by example and step.

    Generated tokens are maskable and count as words of their own. A continuation ends early at the end
    token, which is its last target. Raises ValueError for tokens below 1 and for a prompt that is empty or
    leaves no room for them.
    """
    if tokens < 1:
        raise ValueError(f"tokens={tokens} must be at least 1")
    model.check(encodings)
    longest = max(len(e.ids) for e in encodings)
    if longest + tokens - 1 > model.max_length:
        raise ValueError(
            f"a prompt of {longest} tokens leaves no room for {tokens}: {model.name} takes "
            f"{model.max_length}; cut it (truncate) or generate fewer"
        )
    prompts, rows, going = list(encodings), [], list(range(len(encodings)))
    for step in range(tokens):
        p = forward.probabilities(model, [forward.unchanged(prompts[i]) for i in going])
        found = p.argmax(1)
        rows += [(i, step, int(token), prompts[i]) for i, token in zip(going, found, strict=True)]
        going = [i for i, token in zip(going, found, strict=True) if token != model.tokenizer.eos_token_id]
        for i, _, token, prompt in rows[len(rows) - len(found) :]:
            prompts[i] = prompt.followed_by([token])
    rows.sort(key=lambda row: row[:2])
    examples, steps, targets, kept = zip(*rows, strict=True)
    return Steps(list(kept), np.array(targets), np.array(examples), np.array(steps))


def everywhere(encodings):
    """The encodings with all tokens maskable: explained like this, BOS has a score, as in the release."""
    return [replace(e, maskable=np.ones(len(e.ids), bool)) for e in encodings]


def values(model, encodings, scores, plan, examples=None, steps=None):
    """Soft-NS and Soft-NC of every attribution and of its baselines, prompt by prompt: COLUMNS.

    scores: {attribution: [scores (tokens,) of each encoding]}, for definition "released" those of the
    release, of what `everywhere` gives. examples, steps: of `Steps`; by default every prompt is an example
    of step 0. Random draws belong to example and step, not to a batch, and all attributions meet the same
    Bernoulli draws.
    Rows with baseline "random" (attribution "random") are scores of U[0, 1), for "released" their softmax
    over the tokens, nearly 1/T each; "matched" an attribution's own scores in random order. `denominator` is
    ΔP_0; a prompt where that is 0 keeps its rows, with NaN values.
    Raises ValueError for scores that do not fit, or are not finite, and prompts that are empty or too long.
    """
    if plan.definition == "released":
        encodings = everywhere(encodings)
    model.check(encodings)
    check_scores(encodings, scores)
    if "random" in scores:
        raise ValueError("scores 'random': this is the baseline's name, call them something else")
    examples = np.arange(len(encodings)) if examples is None else np.asarray(examples)
    steps = np.zeros(len(encodings), int) if steps is None else np.asarray(steps)
    width = model.factor_width
    rows, variants, prompt_of = [], [], []
    for i, encoding in enumerate(encodings):
        seeds = [[plan.seed, int(examples[i]), int(steps[i]), draw] for draw in range(plan.soft_draws)]
        own = {name: given[i] for name, given in scores.items()}
        for key, s in _sources(encoding, own, plan, seeds[0][:3]).items():
            a = soft.to_probability(s, encoding.maskable, plan.probability)
            for retain in (True, False):
                variants += soft_variants(encoding, a, encoding.maskable, retain, width, seeds)
            rows.append((examples[i], steps[i], *key, plan.definition))
            prompt_of.append(i)
    p_full = forward.probabilities(model, [forward.unchanged(e) for e in encodings])  # (prompts, vocabulary)
    zero = [forward.zeroed(e, e.maskable) for e in encodings]
    each = 2 * plan.soft_draws
    delta = forward.distances(
        model,
        zero + variants,
        p_full,
        np.r_[np.arange(len(encodings)), np.repeat(prompt_of, each)],
        lambda p, q: hellinger(p, q, plan.definition),
    )
    delta_zero = delta[: len(encodings)][prompt_of]  # (rows,)
    kept, removed = delta[len(encodings) :].reshape(len(rows), 2, plan.soft_draws).transpose(1, 0, 2)
    table = pd.DataFrame(rows, columns=COLUMNS[:6])
    return table.assign(
        soft_ns=soft_ns(kept, delta_zero[:, None]).mean(1),
        soft_nc=soft_nc(removed, delta_zero[:, None]).mean(1),
        denominator=delta_zero,
    )


def _sources(encoding, scores, plan, seed):
    """{(attribution, baseline, draw): scores}: the attributions and what they are compared with."""
    sources = {(name, "", 0): s for name, s in scores.items()}
    for draw in range(plan.random_draws):
        generator = np.random.default_rng([*seed, draw, 1])  # not the stream of the Bernoulli draws
        s = uniform(encoding, generator)
        if plan.definition == "released":
            s = soft.to_probability(s, encoding.maskable, "softmax")
        sources["random", "random", draw] = s
        for name, s in scores.items():
            sources[name, "matched", draw] = permuted(s, encoding, generator)
    return sources


def _ratio(delta, delta_zero):
    known = np.asarray(delta_zero) > TINY
    return np.where(known, delta / np.where(known, delta_zero, 1), np.nan)


# Registered metrics -------------------------------------------------------------------------------


def causal_soft_ns(inputs, scores, draws=3):
    """Soft-NS of a language model (Eq. 7): (examples,) in [0, 1], higher is better; NaN where ΔP_0 is 0.

    Args:
        inputs: `metrics.inputs.Inputs` of prompts; scores: [(tokens,)] of one attribution.
        draws: Bernoulli draws averaged; all attributions meet the same ones.
    """
    return of_attribution(inputs, scores, draws, keep=True)


def causal_soft_nc(inputs, scores, draws=3):
    """Soft-NC of a language model (Eq. 8): as `causal_soft_ns`, values from 0 on."""
    return of_attribution(inputs, scores, draws, keep=False)


def of_attribution(inputs, scores, draws, keep, how="clip"):
    """Soft-NS (keep) or Soft-NC of one attribution, with scores made probabilities by `how`: (examples,).

    Where an answer has several tokens, the distance is a mean over the distributions that predict them.
    """
    encodings, variants = inputs.encodings, []
    width, rows = inputs.model.factor_width, np.arange(len(encodings))
    for i, (e, s) in enumerate(zip(encodings, scores, strict=True)):
        a = soft.to_probability(s, e.maskable, how)
        variants += soft.soft_variants(e, a, e.maskable, keep, width, inputs.seeds(i, draws), shared=True)
    zero = [forward.zeroed(e, e.maskable) for e in encodings]
    delta = inputs.distances(zero + variants, np.r_[rows, np.repeat(rows, draws)], hellinger)
    delta_zero, moved = delta[: len(encodings), None], delta[len(encodings) :].reshape(-1, draws)
    return (soft_ns if keep else soft_nc)(moved, delta_zero).mean(1)
