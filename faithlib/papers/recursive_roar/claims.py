"""The six findings of Madsen et al. 2022 (section 6) and the case for recursion, each with a verdict.

Every statistic is a function of whole curves. Seeds are drawn anew, within each data set and model, and all
measures of a seed move together, as they share its models; intervals are percentiles of 1,000 draws. With
three to five seeds they are rough, as the paper's own are.
"""

from itertools import combinations

import numpy as np
import pandas as pd

from faithlib.attributions.registry import describe
from faithlib.metrics.curves import racu
from faithlib.report.claims import CLAIMS, contributions, estimate, mean_of, resampled, row
from faithlib.scores import RANDOM
from faithlib.statistics import RESAMPLES

RISE = 0.01  # a rise of performance that is worth the name, as a fraction


def claims(points, n_resamples=RESAMPLES, seed=0):
    """The claims, each with a statistic of which more supports it.

    Args:
        points: from `tables.points`.
        n_resamples, seed: of the intervals.

    Returns:
        A row a claim. One about two models, or two data sets, is not there where records have only one; data
        sets with one seed are left out. Areas are RACU, clipped as in the paper's Table 2.
    """
    drawn = _drawn(points[points.by == "ratio"], n_resamples, seed)
    rows = [
        _models_differ(drawn),
        _tasks_differ(drawn),
        *_attention(drawn),
        _integrated_gradients(drawn),
        _early(drawn),
        _leakage(drawn),
        _recursion(drawn),
    ]
    return pd.DataFrame([row for row in rows if row], columns=CLAIMS)


def _drawn(points, n_resamples, seed):
    """{(dataset, model, recursive): {measure: DataFrame}}: mean curves, a column a step, behind them "racu".

    A row a draw (1 + resamples), of which row 0 is the estimate. RACU is averaged over seeds as the paper
    does, not taken of the averaged curves.
    """
    cells = {}
    for key, part in points.groupby(["dataset", "model", "recursive"], sort=False):
        table = part.pivot_table(index="seed", columns=["measure", "step"], values="value").dropna()
        if len(table) < 2:
            continue  # one seed does not tell its own noise; the table of RACU names incomplete ones
        x, baseline = table[RANDOM].columns.to_numpy(float) / 100, table[RANDOM].to_numpy()
        found = {}
        for measure in table.columns.unique(0):
            area = racu(x, table[measure].to_numpy(), baseline, clip=True)  # (seeds,)
            found[measure] = table[measure].assign(racu=np.nan_to_num(area))
        cells[key] = pd.concat(found, axis=1)
    units = list(dict.fromkeys(zip(points.dataset, points.model, strict=True)))
    streams = {key: units.index(key[:2]) for key in cells}  # ROAR and Recursive ROAR share their seeds
    drawn = resampled(cells, n_resamples, seed, streams)
    return {key: {m: means[m] for m in means.columns.unique(0)} for key, means in drawn.items()}


def _areas(drawn, recursive=True):
    """{(dataset, model): {measure: RACU (1 + resamples,)}}."""
    return {
        key[:2]: {m: curve.racu.to_numpy() for m, curve in found.items() if m != RANDOM}
        for key, found in drawn.items()
        if key[2] == recursive
    }


def _models_differ(drawn):
    areas, found = _areas(drawn), {}
    for one, other in combinations(areas, 2):
        if one[0] == other[0]:
            for measure in areas[one].keys() & areas[other].keys():
                found[f"{one[0]}, {measure}"] = areas[one][measure] - areas[other][measure]
    return _somewhere("a measure's faithfulness differs between models (clearest difference)", found, True)


def _tasks_differ(drawn):
    """The smaller of two differences, a above b on one data set and b above a on another."""
    areas, found = _areas(drawn), {}
    for one, other in combinations(areas, 2):
        if one[0] != other[0] and one[1] == other[1]:
            for a, b in combinations(sorted(areas[one].keys() & areas[other].keys()), 2):
                first, second = areas[one][a] - areas[one][b], areas[other][a] - areas[other][b]
                sign = np.sign(first[0])
                found[f"{a} and {b}, {one[0]} and {other[0]}"] = np.minimum(sign * first, -sign * second)
    return _somewhere(
        "which of two measures is more faithful depends on the task (smaller of both leads)", found
    )


def _attention(drawn):
    """Of the BiLSTM, and in rows of their own of encoders: the paper does not measure theirs."""
    rows = []
    for name, is_bilstm in (("attention", True), ("an encoder's attention", False)):
        own, leads = {}, {}
        for key, areas in _areas(drawn).items():
            if "attention" in areas and (key[1] == "bilstm") == is_bilstm:
                case = ", ".join(key)
                own[case] = areas["attention"]
                if others := [area for measure, area in areas.items() if measure != "attention"]:
                    leads[case] = own[case] - np.max(others, axis=0)
        rows += [
            _on_average(f"{name} is faithful (RACU above 0)", own),
            _on_average(f"{name} leads the other measures (RACU less the best other)", leads),
        ]
    return rows


def _integrated_gradients(drawn):
    found = {}
    for (dataset, model), of in _areas(drawn).items():
        others = [of[m] for m in of if describe(m).family == "gradient" and describe(m).cost == "constant"]
        if "integrated_gradients_abs" in of and others:
            found[f"{dataset}, {model}"] = np.max(others, axis=0) - of["integrated_gradients_abs"]
    return _somewhere("somewhere a cheaper gradient is more faithful than integrated gradients", found)


def _early(drawn):
    """Share of the whole drop that comes with the first 20 %, less what an even fall would give."""
    shares = {}
    for (dataset, model, recursive), of in drawn.items():
        for measure, curve in of.items():
            last = curve.columns[-2]
            whole = (curve[0] - curve[last]).to_numpy()
            if recursive and 20 in curve and measure != RANDOM and (whole > 0.05).all():
                early = (curve[0] - curve[20]).to_numpy()
                shares[f"{dataset}, {model}, {measure}"] = early / whole - 20 / last
    return _on_average("the top 20 % bring more than 20 % of the drop", shares)


def _leakage(drawn):
    """The largest rise of a curve from one step to the next, less `RISE`."""
    found = {}
    for (dataset, model, recursive), of in drawn.items():
        for measure, curve in of.items():
            if measure != RANDOM:
                steps = curve.columns[:-1]
                rises = np.diff(curve[steps], axis=1)  # (1 + resamples, steps)
                i = rises[0].argmax()
                kind = "Recursive ROAR" if recursive else "ROAR"
                name = f"{dataset}, {model}, {measure}, {kind}, from {steps[i]} to {steps[i + 1]} %"
                found[name] = rises[:, i] - RISE
    return _somewhere(f"class leakage: somewhere a curve rises by more than {RISE:.0%}", found)


def _recursion(drawn):
    plain, again = _areas(drawn, recursive=False), _areas(drawn)
    found = {
        f"{key[0]}, {key[1]}, {m}": again[key][m] - plain[key][m]
        for key in again.keys() & plain.keys()
        for m in again[key]
    }
    return _on_average("Recursive ROAR finds measures more faithful than ROAR does", found)


def _on_average(claim, found):
    """A claim about the mean of cases."""
    if not found:
        return None
    where = contributions({name: found[name][0] for name in sorted(found)})
    return row(claim, estimate(mean_of(found)), where)


def _somewhere(claim, found, two_sided=False):
    """A claim that something exists: its best case, the interval widened for having looked at all cases.

    The best of many cases is above 0 by luck alone if one looks often enough: the level is divided by the
    number of cases (Bonferroni).
    """
    if not found:
        return None
    if two_sided:
        found = {name: statistic * np.sign(statistic[0]) for name, statistic in found.items()}
    estimates = {name: estimate(statistic, 1 - 0.05 / len(found)) for name, statistic in found.items()}
    best = max(estimates, key=lambda name: (estimates[name][1], estimates[name][0]))
    supported = sum(low > 0 for _, low, _ in estimates.values())
    where = f"{supported} of {len(found)} cases; clearest: {best}"
    return row(claim, estimates[best], where)
