"""Claims of the study of attributions: each verdict on values that decide it, and when there is none."""

import pandas as pd
import pytest
from sample.attributions import AROUND, SPREAD, unit

from faithlib.papers.attributions import claims
from faithlib.report import __main__ as command


def test_claims_hold_where_every_example_agrees():
    one = unit(
        lime=SPREAD, deeplift=-SPREAD, random_normal=AROUND, leave_one_out=AROUND, leave_one_out_abs=SPREAD
    )
    values = pd.concat([one, unit("topics", lime=3 * SPREAD)])
    verdicts = claims.claims(values)
    expected = {
        "lime above a random order": ("holds", (0.2 + 0.6) / 2),
        "deeplift above a random order": ("does not hold", -0.2),
        "random_normal above a random order": ("inconclusive", 0),
        "leave_one_out above a random order": ("inconclusive", 0),
        "leave_one_out_abs above a random order": ("holds", 0.2),
        "leave_one_out_abs above leave_one_out": ("holds", 0.2),
    }
    assert list(verdicts.claim) == list(expected)
    assert list(verdicts.verdict) == [verdict for verdict, _ in expected.values()]
    assert list(verdicts.value) == pytest.approx([value for _, value in expected.values()])
    assert verdicts["where"][0] == "sentiment +0.200, topics +0.600"
    assert (verdicts.ci_low <= verdicts.value).all() and (verdicts.value <= verdicts.ci_high).all()
    text = command.verdict_table(verdicts)  # what `make results` prints at its end
    assert all(claim.split()[0] in text for claim in expected)
