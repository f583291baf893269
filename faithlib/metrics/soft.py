"""Soft sufficiency and comprehensiveness of classifiers, beside the hard ones (Zhao & Aletras 2023).

How scores become probabilities, and the perturbations that they steer; then the drivers: `values` of a
paper's table, and `of_attribution` of a study, for language models too.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, softmax
from scipy.stats import rankdata

from faithlib import options
from faithlib.engine import forward
from faithlib.metrics import erasure
from faithlib.scores import normal, permuted
from faithlib.statistics.base import DRAW_COUNTS, stream

ERASURES = ("hard", "soft")
REMOVALS = ("zero", "mask", "delete")
SOFT_DRAWS = zlib.crc32(b"soft draws")  # names the stream of the perturbations
COLUMNS = ("example", "attribution", "baseline", "draw", "definition", "perturbation", "metric", "ratio")


def to_probability(scores: Sequence | np.ndarray, maskable: np.ndarray, how: str = "minmax") -> np.ndarray:
    """Scores (tokens,) to the a of Eq. 3, in [0, 1] on maskable tokens and 0 elsewhere.

    The paper is silent on how scores become a; the choice decides what soft metrics measure. minmax:
    (s − min) / (max − min) over the maskable tokens, ½ where all are equal. rank: rank / n, in (0, 1], equal
    scores at their mean rank. equal: min-max, then `equal_retention`. sigmoid: 1 / (1 + e^−s). softmax: sums
    to 1 over the maskable tokens. raw: the scores themselves, which must lie in [0, 1]. clip:
    min(max(s, 0), 1), as in the release of Noiser.
    Raises ValueError for another name, for raw scores outside [0, 1] and for scores that are not finite.
    """
    s = np.asarray(scores, float)[maskable]
    if not np.isfinite(s).all():
        raise ValueError("scores hold NaN or infinite values: a probability needs finite ones")
    if how not in MAPS:
        raise ValueError(f"score-to-probability {how!r} is unknown: use one of {', '.join(OPTIONS)}")
    probability = np.zeros(len(maskable))
    probability[maskable] = MAPS[how](s)
    return probability


def equal_retention(a, share=0.5):
    """Shift and clip min(max(a + b, 0), 1), with the b that gives the mean `share`: a (n,) -> (n,) in [0, 1].

    Our choice, after Huang & Chan 2026 (arXiv 2601.03089): every attribution retains the same share.

    Example:
        >>> equal_retention([1, 0, 0, 0]).round(3).tolist()
        [1.0, 0.333, 0.333, 0.333]
    """
    a = np.asarray(a, float)
    shifts = np.unique(np.concatenate([-a, 1 - a]))  # between two of them the mean is linear in b
    means = (a + shifts[:, None]).clip(0, 1).mean(1)
    means, first = np.unique(means, return_index=True)
    return (a + np.interp(share, means, shifts[first])).clip(0, 1)


def _spread(s):
    span = s.max() - s.min()
    return (s - s.min()) / span if span > 0 else np.full(len(s), 0.5)


def _raw(s):
    if s.min() < 0 or s.max() > 1:
        raise ValueError(
            f"raw scores run from {s.min():.3g} to {s.max():.3g}: use them only in [0, 1], "
            "or choose minmax, sigmoid, softmax or clip"
        )
    return s


MAPS = {  # of the scores of the maskable tokens
    "minmax": _spread,
    "rank": lambda s: rankdata(s) / len(s),
    "equal": lambda s: equal_retention(_spread(s)),
    "sigmoid": expit,
    "softmax": softmax,
    "raw": _raw,
    "clip": lambda s: s.clip(0, 1),
}
OPTIONS = tuple(MAPS)
NORMALISING = OPTIONS[:5]  # raw scores will not do: N(0, 1) ones leave [0, 1]
FLOORS = {2: -10, 4: -3, 5: -1, 7: -1}  # options of the release, and what they set other positions to


def released_probability(scores: np.ndarray, maskable: np.ndarray, option: int) -> np.ndarray:
    """The release's options 0 to 7, over the whole row, with −∞ at positions that are not maskable.

    Soft-NS was published with option 1 (a sigmoid), Soft-NC with 5 (those positions set to −1, then min-max
    over the row). 2 and 4 set them to −10 and −3; 3 is a softmax, 6 a sigmoid and then min-max, 7 what 5
    gives and then a sigmoid; 0 leaves the scores. Equal values give NaN under 2, 4, 5, 6 and 7. float32.
    """
    s = np.where(maskable, scores, -np.inf).astype(np.float32)
    if option not in range(8):
        raise ValueError(f"option {option!r} is unknown: the release has 0 to 7")
    if option in FLOORS:
        s = _minmax(np.where(np.isinf(s), np.float32(FLOORS[option]), s))
    elif option == 3:
        return softmax(s)
    elif option == 6:
        s = _minmax(expit(s))
    return expit(s) if option in (1, 7) else s


def factor(
    perturbation: str, a: np.ndarray, positions: np.ndarray, retain: bool, width: int,
    seed: int | Sequence[int], sigma: float = 1.0,
) -> np.ndarray:  # fmt: skip
    """What one draw multiplies the embedding output by: float32 (tokens, width), 1 outside `positions`.

    a: (tokens,) in [0, 1]; λ is 1 − a for retaining elements and a for removing them. bernoulli:
    e ~ Ber(1 − λ), the paper's soft erasure (Eq. 3). gaussian_scores: 1 + γλ, γ ~ N(0, σ²) (Eq. 7).
    gaussian_noise: 1 + γ, γ ~ N(0, λ) (Eq. 8). The random numbers depend on `seed` alone, so that all
    attributions of a text meet the same ones.
    """
    noise = (1 - a if retain else a).astype(np.float32)[:, None]  # λ, (tokens, 1)
    draw, positions = partial(_drawn, tuple(np.atleast_1d(seed).tolist()), len(a), width), positions[:, None]
    if perturbation == "bernoulli":
        u = draw("random")  # in [0, 1)
        drawn = u < np.where(positions, 1 - noise, 1) if retain else u >= np.where(positions, noise, 0)
        return drawn.astype(np.float32)
    z = draw("standard_normal")
    drawn = 1 + z * (sigma * noise if perturbation == "gaussian_scores" else np.sqrt(noise))
    return np.where(positions, drawn, np.float32(1))


@lru_cache(maxsize=32)  # a text's attributions follow each other, and meet the same draws
def _drawn(seed, tokens, width, distribution):
    return getattr(np.random.default_rng(seed), distribution)((tokens, width), dtype=np.float32)


def attention_weight(a, maskable, retain):
    """The continuous attention mask of appendix C: a (retaining) or 1 − a (removing), 1 elsewhere."""
    return np.where(maskable, a if retain else 1 - a, 1.0)


def _minmax(x):
    with np.errstate(invalid="ignore", divide="ignore"):
        return (x - x.min()) / (x.max() - x.min())


# The driver ---------------------------------------------------------------------------------------


RULES = options.PARAMETERS | {
    **dict.fromkeys(("ratios", "curve_ratios"), options.Each(options.SHARE)),
    "sigma": options.Number(),
    "erasures": options.Each(options.Of(ERASURES)),
    "definition": options.Of(options.DEFINITIONS),
    "probability": options.Of(NORMALISING),
    "removal": options.Of(REMOVALS),
}


@dataclass(frozen=True)
class Settings:
    """What is measured; every field is checked on construction, before any work.

    Attributes:
        ratios, curve_ratios: of hard erasure, those that the AOPC averages, and others for the curves, of all
            but the matched baseline.
        soft_draws, random_draws: perturbations averaged for one value, draws of each random baseline.
        perturbations: of PERTURBATIONS.
        definition: "paper", or "released", which has ratios, probability and removal of its own, one draw of
            each kind and bernoulli alone.
        erasures: of ERASURES, which metrics are measured.
        probability: from scores to probabilities, of NORMALISING.
        removal: what a token becomes under hard erasure, of REMOVALS.
        special_tokens: whether soft erasure reaches them, with the probability 0, as in the release.
        sigma: the noise scale of Eq. 7.
        seed: of all random streams.
    """

    ratios: tuple = erasure.RATIOS
    curve_ratios: tuple = ()
    soft_draws: int = 3
    random_draws: int = 3
    perturbations: tuple = ("bernoulli",)
    definition: str = "paper"
    erasures: tuple = ERASURES
    probability: str = "minmax"
    removal: str = "zero"
    special_tokens: bool = False
    sigma: float = 1.0
    seed: int = 0

    def __post_init__(self):
        for name in ("ratios", "perturbations", "erasures"):
            if not getattr(self, name):
                raise ValueError(f"{name}=[] leaves nothing to measure: give at least one")
        options.check(vars(self), RULES)


def draw_counts(draws):
    """The numbers of draws at which the mean is kept: 1, 2, 4, 8 and 16 below `draws`, and `draws`.

    Example:
        >>> draw_counts(16), draw_counts(3)
        ((1, 2, 4, 8, 16), (1, 2, 3))
    """
    return (*(n for n in DRAW_COUNTS if n < draws), draws)


def values(
    classifier: Any, encodings: Sequence, targets: Sequence[int] | np.ndarray, scores: Mapping[str, Sequence],
    plan: Settings, examples: Sequence[int] | np.ndarray | None = None, cache: forward.Cache | None = None,
) -> pd.DataFrame:  # fmt: skip
    """NS, NC, Soft-NS and Soft-NC of every attribution and of its random baselines, example by example.

    Args:
        targets: (examples,) int, the classes whose probability is followed.
        scores: {attribution: [scores (tokens,) of each encoding]}.
        examples: (examples,) int, names of the texts, to which random draws belong; 0, 1, … by default.

    Returns:
        DataFrame, a row a value: COLUMNS (baseline "" for the attribution itself, ratio NaN for soft
        metrics), draws (perturbations averaged, 0 for hard metrics; a row for each of `draw_counts`), raw (S
        or C; with definition "released" NS or NC as clipped there) and denominator (1 − S0).
    """
    examples = np.arange(len(encodings)) if examples is None else np.asarray(examples)
    keys, of, variants = collected(
        ((i, *key), erased)
        for i, encoding in enumerate(encodings)
        for key, erased in _rows(
            classifier, encoding, {n: s[i] for n, s in scores.items()}, plan, examples[i]
        )
    )
    reference = [v for e in encodings for v in (forward.unchanged(e), _nothing(classifier, e, plan))]
    table = pd.DataFrame(keys, columns=COLUMNS)
    place = table.example.to_numpy()  # (rows,)
    targets = np.asarray(targets)[np.concatenate([np.repeat(np.arange(len(encodings)), 2), place[of]])]
    p = forward.target_values(classifier, reference + variants, targets, "probability", cache)
    p_full, p_zero = p[: len(reference)].reshape(-1, 2).T  # (examples,) each
    kept, full, p = table.metric.str.endswith("NS").to_numpy(), p_full[place[of]], p[len(reference) :]
    raw = np.where(kept[of], erasure.sufficiency(full, p), erasure.comprehensiveness(full, p))
    parts = enumerate(np.split(raw, np.flatnonzero(np.diff(of)) + 1))
    means = [(row, n, part[:n].mean()) for row, part in parts for n in draw_counts(len(part))]
    row, draws, raw = (np.array(column) for column in zip(*means, strict=True))
    table, kept, soft = table.iloc[row], kept[row], (table.perturbation != "hard").to_numpy()[row]
    s_zero = erasure.sufficiency(p_full, p_zero)[place[row]]
    if plan.definition == "released":
        raw = np.where(kept, *erasure.released_normalisation(raw, raw, s_zero, nc_first=soft))
    return table.assign(
        example=examples[place[row]].astype(np.int32),
        draw=table.draw.astype(np.int16),
        ratio=table.ratio.astype(np.float32),
        draws=np.where(soft, draws, 0).astype(np.int16),
        raw=raw.astype(np.float32),
        denominator=(1 - s_zero).astype(np.float32),
    ).reset_index(drop=True)


def soft_variants(
    encoding: Any, a: np.ndarray, positions: np.ndarray, retain: bool, width: int, seeds: Sequence,
    perturbation: str = "bernoulli", sigma: float = 1.0, shared: bool = False,
) -> list:  # fmt: skip
    """Softly perturbed variants of one input, one for each seed, by `factor`; a cache holds `shared` ones."""
    if perturbation == "attention":  # nothing random about it: one variant
        weight = attention_weight(a, positions, retain)
        return [forward.Variant(encoding, weight=weight, key=weight.tobytes())]
    draw = partial(factor, perturbation, a, positions, retain, width, sigma=sigma)
    drawn = f"{perturbation} {retain} {sigma}".encode() + a.tobytes() + positions.tobytes()
    keys = [drawn + repr(seed).encode() if shared else None for seed in seeds]
    pairs = zip(seeds, keys, strict=True)
    return [forward.Variant(encoding, factor=partial(draw, seed=seed), key=key) for seed, key in pairs]


def softly_erased(inputs, scores, draws, keep, how):
    """The texts under soft erasure by the study's operator: [Variant], `draws` of each text.

    By token, a whole token is erased where a draw would erase an element; of "resample" draw d takes text d.
    """
    operator, variants = inputs.erasing("zero", soft=True), []
    for i, (e, s) in enumerate(zip(inputs.encodings, scores, strict=True)):
        a, positions, seeds = to_probability(s, e.maskable, how), e.maskable, inputs.seeds(i, draws)
        if operator.by == "element":
            width = inputs.model.factor_width
            variants += soft_variants(e, a, positions, keep, width, seeds, shared=True)
            continue
        for draw, seed in enumerate(seeds):
            erased = factor("bernoulli", a, positions, keep, 1, seed)[:, 0] == 0
            variants.append(operator.variant(e, erased, draw))
    return variants


def collected(rows):
    """(keys, the place of each variant's key (variants,) int, variants) of [(key, its variants)]."""
    keys, of, variants = [], [], []
    for key, group in rows:
        of += [len(keys)] * len(group)
        keys.append(key)
        variants += group
    return keys, np.array(of, int), variants


def _rows(model, encoding, scores, plan, example):
    """(key, the variants whose outputs its value averages) of one text; a key is COLUMNS but the first."""
    for source, s in _sources(encoding, scores, plan, int(example)).items():
        if "hard" in plan.erasures:
            yield from _hard(model, encoding, s, plan, (*source, plan.definition, "hard"))
        if "soft" in plan.erasures:
            yield from _soft(model, encoding, s, plan, int(example), (*source, plan.definition))


def _sources(encoding, scores, plan, example):
    """{(attribution, baseline, draw): scores}: the attributions and what they are compared with."""
    sources, named = {(name, "", 0): s for name, s in scores.items()}, (plan.seed, example)
    for draw in range(1 if plan.definition == "released" else plan.random_draws):
        sources["random", "normal", draw] = normal(encoding, stream("normal", *named, draw))
        for name, s in scores.items():
            sources[name, "matched", draw] = permuted(s, encoding, stream("matched", name, *named, draw))
    return sources


def _hard(model, encoding, scores, plan, key):
    maskable = encoding.maskable
    ratios = (*plan.ratios, *(() if key[1] == "matched" else plan.curve_ratios))
    for ratio in erasure.RELEASED_RATIOS if plan.definition == "released" else ratios:
        chosen = erasure.rationale(scores, maskable, ratio, plan.definition)
        yield (*key, "NS", ratio), [_erased(model, encoding, maskable & ~chosen, plan)]
        yield (*key, "NC", ratio), [_erased(model, encoding, chosen, plan)]


def _erased(model, encoding, erased, plan):
    if plan.definition == "released":
        return forward.replaced(encoding, erased, 0)
    return forward.erased(model, encoding, erased, plan.removal)


def _nothing(model, encoding, plan):
    """The input of S0: every maskable token erased; as released id 0 everywhere but in text_b."""
    released = plan.definition == "released"
    return _erased(model, encoding, ~encoding.auxiliary if released else encoding.maskable, plan)


def _soft(model, encoding, scores, plan, example, key):
    """As released, masks reach special tokens, run in the inverted direction, and are drawn once."""
    maskable, straight = encoding.maskable, plan.definition == "paper"
    draws, perturbations = plan.soft_draws, plan.perturbations
    if straight:
        ns = nc = to_probability(scores, maskable, plan.probability)
        positions = ~encoding.auxiliary if plan.special_tokens else maskable
    else:
        ns, nc = (released_probability(scores, maskable, option) for option in (1, 5))
        positions, draws, perturbations = np.ones(len(maskable), bool), 1, ("bernoulli",)
    seeds = [[SOFT_DRAWS, plan.seed, example, draw] for draw in range(draws)]
    vary = partial(soft_variants, encoding, positions=positions, width=model.factor_width, seeds=seeds)
    for kind in perturbations:
        for metric, a, retain in (("Soft-NS", ns, straight), ("Soft-NC", nc, not straight)):
            variants = vary(a, retain=retain, perturbation=kind, sigma=plan.sigma, shared=True)
            yield (*key, kind, metric, np.nan), variants


# Registered metrics -------------------------------------------------------------------------------


def _of_classes(inputs, variants, draws, keep):
    """Values of classes: `erasure.normalised` of the target's probability."""
    examples = np.repeat(np.arange(len(inputs.encodings)), draws)
    p = inputs.target_probabilities(variants, examples).reshape(-1, draws).T  # (draws, examples)
    return erasure.normalised(inputs, p, keep, soft=True)


def of_attribution(inputs, scores, draws=3, keep=True, how="minmax", values=_of_classes):
    """Soft-NS (keep) or Soft-NC of one attribution: (examples,), higher is better.

    Args:
        inputs: `metrics.inputs.Inputs`; scores: [(tokens,)] of one attribution.
        draws: Bernoulli draws averaged; all attributions meet the same ones.
        how: how scores become probabilities, of OPTIONS.
        values: (inputs, variants, draws, keep) -> (examples,), from the outputs of `draws` variants a text.
    """
    return values(inputs, softly_erased(inputs, scores, draws, keep, how), draws, keep)


def soft_ns(inputs, scores, draws=3):
    """Soft-NS: tokens are kept as far as they are important; (examples,) in (−∞, 1], higher is better.

    Bernoulli draws are averaged, the same for all attributions; NaN where 1 − S0 is below `erasure.LEAST`.
    """
    return of_attribution(inputs, scores, draws)


def soft_nc(inputs, scores, draws=3):
    """Soft-NC: tokens are removed as far as they are important; as `soft_ns`, values from 0 on."""
    return of_attribution(inputs, scores, draws, keep=False)


def equal_soft_ns(inputs, scores, draws=3):
    """`soft_ns` where every attribution keeps half of the tokens in expectation (`equal_retention`)."""
    return of_attribution(inputs, scores, draws, how="equal")


def equal_soft_nc(inputs, scores, draws=3):
    """`soft_nc` where every attribution removes half of the tokens in expectation (`equal_retention`)."""
    return of_attribution(inputs, scores, draws, keep=False, how="equal")
