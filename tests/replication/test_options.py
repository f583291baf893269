"""Claims with the options of the choices that papers leave open, on values known by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from replication import claims
from replication.claims import Claim
from replication.options import UNGATED, _difference, multiverse_tables


def seeds(dataset, values, model="org/bert"):
    return pd.DataFrame(
        {"dataset": dataset, "model": model, "seed": range(len(values)), "value": np.array(values, float)}
    )


def claim(*parts, **more):
    return Claim("A above B", pd.concat(parts), "seeds", **more)


SST, AG = seeds("sst", [0.10, 0.12, 0.11]), seeds("ag_news", [0.2, 0.24, 0.22])
GATE = claims.gates(
    pd.DataFrame(
        {
            "dataset": ["sst", "multirc"],
            "model": "bert",
            "seed": 0,
            "metric": "macro_f1",
            "value": [0.9, 0.37],
        }
    )
)


def test_choices_say_how_many_options_agree():
    def state(ties="half"):
        shift = {"half": 0, "strict": -0.01, "at_least": -0.9}[ties]
        other = seeds("sst", [0.3, 0.31, 0.32])  # which no choice changes
        return [
            claim(SST.assign(value=SST.value + shift), AG.assign(value=AG.value + shift)),
            Claim("B above C", other, "seeds"),
        ]

    choices = {"ties": ("half", "strict", "at_least")}
    found, listed = multiverse_tables(state, choices, "small")
    first, second = found.to_dict("records")
    assert first["choices"] == "1 of 2 options agree, sign equal in 1"
    assert first["verdict"] == "mixed (depends on ties; bert, 3 seeds)" and second["choices"] == ""
    assert listed.option.tolist() == ["main", "strict", "at_least"]
    assert listed.value.tolist() == pytest.approx([0.165, 0.155, -0.735])
    assert listed.verdict.tolist() == ["holds", "holds", "does not hold"]
    found, listed = multiverse_tables(state, choices, "quick")
    assert set(listed.verdict) == {""} and set(found.verdict) == {""}


def test_the_gate_is_a_choice_where_it_refuses_a_data_set():
    found, listed = multiverse_tables(
        lambda: [claim(SST, seeds("multirc", [-0.9, -0.8, -0.7]))], {}, "small", GATE
    )
    assert listed.choice.tolist() == ["main", "data sets"] and listed.value[1] < 0 < listed.value[0]


def test_an_option_turns_a_claim_on_every_data_set_as_it_turns_the_one_on_average():
    """With one data set the two are one statement: their verdicts depend on the same choices."""
    up, flat = [0.10, 0.12, 0.11], [-0.001, 0.02, -0.015]

    def state(ties="half"):
        own = seeds("sst", up if ties == "half" else flat)
        return [claim(own), Claim("A above B everywhere", own, "seeds", quantifier="everywhere")]

    table, _ = multiverse_tables(state, {"ties": ("half", "strict")}, "small")
    assert table.verdict.tolist() == ["mixed (depends on ties; bert, 3 seeds)"] * 2

    def with_two_seeds(ties="half"):  # a data set that has no interval takes no part in the comparison either
        return [claim(c.values, seeds("ag_news", [0.1, 0.2]), quantifier=c.quantifier) for c in state(ties)]

    table, _ = multiverse_tables(with_two_seeds, {"ties": ("half", "strict")}, "small")
    assert table.verdict[0].startswith("mixed (depends on ties")


def test_a_small_grid_of_options_is_looked_at_whole():
    """Each option alone keeps the claim; both together turn it."""

    def state(ties="half", removal="zero"):
        less = 0.05 * (ties == "strict") + 0.04 * (removal == "delete")
        return [claim(SST.assign(value=SST.value - less))]

    choices = {"ties": ("half", "strict"), "removal": ("zero", "delete")}
    found, listed = multiverse_tables(state, choices, "small")
    assert listed.choice.tolist() == ["main", "ties", "removal", "ties + removal"]
    assert listed.option[3] == "strict + delete" and listed.value[3] == pytest.approx(0.02)
    assert found.choices[0] == "2 of 2 options agree, sign equal in 2; full grid: 3 of 4 agree"
    assert found.verdict[0] == "holds (bert, 3 seeds)" and listed.verdict[3] == "inconclusive"
    _, listed = multiverse_tables(state, choices, "quick")
    assert listed.choice.tolist() == ["main", "ties", "removal"]  # no grid


def test_a_combination_that_changes_no_number_is_not_counted():
    def state(texts="all", levels="all"):
        return [claim(SST.assign(value=SST.value - (0.05 if texts == "few" else 0.01 * (levels == "half"))))]

    choices = {"texts": ("all", "few"), "levels": ("all", "half")}
    found, listed = multiverse_tables(state, choices, "small")
    assert listed.choice.tolist() == ["main", "texts", "levels"]  # the few texts have no further levels
    assert "grid" not in found.choices[0]


def test_differences_are_of_one_quantity_and_pair_what_is_the_same():
    both = [(("sst", "bert"), SST), (("ag_news", "bert"), AG)]
    deciding = {key for key, _ in both}
    one, other = claim(SST, AG), claim(SST, AG.assign(value=AG.value - [0.1, 0.11, 0.12]))
    found = _difference(one, other, deciding)  # nothing changes on sst
    assert found.value == pytest.approx(0.055) and found.exists
    assert _difference(one, one, deciding) is None
    assert _difference(one, replace(other, quantity="RACU"), deciding) is None
    assert _difference(one, claim(AG.assign(value=0.1)), deciding) is None  # sst is missing

    def nested(*rows):  # seeds whose texts are their own, under numbers that mean nothing
        table = pd.DataFrame([("sst", "org/bert", *row) for row in rows])
        return Claim("A above B", table.set_axis([*SST.columns[:3], "example", "value"], axis=1), "nested")

    one = nested(*[(s, i, 0.1 * i + s / 100) for s in range(3) for i in (0, 1)])
    other = nested(*[(s, i, 0.1 * i - 0.2 - s / 50) for s in range(3) for i in (2, 3, 4)])
    assert _difference(one, other, {("sst", "bert")}).value == pytest.approx(0.05 - 0.1 + 0.03)


def test_a_combination_with_the_opposite_verdict_makes_a_claim_mixed():
    def state(ties="half", removal="zero"):
        changed = (ties == "strict") + (removal == "delete")
        return [claim(SST.assign(value=SST.value - {0: 0, 1: 0.01, 2: 0.2}[changed]))]

    choices = {"ties": ("half", "strict"), "removal": ("zero", "delete")}
    found, listed = multiverse_tables(state, choices, "small")
    assert listed.verdict.tolist() == ["holds", "holds", "holds", "does not hold"]
    assert found.verdict[0] == "mixed (depends on ties, removal; bert, 3 seeds)"


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
    found, listed = multiverse_tables(state, choices, "small", GATE)
    assert len(listed) == 8 and set(listed.choice[4:]) == {
        "ties + removal",
        "ties + data sets",
        "removal + data sets",
        "ties + removal + data sets",
    }
    cells = listed.set_index("option").verdict
    assert cells["strict + delete"] == "not tested"
    assert cells[f"strict + {UNGATED[1]}"] == cells[UNGATED[1]] != "holds"
    assert found.choices[0].endswith("full grid: 3 of 6 agree, 2 not tested")
    assert len(seen) == len(set(seen)) == 4  # each once


def test_options_of_one_model_are_paired_by_text():
    rng, base = np.random.default_rng(0), np.random.default_rng(1).normal(size=40)

    def claim(values):
        table = {"dataset": "sst", "model": "m", "seed": 0, "example": range(40), "value": values}
        return Claim("A", pd.DataFrame(table).sample(frac=1, random_state=1), "crossed")

    found = _difference(claim(base), claim(base - 0.2 + 0.01 * rng.normal(size=40)), {("sst", "m")})
    assert found.unit == "text" and found.n_units == 40 and 0.19 < found.low < 0.2 < found.high < 0.21
