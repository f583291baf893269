"""How well a metric tells better explanations from worse: pairs of known order, scales, nulls, methods."""

import time
import zlib
from collections.abc import Sequence
from functools import partial
from inspect import signature
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata, ttest_rel

from faithlib.attributions.registry import described
from faithlib.metrics import registry
from faithlib.metrics.plausibility import auprc, precision
from notebooks.ground_truth.measure import language
from notebooks.ground_truth.measure.explanations import NULLS, ladders

DRAWS = 16  # of every metric that draws
TIE = 1e-6  # values that differ by less are equal
VOID = 1 / 3  # of a metric's pairs: with more, it is not scored on a mechanism
LEVEL = 0.05  # of the paired t test that orders two attributions by their AUPRC
COUNTS = ["pairs", "right", "ties", "void", "decided", "invariant", "texts"]
KEYS = ["metric", "ladder"]
RELEASED = "released_"  # begins the name of a metric in its released definition
MIRROR = "1 - "  # begins that of a metric with its direction turned
RETRAINED = "roar"  # of a unit's `masking`: RACU by retraining is scored, and nothing else
RUNG = "evidence_rung_"  # begins the name of a ranking that is made again for masked texts
MODELS = {"classifier": "classifier", "causal": "language model"}
MEANS = ["attribution", "metric", "value", "n"]


def metrics(chosen: Sequence[str] = (), draws: int = DRAWS, kind: str = "classifier") -> dict:
    """{metric: (function of inputs and scores, 1 if higher is better, else −1)}.

    Args:
        chosen: names of registered metrics; by default all that a model of this kind with a mask token can
            have.
        draws: of every metric that draws.
        kind: "classifier", or "causal" for a language model.

    Returns:
        Those of `chosen`; by default, of classifiers, also the released Soft-NS and Soft-NC, each a mean over
        draws. NAOPC is not among them: within a text it orders explanations as AOPC does.

    Raises:
        ValueError: an unknown metric, or one that has no value for a single text.

    Example:
        >>> sorted(metrics(["ns", "decision_flip"])), metrics(["decision_flip"])["decision_flip"][1]
        (['decision_flip', 'ns'], -1)
    """
    found = {}
    for entry in map(registry.get, chosen or registry.names()):
        fits = entry.level == "example" and set(entry.needs) <= {kind, "mask"}
        if chosen and not fits:
            raise ValueError(
                f"metric {entry.name!r} has no value of a text and a {MODELS[kind]} alone: leave it out"
            )
        if fits and (chosen or not entry.name.startswith("naopc")):
            function = entry.resolve()
            given = {"draws": draws} if "draws" in signature(function).parameters else {}
            found[entry.name] = partial(function, **given), 1 if entry.better == "higher" else -1
    if not chosen and kind == "classifier":
        for name, keep in (("soft_ns", True), ("soft_nc", False)):
            found[RELEASED + name] = partial(released, draws=draws, keep=keep), 1
    return found


def passes(name: str, tokens: float, draws: int = DRAWS) -> float:
    """Forward passes of a metric for one explanation of a text; NaN for a control.

    Args:
        name: of a metric, as `metrics` or `controls` names it.
        tokens: maskable ones of the text.
        draws: of a metric that draws.

    Example:
        >>> passes("ns", 15), passes("soft_nc", 15), passes("decision_flip", 15)
        (5, 16, 10)
    """
    name = name.removeprefix(RELEASED).removeprefix(MIRROR)
    if name in language.PASSES:
        return language.PASSES[name](round(tokens), draws)
    if name not in registry.names():
        return np.nan
    entry = registry.get(name)
    count = entry.passes(round(tokens)) if callable(entry.passes) else entry.passes
    own = signature(entry.resolve()).parameters.get("draws")
    return count * draws // own.default if own else count


def released(inputs, scores, draws, keep):
    """Soft-NS (keep) or Soft-NC as released, a mean over draws: (examples,) in [0, 1].

    The mask is that of `soft.values` with definition="released", drawn from the seeds of the text.
    """
    from faithlib.engine import forward
    from faithlib.metrics import erasure, soft

    option, width, variants = 1 if keep else 5, inputs.model.factor_width, []
    for i, (e, s) in enumerate(zip(inputs.encodings, scores, strict=True)):
        a, everywhere = soft.released_probability(s, e.maskable, option), np.ones(len(e.ids), bool)
        variants += soft.soft_variants(e, a, everywhere, not keep, width, inputs.seeds(i, draws), shared=True)
    p = inputs.target_probabilities(variants, np.repeat(np.arange(len(scores)), draws)).reshape(-1, draws).T
    nothing = [forward.replaced(e, ~e.auxiliary, 0) for e in inputs.encodings]
    s_zero = erasure.sufficiency(inputs.p_full, inputs.target_probabilities(nothing))
    s, c = (
        f(inputs.p_full, p) for f in (erasure.sufficiency, erasure.comprehensiveness)
    )  # (draws, examples)
    ns, nc = erasure.released_normalisation(s, c, s_zero, nc_first=not keep)
    return (ns if keep else nc).mean(0)


def controls(functions, seed=0):
    """Metrics whose result is known: `random` (.50), `oracle` (1.00), `magnitude` (ties) and 1 − m.

    Args:
        functions: as `metrics` returns them; the first is the m of 1 − m.
        seed: of `random`.
    """

    def random(inputs, scores):
        drawn = zlib.crc32(b"".join(s.tobytes() for s in scores))  # the same whatever was scored before
        return np.random.default_rng([seed, drawn]).random(len(scores))

    def oracle(inputs, scores):  # the AUPRC of scores without ties
        found = []
        for e, s, words in zip(inputs.encodings, scores, inputs.evidence, strict=True):
            hits = evidence_of(e, words)[np.argsort(-s[e.maskable], kind="stable")]
            found.append((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean())
        return found

    name, (function, sign) = next(iter(functions.items()))
    return {
        "random": (random, 1),
        "oracle": (oracle, 1),
        "magnitude": (lambda inputs, scores: [np.abs(s).max() for s in scores], 1),
        MIRROR + name: (function, -sign),
    }


def score(model, mechanism, rows, functions, seed=0, spent=None):
    """Score metrics on texts of one mechanism.

    Args:
        model: a Classifier.
        mechanism: a `corpora.planted.Mechanism`.
        rows: examples with whole evidence, all of which count.
        functions: {metric: (function, 1 or −1)}, as `metrics` and `controls` return it.
        seed: of the random draws of metrics and explanations.
        spent: {metric: (CPU seconds, values)}, to which those of this call are added, or None.

    Returns:
        DataFrame, a row a metric and ladder, with KEYS and COUNTS: `pairs` of explanations whose order is
        known, those told `right`, `ties`, and `void` (a value that means nothing); `decided` pairs of the
        ladder itself that its scaled versions decide as well, `invariant` those of them that are not
        reversed; `texts`.

    Raises:
        ValueError: no text, or one that is too short for its evidence.
    """
    if not rows:
        raise ValueError(
            f"no text of {mechanism.name} passes the gates: train longer, or leave the mechanism out"
        )
    encodings = model.encode([row["text"] for row in rows])
    texts = [
        ladders(
            mechanism,
            row,
            *(evidence_of(e, row[part]) for part in ("evidence", "decoy")),
            (seed, row["text"]),
        )
        for row, e in zip(rows, encodings, strict=True)
    ]
    scores = {
        key: [placed(e, text[0][key]) for e, text in zip(encodings, texts, strict=True)]
        for key in texts[0][0]
    }
    found = _values(model, rows, scores, functions, seed, spent)
    counts = [
        {"metric": name, **row}
        for name, values in found.items()
        for row in _counts(values, [pairs for _, pairs in texts])
    ]
    return pd.DataFrame(counts)


def total(counts):
    """(the counts of `score` summed over parts, what is left out because it means nothing too often).

    Returns:
        DataFrame with KEYS and COUNTS, and [(metric, share of its pairs that are void)].
    """
    table = counts.groupby(KEYS, sort=False)[COUNTS].sum().reset_index()
    void = table.groupby("metric", sort=False)[["void", "pairs"]].sum()
    void = (void["void"] / void["pairs"])[lambda share: share > VOID]
    return table[~table.metric.isin(void.index)].reset_index(drop=True), list(void.items())


# Real attributions --------------------------------------------------------------------------------


def of_attributions(model, rows, scores, functions, seed=0):
    """Values of metrics for attributions, and how well these find the planted words.

    Args:
        model: a Classifier.
        rows: examples; scores: {attribution: [(tokens,) of each example]}.
        functions, seed: as in `score`.

    Returns:
        DataFrame: text, attribution, metric, value; values are turned so that higher is better. Beside the
        metrics `auprc`, `precision` (at the number of planted tokens) and `mean_rank` (of planted tokens,
        from 1).
    """
    encodings, found = model.encode([row["text"] for row in rows]), []
    of_metrics = _values(model, rows, scores, functions, seed)
    for attribution, own in scores.items():
        known = [
            (s[e.maskable], evidence_of(e, row["evidence"]))
            for s, e, row in zip(own, encodings, rows, strict=True)
        ]
        values = {name: of[attribution] for name, of in of_metrics.items()}
        values["auprc"] = [auprc(*pair) for pair in known]
        values["precision"] = [precision(*pair) for pair in known]
        values["mean_rank"] = [rankdata(-s)[true].mean() for s, true in known]
        wide = pd.DataFrame(values).assign(attribution=attribution, text=[row["text"] for row in rows])
        found.append(wide.melt(["text", "attribution"], var_name="metric"))
    return pd.concat(found, ignore_index=True)


def order(values):
    """Does each metric order attributions as their AUPRC does, where that is sure: counts as `score`'s.

    Signed and other attributions are compared among themselves, with and without those that perturb the text.
    A pair counts where a paired t test over texts tells their AUPRC apart.

    Args:
        values: from `of_attributions`, of all texts.
    """
    wide = {
        m: part.pivot(index="text", columns="attribution", values="value")
        for m, part in values.groupby("metric", sort=False)
    }
    found, truth = [], wide["auprc"]
    names = [name for name in truth if not name.startswith("random")]
    for signed in (True, False):
        for occlusion in ("", " without occlusion"):
            kept = [n for n in names if described(n).signed == signed]
            kept = [n for n in kept if not occlusion or described(n).family != "perturbation"]
            pairs = [
                pair if truth[pair[0]].mean() > truth[pair[1]].mean() else pair[::-1]
                for pair in combinations(kept, 2)
                if ttest_rel(truth[pair[0]], truth[pair[1]]).pvalue < LEVEL
            ]
            ladder = f"attributions, {'signed' if signed else 'absolute'}{occlusion}"
            for metric, part in wide.items():
                if pairs and metric not in ("auprc", "precision", "mean_rank"):
                    means = part.mean()
                    differences = np.array([means[better] - means[worse] for better, worse in pairs])
                    found.append({"metric": metric, **row_of(ladder, differences, len(truth), [])})
    return pd.DataFrame(found, columns=[*KEYS, *COUNTS]).astype(dict.fromkeys(COUNTS, int))


def _values(model, rows, scores, functions, seed, spent=None):
    """{metric: {explanation: (texts,) values, higher is better}}.

    All explanations of a text are examples of one call of each metric, next to each other: what they have in
    common is computed once.

    Args:
        scores: {explanation: [(tokens,) of each text]}; the others as in `score`.
    """
    given, found = inputs(model, rows, seed, len(scores)), {}
    examples = [s for of_text in zip(*scores.values(), strict=True) for s in of_text]
    for name, (function, sign) in functions.items():
        began = time.process_time()
        values = np.asarray(function(given, examples), float)
        if values.shape != (len(examples),):
            raise ValueError(
                f"metric {name!r} gives values of shape {values.shape} for {len(examples)} texts: return one "
                "number for each text"
            )
        found[name] = dict(zip(scores, sign * values.reshape(len(rows), -1).T, strict=True))
        if spent is not None:
            seconds, count = spent.get(name, (0.0, 0))
            spent[name] = seconds + time.process_time() - began, count + len(values)
    return found


# Counting -----------------------------------------------------------------------------------------


def _counts(values, pairs):
    """The pairs of each ladder that a metric tells right, over the texts of a part."""
    for ladder in pairs[0]:
        powers = sorted({power for name, _, power in values if name == ladder})
        told = {
            power: np.array(
                [
                    values[ladder, better, power][text] - values[ladder, worse, power][text]
                    for text, found in enumerate(pairs)
                    for better, worse in found[ladder]
                ]
            )  # fmt: skip
            for power in powers
        }
        yield row_of(ladder, told[1.0], len(pairs), [told[p] for p in powers if p != 1])
    best = ("shuffled" if "shuffled" in pairs[0] else next(iter(pairs[0])), 0, 1.0)  # evidence first
    for kind in NULLS:
        yield row_of(f"null {kind}", values[best] - values["null", kind, 1.0], len(pairs), [])


def row_of(ladder, differences, texts, scaled):
    """The counts of one ladder: a row with "ladder" and COUNTS.

    Args:
        ladder: its name.
        differences: (pairs,) value of the better explanation less that of the worse; NaN means nothing.
        texts: how many.
        scaled: [(pairs,) the same with scores to a power].
    """
    decided = np.abs(differences) > TIE
    others = [(d, decided & np.isfinite(d)) for d in scaled]
    return {
        "ladder": ladder,
        "pairs": len(differences),
        "right": int((differences > TIE).sum()),
        "ties": int((np.abs(differences) <= TIE).sum()),
        "void": int(np.isnan(differences).sum()),
        "decided": int(sum(both.sum() for _, both in others)),
        "invariant": int(sum((both & (d * np.sign(differences) >= -TIE)).sum() for d, both in others)),
        "texts": texts,
    }


def inputs(model: Any, rows: Any, seed: int = 0, times: int = 1) -> Any:
    """The `metrics.inputs.Inputs` of planted texts, each so many times, whose classes are explained."""
    from faithlib.metrics.inputs import Inputs  # reports read this module, and load no model

    encodings = model.encode([row["text"] for row in rows])
    examples = [
        (e, target, row["evidence"])
        for e, target, row in zip(encodings, language.targets(model, rows), rows, strict=True)
        for _ in range(times)
    ]
    return Inputs(model, *map(list, zip(*examples, strict=True)), seed)


def evidence_of(encoding: Any, words: Sequence[int]) -> np.ndarray:
    """Which maskable tokens belong to the words at these indices: (maskable tokens,) bool."""
    return np.isin(encoding.words, words)[encoding.maskable]


def placed(encoding, scores):
    """Scores of the maskable tokens as scores of all tokens: (tokens,), 0 where not maskable."""
    placed = np.zeros(len(encoding.ids))
    placed[encoding.maskable] = scores
    return placed
