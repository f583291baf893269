"""Each claim with the options of the choices that its paper leaves open: claims.csv and choices.csv."""

from functools import cache

import numpy as np
import pandas as pd

from faithlib.statistics import interval_from_table, seeds_interval
from replication.cases import average, steady
from replication.claims import CLAIMS, judged, judged_rows, of_accepted, pairs, stated
from replication.multiverse import CHOICES, combinations, multiverse
from replication.records import VERDICT_SCALES
from replication.results import slug
from replication.tables import case_titles
from replication.verdicts import UNTESTED, Verdict

UNGATED = ("data sets", "those below the gate as well")  # (choice, option) of `multiverse_tables`


def multiverse_tables(state, choices, scale, gate=None):
    """claims.csv and choices.csv: each claim as in the main setting and with the options of each choice.

    Options vary one at a time. Where a claim has at most `replication.multiverse.CELLS` combinations of the
    options that concern it, each of them is looked at too.

    Args:
        state: function that returns the claims of the main setting, and with `state(<choice>=<option>, ...)`
            those of these choices changed; keywords are choices with "_" for " ". A claim that the option
            leaves as it is, or does not have, is not counted. None where no record has the option: it is
            "not tested", for all claims; a claim with `values={}` for that claim alone.
        choices: {choice: (main option, other options ...)}, as in `Card.choices`.
        scale: combinations exist at `VERDICT_SCALES` alone.
        gate: from `gates`; where it refuses a data set, UNGATED is an option too.

    Returns:
        (claims, choices): DataFrames with the columns CLAIMS, rows as `claims.table` has them, and of
        `replication.multiverse.CHOICES` with definition and baseline behind the claim; verdicts are "" at
        quick.
    """

    main = state()

    @cache
    def changed(*options):
        names = {choice.replace(" ", "_"): option for choice, option in options}
        claims = state(**names) if options else main
        return None if claims is None else {claim.key: claim for claim in claims}

    found, options_of = [], []
    for claim in stated(main, scale):
        one, cases = judged(claim, gate)
        is_table = not isinstance(claim.values, dict)
        kept = of_accepted(claim, gate)
        deciding = _deciding(kept, one, cases) if is_table else ()
        options, differences = {}, {}
        names = [(choice, option) for choice, (_, *others) in choices.items() for option in others]
        for name in names if len(claim.values) else ():
            others = changed(name)
            other = None if others is None else others.get(claim.key)
            if others is None or (other is not None and isinstance(other.values, dict) and not other.values):
                options[name] = Verdict(UNTESTED, detail="no records")
            elif other is not None and len(other.values) and not _same(claim, other):
                options[name] = judged(other, gate)[0]
                if is_table and not isinstance(other.values, dict) and scale in VERDICT_SCALES:
                    differences[name] = _difference(kept, of_accepted(other, gate), deciding)
        if is_table and 0 < len(kept.values) < len(claim.values):
            every = judged(claim)[0]
            if (every.value, every.low, every.high) != (one.value, one.low, one.high):
                options[UNGATED] = every
        if not options:
            found += judged_rows(kept, scale, one, cases)
            continue
        grid = _grid(claim, options, changed, gate) if scale in VERDICT_SCALES else {}
        known = {name: x for name, x in differences.items() if x is not None}
        over = multiverse(claim.claim, one, options, known, grid)
        found += judged_rows(kept, scale, one, cases, over)
        options_of.append(over.table.assign(definition=claim.definition, baseline=claim.baseline))
    columns = [CHOICES[0], "definition", "baseline", *CHOICES[1:]]
    listed = pd.concat(options_of)[columns] if options_of else pd.DataFrame(columns=columns)
    if scale not in VERDICT_SCALES:
        listed = listed.assign(verdict="")
    return pd.DataFrame(found, columns=CLAIMS), listed.reset_index(drop=True)


def _grid(claim, options, changed, gate):
    """{cell: Verdict} of `combinations`, but for cells that differ in no value from one of fewer options."""
    cells, grid, looked_at = combinations(options), {}, {}
    for cell in ((), *((name,) for name in options), *cells) if cells else ():
        others = changed(*(name for name in cell if name != UNGATED)) or {}
        own_gate = None if UNGATED in cell else gate
        if (other := others.get(claim.key)) is None or not len(other.values):
            grid[cell] = Verdict(UNTESTED, detail="no records")
            continue
        looked_at[frozenset(cell)] = taken = of_accepted(other, own_gate)
        fewer = (looked_at.get(frozenset(cell) - {name}) for name in cell)
        if len(cell) > 1 and not any(x is not None and _same(x, taken) for x in fewer):
            grid[cell] = judged(other, own_gate)[0]
    return {cell: verdict for cell, verdict in grid.items() if len(cell) > 1}


def _same(claim, other):
    one, two = claim.values, other.values
    if isinstance(one, dict) or isinstance(two, dict):
        return repr(one) == repr(two)
    return len(one) == len(two) and np.array_equal(
        *(x.value.to_numpy(float) for x in (one, two)), equal_nan=True
    )


def _deciding(claim, verdict, cases):
    """The data sets × models that decide: on average those in the interval, else that of the verdict."""
    titles = case_titles(pairs(claim.values[claim.values.value.notna()]))
    deciding = set(verdict.cases)
    if claim.quantifier != "on average":
        deciding = {name for name in deciding if cases[name].value == verdict.value}
    return {pair for pair, title in titles.items() if title in deciding}


def _difference(claim, other, deciding):
    """Interval of main - option, paired by seed, and by text where seeds share them; else None."""
    if claim.cluster or (other.design, other.quantity) != (claim.design, claim.quantity):
        return None
    by_text = claim.design != "seeds" and (claim.design == "crossed" or claim.values.seed.nunique() == 1)
    keys = ["dataset", "model", "seed", *["example"] * by_text]
    one, two = (
        c.values.dropna(subset="value").groupby(keys).value.mean().reset_index() for c in (claim, other)
    )
    both = one.merge(two, on=keys, suffixes=("", "_other"))
    cases, varying = {}, False
    for pair, part in both.assign(value=both.value - both.value_other).groupby(["dataset", "model"]):
        if (pair[0], slug(pair[1])) not in deciding:
            continue
        if by_text and part.seed.nunique() == 1:
            case = seeds_interval(part.value, "text")  # t over texts: no bootstrap for a mean of differences
        else:
            case = interval_from_table(part, "crossed" if by_text else "seeds", pair, text="example")
        cases[pair] = steady(case)
        varying = varying or case.exists
    alike = len({case.unit for case in cases.values()}) == 1 and all(case.exists for case in cases.values())
    return average(cases) if varying and alike and len(cases) == len(deciding) else None
