import doctest
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from faithlib import statistics
from faithlib.statistics import (
    cases,
    crossed_interval,
    gates,
    multiverse,
    seeds_interval,
    text_interval,
    verdicts,
)

HOLDS, FAILS, MIXED, INCONCLUSIVE, UNTESTED = verdicts.WORDS
UP = seeds_interval([0.10, 0.11, 0.12])
DOWN = seeds_interval([-0.30, -0.31, -0.32])
WIDE = seeds_interval([-0.1, 0.0, 0.4])
TWO = seeds_interval([0.5, 0.6])
EQUAL = seeds_interval([0.2, 0.2, 0.2])


def test_examples_in_docstrings():
    assert not any(doctest.testmod(module).failed for module in (verdicts, cases, gates, multiverse))


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


def test_failing_cases_are_point_estimates():
    several = {"up": UP, "down": DOWN, "zero": seeds_interval([-0.1, 0.1, 0.0]), "two": TWO}
    assert cases.failing_cases(several) == ("down", "zero")
    assert cases.failing_cases(several, ">=") == ("down",)
    assert cases.failing_cases(several, "<") == ("up", "zero", "two")


def test_somewhere_by_hand():
    # t = .11 / (.01 / √3) = 19.05 of 2 degrees: p = .00137, more than .025 / 19, less than .025 / 18
    p = stats.t.sf(0.11 / (0.01 / np.sqrt(3)), 2)
    assert UP.pvalue() == pytest.approx(p)
    several = {"up": UP} | {f"wide {i}": WIDE for i in range(17)}
    holds, not_yet = cases.somewhere(several), cases.somewhere(several | {"wide 17": WIDE})
    assert (holds.word, holds.shown_on) == (HOLDS, ("up",)) and holds.low > 0
    assert (not_yet.word, not_yet.shown_on) == (INCONCLUSIVE, ()) and not_yet.low < 0
    assert not_yet.detail == "critical t 19.5 over 19 cases"
    assert holds.critical_t == pytest.approx(stats.t.ppf(1 - 0.025 / 18, 2))


def test_somewhere_counts_what_was_looked_at_without_an_interval():
    several = {"up": UP} | {f"wide {i}": WIDE for i in range(17)}
    assert cases.somewhere(several | {"two seeds": TWO}).word == INCONCLUSIVE


def test_somewhere_does_not_hold_only_if_every_interval_is_on_the_other_side():
    down = {f"down {i}": DOWN for i in range(3)}
    assert cases.somewhere(down).word == FAILS
    assert cases.somewhere(down | {"wide": WIDE}).word == INCONCLUSIVE
    assert cases.somewhere(down | {"two": seeds_interval([-0.3, -0.4])}).word == INCONCLUSIVE
    assert cases.somewhere(down, "<").shown_on == tuple(down)


def test_average_is_welchs():
    a, b = [0.1, 0.5, 0.3], [0.2, 0.21, 0.19, 0.24, 0.2]
    found = cases.average({"a": seeds_interval(a), "b": seeds_interval(b)})
    # the mean of a and b is half the difference of a and -b
    minus = np.negative(b)
    test = stats.ttest_ind_from_stats(
        np.mean(a), np.std(a, ddof=1), 3, minus.mean(), minus.std(ddof=1), 5, equal_var=False
    )
    expected = stats.ttest_ind(a, minus, equal_var=False).confidence_interval(0.95)
    assert found.two_sided() == pytest.approx(test.pvalue)
    assert found.ends() == pytest.approx((expected.low / 2, expected.high / 2))
    assert found.n_units == 3


def test_average_of_one_case_is_the_case():
    x = crossed_interval(np.random.default_rng(1).normal(size=(3, 40)))
    for case in (UP, x):
        assert cases.average({"one": case}).ends() == pytest.approx(case.ends())


def test_average_of_crossed_cases_is_the_wider_of_both_variances():
    rng = np.random.default_rng(2)
    x = [rng.normal(size=(3, 40)) + rng.normal(size=40) for _ in range(2)]
    found = cases.average(dict(enumerate(map(crossed_interval, x))))
    seeds = cases.average({i: seeds_interval(part.mean(axis=1)) for i, part in enumerate(x)})
    assert found.low <= seeds.low and found.high >= seeds.high
    two_way = sum(crossed_interval(part).components[0][0] ** 2 for part in x)
    assert found.components[0][0] == pytest.approx(np.sqrt(two_way) / 2)


def test_on_average_lists_cases_that_fail():
    slightly = seeds_interval([-0.01, -0.02, 0.01])
    found = cases.on_average({"sst": seeds_interval([0.3, 0.31, 0.32]), "cola": slightly})
    assert found.text("MiniLM") == "holds on average, not shown on cola (MiniLM, 3 seeds)"
    assert found.row()["failing_cases"] == "cola"


def test_on_average_names_the_range_of_seeds():
    five = seeds_interval([0.1, 0.11, 0.12, 0.09, 0.13])
    found = cases.on_average({"sst": UP, "agnews": five})
    assert found.text() == "holds (3–5 seeds)" and found.n_units == 3


def test_single_seeds_take_no_part_in_the_interval_but_can_change_the_sign():
    several = {"sst": UP, "agnews": UP}
    found = cases.on_average(several)
    beside = cases.on_average(several | {"multirc": seeds_interval([-0.1])})
    assert (beside.low, beside.high, beside.word) == (found.low, found.high, HOLDS)
    assert beside.value_all == pytest.approx(0.04) and beside.other_cases == ("multirc",)
    assert beside.text() == "holds on average, not shown on multirc (3 seeds)"
    changed = cases.on_average(several | {"multirc": seeds_interval([-0.6])})
    assert changed.text() == "inconclusive (depends on single-seed data sets; 3 seeds)"
    assert (changed.low, changed.high) == (found.low, found.high)


def test_texts_of_one_model_take_no_part_beside_seeds():
    texts = text_interval(np.linspace(-0.9, -0.8, 12))
    found = cases.on_average({"sst": UP, "agnews": UP, "one model": texts})
    assert found.cases == ("sst", "agnews") and found.word == INCONCLUSIVE
    assert (
        cases.somewhere({"sst": DOWN, "one model": text_interval(np.linspace(0.8, 0.9, 12))}).shown_on == ()
    )
    assert cases.everywhere({"sst": UP, "one model": texts}).word == INCONCLUSIVE
    alone = cases.on_average({"a": texts, "b": texts})
    assert (alone.word, alone.unit) == (FAILS, "text")


def test_constant_data_sets_take_no_part():
    found = cases.on_average({"sst": UP, "constant": seeds_interval([-1.0, -1.0, -1.0])})
    assert found.text() == "inconclusive (depends on data sets without an interval; 3 seeds)"


def test_mixed_needs_both_sides_after_holm():
    assert cases.on_average({"sst": UP, "babi": DOWN}).text() == (
        "mixed (above on sst, below on babi; 3 seeds)"
    )
    # two-sided p of .030 each: beyond .05 / 2
    above, below = seeds_interval([0.8, 1.0, 1.4]), seeds_interval([-0.8, -1.0, -1.4])
    assert 0.025 < above.two_sided() < 0.05
    assert not cases.mixed({"above": above, "below": below})
    assert cases.mixed({"up": UP, "down": DOWN}, bound=-0.2)
    assert not cases.mixed({"up": UP, "down": DOWN}, bound=0.2)


def test_everywhere():
    assert cases.everywhere({"a": UP, "b": UP}).word == HOLDS
    weak = cases.everywhere({"a": UP, "b": WIDE})
    assert (weak.word, weak.value, weak.detail) == (INCONCLUSIVE, WIDE.value, "not shown on b")
    down = cases.everywhere({"a": UP, "b": DOWN})
    assert (down.word, down.failing_cases, down.detail) == (FAILS, ("b",), "violated on b")
    assert (down.low, down.high) == DOWN.ends()
    two = cases.everywhere({"a": UP, "b": TWO})
    assert (two.word, two.detail) == (INCONCLUSIVE, "not shown on b")


def test_no_claim_holds_everywhere_with_a_failing_case():
    rng = np.random.default_rng(3)
    for _ in range(200):
        several = {i: seeds_interval(rng.normal(1, 0.3, 3)) for i in map(str, range(3))}
        found = cases.everywhere(several)
        assert found.word != HOLDS or not found.failing_cases


@pytest.mark.parametrize("claim", [cases.somewhere, cases.on_average, cases.everywhere])
def test_claims_without_a_testable_case_are_not_tested(claim):
    assert claim({}).text("MiniLM") == "not tested (no data set takes part)"
    found = claim({"sst": TWO, "agnews": EQUAL})
    assert found.text() == "not tested (2 seeds: an interval needs 3; all values are equal)"
    assert found.value == pytest.approx((0.55 + 0.2) / 2) and found.other_cases == ("sst", "agnews")


@pytest.mark.parametrize("claim", [cases.somewhere, cases.on_average, cases.everywhere])
def test_claims_do_not_depend_on_the_order_of_cases_and_seeds(claim):
    rng = np.random.default_rng(4)
    x = {str(i): rng.normal(0.5, 0.3, 3) for i in range(4)}
    found = claim({name: seeds_interval(values) for name, values in x.items()})
    again = claim({name: seeds_interval(x[name][::-1]) for name in reversed(x)})
    assert (found.word, set(found.failing_cases)) == (again.word, set(again.failing_cases))
    assert (found.low, found.high) == pytest.approx((again.low, again.high))


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


def test_equivalence():
    near, far = seeds_interval([0.001, -0.001, 0.002]), seeds_interval([0.2, 0.21, 0.22])
    assert verdicts.equivalence(near, 0.02).word == HOLDS
    assert verdicts.equivalence(far, 0.02).word == FAILS
    assert verdicts.equivalence(near, 0.002).word == INCONCLUSIVE
    assert verdicts.equivalence(near, near.high).word == INCONCLUSIVE  # met exactly
    assert verdicts.equivalence(near, 0.02, bound=-0.2).word == FAILS
    assert verdicts.equivalence(TWO, 0.02).word == UNTESTED
    assert verdicts.equivalence(far, 0.02, name="sst").failing_cases == ("sst",)


def test_gate_needs_interval_and_margin():
    accepted = gates.gate([0.31, 0.27, 0.29], [0.62, 0.60, 0.63], classes=2)
    assert accepted.accepted and accepted.tested and accepted.reason == ""
    assert accepted.margin == pytest.approx(0.616667 - 0.5, abs=1e-6)
    noisy = gates.gate([0.5, 0.0, 0.1], [0.75, 0.50, 0.55], classes=2)
    assert not noisy.accepted and noisy.reason.startswith("score 0.200 [-0.457, 0.857] is not above chance")
    small = gates.gate([0.06, 0.06, 0.07], [0.53, 0.53, 0.54], classes=2)
    assert not small.accepted and "less than 0.05 above chance (0.500)" in small.reason
    assert gates.gate([0.2, 0.21, 0.22], [0.55, 0.55, 0.55], classes=2).accepted  # .05 exactly


def test_gate_without_an_interval_is_on_the_means():
    perfect = gates.gate([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], classes=6)
    assert perfect.accepted and not perfect.tested
    assert gates.gate([0.3], [0.65], classes=2).accepted
    assert not gates.gate([0.0, 0.0, 0.0], [0.5, 0.5, 0.5], classes=2).accepted


def _scores(**changed):
    table = pd.DataFrame(
        {
            "dataset": ["cola"] * 3 + ["multirc"] * 3,
            "model": "minilm",
            "seed": [0, 1, 2] * 2,
            "score": [0.31, 0.27, 0.29, 0.37, 0.37, 0.36],
            "balanced_accuracy": [0.62, 0.60, 0.63, 0.5, 0.5, 0.5],
            "classes": 2,
            "chance": [0.0] * 3 + [0.4] * 3,
        }
    )
    return table.assign(**changed)


def test_gate_table_lists_what_fails_with_its_numbers():
    table = gates.gate_table(_scores())
    assert table.accepted.tolist() == [True, False]
    failed = table.set_index("dataset").loc["multirc"]
    assert failed.value == pytest.approx(1.1 / 3) and failed.n_seeds == 3
    assert "0.367" in failed.reason and "0.400" in failed.reason


def _verdict(word, value=0.1):
    return verdicts.Verdict(word, value, value - 0.05, value + 0.05, "seed", (3,), ("sst",))


def test_multiverse_keeps_the_verdict_of_the_main_setting():
    options = {
        ("ties", "strict"): _verdict(HOLDS),
        ("ties", ">="): _verdict(INCONCLUSIVE, -0.01),
        ("removal", "delete"): _verdict(HOLDS, 0.2),
        ("removal", "zero"): _verdict(UNTESTED),
    }
    found = multiverse.multiverse("soft above hard", _verdict(HOLDS), options)
    assert found.summary == "2 of 3 options agree, sign equal in 2, 1 not tested"
    assert found.verdict == _verdict(HOLDS) and found.depends_on == ()
    assert list(found.table) == multiverse.CHOICES and len(found.table) == 5
    assert found.table.iloc[0].tolist() == [
        "soft above hard",
        "main",
        "main",
        0.1,
        0.05,
        pytest.approx(0.15),
        HOLDS,
    ]


def test_multiverse_is_mixed_by_opposite_verdicts():
    options = {("ties", ">="): _verdict(FAILS, -0.1), ("removal", "delete"): _verdict(INCONCLUSIVE)}
    found = multiverse.multiverse("claim", _verdict(HOLDS), options)
    assert found.verdict.text() == "mixed (depends on ties; 3 seeds)"
    assert found.verdict.value == 0.1 and found.table.verdict[0] == HOLDS
    # opposite to each other, not to the main setting, and across two choices
    options = {("ties", ">="): _verdict(FAILS, -0.1), ("removal", "delete"): _verdict(HOLDS)}
    found = multiverse.multiverse("claim", _verdict(INCONCLUSIVE), options)
    assert found.depends_on == ("ties", "removal")
    agreeing = {("ties", ">="): _verdict(FAILS), ("removal", "delete"): _verdict(INCONCLUSIVE)}
    assert multiverse.multiverse("claim", _verdict(INCONCLUSIVE), agreeing).depends_on == ()


def test_multiverse_is_mixed_by_a_paired_difference_with_another_verdict():
    options = {
        ("ties", ">="): _verdict(INCONCLUSIVE, 0.01),
        ("removal", "delete"): _verdict(HOLDS, 0.3),
        ("sign", "absolute"): _verdict(INCONCLUSIVE, 0.05),
    }
    differences = {
        ("ties", ">="): seeds_interval([0.090, 0.091, 0.092]),
        ("removal", "delete"): DOWN,  # differs, but its verdict is the main setting's
        ("sign", "absolute"): WIDE,
    }
    found = multiverse.multiverse("claim", _verdict(HOLDS), options, differences)
    assert found.depends_on == ("ties",)
    # p = .03 two-sided: excludes 0 alone, not after Holm over three
    near = {key: seeds_interval([0.8, 1.0, 1.4]) for key in options}
    assert multiverse.multiverse("claim", _verdict(HOLDS), options, near).depends_on == ()
    alone = {("ties", ">="): near["ties", ">="]}
    assert multiverse.multiverse("claim", _verdict(HOLDS), options, alone).depends_on == ("ties",)


def test_multiverse_of_an_untested_claim_stays_untested():
    options = {("ties", ">="): _verdict(FAILS), ("ties", "half"): _verdict(HOLDS)}
    found = multiverse.multiverse("claim", verdicts.Verdict(UNTESTED), options)
    assert found.verdict.word == UNTESTED and found.depends_on == ()


def test_multiverse_has_its_grid_in_the_table_only():
    grid = {"ties >=, delete": _verdict(FAILS), "ties >=, zero": _verdict(HOLDS)}
    found = multiverse.multiverse("claim", _verdict(HOLDS), {("ties", ">="): _verdict(HOLDS)}, grid=grid)
    assert found.table.choice.tolist() == ["main", "ties", "grid", "grid"] and found.verdict.word == HOLDS
    assert found.summary == "1 of 1 options agree, sign equal in 1"


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
        (lambda: gates.gate([0.1, 0.2], [0.5], 2), "2 scores, but 1"),
        (lambda: gates.gate([0.1], [50.0], 2), "give fractions"),
        (lambda: gates.gate([0.1], [0.5], 1), "at least 2"),
        (lambda: gates.gate_table(_scores().drop(columns="chance")), "no column chance"),
        (lambda: gates.gate_table(_scores(seed=0)), "several scores"),
        (lambda: gates.gate_table(_scores(classes=[2, 2, 3] * 2)), "seeds differ in classes"),
        (lambda: multiverse.multiverse("c", _verdict(HOLDS), {}), "has no options"),
        (lambda: multiverse.multiverse("c", _verdict(HOLDS), {("main", "a"): _verdict(HOLDS)}), "reserved"),
        (
            lambda: multiverse.multiverse(
                "c", _verdict(HOLDS), {("a", "b"): _verdict(HOLDS)}, {("a", "c"): UP}
            ),
            "a: c",
        ),
        (
            lambda: multiverse.multiverse(
                "c", _verdict(HOLDS), {("a", "b"): _verdict(HOLDS)}, grid=dict.fromkeys(range(25))
            ),
            "at most 24",
        ),
    ],
)
def test_errors_are_one_clear_line(call, words):
    with pytest.raises(ValueError, match=words) as error:
        call()
    assert "\n" not in str(error.value)
