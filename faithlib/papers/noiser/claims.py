"""The claims of Ghasemi Madani et al. 2025, each a statistic with an interval and a verdict.

A claim that something is best is its lead over the best other, averaged over tasks and models; "everywhere"
is a share of cases. Prompts are drawn anew within each task and model, and all that is compared on them moves
together; 95 % percentile intervals. Against the baseline "random" scale and ranking of scores count as in the
paper; against "matched", a method's own scores in random order, what is left is ranking.
"""

import numpy as np
import pandas as pd

from faithlib import papers
from faithlib.papers.noiser.tables import PAPER, TOPS, task_columns
from faithlib.report.claims import (
    CLAIMS,
    contributions,
    estimate,
    lead,
    mean_of,
    pivot_groups,
    published_lead,
    resampled,
    row,
)
from faithlib.report.tables import select
from faithlib.scores import RANDOM
from faithlib.statistics import RESAMPLES

LEAST = 1e-6  # a mean of 0 counts as this: its logarithm would be −∞
BASELINES = ("random", "matched")
BEST = (("score", "noiser", "Noiser"), ("rate", "leave_one_out", "occlusion"))  # who leads, by the paper
NOISER = ("noiser", "k_min")


def claims(values, answers=(), parts=(), evidence=(), n_resamples=RESAMPLES, seed=0):
    """The claims of faithfulness, answerability, the distractor and the evidence.

    Args:
        values: of soft metrics, from `results.load`.
        answers, parts, evidence: from `results.load_tables`, with the columns of `metrics.answerability`,
            `metrics.parts` and `metrics.plausibility`.
        n_resamples, seed: of the intervals.

    Returns:
        A row a claim, definition and baseline, none where records lack what it compares; `value` is such
        that more supports the claim. `published`: the same statistic of the published tables.
    """
    rows = []
    for definition, part in task_columns(values).groupby("definition", sort=False):
        for baseline in BASELINES:
            ratios = _log_ratios(part, baseline, n_resamples, seed)
            found = [*_most_faithful(ratios), *_best_bounding(ratios)]
            unknown = {"published": np.nan} if baseline == "matched" else {}
            rows += [r | {"baseline": baseline, "definition": definition} | unknown for r in found]
    for table, claims_of in ((answers, _answerability), (parts, _distractor), (evidence, _evidence)):
        if len(table):
            rows += [r for r in claims_of(task_columns(table), n_resamples, seed) if r]
    return pd.DataFrame(rows, columns=CLAIMS)


# Faithfulness -------------------------------------------------------------------------------------


def _log_ratios(values, baseline, n_resamples, seed):
    """{(task, model): (1 + resamples) × (attribution, bounding)}: log ratios, row 0 the estimate."""
    columns = ["attribution", "bounding", "baseline"]
    cells = pivot_groups(values, ["task", "model"], columns, ["soft_ns", "soft_nc"])
    found = {}
    for key, means in resampled(cells, n_resamples, seed).items():
        logs = np.log(means.clip(lower=LEAST))
        both = logs["soft_ns"] + logs["soft_nc"]
        ratios = {}
        for attribution, bounding, kind in both:
            random = (attribution, bounding) if baseline == "matched" else (RANDOM, "")
            if kind == "" and (*random, baseline) in both:
                ratios[attribution, bounding] = both[attribution, bounding, ""] - both[(*random, baseline)]
        found[key] = pd.DataFrame(ratios)
    return found


def _most_faithful(ratios):
    leads = _leads(ratios, NOISER, lambda pair: pair[0] != NOISER[0])
    if not leads:
        return []
    known = _published_lead("noiser", ["dataset", "model"], "attribution", "table_1")
    won = mean_of({case: found > 0 for case, found in leads.items()})
    lost = "; ".join(", ".join(case) for case, found in leads.items() if found[0] <= 0) or "none"
    where = f"{won[0] * len(leads):.0f} of {len(leads)} cases; lost: {lost}"
    everywhere = "Noiser is the most faithful everywhere (share of cases)"
    return [
        *_mean_row("Noiser is the most faithful (lead over the best other, log ratio)", leads, known),
        row(everywhere, estimate(won), where, ">=", 1 - 1e-9, published=1.0),
    ]


def _best_bounding(ratios):
    leads = _leads(ratios, NOISER, lambda pair: pair[0] == NOISER[0])
    known = _published_lead("k_min", "model", "bounding", "table_2")
    return _mean_row("k_min is the best bounding (lead over the best other, log ratio)", leads, known)


# Answerability, distractor, evidence --------------------------------------------------------------


def _answerability(answers, n_resamples, seed):
    """Who leads in score (over all prompts, as the paper prints it) and in rate, and is the ranking why?"""
    rows = []
    for top, published in TOPS.items():
        right = answers.place.between(1, top).astype(float)
        table = answers.assign(rate=right, score=right * answers.mass)
        for metric, best, name in BEST:
            drawn = _means(table, metric, n_resamples, seed, ["judge"])
            claim = f"{name} has the highest answerability {metric} (top {top}, lead over the next)"
            known = _published_lead(best, "model", "attribution", published, metric=metric)
            rows += _mean_row(claim, _leads(drawn, (best, ""), _other(best)), known, baseline="none")
            gains = {
                case: (means[best, ""] - means[best, "matched"]).to_numpy()
                for case, means in drawn.items()
                if (best, "matched") in means
            }
            claim = f"{name}: answerability {metric} above its scores in random order (top {top})"
            rows += _mean_row(claim, gains, baseline="matched")
    return rows


def _distractor(parts, n_resamples, seed):
    """Noiser's share on the distractor: below the share of its tokens, and below the least other's."""
    table = parts[parts.part == "distractor"]
    table = table.assign(spared=table.chance - table.share, little=-table.share)
    spared = _means(table, "spared", n_resamples, seed)
    below = {case: m["noiser", ""].to_numpy() for case, m in spared.items() if ("noiser", "") in m}
    leads = _leads(_means(table, "little", n_resamples, seed), ("noiser", ""), _other("noiser"))
    claim = "Noiser ignores the distractor (its share of tokens less its share of scores)"
    least = "Noiser gives the distractor less than the best other does"
    return [*_mean_row(claim, below, baseline="matched"), *_mean_row(least, leads, baseline="none")]


def _evidence(evidence, n_resamples, seed):
    own = evidence[(evidence.metric == "auprc") & (evidence.attribution == "noiser")].dropna(subset="value")
    drawn = _means(own.assign(gain=own.value - own.chance), "gain", n_resamples, seed)
    gains = {case: means.iloc[:, 0].to_numpy() for case, means in drawn.items()}
    claim = "Noiser finds the known evidence (AUPRC above a random order)"
    return _mean_row(claim, gains, baseline="matched")


def _means(table, column, n_resamples, seed, more=()):
    """{(task, model, ...): (1 + resamples) × (attribution, baseline)}: means, row 0 the estimate."""
    cells = pivot_groups(table, ["task", "model", *more], ["attribution", "baseline"], column)
    return resampled(cells, n_resamples, seed)


def _leads(drawn, best, is_other):
    """{case: (1 + resamples,)}: lead of the column `best` over the best other, wherever there are others."""
    others = {case: [c for c in means if c != best and is_other(c)] for case, means in drawn.items()}
    return {
        case: lead(means, best, others[case])
        for case, means in drawn.items()
        if best in means and others[case]
    }


def _other(best):
    """Whether a column (attribution, baseline) is of another attribution, random scores aside."""
    return lambda column: column[0] not in (best, RANDOM) and column[1] == ""


def _published_lead(best, index, columns, table, **given):
    """The published lead of one column over the best other, averaged over models."""
    frame = select(papers.published(PAPER, table), **given).query("model != 'average'")
    return published_lead(frame.pivot(index=index, columns=columns, values="value"), best)


def _mean_row(claim, cases, published=np.nan, **more):
    """[the row of a claim about a mean over cases], [] where there is none."""
    if not cases:
        return []
    where = contributions({", ".join(case): found[0] for case, found in cases.items()}, "; ")
    return [row(claim, estimate(mean_of(cases)), where, published=published, **more)]
