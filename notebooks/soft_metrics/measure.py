"""What the experiment of soft metrics measures of each text: the main setting, and the options of the card.

torch is imported where a model runs, so that this module, like all of `replication.papers`, loads without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from faithlib.metrics.soft import Settings
    from faithlib.models import Classifier


SOFT, HARD = ("soft",), ("hard",)
OPTIONS: dict[str, dict] = {  # option of the card: what it changes in the settings of the main measurement
    "rank": {"probability": "rank", "erasures": SOFT},
    "equal mean retention": {"probability": "equal", "erasures": SOFT},
    "perturbed too": {"special_tokens": True, "erasures": SOFT},
    "[MASK]": {"removal": "mask", "erasures": HARD},
    "delete": {"removal": "delete", "erasures": HARD},
}
CODE = {"paper": "ours", "released": "released"}  # whose attributions a definition takes in the main setting
MOST_DRAWS = 4  # of a perturbation of appendix C; a mean of as many Bernoulli draws is kept beside it
VARIANCE = "variance "  # begins the option of a noise of Equation 7 with another variance than 1


def plans(
    definitions: list[str], varied_examples: int, variances: Sequence[float] = (), **settings: Any
) -> dict[str, Settings]:
    """What is measured by each definition: {definition: `metrics.soft.Settings`}, the main one first.

    ValueError: no definition, a wrong setting, varied_examples below 0, a variance of Equation 7's noise not
    above 0.
    """
    from faithlib.metrics.soft import Settings

    if not definitions:
        raise ValueError("definitions=[] leaves nothing to measure: give 'paper', 'released' or both")
    if varied_examples < 0:
        raise ValueError(f"varied_examples={varied_examples} must be at least 0: 0 varies no choice")
    if wrong := [variance for variance in variances if not 0 < variance < np.inf]:
        raise ValueError(f"variances: {wrong[0]} must be above 0, such as 0.05")
    return {definition: Settings(definition=definition, **settings) for definition in definitions}


def measure(
    classifier: Classifier,
    texts: pd.DataFrame,
    scores: dict[str, pd.DataFrame],
    plans: dict[str, Settings],
    explain: Callable[..., dict],
    variances: Sequence[float] = (),
) -> pd.DataFrame:
    """Values of some texts: the main setting, and on varied texts all else that the multiverse needs.

    The first definition is measured on all texts. On varied ones follow the other definition, each with the
    other's attributions, the options of the card and the perturbations of appendix C.

    Args:
        texts: with encoding, target (the predicted class), label, example and varied (bool).
        scores: {definition: DataFrame attribution columns, indexed by example}.
        plans: from `plans`.
        explain: function (texts, targets) that returns {attribution: [scores]} of the paper's definition.
        variances: σ² of Equation 7's noise (`gaussian_scores`) that are measured besides 1.

    Returns:
        DataFrame: the columns of `metrics.soft.values` with option ("" in the main setting), correct (whether
        the model is right) and varied. Hard metrics of other rows than the main definition's are means over
        ratios, and soft metrics of options have all draws only.
    """
    from faithlib.engine import forward
    from faithlib.metrics.soft import values

    cache, tables, varied = forward.Cache(), [], texts[texts.varied]

    def add(option, plan, some, columns, targets="target", means=True, **changed):
        if some.empty:
            return
        columns = columns.loc[some.example] if isinstance(columns, pd.DataFrame) else columns
        columns, settings = {name: list(columns[name]) for name in columns}, replace(plan, **changed)
        table = values(classifier, list(some.encoding), some[targets], columns, settings, some.example, cache)
        tables.append((_means(table) if means else table).assign(option=option))

    for definition, plan in plans.items():
        main = definition == next(iter(plans))
        if not main and varied.empty:
            continue
        bernoulli, columns = {"perturbations": ("bernoulli",)}, scores[definition]
        add("", plan, texts if main else varied, columns, means=not main, **bernoulli)
        changed = bernoulli | {"curve_ratios": ()}
        for other in set(scores) - {definition}:
            add(CODE[other], plan, varied, scores[other], **changed)
        if definition == "paper":
            for option, setting in OPTIONS.items():
                if option != "[MASK]" or classifier.mask_id is not None:
                    add(option, plan, varied, columns, **changed | setting)
            add("absolute", plan, varied, columns.map(np.abs), **changed)
            wrong = varied[varied.target != varied.label]
            if len(wrong):
                add("gold", plan, wrong, explain(wrong, wrong.label), "label", **changed)
            few = {"erasures": SOFT, "soft_draws": min(MOST_DRAWS, plan.soft_draws)}
            if others := tuple(p for p in plan.perturbations if p != "bernoulli"):
                add("", plan, varied, columns, perturbations=others, **few)
            for variance in variances:
                noise = {"perturbations": ("gaussian_scores",), "sigma": variance**0.5}
                add(f"{VARIANCE}{variance:g}", plan, varied, columns, **few | noise)
    right = texts.set_index("example")
    table = pd.concat(tables, ignore_index=True).astype({"raw": np.float32, "denominator": np.float32})
    return table.assign(
        correct=(right.target == right.label)[table.example].to_numpy(),
        varied=right.varied[table.example].to_numpy(),
    )


def _means(table):
    """Hard metrics as means over the ratios (AOPC), with ratio NaN; soft ones with all draws."""
    table = table[table.draws == table.groupby("perturbation").draws.transform("max")]
    keys = [name for name in table if name not in ("ratio", "raw")]
    mean = table.groupby(keys, sort=False, observed=True).raw.mean().reset_index()
    return mean.assign(ratio=np.float32(np.nan))[list(table)]
