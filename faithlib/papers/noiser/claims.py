"""The claims of Ghasemi Madani et al. 2025, each a statistic with an interval and a verdict.

A claim that something is best is its lead over the best other, averaged over tasks and models; "everywhere"
is a share of cases. Prompts are drawn anew within each task and model, and all that is compared on them moves
together; 95 % percentile intervals. Against the baseline "random" scale and ranking of scores count as in the
paper; against "matched", a method's own scores in random order, what is left is ranking.
"""

import numpy as np
import pandas as pd

from faithlib import papers
from faithlib.papers.noiser.tables import PAPER, TOPS, name, named
from faithlib.report.claims import CLAIMS
from faithlib.statistics import RESAMPLES, percentile_interval, resample_means, verdict

LEAST = 1e-6  # a mean of 0 counts as this: its logarithm would be −∞
BASELINES = ("random", "matched")


def claims(values, answers=(), parts=(), evidence=(), n_resamples=RESAMPLES, seed=0):
    """One row a claim, definition and baseline; `value` is such that more supports the claim.

    values: of soft metrics; answers, parts and evidence: from `results.load_tables`, with the columns of
    `metrics.answerability`, `metrics.parts` and `metrics.plausibility`. A claim is not there where records
    lack what it compares. `published`: the same statistic of the published tables; `where`: what makes it up.
    """
    rows = []
    for definition, part in named(values).groupby("definition", sort=False):
        for baseline in BASELINES:
            of = _log_ratios(part, baseline, n_resamples, seed)
            found = [*_most_faithful(of), _best_bounding(of)]
            unknown = {"published": np.nan} if baseline == "matched" else {}
            rows += [row | {"baseline": baseline, "definition": definition} | unknown for row in found if row]
    for table, about in ((answers, _answerability), (parts, _distractor), (evidence, _evidence)):
        if len(table):
            rows += [row | {"definition": "paper"} for row in about(named(table), n_resamples, seed)]
    return pd.DataFrame(rows, columns=CLAIMS)


# Faithfulness -------------------------------------------------------------------------------------


def _log_ratios(values, baseline, n_resamples, seed):
    """{(task, model): (1 + resamples) × (attribution, bounding)}: log ratios, row 0 the estimate."""
    drawn = {}
    for i, (key, part) in enumerate(values.groupby(["task", "model"], sort=False)):
        wide = part.pivot_table(
            index="example", columns=["attribution", "bounding", "baseline"], values=["soft_ns", "soft_nc"]
        ).dropna()  # the same prompts in every cell
        if not len(wide):
            continue
        means = np.vstack([wide.mean(), resample_means(wide, n_resamples, [seed, i])])
        logs = pd.DataFrame(np.log(np.maximum(means, LEAST)), columns=wide.columns)
        both = logs["soft_ns"] + logs["soft_nc"]
        ratios = {}
        for attribution, bounding, kind in both:
            random = (attribution, bounding) if baseline == "matched" else ("random", "")
            if kind == "" and (*random, baseline) in both:
                ratios[attribution, bounding] = both[attribution, bounding, ""] - both[(*random, baseline)]
        drawn[key] = pd.DataFrame(ratios)
    return drawn


def _most_faithful(of):
    leads = {}
    for key, ratios in of.items():
        others = [pair for pair in ratios if pair[0] != "noiser"]
        if ("noiser", "k_min") in ratios and others:
            leads[key] = _lead(ratios, ("noiser", "k_min"), others)
    if not leads:
        return []
    wide = (
        papers.published(PAPER, "table_1")
        .query("model != 'average'")
        .pivot(index=["dataset", "model"], columns="attribution", values="value")
    )
    known = wide.noiser - wide.drop(columns="noiser").max(axis=1)
    won = np.mean([lead > 0 for lead in leads.values()], axis=0)
    lost = "; ".join(", ".join(key) for key, lead in leads.items() if lead[0] <= 0) or "none"
    where = f"{won[0] * len(leads):.0f} of {len(leads)} cases; lost: {lost}"
    return [
        _row("Noiser is the most faithful (lead over the best other, log ratio)", leads, known.mean()),
        _row("Noiser is the most faithful everywhere (share of cases)", {"": won}, 1.0, ">=", 1 - 1e-9)
        | {"where": where},
    ]


def _best_bounding(of):
    leads = {}
    for key, ratios in of.items():
        others = [pair for pair in ratios if pair[0] == "noiser" and pair[1] != "k_min"]
        if ("noiser", "k_min") in ratios and others:
            leads[key] = _lead(ratios, ("noiser", "k_min"), others)
    wide = (
        papers.published(PAPER, "table_2")
        .query("model != 'average'")
        .pivot(index="model", columns="bounding", values="value")
    )
    known = (wide.k_min - wide.drop(columns="k_min").max(axis=1)).mean()
    return leads and _row("k_min is the best bounding (lead over the best other, log ratio)", leads, known)


# Answerability, distractor, evidence --------------------------------------------------------------


def _answerability(answers, n_resamples, seed):
    """Who leads in score (over all prompts, as the paper prints it) and in rate, and is the ranking why?"""
    rows = []
    for top in TOPS:
        right = answers.place.between(1, top).astype(float)
        table = answers.assign(rate=right, score=right * answers.mass)
        for metric, best in (("score", "noiser"), ("rate", "leave_one_out")):
            drawn = _means(table, metric, n_resamples, seed, ["judge"])
            leads = _leads(drawn, best)
            if leads:
                claim = f"{name(best)} has the highest answerability {metric} (top {top}, lead over the next)"
                rows.append(_row(claim, leads, _published_lead(top, metric, best)) | {"baseline": "none"})
            gains = {
                key: (means[best, ""] - means[best, "matched"]).to_numpy()
                for key, means in drawn.items()
                if (best, "matched") in means
            }
            if gains:
                claim = f"{name(best)}: answerability {metric} above its scores in random order (top {top})"
                rows.append(_row(claim, gains) | {"baseline": "matched"})
    return rows


def _distractor(parts, n_resamples, seed):
    """Noiser's share on the distractor: below the share of its tokens, and below the least other's."""
    table = parts[parts.part == "distractor"]
    table = table.assign(spared=table.chance - table.share, little=-table.share)
    below = {
        key: means["noiser", ""].to_numpy()
        for key, means in _means(table, "spared", n_resamples, seed).items()
        if ("noiser", "") in means
    }
    leads = _leads(_means(table, "little", n_resamples, seed), "noiser")
    return [
        _row(claim, found) | {"baseline": baseline}
        for claim, found, baseline in (
            (
                "Noiser ignores the distractor (its share of tokens less its share of scores)",
                below,
                "matched",
            ),
            ("Noiser gives the distractor less than the best other does", leads, "none"),
        )
        if found
    ]


def _evidence(evidence, n_resamples, seed):
    own = evidence[(evidence.metric == "auprc") & (evidence.attribution == "noiser")].dropna(subset="value")
    drawn = _means(own.assign(gain=own.value - own.chance), "gain", n_resamples, seed)
    gains = {key: means.iloc[:, 0].to_numpy() for key, means in drawn.items()}
    return (
        [
            _row("Noiser finds the known evidence (AUPRC above a random order)", gains)
            | {"baseline": "matched"}
        ]
        if gains
        else []
    )


def _means(table, column, n_resamples, seed, more=()):
    """{(task, model, ...): (1 + resamples) × (attribution, baseline)}: means, row 0 the estimate."""
    drawn = {}
    for i, (key, part) in enumerate(table.groupby(["task", "model", *more], sort=False)):
        wide = part.pivot_table(index="example", columns=["attribution", "baseline"], values=column).dropna()
        if len(wide):
            means = np.vstack([wide.mean(), resample_means(wide, n_resamples, [seed, i])])
            drawn[key] = pd.DataFrame(means, columns=wide.columns)
    return drawn


def _leads(drawn, best):
    """The lead of one attribution over the best other, random scores aside, wherever there are others."""
    leads = {}
    for key, means in drawn.items():
        others = [c for c in means if c[0] not in (best, "random") and c[1] == ""]
        if (best, "") in means and others:
            leads[key] = _lead(means, (best, ""), others)
    return leads


def _lead(means, best, others):
    """By how much the column `best` is above the highest of the others, (1 + resamples,)."""
    return (means[best] - means[others].max(axis=1)).to_numpy()


def _published_lead(top, metric, best):
    frame = papers.published(PAPER, TOPS[top]).query("model != 'average'")
    wide = frame[frame.metric == metric].pivot(index="model", columns="attribution", values="value")
    return (wide[best] - wide.drop(columns=best).max(axis=1)).mean()


def _row(claim, found, known=np.nan, relation=">", bound=0.0):
    statistic = np.mean(list(found.values()), axis=0)
    low, high = percentile_interval(statistic[1:])
    return {
        "claim": claim,
        "verdict": verdict(low, high, relation, bound),
        "value": statistic[0],
        "ci_low": low,
        "ci_high": high,
        "published": known,
        "where": "; ".join(f"{', '.join(key)} {each[0]:+.3f}" for key, each in found.items() if key),
    }
