"""Soft sufficiency and comprehensiveness of classifiers, beside the hard ones (Zhao & Aletras 2023).

First how scores become probabilities and the random perturbations that they steer; then the driver, `values`:
scores of attributions in, faithfulness per example out.
"""

from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
import pandas as pd

from faithlib import forward
from faithlib.metrics import erasure
from faithlib.scores import DEFINITIONS, normal, permuted

OPTIONS = ("minmax", "sigmoid", "softmax", "raw", "clip", "equal")
PERTURBATIONS = ("bernoulli", "gaussian_scores", "gaussian_noise", "attention")
NORMALISING = ("minmax", "sigmoid", "softmax", "equal")  # raw scores will not do: N(0, 1) ones leave [0, 1]
COLUMNS = ("example", "attribution", "baseline", "draw", "definition", "perturbation", "metric", "ratio")


def to_probability(scores, maskable, how="minmax"):
    """Scores (tokens,) to the a of Eq. 3, in [0, 1] on maskable tokens and 0 elsewhere.

    The paper takes a for a probability and is silent on how scores, which may be negative or tiny,
    become one; the choice decides what soft metrics measure.
    minmax: (s − min) / (max − min) over the maskable tokens, ½ where all are equal: ranking and relative
    distances stay, the scale goes. sigmoid: 1 / (1 + e^−s). softmax: sums to 1 over the maskable tokens.
    raw: the scores themselves, which must lie in [0, 1]. clip: min(max(s, 0), 1), so that what is negative is
    never kept and what is above 1 always, as in the release of Noiser; the scale stays. equal: min-max, then
    `equal_retention`, so that every attribution keeps half of the tokens in expectation.
    Raises ValueError for another name, for raw scores outside [0, 1] and for scores that are not finite.
    """
    s = np.asarray(scores, float)[maskable]
    if not np.isfinite(s).all():
        raise ValueError("scores hold NaN or infinite values: a probability needs finite ones")
    if how == "minmax":
        span = s.max() - s.min()
        a = (s - s.min()) / span if span > 0 else np.full(len(s), 0.5)
    elif how == "sigmoid":
        a = _sigmoid(s)
    elif how == "softmax":
        a = _softmax(s)
    elif how == "raw":
        if s.min() < 0 or s.max() > 1:
            raise ValueError(
                f"raw scores run from {s.min():.3g} to {s.max():.3g}: use them only in [0, 1], "
                "or choose minmax, sigmoid, softmax or clip"
            )
        a = s
    elif how == "clip":
        a = s.clip(0, 1)
    elif how == "equal":
        a = equal_retention(to_probability(scores, maskable)[maskable])
    else:
        raise ValueError(f"score-to-probability {how!r} is unknown: use one of {', '.join(OPTIONS)}")
    probability = np.zeros(len(maskable))
    probability[maskable] = a
    return probability


def equal_retention(a, share=0.5):
    """Shift and clip min(max(a + b, 0), 1), with the b that gives the mean `share`: (n,) in [0, 1].

    Monotone in a; after Huang & Chan 2026 (arXiv 2601.03089), who give every attribution the same expected
    share of retained tokens. The paper's map is not restated in its abstract; shift and clip is our choice.

    Args:
        a: (n,) in [0, 1].
        share: the mean of the result, in [0, 1].

    Example:
        >>> equal_retention([1, 0, 0, 0]).round(3).tolist()
        [1.0, 0.333, 0.333, 0.333]
    """
    a = np.asarray(a, float)
    shifts = np.unique(np.concatenate([-a, 1 - a]))  # between two of them the mean is linear in b
    means = (a + shifts[:, None]).clip(0, 1).mean(1)
    means, first = np.unique(means, return_index=True)
    return (a + np.interp(share, means, shifts[first])).clip(0, 1)


def released_probability(scores, maskable, option):
    """The release's options 0 to 7, over the whole row, with −∞ at positions that are not maskable.

    Soft-NS was published with option 1 (sigmoid of the score), Soft-NC with option 5 (those positions
    set to −1, then min-max over the row). Options 2 and 4 set them to −10 and −3; 3 is a softmax, 6 a
    sigmoid and then min-max, 7 what 5 gives and then a sigmoid; 0 leaves the scores. A row of equal
    values gives NaN under 2, 4, 5, 6 and 7. float32, as released.
    """
    s = np.where(maskable, scores, -np.inf).astype(np.float32)
    if option == 0:
        return s
    if option == 1:
        return _sigmoid(s)
    if option in (2, 4, 5):
        floor = {2: -10, 4: -3, 5: -1}[option]
        return _minmax(np.where(np.isinf(s), np.float32(floor), s))
    if option == 3:
        return _softmax(s)
    if option == 6:
        return _minmax(_sigmoid(s))
    if option == 7:
        return _sigmoid(_minmax(np.where(np.isinf(s), np.float32(-1), s)))
    raise ValueError(f"option {option!r} is unknown: the release has 0 to 7")


def factor(perturbation, a, where, retain, width, seed, sigma=1.0):
    """What one draw multiplies the embedding output by: float32 (tokens, width), 1 outside `where`.

    a: (tokens,) in [0, 1]; λ below is 1 − a for retaining elements and a for removing them.
    bernoulli: e ~ Ber(1 − λ), the paper's soft erasure (Eq. 3). gaussian_scores: 1 + γλ, γ ~ N(0, σ²)
    (Eq. 7). gaussian_noise: 1 + γ, γ ~ N(0, λ) (Eq. 8). The random numbers depend on `seed` alone, so
    that two attributions compared on one text meet the same ones: what is left of their difference is
    theirs.
    """
    generator, shape = np.random.default_rng(seed), (len(a), width)
    noise = (1 - a if retain else a).astype(np.float32)[:, None]  # λ, (tokens, 1)
    if perturbation == "bernoulli":
        u = generator.random(shape, dtype=np.float32)
        drawn = u < 1 - noise if retain else u >= noise
    else:
        z = generator.standard_normal(shape, dtype=np.float32)
        drawn = 1 + z * (sigma * noise if perturbation == "gaussian_scores" else np.sqrt(noise))
    return np.where(where[:, None], drawn, np.float32(1))


def attention_weight(a, maskable, retain):
    """The continuous attention mask of appendix C: a (retaining) or 1 − a (removing), 1 elsewhere."""
    return np.where(maskable, a if retain else 1 - a, 1.0)


def _sigmoid(x):
    return 1 / (1 + np.exp(-np.clip(x, -80, 80))) * ~np.isneginf(x)


def _softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def _minmax(x):
    with np.errstate(invalid="ignore", divide="ignore"):
        return (x - x.min()) / (x.max() - x.min())


# The driver ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """What is measured; every field is checked on construction, before any work.

    ratios enter the AOPC; curve_ratios are measured beside them for the curves, without the matched
    baseline. soft_draws: perturbations averaged for one value; random_draws: draws of each baseline
    (definition "released" takes one of both). sigma: noise scale of Eq. 7.
    """

    ratios: tuple = erasure.RATIOS
    curve_ratios: tuple = ()
    soft_draws: int = 3
    random_draws: int = 3
    perturbations: tuple = ("bernoulli",)
    definitions: tuple = DEFINITIONS
    probability: str = "minmax"
    sigma: float = 1.0
    seed: int = 0

    def __post_init__(self):
        for ratio in (*self.ratios, *self.curve_ratios):
            if not 0 < ratio <= 1:
                raise ValueError(f"ratio {ratio} is outside (0, 1]: give fractions of tokens, such as 0.2")
        for name in ("ratios", "perturbations", "definitions"):
            if not getattr(self, name):
                raise ValueError(f"{name}=[] leaves nothing to measure: give at least one")
        for name in ("soft_draws", "random_draws"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1")
        for field, known in (("perturbations", PERTURBATIONS), ("definitions", DEFINITIONS)):
            for value in getattr(self, field):
                if value not in known:
                    raise ValueError(f"{field}: {value!r} is unknown, use {', '.join(known)}")
        if self.probability not in NORMALISING:
            raise ValueError(f"probability={self.probability!r} is unknown, use {', '.join(NORMALISING)}")

    def as_dict(self):
        """The plan as plain values, for the record."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


def values(classifier, encodings, targets, scores, plan, first=0, cache=None):
    """NS, NC, Soft-NS and Soft-NC of every attribution and of its baselines, example by example.

    scores: {attribution: [scores (tokens,) of each encoding]}; targets: the predicted classes, (examples,)
    int. `first` is the index of the first example in its split: random draws belong to an example, not to
    a batch. cache: a forward.Cache shared with attributions or other metrics. Returns a DataFrame, one row
    a value: COLUMNS, `raw` (S or C before normalisation; with definition "released" the clipped value),
    `denominator` (1 − S0) and `value` (normalised).
    """
    rows = _Rows(plan, classifier.factor_width)
    for i, encoding in enumerate(encodings):
        rows.add_example(i, encoding, {name: s[i] for name, s in scores.items()}, seed=first + i)
    reference = [
        v
        for e in encodings
        for v in (forward.unchanged(e), forward.zeroed(e, e.maskable), forward.replaced(e, ~e.auxiliary, 0))
    ]
    p = forward.probabilities(classifier, reference + rows.variants, cache)  # (variants, classes)
    p_full, *p_zero = (
        p[: len(reference)].reshape(len(encodings), 3, -1)[np.arange(len(encodings)), :, targets].T
    )  # by zero embeddings, by zero ids: (examples,) each
    table, row = pd.DataFrame(rows.keys, columns=COLUMNS), np.array(rows.row)
    example, kept = table.example.to_numpy(), table.metric.str.endswith("NS").to_numpy()
    p = p[len(reference) :][np.arange(len(row)), np.asarray(targets)[example[row]]]  # (variants,)
    s = erasure.sufficiency(p_full[example[row]], p)
    c = erasure.comprehensiveness(p_full[example[row]], p)
    raw = np.bincount(row, np.where(kept[row], s, c)) / np.bincount(row)  # mean over draws, (rows,)
    released = (table.definition == "released").to_numpy()
    s_zero = erasure.sufficiency(p_full, np.stack(p_zero))[released.astype(int), example]
    value = np.where(
        kept, erasure.normalised_sufficiency(raw, s_zero), erasure.normalised_comprehensiveness(raw, s_zero)
    )
    clipped = np.where(kept, *erasure.released_normalisation(raw, raw, s_zero))
    return table.assign(
        example=(example + first).astype(np.int32),
        draw=table.draw.astype(np.int16),
        ratio=table.ratio.astype(np.float32),
        raw=np.where(released, clipped, raw).astype(np.float32),
        denominator=(1 - s_zero).astype(np.float32),
        value=np.where(released, clipped, value).astype(np.float32),
    )


def soft_variants(
    encoding, a, where, retain, width, seeds, perturbation="bernoulli", sigma=1.0, shared=False
):
    """Softly perturbed variants of one input, one for each seed: see `factor`.

    shared: whether equal draws are one input, which a cache then holds.
    """
    if perturbation == "attention":  # nothing random about it: one variant
        weight = attention_weight(a, where, retain)
        return [forward.Variant(encoding, weight=weight, key=weight.tobytes())]
    draw = partial(factor, perturbation, a, where, retain, width, sigma=sigma)
    drawn = f"{perturbation} {retain} {sigma}".encode() + a.tobytes() + where.tobytes()
    keys = [drawn + repr(seed).encode() if shared else None for seed in seeds]
    return [
        forward.Variant(encoding, factor=partial(draw, seed=seed), key=key)
        for seed, key in zip(seeds, keys, strict=True)
    ]


def soft_ns(inputs, scores, draws=3):
    """Soft-NS: tokens are kept as far as they are important; (examples,), higher is better.

    Args:
        inputs: `metrics.inputs.Inputs`; scores: [(tokens,)] of one attribution.
        draws: Bernoulli draws averaged; all attributions meet the same ones.

    Returns:
        (examples,) float in (−∞, 1]; NaN where 1 − S0 is below `erasure.LEAST`.
    """
    return of_attribution(inputs, scores, draws, keep=True)


def soft_nc(inputs, scores, draws=3):
    """Soft-NC: tokens are removed as far as they are important; as `soft_ns`, values from 0 on."""
    return of_attribution(inputs, scores, draws, keep=False)


def of_attribution(inputs, scores, draws, keep, how="minmax"):
    """Soft-NS (keep) or Soft-NC of one attribution, with scores made probabilities by `how`: (examples,)."""
    width, variants = inputs.model.factor_width, []
    for i, (e, s) in enumerate(zip(inputs.encodings, scores, strict=True)):
        a = to_probability(s, e.maskable, how)
        variants += soft_variants(e, a, e.maskable, keep, width, inputs.seeds(i, draws), shared=True)
    examples = np.repeat(np.arange(len(scores)), draws)
    p = inputs.target_probabilities(variants, examples).reshape(-1, draws).T  # (draws, examples)
    return erasure.normalised(inputs, p, keep)


class _Rows:
    """The rows of the result, and the variants of the input whose outputs each of them averages."""

    def __init__(self, plan, width):
        self.plan, self.width = plan, width
        self.keys, self.row, self.variants = [], [], []

    def add_example(self, i, encoding, scores, seed):
        sources = self._sources(encoding, scores, seed)
        for (name, baseline, draw), s in sources.items():
            if "paper" in self.plan.definitions:
                self._paper((i, name, baseline, draw, "paper"), encoding, s, seed)
            if "released" in self.plan.definitions and draw == 0:
                self._released((i, name, baseline, draw, "released"), encoding, s, seed)

    def _sources(self, encoding, scores, seed):
        """{(attribution, baseline, draw): scores}: the attributions and what they are compared with."""
        sources = {(name, "", 0): s for name, s in scores.items()}
        for draw in range(self.plan.random_draws):
            generator = np.random.default_rng([self.plan.seed, seed, draw])
            sources["random", "normal", draw] = normal(encoding, generator)
            for name, s in scores.items():
                sources[name, "matched", draw] = permuted(s, encoding, generator)
        return sources

    def _paper(self, key, encoding, scores, seed):
        """Erased tokens are zero vectors, hard erasure is soft erasure with a in {0, 1}."""
        plan, maskable, baseline = self.plan, encoding.maskable, key[2]
        for ratio in (*plan.ratios, *(() if baseline == "matched" else plan.curve_ratios)):
            chosen = erasure.rationale(scores, maskable, ratio)
            self._add((*key, "hard", "NS", ratio), [forward.zeroed(encoding, maskable & ~chosen)])
            self._add((*key, "hard", "NC", ratio), [forward.zeroed(encoding, chosen)])
        a = to_probability(scores, maskable, plan.probability)
        for perturbation in plan.perturbations:
            for metric, retain in (("Soft-NS", True), ("Soft-NC", False)):
                variants = self._soft(encoding, a, maskable, retain, perturbation, seed, plan.soft_draws)
                self._add((*key, perturbation, metric, np.nan), variants)

    def _released(self, key, encoding, scores, seed):
        """Erased tokens are id 0; soft masks reach special tokens and run in the inverted direction."""
        maskable, everywhere = encoding.maskable, np.ones(len(encoding.ids), bool)
        for ratio in erasure.RELEASED_RATIOS:
            chosen = erasure.rationale(scores, maskable, ratio, "released")
            self._add((*key, "hard", "NS", ratio), [forward.replaced(encoding, maskable & ~chosen, 0)])
            self._add((*key, "hard", "NC", ratio), [forward.replaced(encoding, chosen, 0)])
        for metric, option, retain in (("Soft-NS", 1, False), ("Soft-NC", 5, True)):
            a = released_probability(scores, maskable, option)
            variants = self._soft(encoding, a, everywhere, retain, "bernoulli", seed, draws=1)
            self._add((*key, "bernoulli", metric, np.nan), variants)

    def _soft(self, encoding, a, where, retain, perturbation, seed, draws):
        seeds = [[self.plan.seed, seed, d] for d in range(draws)]
        return soft_variants(encoding, a, where, retain, self.width, seeds, perturbation, self.plan.sigma)

    def _add(self, key, variants):
        self.row += [len(self.keys)] * len(variants)
        self.variants += variants
        self.keys.append(key)
