"""Claims with the options of the choices that papers leave open, on values known by hand."""

from types import SimpleNamespace

import pandas as pd
import pytest
from sample.statistics import AG, SST
from sample.statistics import seeds_of as seeds

from replication import claims
from replication.claims import UNGATED, Claim
from replication.claims import multiverse_tables as over_card
from replication.multiverse import summary
from replication.verdicts import sentence


def multiverse_tables(state, choices, scale, gate=None):
    return over_card(state, SimpleNamespace(choices=choices, headline=()), scale, gate)


def claim(*parts, **more):
    return Claim("A above B", pd.concat(parts), "seeds", **more)


MEASURED = {
    "dataset": ["sst", "multirc"], "model": "bert", "seed": 0, "metric": "macro_f1", "value": [0.9, 0.37],
}  # fmt: skip
GATE = claims.gates(pd.DataFrame(MEASURED))


def test_choices_say_how_many_options_agree():
    def state(ties="half"):
        shift = {"half": 0, "strict": -0.01, "at_least": -0.9}[ties]
        other = seeds("sst", [0.3, 0.31, 0.32])  # which no choice changes
        return [
            claim(SST.assign(value=SST.value + shift), AG.assign(value=AG.value + shift)),
            Claim("B above C", other, "seeds"),
        ]

    choices = {"ties": ("half", "strict", "at_least")}
    table, listed = multiverse_tables(state, choices, "small")
    first, second = table.to_dict("records")
    assert summary(first) == "1 of 2 options agree, sign equal in 1" and summary(second) == ""
    assert sentence(first) == "depends on ties (main setting: holds; bert, 3 seeds)"
    assert listed.option.tolist() == ["main", "strict", "at_least"]
    assert listed.value.tolist() == pytest.approx([0.165, 0.155, -0.735])
    assert listed.verdict.tolist() == ["holds", "holds", "does not hold"]
    table, listed = multiverse_tables(state, choices, "quick")
    assert set(listed.verdict) == {""} and set(table.verdict) == {""}
    rows = [len(multiverse_tables(lambda: [claim(SST[:0])], {}, scale)[0]) for scale in ("small", "quick")]
    assert rows == [1, 0]  # without values


def test_the_gate_is_a_choice_where_it_refuses_a_data_set():
    table, listed = multiverse_tables(
        lambda: [claim(SST, seeds("multirc", [-0.9, -0.8, -0.7]))], {}, "small", GATE
    )
    assert listed.choice.tolist() == ["main", "data sets"] and listed.value[1] < 0 < listed.value[0]


def test_an_undecided_option_leaves_a_claim_on_every_data_set_as_the_one_on_average():
    """With one data set the two are one statement: their verdicts say the same."""
    up, flat = [0.10, 0.12, 0.11], [-0.001, 0.02, -0.015]

    def state(ties="half"):
        values = seeds("sst", up if ties == "half" else flat)
        return [claim(values), Claim("A above B everywhere", values, "seeds", quantifier="everywhere")]

    table, _ = multiverse_tables(state, {"ties": ("half", "strict")}, "small")
    assert [sentence(row) for row in table.to_dict("records")] == [
        "holds (not shown with ties; bert, 3 seeds)"
    ] * 2

    def with_two_seeds(ties="half"):  # a data set that has no interval takes no part in the comparison either
        return [claim(c.values, seeds("ag_news", [0.1, 0.2]), quantifier=c.quantifier) for c in state(ties)]

    table, _ = multiverse_tables(with_two_seeds, {"ties": ("half", "strict")}, "small")
    assert (table.verdict[0], table.not_shown_with[0]) == ("holds", "ties")


def test_a_small_grid_of_options_is_looked_at_whole():
    """Each option alone keeps the claim; both together turn it."""

    def state(ties="half", removal="zero"):
        less = 0.05 * (ties == "strict") + 0.04 * (removal == "delete")
        return [claim(SST.assign(value=SST.value - less))]

    choices = {"ties": ("half", "strict"), "removal": ("zero", "delete")}
    table, listed = multiverse_tables(state, choices, "small")
    assert listed.choice.tolist() == ["main", "ties", "removal", "ties + removal"]
    assert listed.option[3] == "strict + delete" and listed.value[3] == pytest.approx(0.02)
    assert summary(table.loc[0]) == "2 of 2 options agree, sign equal in 2; full grid: 3 of 4 agree"
    assert sentence(table.loc[0]) == "holds (bert, 3 seeds)" and listed.verdict[3] == "undecided"
    _, listed = multiverse_tables(state, choices, "quick")
    assert listed.choice.tolist() == ["main", "ties", "removal"]  # no grid


@pytest.mark.parametrize(("quantifier", "counted"), [("everywhere", 0), ("on average", 1)])
def test_an_option_that_leaves_the_deciding_case_as_it_is_is_not_counted(quantifier, counted):
    def state(ties="half"):  # SST is the weaker of both
        values = SST, AG.assign(value=AG.value + (0.2 if ties == "strict" else 0.1))
        return [claim(*values, quantifier=quantifier)]

    assert multiverse_tables(state, {"ties": ("half", "strict")}, "small")[0].of.tolist() == [counted]


def test_a_combination_that_changes_no_number_is_not_counted():
    def state(texts="all", levels="all"):
        return [claim(SST.assign(value=SST.value - (0.05 if texts == "few" else 0.01 * (levels == "half"))))]

    choices = {"texts": ("all", "few"), "levels": ("all", "half")}
    table, listed = multiverse_tables(state, choices, "small")
    assert listed.choice.tolist() == ["main", "texts", "levels"]  # the few texts have no further levels
    assert table.grid_of[0] == 0


def test_a_claim_depends_on_the_choices_of_a_combination_with_the_opposite_verdict():
    def state(ties="half", removal="zero"):
        changed = (ties == "strict") + (removal == "delete")
        return [claim(SST.assign(value=SST.value - {0: 0, 1: 0.01, 2: 0.2}[changed]))]

    choices = {"ties": ("half", "strict"), "removal": ("zero", "delete")}
    table, listed = multiverse_tables(state, choices, "small")
    assert listed.verdict.tolist() == ["holds", "holds", "holds", "does not hold"]
    assert sentence(table.loc[0]) == "depends on ties, removal (main setting: holds; bert, 3 seeds)"


def test_a_grid_crosses_the_gate_and_a_combination_without_records_is_not_tested():
    poor = seeds("multirc", [-0.9, -0.8, -0.7])
    seen = []

    def state(ties="half", removal="zero"):
        seen.append((ties, removal))
        if (ties, removal) == ("strict", "delete"):
            return None
        less = 0.01 * (ties == "strict") + 0.02 * (removal == "delete")
        return [claim(SST.assign(value=SST.value - less), poor)]

    choices = {"ties": ("half", "strict"), "removal": ("zero", "delete")}
    table, listed = multiverse_tables(state, choices, "small", GATE)
    pairs = {"ties + removal", "ties + data sets", "removal + data sets"}
    assert len(listed) == 8 and set(listed.choice[4:]) == {*pairs, "ties + removal + data sets"}
    cells = listed.set_index("option").verdict
    assert cells["strict + delete"] == "not tested"
    assert cells[f"strict + {UNGATED[1]}"] == cells[UNGATED[1]] != "holds"
    assert (table.grid_agree[0], table.grid_of[0]) == (3, 6)
    assert len(seen) == len(set(seen)) == 4  # each once
