"""MaSF of perturbed texts: rows, a share by hand, models that have none."""

import numpy as np
import pytest

from faithlib import models
from faithlib.corpora import planted
from faithlib.metrics import masf
from notebooks.ground_truth.measure import familiarity, gates
from notebooks.ground_truth.measure.compiled import compiled

ROWS = planted.make("one_word", 160, seed=6)
WHOLE = [row for row in ROWS[:60] if row["kind"] == "whole"][:12]
TEXTS = [row["text"] for row in ROWS]


@pytest.fixture(scope="module")
def table():
    model = models.load("tiny-bert", planted.LABELS, TEXTS, seed=1)
    return familiarity.of_perturbations(model, WHOLE, TEXTS[60:], seed=2)


def test_every_perturbation_removes_and_keeps(table):
    kinds = {(p, i) for p in (*gates.PERTURBATIONS, "soft") for i in (familiarity.REMOVED, familiarity.KEPT)}
    assert set(zip(table.perturbation, table.input, strict=True)) == kinds | {("none", "whole")}
    assert (table.n == 12).all() and table.rejected.between(0, 1).all()


def test_whole_texts_are_familiar_and_zeroed_ones_are_not(table):
    rejected = table.set_index(["perturbation", "input"]).rejected
    assert rejected["none", "whole"] <= 0.25 < rejected["zero", familiarity.KEPT]


def test_masked_training_has_a_masked_reference():
    model = models.load("tiny-bert", planted.LABELS, TEXTS, seed=1)
    table = familiarity.of_perturbations(model, WHOLE, TEXTS[60:], "half", seed=2)
    plain = familiarity.of_perturbations(model, WHOLE, TEXTS[60:], "none", seed=2)
    at = (table.perturbation == "mask") & (table.input == familiarity.KEPT)
    assert table.rejected[at].item() < plain.rejected[at].item()


def test_models_without_layers_of_one_width_have_no_rows():
    for model in (compiled("one_word", TEXTS), models.load("bilstm", planted.LABELS, TEXTS)):
        assert familiarity.of_perturbations(model, WHOLE, TEXTS[60:]).empty


def test_a_factor_changes_the_signals_as_a_token_that_is_zeroed():
    """A factor of ones changes nothing; one example's factor is not the other's."""
    model = models.load("tiny-bert", planted.LABELS, TEXTS, seed=1)
    one, other = model.encode(TEXTS[:2])
    plain = masf.signals(model, [one, other, one])
    ones, zeros = np.ones((len(one.ids), 64)), np.zeros(len(one.ids))
    found = masf.signals(model, [one, other, one], factors=[ones, None, zeros])
    np.testing.assert_allclose(found[:2], plain[:2], atol=1e-6)
    assert (found[2, 0] == 0).all() and not np.allclose(found[2], plain[2])
