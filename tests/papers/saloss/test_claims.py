"""Claims of saloss: each verdict on values that decide it, and when there is none."""

import json

import numpy as np
import pytest
from sample.saloss import N, flips

from faithlib.papers.saloss import claims, tables
from faithlib.report.claims import CLAIMS


def test_one_seed_has_no_test(records):
    table = tables.fresh(records[:1])
    assert table.p_value.isna().all() and table.sd.isna().all()
    verdicts = claims.claims(records[:1], flips(), n_resamples=50).set_index("claim")
    row = verdicts.loc["better top-k rationales on SST and SemEval (macro-F1)"].iloc[0]
    assert row.verdict == "inconclusive" and np.isnan(row.ci_low) and "(1 seed)" in row["where"]


def test_claims_say_what_the_values_were_made_to_say(records, values):
    table = claims.claims(records, values, n_resamples=200)
    assert list(table) == CLAIMS and set(table.definition) == {"paper", "released"}
    own = table[table.definition == "paper"].set_index("claim")
    mean = own.loc["fewer tokens to a flip than the baseline, on average"]
    assert mean.verdict == "holds" and mean.value == pytest.approx(0.1 * (N - 2) / N)
    assert mean.published == pytest.approx(0.071)
    share = own.loc["fewer tokens to a flip in 19 of 20 cases (share)"]
    assert share.verdict == "holds" and share.value == 1 and share.published == 0.95
    assert share["where"] == "8 of 8 cases, 8 of them by a rank-sum at p < .05; lost: none"
    lead = own.loc["attention is the best attribution (lead over the best other)"]
    assert lead.value == pytest.approx(0.1 * (N - 2) / N) and lead.published == pytest.approx(0.016)
    others = ("TF-IDF", "χ²", "uniform")
    gains = own.value[[f"TextRank needs fewer tokens to a flip than {name}" for name in others]]
    assert gains.tolist() == pytest.approx(np.array([0.05, 0.08, 0.12]) * (N - 2) / N)
    same = own.loc["same performance: at most 0.02 of macro-F1 lost"]
    assert same.verdict == "holds" and same.value == pytest.approx(-0.005)
    better = own.loc["better top-k rationales on SST and SemEval (macro-F1)"]
    assert better.verdict == "holds" and better.value == pytest.approx(0.045) == better.published
    assert own.loc["better contiguous rationales on SST and SemEval (macro-F1)"].verdict == "does not hold"
    released = table[table.definition == "released"].set_index("claim")
    assert released.loc[mean.name].value == pytest.approx(0.05 * (N - 2) / N)
    assert "TextRank needs fewer tokens to a flip than χ²" not in released.index
    json.dumps(table.to_dict("records"))


def test_a_lost_case_is_named(records, values):
    worse = (values.dataset == "sst") & (values.salience == "textrank") & (values.attribution == "attention")
    values.loc[worse, "fraction"] += 0.3
    table = claims.claims(records, values, n_resamples=200).set_index("claim")
    row = table.loc["fewer tokens to a flip in 19 of 20 cases (share)"].iloc[0]
    assert row.verdict == "does not hold" and row.value == 7 / 8 and "lost: sst attention α" in row["where"]


def test_without_salience_there_is_no_claim(records, values):
    assert claims.claims(records, values[values.salience == "none"]).empty
