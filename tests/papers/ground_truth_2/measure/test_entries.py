"""Entries: what they are, and how their accuracy counts ties and void values."""

import numpy as np
import pandas as pd
import pytest
from sample.compiled import compiled

from faithlib.engine.operators import OPERATORS, Operator
from notebooks.ground_truth_2.measure import entries

TEXT = "the teacher saw the copper chair near the old station"
KEYS = dict(metric="ns", map="", operator="zero", by="element", draws=0)


def test_entries_are_metrics_with_their_maps():
    chosen = entries.entries(4)
    names = [(entry.metric, entry.map) for entry in chosen]
    assert len(names) == len(set(names)) == 15
    assert {entry.draws for entry in chosen} == {0, 4}
    assert [e.metric for e in chosen if e.sign < 0] == [
        "aopc_sufficiency",
        "decision_flip",
        "f_fidelity_minus",
    ]


@pytest.mark.parametrize("name", OPERATORS)
def test_the_evidence_first_beats_the_evidence_last(name):
    model = compiled("one_word", [TEXT])
    encodings = model.encode([TEXT])
    best = np.arange(10)[::-1] / 9
    best[[0, 4]] = best[[4, 0]]
    explanations = [{("best", ""): best, ("worst", ""): best.max() - best}]
    operator = Operator(model, name, "", encodings[0].ids[[1, 2, 3]], "test")
    spent = {}
    values = entries.values(operator, encodings, [0], explanations, entries.entries(4), spent=spent)
    assert len(spent) == 15 and {count for _, count in spent.values()} == {2}
    assert values.room.min() > 0.5 and values.p.min() > 0.9 and set(values.operator) == {name}
    assert not values.empty_keeps.any()
    table = entries.right(values, [[("near", "linear", ("best", ""), ("worst", ""))]])
    certain = table[~table.metric.str.startswith("f_fidelity")]  # whose draws may miss the word
    assert len(table) == 15 and (certain.right == 1).all(), certain


def test_ties_and_void_values_count_half():
    value = [0.5, 0.496, 0.49, np.nan]
    values = pd.DataFrame(
        {"text": 0, "explanation": [(x, "") for x in "abcd"], "value": value, "room": 0.8, "p": 0.9}
    )
    values = values.assign(empty_keeps=False)
    pairs = [[("near", "linear", (a, ""), (b, "")) for a, b in ("ab", "ac", "ca", "ad")]]
    table = entries.right(values.assign(**KEYS), pairs)
    assert table.right.tolist() == [0.5, 1, 0, 0.5] and table.void.tolist() == [False, False, False, True]
    assert table.right_1e4.tolist() == [1, 1, 0, 0.5] and set(table.pair) == {
        "a > b",
        "a > c",
        "c > a",
        "a > d",
    }
