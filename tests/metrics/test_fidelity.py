"""F-Fidelity: what is masked, by hand, and its values on a model that is known."""

import numpy as np
import pytest
from sample.compiled import compiled

from faithlib.engine import forward
from faithlib.metrics import fidelity
from faithlib.metrics.inputs import Inputs

TEXT = "the teacher saw the copper chair near the old station and the river"


@pytest.fixture
def inputs():
    """A model that reads "copper" alone, the fifth of 13 words: inputs of one text."""
    model = compiled("one_word", [TEXT])
    return Inputs(model, model.encode([TEXT]), [0], seed=1)


def scores_with(place, n=13):
    """Scores of 13 words with "copper" at this place of the ranking, and [CLS] and [SEP]."""
    order = np.delete(np.arange(n), 4).tolist()
    order.insert(place, 4)
    scores = np.zeros(n + 2)
    scores[np.array(order) + 1] = np.arange(n, 0, -1)
    return [scores]


def test_at_most_a_tenth_of_the_text_is_masked():
    assert [fidelity.masked_count(part, 40) for part in (1, 4, 6, 8, 40)] == [1, 2, 3, 4, 4]


@pytest.mark.parametrize(("place", "of"), [(0, (1, 4, 6)), (3, (np.inf, 4, 6)), (12, (np.inf,) * 3)])
def test_ffid_plus_is_the_chance_that_the_evidence_is_masked(inputs, place, of):
    """One of the 1, 4 or 6 tokens at the top is masked: the evidence with probability 1 / number."""
    fall = inputs.p_full - forward.probabilities(inputs.model, [forward.replaced(
        inputs.encodings[0], np.arange(15) == 5, inputs.model.mask_id)])[:, 0]  # fmt: skip
    expected = np.mean([1 / n for n in of]) * fall[0]
    (value,) = fidelity.f_fidelity_plus(inputs, scores_with(place), draws=2000)
    assert value == pytest.approx(expected, abs=0.02)
    if not expected:
        assert value == 0


def test_ffid_minus_falls_when_the_evidence_is_on_top(inputs):
    best, worst = (fidelity.f_fidelity_minus(inputs, scores_with(place), draws=200)[0] for place in (0, 12))
    assert best == 0 < worst == pytest.approx(np.mean([1 / 12, 1 / 9, 1 / 7]), abs=0.03)


def test_draws_are_the_same_for_all_rankings_and_whatever_is_scored_beside(inputs):
    assert np.ptp([fidelity.f_fidelity_plus(inputs, scores_with(2), 3) for _ in range(3)]) == 0
    twice = Inputs(inputs.model, inputs.encodings * 2, [0, 0], seed=1)
    both = fidelity.f_fidelity_plus(twice, scores_with(2) + scores_with(5), 3)
    assert both[0] == fidelity.f_fidelity_plus(inputs, scores_with(2), 3)[0]


def test_a_text_of_one_token_has_no_value():
    model = compiled("one_word", [TEXT, "copper"])
    inputs = Inputs(model, model.encode([TEXT, "copper"]), [0, 0], seed=1)
    for metric in (fidelity.f_fidelity_plus, fidelity.f_fidelity_minus):
        one, other = metric(inputs, [*scores_with(2), np.array([0, 1, 0])])
        assert np.isfinite(one) and np.isnan(other)
