"""Agreement of ours with the published cells: by hand, and over the cells of a paper."""

import numpy as np
import pytest

from replication import printed


def test_agreement_by_hand(paper, monkeypatch):
    write, folder = paper
    write()
    few = printed.agreement("mine", folder).iloc[0]
    monkeypatch.setattr(printed, "LEAST", 1)
    first = printed.agreement("mine", folder).set_index("table").loc["Table 1"]
    assert (first.cells, first.of, first.at_chance) == (2, 8, 2)
    assert first.pairs == 1 and first.level == pytest.approx(0.7 / 0.3) and np.isnan(few.level)
    assert printed.same_order(np.array([1, 1, 2]), np.array([1, 2, 2]), np.zeros(3)) == 0.75


def test_agreement_has_intervals_over_cells():
    table = printed.agreement("recursive_roar").set_index("table").loc["Table 2"]
    assert table.spearman_low < table.spearman < table.spearman_high and 0 <= table["pairs"] <= 1
