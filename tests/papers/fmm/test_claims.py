"""Claims of fmm: each verdict on values that decide it, and when there is none."""

import json

import numpy as np
import pytest
from sample.fmm import every, masf_of

from faithlib.papers.fmm import claims, tables
from faithlib.report.claims import CLAIMS


def test_claims_say_what_the_values_were_made_to_say(records, points):
    found = tables.with_convergence(every(masf_of), records)
    table = claims.claims(tables.scores(records), points, found)
    assert list(table) == CLAIMS and set(table.definition) == {"paper", "released", "calibrated"}
    table = table[table.definition == "paper"].set_index("claim")

    def expect(start, verdict, value, published=None):
        (row,) = table[table.index.str.startswith(start)].to_dict("records")
        assert (row["verdict"], row["value"]) == (verdict, pytest.approx(value, abs=1e-3)), start
        assert published is None or row["published"] == pytest.approx(published, abs=5e-5)
        return row

    row = expect("masked fine-tuning loses no performance", "holds", -0.01)
    assert row["where"] == "sst2 -0.010 (2 seeds), cola -0.010 (2 seeds), whereabouts_2 -0.010 (2 seeds)"
    expect("everything masked: at or above", "holds", 0)
    expect("everything masked: below", "holds", 0.1)
    expect("masked data is in distribution with masked", "holds", 0.95)
    expect("masked data is in distribution in more tests", "holds", 0.95)
    expect("occlusion is the most faithful (", "holds", 0.5 * 0.225, 0.1854)
    expect("occlusion is the most faithful among", "holds", 0.1 * 0.225, 0.003)
    expect("signed above absolute: x∇x", "does not hold", -0.4 * 0.225, -0.0735)
    expect("signed above absolute: integrated", "holds", 0.2 * 0.225)
    expect("signed above absolute: leave-one-out", "holds", 0.5 * 0.225)
    expect("Beam at or above", "holds", 0.1 * 0.225)
    row = expect(
        "more faithful than the same",
        "does not hold",
        np.mean(
            [
                np.mean([0.36 - 0.261, 0.18 - 0.186, 0.36 - 0.329]),
                np.mean([0.36 - 0.578, 0.18 - 0.481, 0.36 - 0.42]),
            ]
        ),
        0.3666,
    )
    assert row["where"].endswith("Recursive ROAR: published") and "cola" not in row["where"]
    json.dumps(table.reset_index().to_dict("records"))


def test_one_seed_makes_no_claim(records, points):
    one = [r for r in records if r["params"]["seed"] == 0]
    found = tables.with_convergence(every(masf_of), records)
    assert claims.claims(tables.scores(one), points[points.seed == 0], found[found.seed == 0]).empty
    table = tables.racu(points[points.seed == 0])
    assert table.acu.notna().all() and table.acu_low.isna().all()


def test_a_flat_baseline_takes_no_part_against_recursive_roar(records, points):
    flat = points.assign(value=points.value.where(points.dataset != "sst2", 0.5))
    table = claims.claims(tables.scores(records), flat).set_index("claim")
    assert "sst2" not in table["where"]["more faithful than the same measures by Recursive ROAR (RACU)"]
    assert "sst2 +0.000" in table["where"]["Beam at or above leave-one-out"]
