"""From a claim to a row of claims.csv: its interval, its verdict, its published value.

A paper states each claim as a `Claim`: a sentence, one value a seed (and text) that is larger the more it
supports the sentence, a relation to a threshold, the data sets that it is about (`on average`, `somewhere`,
`everywhere`) and the same statistic of the published cells. `multiverse_tables` does the rest:

1. data sets × models that fail the gate are left out (`gates`);
2. every data set gets the interval of its design (`intervals`);
3. the verdict (`replication.cases`), only at the scales of `records.VERDICT_SCALES`;
4. the published statistic, of exactly the data sets that ours has, never beside generated corpora;
5. over the options of the choices that the paper leaves open (`replication.multiverse`).
"""

import math
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pandas as pd

from faithlib.scores import one_of
from faithlib.statistics import interval_from_table
from faithlib.statistics.gates import gate_table
from faithlib.tasks.table import TASKS, generated
from replication import verdicts
from replication.cases import behind, everywhere, on_average, somewhere
from replication.multiverse import CHOICES, COUNTS, combinations, multiverse
from replication.records import VERDICT_SCALES, Case, by_case, slug

CLAIMS = ["claim", "model", "definition", "baseline", "headline", *verdicts.ROW, *COUNTS, "at_least_half",
          "within_margin", "looks", "to_come", "device", "published", "published_cases"]  # fmt: skip
WITHOUT_INTERVAL = "all data sets, no interval"  # behind a claim whose second row has them all
UNGATED = ("data sets", "those below the gate as well")  # (choice, option) of `multiverse_tables`
UNSAID = ("verdict", "reason", "depends_on", "not_shown_with", "shown_on", "failing_cases", "device")
VALUES = ["dataset", "model", "seed", "value"]  # columns of a claim's values
QUANTIFIERS = {"on average": on_average, "somewhere": somewhere, "everywhere": everywhere}


@dataclass(frozen=True)
class Claim:
    """A sentence, its statistic and what the statistic is to satisfy.

    Attributes:
        claim: the sentence.
        values: DataFrame with columns dataset, model, seed, value, one row a seed, or with `example` as well,
            one row a seed and text; `value` is larger the more it supports the sentence. Or {Case: Interval},
            for statistics that are no mean (shares of tests).
        design: "seeds" (one value a seed), "crossed" (all seeds have the same texts) or "nested"; a table
            with one seed and texts has the interval over its texts, labelled with the model.
        relation: ">", ">=", "<" or "<=".
        threshold: what the statistic is compared with.
        quantifier: one of QUANTIFIERS, over the data sets.
        published: {data set: the same statistic of the published cells}.
        definition: "paper" or "released".
        baseline: random baseline that takes part, "none" where there is none.
        limits: range of the statistic.
        tested: whether it has a verdict; a ratio has none, as its numerator is tested.
        instance_of: the sentence of which this is the claim for one model; "" where it is that itself.
        rivals: where the statistic is the lead over the best of several others, {other: values of the lead
            over that one}; see `cases.behind`.

    >>> values = pd.DataFrame({"seed": [0, 1, 2], "value": [0.1, 0.2, 0.3]})
    >>> claim = Claim("A above B", values.assign(dataset="sst", model="bert"), "seeds")
    >>> judged(claim)[0].word
    'undecided'
    """

    claim: str
    values: pd.DataFrame | dict
    design: str = "crossed"
    relation: str = ">"
    threshold: float = 0.0
    quantifier: str = "on average"
    published: dict = field(default_factory=dict)
    definition: str = "paper"
    baseline: str = "none"
    limits: tuple[float, float] = (-math.inf, math.inf)
    tested: bool = True
    instance_of: str = ""
    rivals: dict = field(default_factory=dict)

    def __post_init__(self):
        one_of(f"claim {self.claim!r}: quantifier", self.quantifier, QUANTIFIERS)
        wanted = {*VALUES} | ({"example"} if self.design != "seeds" else set())
        if not isinstance(self.values, dict) and (missing := ", ".join(sorted(wanted - {*self.values}))):
            raise ValueError(f"the values of claim {self.claim!r} have no column {missing}")

    @property
    def key(self):
        """What tells its row from others: (claim, definition, baseline)."""
        return self.claim, self.definition, self.baseline


def long(by_case):
    """The values that a `Claim` takes, of {(data set, model): Series by seed, or by seed and example}.

    >>> long({("sst", "bert"): pd.Series([0.1, 0.2], pd.RangeIndex(2, name="seed"))})
      dataset model  seed  value
    0     sst  bert     0    0.1
    1     sst  bert     1    0.2
    """
    if not by_case:
        return pd.DataFrame(columns=[*VALUES, "example"])
    return pd.concat(by_case, names=["dataset", "model"]).reset_index(name="value")


# Intervals ----------------------------------------------------------------------------------------


def intervals(claim, seeds=None):
    """The interval of every data set of a claim, by its design.

    Args:
        claim: a Claim.
        seeds: from `records.by_case`: how often each case was looked at, as `_units` finds it there.

    Returns:
        {Case: Interval}, a case a data set and model. The random stream is named by data set, model and
        claim: another data set does not move it. Values that are NaN are left out; a crossed design keeps the
        texts that all seeds have.
    """
    by_case = claim.values
    if not isinstance(by_case, dict):
        by_case, values = {}, claim.values[claim.values.value.notna()].rename(columns={"example": "text"})
        for (dataset, model), part in values.groupby(["dataset", "model"], sort=False, observed=True):
            case = Case(dataset, slug(model))
            stream = (dataset, case.model, *claim.key)
            by_case[case] = interval_from_table(part, claim.design, stream, limits=claim.limits)
    looks = {case: [row.looks for row in _units(case, seeds or {})] for case in by_case}
    return {case: replace(interval, looks=max(looks[case], default=1)) for case, interval in by_case.items()}


def _units(case, seeds):
    """The rows of `seeds` that a Case is made of: its own, else all that it names a part of."""
    model = case.model.partition(",")[0]  # ", judge <another>" may follow
    if (own := Case(case.dataset, model, case.variant)) in seeds:
        return [seeds[own]]
    return [row for of, row in seeds.items() if all(a in ("", b) for a, b in zip(own, of, strict=True))]


def linearised(cells, statistic, gradient):
    """One value a text, whose mean is a smooth function of means and whose spread is that function's error.

    θ + ∇θ · (x_i - x̄), the delta method (Efron & Tibshirani 1993, section 21): a statistic such as a standard
    deviation over attributions of mean values then has the interval of a mean.

    Args:
        cells: (texts, cells) array or DataFrame.
        statistic, gradient: functions of the means (cells,) that return a number and (cells,).

    Returns:
        (texts,) array with the mean `statistic(means)`.

    >>> linearised([[0.0, 1.0], [1.0, 3.0]], lambda m: m[1] - m[0], lambda m: np.array([-1.0, 1.0])).tolist()
    [1.0, 2.0]
    """
    x = np.asarray(cells, dtype=float)
    means = x.mean(axis=0)
    return statistic(means) + (x - means) @ gradient(means)


# Gates --------------------------------------------------------------------------------------------


def gates(scores, metric="macro_f1"):
    """Which data sets × models take part in claims: those above chance (`statistics.gates`).

    Args:
        scores: rows of test metrics of the models as explained: dataset, model, seed, metric, value. A record
            without `balanced_accuracy` has macro-F1 in its place, or `metric`.
        metric: the data set's score: "macro_f1", "mcc" (chance is 0) or "balanced_accuracy".

    Returns:
        DataFrame as `statistics.gates.gate_table`; a data set whose number of classes is unknown takes part
        and has no row.
    """
    keys = ["dataset", "model", "seed"]
    measured = list(dict.fromkeys(["balanced_accuracy", "macro_f1", metric]))
    wide = scores.pivot_table("value", keys, "metric", sort=False).reindex(columns=measured).reset_index()
    wide["classes"] = [len(TASKS[name].labels) if name in TASKS else 0 for name in wide.dataset]
    wide = wide[(wide.classes > 1) & wide[metric].notna()]
    chance = 0.0 if metric == "mcc" else 1 / wide.classes
    balanced = wide[measured].bfill(axis=1).iloc[:, 0]
    wide = wide.assign(score=wide[metric], balanced_accuracy=balanced, chance=chance)
    return gate_table(wide[[*keys, "score", "balanced_accuracy", "classes", "chance"]])


def accepted(values, gate):
    """The rows of `values`, with columns dataset and model, that pass the gate, from `gates` or None.

    >>> values = pd.DataFrame({"dataset": ["sst", "multirc"], "model": "bert"})
    >>> gate = pd.DataFrame({"dataset": ["multirc"], "model": "bert", "accepted": False})
    >>> accepted(values, gate).dataset.tolist()
    ['sst']
    """
    if gate is None or gate.empty:
        return values
    refused = gate[~gate.accepted.astype(bool)]
    for dataset, model in set(zip(refused.dataset, refused.model.map(slug), strict=True)):
        if (out := values.dataset == dataset).any():
            values = values[~(out & (values.model.map(slug) == model))]
    return values


def of_accepted(claim, gate):
    """A claim about the data sets that pass the gate; one about {Case: Interval} as it is."""
    return claim if isinstance(claim.values, dict) else replace(claim, values=accepted(claim.values, gate))


# Rows ---------------------------------------------------------------------------------------------


def judged(claim, gate=None, seeds=None):
    """(Verdict, {Case: Interval}) of a claim; gate: from `gates` or None, seeds: from `records.by_case`.

    It is "not tested" where no data set passes the gate; the value is then that of all, without an interval.
    """
    kept = of_accepted(claim, gate)
    cases = intervals(kept, seeds)
    if not cases and len(claim.values):
        every = intervals(claim)
        value = float(np.mean([case.value for case in every.values()])) if every else math.nan
        about = {"other_cases": tuple(every), "relation": claim.relation, "bound": claim.threshold}
        return verdicts.Verdict(verdicts.UNTESTED, value, reason="no data set passes the gate", **about), {}
    verdict = QUANTIFIERS[claim.quantifier](cases, claim.relation, claim.threshold)
    if not claim.tested:
        return replace(verdict, word=verdicts.UNTESTED), cases
    if verdict.word in (verdicts.FAILS, verdicts.DEPENDS) and claim.rivals:
        averaged, each = claim.quantifier == "on average" and verdict.word == verdicts.FAILS, {}
        for name, values in claim.rivals.items():
            lead = replace(kept, claim=f"{claim.claim}: {name}", values=accepted(values, gate))
            each[name] = intervals(lead, seeds)
        if not behind(each, claim.relation, claim.threshold, averaged):
            reason = "no single other is shown to be ahead"
            verdict = replace(verdict, word=verdicts.UNDECIDED, depends_on=(), reason=reason)
    return verdict, cases


def rows(claim, scale, verdict, cases, over=None, card=None, seeds=None):
    """The rows of claims.csv, with the columns CLAIMS, of one claim `of_accepted`.

    Args:
        scale: where it is none of `VERDICT_SCALES` there are numbers, no verdict and no published value.
        verdict, cases, over: from `judged`, and its Multiverse where it has options.
        card: the paper's `Card`, whose headline claims are asked two further questions.
        seeds: from `records.by_case`.

    Returns:
        List of dicts. A claim on average whose interval leaves out data sets with one or two seeds has a
        second row, the mean of all data sets, without an interval or verdict.
    """
    margins = {(one.claim, "paper", one.baseline): one.margin for one in (card.headline if card else ())}
    key = (claim.instance_of or claim.claim, claim.definition, claim.baseline)
    blank = dict.fromkeys(CLAIMS, "") | dict(zip(("claim", "definition", "baseline"), claim.key, strict=True))
    blank |= dict.fromkeys((*COUNTS, "looks", "to_come"), 0) | {"headline": False, "published": math.nan}
    first = blank | (over.verdict if over else verdict).row() | _seeds_of(claim, verdict, cases, seeds or {})
    models = set() if isinstance(claim.values, dict) else {case.model for case in verdict.cases}
    first |= {"model": models.pop() if len(models) == 1 else "", "headline": key in margins}
    if scale in VERDICT_SCALES:
        first |= over.counts if over else {}
        first["published"], first["published_cases"] = published(claim, verdict, cases)
        if margin := margins.get(key):
            each = [verdicts.judge(case, claim.relation, claim.threshold) for case in cases.values()]
            each = each if each and claim.quantifier == "everywhere" else [verdict]
            answers = [verdicts.within_margin(one, margin) for one in each]
            first["within_margin"] = max(answers, key=verdicts.ANSWERS.index)
            loss_allowed = 0 < abs(claim.threshold) <= margin
            if claim.relation in (">", "<") and not loss_allowed:  # of an effect; others say there is none
                first["at_least_half"] = verdicts.at_least_half(verdict, first["published"])
    else:
        first |= dict.fromkeys(UNSAID, "") | {"borderline": False}
    if math.isnan(verdict.value_all):
        return [first]
    second = blank | verdicts.Verdict(verdicts.UNTESTED, verdict.value_all, cases=tuple(cases)).row()
    second |= {"claim": f"{claim.claim} ({WITHOUT_INTERVAL})", "verdict": ""}
    return [first, second]


def _seeds_of(claim, verdict, cases, seeds):
    """The columns looks, to_come (seeds that are planned and not computed) and device of a claim's row."""
    looks = max((cases[name].looks for name in verdict.cases if name in cases), default=1)
    of, to_come = seeds.values(), 0
    if not isinstance(claim.values, dict):
        of = [row for case in verdict.cases for row in _units(case, seeds)]
        to_come = sum(max(0, case.planned - case.seeds) for case in of)
    return {"looks": looks, "to_come": to_come, "device": verdicts.JOIN.join(sorted({x.device for x in of}))}


def published(claim, verdict, cases):
    """The published statistic of exactly the cases of ours: (value, names of the data sets).

    On average the mean over the data sets of our interval (all of them where there is none), somewhere and
    everywhere that of the case whose value ours is. (NaN, "") where one of ours is generated or nothing is
    published; (NaN, "none for <data sets>") where the published table lacks one of ours.
    """
    used = verdict.cases if claim.quantifier == "on average" and verdict.cases else tuple(cases)
    if claim.quantifier != "on average" and verdict.cases:
        used = tuple(case for case in used if cases[case].value == verdict.value)[:1]
    datasets = list(dict.fromkeys(case.dataset for case in used))
    printed = [claim.published.get(dataset, math.nan) for dataset in datasets]
    if not printed or not claim.published or generated(pd.Index([of.dataset for of in cases])).any():
        return math.nan, ""
    if lacking := [dataset for dataset, x in zip(datasets, printed, strict=True) if math.isnan(x)]:
        return math.nan, f"none for {', '.join(lacking)}"
    return float(np.mean(printed)), verdicts.JOIN.join(datasets)


# Tables -------------------------------------------------------------------------------------------


def multiverse_tables(state, card, scale, gate=None, seeds=None):
    """claims.csv and choices.csv: each claim as in the main setting and with the options of each choice.

    Options vary one at a time; their `combinations` are looked at where there are verdicts. There a claim
    without values is "not tested"; elsewhere it has no row.

    Args:
        state: function that returns the claims of the main setting, and with `state(<choice>=<option>, ...)`
            those of these choices changed; keywords are choices with "_" for " ". A claim that the option
            leaves as it is, or does not have, is not counted. None where no record has the option: it is
            "not tested", for all claims; a claim with `values={}` for that claim alone.
        card: the paper's `Card`: `choices` and `headline`.
        scale: its name.
        gate: from `gates`; where it refuses a data set, UNGATED is an option too.
        seeds: from `records.seeds`.

    Returns:
        (claims, choices): DataFrames with the columns CLAIMS, and those of `replication.multiverse.CHOICES`
        with definition and baseline behind the claim; verdicts are "" at quick.
    """
    main = state()
    counted = {} if seeds is None else by_case(seeds)

    @cache
    def changed(*options):
        names = {choice.replace(" ", "_"): option for choice, option in options}
        there = state(**names) if options else main
        if there is None:
            there = [replace(claim, values={}) for claim in main]
        return {claim.key: claim for claim in there}

    listing, options_of = [], []
    for claim in [each for each in main if scale in VERDICT_SCALES or len(each.values)]:
        one, cases = judged(claim, gate, counted)
        kept, options = of_accepted(claim, gate), {}
        names = [(choice, option) for choice, (_, *others) in card.choices.items() for option in others]
        for name in names if len(claim.values) else ():
            other = changed(name).get(claim.key, claim)
            if isinstance(other.values, dict) and not other.values:
                options[name] = verdicts.Verdict(verdicts.UNTESTED, reason="no records")
            elif len(other.values):
                options[name] = judged(other, gate, counted)[0]
        if 0 < len(kept.values) < len(claim.values):
            options[UNGATED] = judged(claim, None, counted)[0]
        options = {name: other for name, other in options.items() if _decided(other) != _decided(one)}
        over = None
        if options:
            grid = _grid(claim, one, options, changed, gate, counted) if scale in VERDICT_SCALES else {}
            over = multiverse(claim.claim, one, options, grid)
            options_of.append(over.table.assign(definition=claim.definition, baseline=claim.baseline))
        listing += rows(kept, scale, one, cases, over, card, counted)
    columns = [CHOICES[0], "definition", "baseline", *CHOICES[1:]]
    listed = pd.concat(options_of)[columns] if options_of else pd.DataFrame(columns=columns)
    listed = listed if scale in VERDICT_SCALES else listed.assign(verdict="")
    return pd.DataFrame(listing, columns=CLAIMS), listed.reset_index(drop=True)


def _grid(claim, one, options, changed, gate, seeds):
    """{cell: Verdict} of `combinations`, but for cells that decide as one of fewer options does."""
    looked_at, grid = {frozenset(): one} | {frozenset([name]): of for name, of in options.items()}, {}
    for cell in combinations(options):
        other = changed(*(name for name in cell if name != UNGATED)).get(claim.key)
        if other is None or not len(other.values):
            grid[cell] = verdicts.Verdict(verdicts.UNTESTED, reason="no records")
            continue
        verdict = judged(other, None if UNGATED in cell else gate, seeds)[0]
        fewer = [looked_at[of] for name in cell if (of := frozenset(cell) - {name}) in looked_at]
        looked_at[frozenset(cell)] = verdict
        if _decided(verdict) not in map(_decided, fewer):
            grid[cell] = verdict
    return grid


def _decided(verdict):
    return repr((verdict.word, verdict.value, verdict.low, verdict.high))  # in which NaN is equal to NaN
