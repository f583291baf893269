"""Verdicts on claims, kept as data: a word of five, its reason, and what it rests on.

Every verdict "holds" is wrong with a probability of at most .025 where the statistic equals its threshold. A
verdict becomes a sentence only where it is printed (`sentence`).
"""

import math
from dataclasses import dataclass, replace

from faithlib.statistics.base import ROUNDING, direction
from faithlib.statistics.intervals import Interval

HOLDS, FAILS, DEPENDS, UNDECIDED, UNTESTED = WORDS = (
    "holds",
    "does not hold",
    "depends",
    "undecided",
    "not tested",
)
YES, NO = "yes", "no"  # of the two further questions, beside UNDECIDED
ALPHA = 0.025  # one-sided: "holds" is wrong at most this often
TOST = 0.90  # level of the interval of two one-sided tests at .05
OPEN = "the interval contains the threshold"
JOIN = "; "  # between names in a column
ON_AVERAGE, SOMEWHERE, EVERYWHERE = "on average", "somewhere", "everywhere"  # of a claim over data sets
ROW = [
    "verdict",
    "reason",
    "depends_on",
    "not_shown_with",
    "shown_on",
    "failing_cases",
    "value",
    "ci_low",
    "ci_high",
    "unit",
    "n_units",
    "most_units",
    "cases",
    "other_cases",
    "quantifier",
    "borderline",
]  # the columns of claims.csv that a verdict fills


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
        borderline: does a bootstrap bound lie within four Monte-Carlo errors of the threshold, two of its own
            and two of another stream's?
        reason: why it is not decided, or what decides, in words.
        depends_on: the choices, or "the data set", whose options have opposite verdicts.
        not_shown_with: choices with an option that is undecided where this is not.
        shown_on: cases on which the claim is shown, of `somewhere`.
        critical_t: what the decisive case's t had to exceed, of `somewhere`; NaN elsewhere.
        value_all: estimate with the cases that have too few units; NaN where there are none.
        other_cases: names of those cases.
        quantifier: "on average", "somewhere" or "everywhere", of several cases.
        relation: the claimed relation.
        bound: its threshold.
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
    cases: tuple[str, ...] = ()
    failing_cases: tuple[str, ...] = ()
    borderline: bool = False
    reason: str = ""
    depends_on: tuple[str, ...] = ()
    not_shown_with: tuple[str, ...] = ()
    shown_on: tuple[str, ...] = ()
    critical_t: float = math.nan
    value_all: float = math.nan
    other_cases: tuple[str, ...] = ()
    quantifier: str = ""
    relation: str = ">"
    bound: float = 0.0
    interval: Interval | None = None

    def __post_init__(self):
        if self.word not in WORDS:
            raise ValueError(f"unknown verdict {self.word!r}: use one of {', '.join(WORDS)}")

    @property
    def n_units(self):
        """Units of the case that has the fewest; 0 where no case has an interval."""
        return min(self.units, default=0)

    def text(self, model=""):
        """The verdict as a sentence: see `sentence`."""
        return sentence(self.row() | {"model": model})

    def row(self):
        """The columns of claims.csv that a verdict fills, by `ROW`."""
        cells = (
            self.word,
            self.reason,
            JOIN.join(self.depends_on),
            JOIN.join(self.not_shown_with),
            JOIN.join(self.shown_on),
            JOIN.join(self.failing_cases),
            self.value,
            self.low,
            self.high,
            self.unit,
            self.n_units,
            max(self.units, default=0),
            JOIN.join(self.cases),
            JOIN.join(self.other_cases),
            self.quantifier,
            self.borderline,
        )
        return dict(zip(ROW, cells, strict=True))


def sentence(row):
    """A verdict in words, with what it covers, for one cell of a table.

    Args:
        row: {column: value} of claims.csv: those of `ROW`, and model.

    Returns:
        "" where there is no verdict; "holds for <model>" where texts of one model are the unit.

    >>> sentence(Verdict("depends", depends_on=("ties",), unit="seed", units=(3, 5)).row())
    'depends on ties (3–5 seeds)'
    """
    words, model = row["verdict"], row.get("model", "")
    if not words:
        return ""
    reasons = [row["reason"]] if row["reason"] else []
    if words == DEPENDS:
        words = f"depends on {row['depends_on'].replace(JOIN, ', ')}"
    if row["not_shown_with"]:
        reasons.append(f"not shown with {row['not_shown_with'].replace(JOIN, ', ')}")
    if row["shown_on"] and (row["cases"] + row["other_cases"]) != row["shown_on"]:
        reasons.append(f"shown on {row['shown_on'].replace(JOIN, ', ')}")
    if words == HOLDS and row["failing_cases"] and row["quantifier"] == ON_AVERAGE:
        words = f"holds on average, not shown on {row['failing_cases'].replace(JOIN, ', ')}"
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


def decide(low, high, relation=">", bound=0.0):
    """Does an interval satisfy a relation: "holds", "does not hold" or "undecided".

    ">=" and "<=" are as ">" and "<": a threshold `bound` that is met exactly, within 1e-9, decides nothing.

    Returns:
        "holds" if [low, high] lies wholly on the claimed side, "does not hold" if on the other, else
        "undecided"; "not tested" where the ends are NaN.

    Raises:
        ValueError: for another relation and for a reversed interval.

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


def judge(interval, relation=">", bound=0.0, name=""):
    """The verdict on one case, an Interval of this name: a Verdict.

    It is "undecided" where there is a value without an interval, "not tested" without a value. Another
    relation than ">", ">=", "<" and "<=" is a ValueError.

    >>> from faithlib.statistics.intervals import seeds_interval
    >>> judge(seeds_interval([0.034, -0.031, 0.02])).text()
    'undecided (the interval contains the threshold; 3 seeds)'
    >>> judge(seeds_interval([0.034, -0.031])).text()
    'undecided (2 seeds: an interval needs 3)'
    """
    low, high = interval.ends()
    word = decide(low, high, relation, bound)
    failing = () if satisfies(interval.value, relation, bound) else (name,) * bool(name)
    reason = OPEN if word == UNDECIDED else interval.reason
    if word == UNTESTED and not math.isnan(interval.value):
        word = UNDECIDED
    about = {"relation": relation, "bound": bound, "reason": reason}
    verdict = Verdict(word, interval.value, failing_cases=failing, **about)
    if not interval.exists:
        return replace(verdict, other_cases=(name,) * bool(name))
    return replace(
        verdict,
        low=low,
        high=high,
        unit=interval.unit,
        units=(interval.n_units,),
        cases=(name,) * bool(name),
        borderline=interval.borderline(bound),
        interval=interval,
    )


def within_margin(verdict, margin):
    """Is the effect no larger than a margin, either way? Two one-sided tests at .05 (Schuirmann 1987).

    Args:
        verdict: a Verdict. No effect is 0 where its threshold is no further from 0 than the margin, as of a
            loss that is allowed; else it is the threshold.
        margin: above 0, fixed before the run.

    Returns:
        "yes" if the 90 % interval lies within no effect ± margin, "no" if the 95 % interval lies beyond one
        margin, else "undecided"; "" without an interval.

    Raises:
        ValueError: for a margin of 0 or less.

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
    """Is the effect at least half of the published one, by the same interval?

    Args:
        verdict: a Verdict, whose threshold is no effect.
        published: the same statistic of the published cells.

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
