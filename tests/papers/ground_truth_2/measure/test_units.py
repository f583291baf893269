"""Units: parameters are checked before any work, and a sharper model is another model."""

import numpy as np
import pytest
from sample.compiled import compiled

from faithlib.engine.operators import OPERATORS
from notebooks.ground_truth_2.measure.planted_models import PlantedModel
from notebooks.ground_truth_2.measure.planted_texts import PLANTED, texts
from notebooks.ground_truth_2.measure.units import Unit


def test_no_mechanism_and_no_operator_are_all_of_them():
    unit = Unit("planted", "tiny-bert", 3)
    assert unit.mechanisms == tuple(PLANTED) and unit.operators == OPERATORS
    assert unit.origin == {"source": "generated", "generator": "planted", "seed": 3}
    assert unit.key != Unit("planted", "tiny-bert", 3, sharpness=4.0).key


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"task": "snli"}, "snli"),
        ({"mechanisms": ("copies",)}, "copies"),
        ({"operators": ("erase",)}, "erase"),
        ({"kind": "gate"}, "gate"),
        ({"length": 30}, "30"),
        ({"draws": 0}, "draws=0"),
        ({"sharpness": -1.0}, "sharpness=-1.0 must be above 0"),
    ],
)
def test_what_is_wrong_is_one_line(wrong, message):
    with pytest.raises(ValueError, match=message):
        Unit(**{"task": "planted", "model": "tiny-bert", "seed": 0} | wrong)


def test_a_unit_scores_its_texts_with_its_sharpness():
    mechanism = PLANTED["redundant"]
    splits = texts(mechanism, 1)
    every = [row["text"] for rows in splits.values() for row in rows]
    model = PlantedModel(mechanism, 1, compiled("redundant", every), splits, 1.0, 0.95)
    tables = {}
    for sharpness in (1.0, 0.25):
        unit = Unit("planted", "tiny-bert", 1, ("redundant",), sharpness=sharpness, operators=("mask",),
                    examples=2, draws=1)  # fmt: skip
        gate = unit.gate("redundant", model)
        assert (gate["accuracy"], gate["refused"], gate["sharpness"]) == (1.0, "", sharpness)
        prepared = unit.prepared(model)
        tables[sharpness] = unit.rows(prepared)(0, 2)
    rows = [table[table.metric == "aopc_sufficiency"] for table in tables.values()]
    assert np.mean(rows[1].p) < np.mean(rows[0].p) and len(rows[0]) == len(rows[1]) > 0
