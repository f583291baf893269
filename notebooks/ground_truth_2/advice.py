"""What to report: sentences from the tables, every one with its number."""

import pandas as pd

from notebooks.ground_truth_2.figures import label
from notebooks.ground_truth_2.tables import ENTRY
from notebooks.ground_truth_2.worst_case import CORE, FAILS, PASSES

NEAR = 0.02  # of the best worst cell: entries between which the cost decides
BLIND = 0.60  # an accuracy that is near chance
SEES = 0.90


def sentences(cells: pd.DataFrame, entries: pd.DataFrame, scale: str) -> list[str]:
    """What to report for classifiers, [str] of Markdown; none at "quick", or without all core cells."""
    whole = entries[entries.cells == len(CORE)]
    if scale == "quick" or whole.empty:
        return []
    best = whole.iloc[0]
    near = whole[whole.worst >= best.worst - NEAR]
    cheapest = near.loc[near.seconds.idxmin()]
    passing, failing = (whole[whole.verdict == word] for word in ("passes", "fails"))
    one = cells[(cells.kind == "P1") & (cells.error == "one of two")]
    one = one[one[ENTRY].apply(tuple, axis=1).isin(whole[ENTRY].apply(tuple, axis=1))]
    return [
        f"**Report** {label(best)}: right in {best.worst:.2f} of its worst cell ({best.cell}) and "
        f"{best['mean']:.2f} in the mean of {len(CORE)}. Within {NEAR} of it the cheapest is "
        f"{label(cheapest)}, with "
        f"{cheapest.seconds:.1f} CPU seconds to tell two explanations apart in its worst cell.",
        f"**Passes** at {PASSES:.2f} in every cell: {_list(passing)}.",
        f"**Fails**, below {FAILS:.2f} in a cell: {_list(failing)}.",
        f"**Where one of two words is enough** these cannot tell one from none (at most {BLIND:.2f}): "
        f"{_list(one[one.accuracy <= BLIND])}. These can (at least {SEES:.2f}): "
        f"{_list(one[one.accuracy >= SEES])}.",
    ]


def _list(rows):
    if rows.empty:
        return "none"
    value = "worst" if "worst" in rows else "accuracy"
    return "; ".join(f"{label(row)} ({row[value]:.2f})" for _, row in rows.iterrows())
