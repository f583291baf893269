"""Verdicts of one interval: decided, judged, within a margin, in a sentence."""

import math

import numpy as np
import pytest
from sample.statistics import (
    DEPENDS,
    DOWN,
    EQUAL,
    FAILS,
    HOLDS,
    TWO,
    UNDECIDED,
    UNTESTED,
    UP,
    scores_of_models,
    verdict_of,
)
from wrong import refused

from faithlib.statistics import Interval, gates, seeds_interval, text_interval
from replication import cases, multiverse, verdicts


@pytest.mark.parametrize(
    ("interval", "relation", "bound", "expected"),
    [
        ((0.1, 0.2), ">", 0, HOLDS),
        ((-0.2, -0.1), ">", 0, FAILS),
        ((-0.1, 0.1), ">", 0, UNDECIDED),
        ((0.1, 0.2), "<", 0, FAILS),
        ((0.1, 0.2), "<", 0.3, HOLDS),
        ((0.95, 1.0), ">=", 0.95, UNDECIDED),  # met exactly
        ((0.95 + 1e-12, 1.0), ">", 0.95, UNDECIDED),  # within rounding
        ((0.1 + 0.2, 0.4), ">", 0.3, UNDECIDED),
        ((0.8, 0.9), "<=", 0.9, UNDECIDED),
        ((0.8, 0.9), ">=", 0.9, UNDECIDED),
        ((math.nan, math.nan), ">", 0, UNTESTED),
    ],
)
def test_decide(interval, relation, bound, expected):
    assert verdicts.decide(*interval, relation, bound) == expected


def test_judge_fills_the_columns_of_the_claims_table():
    verdict = cases.on_average({"sst": UP})
    row = verdict.row()
    assert list(row) == verdicts.ROW
    assert row["verdict"] == HOLDS and verdict.text("MiniLM") == "holds (MiniLM, 3 seeds)"
    assert (row["ci_low"], row["ci_high"]) == UP.ends()
    assert (row["unit"], row["n_units"], row["cases"], row["failing_cases"]) == ("seed", 3, "sst", "")
    assert cases.on_average({"sst": DOWN}).failing_cases == ("sst",)


def test_without_an_interval_a_claim_is_undecided_and_without_a_value_not_tested():
    for interval, reason in ((TWO, "2 seeds: an interval needs 3"), (EQUAL, "all values are equal")):
        verdict = cases.on_average({"sst": interval})
        assert verdict.text("MiniLM") == f"undecided ({reason})"
        assert verdict.value == interval.value and math.isnan(verdict.low)
        assert verdict.row()["n_units"] == 0 and verdict.row()["other_cases"] == "sst"
    assert verdicts.judge(Interval(math.nan, "seed", 0, reason="no record")).word == UNTESTED


def test_a_verdict_on_texts_is_for_its_model():
    verdict = verdicts.judge(text_interval(np.linspace(0.1, 0.3, 12)))
    assert verdict.text("stories260K") == "holds for stories260K (12 texts)"


def test_a_bootstrap_bound_near_the_threshold_is_borderline():
    x = np.random.default_rng(0).normal(0.3, 1, 50)
    interval = text_interval(x, ("sst",))
    assert verdicts.judge(interval, bound=interval.low - 1e-6).borderline
    assert verdicts.judge(interval, bound=interval.low - 1e-6).word == HOLDS
    assert not verdicts.judge(interval, bound=interval.low - 0.1).borderline


def test_within_a_margin_is_two_one_sided_tests():
    near, far = seeds_interval([0.001, -0.001, 0.002]), seeds_interval([0.2, 0.21, 0.22])

    def asked(interval, margin, **more):
        return verdicts.within_margin(verdicts.judge(interval, **more), margin)

    assert asked(near, 0.02) == "yes" and asked(far, 0.02) == "no"
    assert asked(near, 0.002) == UNDECIDED
    assert asked(near, near.ends(0.9)[1]) == UNDECIDED  # met exactly
    assert near.high > near.ends(0.9)[1] + 1e-6 and asked(near, near.high) == "yes"  # two tests at .05
    assert asked(near, 0.02, relation=">=", bound=-0.02) == "yes"  # a loss of .02 is allowed: 0 is no effect
    assert asked(near, 0.02, bound=0.5) == "no"
    assert asked(TWO, 0.02) == ""


def test_at_least_half_of_the_published_effect():
    half = verdicts.at_least_half
    assert half(verdicts.judge(UP), 0.1) == "yes" and half(verdicts.judge(UP), 0.5) == "no"
    assert half(verdicts.judge(UP), 0.22) == UNDECIDED
    assert half(verdicts.judge(DOWN, "<"), -0.5) == "yes" and half(verdicts.judge(DOWN), 0.5) == "no"
    for interval, published in ((UP, -0.1), (UP, math.nan), (TWO, 1)):
        assert half(verdicts.judge(interval), published) == ""


def test_a_sentence_says_what_a_row_holds():
    row = verdict_of(HOLDS).row() | {"model": "MiniLM"}
    assert verdicts.sentence(row | {"verdict": ""}) == ""
    assert verdicts.sentence(row | {"not_shown_with": "ties; sign"}) == (
        "holds (not shown with ties, sign; MiniLM, 3 seeds)"
    )
    below = row | {"failing_cases": "imdb", "quantifier": "on average"}
    assert verdicts.sentence(below) == "holds on average, not shown on imdb (MiniLM, 3 seeds)"
    apart = row | {"verdict": DEPENDS, "depends_on": "the data set", "reason": "above on sst, below on imdb"}
    text = "depends on the data set (above on sst, below on imdb; MiniLM, 3 seeds)"
    assert verdicts.sentence(apart) == text


UP_HOLDS = verdict_of(HOLDS)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: verdicts.Verdict("true"), "verdict='true' is unknown: use 'holds'"),
        (lambda: verdicts.decide(0, 1, "=="), "unknown relation '=='"),
        (lambda: verdicts.decide(1, 0), "not an interval"),
        (lambda: cases.average({}), "at least one"),
        (lambda: cases.average({"sst": TWO}), "no interval for sst"),
        (lambda: cases.average({"a": UP, "b": text_interval([1, 2, 3.5])}), "do not mix"),
        (lambda: verdicts.within_margin(verdicts.judge(UP), 0), "margin 0"),
        (lambda: gates.gate([0.1, 0.2], [0.5], 2), "2 scores, 1 balanced"),
        (lambda: gates.gate([0.1], [50.0], 2), "give fractions"),
        (lambda: gates.gate([0.1], [0.5], 1), "at least 2"),
        (lambda: gates.gate_table(scores_of_models().drop(columns="chance")), "no column chance"),
        (lambda: gates.gate_table(scores_of_models(seed=0)), "several scores"),
        (lambda: gates.gate_table(scores_of_models(classes=[2, 2, 3] * 2)), "seeds differ in classes"),
        (lambda: multiverse.multiverse("c", UP_HOLDS, {}), "has no options"),
        (lambda: multiverse.multiverse("c", UP_HOLDS, {("main", "a"): UP_HOLDS}), "reserved"),
    ],
)
def test_errors_are_one_clear_line(call, words):
    refused(words, call)
