"""What to report: sentences with the numbers of the tables."""

import pandas as pd
import pytest

from notebooks.ground_truth_2 import advice, tables
from notebooks.ground_truth_2.worst_case import CORE


@pytest.fixture
def entries():
    rows = [
        ("aopc_sufficiency", "", "mask", "token", 0.81, "N1 halves", 0.93, "passes", 16, 0.8),
        ("ns", "", "mask", "token", 0.8, "N2 halves", 0.9, "undecided", 16, 0.79),
        ("nc", "", "zero", "element", 0.5, "P1 one of two", 0.8, "fails", 16, 0.5),
        ("ns", "", "resample", "token", 0.9, "P1 near", 0.9, "undecided", 6, 0.9),
    ]
    columns = [*tables.ENTRY, "worst", "cell", "mean", "verdict", "cells", "lowest"]
    table = pd.DataFrame(rows, columns=columns)
    inside = [0.77, float("nan"), 0.5, 0.5]
    return table.assign(ci_low=table.lowest - 0.1, ci_high=table.lowest + 0.1, inside=inside)


@pytest.fixture
def cells(entries):
    one = entries[tables.ENTRY].assign(
        kind="P1", error="one of two", core=True, accuracy=[1.0, 0.7, 0.5, 1.0]
    )
    rest = [one.assign(kind=kind, error=error, accuracy=0.9) for kind, error in CORE if error != "one of two"]
    return pd.concat([one, *rest], ignore_index=True)


def test_sentences_name_what_is_not_told_apart_and_what_is_blind(cells, entries):
    alone, typed, empty, passes, fails, one = advice.sentences(cells, entries, "small")
    assert alone == (
        "**Report** AOPC, sufficiency, [MASK] (0.80 [0.70, 0.90]). Accuracy in the lowest of 16 cells."
    )
    assert ": AOPC, sufficiency, [MASK] (0.77). A metric without" in empty
    assert passes.endswith("AOPC, sufficiency, [MASK] (0.80).") and "NC, zero (0.50)" in fails
    assert 'methods, ["aopc_sufficiency"], operator="mask")`' in typed
    assert "at most 0.60 of pairs: NC, zero (0.50). These in" in one and "resample" not in one
    entries.loc[entries.metric != "nc", "verdict"] = "passes"
    both, typed, *_ = advice.sentences(cells, entries.iloc[[1, 0, 2, 3]], "small")
    assert '["aopc_sufficiency"], operator="mask"' in typed  # NS comes first, without a value for some texts
    assert both.startswith("**Report** one of these, which the records do not tell apart: NS, [MASK] (0.79")
    assert "; AOPC, sufficiency, [MASK] (0.80 [0.70, 0.90]). Accuracy" in both
    lower = entries.assign(ci_high=entries.lowest)
    assert advice.not_told_apart(lower[lower.cells == 16]).metric.tolist() == ["aopc_sufficiency"]
    assert "tell apart" not in advice.sentences(cells, lower, "small")[0]


def test_there_is_no_advice_at_quick_or_without_records(cells, entries):
    assert advice.sentences(cells, entries, "quick") == []
    assert advice.sentences(cells, entries[:0], "small") == []


def test_each_paper_has_a_sentence_about_its_own_metrics_as_published(entries):
    soft = entries.iloc[[2, 2]].assign(metric="soft_ns", map=["minmax", "equal"], lowest=[0.1, 0.9])
    entries = pd.concat([entries, soft], ignore_index=True)
    table = advice.of_papers(entries, "small").set_index("paper").text
    assert "their worst case: Soft-NS 10% (P1 one of two), NC 50% (P1 one of two). " in table["soft_metrics"]
    assert set(table.index) == {"soft_metrics", "saloss"}
    assert "rank correctly in their worst case: NC 50% (P1 one of two). Ties" in table["saloss"]
    assert advice.of_papers(entries, "quick").empty


def test_many_entries_of_one_metric_are_told_as_their_number_and_range(cells, entries):
    more = [
        entries.iloc[[2]].assign(operator=name, lowest=value)
        for name, value in (("pad", 0.4), ("delete", 0.45))
    ]
    fails = advice.sentences(cells, pd.concat([entries, *more], ignore_index=True), "small")[4]
    assert fails.endswith("in a cell: NC (3 entries, 0.40 to 0.50).")
