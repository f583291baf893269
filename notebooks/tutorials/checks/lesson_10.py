"""Checks of lesson 10: reading a replication, and a verdict."""

import numpy as np

from checks import Hint, call, check, choice, same
from faithlib import statistics
from replication.verdicts import WORDS, decide, judge

PARTS = ("unit", "value", "low", "high", "texts", "verdict")


@check
def covers(mine):
    hints = {
        "a": "that is what the interval promises, not what it does",
        "b": "that is one side: all three may also lie below the true mean",
    }
    choice(mine, "c", hints)


@check
def t_interval(mine):
    values = np.array([1.0, 2.0, 3.0])
    expected = 2 + np.array([-1, 1]) * 4.302653 / np.sqrt(3)
    wrong = [
        (2 + np.array([-1, 1]) * 1.959964 / np.sqrt(3), "that is the normal quantile: three values need t"),
        (2 + np.array([-1, 1]) * 2.919986 / np.sqrt(3), "take the quantile at 0.975: 2.5 % on each side"),
        (
            2 + np.array([-1, 1]) * 4.302653 * np.sqrt(2) / 3,
            "divide by S - 1 in the standard deviation: ddof=1",
        ),
        (2 + np.array([-1, 1]) * 4.302653, "divide the standard deviation by the root of S"),
    ]
    same(call(mine, values), expected, "of 1, 2, 3 it is (-0.484, 4.484)", wrong=wrong, atol=1e-4)
    same(call(mine, values[:2]), [np.nan, np.nan], "two values have no interval: return (nan, nan)")
    draws = np.random.default_rng(10)
    for n in (3, 5, 20):
        values = draws.normal(size=n)
        same(call(mine, values), statistics.seeds_interval(values).ends(), f"wrong for {n} random values")


@check
def verdict(mine):
    cases = [
        ((0.1, 0.2), "an interval above the bound"),
        ((-0.2, -0.1), "an interval below the bound: it is not just “inconclusive”"),
        ((-0.1, 0.2), "an interval on both sides"),
        ((0.0, 0.2), "an end that meets the bound exactly"),
        ((-0.2, 0.0), "an end that meets the bound exactly"),
        ((np.nan, np.nan), "ends that are NaN"),
        ((0.1, 0.2, 0.15), "right for bound=0 only: bound=0.15"),
        ((0.1, 0.2, 0.3), "right for bound=0 only: bound=0.3"),
    ]
    for given, what in cases:
        found, expected = call(mine, *given), decide(*given[:2], ">", *given[2:])
        if not isinstance(found, str) or found not in WORDS:
            raise Hint(
                f"{found!r} is no verdict: return one of {', '.join(map(repr, WORDS[:2] + WORDS[3:]))}"
            )
        if found != expected:
            raise Hint(f"{what}: {given[:2]} is {expected!r}, yours is {found!r}")


@check
def holm(mine):
    p = np.array([0.04, 0.01, 0.03])
    wrong = [
        (p * 3, "that is Bonferroni's correction: the second smallest is multiplied by m - 1 only"),
        ([0.03, 0.06, 0.06], "return the values in the order of the input"),
        ([0.06, 0.06, 0.03], "return the values in the order of the input"),
        ([0.04, 0.03, 0.06], "right but for one thing: no value is below that of a smaller p"),
    ]
    same(call(mine, p), [0.06, 0.03, 0.06], "of 0.04, 0.01, 0.03 it is 0.06, 0.03, 0.06", wrong=wrong)
    same(call(mine, np.array([0.6, 0.7])), [1, 1], "right but for the bound: a p-value is at most 1")
    draws = np.random.default_rng(10)
    for m in (1, 5, 18):
        p = draws.random(m) ** 3
        same(call(mine, p), statistics.holm(p), f"wrong for {m} random p-values: see the formula")


@check
def card(mine):
    draws = np.random.default_rng(10)
    several = 0.3 + draws.normal(size=40) / 2 + draws.normal(size=(3, 40)) / 9  # texts vary more than models
    holes = several.copy()
    holes[1, :4] = np.nan
    for gain, what in (
        (several, "three models"),
        (several[:1], "one model"),
        (several[:1, :12], "one model and few texts"),
        (-several, "a claim on the wrong side"),
        (several[:2], "two models, which have no interval"),
        (holes, "texts that are NaN for one model"),
    ):
        found, known = call(mine, gain), gain[:, ~np.isnan(gain).any(0)]
        if not isinstance(found, dict) or (missing := [part for part in PARTS if part not in found]):
            lacking = f"yours lacks {missing[0]}" if isinstance(found, dict) else "yours is no dict"
            raise Hint(f"return a dict with {', '.join(PARTS)}: {lacking}")
        one = len(gain) == 1
        interval = (
            statistics.text_interval(known[0], names=["my", "claim"])
            if one
            else statistics.crossed_interval(known, unit="model")
        )
        if found["unit"] != (unit := "texts" if one else "models × texts"):
            raise Hint(f"{what}: the unit is {unit!r}, yours is {found['unit']!r}")
        for part, expected in (("texts", known.shape[1]), ("value", interval.value)):
            same(found[part], expected, f"{what}: {part} is {expected:.4g}, yours is {found[part]}")
        for part, expected in (("low", interval.low), ("high", interval.high)):
            same(found[part], expected, f"{what}: the interval is that of the unit {unit!r}")
        if found["verdict"] != (word := judge(interval).word):
            raise Hint(f"{what}: the verdict is {word!r}, yours is {found['verdict']!r}")
