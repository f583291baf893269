"""What to report: sentences from the tables, every one with its number."""

import pandas as pd

from notebooks.ground_truth_2.card import BLIND, CARD, SEES
from notebooks.ground_truth_2.figures import label, label_of
from notebooks.ground_truth_2.tables import ENTRY, PUBLISHED
from notebooks.ground_truth_2.worst_case import FAILS, PASSES

FEW = 2  # entries of a metric that a sentence names one by one
OF_PAPERS = {  # the metrics that a paper proposes, or that its claims rest on
    "soft_metrics": ("soft_ns", "soft_nc", "ns", "nc"),
    "saloss": ("decision_flip", "ns", "nc"),
    "noiser": ("log_ratio", "causal_soft_ns", "causal_soft_nc", "answerability"),
}


def sentences(cells: pd.DataFrame, entries: pd.DataFrame, scale: str) -> list[str]:
    """What to report for one kind of model, [str] of Markdown; none at "quick" or without records.

    Entries with fewer cells than others take no part.
    """
    if scale == "quick" or entries.empty:
        return []
    whole = entries[entries.cells == entries.cells.max()]
    alike = not_told_apart(whole)
    several = " one of these, which the records do not tell apart:" if len(alike) > 1 else ""
    one = cells[(cells.kind == "P1") & (cells.error == "one of two")]
    one = one[one[ENTRY].apply(tuple, axis=1).isin(whole[ENTRY].apply(tuple, axis=1))]
    return [
        f"**Report**{several} {_each(alike, '{lowest:.2f} [{ci_low:.2f}, {ci_high:.2f}]')}. Accuracy in the "
        f"lowest of {whole.cells.iloc[0]} cells.",
        f"**In one line**: {_typed(alike)}",
        "**Texts that keep their prediction without any word**: "
        f"{_each(alike[alike.inside.notna()], '{inside:.2f}')}. A metric without a value there has 0.50.",
        f"**Passes** at {PASSES:.2f} in every cell, one-sided: {_list(whole[whole.verdict == 'passes'])}.",
        f"**Fails**, below {FAILS:.2f} in a cell: {_list(whole[whole.verdict == 'fails'])}.",
        f"**Where one of two words is enough** these are right in at most {BLIND:.2f} of pairs: "
        f"{_list(one[one.accuracy <= BLIND])}. These in at least {SEES:.2f}: "
        f"{_list(one[one.accuracy >= SEES])}.",
    ]


def not_told_apart(entries):
    """The first and best entry, and those with its verdict whose interval reaches its lowest cell."""
    best = entries.iloc[0]
    return entries[(entries.verdict == best.verdict) & (entries.ci_high >= best.lowest)]


def _typed(alike):
    """The call for the first of some entries that has a value also for texts that keep their prediction."""
    seen = alike[alike.inside > 0.5]
    one = (seen if len(seen) else alike).iloc[0]
    call = f'fl.evaluate(model, data, methods, ["{one.metric}"], operator="{one.operator}")'
    return f"`{call}`, the first of these with a value for texts that keep their prediction without any word."


def _each(rows, values):
    return "; ".join(f"{label(row)} ({values.format_map(row)})" for _, row in rows.iterrows()) or "none"


def of_papers(entries: pd.DataFrame, scale: str) -> pd.DataFrame:
    """What the study says of the metrics of each paper, as published: paper, text (Markdown, for its card).

    entries: from `tables.entries`, of both kinds of models, with all core cells. None at the scale "quick".
    """
    rows = []
    for paper, metrics in OF_PAPERS.items() if scale != "quick" else ():
        listed = as_published(entries).set_index("metric")
        there = [name for name in metrics if name in listed.index]
        shares = [f"{label_of(name)} {listed.lowest[name]:.0%} ({listed.cell[name]})" for name in there]
        if shares:
            text = (
                "**Can its metrics be believed?** Of pairs of explanations of which one is known to be "
                f"better, they rank correctly in their worst case: {', '.join(shares)}. Ties count ½, "
                "chance is 50 %; metrics as published, on small models whose evidence is known "
                f"([{CARD.title}](../{CARD.name}/README.md))."
            )
            rows.append((paper, text))
    return pd.DataFrame(rows, columns=["paper", "text"])


def as_published(entries: pd.DataFrame) -> pd.DataFrame:
    """The entries that a paper has; "equal" is a map of this project."""
    return entries[entries[ENTRY].apply(tuple, axis=1).isin(PUBLISHED) & (entries["map"] != "equal")]


def _list(rows):
    """Entries with their values; many of one metric as their number and range; "none"."""
    value, parts = "lowest" if "lowest" in rows else "accuracy", []
    for name, part in rows.groupby(rows.metric.map(label_of), sort=False):
        each = [f"{label(row)} ({row[value]:.2f})" for _, row in part.iterrows()]
        ends = " to ".join(dict.fromkeys(f"{end:.2f}" for end in part[value].round(6).agg(["min", "max"])))
        parts += each if len(each) <= FEW else [f"{name} ({len(each)} entries, {ends})"]
    return "; ".join(parts) or "none"
