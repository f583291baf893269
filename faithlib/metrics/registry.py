"""The list of metrics: what each one is, and where its function stands. Nothing here loads torch.

Everything that names metrics reads this list: `evaluate`, tables, arrows, the site's A to Z. What is built in
has a row below; a metric of your own joins with the decorator `register`, in any file.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from numbers import Real
from pathlib import Path

from faithlib.registry import Named, Registry

NEEDS = {  # what a metric asks of the study that it takes part in
    "classifier": "a model of classes",
    "causal": "a causal language model",
    "mask": "a mask token",
    "evidence": "words that are known to decide each text",
    "judge": "a second model that answers",
    "masked": "a model trained with masks, fine_tune(model, data, masking='half'), and data with labels and "
    "a split 'validation' of 40 texts",
    "retraining": "models trained again on masked texts, as its paper's notebook trains",
}
LEVELS = ("example", "data set")


@dataclass(frozen=True)
class Metric(Named):
    """One metric.

    Attributes:
        name: as `evaluate` knows it.
        label: as tables and figures print it.
        better: "higher" or "lower".
        range: (lowest, highest) value, inf where there is no bound.
        contrast_range: the same where a contrast of two targets is explained, if it is another.
        needs: what it asks of a study, of NEEDS.
        void: when its value means nothing; such a value is NaN and is counted, never printed as a number.
        function: (inputs, scores) -> (examples,) float, or "module:function" of this package, which is
            imported when it is first used. `inputs` is a `metrics.inputs.Inputs`, `scores` the [(tokens,)] of
            one attribution.
        level: "example", or "data set" for what has no value of a single example.
        source: the paper that defines it.
        default: whether "default" of `evaluate` includes it where it can; "all" does in any case.
        passes: of a text of n maskable tokens, for one attribution: a number, or a function of n.
        shared_passes: as `passes`, for what all attributions of a study share.
        operator: what takes an erased token's place where a study names none; "" for nothing.
        explain, fooled: a plain sentence on what it is and when to use it, and on what misleads it.
    """

    name: str
    label: str
    better: str
    range: tuple
    needs: tuple
    void: str
    function: Callable | str
    level: str = "example"
    source: str = ""
    default: bool = True
    passes: Callable | float = 1
    shared_passes: Callable | float = 0
    contrast_range: tuple = ()
    operator: str = ""
    explain: str = ""
    fooled: str = ""

    def limits(self, contrasted):
        """The lowest and the highest value, of a contrast of two targets or not."""
        return self.contrast_range if contrasted and self.contrast_range else self.range


_LIST = Registry("metric")
names, get, unregister = _LIST.names, _LIST.find, _LIST.remove


def register(name, *, better, range, needs=(), label="", void="", source="", default=True, explain=""):
    """Make a function known as a metric: it is then in every table that can hold it.

    Args:
        name: a new name, such as "log_odds".
        better: "higher" or "lower".
        range: (lowest, highest) value; `math.inf` where there is no bound.
        needs: what it asks of a study, of NEEDS.
        label: for tables and figures; the name with blanks by default.
        void: when its value means nothing, in words; the function gives NaN there.
        source: where it is defined.
        default: whether "default" of `evaluate` includes it.
        explain: a plain sentence for the site's Metrics A–Z.

    Returns:
        The decorator, which returns the function unchanged.

    Raises:
        ValueError: a name that another function has, another direction, no range, an unknown need.

    Example:
        >>> @register("largest", better="higher", range=(0, 1))
        ... def largest(inputs, scores):
        ...     return [abs(s).max() / abs(s).sum() for s in scores]
        >>> get("largest").better
        'higher'
        >>> unregister("largest")
    """

    def join(function):
        text, rest = (
            label or str(name).replace("_", " "),
            dict(source=source, default=default, explain=explain),
        )
        add(Metric(name, text, better, tuple(range or ()), tuple(needs), void, function, **rest))
        return function

    return join


def add(entry):
    """Add a `Metric` to the list; see `register`."""
    ends = entry.range if isinstance(entry.range, tuple) else ()
    if len(ends) != 2 or not all(isinstance(end, Real) for end in ends) or not ends[0] < ends[1]:
        raise ValueError(f"metric {entry.name!r}: range={entry.range!r}: give (lowest, highest)")
    _LIST.add(entry, better=("higher", "lower"), needs=NEEDS, level=LEVELS)


_SOFT, _NOISER, _ROAR = "Zhao and Aletras (2023)", "Ghasemi Madani et al. (2025)", "Madsen et al. (2022)"
_FLIP, _ERASER = "Chrysostomou and Aletras (2021)", "DeYoung et al. (2020)"
_FMM, _TRAINED = "Madsen et al. (2024)", ("classifier", "masked")
_EQUAL, _AOPC = "after Huang and Chan (2026)", "Edin et al. (2025)"
_FIDELITY = "after Zheng et al. (2025)"
_FALL = {"contrast_range": (-2, 2)}  # what p(target) − p(contrast) can fall by
_NO_ERASURE = "the input without any token keeps the prediction (1 − S0 below 0.05)"
_NO_CHANGE = "the model's next word does not depend on the prompt"
_NO_EVIDENCE = "the text has no evidence among its tokens"
_NO_ROOM = "the best and the worst order of the tokens differ by less than 0.05"
_CLASSES, _CAUSAL, _MASK, _WORDS = ("classifier",), ("causal",), ("mask",), ("evidence",)


def _points(n):
    """Passes of one perturbation curve."""
    return min(n, 10)


def _orders(n):
    """Passes that find the best and the worst order: all subsets of a short text, else beam search."""
    return 2**n if n <= 8 else 30 * n


_EXPLAIN = tomllib.loads(Path(__file__).with_name("explain.toml").read_text(encoding="utf-8"))
for _row in (
    Metric("ns", "NS", "higher", (-inf, 1), _CLASSES, _NO_ERASURE, "erasure:ns", source=_SOFT, passes=5,
           operator="zero"),
    Metric("nc", "NC", "higher", (0, inf), _CLASSES, _NO_ERASURE, "erasure:nc", source=_SOFT, passes=5,
           operator="zero"),
    Metric("soft_ns", "Soft-NS", "higher", (-inf, 1), _CLASSES, _NO_ERASURE, "soft:soft_ns", source=_SOFT,
           passes=3, operator="zero"),
    Metric("soft_nc", "Soft-NC", "higher", (0, inf), _CLASSES, _NO_ERASURE, "soft:soft_nc", source=_SOFT,
           passes=3, operator="zero"),
    Metric("equal_soft_ns", "Soft-NS, equal retention", "higher", (-inf, 1), _CLASSES, _NO_ERASURE,
           "normalised:equal_soft_ns", source=_EQUAL, passes=3, operator="zero", default=False),
    Metric("equal_soft_nc", "Soft-NC, equal retention", "higher", (0, inf), _CLASSES, _NO_ERASURE,
           "normalised:equal_soft_nc", source=_EQUAL, passes=3, operator="zero", default=False),
    Metric("causal_soft_ns", "Soft-NS", "higher", (0, 1), _CAUSAL, _NO_CHANGE,
           "soft_causal:causal_soft_ns", source=_NOISER, passes=3, operator="zero"),
    Metric("causal_soft_nc", "Soft-NC", "higher", (0, inf), _CAUSAL, _NO_CHANGE,
           "soft_causal:causal_soft_nc", source=_NOISER, passes=3, operator="zero"),
    Metric("causal_equal_soft_ns", "Soft-NS, equal retention", "higher", (0, 1), _CAUSAL, _NO_CHANGE,
           "normalised:causal_equal_soft_ns", source=_EQUAL, passes=3, operator="zero", default=False),
    Metric("causal_equal_soft_nc", "Soft-NC, equal retention", "higher", (0, inf), _CAUSAL, _NO_CHANGE,
           "normalised:causal_equal_soft_nc", source=_EQUAL, passes=3, operator="zero", default=False),
    Metric("decision_flip", "decision flip (fraction)", "lower", (0, 1), ("classifier", "mask"), "",
           "flip:fraction_to_flip", source=_FLIP, passes=_points, operator="mask"),
    Metric("naopc_comprehensiveness", "NAOPC, comprehensiveness", "higher", (0, 1), _MASK, _NO_ROOM,
           "normalised:naopc_comprehensiveness", source=_AOPC, passes=_points, shared_passes=_orders,
           operator="mask", default=False),
    Metric("naopc_sufficiency", "NAOPC, sufficiency", "lower", (0, 1), _MASK, _NO_ROOM,
           "normalised:naopc_sufficiency", source=_AOPC, passes=_points, operator="mask", default=False),
    Metric("aopc_comprehensiveness", "AOPC, comprehensiveness", "higher", (-1, 1), _MASK, "",
           "normalised:aopc_comprehensiveness", source=_AOPC, passes=_points, operator="mask", **_FALL),
    Metric("aopc_sufficiency", "AOPC, sufficiency", "lower", (-1, 1), _MASK, "",
           "normalised:aopc_sufficiency", source=_AOPC, passes=_points, operator="mask", **_FALL),
    Metric("f_fidelity_plus", "F-Fidelity, FFid+", "higher", (-1, 1), _MASK, "", "fidelity:f_fidelity_plus",
           source=_FIDELITY, passes=9, operator="mask", default=False, **_FALL),
    Metric("f_fidelity_minus", "F-Fidelity, FFid−", "lower", (-1, 1), _MASK, "", "fidelity:f_fidelity_minus",
           source=_FIDELITY, passes=9, operator="mask", default=False, **_FALL),
    Metric("auprc", "AUPRC", "higher", (0, 1), _WORDS, _NO_EVIDENCE, "plausibility:auprc_of", source=_ERASER,
           passes=0),
    Metric("precision", "precision", "higher", (0, 1), _WORDS, _NO_EVIDENCE, "plausibility:precision_of",
           passes=0),
    Metric("first_hit", "first hit (rank)", "lower", (1, inf), _WORDS, _NO_EVIDENCE,
           "plausibility:first_hit_of", passes=0),
    Metric("racu", "RACU", "higher", (-inf, inf), ("retraining",), "the random curve is flat", "curves:racu",
           "data set", _ROAR),
    Metric("acu", "ACU", "higher", (-1, 1), ("retraining",), "", "curves:acu", "data set", _ROAR),
    Metric("masked_racu", "RACU, masked model", "higher", (-inf, inf), _TRAINED, "the random curve is flat",
           "masked:masked_metrics", "data set", _FMM, default=False),
    Metric("masf", "MaSF, share out of distribution", "lower", (0, 1), _TRAINED, "", "masked:masked_metrics",
           "data set", _FMM, default=False),
    Metric("min_top_k", "minimum top-k", "lower", (0, 1), ("judge",), "the judge fails with all words",
           "answerability:minimum_top_k", "data set", _NOISER),
):  # fmt: skip
    add(replace(_row, **_EXPLAIN[_row.name]))
