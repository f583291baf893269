"""Claims about several data sets: on at least one (`somewhere`), `on_average`, or `everywhere`.

In every function `cases` is {`records.Case`: Interval}, or {name: Interval}: all that were looked at,
independent of each other (one a data set, not one an attribution of the same data set). An estimate satisfies
a `relation`, ">", ">=", "<" or "<=", to the threshold `bound`; equality within rounding violates ">" and "<".
Another relation is a ValueError.
"""

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from faithlib.statistics.base import FEWEST_UNITS, LEVEL, ROUNDING, direction, holm, t_quantile
from faithlib.statistics.intervals import EQUAL, Interval
from replication import verdicts
from replication.records import titles

CASES = ["case", "value", "ci_low", "ci_high", "unit", "n_units", "p", "p_holm", "reason"]


def failing_cases(cases, relation=">", bound=0.0):
    """The cases whose estimate violates the relation, with or without an interval: a tuple.

    >>> from faithlib.statistics.intervals import seeds_interval
    >>> failing_cases({"sst": seeds_interval([0.1, 0.2, 0.3]), "babi-1": seeds_interval([-0.3, -0.1])})
    ('babi-1',)
    """
    values = {name: case.value for name, case in cases.items() if not math.isnan(case.value)}
    return tuple(name for name, value in values.items() if not verdicts.satisfies(value, relation, bound))


def case_table(cases, relation=">", bound=0.0):
    """One row a case, with the columns CASES: one-sided p and its Holm adjustment over all cases.

    A case without an interval has p = 1: it was looked at. So has one model among cases with several seeds.

    >>> from faithlib.statistics.intervals import seeds_interval
    >>> table = case_table({"sst": seeds_interval([0.1, 0.2, 0.3]), "babi-1": seeds_interval([-0.3, -0.1])})
    >>> table.p_holm.round(3).tolist(), table.reason.tolist()
    ([0.074, 1.0], ['', '2 seeds: an interval needs 3'])
    """
    title, p, rows = titles(cases), _pvalues(cases, relation, bound), []
    for (name, x), adjusted in zip(cases.items(), _adjusted(p).values(), strict=True):
        rows.append((title[name], x.value, x.low, x.high, x.unit, x.n_units, p[name], adjusted, x.reason))
    return pd.DataFrame(rows, columns=CASES)


def somewhere(cases, relation=">", bound=0.0):
    """The claim that the relation is satisfied on at least one case.

    A case's p is the larger of two one-sided ones: its own t, and t with the variance `pooled` over all.
    Holm's correction at .025 is over all cases looked at, those without an interval (p = 1) included. The
    interval is that of the case with the smallest p at the level of Holm's first step, 1 - 2 · .025 / m. The
    claim holds if a case is rejected (`shown_on`), and does not hold only if the unadjusted 95 % interval of
    every case lies on the other side.

    >>> from faithlib.statistics.intervals import seeds_interval
    >>> cases = {"sst": seeds_interval([0.43, 0.44, 0.45]), "babi-1": seeds_interval([-0.1, 0.0, 0.1])}
    >>> somewhere(cases).text("BiLSTM")
    'holds (shown on sst; BiLSTM, 3 seeds)'
    >>> near = {f"babi-{i}": seeds_interval([0.01, 0.02, 0.03]) for i in range(18)}
    >>> somewhere(near).reason
    'too few seeds for 18 comparisons (t is 3.5, must exceed 18.9)'
    """
    tested, others = _split(cases)
    if not tested:
        return _untested(cases, relation, bound)
    alone, cases = tested, cases | pooled(tested)
    tested, others = _split(cases)
    p = _pvalues(cases, relation, bound + direction(relation) * ROUNDING)
    rejected = tuple(name for name, adjusted in _adjusted(p).items() if adjusted <= verdicts.ALPHA)
    leading = min(tested, key=lambda name: (p[name], -_t(tested[name], relation, bound)))
    words = {verdicts.decide(*case.ends(), relation, bound) for case in tested.values()}
    word, reason = verdicts.HOLDS, ""
    if not rejected and not others and words == {verdicts.FAILS}:
        word = verdicts.FAILS
    elif not rejected:
        word, lead = verdicts.UNDECIDED, alone[leading]
        critical = t_quantile(1 - verdicts.ALPHA / len(cases) / lead.looks, lead.df)
        t = _t(lead, relation, bound)
        reason = f"{len(cases)} comparison{'s' * (len(cases) > 1)} (t is {t:.1f}, must exceed {critical:.1f})"
        reason = f"too few {lead.unit}s for {reason}" if t > 0 else "no estimate is on the claim's side"
    first_step = replace(tested[leading], looks=tested[leading].looks * len(cases))
    about = {"word": word, "reason": reason, "shown_on": rejected, "interval": tested[leading]}
    return _verdict(first_step, cases, relation, bound, verdicts.SOMEWHERE, **about)


def pooled(cases):
    """Cases whose intervals also count the variance pooled over all of them, if they are over seeds.

    The variance of three seeds is small by chance in one of many cases. The pooled one, Σ df_k v_k / Σ df_k
    with v_k the variance of a seed, adds a second t interval to each case, and the wider one counts.

    >>> from faithlib.statistics.intervals import seeds_interval
    >>> cases = {"sst": seeds_interval([0.03, 0.04, 0.05]), "babi-1": seeds_interval([-0.1, 0.0, 0.4])}
    >>> round(cases["sst"].pvalue(), 4), round(pooled(cases)["sst"].pvalue(), 4)
    (0.0101, 0.365)
    """
    parts = {name: case.components[-1] for name, case in cases.items() if case.unit == "seed"}
    if len(parts) < 2:
        return cases
    freedom = sum(df for _, df in parts.values())
    variance = sum(df * se**2 * cases[name].n_units for name, (se, df) in parts.items()) / freedom
    second = {name: (math.sqrt(variance / cases[name].n_units), freedom) for name in parts}
    both = {name: (*cases[name].components, of) for name, of in second.items()}
    return cases | {name: replace(cases[name], components=of) for name, of in both.items()}


def average(cases):
    """The mean of several data sets, equally weighted, with Welch's interval; each needs an interval.

    Variance Σ v_k / K², degrees of freedom (Σ v_k)² / Σ(v_k² / df_k) (Welch 1947), v_k the squared standard
    error of case k. As in a crossed design, the wider of the intervals by two-way variances and by variances
    over seeds. It has the smallest number of units, and the unit "text" where those of one model differ.

    Raises:
        ValueError: for no cases, a case without an interval, and seeds averaged with texts of one model.

    >>> from faithlib.statistics.intervals import seeds_interval
    >>> cases = {"sst": seeds_interval([0.1, 0.2, 0.3]), "agnews": seeds_interval([0.0, 0.1, 0.2, 0.1])}
    >>> print(average(cases))
    +0.150 [+0.050, +0.250] (3 seeds)
    """
    if not cases:
        raise ValueError("no cases: an average needs at least one")
    if without := [name for name, case in cases.items() if not case.exists]:
        raise ValueError(f"no interval for {_listed(without, cases)}: leave out what has none")
    several = list(cases.values())
    units = {case.unit for case in several}
    if len(units) > 1 and "seed" in units:
        raise ValueError(f"cases of different units ({', '.join(sorted(units))}): seeds and texts do not mix")
    most = max(len(case.components) for case in several)
    parts = [case.components + case.components[-1:] * (most - len(case.components)) for case in several]
    components = tuple(dict.fromkeys(map(_welch, zip(*parts, strict=True))))
    unit = units.pop() if len(units) == 1 else "text"
    n_units = min(case.n_units for case in several)
    looks = max(case.looks for case in several)
    low, high = np.mean([case.limits for case in several], axis=0).tolist()
    return Interval(_mean_value(cases), unit, n_units, components, "average", limits=(low, high), looks=looks)


def steady(case):
    """An Interval; of equal values with a variance of 0, so that it can take part in a mean.

    >>> from faithlib.statistics.intervals import seeds_interval
    >>> print(average({"a": steady(seeds_interval([0.0, 0.0, 0.0])), "b": seeds_interval([0.2, 0.4, 0.6])}))
    +0.200 [-0.048, +0.448] (3 seeds)
    """
    return replace(case, components=((0.0, 1),)) if case.reason == EQUAL else case


def difference(one, two):
    """Interval of one - two, means of trained models that share nothing (Welch 1947), where both have one.

    >>> from faithlib.statistics.intervals import seeds_interval
    >>> print(difference(seeds_interval([0.5, 0.6, 0.7]), seeds_interval([0.1, 0.2, 0.3])))
    +0.400 [+0.173, +0.627] (3 seeds)
    """
    value, n = one.value - two.value, min(one.n_units, two.n_units)
    if not (one.exists and two.exists):
        return Interval(value, "seed", n, reason=one.reason or two.reason)
    mean = average({"one": one, "two": replace(two, value=-two.value)})
    parts = tuple((2 * se, df) for se, df in mean.components)
    limits = one.limits[0] - two.limits[1], one.limits[1] - two.limits[0]
    return replace(mean, value=value, components=parts, design="difference", limits=limits)


def on_average(cases, relation=">", bound=0.0):
    """The claim that the mean over the data sets satisfies the relation.

    The interval (`average`; of one data set, its own) is over the data sets that have one; those whose values
    are all equal add no variance (`steady`). The others are in `value_all`, the mean of all data sets.

    Returns:
        Verdict: "depends on the data set" if, after Holm over the data sets, one lies wholly above and one
        wholly below the threshold; "undecided" if `value_all` is on the other side of the threshold than
        `value`, and if data sets whose values are all equal change the verdict; else by the interval.

    >>> from faithlib.statistics.intervals import seeds_interval
    >>> cases = {"sst": seeds_interval([0.10, 0.12, 0.11]), "agnews": seeds_interval([0.2, 0.24, 0.22])}
    >>> on_average(cases).text("MiniLM")
    'holds (MiniLM, 3 seeds)'
    >>> on_average(cases | {"multirc": seeds_interval([-0.6])}).text("MiniLM")
    'undecided (depends on data sets with fewer than 3 seeds; MiniLM, 3 seeds)'
    """
    varying, _ = _split(cases)
    if not varying:
        return _untested(cases, relation, bound)
    units = {case.unit for case in varying.values()}
    cases = {name: steady(case) if case.unit in units else case for name, case in cases.items()}
    within, others = _split(cases)
    mean, value = _mean(within), _mean_value(cases)
    value_all = value if others else math.nan
    verdict = _verdict(mean, cases, relation, bound, verdicts.ON_AVERAGE, value_all=value_all)
    above, below = _beyond(varying, bound)
    if above and below:
        sides = f"above on {_listed(above, varying)}, below on {_listed(below, varying)}"
        return replace(verdict, word=verdicts.DEPENDS, depends_on=("the data set",), reason=sides)
    if verdicts.judge(_mean(varying), relation, bound).word != verdict.word:
        kind = "whose values are all equal"
    elif verdicts.satisfies(value, relation, bound) != verdicts.satisfies(mean.value, relation, bound):
        enough = any(case.unit == "seed" and case.n_units >= FEWEST_UNITS for case in others.values())
        few = mean.unit == "seed" and not enough
        kind = f"with fewer than {FEWEST_UNITS} seeds" if few else "without an interval"
    else:
        return verdict
    return replace(verdict, word=verdicts.UNDECIDED, reason=f"depends on data sets {kind}")


def everywhere(cases, relation=">", bound=0.0):
    """The claim that every case satisfies the relation.

    It has the estimate and 95 % interval of the weakest case (the largest p of one look, then the lowest t).
    It holds if every case has an interval on the claimed side, and does not hold if, after Holm at .025 over
    those with an interval, one lies on the other side.

    >>> from faithlib.statistics.intervals import seeds_interval
    >>> cases = {"sst": seeds_interval([0.10, 0.12, 0.11]), "agnews": seeds_interval([-0.1, 0.1, 0.2])}
    >>> everywhere(cases).text()
    'undecided (not shown on agnews; 3 seeds)'
    """
    tested, _ = _split(cases)
    if not tested:
        return _untested(cases, relation, bound)
    words = {name: verdicts.decide(*case.ends(), relation, bound) for name, case in tested.items()}
    opposite = "<" if direction(relation) > 0 else ">"
    adjusted = _adjusted(_pvalues(tested, opposite, bound))
    against = [name for name in tested if adjusted[name] <= verdicts.ALPHA and words[name] == verdicts.FAILS]
    p = {name: replace(case, looks=1).pvalue(relation, bound) for name, case in tested.items()}
    weakest = max(tested, key=lambda name: (p[name], -_t(tested[name], relation, bound)))
    unshown = [name for name in cases if words.get(name) != verdicts.HOLDS]
    word = verdicts.FAILS if against else verdicts.UNDECIDED if unshown else verdicts.HOLDS
    reasons = {verdicts.FAILS: "violated on " + _listed(against, cases)}
    reasons[verdicts.UNDECIDED] = "not shown on " + _listed(unshown, cases)
    borderline = any(case.borderline(bound) for case in tested.values())
    about = {"word": word, "reason": reasons.get(word, ""), "borderline": borderline}
    return _verdict(tested[weakest], cases, relation, bound, verdicts.EVERYWHERE, **about)


def behind(rivals, relation=">", bound=0.0, averaged=True):
    """Is one of several rivals shown to be ahead, after Holm over all of them?

    Of k equals the lead over the one that happens to look best is below 0 more often than chance, so its
    interval cannot say that something is *not* the best.

    Args:
        rivals: {name: {case: Interval of the lead over this rival}}.
        averaged: over a rival's cases; else every rival on every case is one that was looked at.

    >>> from faithlib.statistics.intervals import seeds_interval
    >>> one = {"lime": {"sst": seeds_interval([-0.03, -0.06, -0.045])}}
    >>> equal = {f"random {i}": {"sst": seeds_interval([-0.1, 0.0, 0.1])} for i in range(9)}
    >>> behind(one), behind(one | equal)
    (True, False)
    """
    compared = {}
    for name, cases in rivals.items():
        within, _ = _split(cases)
        if averaged and within:
            compared[name] = _mean(within)
        else:
            compared |= {(name, case): interval for case, interval in within.items()}
    return bool(compared) and everywhere(compared, relation, bound).word == verdicts.FAILS


def _mean(cases):
    """The interval of the mean; of one case its own, which may be a bootstrap."""
    return average(cases) if len(cases) > 1 else next(iter(cases.values()))


def _t(case, relation, bound):
    """How many standard errors an estimate lies on the claim's side of the threshold."""
    return direction(relation) * (case.value - bound) / max(se for se, _ in case.components)


def _beyond(cases, bound):
    """Names of the cases wholly above and wholly below, after Holm (two-sided .05)."""
    adjusted = _adjusted({name: case.two_sided(bound) for name, case in cases.items()})
    clear = {name: case.value - bound for name, case in cases.items() if adjusted[name] <= 1 - LEVEL}
    above = [name for name, distance in clear.items() if distance > ROUNDING]
    return above, [name for name, distance in clear.items() if distance < -ROUNDING]


def _listed(some, cases):
    """The titles that some of the cases have among all of them, as a text."""
    return ", ".join(map(titles(cases).get, some))


def _welch(parts):
    """(standard error, degrees of freedom) of a mean of independent means."""
    variances = np.array([se**2 for se, _ in parts])
    freedom = np.array([df for _, df in parts], dtype=float)
    total = variances.sum()
    return math.sqrt(total) / len(parts), float(total**2 / (variances**2 / freedom).sum())


def _split(cases):
    """({name: Interval} that a verdict rests on, {name: Interval} of the others).

    Where any case has seeds as its unit, one model's interval over texts does not stand beside them.
    """
    texts = not any(case.unit == "seed" for case in cases.values())
    within = {name: x for name, x in cases.items() if x.exists and (texts or x.unit == "seed")}
    return within, {name: case for name, case in cases.items() if name not in within}


def _pvalues(cases, relation, bound):
    """{name: one-sided p}, 1 for a case that a verdict does not rest on."""
    within, _ = _split(cases)
    return {name: within[name].pvalue(relation, bound) if name in within else 1.0 for name in cases}


def _adjusted(p):
    """{name: Holm's adjustment} of {name: p}."""
    return dict(zip(p, holm(list(p.values())), strict=True)) if p else {}


def _mean_value(cases):
    values = [case.value for case in cases.values() if not math.isnan(case.value)]
    return float(np.mean(values)) if values else math.nan


def _verdict(decisive, cases, relation, bound, quantifier, **changes):
    """The verdict of a decisive interval that stands for several cases; what else it says is in `changes`."""
    within, others = _split(cases)
    about = {"units": tuple(case.n_units for case in within.values()), "cases": tuple(within)}
    about |= {"failing_cases": failing_cases(cases, relation, bound), "other_cases": tuple(others)}
    about["quantifier"] = quantifier if len(cases) > 1 else ""
    return replace(verdicts.judge(decisive, relation, bound), **about, **changes)


def _untested(cases, relation, bound):
    """The verdict of cases none of which has an interval: measured and undecided, or not tested."""
    reasons = dict.fromkeys(case.reason or "one model" for case in cases.values())
    reason = "; ".join(reasons) or "no record has what it needs"
    return _verdict(Interval(_mean_value(cases), "", 0, reason=reason), cases, relation, bound, "")
