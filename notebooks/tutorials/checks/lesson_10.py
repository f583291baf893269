"""Checks of lesson 10: reading a replication, and a verdict."""

import re
from numbers import Real

import numpy as np

from checks import Hint, call, check, choice, hints, same
from faithlib import statistics
from faithlib.metrics import registry as metrics
from replication.verdicts import DEPENDS, FAILS, HOLDS, WORDS, decide, judge

hint = hints(__name__)

PARTS = ("unit", "value", "low", "high", "texts", "verdict")
SINGLE = [word for word in WORDS if word != DEPENDS]  # of one interval
UNITS = ("texts", "models × texts", "models")
ENDS, THERE = ("low", "high"), ("low_there", "high_there")
PAGE = {  # part of the page: what a referee asks where it is missing
    "claim": "what is claimed? One sentence, fixed before the run",
    "model": "of which model, and how accurate is it?",
    "texts": "on which texts?",
    "metric": "by which metric, and is higher or lower better?",
    "baseline": "against what? A value alone says nothing",
    "unit": "what is the unit of the interval?",
    "n": "over how many of them?",
    "value": "how large is it?",
    "low": "how sure is it? The lower end of the interval",
    "high": "how sure is it? The upper end of the interval",
    "verdict": "which word follows?",
    "erasing": "how were tokens erased, at which ratios, and how many texts have no value?",
    "choice": "which choice was varied, and to what?",
    "value_there": "how large is the value under the other choice?",
    "low_there": "what is the lower end under the other choice?",
    "high_there": "what is the upper end under the other choice?",
    "verdict_there": "which word follows under the other choice?",
    "not_tested": "what was not tested?",
}


@check
def covers(mine):
    """It fails if all three values lie above the true mean, or all three below.
    (½)³ + (½)³ = ¼ of the studies fail.
    """
    hints = {
        "a": "that is what the interval promises, not what it does",
        "b": "that is one side: all three may also lie below the true mean",
    }
    choice(mine, "c", hints)


@check(instead=lambda values: statistics.seeds_interval(values).ends())
def t_interval(mine):
    """Mean ± quantile · standard deviation / √S.
    values.std(ddof=1) divides by S − 1; with fewer than three values return (np.nan, np.nan).
    stats.t.ppf(0.975, S - 1) * values.std(ddof=1) / np.sqrt(S)
    """
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
        (2 + np.array([-1, 1]) * 3.182446 / np.sqrt(3), "t has S - 1 degrees of freedom"),
    ]
    same(call(mine, values), expected, "of 1, 2, 3 it is (-0.484, 4.484)", wrong=wrong, atol=1e-4)
    same(call(mine, values[:2]), [np.nan, np.nan], "two values have no interval: return (nan, nan)")
    draws = np.random.default_rng(10)
    for n in (3, 5, 20):
        values = draws.normal(size=n)
        same(call(mine, values), statistics.seeds_interval(values).ends(), f"wrong for {n} random values")


@check(instead=lambda low, high, bound=0.0: decide(low, high, ">", bound))
def verdict(mine):
    """First the case without an interval: np.isnan(low).
    Then: wholly above the bound, wholly below it, and everything else.
    low > bound holds; high < bound does not hold
    """
    cases = [
        ((0.1, 0.2), "an interval above the bound"),
        ((-0.2, -0.1), "an interval below the bound: it is not just “undecided”"),
        ((-0.1, 0.2), "an interval on both sides"),
        ((0.0, 0.2), "an end that meets the bound exactly"),
        ((-0.2, 0.0), "an end that meets the bound exactly"),
        ((np.nan, np.nan), "ends that are NaN"),
        ((float("nan"), float("nan")), "ends that are NaN but not the object np.nan: np.isnan tells"),
        ((0.1, 0.2, 0.15), "right for bound=0 only: bound=0.15"),
        ((0.1, 0.2, 0.3), "right for bound=0 only: bound=0.3"),
    ]
    for case, what in cases:
        answer, expected = call(mine, *case), decide(*case[:2], ">", *case[2:])
        if not isinstance(answer, str) or answer not in WORDS:
            raise Hint(f"{answer!r} is no verdict: return one of {', '.join(map(repr, SINGLE))}")
        if answer != expected:
            raise Hint(f"{what}: {case[:2]} is {expected!r}, yours is {answer!r}")


@check(instead=statistics.holm)
def holm(mine):
    """np.argsort(p) gives the order; multiply the sorted values by m, m − 1, …, 1.
    np.minimum(1, …) bounds them; np.maximum.accumulate keeps them from falling.
    adjusted[order] = … puts them back into the order of the input
    """
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


def of_gain(gain):
    """The parts of a card that are computed."""
    gain = gain[:, ~np.isnan(gain).any(0)]
    if len(gain) == 1:
        unit, interval = "texts", statistics.text_interval(gain[0], names=["my", "claim"])
    else:
        unit, interval = "models × texts", statistics.crossed_interval(gain, unit="model")
    ends = interval.value, interval.low, interval.high
    return dict(zip(PARTS, (unit, *ends, gain.shape[1], judge(interval).word), strict=True))


@check(instead=of_gain)
def card(mine):
    """First leave out the texts that are NaN for any model: gain[:, ~np.isnan(gain).any(0)].
    One model: text_interval(gain[0], names=["my", "claim"]); several: crossed_interval(gain, unit="model").
    judge(interval).word is the verdict; interval.value, interval.low and interval.high are the numbers.
    """
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
        yours = call(mine, gain)
        if not isinstance(yours, dict) or (missing := [part for part in PARTS if part not in yours]):
            lacking = f"yours lacks {missing[0]}" if isinstance(yours, dict) else "yours is no dict"
            raise Hint(f"return a dict with {', '.join(PARTS)}: {lacking}")
        expected = of_gain(gain)
        if yours["unit"] not in ((unit := expected["unit"]), unit.replace("×", "x")):
            raise Hint(f"{what}: the unit is {unit!r}, yours is {yours['unit']!r}")
        for part in ("texts", "value"):
            same(
                yours[part], expected[part], f"{what}: {part} is {expected[part]:.4g}, yours is {yours[part]}"
            )
        for part in ("low", "high"):
            same(yours[part], expected[part], f"{what}: the interval is that of the unit {unit!r}")
        if yours["verdict"] != (word := expected["verdict"]):
            raise Hint(f"{what}: the verdict is {word!r}, yours is {yours['verdict']!r}")


def asked(page, part, fits, hint):
    """Raise a hint unless a part of a page fits."""
    if not fits:
        raise Hint(f"{part}, {page[part]!r}: {hint}")


def direction(text):
    """(label, "higher" or "lower") of the metric that a text names; None for none that is known."""
    entries = [metrics.get(name) for name in metrics.names()]
    written = {name: e for e in entries for name in (e.label, e.name, e.name.replace("_", " "))}
    named = [name for name in written if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
    longest = max(named, key=len, default=None)
    return longest and (written[longest].label, written[longest].better)


@check
def page(mine, cards=None):
    """Fill in every part; the check names the first that a referee would ask about.
    Take value, low, high and the verdict from your `card`, once for each choice.
    If the two verdicts are opposite, the verdict is "depends".
    """
    if not isinstance(mine, dict):
        raise Hint("a dict is expected: fill in the template above")
    for part, question in PAGE.items():
        if part not in mine or mine[part] is None or mine[part] in ("", ...):
            raise Hint(f"{part} is missing: {question}")
    for part in ("claim", "model", "texts", "metric", "baseline", "erasing", "choice", "not_tested"):
        asked(mine, part, isinstance(mine[part], str), "write words")
    for part in ("n", "value", "low", "high", "value_there", "low_there", "high_there"):
        asked(mine, part, isinstance(mine[part], Real) and not isinstance(mine[part], bool), "write a number")
    asked(mine, "claim", " than " in mine["claim"], "a claim compares: … than …")
    better = re.search("(higher|lower) is better", mine["metric"])
    asked(mine, "metric", better, "say whether higher is better or lower is better")
    label, right = direction(mine["metric"]) or ("", better[1])
    asked(mine, "metric", better[1] == right, f"of {label}, {right} is better")
    accurate = re.search("accura|f1|correct|right", mine["model"].lower()) and re.search(r"\d", mine["model"])
    asked(mine, "model", accurate, "say how accurate it is, as a number")
    words = mine["baseline"].lower().split()
    nothing = len(words) < 2 or words[0] in ("no", "none", "nothing")
    asked(mine, "baseline", not nothing, f"{PAGE['baseline']}; of random ones, say if scores or their order")
    mine = mine | {"unit": str(mine["unit"]).replace(" x ", " × ")}
    asked(mine, "unit", mine["unit"] in UNITS, f"use one of {', '.join(UNITS)}")
    asked(mine, "n", mine["n"] > 2, "three units are the least that an interval needs")
    for low, high in (ENDS, THERE):
        asked(mine, low, not np.isnan([mine[low], mine[high]]).any(), "without an interval there is no page")
        asked(mine, low, mine[low] <= mine[high], f"the lower end lies above the upper one, {mine[high]:g}")
    asked(mine, "value", not mine["value"] < mine["low"], "the value lies below its interval")
    asked(mine, "value", not mine["value"] > mine["high"], "the value lies above its interval")
    again = [mine[end] for end in ENDS] == [mine[end] for end in THERE]
    asked(mine, "low_there", not again, "the interval is that of the main setting: was the choice varied?")
    for part in ("n", "value", *ENDS) if cards else ():
        of_cards = [card["texts" if part == "n" else part] for card in cards.values()]
        asked(mine, part, np.isclose(mine[part], of_cards, 0.01).any(), "none of your cards has this number")
    words = [decide(mine[low], mine[high]) for low, high in (ENDS, THERE)]
    asked(mine, "verdict_there", mine["verdict_there"] == words[1], f"its interval says {words[1]!r}")
    word = DEPENDS if set(words) == {HOLDS, FAILS} else words[0]
    asked(mine, "verdict", mine["verdict"] == word, f"from these intervals follows {word!r}")
    asked(mine, "not_tested", len(mine["not_tested"].split()) > 4, "name models, data or choices")
