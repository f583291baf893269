"""The table of a study: means, intervals by unit, flags and counts, by hand."""

from math import inf

import numpy as np
import pandas as pd
import pytest

from faithlib.metrics import registry
from faithlib.metrics.registry import Metric
from faithlib.statistics import crossed_interval, text_interval
from faithlib.study import table

UP, DOWN = (
    Metric(name, name, better, (-inf, inf), (), "", print)
    for name, better in (("up", "higher"), ("down", "lower"))
)


def frame(scores, matched=(), metric="up", model="m", attribution="a"):
    """Values of one attribution and metric; `matched` has a row a draw."""
    rows = [(model, i, attribution, metric, "", 0, v) for i, v in enumerate(scores)]
    for draw, values in enumerate(matched):
        rows += [(model, i, attribution, metric, "matched", draw, v) for i, v in enumerate(values)]
    return pd.DataFrame(
        rows, columns=["model", "example", "attribution", "metric", "baseline", "draw", "value"]
    )


def test_a_row_by_hand():
    values = [0.2, 0.5, 0.1, np.nan, 0.4]
    row = table.table(frame(values, [[0.1, 0.6, 0.1, 0.3, np.nan]]), [UP]).iloc[0]
    assert (row.value, row.n, row.void) == (pytest.approx(0.3), 4, 1)
    assert [row.ci_low, row.ci_high] == pytest.approx([0.0094, 0.5906], abs=1e-4)  # 0.3 ± 3.182 · 0.0913
    assert row.diagnosticity == pytest.approx((1 + 0 + 0.5) / 3)
    assert (row.unit, row.flag) == ("texts, for this model", "")


def test_lower_values_are_preferred_where_lower_is_better():
    values = frame([0.2, 0.5], [[0.1, 0.6], [0.3, 0.6]], "down")
    assert table.table(values, [DOWN]).diagnosticity[0] == 0.75
    assert np.isnan(table.table(frame([0.2, 0.5], (), "down"), [DOWN]).diagnosticity[0])


def test_of_a_contrast_a_metric_can_have_a_wider_range():
    fall = Metric("up", "up", "higher", (-1, 1), (), "", print, contrast_range=(-2, 2))
    values = frame([1.2, 1.4, 1.3, 1.5])
    row = table.table(values, [fall], contrast=True).iloc[0]
    assert row.value == pytest.approx(1.35) and row.ci_low < 1.35 < row.ci_high < 2
    assert table.table(frame([0.9, 1, 1]), [fall]).ci_high[0] == 1


def test_intervals_are_those_of_the_unit():
    rng = np.random.default_rng(0)
    many = rng.random(40)
    row = table.table(frame(many), [UP], data="sst").iloc[0]
    expected = text_interval(many, ("sst", "m", "a", "up"))
    assert (row.ci_low, row.ci_high) == (expected.low, expected.high)
    several = rng.random((3, 40))
    several[1, 7] = np.nan
    values = pd.concat([frame(v, model=f"m{k}") for k, v in enumerate(several)])
    row = table.table(values, [UP]).iloc[0]
    expected = crossed_interval(np.delete(several, 7, axis=1))
    assert [row.value, row.ci_low, row.ci_high] == pytest.approx(
        [expected.value, expected.low, expected.high]
    )
    assert (row.n, row.void, row.unit) == (39, 1, "models × texts")


def test_what_has_no_value_says_why():
    metric = registry.get("soft_ns")
    row = table.table(frame([np.nan] * 3).assign(metric="soft_ns"), [metric]).iloc[0]
    assert row.flag == f"no text has a value, as {metric.void}" and row.n == 0


@pytest.mark.parametrize(
    ("values", "value", "n", "flag"),
    [
        ([np.nan] * 3, np.nan, 0, "no text has a value"),
        ([0.5] * 4, 0.5, 4, "all values are equal"),
        ([0.5, np.nan, 0.7], 0.6, 2, "2 texts: an interval needs 3"),
    ],
)
def test_what_has_no_interval_says_why(values, value, n, flag):
    row = table.table(frame(values), [UP]).iloc[0]
    assert row.value == pytest.approx(value, nan_ok=True) and np.isnan(row.ci_low) and np.isnan(row.ci_high)
    assert (row.n, row.void, row.flag) == (n, len(values) - n, flag)


def test_two_models_have_no_interval():
    values = pd.concat([frame([0.1, 0.2, 0.3], model=m) for m in ("x", "y")])
    row = table.table(values, [UP]).iloc[0]
    assert (
        row.value == pytest.approx(0.2)
        and np.isnan(row.ci_low)
        and row.flag == "2 models: an interval needs 3"
    )


def test_at_chance_no_value_is_a_number():
    row = table.table(frame([0.1, 0.2, 0.3], [[0, 0, 0]]), [UP], chance="at chance: why", flat={"a": 2}).iloc[
        0
    ]
    assert row[["value", "ci_low", "ci_high", "diagnosticity"]].isna().all()
    assert row.flag == "at chance; all scores are equal in 2 texts" and row.n == 3


def test_ends_stay_in_the_range_of_the_metric():
    bounded = Metric("up", "up", "higher", (0, 1), (), "", print)
    row = table.table(frame([0.0, 0.0, 1.0, 1.0]), [bounded]).iloc[0]
    assert (row.ci_low, row.ci_high) == (0, 1)


def test_chance_is_the_gate():
    labels = [0, 1] * 10
    assert table.chance([labels], [labels]) == ""
    reason = "at chance: Matthews' correlation 0.000 is not above chance"
    assert table.chance([labels], [[0] * 20]).startswith(reason)
    assert table.chance([[1] * 20], [[0] * 20]) == ""  # one class cannot tell
    good, bad, other = labels, [0] * 10 + [1] * 10, [1, 0] * 10
    assert table.chance([labels] * 3, [good, good, bad]) != ""  # three seeds: the interval decides
    assert table.chance([labels, other], [labels, other]) == ""  # classes in another order
    assert table.chance([[0, 1, 2] * 5], [[0, 1, 1] * 5]) == ""


def test_void_and_never_flipping_texts_above_a_fifth_are_told():
    ns, flip = registry.get("ns"), registry.get("decision_flip")
    scores = {"ns": [0.5, 0.5, np.nan, np.nan, np.nan], "decision_flip": [1, 1, 0.5, 0.5, 0.5]}
    rows = [("m", i, "lime", name, "", 0, v) for name, of in scores.items() for i, v in enumerate(of)]
    values = pd.DataFrame(
        rows, columns=["model", "example", "attribution", "metric", "baseline", "draw", "value"]
    )
    assert table.remarks(table.table(values, [ns, flip]), values, [ns, flip]) == [
        "3 texts are void in NS.",
        "2 of 5 texts keep their class as long as a token is left: they count as 1 in decision flip "
        "(fraction).",
    ]
    few = values[values.example > 0].assign(value=lambda v: v.value.fillna(0.5))
    assert table.remarks(table.table(few, [ns, flip]), few.replace({"value": {1: 0.9}}), [ns, flip]) == []
