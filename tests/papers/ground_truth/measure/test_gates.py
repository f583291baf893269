"""Gates: the compiled model passes them all, a model that looks elsewhere passes none."""

import numpy as np
import pandas as pd
import pytest

from faithlib import models
from faithlib.corpora import planted
from faithlib.engine import forward
from notebooks.ground_truth.measure import gates
from notebooks.ground_truth.measure.compiled import compiled


def rows_of(mechanism, kind="whole", count=60):
    return [row for row in planted.make(mechanism, count, seed=3) if row["kind"] == kind]


def judged(mechanism, model=None, default=False):
    rows, others = rows_of(mechanism), [row["text"].split() for row in rows_of(mechanism, "empty")]
    model = model or compiled(mechanism, [row["text"] for row in planted.make(mechanism, 60, seed=3)])
    rng = np.random.default_rng(0)
    whole = gates.accuracy(model, rows, others, rng)
    return whole, gates.of_texts(model, planted.MECHANISMS[mechanism], rows, others, rng, default)


@pytest.mark.parametrize("mechanism", ["one_word", "redundant", "xor", "ordered_pair"])
def test_the_compiled_model_passes_every_gate(mechanism):
    accuracy, table = judged(mechanism)
    assert accuracy == (1, 1) and table.passes.all() and gates.refused(*accuracy, table) == ""
    assert not any(gates.rejected(table).values())
    assert (("one_mask" in table) == (mechanism == "redundant")) and "without_pad" in table


def test_a_model_that_has_learnt_nothing_is_refused_in_one_line():
    model = models.load("tiny-bert", planted.LABELS, [row["text"] for row in rows_of("one_word")])
    accuracy, table = judged("one_word", model)
    assert not table.passes.any() and gates.rejected(table)["with_evidence"] == len(table)
    assert "accuracy 0." in gates.refused(*accuracy, table)


def test_a_default_class_is_no_reason_where_it_is_allowed():
    """One word's compiled model on texts of two copies: without one copy it still has the other."""
    rows = rows_of("redundant")
    model = compiled("one_word", [row["text"] for row in rows])
    once = [
        {**row, "evidence": row["evidence"][:1]} for row in rows
    ]  # the second copy stays when it is erased
    others = [["the", "chair"]]
    for default in (False, True):
        table = gates.of_texts(
            model, planted.MECHANISMS["one_word"], once, others, np.random.default_rng(0), default
        )
        assert (table.without_mask > gates.WITHOUT).all()
        assert table.passes.equals(table.swapped >= gates.WITH if default else table.passes & False)


def test_too_few_texts_that_pass():
    table = pd.DataFrame({"passes": [True] * 3 + [False] * 2})
    assert gates.refused(1, 1, table) == "60% of its texts pass, fewer than 80%"
    assert gates.refused(1, 1, table[:0]) == "0% of its texts pass, fewer than 80%"


def test_erasing_is_what_each_perturbation_says():
    (row,) = rows_of("one_word", count=3)[:1]
    model = compiled("one_word", [row["text"]])
    (e,) = model.encode([row["text"]])
    at = e.words == row["evidence"][0]
    found = {kind: forward.erased(model, e, at, kind).encoding for kind in gates.PERTURBATIONS}
    assert len(found["delete"].ids) == len(e.ids) - 1 and (found["mask"].ids[at] == model.mask_id).all()
    assert (found["pad"].ids[at] == 0).all() and (found["zero"].ids == e.ids).all()
