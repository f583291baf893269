"""Verdicts under every setting that a reader could have chosen."""

import pytest
from sample.statistics import DOWN, FAILS, HOLDS, INCONCLUSIVE, UNTESTED, WIDE, verdict_of

from faithlib.statistics import seeds_interval
from replication import multiverse, verdicts


def test_multiverse_keeps_the_verdict_of_the_main_setting():
    options = {
        ("ties", "strict"): verdict_of(HOLDS),
        ("ties", ">="): verdict_of(INCONCLUSIVE, -0.01),
        ("removal", "delete"): verdict_of(HOLDS, 0.2),
        ("removal", "zero"): verdict_of(UNTESTED),
    }
    found = multiverse.multiverse("soft above hard", verdict_of(HOLDS), options)
    assert found.summary == "2 of 3 options agree, sign equal in 2, 1 not tested"
    assert repr(found.verdict) == repr(verdict_of(HOLDS)) and found.depends_on == ()
    assert list(found.table) == multiverse.CHOICES and len(found.table) == 5
    assert found.table.iloc[0].tolist() == [
        "soft above hard",
        "main",
        "main",
        0.1,
        0.05,
        pytest.approx(0.15),
        0.0,
        HOLDS,
    ]


def test_multiverse_is_mixed_by_opposite_verdicts():
    options = {("ties", ">="): verdict_of(FAILS, -0.1), ("removal", "delete"): verdict_of(INCONCLUSIVE)}
    found = multiverse.multiverse("claim", verdict_of(HOLDS), options)
    assert found.verdict.text() == "mixed (depends on ties; 3 seeds)"
    assert found.verdict.value == 0.1 and found.table.verdict[0] == HOLDS
    # opposite to each other, not to the main setting, and across two choices
    options = {("ties", ">="): verdict_of(FAILS, -0.1), ("removal", "delete"): verdict_of(HOLDS)}
    found = multiverse.multiverse("claim", verdict_of(INCONCLUSIVE), options)
    assert found.depends_on == ("ties", "removal")
    agreeing = {("ties", ">="): verdict_of(FAILS), ("removal", "delete"): verdict_of(INCONCLUSIVE)}
    assert multiverse.multiverse("claim", verdict_of(INCONCLUSIVE), agreeing).depends_on == ()


def test_multiverse_is_mixed_by_a_paired_difference_with_another_verdict():
    options = {
        ("ties", ">="): verdict_of(INCONCLUSIVE, 0.01),
        ("removal", "delete"): verdict_of(HOLDS, 0.3),
        ("sign", "absolute"): verdict_of(INCONCLUSIVE, 0.05),
    }
    differences = {
        ("ties", ">="): seeds_interval([0.090, 0.091, 0.092]),
        ("removal", "delete"): DOWN,  # differs, but its verdict is the main setting's
        ("sign", "absolute"): WIDE,
    }
    found = multiverse.multiverse("claim", verdict_of(HOLDS), options, differences)
    assert found.depends_on == ("ties",)
    # p = .03 two-sided: excludes 0 alone, not after Holm over three
    near = {key: seeds_interval([0.8, 1.0, 1.4]) for key in options}
    assert multiverse.multiverse("claim", verdict_of(HOLDS), options, near).depends_on == ()
    alone = {("ties", ">="): near["ties", ">="]}
    assert multiverse.multiverse("claim", verdict_of(HOLDS), options, alone).depends_on == ("ties",)


def test_multiverse_of_an_untested_claim_stays_untested():
    options = {("ties", ">="): verdict_of(FAILS), ("ties", "half"): verdict_of(HOLDS)}
    found = multiverse.multiverse("claim", verdicts.Verdict(UNTESTED), options)
    assert found.verdict.word == UNTESTED and found.depends_on == ()


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
        return multiverse.multiverse("claim", verdict_of(main), options, grid=grid).depends_on

    assert depends_on(HOLDS, options, {"a", "b"}) == ("choice a", "choice b")  # c is in failing cells too
    alone = {key: verdict_of(HOLDS if key[0] == "choice a" else INCONCLUSIVE) for key in options}
    assert depends_on(INCONCLUSIVE, alone, {"b", "c"}) == ("choice a", "choice b", "choice c")


def test_cells_of_the_grid_count_with_the_options_and_the_main_setting():
    options = {("ties", "strict"): verdict_of(HOLDS), ("removal", "delete"): verdict_of(INCONCLUSIVE)}
    (cell,) = multiverse.combinations(options)

    def found(word):
        return multiverse.multiverse("claim", verdict_of(HOLDS), options, grid={cell: verdict_of(word)})

    assert found(HOLDS).summary == "1 of 2 options agree, sign equal in 2; full grid: 3 of 4 agree"
    assert found(INCONCLUSIVE).summary.endswith("full grid: 2 of 4 agree") and not found(HOLDS).depends_on
    assert found(UNTESTED).summary.endswith("full grid: 2 of 3 agree, 1 not tested")
    assert found(FAILS).depends_on == ("ties", "removal")
    assert found(FAILS).table.iloc[3][["choice", "option", "verdict"]].tolist() == [
        "ties + removal",
        "strict + delete",
        FAILS,
    ]
