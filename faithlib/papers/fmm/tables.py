"""FMM: from records to the tables of Madsen et al. 2024.

`values` is what `faithlib.results.load` returns: a row a point of a curve, with the columns dataset, model,
seed, strategy ("<masking>/<selection>" of the fine-tuning), measure, step, metric and value. A seed is the
unit of every interval, as in the paper: means over seeds with 95 % BCa intervals, measure and random baseline
paired by seed; one seed has none. Seeds that did not converge count, and `unconverged` says how many they
are; leave_out=True leaves them out.
"""

from functools import cache

import numpy as np
import pandas as pd

from faithlib import papers, results
from faithlib.attributions.registry import describe
from faithlib.metrics import curves
from faithlib.papers.fmm.card import CARD
from faithlib.papers.recursive_roar import tables as recursive_roar
from faithlib.report import tables as layout
from faithlib.report.tables import (
    attribution_order,
    case_titles,
    cell_text,
    groups,
    metric_rows,
    ordered,
    original,
    over_seeds,
    published_interval,
    published_row,
    select,
    unit_columns,
)
from faithlib.scores import RANDOM
from faithlib.statistics.gates import gate_table
from faithlib.tasks.table import TASKS

PAPER = "fmm"
MASKED, PLAIN = "half/both", "none/unmasked"
STRATEGIES = {MASKED: "masked fine-tuning", PLAIN: "plain fine-tuning", "all/masked": "only masking"}
PUBLISHED_MODEL = "roberta-base"  # stands beside models that the paper does not have
PARTS = {"fine_tuning": "table_6", "masf": "table_7", "evaluation": "table_8"}  # of the walltime
P_OF = {"paper": "p_simes", "released": "p_released", "calibrated": "p_calibrated"}  # by definition
CURVE = ["dataset", "model", "strategy"]


def points(values, records, leave_out=False, option="main"):
    """The curves' values in each data set's own metric, `with_convergence`.

    option: another way to explain, of the column `option`; what it leaves as it is, such as the random
    baseline, is that of "main".
    """
    if option != "main":
        curve = ["dataset", "model", "seed", "strategy", "measure"]
        changed = values[values.option == option].set_index(curve).index.unique()
        kept = ~values.set_index(curve).index.isin(changed)
        values = values[(values.option == option) | (kept & (values.option == "main"))]
    elif "option" in values:
        values = values[values.option == "main"]
    metric = {dataset: CARD.metric(dataset) for dataset in values.dataset.unique()}
    return with_convergence(values[values.metric == values.dataset.map(metric)], records, leave_out)


def scores(records, leave_out=False):
    """The metric rows of all records in one DataFrame, with dataset, model and seed, `with_convergence`."""
    return with_convergence(metric_rows(records), records, leave_out)


def with_convergence(frame, records, leave_out=False):
    """The rows with a column `converged`, which records know by seed and strategy.

    Args:
        frame: DataFrame with dataset, model, seed and strategy.
        records: from `results.load`.
        leave_out: whether to drop the rows of seeds that did not converge.

    Returns:
        The frame, models by the last part of their name.
    """
    keys = ["dataset", "model", "seed", "strategy"]
    found = select(metric_rows(records), metric="converged").set_index(keys).value.astype(bool).to_dict()
    frame = frame.assign(model=[results.slug(model) for model in frame.model])
    rows = frame[keys].itertuples(index=False, name=None)
    frame = frame.assign(converged=[found.get(row, True) for row in rows])
    return frame[frame.converged] if leave_out else frame


def gates(values, records):
    """Which data sets × models take part in claims: those above chance before anything is masked.

    Args:
        values, records: from `results.load`.

    Returns:
        DataFrame as `statistics.gates.gate_table`, of masked fine-tuning. The score is that of the test split
        where the paper's metric corrects for chance (MCC, macro-F1), else macro-F1 of the explained texts,
        which stands in for balanced accuracy.
    """
    keys = ["dataset", "model", "seed"]
    values = values.assign(model=[results.slug(model) for model in values.model])
    own = select(values, strategy=MASKED, measure=RANDOM, step=0, metric="macro_f1")
    explained = own.drop_duplicates(keys).set_index(keys).value
    scores = select(metric_rows(records), split="test", strategy=MASKED, masked=0)
    rows = []
    for row in scores[scores.metric == scores.dataset.map(CARD.metric)].itertuples():
        unit = row.dataset, row.model, row.seed
        classes = len(TASKS[row.dataset].labels) if row.dataset in TASKS else 0
        if classes < 2 or unit not in explained:
            continue
        score = row.value if row.metric in ("mcc", "macro_f1") else explained[unit]
        chance = 0.0 if row.metric == "mcc" else 1 / classes
        rows.append((*unit, score, explained[unit], classes, chance))
    return gate_table(pd.DataFrame(rows, columns=[*keys, "score", "balanced_accuracy", "classes", "chance"]))


def load_parts(results_dir, scale, records, part, leave_out=False):
    """The tables <unit>.<part>.parquet beside the records ("masf", "history"), empty if none has it."""
    found = results.load_tables(results_dir, scale, PAPER, records, part)
    return found if found.empty else with_convergence(found, records, leave_out)


def performance(scores):
    """Tables 3 and 10, Figures 2, 3 and 7 to 15: performance with nothing and with everything masked.

    Args:
        scores: from `scores`.

    Returns:
        A row a strategy and split, in fractions, higher is better. majority: of always predicting the class
        that is most frequent in train, the baseline where everything is masked. The data set "all" is the
        mean over those that every strategy of the model has been run on, seed by seed, of the seeds that
        converged on all of them.
    """
    majority = select(scores, metric="majority").groupby(["dataset", "model"]).value.mean()
    own = scores[scores.metric == scores.dataset.map(CARD.metric)]
    paper = papers.published(PAPER, "table_3").merge(
        papers.published(PAPER, "table_2")[["dataset", "majority"]]
    )
    rows = []
    for row, part in groups(own, [*CURVE, "split"]):
        known = _published(paper, row) if row["split"] == "test" else {}
        row |= {
            "metric": CARD.metric(row["dataset"]),
            **_seeds(part),
            **over_seeds(select(part, masked=0).value, "unmasked"),
            **over_seeds(select(part, masked=100).value, "all_masked"),
            "majority": majority.get((row["dataset"], row["model"]), np.nan),
            **published_interval(known),
            "published_model": known.get("model", ""),
            "published_majority": known.get("majority", np.nan) / 100,
        }
        rows.append(row)
    return _sorted(pd.DataFrame(rows + _means_over_datasets(own, majority)))


def racu(points, roar=None):
    """Tables 1, 11 and 12: ACU and RACU with intervals, beside the published and Recursive ROAR's RACU.

    Args:
        points: from `points`.
        roar: from `load_roar`.

    Returns:
        A row a curve; higher is better. ci_low, ci_high: of RACU, which is not clipped here. variant: signed
        measures can do better than the performance of everything masked, so that their RACU may exceed 1.
        flat counts seeds whose random curve hardly falls: there only ACU can be read. roar: RACU, clipped as
        published; roar_of says whether it is ours, on the same model, or the published one of RoBERTa-base.
    """
    paper, rows = published_areas(), []
    counted = {tuple(row.values()): _seeds(part) for row, part in groups(points, [*CURVE, "measure"])}
    for area in curves.summary(points, CURVE).to_dict("records"):
        row = {name: area[name] for name in (*CURVE, "measure")}
        acu, racu = (_published(select(paper, statistic=s), row, row["measure"]) for s in ("acu", "racu"))
        row |= {
            "variant": variant(row["measure"]),
            **{name: area[name] for name in ("acu", "acu_low", "acu_high", "racu")},
            "ci_low": area["racu_low"],
            "ci_high": area["racu_high"],
            "flat": area["flat"],
            **counted[tuple(row.values())],
            "seeds": area["seeds"],
            "left_out": area["left_out"],
            **published_interval(racu),
            "published_acu": acu.get("value", np.nan) / 100,
            "published_model": racu.get("model", ""),
        }
        if row["strategy"] == MASKED:
            row |= roar_racu(roar, row["dataset"], row["model"], row["measure"])
        rows.append(row)
    return _sorted(pd.DataFrame(rows))


def load_roar(results_dir, scale):
    """Recursive ROAR's RACU at a scale, the rows with recursion; None where there are no records of it."""
    points = load_roar_points(results_dir, scale)
    if points is None:
        return None
    table = recursive_roar.racu(points)
    return table[table.recursive.astype(bool)]


def load_roar_points(results_dir, scale):
    """Recursive ROAR's curves at a scale, as `recursive_roar.tables.points`; None without records of it."""
    try:
        _, values = results.load(results_dir, scale, recursive_roar.PAPER)
    except FileNotFoundError:
        return None
    return recursive_roar.points(values)


def roar_racu(roar, dataset, model, measure):
    """Recursive ROAR's RACU of one cell, as in the paper's Table 1, where its SST2 stands beside SST.

    Args:
        roar: from `load_roar`.
        dataset, model, measure: of the cell.

    Returns:
        {"roar", "roar_low", "roar_high": the value and its interval, "roar_of": "ours", "published" or ""}.
    """
    if roar is not None:
        own = select(roar, dataset={"sst2": "sst"}.get(dataset, dataset), model=model, measure=measure)
        if len(own):
            names = {"roar": "racu_clipped", "roar_low": "racu_clipped_low", "roar_high": "racu_clipped_high"}
            return {name: own.iloc[0][column] for name, column in names.items()} | {"roar_of": "ours"}
    known = {}
    if original(dataset) == dataset:
        of = {"model": PUBLISHED_MODEL, "measure": measure}
        known = published_row(published_roar(), published_dataset(dataset), **of)
    return published_interval(known, "roar") | {"roar_of": "published" if known else ""}


def curve_table(points):
    """All curves of Figures 5 and 22 to 25: mean performance over seeds with its interval, one row a step."""
    rows = [
        row
        | over_seeds(part.value, "value")
        | _seeds(part)
        | part[["masked_tokens", "unchanged_texts"]].mean().to_dict()
        for row, part in groups(points, [*CURVE, "metric", "measure", "step"])
    ]
    return _sorted(pd.DataFrame(rows))


def masf(tests):
    """Figures 4 and 18 to 21: the data set's p-value of being in distribution, by measure and ratio.

    Args:
        tests: from `load_parts(..., "masf")`.

    Returns:
        A row a strategy, measure and ratio. p_simes is Algorithm 2's, p_released the release's, p_calibrated
        that of reference statistics taken out of sample; means over seeds with intervals. share_...: of the n
        examples, those with p < 0.05; 0.05 where nothing is amiss. The measure "validation" is a fresh half
        of the reference, in distribution by construction.
    """
    rows = []
    for row, part in groups(tests, [*CURVE, "measure", "ratio"]):
        for definition, name in P_OF.items():
            own = select(part, definition=definition)
            row |= over_seeds(own.p, name)
            row[name.replace("p_", "share_")] = own.share_below_05.mean()
        rows.append(row | {"n": part.n.mean()} | _seeds(part))
    return _sorted(pd.DataFrame(rows))


def walltime(records):
    """Tables 6 to 9: minutes of fine-tuning, MaSF, evaluation and of each measure, beside the published.

    A pass that several measures share counts whole for each of them, as in the paper, so the measures' sum
    exceeds what was spent.

    Args:
        records: from `results.load`.

    Returns:
        A row a strategy and part: means over seeds, on the machine that made the records. The published
        minutes are of one NVIDIA V100.
    """
    spent = [
        unit_columns(r) | {"strategy": strategy, "part": part, "minutes": seconds / 60}
        for r in records
        for strategy, parts in r["volatile"]["seconds_of_measures"].items()
        for part, seconds in parts.items()
    ]
    rows = []
    for row, part in groups(pd.DataFrame(spent), [*CURVE, "part"]):
        name = row["part"]
        paper = papers.published(PAPER, PARTS.get(name, "table_9"))
        known = _published(paper, row, None if name in PARTS else name)
        row |= {"minutes": part.minutes.mean(), "seeds": part.seed.nunique()}
        row |= {"published": known.get("minutes", np.nan), "published_model": known.get("model", "")}
        rows.append(row)
    return _sorted(pd.DataFrame(rows))


def history(epochs):
    """Figures 16 and 17: validation performance by epoch on the unmasked and on the masked copy.

    Args:
        epochs: from `load_parts(..., "history")`, with a column for each copy.
    """
    table = epochs.melt([*CURVE, "seed", "epoch", "converged"], ["unmasked", "masked"], "copy").dropna()
    rows = [
        row | over_seeds(part.value, "value") | _seeds(part)
        for row, part in groups(table, [*CURVE, "copy", "epoch"])
    ]
    return _sorted(pd.DataFrame(rows))


def racu_as_printed(table, value="racu", strategy=MASKED):
    """Table 1's layout: a row a measure, a column a data set, "ours (published)" in each field.

    Args:
        table: from `racu`.
        value: "racu" or "acu".
        strategy: of the fine-tuning.
    """
    table = select(table, strategy=strategy)
    paper = table[{"racu": "published", "acu": "published_acu"}[value]]
    texts = [
        cell_text(ours, published=cell_text(known)) for ours, known in zip(table[value], paper, strict=True)
    ]
    cases = list(zip(table.dataset, table.model, strict=True))
    table = table.assign(column=[case_titles(cases)[case] for case in cases])
    return _sorted(layout.as_printed(table, texts, ["measure", "variant"], ["column"]))


def variant(measure):
    """ "signed" if a measure tells what speaks for the class from what speaks against it, else "absolute"."""
    return "signed" if measure == RANDOM or describe(measure).signed else "absolute"


def strategy_title(strategy):
    """How tables and figures call a strategy: section 5.1's name, or what is masked and what chooses."""
    masking, selection = strategy.split("/")
    return STRATEGIES.get(strategy, f"{masking} masked, {selection} chooses")


def measure_order():
    """All measures in the order of the paper's tables, the random baseline first."""
    return attribution_order(papers.published(PAPER, "table_9").measure)


def published_dataset(dataset):
    """The published data set to look up: SST2 for SST."""
    return {"sst": "sst2"}.get(dataset, dataset)


@cache
def published_areas():
    """Tables 1, 11 and 12 in one; where 1 and 11 print the same cell, that of Table 1."""
    both = pd.concat([papers.published(PAPER, table) for table in ("table_1", "table_11", "table_12")])
    both = both[both.method == PAPER]
    return both.drop_duplicates(["dataset", "model", "measure", "statistic"])


@cache
def published_roar():
    """Recursive ROAR's own Table 2, with SST under SST2's name."""
    return papers.published("recursive_roar", "table_2").replace({"dataset": {"sst": "sst2"}})


def _means_over_datasets(own, majority):
    """The rows of "all": test performance averaged over data sets that a model's strategies share."""
    own = own[(own.split == "test") & own.converged]
    rows = []
    for model, part in own.groupby("model", sort=False):
        sets = set.intersection(*(set(of.dataset) for _, of in part.groupby("strategy")))
        if len(sets) < 2:
            continue
        expected = np.mean([majority.get((name, model), np.nan) for name in sets])
        for strategy, of in part[part.dataset.isin(sets)].groupby("strategy", sort=False):
            row = {"dataset": "all", "model": model, "strategy": strategy, "split": "test", "metric": "mean"}
            for name, masked in (("unmasked", 0), ("all_masked", 100)):
                wide = select(of, masked=masked).pivot(index="seed", columns="dataset", values="value")
                means = wide.reindex(columns=sorted(sets)).dropna().mean(axis=1)
                row |= over_seeds(means, name) | {"seeds": len(means)}
            rows.append(row | {"majority": expected, "unconverged": 0, "published_model": ""})
    return rows


def _seeds(part):
    """How many seeds there are, and how many of them did not converge."""
    return {"seeds": part.seed.nunique(), "unconverged": part.seed[~part.converged].nunique()}


def _published(table, row, measure=None):
    """The published row of a row's data set and model, RoBERTa-base's for a model that the paper lacks.

    {} where there is none, beside generated data, and for other strategies than masked fine-tuning. measure:
    which of the table.
    """
    if row["strategy"] != MASKED or original(row["dataset"]) != row["dataset"]:
        return {}
    model = row["model"] if row["model"] in set(table.model) else PUBLISHED_MODEL
    given = {"measure": measure} if measure else {}
    return published_row(table, published_dataset(row["dataset"]), model=model, **given)


def _sorted(table):
    """Data sets and models as they came, then strategies, splits and measures in the paper's order."""
    measures = measure_order()
    return ordered(
        table,
        dataset=(),
        model=(),
        strategy=STRATEGIES,
        split=(),
        measure=measures,
        part=(*PARTS, *measures),
        copy=(),
    )
