"""The worst of the core cells: cross-fitting, verdicts, resolution and the flag."""

from itertools import combinations

import numpy as np
import pytest

from notebooks.ground_truth_2 import worst_case

RNG = np.random.default_rng(0)


def test_the_core_has_sixteen_cells():
    assert len(set(worst_case.CORE)) == 16
    assert {model for model, _ in worst_case.CORE} == set(worst_case.KIND.values()) - {"P4", "N3"}


def test_cross_fitting_takes_the_bias_of_a_minimum_away():
    studies = 0.8 + 0.06 * RNG.standard_normal((200, 10, 8))
    plain = np.mean([study.mean(0).min() for study in studies])
    fitted = np.mean([worst_case.worst(study) for study in studies])
    assert plain < 0.78 and fitted == pytest.approx(0.8, abs=0.005)


def test_cross_fitting_halves_the_seeds_in_all_ways():
    cells = np.array([[0.9, 0.4], [0.5, 0.6], [0.7, 0.8], [0.3, 0.9]])
    by_hand = []
    for one in combinations(range(4), 2):
        other = [seed for seed in range(4) if seed not in one]
        by_hand.append(cells[other][:, cells[list(one)].mean(0).argmin()].mean())
    assert worst_case.worst(cells) == pytest.approx(np.mean(by_hand))
    assert worst_case.worst(cells) == pytest.approx(worst_case.worst(cells[[2, 0, 3, 1]]))


def test_the_worst_cell_is_found_where_it_is_clear():
    cells = np.full((5, 4), 0.9)
    cells[:, 2] = [0.3, 0.4, 0.5, 0.4, 0.4]
    assert worst_case.worst(cells) == pytest.approx(0.4)
    with pytest.raises(ValueError, match="1 seeds cannot be halved"):
        worst_case.worst(cells[:1])


def test_a_seed_without_a_value_of_a_cell_keeps_its_others():
    cells = np.full((6, 3), 0.9)
    cells[:, 1] = [0.4, 0.5, np.nan, 0.4, 0.5, 0.45]
    assert worst_case.worst(cells) == pytest.approx(0.45)
    assert worst_case.limits(cells, 0.05)[0][1] == pytest.approx(
        worst_case.limits(cells[[0, 1, 3, 4, 5]], 0.05)[0][1]
    )
    assert worst_case.verdict(cells, 3) == "fails"
    cells[1:, 1] = np.nan  # no value in the second half
    assert worst_case.worst(cells) == pytest.approx(0.9) and worst_case.verdict(cells, 3) == "undecided"


@pytest.mark.parametrize(
    ("cells", "word"),
    [
        (np.full((5, 3), 0.8), "passes"),
        (np.full((2, 3), 0.8), "undecided"),
        ([[0.8, 0.6], [0.9, 0.6], [0.85, 0.9]], "undecided"),
        ([[0.8, 0.5], [0.9, 0.5], [0.85, 0.5]], "fails"),
        ([[0.8, 0.7], [0.9, 0.7], [0.85, 0.7]], "undecided"),  # not above .70
    ],
)
def test_verdicts(cells, word):
    cells = np.asarray(cells)
    assert worst_case.verdict(cells, cells.shape[1]) == word
    without_a_record = worst_case.verdict(cells, cells.shape[1] + 1)
    assert without_a_record == ("undecided" if word == "passes" else word)


def test_limits_by_hand():
    cells = np.array([[0.6], [0.7], [0.8]])
    low, high = worst_case.limits(cells, 0.05)
    assert (low[0], high[0]) == pytest.approx(
        (0.7 - 2.92 * 0.1 / 3**0.5, 0.7 + 2.92 * 0.1 / 3**0.5), abs=1e-4
    )


def test_resolution():
    assert worst_case.texts_needed([0.0, 0.2, 0.4, np.nan]) == pytest.approx(2.487**2)
    assert worst_case.texts_needed([-0.1, -0.2]) == np.inf
    assert worst_case.texts_needed([0.1, 0.1]) == 1


def test_the_flag():
    flagged = worst_case.flag([0.01, 0.02, 0.5, 0.6], [0, 1, 1, 0.5])
    assert flagged == {"share": 0.5, "inside": 0.5, "outside": 0.75, "auroc": 1}
    assert np.isnan(worst_case.flag([0.5], [1])["inside"])
