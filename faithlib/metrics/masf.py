"""MaSF: is an input like those a model knows? Max over tokens, Simes over the width, Fisher over layers.

Every embedding is ranked among those of a reference, the validation split masked as in training; the p-values
of the ranks are combined, and ranked again. Madsen et al. 2024, Algorithm 2, after Haroush et al. 2022. The
null hypothesis is that an input is in distribution; for a single masking ratio p need not be uniform.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from scipy import stats

from faithlib.engine import batching
from faithlib.models.placement import without_gradients
from faithlib.progress import bar
from faithlib.scores import one_of

DEFINITIONS = ("paper", "released", "calibrated")
TINY = 1e-8  # in the logarithm, as released: a p of 0 counts 37 and not infinitely much
DIGITS = 9  # values that differ by less are equal, and parted by rounding only
DRAWS = 999  # of the null distribution of a calibrated p of a data set


@dataclass(frozen=True)
class Stages:
    """Algorithm 2 step by step, for M examples; all but z3 in [0, 1]."""

    p1: np.ndarray  # (M, layers, width), two-sided p of each embedding's maximum
    z2: np.ndarray  # (M, layers), Simes over the width
    p2: np.ndarray  # (M, layers), two-sided p of z2
    z3: np.ndarray  # (M,), Fisher over layers
    p: np.ndarray  # (M,), p of a z3 that large


@without_gradients
def signals(model: Any, encodings: Sequence) -> np.ndarray:
    """Maximum of each embedding over the sequence, z1 = max_t e_lht: (examples, layers, width) float32.

    Of all tokens, special ones, mask tokens and `text_b` too, in the embedding output and every layer's
    output, behind its layer norm: L + 1 layers. The same to 1e-5 whatever the batch size; equal inputs are
    computed once.
    Raises ValueError for no encodings, an example that is empty or too long and a model whose layers are not
    all of one width, FloatingPointError for hidden states that are not finite.
    """
    if not encodings:
        raise ValueError("no encodings: there is nothing to take the maximum of")
    model.check(encodings)
    model.model.eval()
    first: dict = {}  # input -> its first example
    rows_of = [first.setdefault((e.ids.tobytes(), e.types.tobytes()), i) for i, e in enumerate(encodings)]
    missing, maxima = list(first.values()), np.empty(0, np.float32)

    def compute(rows):
        batch = model.collate([encodings[i] for i in rows])
        states = model.hidden_states(batch)
        if len(widths := {state.shape[-1] for state in states}) > 1:
            raise ValueError(
                f"{model.name} has layers of widths {', '.join(map(str, sorted(widths)))}: MaSF "
                "needs one width, as a transformer's"
            )
        absent = ~batch.present[..., None]  # (batch, tokens, 1)
        return torch.stack([state.masked_fill(absent, -torch.inf).amax(1) for state in states], 1).float()

    lengths = [len(encodings[i].ids) for i in missing]
    with bar(len(missing), "hidden states", "text") as progress:
        for part in batching.batches_by_length(lengths, batching.token_budget(model)):
            rows = [missing[k] for k in part]
            pieces = batching.halving(model, compute, rows, lengths[part[0]])
            values = torch.cat(pieces).cpu().numpy()  # (batch, layers, width)
            if not np.isfinite(values).all():
                raise FloatingPointError("NaN or infinite hidden states: the weights of the model are broken")
            if not maxima.size:
                maxima = np.empty((len(encodings), *values.shape[1:]), np.float32)
            maxima[rows] = values
            progress.update(len(rows))
    return maxima[rows_of]


def simes(p):
    """Simes's p of all hypotheses, min_i q_i · N / i of the ascending q: (..., N) -> (...) in [0, 1]."""
    p = np.asarray(p)
    weights = (p.shape[-1] / np.arange(1, p.shape[-1] + 1)).astype(p.dtype)  # first, as the release does
    return (np.sort(p) * weights).min(-1)


def fisher(p):
    """Fisher's statistic −2 Σ_i log p_i: (..., N) -> (...), the larger the smaller the p-values.

    As released 1e-8 is added to each p: the paper does not say what the logarithm of 0 is.
    """
    p = np.asarray(p)
    return -2 * np.log(p + p.dtype.type(TINY)).sum(-1)


def fit(reference: np.ndarray, definition: str = "paper", resolution: float = 0.05, seed: int = 0) -> "MaSF":
    """The empirical CDFs of all steps (Algorithm 2): a `MaSF` with `p_values`, `stages` and `dataset_p`.

    reference: `signals` of the masked validation split, (N, layers, width).
    "paper": P(Z < z) is the share of the reference strictly below z, as Eq. 2 has it, and p = min(P, 1 − P),
    without a factor 2. The reference is ranked among itself. Values that are equal on paper are equal here.
    p is 0 for what lies outside the reference, and where many share the lowest value of an embedding, as in
    the embedding output, where CLS, the same in all texts, often is the maximum.
    "released": the same in float32 and in the release's order of operations, so that rounding parts ties.
    "calibrated": p is uniform for new examples of the reference's kind, and never 0. A random half of the
    reference (`seed`) gives the CDFs of the first two steps, in which ties count half and its own examples
    are ranked among the others. The n examples of the other half pass through them as new ones do, and
    p = (1 + how many of them have a z3 as large) / (n + 1), as in conformal prediction.
    resolution: the p that a single example must be able to reach. Raises ValueError for another definition,
    a reference too small for it or not of three axes, NaN, and a layer that is constant. Warns of single
    embeddings that are: Eq. 2 makes their p 0 for all, and with it their layer's ("calibrated": a large p).
    """
    one_of("definition", definition, DEFINITIONS)
    if not 0 < resolution < 1:
        raise ValueError(f"resolution={resolution!r} must be in (0, 1), such as 0.05")
    reference = _checked("the reference", reference)
    n = len(reference) if definition != "calibrated" else len(reference) - len(reference) // 2 + 1
    if n * resolution < 1 - 1e-9 or len(reference) < 2:
        raise ValueError(
            f"a reference of {len(reference)} gives {definition} p-values of at least {1 / n:.3g}, above "
            f"resolution={resolution:.3g}: give a larger reference"
        )
    _check_constant(reference, definition)
    return MaSF(reference, definition, seed)


class MaSF:
    """Algorithm 2 with its CDFs, made by `fit`. calibration: how many examples the last CDF is of."""

    def __init__(self, reference, definition, seed):
        self.definition, ranking, calibrating = definition, reference, reference
        if definition == "calibrated":
            order, half = np.random.default_rng(seed).permutation(len(reference)), len(reference) // 2
            ranking, calibrating = reference[order[:half]], reference[order[half:]]
        self.first = [in_columns(layer) for layer in ranking.swapaxes(0, 1)]  # layers of (width, N)
        z2 = self._simes(ranking, inside=True)
        self.second = in_columns(z2)  # (layers, N)
        if calibrating is not ranking:
            z2 = self._simes(calibrating)
        self.third = np.sort(self._settled(fisher(self._two_sided(z2, self.second))))
        self.calibration = len(calibrating)

    def p_values(self, signals):
        """p of each example, (M, layers, width) -> (M,): small is out of distribution."""
        return self.stages(signals).p

    def stages(self, signals):
        """All steps for M examples, (M, layers, width) -> `Stages`; ValueError for NaN and another shape."""
        signals = _checked("signals", signals)
        if signals.shape[1:] != (shape := (len(self.first), len(self.first[0]))):
            raise ValueError(
                f"signals of {signals.shape[1:]} (layers, width), a reference of {shape}: "
                "take both from one model"
            )
        p1 = np.stack([self._two_sided(signals[:, k], layer) for k, layer in enumerate(self.first)], 1)
        z2 = self._settled(simes(p1))
        p2 = self._two_sided(z2, self.second)
        z3 = self._settled(fisher(p2))
        lower, n = np.searchsorted(self.third, z3), self.calibration
        if self.definition == "released":
            p = 1 - lower.astype(np.float32) / np.float32(n)
        else:
            p = (n - lower) / n if self.definition == "paper" else (1 + n - lower) / (1 + n)
        return Stages(p1, z2, p2, z3, p)

    def dataset_p(self, p, seed=0, combination="simes") -> float:
        """p of a whole data set from those of its examples, p (M,) in [0, 1].

        "paper", "released": `simes`, 0 where one example has 0; or Fisher's, the p of `fisher` by χ², in the
        release by its lower tail. "calibrated": where the combination is among those of M new examples of the
        reference's kind, (more extreme ones + u · (1 + equal ones)) / (1 + draws), uniform for such a data
        set; Simes alone is not, as the p-values share one reference. seed: of u, in [0, 1). combination:
        "simes" or "fisher". Raises ValueError for another one, and for p that are none.
        """
        one_of("combination", combination, COMBINATIONS)
        p = np.asarray(p)
        if p.ndim != 1 or not len(p) or not ((p >= 0) & (p <= 1)).all():
            raise ValueError("the p-values of a data set must be in [0, 1], one an example, at least one")
        combined = COMBINATIONS[combination](p)
        if self.definition != "calibrated":
            chi2 = stats.chi2.cdf if self.definition == "released" else stats.chi2.sf
            return float(combined if combination == "simes" else chi2(-combined, 2 * len(p)))
        null = _null(self.calibration, len(p), combination) - combined
        lower, equal = (null < -TINY).sum(), (abs(null) <= TINY).sum()
        return float((lower + np.random.default_rng(seed).random() * (1 + equal)) / (1 + DRAWS))

    def _simes(self, signals, inside=False):
        """z2 (M, layers), one layer after the other: the p-values of all would take too much memory."""
        p = (self._two_sided(signals[:, k], layer, inside) for k, layer in enumerate(self.first))
        return self._settled(np.stack(list(map(simes, p)), 1))

    def _two_sided(self, z, columns, inside=False):
        """min(P, 1 − P) of z (M, columns) among the sorted columns (columns, N); inside: z are among them."""
        lower, n = below(z, columns), columns.shape[1]
        if self.definition == "released":
            share = lower.astype(np.float32) / np.float32(n)
            return np.minimum(share, 1 - share)
        if self.definition == "paper":
            return np.minimum(lower, n - lower) / n
        others = n - inside
        rank = lower + (below(z, columns, "right") - lower - inside) / 2
        return (1 + np.minimum(rank, others - rank)) / (1 + n)  # n also inside: the least p is the same

    def _settled(self, z):
        return z if self.definition == "released" else z.round(DIGITS)


def in_columns(z):
    """(N, columns) -> (columns, N), each sorted, and in one piece of memory each, to be searched fast."""
    columns = np.empty(z.shape[::-1], z.dtype)
    for start in range(0, len(z), 512):  # rows at a time that fit the cache: all at once takes thrice as long
        columns[:, start : start + 512] = z[start : start + 512].T
    columns.sort()
    return columns


def below(z, columns, side="left"):
    """How many values of each column, of `in_columns`, are below z (M, columns), or "right": not above it."""
    places = np.empty(z.shape, int)
    for column, values, counts in zip(columns, z.T, places.T, strict=True):
        order = values.argsort()  # neighbours are found near one another
        counts[order] = column.searchsorted(values[order], side)
    return places


# The smaller, the more extreme.
COMBINATIONS = {"simes": simes, "fisher": lambda p: -fisher(p)}


@lru_cache
def _null(n, m, combination):
    """Combinations of m conformal p-values of one distribution that share n calibration texts: (DRAWS,)."""
    rng = np.random.default_rng(0)
    lower = (np.searchsorted(np.sort(rng.random(n)), rng.random(m)) for _ in range(DRAWS))
    return np.array([COMBINATIONS[combination]((1 + n - k) / (1 + n)) for k in lower])


def _checked(what, signals):
    signals = np.asarray(signals, np.float32)
    if signals.ndim != 3 or not signals.size:
        raise ValueError(f"{what} must be (examples, layers, width), all above 0, and is {signals.shape}")
    if not np.isfinite(signals).all():
        raise ValueError(
            f"{what}: example {np.argwhere(~np.isfinite(signals))[0][0]} has NaN or infinite "
            "values: repair the model they are of"
        )
    return signals


def _check_constant(reference, definition):
    constant = reference.max(0) == reference.min(0)  # (layers, width)
    if constant.all(1).any():
        raise ValueError(
            f"layer {constant.all(1).argmax()} has the same hidden states in all examples of the reference: "
            "give other examples or another model"
        )
    if constant.any() and definition != "calibrated":
        layer, embedding = np.argwhere(constant)[0]
        warnings.warn(
            f"{constant.sum()} of {constant.size} embeddings are constant in the reference (first: "
            f"{embedding} of layer {layer}): {definition} p-values of such a layer are all 0; "
            "definition='calibrated' handles them",
            stacklevel=3,
        )
