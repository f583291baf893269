"""Each claim with the options of the choices that its paper leaves open: claims.csv and choices.csv."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from replication import claims
from replication.claims import CLAIMS, judged, of_accepted, stated
from replication.multiverse import CHOICES, combinations, multiverse
from replication.records import VERDICT_SCALES
from replication.seeds import by_case
from replication.verdicts import UNTESTED, Verdict

UNGATED = ("data sets", "those below the gate as well")  # (choice, option) of `multiverse_tables`


def multiverse_tables(state, card, scale, gate=None, seeds=None):
    """claims.csv and choices.csv: each claim as in the main setting and with the options of each choice.

    Options vary one at a time; their `combinations` are looked at where there are verdicts.

    Args:
        state: function that returns the claims of the main setting, and with `state(<choice>=<option>, ...)`
            those of these choices changed; keywords are choices with "_" for " ". A claim that the option
            leaves as it is, or does not have, is not counted. None where no record has the option: it is
            "not tested", for all claims; a claim with `values={}` for that claim alone.
        card: the paper's `Card`: `choices` and `headline`.
        scale: its name.
        gate: from `gates`; where it refuses a data set, UNGATED is an option too.
        seeds: from `seeds.table`.

    Returns:
        (claims, choices): DataFrames with the columns CLAIMS, and those of `replication.multiverse.CHOICES`
        with definition and baseline behind the claim; verdicts are "" at quick.
    """
    main = state()
    counted = {} if seeds is None else by_case(seeds)

    @cache
    def changed(*options):
        names = {choice.replace(" ", "_"): option for choice, option in options}
        there = state(**names) if options else main
        if there is None:
            there = [replace(claim, values={}) for claim in main]
        return {claim.key: claim for claim in there}

    rows, options_of = [], []
    for claim in stated(main, scale):
        one, cases = judged(claim, gate, counted)
        kept = of_accepted(claim, gate)
        options = {}
        names = [(choice, option) for choice, (_, *others) in card.choices.items() for option in others]
        for name in names if len(claim.values) else ():
            other = changed(name).get(claim.key, claim)
            if isinstance(other.values, dict) and not other.values:
                options[name] = Verdict(UNTESTED, reason="no records")
            elif len(other.values) and not _same(claim, other):
                options[name] = judged(other, gate, counted)[0]
        if 0 < len(kept.values) < len(claim.values):
            every = judged(claim, None, counted)[0]
            if (every.value, every.low, every.high) != (one.value, one.low, one.high):
                options[UNGATED] = every
        over = None
        if options:
            grid = _grid(claim, options, changed, gate, counted) if scale in VERDICT_SCALES else {}
            over = multiverse(claim.claim, one, options, grid)
            options_of.append(over.table.assign(definition=claim.definition, baseline=claim.baseline))
        rows += claims.rows(kept, scale, one, cases, over, card, counted)
    columns = [CHOICES[0], "definition", "baseline", *CHOICES[1:]]
    listed = pd.concat(options_of)[columns] if options_of else pd.DataFrame(columns=columns)
    if scale not in VERDICT_SCALES:
        listed = listed.assign(verdict="")
    return pd.DataFrame(rows, columns=CLAIMS), listed.reset_index(drop=True)


def _grid(claim, options, changed, gate, seeds):
    """{cell: Verdict} of `combinations`, but for cells that differ in no value from one of fewer options."""
    cells, grid, looked_at = combinations(options), {}, {}
    for cell in ((), *((name,) for name in options), *cells) if cells else ():
        others = changed(*(name for name in cell if name != UNGATED))
        own_gate = None if UNGATED in cell else gate
        if (other := others.get(claim.key)) is None or not len(other.values):
            grid[cell] = Verdict(UNTESTED, reason="no records")
            continue
        looked_at[frozenset(cell)] = taken = of_accepted(other, own_gate)
        fewer = (looked_at.get(frozenset(cell) - {name}) for name in cell)
        if len(cell) > 1 and not any(x is not None and _same(x, taken) for x in fewer):
            grid[cell] = judged(other, own_gate, seeds)[0]
    return {cell: verdict for cell, verdict in grid.items() if len(cell) > 1}


def _same(claim, other):
    one, two = claim.values, other.values
    if isinstance(one, dict) or isinstance(two, dict):
        return repr(one) == repr(two)
    return np.array_equal(one.value.to_numpy(float), two.value.to_numpy(float), equal_nan=True)
