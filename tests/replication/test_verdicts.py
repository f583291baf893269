"""import doctest"""

import math

import numpy as np
import pytest
from sample.statistics import (
    DOWN,
    EQUAL,
    FAILS,
    HOLDS,
    INCONCLUSIVE,
    TWO,
    UNTESTED,
    UP,
    scores_of_models,
    verdict_of,
)

from faithlib.statistics import gates, seeds_interval, text_interval
from replication import cases, multiverse, verdicts


@pytest.mark.parametrize(
    ("interval", "relation", "bound", "expected"),
    [
        ((0.1, 0.2), ">", 0, HOLDS),
        ((-0.2, -0.1), ">", 0, FAILS),
        ((-0.1, 0.1), ">", 0, INCONCLUSIVE),
        ((0.1, 0.2), "<", 0, FAILS),
        ((0.1, 0.2), "<", 0.3, HOLDS),
        ((0.95, 1.0), ">=", 0.95, INCONCLUSIVE),  # met exactly
        ((0.95 + 1e-12, 1.0), ">", 0.95, INCONCLUSIVE),  # within rounding
        ((0.1 + 0.2, 0.4), ">", 0.3, INCONCLUSIVE),
        ((0.8, 0.9), "<=", 0.9, INCONCLUSIVE),
        ((0.8, 0.9), ">=", 0.9, INCONCLUSIVE),
        ((math.nan, math.nan), ">", 0, UNTESTED),
    ],
)
def test_decide(interval, relation, bound, expected):
    assert verdicts.decide(*interval, relation, bound) == expected


def test_judge_fills_the_columns_of_the_claims_table():
    row = verdicts.judge(UP, name="sst").row("MiniLM")
    assert list(row) == verdicts.ROW
    assert row["verdict"] == "holds (MiniLM, 3 seeds)"
    assert (row["ci_low"], row["ci_high"]) == UP.ends()
    assert (row["unit"], row["n_units"], row["cases"], row["failing_cases"]) == ("seed", 3, "sst", "")
    assert verdicts.judge(DOWN, name="sst").failing_cases == ("sst",)


def test_without_an_interval_a_claim_is_not_tested():
    for interval, reason in ((TWO, "2 seeds: an interval needs 3"), (EQUAL, "all values are equal")):
        found = verdicts.judge(interval, name="sst")
        assert found.text("MiniLM") == f"not tested ({reason})"
        assert found.value == interval.value and math.isnan(found.low)
        assert found.row()["n_units"] == 0 and found.row()["cases"] == "sst"


def test_a_verdict_on_texts_is_for_its_model():
    found = verdicts.judge(text_interval(np.linspace(0.1, 0.3, 12)))
    assert found.text("stories260K") == "holds for stories260K (12 texts)"


def test_a_bootstrap_bound_near_the_threshold_is_borderline():
    x = np.random.default_rng(0).normal(0.3, 1, 50)
    found = text_interval(x, ("sst",))
    assert verdicts.judge(found, bound=found.low - 1e-6).borderline
    assert verdicts.judge(found, bound=found.low - 1e-6).word == HOLDS
    assert not verdicts.judge(found, bound=found.low - 0.1).borderline


def test_equivalence():
    near, far = seeds_interval([0.001, -0.001, 0.002]), seeds_interval([0.2, 0.21, 0.22])
    assert verdicts.equivalence(near, 0.02).word == HOLDS
    assert verdicts.equivalence(far, 0.02).word == FAILS
    assert verdicts.equivalence(near, 0.002).word == INCONCLUSIVE
    assert verdicts.equivalence(near, near.high).word == INCONCLUSIVE  # met exactly
    assert verdicts.equivalence(near, 0.02, bound=-0.2).word == FAILS
    assert verdicts.equivalence(TWO, 0.02).word == UNTESTED
    assert verdicts.equivalence(far, 0.02, name="sst").failing_cases == ("sst",)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: verdicts.Verdict("true"), "unknown verdict 'true'"),
        (lambda: verdicts.decide(0, 1, "=="), "unknown relation '=='"),
        (lambda: verdicts.decide(1, 0), "not an interval"),
        (lambda: cases.average({}), "at least one"),
        (lambda: cases.average({"sst": TWO}), "no interval for sst"),
        (lambda: cases.average({"a": UP, "b": text_interval([1, 2, 3.5])}), "do not mix"),
        (lambda: verdicts.equivalence(UP, 0), "margin 0"),
        (lambda: gates.gate([0.1, 0.2], [0.5], 2), "2 scores, 1 balanced"),
        (lambda: gates.gate([0.1], [50.0], 2), "give fractions"),
        (lambda: gates.gate([0.1], [0.5], 1), "at least 2"),
        (lambda: gates.gate_table(scores_of_models().drop(columns="chance")), "no column chance"),
        (lambda: gates.gate_table(scores_of_models(seed=0)), "several scores"),
        (lambda: gates.gate_table(scores_of_models(classes=[2, 2, 3] * 2)), "seeds differ in classes"),
        (lambda: multiverse.multiverse("c", verdict_of(HOLDS), {}), "has no options"),
        (
            lambda: multiverse.multiverse("c", verdict_of(HOLDS), {("main", "a"): verdict_of(HOLDS)}),
            "reserved",
        ),
        (
            lambda: multiverse.multiverse(
                "c", verdict_of(HOLDS), {("a", "b"): verdict_of(HOLDS)}, {("a", "c"): UP}
            ),
            "a: c",
        ),
    ],
)
def test_errors_are_one_clear_line(call, words):
    with pytest.raises(ValueError, match=words) as error:
        call()
    assert "\n" not in str(error.value)
