"""The claims of Madsen et al. 2024 (sections 5.1 to 5.3, appendix H.1), each with a verdict.

Claims are about training: the seed is the unit, and intervals are t over seeds, on the test texts that all of
them share. Which of two measures of one model is more faithful is tested on ACU, the numerator of RACU, which
has the same sign. Tests of one model share its reference distribution: the share of them that pass has the
seed as its cluster, and the test of fully masked texts, the same input for every measure, counts once. Which
measures occlude, which are gradients and which are signed is what the registry says of them.
"""

from functools import partial

import numpy as np
import pandas as pd

from faithlib.attributions import registry
from faithlib.report import label
from faithlib.scores import RANDOM
from faithlib.statistics import Interval, count_interval, seeds_interval
from notebooks.fmm.areas import SST, areas, of_correct, published_roar
from notebooks.fmm.card import CARD, OPTIONS
from notebooks.fmm.tables import MASKED, PLAIN, PUBLISHED_MODEL, SIGNIFICANT, measure_order, published_areas
from replication.cases import difference
from replication.claims import Claim, accepted, long, multiverse_tables
from replication.records import Case
from replication.tables import select

MARGIN = 0.02  # of performance: what may be lost and still be called none
NEAR = 0.01  # of performance: a class majority that is reached
FAITHFUL = "most explanations are faithful (share of areas above random masking)"
CONSISTENT = 0.95  # share of the in-distribution tests that must not reject
GRADIENT = "gradient"  # a family of the registry
ONLY_MASKING = "all/masked"
AT_MAJORITY = {  # with everything masked, at or above the class majority
    "masked fine-tuning": MASKED,
    "only masking": ONLY_MASKING,
    "plain fine-tuning whose epoch the masked copy chooses": "none/masked",
}
MAIN = CARD.main_setting()
LIMITS = {  # of a difference of two; that of RACU has none
    "performance": (-2.0, 2.0),  # Matthews' correlation begins at -1
    "share of tests": (-1.0, 1.0),
    "ACU": (-4.0, 4.0),
    "RACU clipped": (-2.0, 2.0),
}


def claims(
    scores: pd.DataFrame,
    points: dict[str, pd.DataFrame],
    tests: pd.DataFrame | None = None,
    roar: pd.DataFrame | None = None,
    scale: str = "small",
    gate: pd.DataFrame | None = None,
    seeds: pd.DataFrame | None = None,
    epochs: pd.DataFrame | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """claims.csv and choices.csv, as `replication.claims.multiverse_tables` returns them.

    Args:
        scores: from `tables.scores`.
        points: {option: curves} from `areas.options`.
        tests, epochs: from `tables.load_parts(..., "masf")` and `(..., "history")`; None: no claim about
            them.
        roar: from `areas.load_roar`.
        scale: without verdicts where it is none of `VERDICT_SCALES`.
        gate: from `tables.gates`, or None where every data set takes part.
    """

    def state(**options):
        stated = statements(scores, points, tests, roar, gate, **options)
        return stated if options or epochs is None or epochs.empty else [*stated, _more_epochs(epochs)]

    return multiverse_tables(state, CARD, scale, gate, seeds)


def statements(scores, points, tests=None, roar=None, gate=None, **setting):
    """The claims at one setting, [Claim]; None where no record has it.

    Claims about {case: Interval} hold the data sets that pass the gate; of the others `replication.claims`
    takes those. setting: options that depart from the main one, by `CARD.choices`.
    """
    name, *more = [OPTIONS[option] for option in setting.items() if option in OPTIONS] or ["main"]
    setting = MAIN | setting
    curves = points.get(name if setting["texts"] == "all" else of_correct(name))
    if curves is None or more:  # no record explains the predicted label by another path
        return None
    if setting["unconverged_seeds"] != "kept":
        scores, curves = scores[scores.converged], curves[curves.converged]
        tests = tests if tests is None else tests[tests.converged]
    curves = curves[curves.strategy == MASKED]
    if setting["occlusion"] != "with Beam":
        curves = curves[curves.measure != "beam"]
    area, flat = setting["area"], setting["flat_random_curves"] == "kept"
    once, p = setting["fully_masked_test"] == "counted once", setting["p_of_a_data_set"]
    relative = "RACU" if area == "ACU" else area  # where models are compared
    return [
        *_performance(scores, gate),
        *_in_distribution(tests, once, p),
        *_faithfulness(areas(curves, area, flat), area),
        *_roar(areas(accepted(curves, gate), relative), roar, relative),
    ]


# Performance and distribution ---------------------------------------------------------------------


def _performance(scores, gate=None):
    """Section 5.1 and appendix H.1: performance with nothing and with everything masked, by strategy."""
    scored = scores[(scores.metric == scores.dataset.map(CARD.metric)) & (scores.split == "test")]
    majority = scores[scores.metric == "majority"].groupby(["dataset", "model"]).value.mean()
    by_case = scored.groupby(["dataset", "model"], sort=False)
    columns = ["strategy", "masked"]
    wide = {key: part.pivot(index="seed", columns=columns, values="value") for key, part in by_case}

    def gained(strategy, other):
        return {
            key: table[strategy, 0] - table[other, 0]
            for key, table in wide.items()
            if {(strategy, 0), (other, 0)} <= set(table)
        }

    def above_majority(strategy):
        """What a model with everything masked is above the majority: {(data set, model): by seed}."""
        leads = {
            key: table[strategy, 100] - majority[key]
            for key, table in wide.items()
            if (strategy, 100) in table and key in majority
        }
        return accepted(long(leads), gate).value.dropna() if leads else pd.Series(dtype=float)

    at_most = f"at most {MARGIN:.2f}"
    gain = partial(_claim, limits=LIMITS["performance"])
    yield gain(f"masked fine-tuning loses no performance: {at_most}", gained(MASKED, PLAIN), ">=", -MARGIN)
    yield gain("only masking loses performance on whole texts", gained(PLAIN, ONLY_MASKING))
    for words, strategy in AT_MAJORITY.items():
        claim = f"everything masked: at or above the class majority with {words}"
        yield _of_models(claim, above_majority(strategy) >= -NEAR)
    claim = "everything masked: below the class majority with plain fine-tuning"
    yield _of_models(claim, above_majority(PLAIN) < -NEAR)
    for copy in ("unmasked", "masked"):
        claim = f"masked fine-tuning by the {copy} copy's epoch is as good as by that of both: {at_most}"
        yield gain(claim, gained(f"half/{copy}", MASKED), ">=", -MARGIN)


def _more_epochs(history):
    """Section 5.1, appendix I: the best epoch by the copies that choose it, masked less plain fine-tuning."""
    unit, best = ["dataset", "model", "seed"], {}
    for strategy, chosen_by in ((MASKED, ["unmasked", "masked"]), (PLAIN, ["unmasked"])):
        runs = select(history, strategy=strategy).sort_values("epoch")
        runs = runs.assign(score=runs[chosen_by].mean(axis=1)).dropna(subset="score").reset_index(drop=True)
        best[strategy] = runs.loc[runs.groupby(unit, sort=False).score.idxmax()].set_index(unit)["epoch"]
    gain = (best[MASKED] - best[PLAIN]).dropna()
    gains = {key: part.droplevel([0, 1]) for key, part in gain.groupby(["dataset", "model"], sort=False)}
    return _claim("masked fine-tuning takes more epochs (best epoch, less that of plain fine-tuning)", gains)


def _of_models(claim, true):
    """A claim that more than half of the models are so: a count, with a Clopper–Pearson interval."""
    cases = {Case(part="all models"): count_interval(true)} if len(true) else {}
    return Claim(f"{claim} (models)", cases, "seeds", ">", 0.5)


def _in_distribution(tests, once, combination):
    """Section 5.2: the share of tests, over measures and ratios, that do not reject at 5 %."""
    if tests is None or tests.empty:
        return
    masked = tests[(tests.ratio > 0) & (tests.measure != "validation") & tests.strategy.isin([MASKED, PLAIN])]
    p = masked.p if combination == "Simes" else masked.p_fisher
    masked = masked.assign(passed=p >= SIGNIFICANT)
    if once:
        of = ["dataset", "model", "strategy", "seed", "definition", "ratio"]
        masked = masked[(masked.ratio < 100) | ~masked.duplicated(of)]
    for definition, part in masked.groupby("definition", sort=False):
        passed, more = {}, {}
        for key, of in part.groupby(["dataset", "model"], sort=False):
            passed[key] = of[of.strategy == MASKED].groupby("seed").passed.mean()
            both = set.intersection(*of.groupby("strategy").measure.unique().map(set))
            shares = of[of.measure.isin(both)].groupby(["seed", "strategy"]).passed.mean().unstack("strategy")
            if {MASKED, PLAIN} <= set(shares):
                more[key] = shares[MASKED] - shares[PLAIN]
        passed = {key: share for key, share in passed.items() if len(share)}
        about = {"definition": definition, "limits": (0.0, 1.0)}
        claim = "masked data is in distribution with masked fine-tuning (mean share of tests)"
        yield _claim(claim, passed, ">=", CONSISTENT, **about)
        claim = "masked data is in distribution in more tests than with plain fine-tuning"
        yield _claim(claim, more, **about | {"limits": LIMITS["share of tests"]})


# Faithfulness -------------------------------------------------------------------------------------


def _faithfulness(by_case, area):
    """Section 5.3: which measures are more faithful, by area."""
    limits = LIMITS.get(area, (-np.inf, np.inf))
    measures = dict.fromkeys(measure for table in by_case.values() for measure in table)
    twins = [m for m in measure_order() if {m, f"{m}_abs"} <= measures.keys()]
    compared = {
        "occlusion is the most faithful (best of it less the best gradient)": _occlusion,
        "occlusion is the most faithful among absolute measures": _absolute_occlusion,
        **{f"signed above absolute: {label(m)}": partial(_difference, m, f"{m}_abs") for m in twins},
        "Beam at or above leave-one-out": partial(_difference, "beam", "leave_one_out"),
        FAITHFUL: _share_above,
        "x∇x is the worst (lead of the next over it)": _next_over,
    }
    published = _published()
    for claim, compare in compared.items():
        relation = ">=" if claim.startswith("Beam") else ">"
        gains = {key: compare(table) for key, table in by_case.items()}
        gains = {key: gain for key, gain in gains.items() if gain.notna().any()}
        printed = {}
        for dataset, model in gains:
            if dataset in published.index:
                same = published.columns.intersection(by_case[dataset, model].columns)
                printed[dataset] = float(compare(published.loc[[dataset], same]).iloc[0])
        more = {"published": printed, "limits": limits, "rivals": _rivals(compare, by_case, gains)}
        if claim == FAITHFUL:
            more |= {"threshold": 0.5, "limits": (0.0, 1.0)}
        yield _claim(claim, gains, relation, baseline=RANDOM, **more)


def _rivals(compare, by_case, gains):
    """{gradient: values of the lead of occlusion's best over it}, for the claims that occlusion is ahead."""
    if compare not in (_occlusion, _absolute_occlusion):
        return {}
    leads = {}
    for key in gains:
        table = by_case[key] if compare is _occlusion else by_case[key][_absolute(by_case[key])]
        best = _best(table, lambda entry: entry.occlusion)
        for other in [m for m in table if registry.described(m).family == GRADIENT]:
            leads.setdefault(other, {})[key] = best - table[other]
    leads = {other: long(lead).dropna() for other, lead in leads.items()}
    return {other: lead for other, lead in leads.items() if len(lead)}


def _occlusion(table):
    return _best(table, lambda entry: entry.occlusion) - _best(table, lambda entry: entry.family == GRADIENT)


def _absolute_occlusion(table):
    return _occlusion(table[_absolute(table)])


def _absolute(measures):
    return [measure for measure in measures if not registry.described(measure).signed]


def _best(table, wanted):
    """The highest area of the measures whose entry is `wanted`, a number a seed or published data set."""
    return table[[m for m in table if wanted(registry.described(m))]].max(axis=1)


def _share_above(table):
    """The share of measures whose area is above random masking's; NaN without any."""
    return (table > 0).sum(axis=1) / table.notna().sum(axis=1).replace(0, np.nan)


def _next_over(table):
    """The lowest area of all measures but x∇x, less that of x∇x."""
    others = table.drop(columns="input_x_gradient", errors="ignore")
    return others.min(axis=1) - table.reindex(columns=["input_x_gradient"]).input_x_gradient


def _difference(upper, lower, table):
    """The areas of one measure less another's, NaN where the table lacks one."""
    pair = table.reindex(columns=[upper, lower])
    return pair[upper] - pair[lower]


def _roar(by_case, roar, area):
    """RACU less Recursive ROAR's of the same architecture, mean over the measures of both; and the spreads.

    Published values of another architecture never stand in. The two are trained apart, so the interval is
    Welch's; where Recursive ROAR has a variant alone, such as one of fewer texts, there is none.
    """
    theirs, variants = {}, {}
    if roar is not None:
        theirs, variants = areas(roar, area), roar.groupby(["dataset", "model"]).variant.first()
    published, printed = _published("racu"), select(published_roar(), model=PUBLISHED_MODEL)
    printed = printed.pivot(index="dataset", columns="measure", values="value") / 100
    cases, spreads, gains = {}, {}, {}
    for (dataset, model), table in by_case.items():
        of = SST.get(dataset, dataset), model
        other, variant = theirs.get(of, pd.DataFrame()), variants.get(of, "")
        both = table.columns.intersection(other.columns)
        means = [t[both].mean(axis=1, skipna=False).dropna() for t in (table, other)]
        if len(both) and all(map(len, means)):
            case = difference(*map(seeds_interval, means))
            if variant:
                case = Interval(case.value, "seed", 0, reason=f"Recursive ROAR was run with {variant} only")
            cases[Case(dataset, model)] = case
            wider = (other[both].std() - table[both].std()).mean()
            reason = case.reason or "a spread over so few seeds has no interval"
            spreads[Case(dataset, model)] = Interval(float(wider), "seed", 0, reason=reason)
            if dataset in published.index and dataset in printed.index:
                gains[dataset] = (published.loc[dataset] - printed.loc[dataset]).reindex(both).mean()
    if by_case and not cases:
        reason = "no data set has Recursive ROAR's records of the same architecture"
        cases = spreads = {Case(*key): Interval(np.nan, "seed", 0, reason=reason) for key in by_case}
    than = "than the same measures by Recursive ROAR"
    yield Claim(f"more faithful {than} (RACU)", cases, "seeds", baseline=RANDOM, published=gains)
    yield Claim(f"varies less over seeds {than} (sd of RACU)", spreads, "seeds", baseline=RANDOM)


def _published(statistic="acu"):
    """Tables 1 and 11: data sets × measures, as fractions."""
    table = select(published_areas(), model=PUBLISHED_MODEL, statistic=statistic)
    return table.pivot(index="dataset", columns="measure", values="value") / 100


def _claim(claim, gains, relation=">", threshold=0.0, **more):
    """A claim on average over data sets; gains: {(data set, model): a number a seed}."""
    return Claim(claim, long(gains).dropna(), "seeds", relation, threshold, **more)
