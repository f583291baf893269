"""The driver of the soft-metrics paper: scores of attributions in, faithfulness per example out."""

from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
import pandas as pd

from faithlib import forward
from faithlib.attributions.random import normal, permuted
from faithlib.metrics import erasure, soft

COLUMNS = ("example", "attribution", "baseline", "draw", "definition", "perturbation", "metric", "ratio")
DEFINITIONS = ("paper", "released")
NORMALISING = ("minmax", "sigmoid", "softmax")  # raw scores will not do: N(0, 1) ones leave [0, 1]


@dataclass(frozen=True)
class Plan:
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
        for field, known in (("perturbations", soft.PERTURBATIONS), ("definitions", DEFINITIONS)):
            for value in getattr(self, field):
                if value not in known:
                    raise ValueError(f"{field}: {value!r} is unknown, use {', '.join(known)}")
        if self.probability not in NORMALISING:
            raise ValueError(f"probability={self.probability!r} is unknown, use {', '.join(NORMALISING)}")

    def as_dict(self):
        """The plan as plain values, for the record."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


def measure(classifier, encodings, targets, scores, plan, first=0, cache=None):
    """NS, NC, Soft-NS and Soft-NC of every attribution and of its baselines, example by example.

    scores: {attribution: [scores (tokens,) of each encoding]}; targets: the predicted classes, (examples,)
    int. `first` is the index of the first example in its split: random draws belong to an example, not to
    a batch. cache: a forward.Cache shared with attributions or other metrics. Returns a DataFrame, one row
    a value: COLUMNS, `raw` (S or C before normalisation; with definition "released" the clipped value),
    `denominator` (1 − S0) and `value` (normalised).
    """
    rows = _Rows(plan, classifier.model.config.hidden_size)
    for i, encoding in enumerate(encodings):
        rows.add_example(i, encoding, {name: s[i] for name, s in scores.items()}, seed=first + i)
    reference = [v for e in encodings for v in (
        forward.unchanged(e), forward.zeroed(e, e.maskable), forward.replaced(e, ~e.auxiliary, 0))]
    p = forward.probabilities(classifier, reference + rows.variants, cache)  # (variants, classes)
    p_full, *p_zero = p[: len(reference)].reshape(len(encodings), 3, -1)[
        np.arange(len(encodings)), :, targets].T  # by zero embeddings, by zero ids: (examples,) each
    table, row = pd.DataFrame(rows.keys, columns=COLUMNS), np.array(rows.row)
    example, kept = table.example.to_numpy(), table.metric.str.endswith("NS").to_numpy()
    p = p[len(reference):][np.arange(len(row)), np.asarray(targets)[example[row]]]  # (variants,)
    s = erasure.sufficiency(p_full[example[row]], p)
    c = erasure.comprehensiveness(p_full[example[row]], p)
    raw = np.bincount(row, np.where(kept[row], s, c)) / np.bincount(row)  # mean over draws, (rows,)
    released = (table.definition == "released").to_numpy()
    s_zero = erasure.sufficiency(p_full, np.stack(p_zero))[released.astype(int), example]
    value = np.where(kept, erasure.normalised_sufficiency(raw, s_zero),
                     erasure.normalised_comprehensiveness(raw, s_zero))
    clipped = np.where(kept, *erasure.released_normalisation(raw, raw, s_zero))
    return table.assign(
        example=(example + first).astype(np.int32), draw=table.draw.astype(np.int16),
        ratio=table.ratio.astype(np.float32), raw=np.where(released, clipped, raw).astype(np.float32),
        denominator=(1 - s_zero).astype(np.float32),
        value=np.where(released, clipped, value).astype(np.float32))


def soft_variants(encoding, a, where, retain, width, seeds, perturbation="bernoulli", sigma=1.0):
    """Softly perturbed variants of one input, one for each seed: see `soft.factor`."""
    if perturbation == "attention":  # nothing random about it: one variant
        weight = soft.attention_weight(a, where, retain)
        return [forward.Variant(encoding, weight=weight, key=weight.tobytes())]
    draw = partial(soft.factor, perturbation, a, where, retain, width, sigma=sigma)
    return [forward.Variant(encoding, factor=partial(draw, seed=seed), key=None) for seed in seeds]


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
        a = soft.to_probability(scores, maskable, plan.probability)
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
            a = soft.released_probability(scores, maskable, option)
            variants = self._soft(encoding, a, everywhere, retain, "bernoulli", seed, draws=1)
            self._add((*key, "bernoulli", metric, np.nan), variants)

    def _soft(self, encoding, a, where, retain, perturbation, seed, draws):
        seeds = [[self.plan.seed, seed, d] for d in range(draws)]
        return soft_variants(encoding, a, where, retain, self.width, seeds, perturbation, self.plan.sigma)

    def _add(self, key, variants):
        self.row += [len(self.keys)] * len(variants)
        self.variants += variants
        self.keys.append(key)
