"""Verdicts under every setting that a reader could have chosen."""

from dataclasses import replace

import pytest
from sample.statistics import FAILS, HOLDS, UNDECIDED, UNTESTED, verdict_of

from faithlib.statistics import seeds_interval
from replication import multiverse, verdicts


def test_multiverse_keeps_the_verdict_of_the_main_setting():
    options = {
        ("ties", "strict"): verdict_of(HOLDS), ("ties", ">="): verdict_of(UNDECIDED, -0.01),
        ("curves", "kept"): verdict_of("depends"), ("removal", "zero"): verdict_of(UNTESTED),
    }  # fmt: skip
    outcome = multiverse.multiverse("soft above hard", verdict_of(HOLDS), options)
    assert multiverse.summary(outcome.counts) == "1 of 3 options agree, sign equal in 2, 1 not tested"
    assert outcome.verdict.text() == "holds (not shown with ties, curves; 3 seeds)"
    assert not outcome.verdict.depends_on
    assert list(outcome.table) == multiverse.CHOICES and len(outcome.table) == 5
    first = ["soft above hard", "main", "main", 0.1, 0.05, pytest.approx(0.15), 0.0, HOLDS]
    assert outcome.table.iloc[0].tolist() == first


def test_a_verdict_depends_on_choices_with_opposite_verdicts():
    options = {("ties", ">="): verdict_of(FAILS, -0.1), ("removal", "delete"): verdict_of(UNDECIDED)}
    outcome = multiverse.multiverse("claim", verdict_of(HOLDS), options)
    assert outcome.verdict.text() == "depends on ties (main setting: holds; not shown with removal; 3 seeds)"
    assert outcome.verdict.value == 0.1 and outcome.table.verdict[0] == HOLDS
    # opposite to each other, not to the main setting, and across two choices
    options = {("ties", ">="): verdict_of(FAILS, -0.1), ("removal", "delete"): verdict_of(HOLDS)}
    outcome = multiverse.multiverse("claim", verdict_of(UNDECIDED), options)
    assert outcome.verdict.depends_on == ("ties", "removal")
    agreeing = {("ties", ">="): verdict_of(FAILS), ("removal", "delete"): verdict_of(UNDECIDED)}
    assert multiverse.multiverse("claim", verdict_of(UNDECIDED), agreeing).verdict.depends_on == ()


def test_an_opposite_verdict_counts_after_holm_over_all_settings():
    near = replace(verdict_of(FAILS, -0.1), interval=seeds_interval([-0.8, -1.0, -1.4]))  # p = .03
    assert near.interval.two_sided() == pytest.approx(0.03, abs=0.005)
    far = {("ties", ">="): near}
    assert multiverse.multiverse("claim", verdict_of(HOLDS), far).verdict.depends_on == ("ties",)
    more = {("sign", str(i)): verdict_of(UNDECIDED) for i in range(2)}
    assert multiverse.multiverse("claim", verdict_of(HOLDS), far | more).verdict.word == HOLDS


def test_multiverse_of_an_untested_claim_stays_untested():
    options = {("ties", ">="): verdict_of(FAILS), ("ties", "half"): verdict_of(HOLDS)}
    outcome = multiverse.multiverse("claim", verdicts.Verdict(UNTESTED), options)
    assert outcome.verdict.word == UNTESTED and outcome.verdict.depends_on == ()


def test_the_full_grid_has_at_most_24_settings_and_what_is_not_tested_is_in_none():
    options = {(f"choice {i}", "other"): verdict_of(HOLDS) for i in range(4)}
    assert len(multiverse.combinations(options)) == 2**4 - 4 - 1
    assert multiverse.combinations(options | {("choice 3", "third"): verdict_of(FAILS)})[-1][-1][1] == "third"
    assert len(multiverse.combinations(options | {("choice 3", "third"): verdict_of(FAILS)})) == 24 - 5 - 1
    assert multiverse.combinations(options | {("choice 4", "other"): verdict_of(HOLDS)}) == []
    untested = options | {("choice 4", "other"): verdict_of(UNTESTED)}
    assert multiverse.combinations(untested) == multiverse.combinations(options)


def test_a_verdict_depends_on_the_smallest_cells_that_turn_it():
    options = {(f"choice {i}", "other"): verdict_of(HOLDS) for i in "abc"}
    cells = multiverse.combinations(options)

    def depends_on(main, options, failing):
        grid = {cell: verdict_of(FAILS if failing <= {c[-1] for c, _ in cell} else main) for cell in cells}
        return multiverse.multiverse("claim", verdict_of(main), options, grid=grid).verdict.depends_on

    assert depends_on(HOLDS, options, {"a", "b"}) == ("choice a", "choice b")  # c is in failing cells too
    alone = {key: verdict_of(HOLDS if key[0] == "choice a" else UNDECIDED) for key in options}
    assert depends_on(UNDECIDED, alone, {"b", "c"}) == ("choice a", "choice b", "choice c")


def test_cells_of_the_grid_count_with_the_options_and_the_main_setting():
    options = {("ties", "strict"): verdict_of(HOLDS), ("removal", "delete"): verdict_of(UNDECIDED)}
    (cell,) = multiverse.combinations(options)

    def crossed(word):
        return multiverse.multiverse("claim", verdict_of(HOLDS), options, grid={cell: verdict_of(word)})

    counted = "1 of 2 options agree, sign equal in 2; full grid: 3 of 4 agree"
    assert multiverse.summary(crossed(HOLDS).counts) == counted
    assert crossed(UNDECIDED).counts["grid_agree"] == 2 and not crossed(HOLDS).verdict.depends_on
    assert crossed(UNTESTED).counts["grid_of"] == 3
    assert crossed(FAILS).verdict.depends_on == ("ties", "removal")
    last = crossed(FAILS).table.iloc[3][["choice", "option", "verdict"]]
    assert last.tolist() == ["ties + removal", "strict + delete", FAILS]
