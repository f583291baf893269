"""Claims over data sets: somewhere, on average, everywhere, and what takes no part."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sample.statistics import DOWN, EQUAL, FAILS, HOLDS, TWO, UNDECIDED, UP, WIDE
from scipy import stats

from faithlib import statistics
from faithlib.statistics import crossed_interval, seeds_interval, text_interval
from replication import cases, verdicts


def test_failing_cases_are_point_estimates():
    several = {"up": UP, "down": DOWN, "zero": seeds_interval([-0.1, 0.1, 0.0]), "two": TWO}
    assert cases.failing_cases(several) == ("down", "zero")
    assert cases.failing_cases(several, ">=") == ("down",)
    assert cases.failing_cases(several, "<") == ("up", "zero", "two")


NULL = seeds_interval([-0.01, 0.0, 0.01])


def test_somewhere_by_hand():
    # t = .11 / (.01 / √3) = 19.05 of 2 degrees: p = .00137, more than .025 / 19, less than .025 / 18
    p = stats.t.sf(0.11 / (0.01 / np.sqrt(3)), 2)
    assert UP.pvalue() == pytest.approx(p)
    several = {"up": UP} | {f"null {i}": NULL for i in range(17)}
    holds, not_yet = cases.somewhere(several), cases.somewhere(several | {"null 17": NULL})
    assert cases.somewhere(several | {"two seeds": TWO}).word == UNDECIDED  # looked at without an interval
    assert (holds.word, holds.shown_on) == (HOLDS, ("up",)) and holds.low > 0
    assert (not_yet.word, not_yet.shown_on) == (UNDECIDED, ()) and not_yet.low < 0
    assert not_yet.reason == "too few seeds for 19 comparisons (t is 19.1, must exceed 19.5)"
    assert holds.low == pytest.approx(0.11 - stats.t.ppf(1 - 0.025 / 18, 2) * 0.01 / np.sqrt(3))


def test_somewhere_takes_the_larger_of_the_own_and_the_pooled_p():
    # s of UP is .01, of WIDE .2646: pooled over 2 + 2 degrees √((.01² + .2646²) / 2) = .1872
    assert WIDE.components[-1][0] * np.sqrt(3) == pytest.approx(0.26458, abs=1e-5)
    pooled = cases.pooled({"up": UP, "wide": WIDE})
    p = stats.t.sf(0.11 / (np.sqrt((0.01**2 + 0.07) / 2) / np.sqrt(3)), 4)
    assert pooled["up"].pvalue() == pytest.approx(p) and p > UP.pvalue()
    assert pooled["wide"].pvalue() == WIDE.pvalue()  # its own is the larger
    assert cases.somewhere({"up": UP}).word == HOLDS
    assert cases.somewhere({"up": UP, "wide": WIDE}).word == UNDECIDED
    texts = text_interval(np.linspace(0.1, 0.3, 12))
    assert cases.pooled({"texts": texts, "up": UP})["texts"] is texts


def test_somewhere_does_not_hold_only_if_every_interval_is_on_the_other_side():
    down = {f"down {i}": DOWN for i in range(3)}
    assert cases.somewhere(down).word == FAILS
    assert cases.somewhere(down | {"wide": WIDE}).word == UNDECIDED
    assert cases.somewhere(down | {"two": seeds_interval([-0.3, -0.4])}).word == UNDECIDED
    assert cases.somewhere(down, "<").shown_on == tuple(down)


def test_average_is_welchs():
    a, b = [0.1, 0.5, 0.3], [0.2, 0.21, 0.19, 0.24, 0.2]
    interval = cases.average({"a": seeds_interval(a), "b": seeds_interval(b)})
    # the mean of a and b is half the difference of a and -b
    minus = np.negative(b)
    test = stats.ttest_ind_from_stats(
        np.mean(a), np.std(a, ddof=1), 3, minus.mean(), minus.std(ddof=1), 5, equal_var=False
    )
    expected = stats.ttest_ind(a, minus, equal_var=False).confidence_interval(0.95)
    assert interval.two_sided() == pytest.approx(test.pvalue)
    assert interval.ends() == pytest.approx((expected.low / 2, expected.high / 2))
    assert interval.n_units == 3


def test_the_difference_of_two_models_is_welchs():
    one, two = [0.5, 0.6, 0.9], [0.1, 0.2, 0.15, 0.4]
    interval = cases.difference(seeds_interval(one), seeds_interval(two))
    low, high = stats.ttest_ind(one, two, equal_var=False).confidence_interval()
    assert (interval.low, interval.high) == (pytest.approx(low), pytest.approx(high))
    assert not cases.difference(seeds_interval(one), seeds_interval(two[:2])).exists


def test_average_of_one_case_is_the_case():
    x = crossed_interval(np.random.default_rng(1).normal(size=(3, 40)))
    for case in (UP, x):
        assert cases.average({"one": case}).ends() == pytest.approx(case.ends())


def test_average_of_crossed_cases_is_the_wider_of_both_variances():
    rng = np.random.default_rng(2)
    x = [rng.normal(size=(3, 40)) + rng.normal(size=40) for _ in range(2)]
    interval = cases.average(dict(enumerate(map(crossed_interval, x))))
    seeds = cases.average({i: seeds_interval(part.mean(axis=1)) for i, part in enumerate(x)})
    assert interval.low <= seeds.low and interval.high >= seeds.high
    two_way = sum(crossed_interval(part).components[0][0] ** 2 for part in x)
    assert interval.components[0][0] == pytest.approx(np.sqrt(two_way) / 2)


def test_on_average_lists_cases_that_fail():
    slightly = seeds_interval([-0.01, -0.02, 0.01])
    verdict = cases.on_average({"sst": seeds_interval([0.3, 0.31, 0.32]), "cola": slightly})
    assert verdict.text("MiniLM") == "holds on average, not shown on cola (MiniLM, 3 seeds)"
    assert verdict.row()["failing_cases"] == "cola"


def test_on_average_names_the_range_of_seeds():
    five = seeds_interval([0.1, 0.11, 0.12, 0.09, 0.13])
    verdict = cases.on_average({"sst": UP, "agnews": five})
    assert verdict.text() == "holds (3–5 seeds)" and verdict.row()["n_units"] == 3


def test_single_seeds_take_no_part_in_the_interval_but_can_change_the_sign():
    several = {"sst": UP, "agnews": UP}
    verdict = cases.on_average(several)
    beside = cases.on_average(several | {"multirc": seeds_interval([-0.1])})
    assert (beside.low, beside.high, beside.word) == (verdict.low, verdict.high, HOLDS)
    assert beside.value_all == pytest.approx(0.04) and beside.other_cases == ("multirc",)
    assert beside.text() == "holds on average, not shown on multirc (3 seeds)"
    changed = cases.on_average(several | {"multirc": seeds_interval([-0.6])})
    assert changed.text() == "undecided (depends on data sets with fewer than 3 seeds; 3 seeds)"
    assert (changed.low, changed.high) == (verdict.low, verdict.high)


def test_texts_of_one_model_take_no_part_beside_seeds():
    texts = text_interval(np.linspace(-0.9, -0.8, 12))
    verdict = cases.on_average({"sst": UP, "agnews": UP, "one model": texts})
    assert verdict.cases == ("sst", "agnews") and verdict.word == UNDECIDED
    above = text_interval(np.linspace(0.8, 0.9, 12))
    assert cases.somewhere({"sst": DOWN, "one model": above}).shown_on == ()
    assert cases.everywhere({"sst": UP, "one model": texts}).word == UNDECIDED
    alone = cases.on_average({"a": texts, "b": texts})
    assert (alone.word, alone.unit) == (FAILS, "text")


def test_constant_data_sets_count_in_the_mean_and_decide_nothing():
    both = cases.on_average({"sst": UP, "constant": seeds_interval([0.0, 0.0, 0.0])})
    alone = cases.on_average({"sst": UP})
    ends = both.value, both.low, both.high
    assert ends == pytest.approx([x / 2 for x in (alone.value, alone.low, alone.high)])
    assert (both.word, both.cases) == (alone.word, ("sst", "constant")) and math.isnan(both.value_all)
    turned = cases.on_average({"sst": UP, "constant": seeds_interval([-1.0, -1.0, -1.0])})
    assert turned.text() == "undecided (depends on data sets whose values are all equal; 3 seeds)"
    equal = seeds_interval([0.2, 0.2, 0.2])
    assert cases.on_average({"a": equal, "b": equal}).word == UNDECIDED
    assert cases.on_average({"sst": UP, "two": seeds_interval([0.0, 0.0])}).cases == ("sst",)


def test_mixed_needs_both_sides_after_holm():
    text = "depends on the data set (above on sst, below on babi; 3 seeds)"
    assert cases.on_average({"sst": UP, "babi": DOWN}).text() == text
    # two-sided p of .030 each: beyond .05 / 2
    above, below = seeds_interval([0.8, 1.0, 1.4]), seeds_interval([-0.8, -1.0, -1.4])
    assert 0.025 < above.two_sided() < 0.05
    assert not cases.on_average({"above": above, "below": below}).depends_on
    assert cases.on_average({"up": UP, "down": DOWN}, bound=-0.2).depends_on == ("the data set",)
    assert not cases.on_average({"up": UP, "down": DOWN}, bound=0.2).depends_on


def test_everywhere():
    assert cases.everywhere({"a": UP, "b": UP}).word == HOLDS
    weak = cases.everywhere({"a": UP, "b": WIDE})
    assert (weak.word, weak.value, weak.reason) == (UNDECIDED, WIDE.value, "not shown on b")
    down = cases.everywhere({"a": UP, "b": DOWN})
    assert (down.word, down.failing_cases, down.reason) == (FAILS, ("b",), "violated on b")
    assert (down.low, down.high) == DOWN.ends()
    two = cases.everywhere({"a": UP, "b": TWO})
    assert (two.word, two.reason) == (UNDECIDED, "not shown on b")


def test_of_cases_whose_p_is_1_the_lowest_t_is_the_weakest():
    near, far = (replace(seeds_interval(v), looks=3) for v in ([-0.02, 0.01, 0.0], [-0.11, -0.10, -0.12]))
    assert near.pvalue() == far.pvalue() == 1
    assert cases.everywhere({"near": near, "far": far}).value == far.value
    best = cases.somewhere({"far": far, "near": near})
    assert (best.value, best.reason) == (near.value, "no estimate is on the claim's side")


def test_no_claim_holds_everywhere_with_a_failing_case():
    rng = np.random.default_rng(3)
    for _ in range(200):
        several = {i: seeds_interval(rng.normal(1, 0.3, 3)) for i in map(str, range(3))}
        verdict = cases.everywhere(several)
        assert verdict.word != HOLDS or not verdict.failing_cases


@pytest.mark.parametrize("claim", [cases.somewhere, cases.on_average, cases.everywhere])
def test_claims_without_a_testable_case_are_not_tested(claim):
    assert claim({}).text() == "not tested (no record has what it needs)"
    verdict = claim({"sst": TWO, "agnews": EQUAL})
    assert verdict.text() == "undecided (2 seeds: an interval needs 3; all values are equal)"
    assert verdict.value == pytest.approx((0.55 + 0.2) / 2) and verdict.other_cases == ("sst", "agnews")


@pytest.mark.parametrize("claim", [cases.somewhere, cases.on_average, cases.everywhere])
def test_claims_do_not_depend_on_the_order_of_cases_and_seeds(claim):
    rng = np.random.default_rng(4)
    x = {str(i): rng.normal(0.5, 0.3, 3) for i in range(4)}
    verdict = claim({name: seeds_interval(values) for name, values in x.items()})
    again = claim({name: seeds_interval(x[name][::-1]) for name in reversed(x)})
    assert (verdict.word, set(verdict.failing_cases)) == (again.word, set(again.failing_cases))
    assert (verdict.low, verdict.high) == pytest.approx((again.low, again.high))


@pytest.mark.parametrize("claim", [verdicts.judge, cases.somewhere, cases.on_average, cases.everywhere])
def test_claims_are_symmetric(claim):
    rng = np.random.default_rng(5)
    for _ in range(30):
        x = {str(i): rng.normal(0.5, 0.4, 3) for i in range(1 if claim is verdicts.judge else 3)}
        up = {name: seeds_interval(values) for name, values in x.items()}
        down = {name: seeds_interval(-values) for name, values in x.items()}
        if claim is verdicts.judge:
            up, down = up["0"], down["0"]
        first, second = claim(up, ">", 0.1), claim(down, "<", -0.1)
        assert first.word == second.word
        assert (first.low, first.high) == pytest.approx((-second.high, -second.low))


def test_case_table():
    table = cases.case_table({"sst": UP, "babi": DOWN, "cola": TWO})
    assert list(table) == cases.CASES
    assert table.p_holm.tolist() == pytest.approx(statistics.holm([UP.pvalue(), DOWN.pvalue(), 1.0]))
    assert table.reason.tolist() == ["", "", "2 seeds: an interval needs 3"]
    assert cases.case_table({}).empty
