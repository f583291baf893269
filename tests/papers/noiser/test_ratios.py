"""Units, log ratios and leads of noiser, by hand."""

import numpy as np
import pandas as pd
import pytest

from faithlib.statistics import text_interval
from notebooks.noiser import ratios

KEYS = {"task": "world_facts", "model": "tiny", "seed": 0, "step": 0}


def rows(attribution, setting, baseline, ns, nc=0.5, **more):
    names = {"attribution": attribution, "setting": setting, "baseline": baseline}
    ns = np.asarray(ns, float)
    measured = {"soft_ns": ns, "soft_ns_of_mean": ns / 2, "soft_nc": nc}
    return pd.DataFrame({"example": range(len(ns)), **measured}).assign(**(KEYS | names | more))


def test_steps_then_prompts_of_a_fact_are_averaged():
    table = pd.DataFrame({"example": [0, 0, 1, 2], "step": [0, 1, 0, 0], "value": [1.0, 3.0, 5.0, 7.0]})
    table = table.assign(task="world_facts", model="tiny", seed=1, of="a", fact=[0, 0, 0, 1])
    ((case, frame),) = ratios.units(table, ["of"], "value").items()
    assert case == ("world_facts", "tiny", 1) and frame["a"].tolist() == [(2 + 5) / 2, 7]
    ((_, frame),) = ratios.units(table, ["of"], "value", "example").items()
    assert frame["a"].tolist() == [2, 5, 7]
    ((_, frame),) = ratios.units(table.drop(columns="fact"), ["of"], "value").items()
    assert frame["a"].tolist() == [2, 5, 7]
    seeds = pd.concat([table, table.assign(seed=2, value=table.value + 2)])
    assert len(ratios.units(seeds, ["of"], "value")) == 2
    ((case, frame),) = ratios.units(seeds.assign(task="knowns"), ["of"], "value").items()
    assert case == ("knowns", "tiny", 0) and frame["a"].tolist() == [(2 + 5) / 2 + 1, 8]


def test_the_interval_is_that_of_the_linear_part():
    """By hand: ln of a mean, whose error is that of (x - m) / m."""
    x = np.linspace(0.2, 0.8, 20) ** 2
    table = pd.concat([rows("a", "", "", x), rows("random", "", "random", 0 * x + 0.5)])
    ((_, frame),) = ratios.log_ratios(ratios.soft_units(table.assign(fact=table.example)), "random").items()
    interval = text_interval(frame["a", ""])
    assert interval.value == pytest.approx(np.log(x.mean() / 0.5))
    assert interval.components[0][0] == pytest.approx(x.std(ddof=1) / x.mean() / np.sqrt(20))


def test_the_matched_baseline_is_a_methods_own():
    methods = [rows("a", "k", "", [0.4, 0.4]), rows("a", "l", "", [0.4, 0.4], 0.25)]
    matched = [rows("a", "k", "matched", [0.1, 0.1]), rows("a", "l", "matched", [0.2, 0.2], 0.5)]
    table = pd.concat([*methods, *matched, rows("random", "", "random", [0.3, 0.3])])
    ((_, frame),) = ratios.log_ratios(ratios.soft_units(table), "matched").items()
    assert frame.mean().to_dict() == pytest.approx({("a", "k"): np.log(4), ("a", "l"): 0})
    ((_, frame),) = ratios.log_ratios(ratios.soft_units(table, ns="soft_ns_of_mean"), "random").items()
    assert frame["a", "k"].mean() == pytest.approx(np.log(4 / 3))


def test_a_mean_of_zero_counts_as_the_least():
    table = pd.concat([rows("a", "", "", [0, 0]), rows("random", "", "random", [0.5, 0.5])])
    ((_, frame),) = ratios.log_ratios(ratios.soft_units(table), "random").items()
    assert frame["a", ""].tolist() == pytest.approx([np.log(ratios.LEAST / 0.5)] * 2)


def test_the_best_other_is_one_for_all_seeds():
    cases = {
        ("t", "m", 0): pd.DataFrame({"x": [3.0, 3.0], "y": [1.0, 1.0], "z": [2.0, 2.0]}),
        ("t", "m", 1): pd.DataFrame({"x": [3.0, 3.0], "y": [4.0, 4.0], "z": [2.0, 2.0]}),
    }
    leads, each = ratios.leads(cases, "x", lambda column: True)
    assert [lead.tolist() for lead in leads.values()] == [[2, 2], [-1, -1]]
    of_z, _ = ratios.leads(cases, "x", lambda column: column == "z")
    assert of_z["t", "m", 1].tolist() == each["z"]["t", "m", 1].tolist() == [1, 1]
    table = ratios.long(leads)
    assert list(table) == ["dataset", "model", "seed", "example", "value"]
    assert table.value.tolist() == [2, 2, -1, -1]
    assert ratios.intervals(leads, ("some",))["t", "m"].value == pytest.approx(0.5)
    assert ratios.long({}).empty
