"""Gates: which models are above chance."""

import pytest
from sample.statistics import scores_of_models

from faithlib.statistics import (
    gates,
)


def test_gate_needs_interval_and_margin():
    accepted = gates.gate([0.31, 0.27, 0.29], [0.62, 0.60, 0.63], classes=2)
    assert accepted.accepted and accepted.tested and accepted.reason == ""
    assert accepted.margin == pytest.approx(0.616667 - 0.5, abs=1e-6)
    noisy = gates.gate([0.5, 0.0, 0.1], [0.75, 0.50, 0.55], classes=2)
    assert not noisy.accepted and noisy.reason.startswith("score 0.200 [-0.457, 0.857] is not above chance")
    small = gates.gate([0.06, 0.06, 0.07], [0.53, 0.53, 0.54], classes=2)
    assert not small.accepted and "less than 0.05 above chance (0.500)" in small.reason
    assert gates.gate([0.2, 0.21, 0.22], [0.55, 0.55, 0.55], classes=2).accepted  # .05 exactly


def test_gate_without_an_interval_is_on_the_means():
    perfect = gates.gate([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], classes=6)
    assert perfect.accepted and not perfect.tested
    assert gates.gate([0.3], [0.65], classes=2).accepted
    assert not gates.gate([0.0, 0.0, 0.0], [0.5, 0.5, 0.5], classes=2).accepted


def test_gate_table_lists_what_fails_with_its_numbers():
    table = gates.gate_table(scores_of_models())
    assert table.accepted.tolist() == [True, False]
    failed = table.set_index("dataset").loc["multirc"]
    assert failed.value == pytest.approx(1.1 / 3) and failed.n_seeds == 3
    assert "0.367" in failed.reason and "0.400" in failed.reason


def test_chance_falls_with_the_number_of_classes():
    gate = gates.gate([0.32, 0.33, 0.34], [0.32, 0.33, 0.34], classes=4, chance=0.25)
    assert gate.accepted and gate.margin == pytest.approx(0.08)
