"""The claims of Chrysostomou & Aletras 2021, each a statistic with an interval and a verdict.

Those about decision flips are paired over examples: within a data set and model, examples are drawn anew and
all saliences and attributions move together; 95 % percentile intervals. Those about F1 are paired over seeds:
a t interval of the mean over data sets (`statistics.mean_over_groups`), wide with two or three seeds. Every
definition of the loss has claims of its own, against the same model trained without salience.
"""

import numpy as np
import pandas as pd

from faithlib import papers, results
from faithlib.papers.saloss.tables import (
    PAPER,
    SIGNIFICANT,
    THRESHOLDERS,
    f1,
    published_flips,
    salience_title,
    select_definition,
)
from faithlib.report import label
from faithlib.report.claims import (
    CLAIMS,
    by_dataset,
    estimate,
    lead,
    mean_of,
    published_lead,
    resampled,
    row,
    row_over_seeds,
)
from faithlib.report.tables import original
from faithlib.scores import RANDOM
from faithlib.statistics import RESAMPLES, rank_sum

SHARE = 19 / 20  # of the cases: 4 attributions on 5 data sets
MARGIN = 0.02  # of macro-F1: the most that any data set of Table 1 loses
HARD = ("sst", "semeval")  # the data sets whose rationales the paper finds better
OTHERS = ("tfidf", "chi2", "uniform")  # TextRank is compared with; uniform is no claim of the paper
TITLES = {"top_k": "top-k", "contiguous": "contiguous"}


def claims(records, values, n_resamples=RESAMPLES, seed=0):
    """The claims of each definition of the loss.

    Args:
        records, values: from `results.load`.
        n_resamples, seed: of the intervals over examples.

    Returns:
        A row a claim and definition, none where records lack what it compares; `value` is such that more
        supports the claim. `baseline` is "none": no random baseline takes part. `published` is the same
        statistic of the published tables. One seed has no interval of F1, which is inconclusive.
    """
    scores, flips = f1(records), values[values.attribution != RANDOM]
    rows = []
    for definition in flips.definition[flips.salience != "none"].unique():
        cells = _paired_examples(flips, definition)
        drawn = resampled(cells, n_resamples, seed)
        found = [
            _performance(scores, definition),
            *_fewer_tokens(drawn, cells),
            _attention(drawn),
            *(_salience(drawn, other) for other in OTHERS),
            *(_rationales(scores, definition, thresholder) for thresholder in TITLES),
        ]
        rows += [row | {"definition": definition, "baseline": "none"} for row in found if row]
    return pd.DataFrame(rows, columns=CLAIMS)


def _paired_examples(values, definition):
    """{(dataset, model): DataFrame examples × (salience, attribution)}: fractions, without gaps.

    The model without salience counts with the seeds that have others.
    """
    cells = {}
    for (dataset, model), part in values.groupby(["dataset", "model"], sort=False):
        own = part[(part.salience != "none") & (part.definition == definition)]
        part = pd.concat([own, part[(part.salience == "none") & part.seed.isin(own.seed)]])
        wide = part.pivot_table(index="example", columns=["salience", "attribution"], values="fraction")
        cells[dataset, results.slug(model)] = wide.dropna()
    return cells


def _fewer_tokens(drawn, cells):
    """TextRank's model against that of no salience: tokens saved on average, and in how many cases."""
    gains = _gains(drawn, "none")
    if not gains:
        return []
    paper = _published_fractions()
    text = papers.published(PAPER, "text").set_index("name").value
    won = mean_of({case: gain > 0 for case, gain in gains.items()})
    lost = [f"{dataset} {label(name)}" for (dataset, _, name), gain in gains.items() if gain[0] <= 0]
    clear = sum(gain[0] > 0 and _rank_sum(cells, *case) < SIGNIFICANT for case, gain in gains.items())
    where = (
        f"{won[0] * len(gains):.0f} of {len(gains)} cases, {clear} of them by a rank-sum at p < .05; "
        f"lost: {', '.join(lost) or 'none'}"
    )
    share = text.cases_won / text.cases
    known = (paper.none - paper.textrank).mean()
    return [
        _mean_row("fewer tokens to a flip than the baseline, on average", gains, known),
        row(
            "fewer tokens to a flip in 19 of 20 cases (share)",
            estimate(won),
            where,
            ">=",
            SHARE - 1e-9,
            published=share,
        ),
    ]


def _attention(drawn):
    """By how much attention needs fewer tokens than the best other attribution of the same model."""
    leads = {}
    for key, means in drawn.items():
        own = -means["textrank"] if "textrank" in means else {}
        if "attention" in own and len(own.columns) > 1:
            leads[*key, "attention"] = lead(own, "attention", own.columns.drop("attention"))
    known = published_lead(-_published_fractions().textrank.unstack(), "attention")
    return _mean_row("attention is the best attribution (lead over the best other)", leads, known)


def _salience(drawn, other):
    paper = _published_fractions()
    known = (paper[other] - paper.textrank).mean() if other in paper else np.nan
    claim = f"TextRank needs fewer tokens to a flip than {salience_title(other)}"
    return _mean_row(claim, _gains(drawn, other), known)


def _mean_row(claim, cases, published):
    """The row of a claim about a mean over cases; None where there is none."""
    return cases and row(claim, estimate(mean_of(cases)), by_dataset(cases), published=published)


def _performance(scores, definition):
    gains = _f1_gains(scores[scores.input == "text"], definition)
    paper = papers.published(PAPER, "table_1").pivot(index="dataset", columns="salience", values="value")
    claim = f"same performance: at most {MARGIN:.2f} of macro-F1 lost"
    known = (paper.textrank - paper.none).mean()
    return row_over_seeds(claim, gains, threshold=-MARGIN, published=known)


def _rationales(scores, definition, thresholder):
    """Macro-F1 of classifiers on rationales by attention, on SST and SemEval and what imitates them."""
    own = scores[(scores.input == thresholder) & (scores.attribution == "attention")]
    gains = _f1_gains(own[own.dataset.map(original).isin(HARD)], definition)
    paper = papers.published(PAPER, THRESHOLDERS[thresholder])
    paper = paper.pivot(index="dataset", columns="salience", values="value").loc[list(HARD)]
    claim = f"better {TITLES[thresholder]} rationales on SST and SemEval (macro-F1)"
    return row_over_seeds(claim, gains, published=(paper.textrank - paper.none).mean())


def _f1_gains(scores, definition):
    """{(dataset, model): (seeds,)}: macro-F1 with TextRank less that with no salience, ratios averaged."""
    gains = {}
    for key, part in select_definition(scores, definition).groupby(["dataset", "model"], sort=False):
        wide = part.pivot_table(index="seed", columns="salience", values="value")
        if {"none", "textrank"} <= set(wide):
            gain = (wide.textrank - wide.none).dropna()
            gains |= {key: gain.to_numpy()} if len(gain) else {}
    return gains


def _gains(drawn, other):
    """{(dataset, model, attribution): (1 + resamples,)}: fraction of another salience less TextRank."""
    return {
        (*key, name): (means[other, name] - means["textrank", name]).to_numpy()
        for key, means in drawn.items()
        for salience, name in means
        if salience == "textrank" and (other, name) in means
    }


def _rank_sum(cells, dataset, model, attribution):
    wide = cells[dataset, model]
    return rank_sum(wide["textrank", attribution], wide["none", attribution])


def _published_fractions():
    """Tables 2 and 8: (dataset, attribution) × salience, without random."""
    both = published_flips()
    both = both[both.attribution != RANDOM]
    return both.pivot_table(index=["dataset", "attribution"], columns="salience", values="value")
