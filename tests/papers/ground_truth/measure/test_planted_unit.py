"""One planted unit, end to end, on a model that is written down."""

from dataclasses import replace

import numpy as np
import pytest

from notebooks.ground_truth.measure import planted_unit
from notebooks.ground_truth.measure.compiled import compiled
from notebooks.ground_truth.measure.planted_models import PlantedModel
from notebooks.ground_truth.measure.planted_texts import PLANTED, texts


@pytest.fixture(scope="module")
def model():
    mechanism = PLANTED["redundant"]
    splits = texts(mechanism, 1)
    every = [row["text"] for rows in splits.values() for row in rows]
    return PlantedModel(mechanism, 1, compiled("redundant", every), splits, 1.0, 0.95)


def test_a_unit_scores_the_texts_that_count(model):
    table, about = planted_unit.unit(model, 4, ("mask",), draws=2)
    assert (about["texts"], about["used"]) == (4, 4) and np.isnan(about["ordered"])
    assert set(table.text) == {0, 1, 2, 3} and set(table.operator) == {"mask"}
    cells = table.groupby(["metric", "error"]).right.mean()
    assert cells["aopc_sufficiency", "one of two"] == 1
    assert cells["aopc_comprehensiveness", "one of two"] == 0.5  # one copy is enough: none is missed
    again, _ = planted_unit.unit(model, 4, ("mask",), draws=2)
    assert again.equals(table)


def test_a_model_that_uses_nothing_has_no_texts(model):
    rows = [{**row, "evidence": row["evidence"][:1] * 2} for row in model.splits["test"]]  # one copy of two
    blind = replace(model, splits={**model.splits, "test": rows})
    with pytest.raises(ValueError, match="none of 3 texts of redundant uses its evidence: train longer"):
        planted_unit.unit(blind, 3)


def test_zero_may_reach_whole_tokens(model):
    table, _ = planted_unit.unit(model, 1, ("zero",), by_token=True, draws=1)
    assert set(table.by) == {"token"}
