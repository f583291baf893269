"""Whether a verdict depends on choices that the paper leaves open, and the figure of it (choices.csv)."""

import textwrap
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from pathlib import Path

import pandas as pd

from faithlib.report.display import show_figure
from faithlib.report.figures import WIDTH, add_legend, heat, mark
from faithlib.report.style import labelled, note_scale
from faithlib.statistics.base import LEVEL, holm
from replication import WORDING, papers
from replication.verdicts import DEPENDS, FAILS, HOLDS, UNTESTED, Verdict, side

CHOICES = ["claim", "choice", "option", "value", "ci_low", "ci_high", "threshold", "verdict"]  # choices.csv
MAIN = "main"  # setting, in the column `choice`
COUNTS = ["agree", "of", "sign_equal", "untested", "grid_agree", "grid_of"]
CELLS = 24  # most settings of a claim's full grid; one of more is not looked at
CROSS = " + "  # between the choices, and the options, of a cell of the grid
NAME = "claims_by_choice"  # of the figure's file
MOST = 12  # claims; of more the headline claims are drawn
LINE = 52  # characters of a claim
COLOURS, CAPTION = WORDING["colours"], WORDING["captions"]["choices"]


@dataclass(frozen=True)
class Multiverse:
    """How far a verdict depends on choices that the paper leaves open.

    Attributes:
        verdict: the main setting's, or "depends" on choices whose options have opposite verdicts.
        table: DataFrame, columns `CHOICES`, the main setting first.
        counts: {column of COUNTS: number}: options that agree with the main setting's verdict, and whose
            estimate is on its side, of those tested; those not tested; agreeing settings of the full grid.
    """

    verdict: Verdict
    table: pd.DataFrame
    counts: dict


def summary(row: dict) -> str:
    """The counts of a row of claims.csv in words; "" without options.

    >>> summary({"of": 3, "agree": 2, "sign_equal": 3, "untested": 0, "grid_of": 0})
    '2 of 3 options agree, sign equal in 3'
    """
    if not row["of"] and not row["untested"]:
        return ""
    words = f"{row['agree']} of {row['of']} options agree, sign equal in {row['sign_equal']}"
    if row["untested"]:
        words += f", {row['untested']} not tested"
    if row["grid_of"]:
        words += f"; full grid: {row['grid_agree']} of {row['grid_of']} agree"
    return words


def combinations(options):
    """The settings of the full grid that depart from the main one in two choices or more.

    options: as `multiverse` takes them; those not tested are in no cell. [] for more than `CELLS` settings.

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


def multiverse(claim: str, main: Verdict, options: dict, grid: dict | None = None) -> Multiverse:
    """A claim's verdict over the options of the choices that the paper leaves open (Steegen et al. 2016).

    The verdict stays that of the main setting unless a setting has the opposite one ("holds" and "does not
    hold") after Holm over all settings: then it "depends" on its choices. Where settings of the grid alone
    are opposite to it, or to each other, it depends on the choices of the smallest of them. Of a main setting
    that is decided, `not_shown_with` has each other choice with an option that has another verdict.

    Args:
        claim: its words.
        main: Verdict of the main setting.
        options: {(choice, option): Verdict}, each changed alone; none, or a choice named "main", is an error.
        grid: {cell: Verdict} of `combinations`.

    >>> from faithlib.statistics.intervals import seeds_interval
    >>> from replication.verdicts import judge
    >>> main, other = judge(seeds_interval([0.10, 0.12, 0.11])), judge(seeds_interval([-0.3, -0.31, -0.29]))
    >>> over = multiverse("A above B", main, {("ties", "strict"): other, ("ties", "half"): main})
    >>> over.verdict.text(), over.counts["agree"]
    ('depends on ties (main setting: holds; 3 seeds)', 1)
    """
    grid = grid or {}
    if not options:
        raise ValueError(f"claim {claim!r} has no options: list those of each choice")
    if MAIN in {choice for choice, _ in options}:
        raise ValueError(f"choice {MAIN!r} is a reserved name: call it what is chosen")
    tested = _tested(options)
    verdict = main
    if main.word != UNTESTED:
        settings = {(): main} | {(name,): option for name, option in tested.items()} | _tested(grid)
        depends = _depends_on(settings)
        if depends:
            reason = "; ".join(filter(None, [f"main setting: {main.word}", main.reason]))
            verdict = replace(main, word=DEPENDS, depends_on=depends, reason=reason)
        if main.word in (HOLDS, FAILS):
            others = [c for (c, _), x in tested.items() if x.word != main.word and c not in depends]
            verdict = replace(verdict, not_shown_with=tuple(dict.fromkeys(others)))
    named = {tuple(map(CROSS.join, zip(*cell, strict=True))): x for cell, x in grid.items()}
    cells = {(MAIN, MAIN): main} | options | named
    rows = [(claim, *key, x.value, x.low, x.high, main.bound, x.word) for key, x in cells.items()]
    agree, equal = _agreement(main, tested)
    whole = _tested({MAIN: main} | tested | named) if named else {}
    counts = (agree, len(tested), equal, len(options) - len(tested), _agreement(main, whole)[0], len(whole))
    return Multiverse(verdict, pd.DataFrame(rows, columns=CHOICES), dict(zip(COUNTS, counts, strict=True)))


def _tested(options):
    return {key: option for key, option in options.items() if option.word != UNTESTED}


def _agreement(main, options):
    """How many options have the main setting's verdict, and its side of the threshold."""
    agree = sum(option.word == main.word for option in options.values())
    return agree, sum(side(option) == side(main) for option in options.values())


def _depends_on(settings):
    """The choices of settings whose verdicts are opposite after Holm: those of the fewest changes."""
    p = [1.0 if x.interval is None else x.interval.two_sided(x.bound) for x in settings.values()]
    clear = [cell for cell, adjusted in zip(settings, holm(p), strict=True) if adjusted <= 1 - LEVEL]
    decided = {cell: settings[cell].word for cell in clear if settings[cell].word in (HOLDS, FAILS)}
    if set(decided.values()) != {HOLDS, FAILS}:
        return ()
    other = {cell: word for cell, word in decided.items() if cell and word != decided.get(())}
    least = [cell for cell in other if not any(set(c) < set(cell) and other[c] == other[cell] for c in other)]
    choices = [choice for cell in settings for choice, _ in cell]
    changed = {choice for cell in least for choice, _ in cell}
    return tuple(choice for choice in dict.fromkeys(choices) if choice in changed)


# Figure -------------------------------------------------------------------------------------------


def show_options(choices: pd.DataFrame, scale: str, folder: Path, baseline: str | None = None) -> None:
    """Show and save the `options_figure` of a paper, where claims have options.

    folder: where it is saved, figures/<scale>/<paper>.
    """
    headline = [one.claim for one in papers.headline(folder.name)]
    if (figure := options_figure(choices, scale, baseline, headline)) is not None:
        show_figure(figure, folder / NAME, {NAME: CAPTION})


def options_figure(choices, scale="", baseline=None, headline=()):
    """A heat strip: claims × options, coloured by verdict: a figure, None where no option has a verdict.

    choices: from `claims.multiverse_tables`; baseline: which rows, None: the first that there
    is; headline: of more than MOST claims, those that are drawn.
    """
    import matplotlib.pyplot as plt
    from matplotlib.colors import ListedColormap

    words = verdicts(choices, baseline, headline)
    if words.empty:
        return None
    codes = words.map(list(COLOURS).index, na_action="ignore").astype(float)
    signs = words.map(lambda word: COLOURS[word][1], na_action="ignore").fillna("")
    claims = ["\n".join(textwrap.wrap(labelled(name), LINE)) for name in codes.index]
    lines = sum(name.count("\n") + 1 for name in claims)
    longest = max(map(len, codes.columns))
    figure, axis = plt.subplots(figsize=(WIDTH, 0.6 + 0.075 * longest + 0.13 * lines + 0.06 * len(claims)))
    palette = ListedColormap([colour for colour, _ in COLOURS.values()])
    heat(axis, codes.set_axis(claims), signs.set_axis(claims), (-0.5, len(COLOURS) - 0.5), palette)
    axis.set_facecolor("#BBBBBB")
    axis.tick_params(axis="x", rotation=90)
    axis.tick_params(labelsize=6)
    used = [word for word in COLOURS if (words == word).any(axis=None)]
    add_legend(figure, [mark(word, COLOURS[word][0], "s") for word in used])
    note_scale(figure, scale)
    return figure


def verdicts(choices, baseline=None, headline=()):
    """The verdict of each claim of the paper's definition with each option; arguments as of `options_figure`.

    Returns:
        DataFrame of words, a row a claim that has options and a column an option, the main setting first;
        NaN where an option does not concern a claim, or was not tested with it.
    """
    part = choices[(choices.definition == "paper") & ~choices.choice.str.contains(CROSS, regex=False)]
    part = part[part.baseline == (baseline or next(iter(part.baseline), ""))]
    part = part[~part.verdict.fillna("").isin(["", UNTESTED])]
    part = part[part.claim.isin(part.claim[part.choice != MAIN])]
    if part.claim.nunique() > MOST:
        part = part[part.claim.isin(headline)]
    names = (part.choice + ": " + part.option).where(part.choice != MAIN, "main setting")
    order = sorted(names.unique(), key=lambda name: name != "main setting")
    wide = part.assign(option=names).pivot(index="claim", columns="option", values="verdict")
    return wide.reindex(index=part.claim.unique(), columns=order)
