"""Verdicts on claims: from an interval to "holds", "does not hold", "inconclusive" or "not tested".

Every verdict "holds" is wrong with a probability of at most .025 where the statistic equals its threshold.
"""

import math
from dataclasses import dataclass, replace

from faithlib.statistics.base import ROUNDING, direction

HOLDS, FAILS, MIXED, INCONCLUSIVE, UNTESTED = WORDS = (
    "holds",
    "does not hold",
    "mixed",
    "inconclusive",
    "not tested",
)
ALPHA = 0.025  # one-sided: "holds" is wrong at most this often
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
        detail: what the verdict depends on, in words.
        average: is it about an average over several data sets?
        shown_on: cases on which the claim is shown, of `somewhere`.
        critical_t: what the decisive case's t had to exceed, of `somewhere`; NaN elsewhere.
        value_all: estimate with the cases that have too few units; NaN where there are none.
        other_cases: names of those cases.
        relation: the claimed relation.
        bound: its threshold.

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
        parts = [", ".join(self.cases), ", ".join(self.other_cases)]
        cells = (
            self.text(model),
            self.value,
            self.low,
            self.high,
            self.unit,
            self.n_units,
            "; without an interval: ".join(filter(None, parts)),
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

    >>> from faithlib.statistics.intervals import seeds_interval
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

    >>> from faithlib.statistics.intervals import seeds_interval
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


def _side(verdict):
    distance = verdict.value - verdict.bound
    return 0 if abs(distance) <= ROUNDING else math.copysign(1, distance)


def _satisfies(value, relation, bound):
    """Does an estimate satisfy the relation? Equality within rounding satisfies ">=" and "<=" only."""
    distance = direction(relation) * (value - bound)
    return bool(distance >= -ROUNDING if "=" in relation else distance > ROUNDING)


def _equal(interval, bound):
    return abs(interval.value - bound) <= ROUNDING
