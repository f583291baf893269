"""Soft sufficiency and comprehensiveness of language models: how far the next-token distribution moves.

Ghasemi Madani et al. 2025, appendix A, after Zhao & Aletras 2023 and Zhao & Shan 2024. An open-ended prompt
is continued, and every step explained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from faithlib.engine import forward
from faithlib.metrics import erasure, soft
from faithlib.options import DEFINITIONS
from faithlib.scores import RANDOM, check_scores, one_of, permuted, uniform, whole

KEYS = ["example", "step", "attribution", "baseline", "normalisation", "definition"]
COLUMNS = [*KEYS, "draw", "kept", "soft_nc", "denominator"]


def hellinger(p, q, definition="paper"):
    """Distance of two distributions over a vocabulary: (..., vocabulary) twice -> (...).

    paper: H(p, q) = sqrt(Σ_v (√p_v − √q_v)²) / √2, in [0, 1], 0 for equal and 1 for disjoint ones.
    released: Σ_v (√p_v − √q_v)² / √2 = √2 H², in [0, √2]. Arrays or tensors.
    """
    one_of("definition", definition, DEFINITIONS)
    squares = ((p**0.5 - q**0.5) ** 2).sum(-1)
    return (squares / 2) ** 0.5 if definition == "paper" else squares / 2**0.5


def soft_ns(delta, delta_zero):
    """Soft-NS = max(0, ΔP_0 − ΔP_X') / ΔP_0 (Eq. 7), in [0, 1], higher is better; NaN where ΔP_0 is 0."""
    return erasure.quotient(np.maximum(0, delta_zero - delta), delta_zero)


def soft_nc(delta, delta_zero):
    """Soft-NC = ΔP_(X' without R) / ΔP_0 (Eq. 8), from 0 on, higher is better; NaN where ΔP_0 is 0."""
    return erasure.quotient(delta, delta_zero)


# From scores to probabilities ---------------------------------------------------------------------


def _over(total):
    """A sum to divide by, or 1, which leaves scores as they are, where it is 0 or 1 but for rounding."""
    return 1.0 if total == 0 or abs(total - 1) < 1e-6 else total


NORMALISATIONS = {  # what is done to a prompt's scores (tokens,) before they are clipped to [0, 1]
    "none": lambda s: s,
    "sum 1, signed": lambda s: s / _over(s.sum()),
    "|s| / sum": lambda s: np.abs(s) / _over(np.abs(s).sum()),
    "min-max": lambda s: soft.to_probability(s, np.ones(len(s), bool)),
}


def probability(scores, maskable, normalisation="none"):
    """The q of Eq. 4: scores (tokens,) on one scale, clipped to [0, 1], and 0 where not maskable.

    The paper is silent on the scale of scores, and on those outside [0, 1], which the release clips.
    normalisation: "none"; "sum 1, signed", as the release does with Noiser's scores: a negative sum reverses
    the ranking; "|s| / sum", as it does with those of gradients; "min-max". A sum of 0 changes nothing.

    Example:
        >>> probability([0.0, 0.6, -0.2], np.array([False, True, True]), "|s| / sum").round(2).tolist()
        [0.0, 0.75, 0.25]
    """
    q = np.zeros(len(maskable))
    q[maskable] = NORMALISATIONS[normalisation](np.asarray(scores, float)[maskable]).clip(0, 1)
    return q


# What is measured ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """What is measured; every field is checked on construction, before any work.

    definition "paper": Eqs. 7 and 8 with `hellinger`; only maskable tokens are softly erased or zeroed.
    "released": the squared distance, and special tokens (BOS) are scored, erased and zeroed like others.
    normalisations: of NORMALISATIONS; for "released", whose scores have the sum 1, "sum 1, signed" is what
    "none" is, and left out. soft_draws: Bernoulli draws for one value, with new random and permuted scores.
    matched: whether permuted scores are measured too, the baseline "matched".
    """

    definition: str = "paper"
    normalisations: tuple = ("none",)
    soft_draws: int = 3
    seed: int = 0
    matched: bool = True

    def __post_init__(self):
        one_of("definition", self.definition, DEFINITIONS)
        for name in self.normalisations:
            one_of("normalisation", name, tuple(NORMALISATIONS))
        whole("soft_draws", self.soft_draws, 1)
        whole("seed", self.seed)


class Steps(NamedTuple):
    """Prompts that lead to one next token each; those of one example belong together."""

    encodings: list  # of Encoding
    targets: np.ndarray  # (prompts,) int, the next token that the model predicts
    examples: np.ndarray  # (prompts,) int, which open-ended prompt it continues
    steps: np.ndarray  # (prompts,) int, how many tokens were generated before


def continuations(model, encodings, tokens=10):
    """Each prompt continued greedily, every step a prompt of its own: Steps, ordered by example and step.

    Generated tokens are maskable. A continuation ends early at the end token, which is its last target.
    Raises ValueError for tokens below 1 and for a prompt that is empty or leaves no room for them.
    """
    whole("tokens", tokens, 1)
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
        predicted, going_on = p.argmax(1).tolist(), []
        for i, token in zip(going, predicted, strict=True):
            rows.append((i, step, token, prompts[i]))
            prompts[i] = prompts[i].followed_by([token])
            if token != model.tokenizer.eos_token_id:
                going_on.append(i)
        going = going_on
    rows.sort(key=lambda row: row[:2])
    examples, steps, targets, kept = zip(*rows, strict=True)
    return Steps(list(kept), np.array(targets), np.array(examples), np.array(steps))


def everywhere(encodings):
    """The encodings with all tokens maskable: explained like this, BOS has a score, as in the release."""
    return [replace(e, maskable=np.ones(len(e.ids), bool)) for e in encodings]


def values(
    model: Any, encodings: Sequence, scores: Mapping[str, Sequence], plan: Settings,
    examples: Sequence[int] | np.ndarray | None = None, steps: Sequence[int] | np.ndarray | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Soft-NS and Soft-NC of every attribution and of its baselines, prompt by prompt and draw by draw.

    Random draws belong to example and step; all attributions and normalisations meet the same ones.

    Args:
        scores: {attribution: [scores (tokens,) of each encoding]}, for definition "released" those of the
            release, of what `everywhere` gives.
        examples, steps: of `Steps`; by default every prompt is an example of step 0.

    Returns:
        DataFrame with COLUMNS. baseline "random" (attribution "random"): scores of U[0, 1), for "released"
        their softmax over the tokens; "matched": an attribution's own scores in random order. kept:
        (ΔP_0 − ΔP_X') / ΔP_0, not clipped; soft_nc; denominator: ΔP_0. Where that is 0 values are NaN.

    Raises:
        ValueError: scores that do not fit, or are not finite, and prompts that are empty or too long.
    """
    if plan.definition == "released":
        encodings = everywhere(encodings)
    model.check(encodings)
    check_scores(encodings, scores)
    if RANDOM in scores:
        raise ValueError(f"scores {RANDOM!r}: this is the baseline's name, call them something else")
    examples = np.arange(len(encodings)) if examples is None else np.asarray(examples)
    steps = np.zeros(len(encodings), int) if steps is None else np.asarray(steps)
    left_out = "sum 1, signed" if plan.definition == "released" else ""
    normalisations = [name for name in plan.normalisations if name != left_out]

    def rows(i, encoding):
        """(key, [kept, removed]) of one prompt, for each source, normalisation and draw."""
        seed, positions = [plan.seed, int(examples[i]), int(steps[i])], encoding.maskable
        width = model.factor_width
        of_prompt = {name: of_texts[i] for name, of_texts in scores.items()}
        for source, by_draw in _sources(encoding, of_prompt, plan, seed).items():
            for how, (draw, s) in product(normalisations, enumerate(by_draw)):
                q, drawn = probability(s, positions, how), [[*seed, draw]]
                vary = partial(
                    soft.soft_variants, encoding, q, positions, width=width, seeds=drawn, shared=True
                )
                both = [*vary(retain=True), *vary(retain=False)]
                yield (i, examples[i], steps[i], *source, how, plan.definition, draw), both

    keys, _, variants = soft.collected(row for each in enumerate(encodings) for row in rows(*each))
    table = pd.DataFrame(keys, columns=["prompt", *KEYS, "draw"])
    prompt = table.pop("prompt").to_numpy()  # (rows,)
    p_full = forward.probabilities(model, [forward.unchanged(e) for e in encodings])  # (prompts, vocabulary)
    zero = [forward.zeroed(e, e.maskable) for e in encodings]
    of_variants = np.append(np.arange(len(encodings)), np.repeat(prompt, 2))
    distance = partial(hellinger, definition=plan.definition)
    delta = forward.distances(model, zero + variants, p_full, of_variants, distance)
    delta_zero = delta[: len(encodings)][prompt]  # (rows,)
    kept, removed = delta[len(encodings) :].reshape(-1, 2).T
    return table.assign(
        kept=erasure.quotient(delta_zero - kept, delta_zero),
        soft_nc=soft_nc(removed, delta_zero),
        denominator=delta_zero,
    )


def over_draws(values: pd.DataFrame) -> pd.DataFrame:
    """Means over draws of the rows of `values`: their columns but draw and kept, and two forms of Soft-NS.

    soft_ns: each draw is clipped at 0 (Eq. 7), as released; soft_ns_of_mean: the mean over draws is. float32.
    """
    measured = ["kept", "soft_nc", "denominator", "soft_ns"]
    keys = [column for column in values if column not in ("draw", *measured)]
    by_row = values.assign(soft_ns=values.kept.clip(lower=0)).groupby(keys, sort=False)[measured].mean()
    by_row["soft_ns_of_mean"] = by_row.pop("kept").clip(lower=0)
    return by_row.astype(np.float32).reset_index()


def by_draw(values: pd.DataFrame) -> pd.DataFrame:
    """Means over prompts, each first over its steps, for each draw: the rows of `values` without prompts.

    soft_ns, in place of kept and denominator, is clipped in each draw; float32.
    """
    keys = [c for c in values if c not in ("example", "step", "kept", "soft_nc", "denominator")]
    values = values.assign(soft_ns=values.kept.clip(lower=0))
    of_prompts = values.groupby([*keys, "example"], sort=False)[["soft_ns", "soft_nc"]].mean()
    return of_prompts.groupby(keys, sort=False).mean().astype(np.float32).reset_index()


def _sources(encoding, scores, plan, seed):
    """{(attribution, baseline): [scores of each draw]}: attributions and what they are compared with."""
    draws = range(plan.soft_draws)
    sources = {(name, ""): [s] * plan.soft_draws for name, s in scores.items()}
    # not the streams of the Bernoulli draws
    random = [uniform(encoding, np.random.default_rng([*seed, draw, 1])) for draw in draws]
    if plan.definition == "released":
        random = [soft.to_probability(s, encoding.maskable, "softmax") for s in random]
    sources[RANDOM, RANDOM] = random
    for name, s in scores.items() if plan.matched else ():
        shuffled = [permuted(s, encoding, np.random.default_rng([*seed, draw, 2])) for draw in draws]
        sources[name, "matched"] = shuffled
    return sources


# Registered metrics -------------------------------------------------------------------------------


def of_tokens(inputs, variants, draws, keep):
    """Values of next tokens; of an answer of several, the distance is a mean over their distributions."""
    operator, empty = inputs.erasing("zero", soft=True), []
    for e in inputs.encodings:
        empty += operator.variants(e, e.maskable)
    rows = np.arange(len(inputs.encodings))
    examples = np.append(np.repeat(rows, operator.texts), np.repeat(rows, draws))
    delta = inputs.distances(empty + variants, examples, hellinger)
    delta_zero = delta[: len(empty)].reshape(-1, operator.texts).mean(1, keepdims=True)
    moved = delta[len(empty) :].reshape(-1, draws)
    return (soft_ns if keep else soft_nc)(moved, delta_zero).mean(1)


_of_attribution = partial(soft.of_attribution, values=of_tokens)


def causal_soft_ns(inputs, scores, draws=3):
    """Soft-NS of a language model (Eq. 7): (examples,) in [0, 1], higher is better; NaN where ΔP_0 is 0."""
    return _of_attribution(inputs, scores, draws, how="clip")


def causal_soft_nc(inputs, scores, draws=3):
    """Soft-NC of a language model (Eq. 8): as `causal_soft_ns`, values from 0 on."""
    return _of_attribution(inputs, scores, draws, keep=False, how="clip")


def causal_equal_soft_ns(inputs, scores, draws=3):
    """`causal_soft_ns` where every attribution keeps half of the tokens in expectation."""
    return _of_attribution(inputs, scores, draws, how="equal")


def causal_equal_soft_nc(inputs, scores, draws=3):
    """`causal_soft_nc` where every attribution removes half of the tokens in expectation."""
    return _of_attribution(inputs, scores, draws, keep=False, how="equal")
