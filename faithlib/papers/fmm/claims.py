"""The claims of Madsen et al. 2024, each a mean over data sets with an interval and a verdict.

Every statistic is a number a seed, within a data set and model; the 95 % t interval of its mean over data
sets (`statistics.mean_over_groups`) is wide with few seeds, as it should be. Data sets with one seed take no
part. Which measures occlude, which are gradients and which are signed is what the registry says of them.
"""

import numpy as np
import pandas as pd

from faithlib.attributions import registry
from faithlib.metrics import curves
from faithlib.papers.fmm.card import CARD
from faithlib.papers.fmm.tables import (
    CURVE,
    MASKED,
    PLAIN,
    PUBLISHED_MODEL,
    measure_order,
    published_areas,
    published_roar,
    roar_racu,
)
from faithlib.report import label
from faithlib.report.claims import CLAIMS, row_over_seeds
from faithlib.report.tables import select
from faithlib.scores import RANDOM

MARGIN = 0.02  # of performance: what may be lost and still be called none
NEAR = 0.01  # of performance: a class majority that is reached
SIGNIFICANT, CONSISTENT = 0.05, 0.95  # of the in-distribution test; share of the tests that must pass it
OCCLUSION, GRADIENT = "perturbation", "gradient"  # families of the registry


def claims(scores, points, tests=None, roar=None):
    """The claims of sections 5.1 to 5.3, and against Recursive ROAR.

    Args:
        scores, points, tests: from `tables.scores`, `tables.points` and `tables.load_parts(..., "masf")`.
        roar: from `tables.load_roar`.

    Returns:
        A row a claim; `value` is such that more supports it, `where` has the mean of each data set. A claim
        is not there where no data set has two seeds of what it compares. Areas are ACU of masked fine-tuning,
        but RACU against Recursive ROAR; `published` is the same statistic of Table 11.
    """
    rows = [*_performance(scores), *_in_distribution(tests), *_faithfulness(points), _roar(points, roar)]
    return pd.DataFrame([row for row in rows if row], columns=CLAIMS)


def areas(points, area=curves.acu):
    """{(dataset, model): DataFrame seeds × measures} of masked fine-tuning; NaN where a curve has a gap."""
    found = {}
    for key, part in points[points.strategy == MASKED].groupby(["dataset", "model"], sort=False):
        wide = part.pivot(index=["measure", "seed"], columns="step", values="value").dropna()
        x, baseline = wide.columns.to_numpy(float) / 100, wide.loc[RANDOM]
        found[key] = {}
        for measure in wide.index.unique("measure").drop(RANDOM):
            seeds = wide.loc[measure].index.intersection(baseline.index)
            values = area(x, wide.loc[measure].loc[seeds], baseline.loc[seeds])
            found[key][measure] = pd.Series(values, seeds)
        found[key] = pd.DataFrame(found[key])
    return found


def _performance(scores):
    """Goals 1 and 2 of section 5.1: nothing lost unmasked, the class majority kept with everything masked."""
    own = scores[(scores.metric == scores.dataset.map(CARD.metric)) & (scores.split == "test")]
    majority = scores[scores.metric == "majority"].groupby(["dataset", "model"]).value.mean()
    gained, above, below = {}, {}, {}
    for key, part in own.groupby(["dataset", "model"], sort=False):
        wide = part.pivot(index="seed", columns=["strategy", "masked"], values="value")
        if {(MASKED, 0), (PLAIN, 0)} <= set(wide):
            gained[key] = wide[MASKED, 0] - wide[PLAIN, 0]
        if (MASKED, 100) in wide and key in majority:
            above[key] = wide[MASKED, 100] - majority[key]
        if (PLAIN, 100) in wide and key in majority:
            below[key] = majority[key] - wide[PLAIN, 100]
    return [
        _row(f"masked fine-tuning loses no performance: at most {MARGIN:.2f}", gained, ">=", -MARGIN),
        _row(
            "everything masked: at or above the class majority with masked fine-tuning "
            f"(at most {NEAR:.2f} below)",
            above,
            ">=",
            -NEAR,
        ),
        _row("everything masked: below the class majority with plain fine-tuning", below),
    ]


def _in_distribution(tests):
    """Section 5.2: the share of tests, over measures and ratios, that do not reject at 5 %."""
    if tests is None or tests.empty:
        return []
    masked = tests[(tests.ratio > 0) & (tests.measure != "validation")]
    masked = masked.assign(passed=masked.p >= SIGNIFICANT)
    rows = []
    for definition, part in masked.groupby("definition", sort=False):
        shares = part.groupby([*CURVE, "seed"], sort=False).passed.mean()
        own, more = {}, {}
        for key, share in shares.groupby(["dataset", "model"], sort=False):
            wide = share.unstack("strategy").reset_index(["dataset", "model"], drop=True)
            if MASKED in wide:
                own[key] = wide[MASKED]
            if {MASKED, PLAIN} <= set(wide):
                more[key] = wide[MASKED] - wide[PLAIN]
        claim = (
            "masked data is in distribution with masked fine-tuning "
            f"(share of tests, {CONSISTENT:.0%} expected)"
        )
        against = "masked data is in distribution in more tests than with plain fine-tuning"
        rows += [
            _row(claim, own, ">=", CONSISTENT - 1e-9, definition=definition),
            _row(against, more, definition=definition),
        ]
    return rows


def _faithfulness(points):
    """Section 5.3: which measures are more faithful, by ACU."""
    found, known = areas(points), _published()
    measures = dict.fromkeys(measure for table in found.values() for measure in table)
    twins = [m for m in measure_order() if {m, f"{m}_abs"} <= measures.keys()]
    compared = {
        "occlusion is the most faithful (best of it less the best gradient)": _occlusion,
        "occlusion is the most faithful among absolute measures": _absolute_occlusion,
        **{f"signed above absolute: {label(m)}": _difference(m, f"{m}_abs") for m in twins},
        "Beam at or above leave-one-out": _difference("beam", "leave_one_out"),
    }
    rows = []
    for claim, compare in compared.items():
        relation = ">=" if claim.startswith("Beam") else ">"
        gains = {key: compare(table) for key, table in found.items()}
        rows.append(_row(claim, gains, relation, published=compare(known).mean()))
    return rows


def _occlusion(table):
    return _best(table, OCCLUSION) - _best(table, GRADIENT)


def _absolute_occlusion(table):
    absolute = table[[measure for measure in table if not registry.describe(measure).signed]]
    return _best(absolute, OCCLUSION) - _best(absolute, GRADIENT)


def _best(table, family):
    """The highest area of a family's measures, a number a seed (or a published data set); NaN without any."""
    return table[[m for m in table if registry.describe(m).family == family]].max(axis=1)


def _difference(upper, lower):
    """The function from a table of areas to those of one measure less another's, NaN where it lacks one."""

    def difference(table):
        pair = table.reindex(columns=[upper, lower])
        return pair[upper] - pair[lower]

    return difference


def _roar(points, roar):
    """RACU less Recursive ROAR's, mean over the measures of both; seeds with a flat baseline are left out."""
    gains, sources = {}, set()
    for key, table in areas(points, _readable_racu).items():
        theirs = pd.DataFrame({measure: roar_racu(roar, *key, measure) for measure in table}).T
        theirs = theirs[theirs.roar.notna()]
        gains[key] = (table[theirs.index] - theirs.roar.astype(float)).mean(axis=1)
        sources |= set(theirs.roar_of)
    theirs = select(published_roar(), model=PUBLISHED_MODEL)
    theirs = theirs.pivot(index="dataset", columns="measure", values="value") / 100
    row = _row(
        "more faithful than the same measures by Recursive ROAR (RACU)",
        gains,
        published=(_published("racu") - theirs).stack().mean(),
    )
    return row and row | {"where": f"{row['where']}; Recursive ROAR: {', '.join(sorted(sources))}"}


def _readable_racu(x, measure, baseline):
    flat = curves.room(x, baseline) < curves.FLAT
    return np.where(flat, np.nan, curves.racu(x, measure, baseline))


def _published(statistic="acu"):
    """Tables 1 and 11: data sets × measures, as fractions."""
    table = select(published_areas(), model=PUBLISHED_MODEL, statistic=statistic)
    return table.pivot(index="dataset", columns="measure", values="value") / 100


def _row(claim, gains, relation=">", threshold=0.0, **more):
    """One row of claims; None where no data set has two seeds. gains: {(dataset, model): a number a seed}."""
    gains = {key: gain.dropna() for key, gain in gains.items()}
    gains = {key: gain for key, gain in gains.items() if len(gain) > 1}
    return row_over_seeds(claim, gains, relation, threshold, **more)
