"""Claims of recursive_roar: each verdict on values that decide it, and when there is none."""

import pandas as pd
import pytest

from faithlib.papers.recursive_roar import claims
from faithlib.report.claims import CLAIMS


def test_claims_say_what_the_curves_were_made_to_say(points):
    table = claims.claims(points, n_resamples=200).set_index("claim")
    assert list(table.reset_index()) == CLAIMS
    assert "a measure's faithfulness differs between models (clearest difference)" not in table.index
    verdicts = table.verdict
    tasks = "which of two measures is more faithful depends on the task (smaller of both leads)"
    assert verdicts[tasks] == "holds"
    assert verdicts["attention is faithful (RACU above 0)"] == "holds"
    assert table.value["attention is faithful (RACU above 0)"] == pytest.approx(0.9, abs=1e-2)
    assert verdicts["attention leads the other measures (RACU less the best other)"] == "holds"
    assert verdicts["somewhere a cheaper gradient is more faithful than integrated gradients"] == "holds"
    assert verdicts["the top 20 % bring more than 20 % of the drop"] == "holds"
    leak = table.loc["class leakage: somewhere a curve rises by more than 1%"]
    assert leak.verdict == "holds" and leak.value == pytest.approx(0.9 - 0.75 - 0.01, abs=2e-3)
    assert "from 50 to 60 %" in leak["where"]
    gain = table.loc["Recursive ROAR finds measures more faithful than ROAR does"]
    assert gain.value == pytest.approx(0.45 / 3, abs=1e-2)  # attention gains, the other two do not


def test_two_models_are_compared(points):
    other = points[points.dataset == "sst"].assign(model="other")
    other.loc[other.measure == "attention", "value"] = other[other.measure == "random"].value.to_numpy()
    table = claims.claims(pd.concat([points, other]), n_resamples=200).set_index("claim")
    row = table.loc["a measure's faithfulness differs between models (clearest difference)"]
    assert row.verdict == "holds" and row.value == pytest.approx(0.9, abs=1e-2)
    assert "sst, attention" in row["where"]
    # The encoder's attention, equal to random, has rows of its own.
    assert table.value["attention is faithful (RACU above 0)"] == pytest.approx(0.9, abs=1e-2)
    assert table.value["an encoder's attention is faithful (RACU above 0)"] == pytest.approx(0, abs=1e-2)
    where = table["where"]["the top 20 % bring more than 20 % of the drop"]
    assert "sst, bilstm, attention +0.797" in where and "sst, other, attention -0.003" in where


def test_the_top_20_percent_are_what_a_grid_has_at_20_percent(points):
    claim = "the top 20 % bring more than 20 % of the drop"
    whole = points[points.recursive]

    def values(*steps):
        some = whole[whole.step.isin([0, *steps, 100])]
        return claims.claims(some, n_resamples=50).set_index("claim").value

    assert values(20, 50)[claim] == pytest.approx(values(*range(10, 100, 10))[claim])
    assert claim not in values(25, 50) and len(values(25, 50))
