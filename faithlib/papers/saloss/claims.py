"""The claims of Chrysostomou & Aletras 2021, each a statistic with an interval and a verdict.

Those about decision flips are paired over examples: within a data set and model, examples are drawn anew and
all saliences and attributions move together; 95 % percentile intervals. Those about F1 are paired over seeds:
a t interval of the mean over data sets (`statistics.mean_over_groups`), wide with two or three seeds. Every
definition of the loss has claims of its own, against the same model trained without salience.
"""

import numpy as np
import pandas as pd

from faithlib import papers, results
from faithlib.papers.saloss.tables import PAPER, SIGNIFICANT, THRESHOLDERS, f1, named, of_definition
from faithlib.report import label
from faithlib.report.claims import CLAIMS
from faithlib.report.tables import original
from faithlib.statistics import (
    RESAMPLES,
    mean_over_groups,
    percentile_interval,
    rank_sum,
    resample_means,
    verdict,
)

SHARE = 19 / 20  # of the cases: 4 attributions on 5 data sets
MARGIN = 0.02  # of macro-F1: the most that any data set of Table 1 loses
HARD = ("sst", "semeval")  # the data sets whose rationales the paper finds better
OTHERS = ("tfidf", "chi2", "uniform")  # TextRank is compared with; uniform is no claim of the paper
TITLES = {"top_k": "top-k", "contiguous": "contiguous"}


def claims(records, values, n_resamples=RESAMPLES, seed=0):
    """One row a claim and definition; `value` is such that more supports the claim.

    A claim is not there where records lack what it compares. `baseline` is "none": no random baseline takes
    part. `published` is the same statistic of the published tables, `where` what makes it up. One seed has no
    interval of F1, which is inconclusive.
    """
    scores, flips = f1(records), values[values.attribution != "random"]
    rows = []
    for definition in flips.definition[flips.salience != "none"].unique():
        drawn = _drawn(flips, definition, n_resamples, seed)
        found = [
            _performance(scores, definition),
            *_fewer_tokens(drawn),
            _attention(drawn),
            *(_salience(drawn, other) for other in OTHERS),
            *(_rationales(scores, definition, thresholder) for thresholder in TITLES),
        ]
        rows += [row | {"definition": definition} for row in found if row]
    return pd.DataFrame(rows, columns=CLAIMS)


def _drawn(values, definition, n_resamples, seed):
    """{(dataset, model): (values, means)}: (examples) and (1 + resamples) × (salience, attribution).

    Row 0 of the means is the estimate. The model without salience counts with the seeds that have others.
    """
    drawn = {}
    for i, (key, part) in enumerate(values.groupby(["dataset", "model"], sort=False)):
        own = part[(part.salience != "none") & (part.definition == definition)]
        part = pd.concat([own, part[(part.salience == "none") & part.seed.isin(own.seed)]])
        wide = part.pivot_table(index="example", columns=["salience", "attribution"], values="fraction")
        wide = wide.dropna()  # the same examples in every cell
        if len(wide):
            means = np.vstack([wide.mean(), resample_means(wide, n_resamples, [seed, i])])
            drawn[key[0], results.slug(key[1])] = wide, pd.DataFrame(means, columns=wide.columns)
    return drawn


def _fewer_tokens(drawn):
    """TextRank's model against that of no salience: tokens saved on average, and in how many cases."""
    gains = _gains(drawn, "none")
    if not gains:
        return []
    paper = _published_flips()
    text = papers.published(PAPER, "text").set_index("name").value
    won = np.mean([gain > 0 for gain in gains.values()], axis=0)
    lost = [f"{dataset} {label(name)}" for (dataset, _, name), gain in gains.items() if gain[0] <= 0]
    clear = sum(gain[0] > 0 and _p(drawn, *case) < SIGNIFICANT for case, gain in gains.items())
    where = (
        f"{won[0] * len(gains):.0f} of {len(gains)} cases, {clear} of them by a rank-sum at p < .05; "
        f"lost: {', '.join(lost) or 'none'}"
    )
    return [
        _row(
            "fewer tokens to a flip than the baseline, on average",
            np.mean(list(gains.values()), axis=0),
            _by_dataset(gains),
            published=(paper.none - paper.textrank).mean(),
        ),
        _row(
            "fewer tokens to a flip in 19 of 20 cases (share)",
            won,
            where,
            ">=",
            SHARE - 1e-9,
            published=text.cases_won / text.cases,
        ),
    ]


def _attention(drawn):
    """By how much attention needs fewer tokens than the best other attribution of the same model."""
    leads = {}
    for key, (_, means) in drawn.items():
        own = means["textrank"] if "textrank" in means else {}
        if "attention" in own and len(own.columns) > 1:
            leads[*key, "attention"] = (own.drop(columns="attention").min(axis=1) - own.attention).to_numpy()
    if not leads:
        return None
    paper = _published_flips().textrank.unstack()
    known = (paper.drop(columns="attention").min(axis=1) - paper.attention).mean()
    return _row(
        "attention is the best attribution (lead over the best other)",
        np.mean(list(leads.values()), axis=0),
        _by_dataset(leads),
        published=known,
    )


def _salience(drawn, other):
    gains = _gains(drawn, other)
    if not gains:
        return None
    paper = _published_flips()
    known = (paper[other] - paper.textrank).mean() if other in paper else np.nan
    return _row(
        f"TextRank needs fewer tokens to a flip than {named(other)}",
        np.mean(list(gains.values()), axis=0),
        _by_dataset(gains),
        published=known,
    )


def _performance(scores, definition):
    gains = _f1_gains(scores[scores.input == "text"], definition)
    paper = papers.published(PAPER, "table_1").pivot(index="dataset", columns="salience", values="value")
    return gains and _of_seeds(
        f"same performance: at most {MARGIN:.2f} of macro-F1 lost",
        gains,
        -MARGIN,
        (paper.textrank - paper.none).mean(),
    )


def _rationales(scores, definition, thresholder):
    """Macro-F1 of classifiers on rationales by attention, on SST and SemEval and what imitates them."""
    own = scores[(scores.input == thresholder) & (scores.attribution == "attention")]
    gains = _f1_gains(own[own.dataset.map(original).isin(HARD)], definition)
    paper = papers.published(PAPER, THRESHOLDERS[thresholder])
    paper = paper.pivot(index="dataset", columns="salience", values="value").loc[list(HARD)]
    claim = f"better {TITLES[thresholder]} rationales on SST and SemEval (macro-F1)"
    return gains and _of_seeds(claim, gains, 0, (paper.textrank - paper.none).mean())


def _f1_gains(scores, definition):
    """{(dataset, model): (seeds,)}: macro-F1 with TextRank less that with no salience, ratios averaged."""
    gains = {}
    for key, part in of_definition(scores, definition).groupby(["dataset", "model"], sort=False):
        wide = part.pivot_table(index="seed", columns="salience", values="value")
        if {"none", "textrank"} <= set(wide):
            gain = (wide.textrank - wide.none).dropna()
            gains |= {key: gain.to_numpy()} if len(gain) else {}
    return gains


def _of_seeds(claim, gains, bound, known):
    value, low, high = mean_over_groups(gains.values())
    where = ", ".join(
        f"{dataset} {gain.mean():+.3f} ({len(gain)} seed{'s' * (len(gain) > 1)})"
        for (dataset, _), gain in gains.items()
    )
    found = "inconclusive" if np.isnan(low) else verdict(low, high, ">", bound)
    return {
        "claim": claim,
        "baseline": "none",
        "verdict": found,
        "value": value,
        "ci_low": low,
        "ci_high": high,
        "where": where,
        "published": known,
    }


def _gains(drawn, other):
    """{(dataset, model, attribution): (1 + resamples,)}: fraction of another salience less TextRank."""
    return {
        (*key, name): (means[other, name] - means["textrank", name]).to_numpy()
        for key, (_, means) in drawn.items()
        for salience, name in means
        if salience == "textrank" and (other, name) in means
    }


def _p(drawn, dataset, model, attribution):
    wide, _ = drawn[dataset, model]
    return rank_sum(wide["textrank", attribution], wide["none", attribution])


def _by_dataset(gains):
    parts = {}
    for (dataset, *_), gain in gains.items():
        parts.setdefault(dataset, []).append(gain[0])
    return ", ".join(f"{dataset} {np.mean(found):+.3f}" for dataset, found in parts.items())


def _published_flips():
    """Tables 2 and 8: (dataset, attribution) × salience, without random."""
    both = pd.concat([papers.published(PAPER, table) for table in ("table_2", "table_8")])
    both = both[both.attribution != "random"]
    return both.pivot_table(index=["dataset", "attribution"], columns="salience", values="value")


def _row(claim, statistic, where, relation=">", bound=0.0, published=np.nan):
    low, high = percentile_interval(statistic[1:])
    return {
        "claim": claim,
        "baseline": "none",
        "verdict": verdict(low, high, relation, bound),
        "value": statistic[0],
        "ci_low": low,
        "ci_high": high,
        "where": where,
        "published": published,
    }
