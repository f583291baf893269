"""Claims of noiser: each verdict on values that decide it, and when there is none."""

import json

import numpy as np
import pytest
from sample.noiser import agreement, found, judged

from faithlib.papers.noiser import claims
from faithlib.report.claims import CLAIMS


def test_claims_say_what_the_values_were_made_to_say(values):
    table = claims.claims(values, judged(), found(), agreement(), n_resamples=200)
    assert list(table) == CLAIMS and not table[["claim", "baseline", "definition"]].duplicated().any()
    own = table[table.definition == "paper"].set_index(["claim", "baseline"])
    lead = own.loc["Noiser is the most faithful (lead over the best other, log ratio)"]
    assert lead.value["random"] == pytest.approx(np.log(8 / 3)) and lead.verdict["random"] == "holds"
    assert lead.value["matched"] == pytest.approx(2 * np.log(2) - np.log(2))
    assert lead.published["random"] == pytest.approx(1.6168, abs=1e-4)
    assert np.isnan(lead.published["matched"])
    share = own.loc["Noiser is the most faithful everywhere (share of cases)", "random"]
    assert (share.value, share.verdict, share["where"]) == (1, "holds", "2 of 2 cases; lost: none")
    bounding = own.loc["k_min is the best bounding (lead over the best other, log ratio)", "random"]
    assert bounding.value == pytest.approx(np.log(16 / 9))
    assert bounding.published == pytest.approx(0.0918, abs=1e-4)
    score = own.loc["Noiser has the highest answerability score (top 1, lead over the next)", "none"]
    assert score.value == pytest.approx(0.665 - 0.48) and score.verdict == "holds" and score.published > 0
    rate = own.loc["occlusion has the highest answerability rate (top 1, lead over the next)", "none"]
    assert rate.value == pytest.approx(0.1) and rate.verdict == "holds"
    ranking = own.loc["Noiser: answerability score above its scores in random order (top 1)", "matched"]
    assert ranking.value == pytest.approx(0.2 * 0.95)
    claim = "Noiser ignores the distractor (its share of tokens less its share of scores)"
    ignored = own.loc[claim, "matched"]
    assert ignored.value == pytest.approx(0.25) and ignored.verdict == "holds"
    less = own.loc["Noiser gives the distractor less than the best other does", "none"]
    assert less.value == pytest.approx(0.2)
    known = own.loc["Noiser finds the known evidence (AUPRC above a random order)", "matched"]
    assert known.verdict == "holds"
    assert set(table.definition) == {"paper", "released"}
    json.dumps(table.to_dict("records"))


def test_a_lost_case_is_named(values):
    worse = (values.dataset == "world_facts") & (values.attribution == "noiser") & (values.baseline == "")
    values.loc[worse, "soft_nc"] = 0
    table = claims.claims(values, n_resamples=100).set_index(["claim", "baseline"])
    row = table.loc["Noiser is the most faithful everywhere (share of cases)", "random"].iloc[0]
    assert row.verdict == "does not hold" and row["where"] == "1 of 2 cases; lost: world_facts, tiny"


def test_without_noiser_there_is_no_claim(values):
    others = values[values.attribution != "noiser"]
    assert claims.claims(others, n_resamples=50).empty
