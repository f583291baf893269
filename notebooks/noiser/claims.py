"""The claims of Ghasemi Madani et al. 2025, each a statistic with an interval and a verdict.

Models trained on generated worlds and each published model have claims of their own. Where every seed has its
own world, three seeds or more are the unit; of a published model texts are, and a verdict reads "holds for
<model>". Prompts of one fact are one observation. A log ratio is a function of means, whose error is that of
its linear part (the delta method). That something is best is its lead over the best other, by the estimates:
too small a lead where several others are equal, so "holds" is cautious, and "does not hold" needs one other
that is ahead after Holm over all of them.

The paper compares with "the random baseline" and does not say which: "random" are scores of U[0, 1), as here,
for which scale and ranking count; "matched" are a method's own scores in random order, which leaves ranking.
Which scores become probabilities, and how, decides the verdicts: see `CARD.choices`.
"""

from dataclasses import replace
from functools import cache, partial

import pandas as pd

from faithlib.scores import RANDOM
from faithlib.tasks.table import generated
from notebooks.noiser.card import CARD
from notebooks.noiser.ratios import BASELINES, MAIN, NOISER, leads, log_ratios, long, soft_units, units
from notebooks.noiser.tables import PAPER, PRINTED_AS, TOPS, task_columns, with_facts
from replication import papers
from replication.claims import Claim, multiverse_tables
from replication.tables import select

SETTING = CARD.main_setting()
BEST = (("score", "noiser", "Noiser"), ("rate", "leave_one_out", "occlusion"))  # who leads, by the paper


def claims(
    values: pd.DataFrame,
    answers: pd.DataFrame | tuple = (),
    parts: pd.DataFrame | tuple = (),
    evidence: pd.DataFrame | tuple = (),
    scale: str = "small",
    seeds: pd.DataFrame | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """claims.csv and choices.csv: faithfulness, answerability, the distractor and the evidence.

    Args:
        values: of soft metrics, from `results.load`.
        answers, parts, evidence: from `results.load_tables`, with the columns of `metrics.answerability`,
            `metrics.parts` and `metrics.plausibility`.
        scale: without verdicts where it is none of `VERDICT_SCALES`.

    Returns:
        (claims, choices), as `replication.claims.multiverse_tables`. A claim without anything to compare has
        no row.
    """
    others = [task_columns(with_facts(t, values)) if len(t) else t for t in (answers, parts, evidence)]
    further = cache(partial(_further, *others))
    state = partial(statements, task_columns(values), further)
    return multiverse_tables(state, CARD, scale, seeds=seeds)


def statements(values, further, **setting):
    """The claims at one setting, [Claim].

    Scores and the random baseline are options of the claims by the paper's definition against random scores.
    Released scores have the sum 1: there "sum 1, signed" is what "none" is.

    Args:
        values: with the columns of `tables.task_columns`, and `fact`.
        further: function of "fact" or "example", of the claims that are not about soft metrics.
        setting: options that depart from the main one, by `CARD.choices`.
    """
    setting = SETTING | setting
    by = "fact" if setting["prompts_of_a_fact"] == "averaged" else "example"
    ns = "soft_ns" if setting["clip"] == "each draw" else "soft_ns_of_mean"
    unused = "zero" if setting["baseline_of_integrated_gradients"] == "token" else "token"
    values = values[(values.attribution != "integrated_gradients") | (values.setting != unused)]
    values = values.assign(setting=values.setting.mask(values.setting == "token", "zero"))
    released, changed = setting["scores"] == "as released", setting["random_baseline"] != "uniform"
    values = values[values.normalisation == setting["normalisation"]]
    if released or changed:
        values = values[values.definition == ("released" if released else "paper")].assign(definition="paper")
    result = []
    for name, part in values.groupby("definition", sort=False):
        methods = soft_units(part[part.setting.isin(MAIN)], by, ns)
        boundings = soft_units(part[part.attribution.isin(["noiser", RANDOM])], by, ns)
        for baseline in BASELINES[:1] if released or changed else BASELINES:
            of, more = "matched" if changed else baseline, {"definition": name, "baseline": baseline}
            result += _most_faithful(log_ratios(methods, of), more)
            result += _best_bounding(log_ratios(boundings, of), more)
    if not released and not changed:
        result += further(by)
    return [one for claim in result for one in _by_model(claim) if len(one.values)]


def _further(answers, parts, evidence, by):
    """The claims about answerability, the distractor and the evidence."""
    tables = (answers, _answerability), (parts, _distractor), (evidence, _evidence)
    return [claim for table, claims_of in tables if len(table) for claim in claims_of(table, by)]


def _by_model(claim):
    """The claim for models of generated worlds together, and for each published model by its name.

    The name is there also where no other model is, so that a further data set leaves the random stream alone.
    """
    values = claim.values
    kind = values.model.mask(generated(values.dataset), "")
    named = {model: f"{claim.claim}, {model}" if model else claim.claim for model in kind.unique()}
    claims = []
    for model, part in values.groupby(kind, sort=False):
        changes = {"claim": named[model], "values": part, "rivals": _of(claim.rivals, part)}
        claims.append(replace(claim, instance_of=claim.claim, **changes))
    return claims


def _of(rivals, part):
    """The leads over each rival on the tasks and models of a part."""
    cases = set(part.dataset + part.model)
    kept = {name: rows[(rows.dataset + rows.model).isin(cases)] for name, rows in rivals.items()}
    return {name: rows.reset_index(drop=True) for name, rows in kept.items() if len(rows)}


def _claim(claim, cases, published=None, **more):
    """A claim about one value a unit; cases: {(task, model, seed): Series of units}."""
    return Claim(claim, long(cases), "nested", published=published or {}, **more)


def _lead(claim, cases, best, is_other, published=None, **more):
    """The claim that a column leads the best other; arguments as `leads`."""
    over_best, each = leads(cases, best, is_other)
    rivals = {", ".join(filter(None, other)): long(lead) for other, lead in each.items()}
    return _claim(claim, over_best, published, rivals=rivals, **more)


# Faithfulness -------------------------------------------------------------------------------------


def _most_faithful(ratios, more):
    printed = _published_lead("noiser", ["dataset", "model"], "attribution", "table_1")
    printed = printed if more["baseline"] == RANDOM else {}
    claim = "Noiser is the most faithful (lead over the best other, log ratio)"
    lead = _lead(claim, ratios, NOISER, lambda pair: pair[0] != NOISER[0], printed, **more)
    return [lead, replace(lead, claim="Noiser is the most faithful everywhere", quantifier="everywhere")]


def _best_bounding(ratios, more):
    printed = _published_lead("k_min", "model", "bounding", "table_2") if more["baseline"] == RANDOM else {}
    claim = "k_min is the best bounding (lead over the best other, log ratio)"
    return [_lead(claim, ratios, NOISER, lambda pair: True, printed, **more)]


# Answerability, distractor, evidence --------------------------------------------------------------


def _answerability(answers, by):
    """Who leads in score (over all prompts, as the paper prints it) and in rate, and is the ranking why?"""
    more = ["judge"] if answers.judge.nunique() > 1 else []
    for top, published in TOPS.items():
        right = answers.place.between(1, top).astype(float)
        table = answers.assign(rate=right, score=right * answers.mass)
        for metric, best, name in BEST:
            cells = units(table, ["attribution", "baseline"], metric, by, more)
            printed = _published_lead(best, "model", "attribution", published, metric=metric)
            claim = f"{name} has the highest answerability {metric} (top {top}, lead over the next)"
            yield _lead(claim, cells, (best, ""), _other(best), printed)
            gains = {
                case: frame[best, ""] - frame[best, "matched"]
                for case, frame in cells.items()
                if {(best, ""), (best, "matched")} <= set(frame)
            }
            claim = f"{name}: answerability {metric} above its scores in random order (top {top})"
            yield _claim(claim, gains, baseline="matched")


def _distractor(parts, by):
    """Noiser's share on the distractor: below the share of its tokens, and below the least other's."""
    table = parts[parts.part == "distractor"]
    table = table.assign(spared=table.chance - table.share, little=-table.share)
    columns = ["attribution", "baseline"]
    spared = units(table, columns, "spared", by)
    below = {case: frame["noiser", ""] for case, frame in spared.items() if ("noiser", "") in frame}
    little = units(table, columns, "little", by)
    claim = "Noiser ignores the distractor (its share of tokens less its share of scores)"
    least = "Noiser gives the distractor less than the best other does"
    return [_claim(claim, below, baseline="matched"), _lead(least, little, ("noiser", ""), _other("noiser"))]


def _evidence(evidence, by):
    rows = evidence[(evidence.metric == "auprc") & (evidence.attribution == "noiser")].dropna(subset="value")
    cells = units(rows.assign(gain=rows.value - rows.chance), ["attribution"], "gain", by)
    gains = {case: frame["noiser"] for case, frame in cells.items()}
    return [_claim("Noiser finds the known evidence (AUPRC above a random order)", gains, baseline="matched")]


def _other(best):
    """Whether a column (attribution, baseline) is of another attribution, random scores aside."""
    return lambda column: column[0] not in (best, RANDOM) and column[1] == ""


def _published_lead(best, index, columns, table, **which):
    """{data set: published lead of one column over the best other, mean over the paper's models}.

    Cells that the paper copied from another model are left out. Tables without a data set are of Knowns.
    """
    frame = select(papers.published(PAPER, table), **which).query("model != 'average'")
    frame = frame[~frame.copied] if "copied" in frame else frame
    wide = frame.pivot(index=index, columns=columns, values="value")
    leads = wide[best] - wide.drop(columns=best).max(axis=1, skipna=False)  # copied cells: no lead
    if "dataset" not in wide.index.names:
        return {"knowns": leads.mean()}
    printed = leads.groupby("dataset").mean().to_dict()
    return printed | {ours: printed[name] for ours, name in PRINTED_AS.items() if name in printed}
