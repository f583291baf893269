"""One planted unit, end to end, on a model that is written down."""

from dataclasses import replace

import pandas as pd
import pytest
from sample.compiled import compiled

from notebooks.ground_truth_2.measure import planted_unit, scoring
from notebooks.ground_truth_2.measure.planted_models import PlantedModel
from notebooks.ground_truth_2.measure.planted_texts import PLANTED, texts


@pytest.fixture(scope="module")
def model():
    mechanism = PLANTED["redundant"]
    splits = texts(mechanism, 1)
    every = [row["text"] for rows in splits.values() for row in rows]
    return PlantedModel(mechanism, 1, compiled("redundant", every), splits, 1.0, 0.95)


def test_a_unit_scores_the_texts_that_count(model):
    prepared = planted_unit.prepared(model, 4, ("mask",))
    assert (prepared.looked, len(prepared.encodings), len(prepared.pairs)) == (4, 4, 4)
    table = scoring.rows(prepared, 0, 4, draws=2)
    assert set(table.text) == {0, 1, 2, 3} and set(table.operator) == {"mask", ""}
    cells = table.groupby(["metric", "error"]).right.mean()
    assert cells["aopc_sufficiency", "one of two"] == 1
    assert cells["aopc_comprehensiveness", "one of two"] == 0.5  # one copy is enough: none is missed
    parts = [scoring.rows(prepared, first, first + 2, draws=2) for first in (0, 2)]
    columns = [*scoring.CELL[:-2], "text", "pair", "difference"]
    keys = ["metric", "map", "operator", "text", "error", "shape", "pair"]
    whole, halves = (t[columns].sort_values(keys).reset_index(drop=True) for t in (table, pd.concat(parts)))
    pd.testing.assert_frame_equal(whole, halves, rtol=0, atol=1e-6)  # a text's values are its own


def test_a_model_that_uses_nothing_has_no_texts(model):
    rows = [{**row, "evidence": row["evidence"][:1] * 2} for row in model.splits["test"]]  # one copy of two
    blind = replace(model, splits={**model.splits, "test": rows})
    with pytest.raises(ValueError, match="none of 3 texts of redundant uses its evidence: train longer"):
        planted_unit.prepared(blind, 3)


def test_zero_may_reach_whole_tokens_which_only_soft_metrics_notice(model):
    prepared = planted_unit.prepared(model, 1, ("zero",))
    table = scoring.rows(prepared, 0, 1, draws=1)
    assert set(table.by) == {"element", "token", ""}
    assert set(table[table.by == "token"].metric) == {"soft_ns", "soft_nc"}
