"""Claims of soft_metrics: each verdict on values that decide it, and when there is none."""

import pandas as pd
import pytest
from sample.soft_metrics import N

from faithlib.papers.soft_metrics.claims import claims


def test_claims_and_their_verdicts(preferred):
    table = claims(preferred)
    assert list(table.columns)[:7] == ["claim", "baseline", "verdict", "value", "ci_low", "ci_high", "where"]
    paper = table[table.definition == "paper"]
    normal = paper[paper.baseline == "normal"].set_index("claim")
    expected = {  # value by hand from WINS
        "Soft-NS above NS on average": (14 - 7) / N,
        "Soft-NC above NC on average": (18 - 10) / N,
        "soft above hard in 16 of 18 cases (share)": 1.0,
        "NC above NS on average": (10 - 7) / N,
        "Soft-NC above Soft-NS on average": (18 - 14) / N,
        "Soft-NS varies less over attributions than NS": 1 / N,  # sd of 6 and 8 is 1
        "Soft-NC varies less over attributions than NC": 2 / N,
    }
    assert normal.value.to_dict() == pytest.approx(expected)
    assert (normal.verdict[:3] == "holds").all()
    assert normal.published["Soft-NS above NS on average"] == pytest.approx(0.113)
    assert normal["where"]["soft above hard in 16 of 18 cases (share)"] == ("8 of 8 cases; lost: none")
    matched = paper[paper.baseline == "matched"].set_index("claim")
    assert matched.value["Soft-NS above NS on average"] == pytest.approx((8 - 7) / N)
    assert matched.value["soft above hard in 16 of 18 cases (share)"] == 0.5
    assert matched.verdict["soft above hard in 16 of 18 cases (share)"] == "does not hold"
    assert "Soft-NC (deeplift, sst, topics)" in matched["where"]["soft above hard in 16 of 18 cases (share)"]
    assert matched.published.isna().all()
    shift = paper[paper.baseline == "normal - matched"].set_index("claim").value
    assert shift["Soft-NS less above NS against matched baseline"] == pytest.approx(6 / N)
    assert shift["Soft-NC less above NC against matched baseline"] == pytest.approx(8 / N)
    assert set(table.definition) == {"paper", "released"}


def test_claims_do_not_depend_on_chance_and_do_without_a_matched_baseline(preferred):
    pd.testing.assert_frame_equal(claims(preferred), claims(preferred))
    table = claims(preferred[preferred.baseline == "normal"])
    assert set(table.baseline) == {"normal"} and table.value.notna().all()
