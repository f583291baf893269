"""Verdicts on claims, kept as data: a word of five, its reason, and what it rests on.

Every verdict "holds" is wrong with a probability of at most .025 where the statistic equals its threshold. A
verdict becomes a sentence only where it is printed (`sentence`).
"""

import math
from dataclasses import dataclass, replace

from faithlib.scores import one_of
from faithlib.statistics.base import ROUNDING, direction
from faithlib.statistics.intervals import Interval
from replication.records import Case, titles

HOLDS, FAILS, DEPENDS, UNDECIDED = "holds", "does not hold", "depends", "undecided"
UNTESTED = "not tested"
WORDS = HOLDS, FAILS, DEPENDS, UNDECIDED, UNTESTED
YES, NO = "yes", "no"  # of the two further questions, beside UNDECIDED
ANSWERS = YES, "", UNDECIDED, NO  # "" without an interval
ALPHA = 0.025  # one-sided: "holds" is wrong at most this often
TOST = 0.90  # level of the interval of two one-sided tests at .05
OPEN = "the interval contains the threshold"
JOIN = "; "  # between names in a column
ON_AVERAGE, SOMEWHERE, EVERYWHERE = "on average", "somewhere", "everywhere"  # of a claim over data sets
ROW = ["verdict", "reason", "depends_on", "not_shown_with", "shown_on", "failing_cases", "value", "ci_low",
       "ci_high", "relation", "threshold", "unit", "n_units", "most_units", "cases", "other_cases",
       "quantifier", "borderline"]  # columns of claims.csv that a verdict fills  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """A verdict and what it rests on.

    Attributes:
        word: one of `WORDS`.
        value: the tested statistic: of the case, the average, or the case that decides.
        low, high: ends of the interval that decides; NaN where there is none.
        unit, units: what was replicated ("seed", "text"), and how many of each case in the interval.
        cases, other_cases: those in the interval, and those that have too few units.
        failing_cases: all cases whose estimate violates the claim.
        borderline: whether a bootstrap bound lies within four Monte-Carlo errors of the threshold.
        reason: why it is not decided, or what decides, in words.
        depends_on: the choices, or "the data set", whose options have opposite verdicts.
        not_shown_with: choices, beside those, with an option that has another verdict than the main setting.
        shown_on: of `somewhere`: where the claim is shown.
        value_all: estimate with `other_cases`; NaN where there are none.
        quantifier: "on average", "somewhere" or "everywhere", of several cases.
        relation, bound: the claimed relation to a threshold.
        interval: the Interval that decides, None where there is none.

    >>> from faithlib.statistics.intervals import seeds_interval
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
    cases: tuple[Case | str, ...] = ()
    failing_cases: tuple[Case | str, ...] = ()
    borderline: bool = False
    reason: str = ""
    depends_on: tuple[str, ...] = ()
    not_shown_with: tuple[str, ...] = ()
    shown_on: tuple[Case | str, ...] = ()
    value_all: float = math.nan
    other_cases: tuple[Case | str, ...] = ()
    quantifier: str = ""
    relation: str = ">"
    bound: float = 0.0
    interval: Interval | None = None

    def __post_init__(self):
        one_of("verdict", self.word, WORDS)

    def text(self, model=""):
        """The verdict as a sentence: see `sentence`."""
        return sentence(self.row() | {"model": model})

    def row(self):
        """The columns of claims.csv that a verdict fills: {column: value}, cases by their titles.

        n_units, most_units: of the case that has the fewest, and the most; 0 where no case has an interval.
        """
        title = titles((*self.cases, *self.other_cases, *self.failing_cases))
        fields = vars(self) | {"verdict": self.word, "ci_low": self.low, "ci_high": self.high}
        fields["threshold"] = self.bound
        fields |= {"n_units": min(self.units, default=0), "most_units": max(self.units, default=0)}
        several = [column for column in ROW if isinstance(fields[column], tuple)]
        fields |= {column: JOIN.join(title.get(x, x) for x in fields[column]) for column in several}
        return {column: fields[column] for column in ROW}


def sentence(row):
    """A verdict in words, with what it covers; "holds for <model>" where texts of one model are the unit.

    row: {column: value} of claims.csv: those of `ROW`, and model. "" where there is no verdict.

    >>> sentence(Verdict("depends", depends_on=("ties",), unit="seed", units=(3, 5)).row())
    'depends on ties (3–5 seeds)'
    """
    words, model = in_full(row), row.get("model", "")
    if not words:
        return ""
    reasons = [row["reason"]] if row["reason"] else []
    if row["not_shown_with"]:
        reasons.append(f"not shown with {row['not_shown_with'].replace(JOIN, ', ')}")
    if row["shown_on"] and (row["cases"] + row["other_cases"]) != row["shown_on"]:
        reasons.append(f"shown on {row['shown_on'].replace(JOIN, ', ')}")
    if row["n_units"]:
        fewest, most = row["n_units"], row["most_units"]
        count = f"{fewest}–{most}" if fewest < most else f"{fewest}"
        covers = f"{count} {row['unit']}{'s' * (count != '1')}"
        if row.get("to_come"):
            covers += f", {row['to_come']} to come"
        if model and row["unit"] != "seed":
            words, model = f"{words} for {model}", ""
        reasons.append(", ".join(filter(None, [model, covers])))
    return f"{words} ({'; '.join(reasons)})" if reasons else words


def in_full(row):
    """The word of a verdict, with what it depends on, or where an average that holds is not shown."""
    if row["verdict"] == DEPENDS:
        return f"depends on {row['depends_on'].replace(JOIN, ', ')}"
    if row["verdict"] == HOLDS and row["failing_cases"] and row["quantifier"] == ON_AVERAGE:
        return f"holds on average, not shown on {row['failing_cases'].replace(JOIN, ', ')}"
    return row["verdict"]


def decide(low, high, relation=">", bound=0.0):
    """Does an interval satisfy a relation?

    ">=" and "<=" are as ">" and "<": a threshold `bound` that is met exactly, within 1e-9, decides nothing.

    Returns:
        "holds" if [low, high] lies wholly on the claimed side, "does not hold" if on the other, else
        "undecided"; "not tested" where the ends are NaN. A reversed interval is a ValueError.

    >>> decide(0.1, 0.2), decide(-0.2, -0.1), decide(-0.1, 0.2)
    ('holds', 'does not hold', 'undecided')
    >>> decide(0.95, 1.0, ">=", 0.95)
    'undecided'
    """
    side = direction(relation)
    if math.isnan(low) or math.isnan(high):
        return UNTESTED
    if low > high:
        raise ValueError(f"[{low}, {high}] is not an interval: give low <= high")
    near, far = (low - bound, high - bound) if side > 0 else (bound - high, bound - low)
    if near > ROUNDING:
        return HOLDS
    return FAILS if far < -ROUNDING else UNDECIDED


def judge(interval: Interval, relation: str = ">", bound: float = 0.0) -> Verdict:
    """The verdict on one case, without its name.

    It is "undecided" where there is a value without an interval, "not tested" without a value.

    >>> from faithlib.statistics.intervals import seeds_interval
    >>> judge(seeds_interval([0.034, -0.031, 0.02])).text()
    'undecided (the interval contains the threshold; 3 seeds)'
    >>> judge(seeds_interval([0.034, -0.031])).text()
    'undecided (2 seeds: an interval needs 3)'
    """
    low, high = interval.ends()
    word = decide(low, high, relation, bound)
    reason = OPEN if word == UNDECIDED else interval.reason
    if word == UNTESTED and not math.isnan(interval.value):
        word = UNDECIDED
    verdict = Verdict(word, interval.value, relation=relation, bound=bound, reason=reason)
    if not interval.exists:
        return verdict
    about = {"unit": interval.unit, "units": (interval.n_units,), "borderline": interval.borderline(bound)}
    return replace(verdict, low=low, high=high, interval=interval, **about)


def within_margin(verdict, margin):
    """Is the effect no larger than a margin, either way? Two one-sided tests at .05 (Schuirmann 1987).

    No effect is 0 where the verdict's threshold is no further from 0 than the margin, as of a loss that is
    allowed; else it is the threshold. The margin is above 0 (else a ValueError) and fixed before the run.

    Returns:
        "yes" if the 90 % interval lies within no effect ± margin, "no" if the 95 % interval lies beyond one
        margin, else "undecided"; "" without an interval.

    >>> from faithlib.statistics.intervals import seeds_interval
    >>> within_margin(judge(seeds_interval([0.001, -0.002, 0.000])), 0.02)
    'yes'
    >>> within_margin(judge(seeds_interval([0.01, -0.02, 0.02])), 0.02)
    'undecided'
    """
    if not margin > 0:
        raise ValueError(f"margin {margin}: an equivalence needs one above 0")
    if verdict.interval is None:
        return ""
    none = 0.0 if abs(verdict.bound) <= margin + ROUNDING else verdict.bound
    low, high = verdict.interval.ends(TOST)
    if low > none - margin + ROUNDING and high < none + margin - ROUNDING:
        return YES
    return NO if verdict.low > none + margin or verdict.high < none - margin else UNDECIDED


def at_least_half(verdict, published):
    """Is the effect, beyond the threshold, at least half of the published one, by the same interval?

    Returns:
        "yes", "no" or "undecided"; "" without an interval, and where the published value is no effect on the
        claim's side.

    >>> from faithlib.statistics.intervals import seeds_interval
    >>> verdict = judge(seeds_interval([0.10, 0.12, 0.11]))
    >>> at_least_half(verdict, 0.1), at_least_half(verdict, 0.4), at_least_half(verdict, -0.1)
    ('yes', 'no', '')
    """
    effect = published - verdict.bound
    if verdict.interval is None or math.isnan(published) or not satisfies(effect, verdict.relation[0], 0.0):
        return ""
    word = decide(verdict.low, verdict.high, verdict.relation, verdict.bound + effect / 2)
    return {HOLDS: YES, FAILS: NO}.get(word, UNDECIDED)


def side(verdict):
    """Where the value lies: 1 above the threshold, -1 below, 0 on it within rounding."""
    distance = verdict.value - verdict.bound
    return 0 if abs(distance) <= ROUNDING else math.copysign(1, distance)


def satisfies(value, relation, bound):
    """Does an estimate satisfy the relation? Equality within rounding satisfies ">=" and "<=" only."""
    distance = direction(relation) * (value - bound)
    return bool(distance >= -ROUNDING if "=" in relation else distance > ROUNDING)
