"""Noiser: from records to the tables of Ghasemi Madani et al. 2025.

`records` and `values` are what `replication.results.load` returns: values have a row per prompt, step,
definition, normalisation, attribution, setting and baseline, with means over draws, and the number of the
prompt's fact. The columns "task" and "method" hold data sets and attributions, as in the paper. Prompts of a
fact are one observation; where every seed has a world of its own, three seeds or more are the unit of
intervals, else the facts. Published numbers are those of the same model, and for a model that the paper has
not the average over its models; beside a generated task there are none.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from faithlib.report import label
from faithlib.report.style import cell_text
from faithlib.scores import RANDOM
from faithlib.tasks.table import generated
from notebooks.attributions.tables import BETTER
from notebooks.noiser import log_ratio
from notebooks.noiser.ratios import BASELINES, MAIN, NOISER, intervals, leads, log_ratios, soft_units, units
from replication import papers, results
from replication import tables as layout
from replication.tables import attribution_order, groups, metric_rows, ordered, select

PAPER = "noiser"
BOUNDINGS = ("random", "none", "l2", "linf", "k_max_per_token", "k_max", "k_min")
# The paper's example of WikiBio is line 4 of the release's prompts.
PRINTED_AS = {"wikitext_prompts": "wikibio"}
TOPS = {1: "table_3", 5: "table_6"}
PROMPTS = {"": "well formed", "malformed-prompts": "as released"}  # by variant of the units
CAPITALS = "capital-world"  # the variant of LongRA's prompts that Figure 2 is of
FAITHFULNESS = ["task", "model", "method", "setting", "definition", "normalisation", "baseline", "soft_ns"]
FAITHFULNESS += ["soft_nc", "log_ratio", "ci_low", "ci_high", "n", "published", "log_ns", "log_nc"]
FAITHFULNESS += ["undefined"]
ANSWERS = ["task", "model", "method", "baseline", "judge", "top", "rate", "rate_ci_low", "rate_ci_high"]
ANSWERS += ["score", "score_all", "min_top_k", "min_ci_low", "min_ci_high", "n"]
ANSWERS += ["published_rate", "published_score"]


def faithfulness(values: pd.DataFrame) -> pd.DataFrame:
    """Tables 1 and 5: ln(NS / NS_baseline) + ln(NC / NC_baseline), under each normalisation.

    Returns:
        A row a method, setting, definition, normalisation and baseline. setting: of Noiser k_min, of
        integrated gradients the baseline of its path. log_ratio: 0 is as faithful as the baseline, higher is
        better. baseline "random": scores of U[0, 1), our choice, since the paper says only "the random
        baseline"; `published` stands beside it where nothing is normalised. "matched": the method's own
        scores in random order, which leaves ranking, not scale. log_ns, log_nc: the parts of log_ratio
        (Table 5). n: prompts in the means; undefined: prompts and steps without a value.
    """
    values = task_columns(values)
    table = _compared(values[values.setting.isin([*MAIN, "token"])])
    _add_published(table, table.setting != "token", "table_1", dataset="task", attribution="method")
    return _sorted(table[FAITHFULNESS])


def by_prompts(values: pd.DataFrame) -> pd.DataFrame:
    """Log ratios with LongRA's prompts as the paper describes them, beside those with the released ones.

    A third of the released prompts are malformed. Rows of `faithfulness` where nothing is normalised, with
    the column `prompts`; none for tasks and models that have no record of both variants.
    """
    values = values[values.variant.isin(PROMPTS)]
    cases = values.groupby(["dataset", "model"]).variant.transform("nunique") == len(PROMPTS)
    parts = [
        faithfulness(part).assign(prompts=PROMPTS[variant])
        for variant, part in values[cases].groupby("variant", sort=True)
    ]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*FAITHFULNESS, "prompts"])
    return table[(table.normalisation == "none") & (table.setting != "token")]


def boundings(values: pd.DataFrame, records: Sequence[dict] = ()) -> pd.DataFrame:
    """Table 2: Noiser with each bounding of its noise, and what the searches found.

    Returns:
        A row a bounding, definition, normalisation and baseline, of the prompts that were scored with all
        boundings (n). Of all that were scored with this one, which may be more: k, mean scale of the noise;
        flipped, share of prompts in which some token flips the prediction within the search, below 1 where k
        is a bound of the search and not of the model.
    """
    values = task_columns(values)
    table = _compared(values[values.attribution.isin(["noiser", RANDOM])])
    _add_published(table, table.task == "knowns", "table_2", bounding="setting")
    measured, keys = _metric_rows(records, ["setting"]), ["task", "model", "setting"]
    for name in ("k", "flipped"):
        means = select(measured, metric=name).groupby(keys).value.mean()
        table[name] = means.reindex(pd.MultiIndex.from_frame(table[keys])).to_numpy()
    columns = [column for column in FAITHFULNESS if column != "method"]
    return _sorted(table)[[*columns, "k", "flipped"]].rename(columns={"setting": "bounding"})


def normalisations(values: pd.DataFrame) -> pd.DataFrame:
    """How far Noiser leads the other methods, and k_min the other boundings, by every way to measure.

    A row a task, model, definition, normalisation, baseline and question ("method" or "bounding"): the best
    other, the lead over it with its interval, and the rank of Noiser, or of k_min, among `of`.
    """
    values, rows = task_columns(values), []
    for (definition, normalisation), part in values.groupby(["definition", "normalisation"], sort=False):
        of_methods, of_noiser = part.setting.isin(MAIN), part.attribution.isin(["noiser", RANDOM])
        for question, kept in {"method": of_methods, "bounding": of_noiser}.items():
            cells = soft_units(part[kept])
            for baseline in BASELINES:
                ratios = log_ratios(cells, baseline)
                lead, _ = leads(ratios, NOISER, lambda column: True)
                for (task, model), interval in intervals(lead, (definition, normalisation)).items():
                    frames = [frame.mean() for case, frame in ratios.items() if case[:2] == (task, model)]
                    means = pd.concat(frames, axis=1).mean(axis=1)
                    other = means.drop(NOISER).idxmax()[question == "bounding"]
                    row = {"task": task, "model": model, "definition": definition}
                    row |= {"normalisation": normalisation, "baseline": baseline, "question": question}
                    row |= {"best_other": other, "lead": interval.value, "ci_low": interval.low}
                    row |= {"ci_high": interval.high, "rank": int((means > means[NOISER]).sum()) + 1}
                    rows.append(row | {"of": len(means)})
    return ordered(pd.DataFrame(rows), task=(), model=(), question=("method", "bounding"))


def draws(table: pd.DataFrame) -> pd.DataFrame:
    """How Noiser's log ratio settles: means of the first 1, 2, 4, 8 and 16 draws.

    table: from `results.load_tables(..., "draws")`. log_ratio: mean over seeds; mc_error: the standard error
    that all draws leave in it.
    """
    names = ["task", "model", "definition", "normalisation", "baseline", "draws"]
    table = task_columns(table)
    kept = [NOISER, (RANDOM, "")]
    pairs = zip(table.attribution, table.setting, strict=True)
    seeds = log_ratio.by_number_of_draws(table[[pair in kept for pair in pairs]], ["task", "model", "seed"])
    by_seed = seeds.groupby(names, sort=False)
    error = by_seed.mc_error.agg(lambda x: np.sqrt((x**2).sum()) / len(x))
    return by_seed.log_ratio.mean().to_frame().assign(mc_error=error).reset_index()


def completeness(records: list[dict]) -> pd.DataFrame:
    """How far integrated gradients are from adding up to the change of the target's probability.

    A row a task, model and baseline of the path ("zero" or "token"): mean and median gap over prompts, means
    over seeds, and the largest of all.
    """
    gaps = select(_metric_rows(records, ["setting", "median", "largest"]), metric="completeness_gap")
    by_case = gaps.groupby(["task", "model", "setting"], sort=False)
    table = by_case.agg(mean=("value", "mean"), median=("median", "mean"), largest=("largest", "max"))
    return table.reset_index().rename(columns={"setting": "path_from"})


def answerability(answers: pd.DataFrame, minimum: pd.DataFrame | None = None) -> pd.DataFrame:
    """Tables 3 and 6 and Figure 3: what a judge makes of the most important half of the words.

    A text's mass does not depend on which words have it: score is scale, rate is ranking, score_all both.

    Args:
        answers, minimum: from `results.load_tables`, rows of `metrics.answerability` with the judge's name
            (and baseline, "matched" for a method's scores in random order).

    Returns:
        A row a method, baseline, judge and top: whether the first answer must be right or one of five. rate:
        share of the n prompts answered, with its interval; score: mean mass of the words shown over those
        answered, as the paper says; score_all: over all prompts, what the release averages and the paper
        prints, so `published_score` stands beside it. min_top_k: mean share of words that the judge needs,
        lower is better, over the prompts it can answer.
    """
    keys, rows = ["task", "model", "attribution", "baseline", "judge"], []
    needed = None if minimum is None or minimum.empty else task_columns(minimum)
    for key, part in groups(task_columns(answers), keys):
        method, published = key["attribution"], key["task"] == "knowns" and not key["baseline"]
        for top, table in TOPS.items():
            each = part.assign(right=part.place.between(1, top).astype(float))
            each["score_all"] = each.mass * each.right
            row = {**key, "method": method, "top": top}
            row |= _over_units(each, "right", "rate", "rate_ci_low", "rate_ci_high")
            row["score"] = each.mass[each.right == 1].mean()
            row["score_all"] = _over_units(each, "score_all")["score_all"]
            row["n"] = len(each[["seed", "example"]].drop_duplicates())
            if needed is not None:
                row |= _minimum(select(needed, **key), top)
            for metric in ("rate", "score") if published else ():
                which = {"attribution": method, "metric": metric}
                row[f"published_{metric}"] = _published(table, key["model"], **which)
            rows.append(row)
    return _sorted(pd.DataFrame(rows).reindex(columns=ANSWERS))


def evidence(values: pd.DataFrame) -> pd.DataFrame:
    """Agreement with known evidence, a row a method: `metrics.plausibility` as in `attributions.tables`."""
    rows = []
    for row, part in groups(task_columns(values), ["task", "model", "attribution"]):
        defined = part.groupby(["seed", "example"]).value.count() > 0
        row |= {"n": defined.sum(), "no_value": (~defined).sum()}
        for metric in BETTER:
            valued = part[(part.metric == metric) & part.value.notna()]
            row |= _over_units(valued, "value", metric, f"{metric}_ci_low", f"{metric}_ci_high")
            row[f"{metric}_chance"] = valued.chance.mean()
        rows.append(row)
    return _sorted(pd.DataFrame(rows).rename(columns={"attribution": "method"}))


def parts(values: pd.DataFrame) -> pd.DataFrame:
    """Figure 2: mean share of each part of a text in a method's scores, from rows of `metrics.parts`.

    A row a method and part, with its interval over n texts. chance: the part's share of the tokens. unscored:
    texts without a share, as all their scores are 0.
    """
    rows = []
    for row, part in groups(task_columns(values), ["task", "model", "attribution", "part"]):
        scored = part.dropna(subset=["share", "chance"])
        row |= _over_units(scored, "share")
        row |= {"chance": scored.chance.mean(), "n": len(scored), "unscored": len(part) - len(scored)}
        rows.append(row)
    return _sorted(pd.DataFrame(rows).rename(columns={"attribution": "method"}))


def prompts(records: list[dict]) -> pd.DataFrame:
    """Table 7: prompts of each task, and how many were kept because the model predicts the gold word.

    A row a task and model; a column a stage, "all", "kept", or why some were left out. Seeds of a generated
    task have prompts of their own: counts are means over seeds.
    """
    counts = select(_metric_rows(records, ["stage"]), metric="prompts")
    table = counts.pivot_table(index=["task", "model"], columns="stage", values="value", sort=False)
    share = {"share": table.kept / table["all"]} if {"all", "kept"} <= set(table) else {}
    table = table.round().astype("Int64").assign(**share).rename_axis(columns=None).reset_index()
    paper = papers.published(PAPER, "table_7")
    paper = (paper.kept / paper.prompts).groupby([paper.dataset, paper.model]).first()
    cases = zip(table.task, table.model, strict=True)
    return table.assign(published=[_or_average(paper.get(task, {}), model) for task, model in cases])


def with_facts(table, values):
    """A table of prompts with the number of each prompt's fact, which `values` have."""
    keys = ["dataset", "model", "seed", "example"]
    return table.merge(values[[*keys, "fact"]].drop_duplicates(), on=keys, how="left")


def as_printed(
    table: pd.DataFrame,
    value: str,
    rows: Sequence[str] = ("method",),
    columns: Sequence[str] = ("task", "model"),
    beside: str = "published",
) -> pd.DataFrame:
    """A table as printed: "ours [interval] (published)" in each field.

    value: its column to print; log_ratio and share have their interval in ci_low and ci_high. rows, columns:
    as `replication.tables.as_printed` takes them. beside: its column of published values, which it may lack.
    """
    cells = table.reindex(columns=[value, "ci_low", "ci_high", beside]).to_numpy(float)
    interval = slice(1, 3 if value in ("log_ratio", "share") else 1)
    texts = [
        cell_text(cell[0], *cell[interval], published=cell_text(cell[3], precision=2), precision=2)
        for cell in cells
    ]
    if "method" in table:
        table = table.assign(method=[label(method) for method in table.method])
    return layout.as_printed(table, texts, rows, columns)


def task_columns(values):
    """Values with the columns task and model as tables have them, and a baseline ("" where there is none)."""
    values = values.rename(columns={"dataset": "task"})
    values["model"] = values.model.map({model: results.slug(model) for model in values.model.unique()})
    if "baseline" not in values:
        values["baseline"] = ""
    return values


def _compared(values):
    """A row for each method, setting and baseline among values: FAITHFULNESS, nothing published yet."""
    rows = []
    for (definition, normalisation), part in values.groupby(["definition", "normalisation"], sort=False):
        by_case = soft_units(part)
        whole = {case: frame.dropna() for case, frame in by_case.items()}  # units that have all cells
        keys = ["task", "model", "attribution", "setting"]
        own_rows = dict(iter(part[part.baseline == ""].groupby(keys, sort=False)))
        means = pd.DataFrame({case: frame.mean() for case, frame in whole.items()})
        with np.errstate(divide="ignore"):
            logs = np.log(means)
        names = {"definition": definition, "normalisation": normalisation}
        for baseline in BASELINES:
            ratios = log_ratios(whole, baseline)
            for column in dict.fromkeys(column for frame in ratios.values() for column in frame):
                of = {case: frame[column] for case, frame in ratios.items() if column in frame}
                other = (*column, baseline) if baseline == "matched" else (RANDOM, "", RANDOM)
                for (task, model), interval in intervals(of, (*names.values(), *column)).items():
                    seeds = [case for case in of if case[:2] == (task, model)]
                    ours = own_rows[task, model, *column]
                    row = {"task": task, "model": model, "method": column[0], "setting": column[1], **names}
                    row |= {"baseline": baseline, "ci_low": interval.low, "ci_high": interval.high}
                    for name in ("ns", "nc"):
                        cell, theirs = ((f"soft_{name}", *c) for c in ((*column, ""), other))
                        row[f"soft_{name}"] = means.loc[cell, seeds].mean()
                        row[f"log_{name}"] = (logs.loc[cell, seeds] - logs.loc[theirs, seeds]).mean()
                    row["log_ratio"] = row["log_ns"] + row["log_nc"]
                    if not np.isfinite(row["log_ratio"]):  # a mean of 0
                        row |= {"ci_low": np.nan, "ci_high": np.nan}
                    row["undefined"] = int(ours.soft_nc.isna().sum())
                    rows.append(row | {"n": _prompts_of(ours, {case: whole[case] for case in seeds})})
    return pd.DataFrame(rows).assign(published=np.nan)


def _prompts_of(rows, cases):
    """How many prompts of `rows` are in the units of {(task, model, seed): DataFrame units × cells}."""
    unit, made = "fact" if "fact" in rows else "example", bool(generated(rows.task).any())
    parts = [rows[rows[unit].isin(of.index) & ((rows.seed == s) | ~made)] for (*_, s), of in cases.items()]
    return len(pd.concat(parts)[["seed", "example"]].drop_duplicates())


def _metric_rows(records, columns):
    rows = metric_rows(records, ["metric", "value", *columns])
    return rows.rename(columns={"dataset": "task"})


def _sorted(table):
    """Tasks and models as they came, then methods and boundings in the paper's order, random ones last."""
    methods = attribution_order(papers.published(PAPER, "table_1").attribution, baseline_last=True)
    return ordered(table, task=(), model=(), method=methods, setting=("", *BOUNDINGS, "zero", "token"))


def _minimum(needed, top):
    """Mean share of words that the judge needs for one method; without a column `top` of its first answer."""
    needed = needed[needed.top == top] if "top" in needed else needed[[top == 1] * len(needed)]
    return _over_units(needed.dropna(subset="share"), "share", "min_top_k", "min_ci_low", "min_ci_high")


def _over_units(rows, value, name="", low="ci_low", high="ci_high"):
    """The mean of a value of one method on one task and model, and its 95 % interval: {name, low, high}.

    The unit is that of `ratios.units` and `ratios.intervals`; NaN where there is none.
    """
    cases = {case: frame["all"] for case, frame in units(rows.assign(cell="all"), "cell", value).items()}
    ends = (np.nan,) * 3
    if cases:
        (interval,) = intervals(cases, (value, name)).values()
        ends = interval.value, interval.low, interval.high
    return dict(zip((name or value, low, high), ends, strict=True))


def _add_published(table, wanted, name, **columns):
    """Write `published` where it is wanted; columns: {column of the printed table: of ours}."""
    for i, row in table[wanted & (table.baseline == RANDOM) & (table.normalisation == "none")].iterrows():
        which = {theirs: row[ours] for theirs, ours in columns.items()}
        table.loc[i, "published"] = _published(name, row["model"], **which)


def _published(table, model, **which):
    """The printed value of the model, else the average over models without copied cells; NaN for none."""
    whole = papers.published(PAPER, table)
    if "dataset" in which:
        which["dataset"] = PRINTED_AS.get(which["dataset"], which["dataset"])
        whole = select(whole, dataset=which["dataset"])
    copied = set(whole.model[whole.copied]) if "copied" in whole else set()
    frame = select(whole, **which)
    values = frame.value.mask(frame.copied) if "copied" in frame else frame.value
    return _or_average(values.set_axis(frame.model), model, copied)


def _or_average(values, model, copied=()):
    """The value of the model, else the average over those of which nothing is copied; NaN for none."""
    if model in values:
        return values[model]
    if not copied and "average" in values:
        return values["average"]
    rest = values.drop(["average", *copied], errors="ignore") if len(values) else values
    return float(np.mean(rest)) if len(rest) else np.nan
