"""The findings of Madsen et al. 2022 (section 6, appendix G) and the case for recursion, each with a verdict.

Claims are about training: the seed is the unit, and intervals are t over seeds, on the test set that all of
them share. RACU is a ratio. Whether it is above 0, or one measure's above another's of the same models, is
tested on its numerator, ACU, which has the same sign and is not clipped; RACU as published is printed beside
it. Where models or data sets are compared the denominators differ: ACU is tested there too, and RACU is an
option, which can have another sign.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import pandas as pd

from faithlib.attributions.registry import described
from faithlib.metrics import curves
from faithlib.metrics.curves import falling
from faithlib.scores import RANDOM
from faithlib.statistics import Interval, seeds_interval
from notebooks.recursive_roar.card import CARD
from notebooks.recursive_roar.tables import PAPER, SAME_TEXTS, UNITS, complete_curves, main, one_form, setting
from replication import papers
from replication.cases import CASES, case_table, difference
from replication.claims import Claim, accepted, intervals, long, multiverse_tables, of_accepted
from replication.records import Case, titles
from replication.tables import select, unit_columns

RISE = 0.01  # a rise of performance that counts as one, as a fraction
EARLY = 20  # per cent masked
MIDDLE = 40  # per cent masked: levels above it against those up to it
SETTINGS = ("train_size", "validation_size", "test_size", "ratios", "ig_steps")  # equal where models compare
RATIO = "a ratio: its numerator, ACU, is tested"
RECURSION = "Recursive ROAR finds measures more faithful than ROAR (ACU, mean over measures{})"
MAIN = CARD.main_setting()
ATTENTION = {"attention": True, "an encoder's attention": False}  # of the BiLSTM?


def claims(
    points: pd.DataFrame,
    scale: str = "small",
    records: Sequence[dict] = (),
    gate: pd.DataFrame | None = None,
    shares: pd.DataFrame | None = None,
    seeds: pd.DataFrame | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """claims.csv and choices.csv, as `replication.claims.multiverse_tables` returns them.

    Args:
        points: from `tables.points`.
        scale: without verdicts where it is none of `VERDICT_SCALES`.
        records: from `results.load`; without them, two models are compared whatever their settings.
        gate: from `tables.gates`, or None where every data set takes part.
        shares: rows of `scores.sparsity`, from `results.load_tables`; None: no claim about them.
    """
    state = partial(statements, points, records, gate, shares)
    taking_part = None if gate is None else main(gate)
    return multiverse_tables(state, CARD, scale, taking_part, seeds)


def statements(points, records=(), gate=None, shares=None, **options):
    """The claims at one setting, [Claim]; None where no record has it.

    Claims about {case: Interval} hold the data sets that pass the gate; of the others `replication.claims`
    takes those. options: those that depart from the main setting, by `CARD.choices`.
    """
    options = MAIN | options
    form = options["integrated_gradients"]
    chosen = setting(points, options["outputs_of_bAbI"], form, options["training_texts"])
    if chosen is None:
        return None
    of_main, of_same = (None, None) if gate is None else (main(gate), select(gate, variant=SAME_TEXTS))
    passing, alike = accepted(chosen, of_main), accepted(select(points, variant=SAME_TEXTS), of_same)
    variant, alike = (SAME_TEXTS, one_form(alike, form)) if alike.model.nunique() > 1 else ("", passing)
    changed = options["collapsed_models"], options["masking_levels"]
    tables, kept, same = (complete_curves(some, *changed) for some in (chosen, passing, alike))
    released = setting(points, form="released")
    printed = complete_curves(accepted(setting(points) if released is None else released, of_main))
    areas_of = partial(areas, area=options["area"], flat=options["flat_random_curves"])
    every, tested = areas_of(tables), areas_of(kept)
    return [
        *_attention(every, areas(printed, "RACU clipped")),
        *_cheaper_gradient(tested),
        _models_differ(areas_of(same), _settings(records, alike), variant),
        _tasks_differ(tested),
        *_early(tables, options["share_of_random"]),
        *_recursion(every, areas_of(tables, recursive=False)),
        *_leakage(tables, kept),
        *_sparser(shares),
    ]


def cases(
    points: pd.DataFrame, records: Sequence[dict] = (), gate: pd.DataFrame | None = None
) -> pd.DataFrame:
    """The cases of each claim: estimate, interval, p and its Holm adjustment, and why one has no interval.

    The column claim and those of `replication.cases.case_table`.
    """
    taking_part = None if gate is None else main(gate)
    parts = []
    for claim in statements(points, records, gate):
        claim = of_accepted(claim, taking_part)
        if len(claim.values):
            table = case_table(intervals(claim), claim.relation, claim.threshold)
            parts.append(table.assign(claim=claim.claim))
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=CASES)
    return table.reindex(columns=["claim", *CASES])


# Areas --------------------------------------------------------------------------------------------


def areas(tables, area="ACU", flat="kept", recursive=True):
    """Areas of all measures of `tables.complete_curves`: {(data set, model): DataFrame seeds × measures}.

    area: "ACU", "RACU" or "RACU clipped"; RACU is NaN where the random curve hardly falls. flat: whether
    seeds with such a random curve are "kept" or "left out". recursive: of Recursive ROAR or of ROAR.
    """
    result = {}
    for (dataset, model, again), table in tables.items():
        chosen = falling(table) if flat == "left out" else table
        if again == recursive and len(chosen):
            result[dataset, model] = curves.areas(chosen, area)
    return result


def _on_average(claim, per_case, **more):
    return Claim(claim, long(per_case), "seeds", baseline="random", **more)


def _somewhere(claim, intervals, **more):
    """A claim about {Case: Interval}."""
    return Claim(claim, intervals, "seeds", quantifier="somewhere", baseline="random", **more)


def _printed(claim, per_case, published):
    """The row of a ratio: its mean beside the published one, and no verdict."""
    cases = {}
    for case, values in per_case.items():
        values = values.dropna()
        if len(values):
            cases[Case(*case)] = Interval(float(values.mean()), "seed", len(values), reason=RATIO)
    return Claim(claim, cases, "seeds", baseline="random", published=published, tested=False)


# Claims -------------------------------------------------------------------------------------------


def _attention(tested, published):
    """Of the BiLSTM, and in rows of their own of encoders, whose attention the paper does not measure.

    The printed ratios are `published`, areas with integrated gradients as released, as in the paper.
    """
    statistics = {
        "is faithful": lambda table: table["attention"],
        "leads the other measures": lambda table: _lead(table, "attention"),
    }
    result = []
    for name, bilstm in ATTENTION.items():
        tables, printed = (_of_kind(_with_attention(part), bilstm) for part in (tested, published))
        for verb, statistic in statistics.items():
            ours, ratio = ({key: statistic(t) for key, t in part.items()} for part in (tables, printed))
            others = _over_each(tables, "attention") if verb.startswith("leads") else {}
            result.append(_on_average(f"{name} {verb} (ACU)", ours, rivals=others))
            beside = _published(statistic) if bilstm else {}
            result.append(_printed(f"{name} {verb} (RACU, clipped as published)", ratio, beside))
    return result


def _cheaper_gradient(tested):
    """Every gradient of one pass less integrated gradients: a case each, corrected for their number."""
    compared, gains = {}, {}
    for key, table in tested.items():
        for measure in table:
            about = described(measure)
            one_pass = about.family == "gradient" and about.cost == "constant"
            if one_pass and "integrated_gradients_abs" in table:
                gain = (table[measure] - table["integrated_gradients_abs"]).dropna()
                if len(gain):
                    compared[Case(*key, part=measure)] = seeds_interval(gain)
                    gains.setdefault(key, []).append(gain)
    claim = "a cheaper gradient is {}more faithful than integrated gradients (ACU{})"
    mean = {key: pd.concat(gains[key], axis=1).mean(axis=1) for key in gains}
    return [
        _somewhere(claim.format("somewhere ", ""), compared),
        _on_average(claim.format("", ", mean over gradients"), mean),
    ]


def _models_differ(tested, settings, variant):
    """Two models on one data set, in both directions; the cases with other settings have no interval."""
    compared = {}
    for one, other in combinations(tested, 2):
        if one[0] != other[0]:
            continue
        first, second = (settings.get(key, {}) for key in (one, other))
        unequal = [name for name in SETTINGS if first.get(name) != second.get(name)]
        for measure in tested[one].columns.intersection(tested[other].columns):
            values = [tested[key][measure].dropna() for key in (one, other)]
            if not all(map(len, values)):
                continue
            case = difference(*map(seeds_interval, values))
            if unequal:
                reason = f"settings differ: {', '.join(unequal)}"
                case = Interval(case.value, "seed", case.n_units, reason=reason)
            directions = [((one[1], other[1]), 1), ((other[1], one[1]), -1)]
            if not case.exists:  # not tested: the direction of the estimate is enough
                directions = directions[:1] if case.value > 0 else directions[1:]
            for (a, b), sign in directions:
                name = Case(one[0], variant=variant, part=f"{measure} ({a} above {b})")
                compared[name] = replace(case, value=sign * case.value)
    claim = "a measure's faithfulness differs between models (difference of ACU, each direction a case)"
    return _somewhere(claim, compared)


def _tasks_differ(tested):
    """Measure a above b on one data set and b above a on another: both leads have to be shown.

    The interval of a case is that of the weaker lead: an intersection-union test. As a and b can be above
    each other in one direction only, the direction costs nothing (Gail and Simon 1985).
    """
    compared = {}
    for one, other in combinations(tested, 2):
        if one[0] == other[0] or one[1] != other[1]:
            continue
        for a, b in combinations(sorted(tested[one].columns.intersection(tested[other].columns)), 2):
            first, second = ((tested[key][a] - tested[key][b]).dropna() for key in (one, other))
            if not (len(first) and len(second)):
                continue
            sign = 1 if min(first.mean(), -second.mean()) >= min(-first.mean(), second.mean()) else -1
            upper, lower = (a, b) if sign > 0 else (b, a)
            leads = [seeds_interval(sign * first), seeds_interval(-sign * second)]
            name = Case(part=f"{upper} above {lower} on {one[0]} and below on {other[0]}")
            compared[name] = max(leads, key=lambda lead: (not lead.exists, lead.pvalue()))
    return _somewhere(
        "which of two measures is more faithful depends on the task (weaker lead, ACU)", compared
    )


def _early(tables, share_of_random):
    """What the first 20 % take more than random's first 20 %, mean over the measures of a data set, by kind.

    All curves of a seed have the same ends, so the difference of performance has the sign of that of shares.
    """
    gains = {}
    for (dataset, model, recursive), table in tables.items():
        if not recursive or EARLY not in table:
            continue
        random, measures = table.loc[RANDOM], table.drop(index=RANDOM, level="measure")
        if share_of_random == "subtracted":
            even = random[EARLY]
        else:
            even = random[0] - EARLY / 100 * (random[0] - random[100])
        gains[dataset, model] = _per_seed(even - measures[EARLY].unstack("measure").T)
    claim = "the first 20 % take more performance than 20 % at random (mean over measures{})"
    return [one for one, _ in _by_kind(claim, gains)]


def _recursion(again, plain):
    """Recursive ROAR's area less ROAR's, mean over measures: of each kind of model, and for each data set."""
    gains = {key: _per_seed((again[key] - plain[key]).T) for key in again if key in plain}
    result = []
    for claim, values in _by_kind(RECURSION, gains):
        title = titles(Case(*key) for key in values)
        each = [_on_average(f"{claim.claim}: {title[Case(*key)]}", {key: values[key]}) for key in values]
        result += [claim, *(each if len(each) > 1 else [])]
    return result


def _sparser(shares):
    """How much more of its importance attention has on the top 20 % than the next measure (appendix E)."""
    if shares is None or shares.empty:
        return []
    rows = select(main(shares), job="unmasked", by="ratio", top=EARLY)
    rows = rows[rows.variant != SAME_TEXTS]
    by_case = rows.groupby(["dataset", "model"], sort=False)
    wide = {key: part.groupby(["seed", "measure"]).share.mean().unstack("measure") for key, part in by_case}
    leads = {key: _lead(table, "attention") for key, table in _with_attention(wide).items()}
    claim = "attention is sparser than the other measures (share of importance on the top 20 %{})"
    result = []
    for one, of in _by_kind(claim, leads):
        rivals = _over_each({key: wide[key] for key in of}, "attention")
        result.append(replace(one, baseline="none", rivals=rivals))
    return result


def _by_kind(claim, gains):
    """[(claim on average, its gains)] of the BiLSTM and, if there are any, of encoders.

    Kinds of models are not averaged: encoders run on fewer texts, masking levels and integration steps.
    """
    for words, bilstm in {"": True, ", an encoder": False}.items():
        of_kind = _of_kind(gains, bilstm)
        if of_kind or bilstm:
            yield _on_average(claim.format(words), of_kind), of_kind


def _of_kind(by_case, bilstm):
    """Those of {(data set, model): any} that are of the BiLSTM, or of encoders."""
    return {key: value for key, value in by_case.items() if (key[1] == "bilstm") == bilstm}


def _leakage(tables, kept):
    """Performance that rises as more is masked, which only masks that tell the class can explain.

    Mean performance at levels above 40 % less that at levels up to 40 % (appendix G: bAbI, BiLSTM).
    """
    means = {key: _per_seed(rises.unstack("seed")) for key, rises in _rises(tables).items()}
    each = {
        Case(*key, part=measure): seeds_interval(rise)
        for key, rises in _rises(kept).items()
        for measure, rise in rises.groupby("measure", sort=False)
    }
    mean = "class leakage on bAbI: performance rises with masking, by more than .01 (mean over measures)"
    one = "class leakage of one measure on bAbI: its curve rises with masking, by more than .01"
    return [_on_average(mean, means, threshold=RISE), _somewhere(one, each, threshold=RISE)]


def _rises(tables):
    """{(data set, model): rise of each (measure, seed)} of Recursive ROAR's curves of bAbI."""
    result = {}
    for (dataset, model, recursive), table in tables.items():
        levels, measures = table.columns.to_numpy(), table.drop(index=RANDOM, level="measure")
        low, high = (levels > 0) & (levels <= MIDDLE), (levels > MIDDLE) & (levels < 100)
        of_babi = recursive and dataset.startswith("babi")
        if of_babi and low.any() and high.any() and len(measures):
            result[dataset, model] = measures.loc[:, high].mean(axis=1) - measures.loc[:, low].mean(axis=1)
    return result


def _per_seed(table):
    """Mean over measures (rows) of each seed (column); NaN where a seed lacks a measure."""
    return table.mean(axis=0, skipna=False)


def _lead(table, measure):
    """By how much a column is above the highest other one; NaN for a seed that lacks one."""
    return table[measure] - table.drop(columns=measure).max(axis=1, skipna=False)


def _with_attention(tables):
    """Those of {case: DataFrame seeds × measures} with attention and another measure."""
    return {key: table for key, table in tables.items() if "attention" in table and table.shape[1] > 1}


def _over_each(tables, measure):
    """{other measure: values of the lead of one over it} of {case: DataFrame seeds × measures}."""
    gains = {}
    for key, table in tables.items():
        for other in table.columns.drop(measure):
            gains.setdefault(other, {})[key] = table[measure] - table[other]
    return {other: long(gain) for other, gain in gains.items()}


def _published(statistic):
    """{data set: a statistic of the BiLSTM's published RACU}."""
    table = select(papers.published(PAPER, "table_2"), model="bilstm")
    wide = table.pivot(index="dataset", columns="measure", values="value") / 100
    return statistic(wide).to_dict()


def _settings(records, points):
    """{(data set, model): what has to be equal where models are compared} of the units that points are of."""
    units, settings = set(points[UNITS].itertuples(index=False, name=None)), {}
    for record in records:
        pair = tuple(unit_columns(record).values())[:2]
        if (*pair, record["params"].get("variant", "")) in units:
            settings[pair] = {name: record["params"].get(name) for name in SETTINGS}
    return settings
