"""The claims of Ghasemi Madani et al. 2025, each a statistic of one model with an interval and a verdict.

The model is fixed: texts are the unit, and a verdict reads "holds for <model>". Prompts of one fact of a
generated world are one observation; where every seed has its own world, three seeds or more are the unit. A
log ratio is a function of means, whose error is that of its linear part (the delta method). That something is
best is its lead over the best other, by the estimates: too small a lead where several others are equal, so
"holds" is cautious, and "does not hold" says that it is behind that one other.

The paper compares with "the random baseline" and does not say which: "random" are scores of U[0, 1), as here,
for which scale and ranking count; "matched" are a method's own scores in random order, which leaves ranking.
Which scores become probabilities, and how, decides the verdicts: see `CARD.choices`.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from faithlib import papers
from faithlib.papers.noiser.card import CARD
from faithlib.papers.noiser.tables import PAPER, TOPS, task_columns
from faithlib.report.claims import Claim, multiverse_tables
from faithlib.report.tables import select
from faithlib.scores import RANDOM
from faithlib.tasks.table import TASKS

LEAST = 1e-6  # a mean of 0 counts as this: its logarithm would be −∞
BASELINES = ("random", "matched")
BEST = (("score", "noiser", "Noiser"), ("rate", "leave_one_out", "occlusion"))  # who leads, by the paper
NOISER = ("noiser", "k_min")
CONCERNED = {  # words of the claims that an option may change
    "normalisation": ("most faithful", "best bounding"),
    "clip": ("most faithful", "best bounding"),
    "baseline_of_integrated_gradients": ("most faithful", "highest", "best other does"),
}
CASE = ["task", "model", "seed"]
VALUES = ["dataset", "model", "seed", "example", "value"]


def claims(values, answers=(), parts=(), evidence=(), facts=None, scale="small"):
    """claims.csv and choices.csv: faithfulness, answerability, the distractor and the evidence.

    Args:
        values: of soft metrics, from `results.load`.
        answers, parts, evidence: from `results.load_tables`, with the columns of `metrics.answerability`,
            `metrics.parts` and `metrics.plausibility`.
        facts: from `tables.facts`: which prompts are one observation; None: each is its own.
        scale: "quick", "small" or "paper"; at quick there are numbers and no verdicts.

    Returns:
        (claims, choices): DataFrames as `report.claims.multiverse_tables` returns them. A claim without
        anything to compare has no row.
    """
    return multiverse_tables(
        partial(statements, values, answers, parts, evidence, facts), CARD.choices, scale
    )


def statements(
    values,
    answers=(),
    parts=(),
    evidence=(),
    facts=None,
    scores="as printed",
    random_baseline="uniform",
    prompts_of_a_fact="averaged",
    **others,
):
    """The claims, each a statistic that is larger the more it supports the sentence.

    Args:
        values, answers, parts, evidence, facts: as `claims` takes them.
        scores, random_baseline, prompts_of_a_fact: options of `CARD.choices`. The first two are options of
            the claims by the paper's definition against random scores.
        others: further options, which no record has: claims that they concern come without values.

    Returns:
        List of `report.claims.Claim`.
    """
    facts = facts if prompts_of_a_fact == "averaged" else None
    values, changed = task_columns(values), random_baseline != "uniform"
    definition = {"as printed": "paper", "as released": "released"}[scores]
    if definition != "paper" or changed:
        values = values[values.definition == definition].assign(definition="paper")
    result = []
    for name, part in values.groupby("definition", sort=False):
        cells = _units(part, ["attribution", "bounding", "baseline"], ["soft_ns", "soft_nc"], facts)
        for baseline in BASELINES[:1] if changed or definition != "paper" else BASELINES:
            ratios = _log_ratios(cells, "matched" if changed else baseline)
            more = {"definition": name, "baseline": baseline}
            result += [*_most_faithful(ratios, more), *_best_bounding(ratios, more)]
    if definition == "paper" and not changed:
        for table, claims_of in ((answers, _answerability), (parts, _distractor), (evidence, _evidence)):
            if len(table):
                result += claims_of(task_columns(table), facts)
    result = [claim for claim in result if len(claim.values)]
    for choice in others:
        result = [replace(c, values={}) for c in result if any(word in c.claim for word in CONCERNED[choice])]
    return result


# Units --------------------------------------------------------------------------------------------


def _units(table, columns, value, facts=None, more=()):
    """{(task, model, seed): DataFrame units × cells}, of the prompts that have a value in every cell.

    A unit is a fact, or a prompt that has none: steps and draws of a prompt, then prompts of a fact, are
    averaged. A task that is not generated has one model: its seeds, other random draws, are averaged first.
    """
    found = {}
    fixed = [task not in TASKS or not TASKS[task].generated for task in table.task]
    table = table.assign(seed=table.seed.mask(fixed, 0))
    for key, part in table.groupby([*CASE[:2], *more, "seed"], sort=False):
        wide = part.pivot_table(index="example", columns=columns, values=value).dropna()
        task, seed = key[0], key[-1]
        own = pd.Series(dtype=object)
        if facts is not None:
            own = select(facts, task=task, seed=seed).drop_duplicates("example").set_index("example").fact
        if len(own) and len(wide):
            wide = wide.groupby(own.reindex(wide.index).fillna(wide.index.to_series().astype(str))).mean()
        if len(wide):
            found[(task, ", judge ".join(map(str, key[1:-1])), seed)] = wide
    return found


def _log_ratios(cells, baseline):
    """{case: DataFrame units × (attribution, bounding)}, whose means are log ratios.

    ln m is replaced by ln m + (x - m) / m, m the mean over units: its mean is ln m, its spread that of ln m.
    """
    found = {}
    for case, frame in cells.items():
        means = frame.mean().clip(lower=LEAST)
        logs = np.log(means) + (frame - frame.mean()) / means
        both, ratios = logs["soft_ns"] + logs["soft_nc"], {}
        for attribution, bounding, kind in both:
            random = (attribution, bounding) if baseline == "matched" else (RANDOM, "")
            if kind == "" and (*random, baseline) in both:
                ratios[attribution, bounding] = both[attribution, bounding, ""] - both[(*random, baseline)]
        found[case] = pd.DataFrame(ratios)
    return found


def _leads(units, best, is_other):
    """{case: units}: lead of the column `best` over the best other of its task and model."""
    means = {}
    for case, frame in units.items():
        others = [column for column in frame if column != best and is_other(column)]
        if best in frame and others:
            means.setdefault(case[:2], []).append(frame[others].mean())
    best_other = {
        pair: pd.concat(of, axis=1).mean(axis=1, skipna=False).idxmax() for pair, of in means.items()
    }
    return {
        case: frame[best] - frame[best_other[case[:2]]]
        for case, frame in units.items()
        if case[:2] in best_other
    }


def _claim(claim, cases, published=None, **more):
    """A claim about one value a unit; cases: {(task, model, seed): Series of units}."""
    rows = [
        pd.DataFrame({"dataset": t, "model": m, "seed": s, "example": x.index.astype(str), "value": x.array})
        for (t, m, s), x in cases.items()
    ]
    values = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=VALUES)
    return Claim(claim, values, "nested", published=published or {}, **more)


# Faithfulness -------------------------------------------------------------------------------------


def _most_faithful(ratios, more):
    leads = _leads(ratios, NOISER, lambda pair: pair[0] != NOISER[0])
    known = _published_lead("noiser", ["dataset", "model"], "attribution", "table_1")
    known = known if more["baseline"] == RANDOM else {}
    return [
        _claim("Noiser is the most faithful (lead over the best other, log ratio)", leads, known, **more),
        _claim("Noiser is the most faithful everywhere", leads, known, quantifier="everywhere", **more),
    ]


def _best_bounding(ratios, more):
    leads = _leads(ratios, NOISER, lambda pair: pair[0] == NOISER[0])
    known = _published_lead("k_min", "model", "bounding", "table_2") if more["baseline"] == RANDOM else {}
    claim = "k_min is the best bounding (lead over the best other, log ratio)"
    return [_claim(claim, leads, known, **more)]


# Answerability, distractor, evidence --------------------------------------------------------------


def _answerability(answers, facts):
    """Who leads in score (over all prompts, as the paper prints it) and in rate, and is the ranking why?"""
    result, more = [], ["judge"] if answers.judge.nunique() > 1 else []
    for top, published in TOPS.items():
        right = answers.place.between(1, top).astype(float)
        table = answers.assign(rate=right, score=right * answers.mass)
        for metric, best, name in BEST:
            units = _units(table, ["attribution", "baseline"], metric, facts, more)
            known = _published_lead(best, "model", "attribution", published, metric=metric)
            leads = _leads(units, (best, ""), _other(best))
            claim = f"{name} has the highest answerability {metric} (top {top}, lead over the next)"
            result.append(_claim(claim, leads, known))
            gains = {
                case: frame[best, ""] - frame[best, "matched"]
                for case, frame in units.items()
                if {(best, ""), (best, "matched")} <= set(frame)
            }
            claim = f"{name}: answerability {metric} above its scores in random order (top {top})"
            result.append(_claim(claim, gains, baseline="matched"))
    return result


def _distractor(parts, facts):
    """Noiser's share on the distractor: below the share of its tokens, and below the least other's."""
    table = parts[parts.part == "distractor"]
    table = table.assign(spared=table.chance - table.share, little=-table.share)
    columns = ["attribution", "baseline"]
    spared = _units(table, columns, "spared", facts)
    below = {case: frame["noiser", ""] for case, frame in spared.items() if ("noiser", "") in frame}
    leads = _leads(_units(table, columns, "little", facts), ("noiser", ""), _other("noiser"))
    claim = "Noiser ignores the distractor (its share of tokens less its share of scores)"
    least = "Noiser gives the distractor less than the best other does"
    return [_claim(claim, below, baseline="matched"), _claim(least, leads)]


def _evidence(evidence, facts):
    own = evidence[(evidence.metric == "auprc") & (evidence.attribution == "noiser")].dropna(subset="value")
    units = _units(own.assign(gain=own.value - own.chance), ["attribution"], "gain", facts)
    gains = {case: frame["noiser"] for case, frame in units.items()}
    return [_claim("Noiser finds the known evidence (AUPRC above a random order)", gains, baseline="matched")]


def _other(best):
    """Whether a column (attribution, baseline) is of another attribution, random scores aside."""
    return lambda column: column[0] not in (best, RANDOM) and column[1] == ""


def _published_lead(best, index, columns, table, **given):
    """{data set: published lead of one column over the best other, mean over the paper's models}.

    Cells that the paper copied from another model are left out. Tables without a data set are of Knowns.
    """
    frame = select(papers.published(PAPER, table), **given).query("model != 'average'")
    frame = frame[~frame.copied] if "copied" in frame else frame
    wide = frame.pivot(index=index, columns=columns, values="value")
    leads = wide[best] - wide.drop(columns=best).max(axis=1)
    return (
        leads.groupby("dataset").mean().to_dict()
        if "dataset" in wide.index.names
        else {"knowns": leads.mean()}
    )
