"""Verdicts on claims: from intervals to "holds", "does not hold", "mixed", "inconclusive" or "not tested".

A claim compares a statistic with a threshold on one case (`judge`) or on several data sets: on at least one
(`somewhere`), on their average (`on_average`) or on each (`everywhere`); `equivalence` is the claim that an
effect lies within a margin. Cases are `faithlib.statistics.Interval`s by name and must be independent: one a
data set, not one an attribution of the same data set. Every verdict "holds" is wrong with a probability of at
most .025 where the statistic equals its threshold.

`gate` decides which data sets take part; `multiverse` says whether a verdict depends on choices that the
paper leaves open.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from faithlib.statistics import (
    FEWEST_UNITS,
    LEVEL,
    Interval,
    direction,
    holm,
    seeds_interval,
    t_quantile,
)

HOLDS, FAILS, MIXED, INCONCLUSIVE, UNTESTED = WORDS = (
    "holds",
    "does not hold",
    "mixed",
    "inconclusive",
    "not tested",
)
ALPHA = 0.025  # one-sided: "holds" is wrong at most this often
ROUNDING = 1e-9  # of a threshold: closer than this is equal
GATE_MARGIN = 0.05  # of balanced accuracy above chance
ROW = [
    "verdict",
    "value",
    "ci_low",
    "ci_high",
    "unit",
    "n_units",
    "cases",
    "failing_cases",
    "borderline",
]  # the columns of claims.csv that a verdict fills
CASES = ["case", "value", "ci_low", "ci_high", "unit", "n_units", "p", "p_holm", "reason"]
CHOICES = ["claim", "choice", "option", "value", "ci_low", "ci_high", "verdict"]  # the columns of choices.csv
MAIN, GRID = "main", "grid"  # names in the column `choice`
LARGEST_GRID = 24


@dataclass(frozen=True)
class Verdict:
    """A verdict and what it rests on.

    Attributes:
        word: one of `WORDS`.
        value: the tested statistic: of the case, the average, or the case that decides.
        low: lower end of the interval that decides; NaN where there is none.
        high: its upper end.
        unit: what was replicated in the interval ("seed", "text").
        units: number of units of each case in the interval.
        cases: names of the cases in the interval.
        failing_cases: all cases whose estimate violates the claim.
        borderline: does a bootstrap bound lie within two Monte-Carlo errors of the threshold?
        detail: what the verdict depends on, in words.
        average: is it about an average over several data sets?
        shown_on: cases on which the claim is shown, of `somewhere`.
        critical_t: what the decisive case's t had to exceed, of `somewhere`; NaN elsewhere.
        value_all: estimate with the cases that have too few units; NaN where there are none.
        other_cases: names of those cases.
        relation: the claimed relation.
        bound: its threshold.

    >>> verdict = judge(seeds_interval([0.10, 0.12, 0.11]))
    >>> verdict.text("MiniLM")
    'holds (MiniLM, 3 seeds)'
    >>> verdict.row()["n_units"]
    3
    """

    word: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    unit: str = ""
    units: tuple[int, ...] = ()
    cases: tuple[str, ...] = ()
    failing_cases: tuple[str, ...] = ()
    borderline: bool = False
    detail: str = ""
    average: bool = False
    shown_on: tuple[str, ...] = ()
    critical_t: float = math.nan
    value_all: float = math.nan
    other_cases: tuple[str, ...] = ()
    relation: str = ">"
    bound: float = 0.0

    def __post_init__(self):
        if self.word not in WORDS:
            raise ValueError(f"unknown verdict {self.word!r}: use one of {', '.join(WORDS)}")

    @property
    def n_units(self):
        """Units of the case that has the fewest; 0 where no case has an interval."""
        return min(self.units, default=0)

    def text(self, model=""):
        """The verdict with what it depends on and covers, for one cell of a table.

        Args:
            model: its name in words; "holds for <model>" where texts of one model are the unit.
        """
        words = self.word
        if self.word == HOLDS and self.average and self.failing_cases:
            words = f"holds on average, not shown on {', '.join(self.failing_cases)}"
        if self.word == UNTESTED:
            return f"{words} ({self.detail})" if self.detail else words
        count = f"{self.n_units}" + f"–{max(self.units)}" * (self.n_units < max(self.units))
        covers = f"{count} {self.unit}{'s' * (count != '1')}"
        if model and self.unit != "seed":
            words, model = f"{words} for {model}", ""
        return f"{words} ({'; '.join(filter(None, [self.detail, ', '.join(filter(None, [model, covers]))]))})"

    def row(self, model=""):
        """The columns of claims.csv that a verdict fills, by `ROW`."""
        cells = (
            self.text(model),
            self.value,
            self.low,
            self.high,
            self.unit,
            self.n_units,
            ", ".join((*self.cases, *self.other_cases)),
            ", ".join(self.failing_cases),
            self.borderline,
        )
        return dict(zip(ROW, cells, strict=True))


def decide(low, high, relation=">", bound=0.0):
    """Does an interval satisfy a relation: "holds", "does not hold" or "inconclusive".

    Args:
        low: lower end.
        high: upper end.
        relation: ">" or "<"; ">=" and "<=" are the same, as a threshold that is met exactly, within rounding
            (1e-9), decides nothing.
        bound: the threshold.

    Returns:
        "holds" if the interval lies wholly on the claimed side, "does not hold" if on the other, else
        "inconclusive"; "not tested" where the ends are NaN.

    Raises:
        ValueError: for another relation and for a reversed interval.

    >>> decide(0.1, 0.2), decide(-0.2, -0.1), decide(-0.1, 0.2)
    ('holds', 'does not hold', 'inconclusive')
    >>> decide(0.95, 1.0, ">=", 0.95)
    'inconclusive'
    """
    side = direction(relation)
    if math.isnan(low) or math.isnan(high):
        return UNTESTED
    if low > high:
        raise ValueError(f"[{low}, {high}] is not an interval: give low <= high")
    near, far = (low - bound, high - bound) if side > 0 else (bound - high, bound - low)
    if near > ROUNDING:
        return HOLDS
    return FAILS if far < -ROUNDING else INCONCLUSIVE


def judge(interval, relation=">", bound=0.0, name=""):
    """The verdict on one case.

    Args:
        interval: Interval.
        relation: ">", ">=", "<" or "<=".
        bound: the threshold.
        name: of the case.

    Returns:
        Verdict; "not tested" where there is no interval.

    Raises:
        ValueError: for another relation.

    >>> judge(seeds_interval([0.034, -0.031, 0.02])).word
    'inconclusive'
    >>> judge(seeds_interval([0.034, -0.031])).text()
    'not tested (2 seeds: an interval needs 3)'
    """
    low, high = interval.ends()
    word = decide(low, high, relation, bound)
    failing = () if _satisfies(interval.value, relation, bound) else (name,) * bool(name)
    verdict = Verdict(word, interval.value, failing_cases=failing, relation=relation, bound=bound)
    if word == UNTESTED:
        return replace(verdict, detail=interval.reason, other_cases=(name,) * bool(name))
    return replace(
        verdict,
        low=low,
        high=high,
        unit=interval.unit,
        units=(interval.n_units,),
        cases=(name,) * bool(name),
        borderline=interval.borderline(bound),
    )


def failing_cases(cases, relation=">", bound=0.0):
    """Names of the cases whose estimate violates the relation, with or without an interval.

    Args:
        cases: {name: Interval}.
        relation: ">", ">=", "<" or "<="; equality within rounding violates ">" and "<".
        bound: the threshold.

    Returns:
        Tuple of names.

    Raises:
        ValueError: for another relation.

    >>> failing_cases({"sst": seeds_interval([0.1, 0.2, 0.3]), "babi-1": seeds_interval([-0.3, -0.1])})
    ('babi-1',)
    """
    return tuple(
        name
        for name, case in cases.items()
        if not (math.isnan(case.value) or _satisfies(case.value, relation, bound))
    )


def case_table(cases, relation=">", bound=0.0):
    """One row a case: estimate, interval, one-sided p and its Holm adjustment over all cases.

    Args:
        cases: {name: Interval}.
        relation: ">", ">=", "<" or "<=".
        bound: the threshold.

    Returns:
        DataFrame with columns case, value, ci_low, ci_high, unit, n_units, p, p_holm, reason. A case without
        an interval has p = 1: it was looked at. So has one model among cases with several seeds.

    Raises:
        ValueError: for another relation.

    >>> table = case_table({"sst": seeds_interval([0.1, 0.2, 0.3]), "babi-1": seeds_interval([-0.3, -0.1])})
    >>> table.p_holm.round(3).tolist(), table.reason.tolist()
    ([0.074, 1.0], ['', '2 seeds: an interval needs 3'])
    """
    p = _pvalues(cases, relation, bound)
    adjusted = holm(list(p.values())) if p else []
    rows = [
        (name, x.value, x.low, x.high, x.unit, x.n_units, p[name], after, x.reason)
        for (name, x), after in zip(cases.items(), adjusted, strict=True)
    ]
    return pd.DataFrame(rows, columns=CASES)


def somewhere(cases, relation=">", bound=0.0):
    """The claim that the relation is satisfied on at least one case.

    One-sided p-values with Holm's correction at .025 over all cases looked at, those without an interval
    (p = 1) included. Variances are not pooled over cases. The interval is that of the case with the smallest
    p at the level of Holm's first step, 1 - 2 · .025 / m: it excludes the threshold where the claim holds.

    Args:
        cases: {name: Interval}, all cases that were looked at.
        relation: ">", ">=", "<" or "<=".
        bound: the threshold.

    Returns:
        Verdict: holds if a case is rejected (`shown_on`); does not hold only if the unadjusted 95 % interval
        of every case lies on the other side; else inconclusive, with the critical t.

    Raises:
        ValueError: for another relation.

    >>> cases = {"sst": seeds_interval([0.03, 0.04, 0.05]), "babi-1": seeds_interval([-0.1, 0.0, 0.4])}
    >>> somewhere(cases).text("BiLSTM")
    'holds (shown on sst; BiLSTM, 3 seeds)'
    >>> somewhere(cases | {f"babi-{i}": cases["babi-1"] for i in range(2, 18)}).detail
    'critical t 18.9 over 18 cases'
    """
    tested, others = _split(cases)
    failing = failing_cases(cases, relation, bound)
    if not tested:
        return _untested(cases, failing, relation, bound)
    p = _pvalues(cases, relation, bound + direction(relation) * ROUNDING)
    shown = tuple(name for name, adjusted in zip(p, holm(list(p.values())), strict=True) if adjusted <= ALPHA)
    leading = min(tested, key=p.get)
    level = 1 - 2 * ALPHA / len(cases)
    low, high = tested[leading].ends(level)
    critical = t_quantile(0.5 + level / 2, tested[leading].df)
    if shown:
        word, detail = HOLDS, f"shown on {', '.join(shown)}" if len(cases) > 1 else ""
    elif not others and all(decide(*case.ends(), relation, bound) == FAILS for case in tested.values()):
        word, detail = FAILS, ""
    else:
        word = INCONCLUSIVE
        detail = f"critical t {critical:.1f} over {len(cases)} case{'s' * (len(cases) > 1)}"
    return Verdict(
        word,
        tested[leading].value,
        low,
        high,
        tested[leading].unit,
        tuple(case.n_units for case in tested.values()),
        tuple(tested),
        failing,
        tested[leading].borderline(bound, level),
        detail,
        shown_on=shown,
        critical_t=critical,
        other_cases=tuple(others),
        relation=relation,
        bound=bound,
    )


def average(cases):
    """The mean of several data sets, equally weighted, with Welch's interval.

    Variance Σ v_k / K², degrees of freedom (Σ v_k)² / Σ(v_k² / df_k) (Welch 1947), v_k the squared standard
    error of case k. As in a crossed design, the wider of the intervals by two-way variances and by variances
    over seeds.

    Args:
        cases: {name: Interval}, each with an interval.

    Returns:
        Interval with the smallest number of units of the cases; their unit, or "text" where the units of one
        model differ (texts, facts).

    Raises:
        ValueError: for no cases, a case without an interval, and seeds averaged with texts of one model.

    >>> cases = {"sst": seeds_interval([0.1, 0.2, 0.3]), "agnews": seeds_interval([0.0, 0.1, 0.2, 0.1])}
    >>> print(average(cases))
    +0.150 [+0.050, +0.250] (3 seeds)
    """
    if not cases:
        raise ValueError("no cases: an average needs at least one")
    if without := [name for name, case in cases.items() if not case.exists]:
        raise ValueError(f"no interval for {', '.join(without)}: leave out what has none")
    units = {case.unit for case in cases.values()}
    if len(units) > 1 and "seed" in units:
        raise ValueError(f"cases of different units ({', '.join(sorted(units))}): seeds and texts do not mix")
    parts = [case.components for case in cases.values()]
    components = tuple(
        dict.fromkeys(
            _welch([part[min(i, len(part) - 1)] for part in parts]) for i in range(max(map(len, parts)))
        )
    )
    low, high = (float(np.mean([case.limits[i] for case in cases.values()])) for i in (0, 1))
    return Interval(
        float(np.mean([case.value for case in cases.values()])),
        units.pop() if len(units) == 1 else "text",
        min(case.n_units for case in cases.values()),
        components,
        "average",
        limits=(low, high),
    )


def on_average(cases, relation=">", bound=0.0):
    """The claim that the mean over the data sets satisfies the relation.

    The interval (`average`) is over the data sets that have one: with three seeds or more, or, where no data
    set has seeds, with three texts or more. The others are in `value_all`, the mean of all data sets, which
    has no interval.

    Args:
        cases: {name: Interval}, one a data set.
        relation: ">", ">=", "<" or "<=".
        bound: the threshold.

    Returns:
        Verdict: "mixed" if, after Holm over the data sets, one lies wholly above and one wholly below the
        threshold; "inconclusive (depends on single-seed data sets)" if `value_all` is on the other side of
        the threshold than `value`; else by the interval. "not tested" where no data set has an interval.

    Raises:
        ValueError: for another relation.

    >>> cases = {"sst": seeds_interval([0.10, 0.12, 0.11]), "agnews": seeds_interval([0.2, 0.24, 0.22])}
    >>> on_average(cases).text("MiniLM")
    'holds (MiniLM, 3 seeds)'
    >>> on_average(cases | {"multirc": seeds_interval([-0.6])}).text("MiniLM")
    'inconclusive (depends on single-seed data sets; MiniLM, 3 seeds)'
    """
    within, others = _split(cases)
    failing = failing_cases(cases, relation, bound)
    if not within:
        return _untested(cases, failing, relation, bound)
    found = average(within)
    verdict = replace(
        judge(found, relation, bound),
        units=tuple(case.n_units for case in within.values()),
        cases=tuple(within),
        failing_cases=failing,
        average=len(cases) > 1,
        other_cases=tuple(others),
    )
    value = _mean_value(cases)
    if others:
        verdict = replace(verdict, value_all=value)
    if mixed(within, bound):
        return replace(verdict, word=MIXED, detail=_sides(within, bound))
    if others and _satisfies(value, relation, bound) != _satisfies(found.value, relation, bound):
        few = found.unit == "seed" and all(
            x.unit != "seed" or x.n_units < FEWEST_UNITS for x in others.values()
        )
        kind = "single-seed data sets" if few else "data sets without an interval"
        verdict = replace(verdict, word=INCONCLUSIVE, detail=f"depends on {kind}")
    return verdict


def everywhere(cases, relation=">", bound=0.0):
    """The claim that every case satisfies the relation.

    Args:
        cases: {name: Interval}.
        relation: ">", ">=", "<" or "<=".
        bound: the threshold.

    Returns:
        Verdict with the estimate and 95 % interval of the weakest case (the largest p). It holds if every
        case has an interval and all of them lie on the claimed side; it does not hold if, after Holm at .025,
        one lies on the other side; else it is inconclusive.

    Raises:
        ValueError: for another relation.

    >>> cases = {"sst": seeds_interval([0.10, 0.12, 0.11]), "agnews": seeds_interval([-0.1, 0.1, 0.2])}
    >>> everywhere(cases).text()
    'inconclusive (not shown on agnews; 3 seeds)'
    """
    tested, others = _split(cases)
    failing = failing_cases(cases, relation, bound)
    if not tested:
        return _untested(cases, failing, relation, bound)
    words = {name: decide(*case.ends(), relation, bound) for name, case in tested.items()}
    opposite = "<" if direction(relation) > 0 else ">"
    p = _pvalues(cases, opposite, bound)
    against = [
        name
        for name, adjusted in zip(p, holm(list(p.values())), strict=True)
        if adjusted <= ALPHA and words.get(name) == FAILS
    ]
    weakest = max(tested, key=lambda name: tested[name].pvalue(relation, bound))
    unshown = [name for name in cases if words.get(name) != HOLDS]
    word = FAILS if against else INCONCLUSIVE if unshown else HOLDS
    detail = f"violated on {', '.join(against)}" if against else ""
    if word == INCONCLUSIVE:
        detail = f"not shown on {', '.join(unshown)}"
    return Verdict(
        word,
        tested[weakest].value,
        *tested[weakest].ends(),
        tested[weakest].unit,
        tuple(case.n_units for case in tested.values()),
        tuple(tested),
        failing,
        any(case.borderline(bound) for case in tested.values()),
        detail,
        other_cases=tuple(others),
        relation=relation,
        bound=bound,
    )


def mixed(cases, bound=0.0):
    """After Holm over the cases (two-sided .05), does one lie wholly above and one wholly below the bound?

    Args:
        cases: {name: Interval}; those without an interval count as looked at.
        bound: the threshold.

    Returns:
        bool.

    >>> mixed({"sst": seeds_interval([0.09, 0.10, 0.11]), "babi-1": seeds_interval([-0.30, -0.31, -0.32])})
    True
    """
    above, below = _beyond(cases, bound)
    return bool(above and below)


def equivalence(interval, margin, bound=0.0, name=""):
    """The claim of no effect: |value - bound| < margin, by two one-sided tests (Schuirmann 1987).

    Args:
        interval: Interval, of one case or an `average`.
        margin: above 0, fixed before the run.
        bound: the value that stands for no effect.
        name: of the case.

    Returns:
        Verdict: holds if the whole 95 % interval lies within bound ± margin, does not hold if all of it lies
        beyond one margin, else inconclusive.

    Raises:
        ValueError: for a margin of 0 or less.

    >>> equivalence(seeds_interval([0.001, -0.002, 0.000]), margin=0.02).word
    'holds'
    >>> equivalence(seeds_interval([0.01, -0.02, 0.02]), margin=0.02).word
    'inconclusive'
    """
    if not margin > 0:
        raise ValueError(f"margin {margin}: an equivalence needs one above 0")
    lower, upper = judge(interval, ">", bound - margin, name), judge(interval, "<", bound + margin, name)
    words = {lower.word, upper.word}
    word = HOLDS if words == {HOLDS} else FAILS if FAILS in words else INCONCLUSIVE
    return replace(
        lower,
        word=UNTESTED if lower.word == UNTESTED else word,
        failing_cases=lower.failing_cases or upper.failing_cases,
        borderline=lower.borderline or upper.borderline,
        relation="=",
        bound=bound,
    )


@dataclass(frozen=True)
class Gate:
    """Does a data set × architecture take part in the claims?

    Attributes:
        accepted: the decision.
        score: Interval of the data set's own score.
        chance: what the score is worth by chance.
        balanced_accuracy: mean over seeds.
        margin: balanced accuracy above chance (1 / classes).
        tested: False where the score has no interval (one or two seeds, or all equal) and the means decided.
        reason: why it is not accepted, else "".
    """

    accepted: bool
    score: Interval
    chance: float
    balanced_accuracy: float
    margin: float
    tested: bool
    reason: str = ""


def gate(scores, balanced_accuracies, classes, chance=0.0):
    """Does a data set × architecture take part: is the mean over its seeds above chance?

    Accepted if the t interval of its own score over seeds lies above chance and the mean balanced accuracy is
    at least .05 above 1 / classes. The decision is on the data set, never on a seed. Without an interval the
    mean score decides in its place; data sets with fewer than three seeds enter no interval of a claim.

    Args:
        scores: (seeds,), the data set's score (MCC, macro-F1 or balanced accuracy).
        balanced_accuracies: (seeds,), as fractions.
        classes: number of classes.
        chance: value of the score by chance (0 for MCC).

    Returns:
        Gate.

    Raises:
        ValueError: for no seeds, different lengths, values that are not finite, fewer than two classes and
            balanced accuracies outside [0, 1].

    >>> gate([0.31, 0.27, 0.29], [0.62, 0.60, 0.63], classes=2).accepted
    True
    >>> gate([0.02, 0.02, 0.03], [0.51, 0.50, 0.52], classes=2).reason
    'balanced accuracy 0.510 is less than 0.05 above chance (0.500)'
    """
    score, balanced = seeds_interval(scores), seeds_interval(balanced_accuracies)
    if score.n_units != balanced.n_units:
        raise ValueError(
            f"{score.n_units} scores, but {balanced.n_units} balanced accuracies: give one a seed"
        )
    if classes < 2:
        raise ValueError(f"{classes} classes: chance needs at least 2")
    if not all(0 <= value <= 1 for value in balanced_accuracies):
        raise ValueError("balanced accuracies lie within [0, 1]: give fractions")
    margin = balanced.value - 1 / classes
    above = decide(score.low, score.high, ">", chance) == HOLDS
    if not score.exists:
        above = score.value > chance + ROUNDING
    reasons = []
    if not above:
        ends = f" [{score.low:.3f}, {score.high:.3f}]" if score.exists else ""
        reasons.append(f"score {score.value:.3f}{ends} is not above chance ({chance:.3f})")
    if margin < GATE_MARGIN - ROUNDING:
        text = f"balanced accuracy {balanced.value:.3f} is less than {GATE_MARGIN:.2f} above chance"
        reasons.append(f"{text} ({1 / classes:.3f})")
    return Gate(not reasons, score, chance, balanced.value, margin, score.exists, "; ".join(reasons))


def gate_table(scores):
    """The gate of every data set × architecture, for the table of those that take no part.

    Args:
        scores: DataFrame, one row a seed: dataset, model, seed, score, balanced_accuracy, classes, chance.

    Returns:
        DataFrame with columns dataset, model, accepted, value, ci_low, ci_high, chance, balanced_accuracy,
        margin, n_seeds, tested, reason.

    Raises:
        ValueError: for a missing column, a repeated seed, classes or chance that differ within a data set,
            and as `gate`.

    >>> rows = [("cola", "minilm", seed, mcc, 0.6, 2, 0.0) for seed, mcc in enumerate([0.31, 0.27, 0.29])]
    >>> names = ["dataset", "model", "seed", "score", "balanced_accuracy", "classes", "chance"]
    >>> gate_table(pd.DataFrame(rows, columns=names)).accepted.tolist()
    [True]
    """
    wanted = ["dataset", "model", "seed", "score", "balanced_accuracy", "classes", "chance"]
    if missing := [name for name in wanted if name not in scores]:
        raise ValueError(f"the table of scores has no column {', '.join(missing)}")
    if scores.duplicated(["dataset", "model", "seed"]).any():
        raise ValueError("a seed of a data set and model has several scores: give one")
    rows = []
    for (dataset, model), part in scores.groupby(["dataset", "model"], sort=False):
        if part.classes.nunique() > 1 or part.chance.nunique() > 1:
            raise ValueError(f"{dataset}, {model}: seeds differ in classes or chance")
        found = gate(
            part.score, part.balanced_accuracy, int(part.classes.iloc[0]), float(part.chance.iloc[0])
        )
        rows.append(
            {
                "dataset": dataset,
                "model": model,
                "accepted": found.accepted,
                "value": found.score.value,
                "ci_low": found.score.low,
                "ci_high": found.score.high,
                "chance": found.chance,
                "balanced_accuracy": found.balanced_accuracy,
                "margin": found.margin,
                "n_seeds": found.score.n_units,
                "tested": found.tested,
                "reason": found.reason,
            }
        )
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Multiverse:
    """How far a verdict depends on choices that the paper leaves open.

    Attributes:
        verdict: the main setting's, or "mixed" with the choices it depends on.
        table: DataFrame, columns `CHOICES`, the main setting first.
        summary: "k of m options agree, sign equal in j".
        agree: options with the main setting's verdict.
        sign_equal: options whose estimate is on the main setting's side of the threshold.
        options: tested options.
        depends_on: choices that the verdict depends on.
    """

    verdict: Verdict
    table: pd.DataFrame
    summary: str
    agree: int
    sign_equal: int
    options: int
    depends_on: tuple[str, ...]


def multiverse(claim, main, options, differences=None, grid=None):
    """A claim's verdict over the options of the choices that the paper leaves open (Steegen et al. 2016).

    Options vary one at a time from the main setting. The verdict stays that of the main setting unless
    options have opposite verdicts ("holds" and "does not hold"), or a paired difference main - option
    excludes 0 after Holm over all options (two-sided .05) and the option's own verdict differs: then it is
    "mixed (depends on <choices>)".

    Args:
        claim: its words.
        main: Verdict of the main setting.
        options: {(choice, option): Verdict}.
        differences: {(choice, option): Interval} of main - option, paired by seed and text; options without
            one are not compared.
        grid: {option in words: Verdict} of combined choices, at most 24; for the table only.

    Returns:
        Multiverse. Options that are not tested are in the table and in no count.

    Raises:
        ValueError: for no options, a choice named "main" or "grid", a difference of an unknown option and a
            grid of more than 24 cells.

    >>> main, other = judge(seeds_interval([0.10, 0.12, 0.11])), judge(seeds_interval([-0.3, -0.31, -0.29]))
    >>> found = multiverse("A above B", main, {("ties", "strict"): other, ("ties", "half"): main})
    >>> found.verdict.text(), found.summary
    ('mixed (depends on ties; 3 seeds)', '1 of 2 options agree, sign equal in 1')
    """
    differences, grid = differences or {}, grid or {}
    if not options:
        raise ValueError(f"claim {claim!r} has no options: list those of each choice")
    if reserved := {choice for choice, _ in options} & {MAIN, GRID}:
        raise ValueError(f"choice {reserved.pop()!r} is a reserved name: call it what is chosen")
    if unknown := [f"{c}: {o}" for c, o in differences if (c, o) not in options]:
        raise ValueError(f"a difference of an option that is not there: {', '.join(unknown)}")
    if len(grid) > LARGEST_GRID:
        raise ValueError(f"a grid of {len(grid)} cells: at most {LARGEST_GRID}")
    tested = {key: option for key, option in options.items() if option.word != UNTESTED}
    agree = sum(option.word == main.word for option in tested.values())
    equal = sum(_side(option) == _side(main) for option in tested.values())
    depends = _depends_on(main, tested, differences) if main.word != UNTESTED else ()
    verdict = main
    if depends:
        verdict = replace(main, word=MIXED, detail=f"depends on {', '.join(depends)}")
    cells = [((MAIN, MAIN), main), *options.items(), *(((GRID, name), cell) for name, cell in grid.items())]
    rows = [(claim, *key, cell.value, cell.low, cell.high, cell.word) for key, cell in cells]
    summary = f"{agree} of {len(tested)} options agree, sign equal in {equal}"
    if len(tested) < len(options):
        summary += f", {len(options) - len(tested)} not tested"
    table = pd.DataFrame(rows, columns=CHOICES)
    return Multiverse(verdict, table, summary, agree, equal, len(tested), depends)


def _depends_on(main, options, differences):
    """The choices that change a verdict, in their order."""
    opposite = {HOLDS, FAILS}
    choices = dict.fromkeys(choice for choice, _ in options)
    words = {
        choice: {main.word} | {x.word for (c, _), x in options.items() if c == choice} for choice in choices
    }
    found = {choice for choice in choices if opposite <= words[choice]}
    if not found and opposite <= set().union(*words.values()):
        found = {choice for choice in choices if (words[choice] - {main.word}) & opposite}
    compared = {key: x for key, x in differences.items() if key in options and x.exists}
    if compared:
        adjusted = holm([x.two_sided() for x in compared.values()])
        found |= {
            key[0]
            for key, p in zip(compared, adjusted, strict=True)
            if p <= 1 - LEVEL and options[key].word != main.word
        }
    return tuple(choice for choice in choices if choice in found)


def _side(verdict):
    distance = verdict.value - verdict.bound
    return 0 if abs(distance) <= ROUNDING else math.copysign(1, distance)


def _satisfies(value, relation, bound):
    """Does an estimate satisfy the relation? Equality within rounding satisfies ">=" and "<=" only."""
    distance = direction(relation) * (value - bound)
    return bool(distance >= -ROUNDING if "=" in relation else distance > ROUNDING)


def _equal(interval, bound):
    return abs(interval.value - bound) <= ROUNDING


def _beyond(cases, bound):
    """Names of the cases wholly above and wholly below, after Holm (two-sided .05)."""
    if not cases:
        return [], []
    adjusted = holm([case.two_sided(bound) for case in cases.values()])
    found = [
        (name, case.value)
        for (name, case), p in zip(cases.items(), adjusted, strict=True)
        if p <= 1 - LEVEL and case.exists and not _equal(case, bound)
    ]
    return [name for name, value in found if value > bound], [name for name, value in found if value < bound]


def _sides(cases, bound):
    above, below = _beyond(cases, bound)
    return f"above on {', '.join(above)}, below on {', '.join(below)}"


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
    seeds = any(case.unit == "seed" for case in cases.values())
    within = {
        name: case for name, case in cases.items() if case.exists and (case.unit == "seed" or not seeds)
    }
    return within, {name: case for name, case in cases.items() if name not in within}


def _pvalues(cases, relation, bound):
    """{name: one-sided p}, 1 for a case that a verdict does not rest on."""
    within, _ = _split(cases)
    return {name: within[name].pvalue(relation, bound) if name in within else 1.0 for name in cases}


def _mean_value(cases):
    values = [case.value for case in cases.values() if not math.isnan(case.value)]
    return float(np.mean(values)) if values else math.nan


def _untested(cases, failing, relation, bound):
    reasons = dict.fromkeys(case.reason or "one model" for case in cases.values())
    return Verdict(
        UNTESTED,
        _mean_value(cases),
        failing_cases=failing,
        detail="; ".join(reasons) or "no data set takes part",
        other_cases=tuple(cases),
        relation=relation,
        bound=bound,
    )
