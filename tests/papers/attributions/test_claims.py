"""Claims of the study of attributions: each verdict on values that decide it, and when there is none."""

import numpy as np
import pandas as pd
import pytest
from sample.attributions import AROUND, SPREAD, N, unit

from notebooks.attributions import claims
from replication import __main__ as command
from replication.claims import CLAIMS


def record(dataset, seed=0, score=0.9):
    metrics = [{"metric": name, "split": "test", "value": score} for name in ("accuracy", "macro_f1")]
    return {
        "params": {"task": dataset, "model": "org/tiny", "seed": seed},
        "metrics": metrics,
        "design": "crossed",
    }


VALUES = unit(
    lime=SPREAD, deeplift=-SPREAD, random_normal=AROUND, leave_one_out=-AROUND, leave_one_out_abs=SPREAD
)


def test_claims_hold_where_every_example_agrees():
    values = pd.concat([VALUES, unit("topics", lime=3 * SPREAD)])
    verdicts, _ = claims.claims([record("sentiment"), record("topics")], values, "small")
    expected = {
        "lime above a random order": ("holds", (0.2 + 0.6) / 2),
        "deeplift above a random order": ("does not hold", -0.2),
        "random_normal above a random order": ("undecided", 0),
        "leave_one_out above a random order": ("undecided", 0),
        "leave_one_out_abs above a random order": ("holds", 0.2),
        "leave_one_out_abs above leave_one_out": ("holds", 0.2),
    }
    assert list(verdicts) == CLAIMS and list(verdicts.claim) == list(expected)
    assert list(verdicts.verdict) == [word for word, _ in expected.values()]
    assert set(verdicts.model) == {"tiny"} and set(verdicts.unit) == {"text"} and set(verdicts.n_units) == {N}
    assert list(verdicts.value) == pytest.approx([value for _, value in expected.values()])
    assert verdicts.cases[0] == "sentiment; topics" and verdicts.published.isna().all()
    assert (verdicts.ci_low < verdicts.value).all() and (verdicts.value < verdicts.ci_high).all()
    text = command.verdict_table(verdicts)  # what `make results` prints at its end
    assert text.count(" above ") == len(expected)


def test_rationales_of_people_have_rows_of_their_own_and_lend_generated_texts_nothing():
    seeds = [unit(seed=seed, lime=SPREAD + shift) for seed, shift in enumerate((-0.01, 0, 0.01))]
    rationales = unit("evidence_inference", model="org/large", lime=-SPREAD)
    records = [*(record("sentiment", seed) for seed in range(3)), record("evidence_inference")]
    records[-1]["params"]["model"] = "org/large"
    alone, _ = claims.claims(records[:3], pd.concat(seeds), "small")
    both, _ = claims.claims(records, pd.concat([*seeds, rationales]), "small")
    assert both.head(1).equals(alone) and both.verdict[0] == "holds" and both.model[0] == "tiny"
    assert list(both.claim[1:]) == ["lime above a random order, by marked rationales"]
    assert both.loc[1, ["verdict", "model", "unit", "n_units"]].tolist() == [
        "does not hold", "large", "text", N,
    ]  # fmt: skip
    records[-1] = record("evidence_inference", score=0.3)
    records[-1]["params"]["model"] = "org/large"
    gated, _ = claims.claims(records, pd.concat([*seeds, rationales]), "small")
    assert list(gated.verdict) == ["holds", "not tested"] and gated.reason[1] == "no data set passes the gate"


def test_three_seeds_are_crossed_and_two_have_no_verdict():
    seeds = [unit(seed=seed, lime=SPREAD + shift) for seed, shift in enumerate((-0.01, 0, 0.01))]
    records = [record("sentiment", seed) for seed in range(3)]
    (row,) = claims.claims(records, pd.concat(seeds), "small")[0].to_dict("records")
    half = 4.302653 * 0.01 / 3**0.5
    assert row["unit"] == "seed" and row["ci_high"] - row["value"] >= half - 1e-9
    (row,) = claims.claims(records[:2], pd.concat(seeds[:2]), "small")[0].to_dict("records")
    assert row["verdict"] == "undecided" and row["reason"].startswith("2 seeds") and np.isnan(row["ci_low"])


def test_choices_are_precision_and_texts_that_are_predicted_right():
    table, listed = claims.claims([record("sentiment")], VALUES, "small")
    lime = listed[listed.claim == "lime above a random order"].set_index("option").value
    assert lime["correctly predicted"] == pytest.approx(SPREAD[5:].mean())
    assert table.loc[0, ["agree", "of", "sign_equal"]].tolist() == [2, 2, 2]


def test_a_model_at_chance_is_not_tested():
    table, _ = claims.claims([record("sentiment", score=0.4)], VALUES, "small")
    assert set(table.verdict) == {"not tested"} and set(table.reason) == {"no data set passes the gate"}
    quick, _ = claims.claims([record("sentiment")], VALUES, "quick")
    assert (quick.verdict == "").all() and quick.value.notna().all()
