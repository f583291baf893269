"""Noiser: what is one observation, log ratios of soft metrics and leads of one method over the others.

Cases are {(task, model, seed): DataFrame units × cells}, or a Series of units.
"""

import numpy as np
import pandas as pd

from faithlib.scores import RANDOM
from faithlib.statistics import interval_from_table
from faithlib.tasks.table import generated

NOISER = ("noiser", "k_min")
MAIN = ("", "k_min", "zero")  # the setting of each attribution in Table 1; "token" is another baseline of IG
BASELINES = (RANDOM, "matched")
LEAST = 1e-6  # a mean of 0 counts as this: its logarithm would be −∞


def units(table, columns, value, by="fact", more=()):
    """What is one observation: facts, or prompts, as cases.

    Steps of a prompt are averaged, then prompts of a fact. A task that is not generated has one model: its
    seeds, other random draws, are averaged first.

    Args:
        table: from `task_columns`; without a column `fact` each prompt is its own.
        columns: what tells the cells of a unit apart.
        value: column or list of columns of the values.
        by: "fact" or "example".
        more: columns that tell cases apart besides; their values stand behind the model.
    """
    by_case, fixed = {}, ~generated(table.task)  # a generated task has a corpus and a model for each seed
    table = table.assign(seed=table.seed.mask(fixed, 0))
    if by not in table:
        table = table.assign(**{by: table.example})
    for key, part in table.groupby(["task", "model", *more, "seed"], sort=False):
        wide = part.pivot_table(index=list(dict.fromkeys([by, "example"])), columns=columns, values=value)
        wide = wide.groupby(level=0).mean()
        if len(wide):
            by_case[(key[0], ", judge ".join(map(str, key[1:-1])), key[-1])] = wide
    return by_case


def soft_units(values, by="fact", ns="soft_ns"):
    """Both soft metrics of each unit, cells ("soft_ns" or "soft_nc", attribution, setting, baseline).

    values: of one definition and normalisation. ns: column of Soft-NS, "soft_ns" or "soft_ns_of_mean".
    """
    values = values.assign(soft_ns=values[ns])
    return units(values, ["attribution", "setting", "baseline"], ["soft_ns", "soft_nc"], by)


def log_ratios(cases, baseline):
    """ln(NS / NS_baseline) + ln(NC / NC_baseline) of `soft_units`, one value a unit that has all cells.

    ln m is replaced by ln m + (x − m) / m, m the mean over units: its mean is ln m, its spread that of ln m
    (the delta method). Cells are (attribution, setting).
    """
    by_case = {}
    for case, frame in cases.items():
        frame = frame.dropna()
        means = frame.mean().clip(lower=LEAST)
        logs = np.log(means) + (frame - frame.mean()) / means
        both, ratios = dict((logs["soft_ns"] + logs["soft_nc"]).items()), {}
        for *pair, kind in both:
            other = (*pair, baseline) if baseline == "matched" else (RANDOM, "", RANDOM)
            if kind == "" and other in both:
                ratios[tuple(pair)] = both[*pair, ""] - both[other]
        if len(frame):
            by_case[case] = pd.DataFrame(ratios)
    return by_case


def leads(cases, best, is_other):
    """The lead of the column `best` over the best other of its task and model, and over each other.

    is_other: of a column, whether it is compared. The best other has the highest mean over all seeds, and is
    the same one for all of them. Returns (such leads, unit by unit, as cases; {other column: those over it}).
    """
    means, each = {}, {}
    for case, frame in cases.items():
        others = [column for column in frame if column != best and is_other(column)]
        if best not in frame or not others:
            continue
        means.setdefault(case[:2], []).append(frame[others].mean())
        for other in others:
            each.setdefault(other, {})[case] = (frame[best] - frame[other]).dropna()
    over_best = {}
    for pair, of in means.items():
        other = pd.concat(of, axis=1).mean(axis=1, skipna=False).idxmax()
        over_best |= {case: lead for case, lead in each[other].items() if case[:2] == pair}
    return over_best, each


def long(cases):
    """{(task, model, seed): Series of units} as one row a unit: dataset, model, seed, example, value."""
    columns = ["dataset", "model", "seed", "example"]
    if not cases:
        return pd.DataFrame(columns=[*columns, "value"])
    keys = [(*case, str(unit)) for case, units in cases.items() for unit in units.index]
    table = pd.DataFrame(keys, columns=columns)
    return table.assign(value=np.concatenate([units.to_numpy(float) for units in cases.values()]))


def intervals(cases, name):
    """{(task, model): Interval} of one statistic's units; name: of the random stream."""
    table = long(cases)
    return {
        pair: interval_from_table(part, "nested", (*pair, *name), text="example")
        for pair, part in table.groupby(["dataset", "model"], sort=False)
    }
