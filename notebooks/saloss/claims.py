"""The claims of Chrysostomou & Aletras 2021: what each compares, a number a seed (and text).

Claims are about a way to train, so the trained model is the unit: texts never stand in for seeds. Decision
flips are means over texts that all seeds share (crossed); F1 and leads over the best other attribution are a
number a seed, on this test set. Every definition of the loss has claims of its own, against the same model
trained without salience.
"""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd

from faithlib.scores import RANDOM
from faithlib.statistics import FEWEST_UNITS
from faithlib.tasks.table import TASKS
from notebooks.saloss import tables
from notebooks.saloss.card import CARD, FLIPS, PAPER_GRID
from replication import papers, results
from replication.cases import average
from replication.claims import Claim, gates, intervals, long, multiverse_tables
from replication.records import Case
from replication.tables import metric_rows, select

SHARE = 19 / 20  # of the cases: 4 attributions on 5 data sets
MARGIN = 0.02  # of macro-F1: the most that any data set of Table 1 loses
HARD = {"sst", "semeval"}  # the data sets whose rationales the paper finds better
OTHERS = ("tfidf", "chi2", "uniform")  # TextRank is compared with; uniform is no claim of the paper
TITLES = {"top_k": "top-k", "contiguous": "contiguous"}
FEWEST_DOSES = 3  # weights λ of a dose–response
ROUNDING = 1e-9  # of means: closer ones are equal, and no win
MODEL = ["dataset", "model", "seed", "salience", "definition"]
UNIT = ["dataset", "model", "seed", "example"]
FLIP = ["fraction", "flipped", "correct"]
MAIN = CARD.main_setting()
FLIPPED, CORRECT, MEDIAN, ATTENTION = "those that flip", "correctly predicted", "median", "attention alone"
LOSS, PRINTED = "lowest loss", "the paper's choice"


def claims(
    records: list[dict], values: pd.DataFrame, scale: str, seeds: pd.DataFrame | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Every claim with its verdict, and with the options of each choice that the paper leaves open.

    (claims, choices), as `replication.claims.multiverse_tables`; no random baseline takes part.
    """
    statements_at = partial(statements, records, values)
    return multiverse_tables(statements_at, CARD, scale, gate_of(records), seeds)


def gate_of(records: list[dict]) -> pd.DataFrame:
    """Which data sets take part: the model without salience is above chance (`replication.claims.gates`)."""
    rows = select(metric_rows(records), input="text", split="test", salience="none")
    return gates(rows, "macro_f1")


def statements(records, values, **setting):
    """The claims of each definition of the loss at one setting, [Claim]; no values where none is recorded.

    setting: options that depart from the main one, by `CARD.choices`; None for two that were measured apart.
    """
    setting, design = MAIN | setting, results.design(records)
    trained, weights = (chosen_weights(records, x["weights"], x["weight_chosen_by"]) for x in (MAIN, setting))
    words = {(choice.replace(" ", "_"), option): name for name, (choice, option, _) in FLIPS.items()}
    option, *more = [words[of] for of in setting.items() if of in words] or ["main"]
    if more:  # measured one at a time
        return None
    doses = values[(values.attribution != RANDOM) & (values.option == option)]
    doses = doses.assign(model=doses.model.map(results.slug))
    flips = with_weights(doses, weights, trained)
    scores = tables.test_f1(records)
    unit = scores.unit.isna() | (scores.unit == setting["rationales_of"])
    scores = with_weights(scores[unit], weights, trained)
    stated, claim = [], "TextRank needs fewer tokens to a flip than"
    for definition in values.definition[values.salience != "none"].unique():
        cells = _cells(flips, definition, setting["texts"])
        chosen = cells
        if setting["attributions"] == ATTENTION:
            chosen = {key: wide.loc[:, (slice(None), ["attention"])] for key, wide in cells.items()}
        gain = partial(_gain, chosen, design, setting["over_texts"] == MEDIAN)
        of_definition = [
            *_performance(scores, definition),
            gain("none", "fewer tokens to a flip than the baseline, on average"),
            gain("none", "fewer tokens to a flip than the baseline, on every data set", "everywhere"),
            _share(chosen),
            *(_doses(doses, definition, design) if setting == MAIN else ()),
            _attention(cells),
            *(gain(name, f"{claim} {tables.salience_title(name)}") for name in OTHERS),
            *(_rationales(scores, definition, thresholder) for thresholder in TITLES),
        ]
        for one in of_definition:
            stated.append(replace(one, definition=definition, values=one.values if len(one.values) else {}))
    return stated


def chosen_weights(records, grid, by):
    """The weight λ of TextRank that a setting chooses: a Series by (data set, model, seed, definition).

    grid, by: options of the choices "weights" and "weight chosen by". NaN where the paper's choice was not
    tried.
    """
    table = select(tables.development(records), salience="textrank")
    if by == PRINTED:
        paper = papers.published(tables.PAPER, "table_1")
        printed = select(paper, salience="textrank").set_index("dataset").weight
        table = table[table.weight == table.dataset.map(printed)]
        return table.set_index(MODEL).weight.droplevel("salience")
    if grid != MAIN["weights"]:
        table = table[table.weight.isin(PAPER_GRID)]
    best = table.sort_values("loss" if by == LOSS else "flip_fraction", kind="stable").drop_duplicates(MODEL)
    return best.set_index(MODEL).weight.droplevel("salience")


def with_weights(rows, weights, trained):
    """The rows of models with the weights of `chosen_weights`.

    trained: the weights of the main setting, with which alone other saliences and rationales are trained:
    they are left out where any seed has another weight.
    """
    keys = list(weights.index.names)
    at = pd.MultiIndex.from_frame(rows[keys])
    group = [name for name in keys if name != "seed"]
    same = weights.eq(trained.reindex(weights.index)).groupby(group).transform("all")
    same = same.reindex(at).eq(True).to_numpy()
    only_main = ~rows.salience.isin(["none", "textrank"])
    if "input" in rows:
        only_main |= rows.input != "text"
    wanted = rows.weight.to_numpy() == weights.reindex(at).to_numpy()
    return rows[(rows.salience == "none") | (wanted & (same | ~only_main.to_numpy()))]


# Decision flips -----------------------------------------------------------------------------------


def _cells(flips, definition, texts):
    """{(dataset, model): DataFrame (seed, example) × (salience, attribution)} of fractions.

    Of the model without salience, the seeds that have others. texts: "all", or which ones to keep, those that
    flip or are predicted correctly; NaN is in place of others, so that pairs of models keep what both have.
    """
    by_case = {}
    for key, part in flips.groupby(["dataset", "model"], sort=False):
        trained = part[(part.salience != "none") & (part.definition == definition)]
        if trained.empty:
            continue
        part = pd.concat([trained, part[(part.salience == "none") & part.seed.isin(trained.seed)]])
        wide = part.pivot(index=["seed", "example"], columns=["salience", "attribution"], values=FLIP)
        table = wide["fraction"].astype(float).dropna()
        if column := {FLIPPED: "flipped", CORRECT: "correct"}.get(texts):
            table = table.where(wide[column].loc[table.index].astype(bool))
        if len(table):
            by_case[key] = table
    return by_case


def _gains(cells, other):
    """{(dataset, model): DataFrame (seed, example) × attribution}: another's fraction less TextRank's."""
    gains = {}
    for key, wide in cells.items():
        if {other, "textrank"} <= set(wide.columns.unique(0)):
            gain = (wide[other] - wide["textrank"]).dropna(axis=1, how="all")
            gains |= {key: gain} if gain.shape[1] else {}
    return gains


def _gain(cells, design, median, other, claim, quantifier="on average"):
    """The claim that TextRank's model needs fewer tokens than another, averaged over attributions.

    With fewer than three seeds, medians, or texts that differ between seeds, it is a number a seed: texts do
    not stand in for seeds.
    """
    gains = _gains(cells, other)
    values = {key: gain.mean(axis=1) for key, gain in gains.items()}
    crossed = any(value.index.unique("seed").size >= FEWEST_UNITS for value in values.values())
    crossed &= not median and all(gain.notna().all(axis=None) for gain in gains.values())
    if median:
        values = {key: _median(cells[key], other) - _median(cells[key], "textrank") for key in values}
    elif not crossed:
        values = {key: gain.groupby(level="seed").mean().mean(axis=1) for key, gain in gains.items()}
    published = {}
    if other in _published_fractions():
        published = _published(gains, lambda of: (of[other] - of.textrank).mean())
    about = {"quantifier": quantifier, "published": published, "limits": (-1, 1)}
    return Claim(claim, long(values), design if crossed else "seeds", **about)


def _median(wide, salience):
    """The median over texts of the fraction with one salience, averaged over attributions, of each seed."""
    return wide[[salience]].mean(axis=1).groupby(level="seed").median()


def _share(cells):
    """The share of attributions with which TextRank's model needs fewer tokens: a number a data set and seed.

    The paper's 19 of 20 cases differ significantly; its share of any difference is compared.
    """
    gains = _gains(cells, "none")
    means = {key: gain.groupby(level="seed").mean() for key, gain in gains.items()}
    shares = long({key: (mean > ROUNDING).mean(axis=1) for key, mean in means.items()})
    published = _published(gains, lambda of: (of.none - of.textrank > ROUNDING).mean())
    claim = "fewer tokens to a flip in 19 of 20 cases (share of those that are here)"
    return Claim(claim, shares, "seeds", ">=", SHARE, published=published, limits=(0, 1))


def _doses(flips, definition, design):
    """Whether more of the loss means fewer tokens: the slope on lg λ, and the gain at each λ, a case each."""
    slopes, gains = {}, {}
    for key, part in tables.select_definition(flips, definition).groupby(["dataset", "model"], sort=False):
        part = part[part.salience.isin(["none", "textrank"])]
        means = part.groupby([*UNIT[2:], "weight"], sort=False).fraction.mean().unstack("weight")
        gain = (means[[0.0]].to_numpy() - means.drop(columns=0.0)).dropna() if 0.0 in means else means[:0]
        if gain.shape[1] < FEWEST_DOSES:
            continue
        x = np.log10(gain.columns.to_numpy(float))
        slopes[key] = gain @ ((x - x.mean()) / ((x - x.mean()) ** 2).sum())
        for weight in gain:
            gains.setdefault(weight, {})[key] = gain[weight]
    claim = "the larger the weight λ, the fewer tokens to a flip{}"
    yield Claim(claim.format(" (gain for ten times λ)"), long(slopes), design)
    cases = {}
    for weight in sorted(gains):
        each = intervals(Claim(f"gain at {weight:g}", long(gains[weight]), design))
        over_seeds = {name: case for name, case in each.items() if case.exists and case.unit == "seed"}
        if over_seeds:
            cases[Case(part=f"λ = {weight:g}")] = average(over_seeds)
    yield Claim("fewer tokens to a flip than the baseline at some weight λ", cases, quantifier="somewhere")


def _attention(cells):
    """By how much attention needs fewer tokens than the best other attribution of TextRank's model."""
    means, leads, rivals = {}, {}, {}
    for key, wide in cells.items():
        if ("textrank", "attention") in wide and wide["textrank"].shape[1] > 1:
            mean = wide["textrank"].dropna().groupby(level="seed").mean()  # of the same texts
            others = mean.drop(columns="attention")
            means[key], leads[key] = mean, others.min(axis=1) - mean.attention
            for other in others:
                rivals.setdefault(other, {})[key] = mean[other] - mean.attention

    def lead(paper):
        of = paper.textrank.droplevel("dataset")
        return of.drop("attention").min() - of["attention"]

    published = _published(means, lead)
    claim = "attention is the best attribution (lead over the best other)"
    rivals = {other: long(lead) for other, lead in rivals.items()}
    return Claim(claim, long(leads), "seeds", published=published, rivals=rivals)


@cache
def _published_fractions():
    """Tables 2 and 8: (dataset, attribution) × salience, without random."""
    both = tables.published_flips()
    both = both[both.attribution != RANDOM]
    return both.pivot_table(index=["dataset", "attribution"], columns="salience", values="value")


def _published(ours, statistic):
    """{data set: a statistic of the published fractions}, where all attributions of ours are printed."""
    printed, by_dataset = _published_fractions(), {}
    for (dataset, _), wide in ours.items():
        cases = [(dataset, name) for name in wide]
        if all(case in printed.index for case in cases):
            by_dataset[dataset] = float(statistic(printed.loc[cases]))
    return by_dataset


# F1 -----------------------------------------------------------------------------------------------


def _performance(scores, definition):
    gains = _f1_gains(select(scores, input="text"), definition)
    published = _published_gain("table_1")
    for quantifier, words in (("on average", "on average"), ("everywhere", "on every data set")):
        claim = f"same performance {words}: at most {MARGIN:.2f} of macro-F1 lost"
        about = {"quantifier": quantifier, "published": published}
        yield Claim(claim, gains, "seeds", threshold=-MARGIN, **about)


def _rationales(scores, definition, thresholder):
    """Macro-F1 of classifiers on rationales by attention, on SST and SemEval and what imitates them."""
    rows = select(scores, input=thresholder, attribution="attention")
    hard = [name for name, task in TASKS.items() if {name, task.imitates} & HARD]
    gains = _f1_gains(rows[rows.dataset.isin(hard)], definition)
    claim = f"better {TITLES[thresholder]} rationales on SST and SemEval (macro-F1)"
    return Claim(claim, gains, "seeds", published=_published_gain(tables.THRESHOLDERS[thresholder]))


def _f1_gains(scores, definition):
    """Macro-F1 with TextRank less that with no salience, ratios averaged: a row a model and seed."""
    gains = {}
    for key, part in tables.select_definition(scores, definition).groupby(["dataset", "model"], sort=False):
        wide = part.pivot_table(index="seed", columns="salience", values="value")
        if {"none", "textrank"} <= set(wide):
            gains[key] = (wide.textrank - wide.none).dropna()
    return long(gains)


@cache
def _published_gain(table):
    """{data set: published value with TextRank less that with no salience}."""
    wide = papers.published(tables.PAPER, table).pivot(index="dataset", columns="salience", values="value")
    return (wide.textrank - wide.none).dropna().to_dict()
