"""Percentile intervals of resampled means: groups drawn anew, leads, and rows with a verdict."""

import numpy as np
import pandas as pd
import pytest

from faithlib.report import resampled as claims
from faithlib.statistics import mean_over_groups

NAN = float("nan")
VALUES = pd.DataFrame(
    [
        {"dataset": dataset, "example": i, "attribution": name, "value": value + i}
        for dataset, count in (("sst", 3), ("imdb", 2))
        for i in range(count)
        for name, value in (("lime", 1.0), ("attention", 0.5))
    ]
)


def test_groups_keep_examples_that_have_every_cell():
    part = VALUES.drop(index=0)  # example 0 of sst has no "lime"
    cells = claims.pivot_groups(part, ["dataset"], ["attribution"], "value")
    assert list(cells) == [("sst",), ("imdb",)]
    assert cells["sst",].index.tolist() == [1, 2] and cells["sst",].lime.tolist() == [2, 3]
    nothing = claims.pivot_groups(VALUES.assign(value=NAN), ["dataset"], ["attribution"], "value")
    assert all(len(frame) == 0 for frame in nothing.values())


def test_the_first_row_is_the_estimate_and_cells_are_drawn_together():
    cells = claims.pivot_groups(VALUES, ["dataset"], ["attribution"], "value")
    found = claims.resampled(cells, 20, seed=1)
    assert len(found["sst",]) == 21 and found["sst",].lime[0] == 2
    for means in found.values():  # the same examples for both attributions
        assert (means.lime - means.attention).to_numpy() == pytest.approx(0.5)
    again = claims.resampled(cells, 20, seed=1)
    assert all(found[key].equals(again[key]) for key in found)
    same = {key: cells["sst",] for key in cells}
    apart, alike = claims.resampled(same, 20, 1), claims.resampled(same, 20, 1, dict.fromkeys(same, 0))
    assert not apart["sst",].equals(apart["imdb",]) and alike["sst",].equals(alike["imdb",])
    assert claims.resampled({"none": cells["sst",][:0]}, 5, 0) == {}


def test_leads_are_over_the_highest_other():
    means = pd.DataFrame({"a": [3.0, 1.0], "b": [1.0, 2.0], "c": [2.0, 0.0]})
    assert claims.lead(means, "a", ["b", "c"]).tolist() == [1, -1]
    assert claims.published_lead(means, "a") == 0
    assert claims.mean_of({1: np.array([1.0, 2.0]), 2: np.array([3.0, 4.0])}).tolist() == [2, 3]


def test_an_estimate_and_what_makes_it_up():
    value, low, high = claims.estimate(np.r_[0.5, np.linspace(0, 1, 101)])
    assert (value, low, high) == pytest.approx((0.5, 0.025, 0.975))
    cases = {
        ("sst", "x"): np.array([0.25, 9]),
        ("sst", "y"): np.array([0.75, 9]),
        ("cb", "x"): np.array([-1.0]),
    }
    assert claims.by_dataset(cases) == "sst +0.500, cb -1.000"


def test_a_row_has_the_columns_and_the_verdict():
    row = claims.row("A above B", (0.2, 0.1, 0.3), "sst", published=0.5, definition="released")
    assert list(row) == claims.CLAIMS
    assert (row["verdict"], row["baseline"], row["published"]) == ("holds", "random", 0.5)
    assert claims.row("A above B", (-0.2, -0.3, -0.1))["verdict"] == "does not hold"
    assert claims.row("A above B", (0.2, NAN, NAN))["verdict"] == "inconclusive"
    with pytest.raises(ValueError):
        claims.row("A above B", (0.2, 0.3, 0.1))


def test_a_row_over_seeds_names_data_sets_and_models():
    gains = {
        ("sst", "bilstm"): np.array([0.1, 0.2]),
        ("sst", "bert"): np.array([0.3]),
        ("cb", "bert"): np.ones(2),
    }
    row = claims.row_over_seeds("A above B", gains, published=0.4)
    assert row["where"] == ("sst, bilstm +0.150 (2 seeds), sst, bert +0.300 (1 seed), cb +1.000 (2 seeds)")
    assert (row["value"], row["ci_low"], row["ci_high"]) == pytest.approx(mean_over_groups(gains.values()))
    assert claims.row_over_seeds("A above B", {}) is None
