"""Whether a verdict depends on choices that the paper leaves open."""

from dataclasses import dataclass, replace
from itertools import product
from math import prod

import pandas as pd

from faithlib.statistics.base import LEVEL, holm
from replication.verdicts import FAILS, HOLDS, MIXED, UNTESTED, Verdict, _side

CHOICES = ["claim", "choice", "option", "value", "ci_low", "ci_high", "threshold", "verdict"]  # choices.csv
MAIN = "main"  # setting, in the column `choice`
CELLS = 24  # most settings of a claim's full grid; one of more is not looked at
CROSS = " + "  # between the choices, and the options, of a cell of the grid


@dataclass(frozen=True)
class Multiverse:
    """How far a verdict depends on choices that the paper leaves open.

    Attributes:
        verdict: the main setting's, or "mixed" with the choices it depends on.
        table: DataFrame, columns `CHOICES`, the main setting first.
        summary: "k of m options agree, sign equal in j"; with a grid also "full grid: k of m agree", the main
            setting and the options among the m.
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


def combinations(options):
    """The settings of the full grid that depart from the main one in two choices or more.

    Args:
        options: {(choice, option): Verdict}, as `multiverse` takes them; those not tested are in no cell.

    Returns:
        List of tuples of (choice, option); [] for a grid of more than `CELLS` settings.

    >>> from replication.verdicts import Verdict
    >>> combinations(dict.fromkeys([("ties", "strict"), ("sign", "absolute")], Verdict("holds", 0.1)))
    [(('ties', 'strict'), ('sign', 'absolute'))]
    """
    by_choice = {}
    for choice, option in _tested(options):
        by_choice.setdefault(choice, [None]).append((choice, option))
    if prod(map(len, by_choice.values())) > CELLS:
        return []
    cells = [tuple(filter(None, cell)) for cell in product(*by_choice.values())]
    return [cell for cell in cells if len(cell) > 1]


def multiverse(claim, main, options, differences=None, grid=None):
    """A claim's verdict over the options of the choices that the paper leaves open (Steegen et al. 2016).

    Options vary one at a time from the main setting; a small grid of them is looked at whole. The verdict
    stays that of the main setting unless options have opposite verdicts ("holds" and "does not hold"), or a
    paired difference main - option excludes 0 after Holm over all options (two-sided .05) and the option's
    own verdict differs: then it is "mixed (depends on <choices>)". Where only cells of the grid are opposite
    to it, or to each other, it depends on the choices of the smallest of these cells.

    Args:
        claim: its words.
        main: Verdict of the main setting.
        options: {(choice, option): Verdict}.
        differences: {(choice, option): Interval} of main - option, paired by seed and text; options without
            one are not compared.
        grid: {cell: Verdict} of `combinations`.

    Returns:
        Multiverse. Options and cells that are not tested are in the table and in no count.

    Raises:
        ValueError: for no options, a choice named "main" and a difference of an unknown option.

    >>> from faithlib.statistics.intervals import seeds_interval
    >>> from replication.verdicts import judge
    >>> main, other = judge(seeds_interval([0.10, 0.12, 0.11])), judge(seeds_interval([-0.3, -0.31, -0.29]))
    >>> found = multiverse("A above B", main, {("ties", "strict"): other, ("ties", "half"): main})
    >>> found.verdict.text(), found.summary
    ('mixed (depends on ties; 3 seeds)', '1 of 2 options agree, sign equal in 1')
    """
    differences, grid = differences or {}, grid or {}
    if not options:
        raise ValueError(f"claim {claim!r} has no options: list those of each choice")
    if MAIN in {choice for choice, _ in options}:
        raise ValueError(f"choice {MAIN!r} is a reserved name: call it what is chosen")
    if unknown := [f"{c}: {o}" for c, o in differences if (c, o) not in options]:
        raise ValueError(f"a difference of an option that is not there: {', '.join(unknown)}")
    tested = _tested(options)
    agree, equal = _agreement(main, tested)
    depends = _depends_on(main, tested, differences, _tested(grid)) if main.word != UNTESTED else ()
    verdict = main
    if depends:
        details = filter(None, [f"depends on {', '.join(depends)}", main.detail])
        verdict = replace(main, word=MIXED, detail="; ".join(details))
    named = {tuple(map(CROSS.join, zip(*cell, strict=True))): x for cell, x in grid.items()}
    cells = {(MAIN, MAIN): main} | options | named
    rows = [
        (claim, *key, cell.value, cell.low, cell.high, main.bound, cell.word) for key, cell in cells.items()
    ]
    summary = f"{agree} of {len(tested)} options agree, sign equal in {equal}"
    if len(tested) < len(options):
        summary += f", {len(options) - len(tested)} not tested"
    if whole := _tested({MAIN: main} | tested | named) if named else {}:
        summary += f"; full grid: {_agreement(main, whole)[0]} of {len(whole)} agree"
        if missing := len(named) - len(_tested(named)):
            summary += f", {missing} not tested"
    table = pd.DataFrame(rows, columns=CHOICES)
    return Multiverse(verdict, table, summary, agree, equal, len(tested), depends)


def _tested(options):
    return {key: option for key, option in options.items() if option.word != UNTESTED}


def _agreement(main, options):
    """How many options have the main setting's verdict, and its side of the threshold."""
    agree = sum(option.word == main.word for option in options.values())
    return agree, sum(_side(option) == _side(main) for option in options.values())


def _depends_on(main, options, differences, grid):
    """The choices that change a verdict, in their order."""
    opposite = {HOLDS, FAILS}
    choices = dict.fromkeys(choice for choice, _ in options)
    words = {
        choice: {main.word} | {x.word for (c, _), x in options.items() if c == choice} for choice in choices
    }
    found = {choice for choice in choices if opposite <= words[choice]}
    if not found and opposite <= set().union(*words.values()):
        found = {choice for choice in choices if (words[choice] - {main.word}) & opposite}
    if not found and opposite <= {x.word for x in grid.values()}.union(*words.values()):
        settings = {(key,): x for key, x in options.items()} | grid
        other = {cell: x.word for cell, x in settings.items() if x.word in opposite - {main.word}}
        least = [c for c in other if not any(set(d) < set(c) and other[d] == other[c] for d in other)]
        found = {choice for cell in least for choice, _ in cell}
    compared = {key: x for key, x in differences.items() if key in options and x.exists}
    if compared:
        adjusted = holm([x.two_sided() for x in compared.values()])
        found |= {
            key[0]
            for key, p in zip(compared, adjusted, strict=True)
            if p <= 1 - LEVEL and options[key].word != main.word
        }
    return tuple(choice for choice in choices if choice in found)
