"""The checks of lesson 10: a right answer passes, a usual mistake gets the hint meant for it."""

import numpy as np
import pytest
from checks import lesson_10 as check
from scipy import stats

from faithlib.statistics import crossed_interval, seeds_interval, text_interval
from replication.verdicts import judge

PARTS = ("unit", "value", "low", "high", "texts", "verdict")


def card(gain, holes=True, one="texts", crossed=crossed_interval, word=None):
    gain = gain[:, ~np.isnan(gain).any(0)] if holes else np.nan_to_num(gain)
    single = len(gain) == 1
    found = text_interval(gain[0], names=["my", "claim"]) if single else crossed(gain)
    unit = one if single else "models × texts"
    values = unit, found.value, found.low, found.high, gain.shape[1], word or judge(found).word
    return dict(zip(PARTS, values, strict=True))


def over_models(gain):
    return seeds_interval(gain.mean(1))


def t_interval(values, ddof=1, p=0.975, root=0.5, least=3):
    n, reach = len(values), stats.t.ppf(p, max(1, len(values) - 1)) * np.std(values, ddof=ddof)
    return np.mean(values) + np.array([-1, 1]) * (reach / n**root if n >= least else np.nan)


def normal(values):
    return np.mean(values) + np.array([-1.96, 1.96]) * np.std(values, ddof=1) / len(values) ** 0.5


def verdict(low, high, bound=0.0):
    if np.isnan(low):
        return "not tested"
    return "holds" if low > bound else "does not hold" if high < bound else "inconclusive"


def holm(p, least=True, most=1):
    order = np.argsort(p)
    adjusted = np.minimum(most, p[order] * np.arange(len(p), 0, -1))
    return (np.maximum.accumulate(adjusted) if least else adjusted)[np.argsort(order)]


@pytest.mark.parametrize(
    "name, answer, line",
    [
        ("covers", "c", "right"),
        ("covers", "b", "one side"),
        ("t_interval", t_interval, "right"),
        ("t_interval", normal, "the normal quantile"),
        ("t_interval", lambda v: t_interval(v, p=0.95), "2.5 % on each side"),
        ("t_interval", lambda v: t_interval(v, ddof=0), "ddof=1"),
        ("t_interval", lambda v: t_interval(v, root=0), "the root of S"),
        ("t_interval", lambda v: t_interval(v, least=2), "two values have no interval"),
        ("verdict", verdict, "right"),
        ("verdict", lambda low, high, bound=0: verdict(low, high), "bound=0 only"),
        ("verdict", lambda low, high, bound=0: ("inconclusive", "holds")[low > bound], "below the bound"),
        ("verdict", lambda low, high, bound=0: low > bound, "is no verdict"),
        ("verdict", lambda low, high, bound=0: verdict(low + 1e-12, high - 1e-12, bound), "exactly"),
        ("holm", holm, "right"),
        ("holm", lambda p: p * len(p), "Bonferroni"),
        ("holm", lambda p: np.sort(holm(p))[::-1], "order of the input"),
        ("holm", lambda p: np.sort(holm(p)), "order of the input"),
        ("holm", lambda p: holm(p, least=False), "right but for one thing"),
        ("holm", lambda p: holm(p, most=9), "at most 1"),
        ("card", card, "right"),
        ("card", lambda gain: tuple(card(gain).values()), "yours is no dict"),
        ("card", lambda gain: {"unit": "texts"}, "lacks value"),
        ("card", lambda gain: card(gain, one="models × texts"), "one model: the unit is 'texts'"),
        ("card", lambda gain: card(gain, crossed=over_models), "three models: the interval"),
        ("card", lambda gain: card(gain, holes=False), "texts that are NaN for one model"),
        ("card", lambda gain: card(gain, word="holds"), "the verdict is 'inconclusive', yours"),
    ],
)  # fmt: skip
def test_the_answer_gets_its_line(name, answer, line, capsys):
    passed = getattr(check, name)(answer)
    (printed,) = capsys.readouterr().out.splitlines()
    assert printed == "right" if line == "right" else line in printed
    assert bool(passed) == (line == "right")
