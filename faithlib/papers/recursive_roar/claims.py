"""The six findings of Madsen et al. 2022 (section 6) and the case for recursion, each with a verdict.

Every statistic is a function of whole curves. Seeds are drawn anew, within each data set and model, and all
measures of a seed move together, as they share its models; intervals are percentiles of 1,000 draws. With
three to five seeds they are rough, as the paper's own are.
"""

from itertools import combinations

import numpy as np
import pandas as pd

from faithlib.metrics.curves import racu
from faithlib.report.claims import CLAIMS
from faithlib.statistics import RESAMPLES, percentile_interval, verdict

GRADIENTS = ("gradient_l2", "input_x_gradient_abs")
RISE = 0.01  # a rise of performance that is worth the name, as a fraction


def claims(points, n_resamples=RESAMPLES, seed=0):
    """One row a claim: its statistic (more supports it), with interval, verdict and what makes it up.

    points: from `report.recursive_roar.points`. A claim about two models, or two data sets, is not there
    where records have only one; data sets with one seed are left out. Areas are RACU, clipped as in the
    paper's Table 2.
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
    drawn = {}
    for i, (key, part) in enumerate(points.groupby(["dataset", "model", "recursive"], sort=False)):
        table = part.pivot_table(index="seed", columns=["measure", "step"], values="value").dropna()
        if len(table) < 2:
            continue  # one seed does not tell its own noise; the table of RACU names incomplete ones
        x = table["random"].columns.to_numpy(float) / 100
        baseline = table["random"].to_numpy()
        rng = np.random.default_rng([seed, i // 2])  # ROAR and Recursive ROAR of a unit share their seeds
        even = np.full(len(table), 1 / len(table))
        chosen = rng.multinomial(len(table), even, size=n_resamples) / len(table)
        weights = np.vstack([even, chosen])  # (1 + resamples, seeds)
        drawn[key] = {}
        for measure in table.columns.unique(0):
            p = table[measure].to_numpy()  # (seeds, steps)
            area = racu(x, p, baseline, clip=True)
            means = weights @ np.column_stack([p, np.nan_to_num(area)])
            drawn[key][measure] = pd.DataFrame(means, columns=[*table[measure], "racu"])
    return drawn


def _areas(drawn, recursive=True):
    """{(dataset, model): {measure: RACU (1 + resamples,)}}."""
    return {
        key[:2]: {m: c.racu.to_numpy() for m, c in of.items() if m != "random"}
        for key, of in drawn.items()
        if key[2] == recursive
    }


def _models_differ(drawn):
    areas, found = _areas(drawn), {}
    for one, other in combinations(areas, 2):
        if one[0] == other[0]:
            for measure in areas[one].keys() & areas[other].keys():
                found[f"{one[0]}, {measure}"] = areas[one][measure] - areas[other][measure]
    return _some("a measure's faithfulness differs between models (clearest difference)", found, True)


def _tasks_differ(drawn):
    """The smaller of two differences, a above b on one data set and b above a on another."""
    areas, found = _areas(drawn), {}
    for one, other in combinations(areas, 2):
        if one[0] != other[0] and one[1] == other[1]:
            for a, b in combinations(sorted(areas[one].keys() & areas[other].keys()), 2):
                first, second = areas[one][a] - areas[one][b], areas[other][a] - areas[other][b]
                sign = np.sign(first[0])
                found[f"{a} and {b}, {one[0]} and {other[0]}"] = np.minimum(sign * first, -sign * second)
    return _some("which of two measures is more faithful depends on the task (smaller of both leads)", found)


def _attention(drawn):
    """Of the BiLSTM, and in rows of their own of encoders: the paper does not measure theirs."""
    rows = []
    for whose, is_bilstm in (("attention", True), ("an encoder's attention", False)):
        areas = {
            ", ".join(key): of
            for key, of in _areas(drawn).items()
            if "attention" in of and (key[1] == "bilstm") == is_bilstm
        }
        own = {name: of["attention"] for name, of in areas.items()}
        leads = {
            name: own[name] - np.max([a for m, a in of.items() if m != "attention"], axis=0)
            for name, of in areas.items()
            if len(of) > 1
        }
        rows += [
            _mean(f"{whose} is faithful (RACU above 0)", own),
            _mean(f"{whose} leads the other measures (RACU less the best other)", leads),
        ]
    return rows


def _integrated_gradients(drawn):
    found = {}
    for (dataset, model), of in _areas(drawn).items():
        others = [of[m] for m in GRADIENTS if m in of]
        if "integrated_gradients_abs" in of and others:
            found[f"{dataset}, {model}"] = np.max(others, axis=0) - of["integrated_gradients_abs"]
    return _some("somewhere a cheaper gradient is more faithful than integrated gradients", found)


def _early(drawn):
    """Share of the whole drop that comes with the first 20 %, less what an even fall would give."""
    shares = {}
    for (dataset, model, recursive), of in drawn.items():
        for measure, curve in of.items():
            last = curve.columns[-2]
            whole = (curve[0] - curve[last]).to_numpy()
            if recursive and 20 in curve and measure != "random" and (whole > 0.05).all():
                early = (curve[0] - curve[20]).to_numpy()
                shares[f"{dataset}, {model}, {measure}"] = early / whole - 20 / last
    return _mean("the top 20 % bring more than 20 % of the drop", shares)


def _leakage(drawn):
    """The largest rise of a curve from one step to the next, less `RISE`."""
    found = {}
    for (dataset, model, recursive), of in drawn.items():
        for measure, curve in of.items():
            if measure != "random":
                steps = curve.columns[:-1]
                rises = np.diff(curve[steps], axis=1)  # (1 + resamples, steps)
                i = rises[0].argmax()
                kind = "Recursive ROAR" if recursive else "ROAR"
                name = f"{dataset}, {model}, {measure}, {kind}, from {steps[i]} to {steps[i + 1]} %"
                found[name] = rises[:, i] - RISE
    return _some(f"class leakage: somewhere a curve rises by more than {RISE:.0%}", found)


def _recursion(drawn):
    plain, again = _areas(drawn, recursive=False), _areas(drawn)
    found = {
        f"{key[0]}, {key[1]}, {m}": again[key][m] - plain[key][m]
        for key in again.keys() & plain.keys()
        for m in again[key]
    }
    return _mean("Recursive ROAR finds measures more faithful than ROAR does", found)


def _mean(claim, found):
    """A claim about the mean of cases."""
    if not found:
        return None
    where = ", ".join(f"{name} {statistic[0]:+.3f}" for name, statistic in sorted(found.items()))
    return _row(claim, np.mean(list(found.values()), axis=0), where)


def _some(claim, found, two_sided=False):
    """A claim that something exists: its best case, the interval widened for having looked at all cases.

    The best of many cases is above 0 by luck alone if one looks often enough: the level is divided by the
    number of cases (Bonferroni).
    """
    if not found:
        return None
    if two_sided:
        found = {name: statistic * np.sign(statistic[0]) for name, statistic in found.items()}
    level = 1 - 0.05 / len(found)
    bounds = {name: percentile_interval(statistic[1:], level) for name, statistic in found.items()}
    best = max(found, key=lambda name: (bounds[name][0], found[name][0]))
    supported = [name for name, (low, _) in bounds.items() if low > 0]
    where = f"{len(supported)} of {len(found)} cases; clearest: {best}"
    return _row(claim, found[best], where, level)


def _row(claim, statistic, where, level=0.95):
    low, high = percentile_interval(statistic[1:], level)
    return {
        "claim": claim,
        "baseline": "random",
        "verdict": verdict(low, high, ">"),
        "value": statistic[0],
        "ci_low": low,
        "ci_high": high,
        "where": where,
        "published": np.nan,
        "definition": "paper",
    }
