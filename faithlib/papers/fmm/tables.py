"""FMM: from records to the tables of Madsen et al. 2024.

`values` is what `faithlib.results.load` returns: a row a point of a curve, with the columns dataset, model,
seed, strategy ("<masking>/<checking>" of the fine-tuning), measure, step, metric and value. A seed is the
unit of every interval, as in the paper: means over seeds with 95 % BCa intervals, measure and random baseline
paired by seed; one seed has none. Seeds that did not converge count, and `unconverged` says how many they
are; leave_out=True leaves them out.
"""

from functools import cache

import numpy as np
import pandas as pd

from faithlib import papers, results
from faithlib.metrics import curves
from faithlib.papers.fmm.card import CARD
from faithlib.papers.recursive_roar import tables as recursive_roar
from faithlib.report.tables import ordered, original, where

PAPER = "fmm"
MASKED, PLAIN = "half/both", "none/unmasked"
STRATEGIES = {MASKED: "masked fine-tuning", PLAIN: "plain fine-tuning", "all/masked": "only masking"}
MEASURES = (
    "random",
    "gradient_l2",
    "gradient_l1",
    "input_x_gradient",
    "input_x_gradient_abs",
    "integrated_gradients",
    "integrated_gradients_abs",
    "leave_one_out",
    "leave_one_out_abs",
    "beam",
)
PUBLISHED_MODEL = "roberta-base"  # stands beside models that the paper does not have
PARTS = {"fine_tuning": "table_6", "masf": "table_7", "evaluation": "table_8"}  # of the walltime
P_OF = {"paper": "p_simes", "released": "p_released", "calibrated": "p_calibrated"}  # by definition
CURVE = ["dataset", "model", "strategy"]


def points(values, records, leave_out=False):
    """The curves' values in each data set's own metric, `flagged`."""
    of_dataset = {dataset: CARD.metric(dataset) for dataset in values.dataset.unique()}
    return flagged(values[values.metric == values.dataset.map(of_dataset)], records, leave_out)


def scores(records, leave_out=False):
    """The metric rows of all records in one DataFrame, with dataset, model and seed, `flagged`."""
    rows = [_unit(r) | row for r in records for row in r["metrics"]]
    return flagged(pd.DataFrame(rows), records, leave_out)


def flagged(frame, records, leave_out=False):
    """The rows with a column `converged`, which records know by seed and strategy.

    leave_out: without the rows of seeds that did not converge. Models by the last part of their name.
    """
    found = {
        (*_unit(r).values(), row["strategy"]): bool(row["value"])
        for r in records
        for row in r["metrics"]
        if row["metric"] == "converged"
    }
    frame = frame.assign(model=[results.slug(model) for model in frame.model])
    keys = zip(frame.dataset, frame.model, frame.seed, frame.strategy, strict=True)
    frame = frame.assign(converged=[found.get(key, True) for key in keys])
    return frame[frame.converged] if leave_out else frame


def load_parts(results_dir, scale, records, part, leave_out=False):
    """The tables <unit>.<part>.parquet beside the records ("masf", "history"), flagged; none may have it."""
    found = results.load_tables(results_dir, scale, PAPER, records, part)
    return found if found.empty else flagged(found, records, leave_out)


def performance(scores):
    """Tables 3 and 10, Figures 2, 3 and 7 to 15: performance with nothing and with everything masked.

    scores: from `scores`. Fractions, higher is better. majority: of always predicting the class that is most
    frequent in train, the baseline where everything is masked. The data set "all" is the mean over those that
    every strategy of the model has been run on, seed by seed, of the seeds that converged on all of them.
    """
    majority = scores[scores.metric == "majority"].groupby(["dataset", "model"]).value.mean()
    own = scores[scores.metric == scores.dataset.map(CARD.metric)]
    paper = papers.published(PAPER, "table_3").merge(
        papers.published(PAPER, "table_2")[["dataset", "majority"]]
    )
    rows = []
    for key, part in own.groupby([*CURVE, "split"], sort=False):
        dataset, model, strategy, split = key
        row = {**dict(zip([*CURVE, "split"], key, strict=True)), "metric": CARD.metric(dataset)} | _seeds(
            part
        )
        for name, masked in (("unmasked", 0), ("all_masked", 100)):
            row |= _with_interval(name, part[part.masked == masked].value)
        row["majority"] = majority.get((dataset, model), np.nan)
        known = _published(paper, dataset, model) if (strategy, split) == (MASKED, "test") else {}
        row |= _ends("published", known) | {"published_model": known.get("model", "")}
        rows.append(row | {"published_majority": known.get("majority", np.nan) / 100})
    return _sorted(pd.DataFrame(rows + _all(own, majority)))


def racu(points, roar=None):
    """Tables 1, 11 and 12: ACU and RACU with intervals, beside the published and Recursive ROAR's RACU.

    ci_low, ci_high: of RACU, which is not clipped here. variant: signed measures can do better than the
    performance of everything masked, so that their RACU may exceed 1. flat counts seeds whose random curve
    hardly falls: there only ACU can be read. roar: from `roar`; its RACU is clipped, as published; roar_of
    says whether it is ours, on the same model, or the published one of RoBERTa-base. Higher is better.
    """
    paper, rows = published_areas(), []
    for row in curves.summary(points, CURVE).to_dict("records"):
        dataset, model, strategy, measure = key = tuple(row[name] for name in (*CURVE, "measure"))
        known = {
            statistic: _published(paper, dataset, model, measure=measure, statistic=statistic)
            if strategy == MASKED
            else {}
            for statistic in ("acu", "racu")
        }
        part = where(points, **dict(zip((*CURVE, "measure"), key, strict=True)))
        rows.append(
            {
                **dict(zip((*CURVE, "measure"), key, strict=True)),
                "variant": variant(measure),
                **{name: row[name] for name in ("acu", "acu_low", "acu_high", "racu")},
                "ci_low": row["racu_low"],
                "ci_high": row["racu_high"],
                "flat": row["flat"],
                **_seeds(part),
                "seeds": row["seeds"],
                "left_out": row["left_out"],
                **_ends("published", known["racu"]),
                "published_acu": _ends("acu", known["acu"])["acu"],
                "published_model": known["racu"].get("model", ""),
                **(of_roar(roar, dataset, model, measure) if strategy == MASKED else {}),
            }
        )
    return _sorted(pd.DataFrame(rows))


def roar(results_dir, scale):
    """Recursive ROAR's RACU at a scale, the rows with recursion; None where there are no records of it."""
    try:
        _, values = results.load(results_dir, scale, recursive_roar.PAPER)
    except FileNotFoundError:
        return None
    table = recursive_roar.racu(recursive_roar.points(values))
    return table[table.recursive.astype(bool)]


def of_roar(roar, dataset, model, measure):
    """Recursive ROAR's RACU of one cell: roar, roar_low, roar_high and roar_of ("ours", "published" or "").

    The paper's SST2 stands beside SST, as in its Table 1.
    """
    if roar is not None:
        own = where(roar, dataset={"sst2": "sst"}.get(dataset, dataset), model=model, measure=measure)
        if len(own):
            names = {"roar": "racu_clipped", "roar_low": "racu_clipped_low", "roar_high": "racu_clipped_high"}
            return {name: own.iloc[0][column] for name, column in names.items()} | {"roar_of": "ours"}
    known = _published(published_roar(), dataset, PUBLISHED_MODEL, measure=measure)
    return _ends("roar", known) | {"roar_of": "published" if known else ""}


def curve_table(points):
    """All curves of Figures 5 and 22 to 25: mean performance over seeds with its interval, one row a step."""
    keys = [*CURVE, "metric", "measure", "step"]
    rows = []
    for key, part in points.groupby(keys, sort=False):
        rows.append(
            {
                **dict(zip(keys, key, strict=True)),
                **_with_interval("value", part.value),
                **_seeds(part),
                "masked_tokens": part.masked_tokens.mean(),
                "unchanged_texts": part.unchanged_texts.mean(),
            }
        )
    return _sorted(pd.DataFrame(rows))


def masf(tests):
    """Figures 4 and 18 to 21: the data set's p-value of being in distribution, by measure and ratio.

    tests: from `load_parts(..., "masf")`. p_simes is Algorithm 2's, p_released the release's, p_calibrated
    that of reference statistics taken out of sample; means over seeds with intervals. share_...: of the n
    examples, those with p < 0.05; 0.05 where nothing is amiss. The measure "validation" is a fresh half of
    the reference, in distribution by construction.
    """
    keys = [*CURVE, "measure", "ratio"]
    rows = []
    for key, part in tests.groupby(keys, sort=False):
        row = dict(zip(keys, key, strict=True))
        for definition, name in P_OF.items():
            own = part[part.definition == definition]
            row |= _with_interval(name, own.p)
            row[name.replace("p_", "share_")] = own.share_below_05.mean()
        rows.append(row | {"n": part.n.mean()} | _seeds(part))
    return _sorted(pd.DataFrame(rows))


def walltime(records):
    """Tables 6 to 9: minutes of fine-tuning, MaSF, evaluation and of each measure, beside the published.

    Means over seeds, on the machine that made the records. A pass that several measures share counts whole
    for each of them, as in the paper, so the measures' sum exceeds what was spent. The published minutes are
    of one NVIDIA V100.
    """
    rows = []
    for r in records:
        for strategy, parts in r["volatile"]["seconds_of_measures"].items():
            rows += [
                _unit(r) | {"strategy": strategy, "part": part, "minutes": seconds / 60}
                for part, seconds in parts.items()
            ]
    keys = [*CURVE, "part"]
    table = (
        pd.DataFrame(rows)
        .groupby(keys, sort=False)
        .agg(minutes=("minutes", "mean"), seeds=("seed", "nunique"))
        .reset_index()
    )
    known = []
    for row in table.itertuples():
        paper = papers.published(PAPER, PARTS.get(row.part, "table_9"))
        given = {} if row.part in PARTS else {"measure": row.part}
        own = row.strategy == MASKED
        known.append(_published(paper, row.dataset, row.model, **given) if own else {})
    return _sorted(
        table.assign(
            published=[row.get("minutes", np.nan) for row in known],
            published_model=[row.get("model", "") for row in known],
        )
    )


def history(epochs):
    """Figures 16 and 17: validation performance by epoch on the unmasked and on the masked copy.

    epochs: from `load_parts(..., "history")`, with a column for each copy.
    """
    keys = [*CURVE, "copy", "epoch"]
    table = epochs.melt([*CURVE, "seed", "epoch", "converged"], ["unmasked", "masked"], "copy").dropna()
    rows = [
        {**dict(zip(keys, key, strict=True)), **_with_interval("value", part.value), **_seeds(part)}
        for key, part in table.groupby(keys, sort=False)
    ]
    return _sorted(pd.DataFrame(rows))


def shown(table, value="racu", strategy=MASKED):
    """Table 1's layout: a row a measure, a column a data set, "ours (published)" in each field."""
    table = table[table.strategy == strategy]
    paper = table[{"racu": "published", "acu": "published_acu"}[value]]
    text = table[value].map("{:.3f}".format) + paper.map(lambda p: f" ({p:.3f})" if p == p else "")
    several = table.groupby("dataset").model.transform("nunique") > 1
    column = table.dataset + np.where(several, ", " + table.model, "")
    wide = table.assign(text=text, column=column).pivot_table(
        index=["measure", "variant"], columns="column", values="text", aggfunc="first", sort=False
    )
    return _sorted(wide.fillna("").reset_index().rename_axis(columns=None))


def variant(measure):
    """ "signed" if a measure tells what speaks for the class from what speaks against it, else "absolute"."""
    return "absolute" if measure.endswith("_abs") or measure.startswith("gradient_l") else "signed"


def named(strategy):
    """How tables and figures call a strategy: section 5.1's name, or what is masked and what chooses."""
    masking, checking = strategy.split("/")
    return STRATEGIES.get(strategy, f"{masking} masked, {checking} chooses")


def of_paper(dataset):
    """The published data set to look up: that which a generated one imitates; SST2 for SST."""
    return {"sst": "sst2"}.get(original(dataset), original(dataset))


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


def _all(own, majority):
    """The rows of "all": test performance averaged over data sets that a model's strategies share."""
    own = own[(own.split == "test") & own.converged]
    rows = []
    for model, of_model in own.groupby("model", sort=False):
        sets = set.intersection(*(set(part.dataset) for _, part in of_model.groupby("strategy")))
        if len(sets) < 2:
            continue
        for strategy, part in of_model[of_model.dataset.isin(sets)].groupby("strategy", sort=False):
            row = {"dataset": "all", "model": model, "strategy": strategy, "split": "test", "metric": "mean"}
            for name, masked in (("unmasked", 0), ("all_masked", 100)):
                wide = part[part.masked == masked].pivot(index="seed", columns="dataset", values="value")
                mean = wide.reindex(columns=sorted(sets)).dropna().mean(axis=1)
                row |= _with_interval(name, mean) | {"seeds": len(mean)}
            row["majority"] = np.mean([majority.get((name, model), np.nan) for name in sets])
            rows.append(row | {"unconverged": 0, "published_model": ""})
    return rows


def _unit(record):
    params = record["params"]
    return {"dataset": params["task"], "model": results.slug(params["model"]), "seed": params["seed"]}


def _seeds(part):
    """How many seeds there are, and how many of them did not converge."""
    return {"seeds": part.seed.nunique(), "unconverged": part.seed[~part.converged].nunique()}


def _with_interval(name, of_seeds):
    mean, low, high = curves.over_seeds(of_seeds) if len(of_seeds) else (np.nan,) * 3
    return {name: mean, f"{name}_low": low, f"{name}_high": high}


def _published(table, dataset, model, **given):
    """The row of a published table, a dict; RoBERTa-base's for a model that it lacks, {} if there is none."""
    model = model if model in set(table.model) else PUBLISHED_MODEL
    rows = where(table, dataset=of_paper(dataset), model=model, **given)
    return rows.iloc[0].to_dict() if len(rows) else {}


def _ends(name, row):
    """A published value and its interval, printed as per cent, as fractions; NaN where there is none."""
    value, plus, minus = (row.get(column, np.nan) / 100 for column in ("value", "plus", "minus"))
    return {name: value, f"{name}_low": value - minus, f"{name}_high": value + plus}


def _sorted(table):
    """Data sets and models as they came, then strategies, splits and measures in the paper's order."""
    return ordered(
        table,
        dataset=(),
        model=(),
        strategy=STRATEGIES,
        split=(),
        measure=MEASURES,
        part=(*PARTS, *MEASURES),
        copy=(),
    )
