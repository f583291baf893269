"""Noiser: from records to the tables of Ghasemi Madani et al. 2025.

`values` is what `faithlib.results.load` returns: a row per prompt, step and draw, with the columns dataset,
model, seed and those of `metrics.log_ratio.measure`, and bounding ("" but for Noiser). A prompt is the unit
of all intervals: its steps, draws and seeds are averaged first. The columns "task" and "method" hold data
sets and attributions, as in the paper. Published numbers are those of the same model, and for a model that
the paper has not the average over its models; beside a generated task there are none.
"""

import re

import numpy as np
import pandas as pd

from faithlib import papers, results
from faithlib.corpora.world import COUNTRIES, PEOPLE
from faithlib.metrics import log_ratio
from faithlib.papers.attributions import tables as attributions
from faithlib.report import label
from faithlib.report import tables as layout
from faithlib.report.tables import (
    attribution_order,
    cell_text,
    groups,
    metric_rows,
    ordered,
    over_examples,
    select,
)
from faithlib.scores import RANDOM
from faithlib.tasks.table import TASKS

PAPER = "noiser"
BOUNDINGS = ("random", "none", "l2", "linf", "k_max_per_token", "k_max", "k_min")
TOPS = {1: "table_3", 5: "table_6"}
FAITHFULNESS = ["task", "model", "method", "bounding", "definition", "baseline", "soft_ns", "soft_nc"]
FAITHFULNESS += ["log_ratio", "ci_low", "ci_high", "n", "published", "log_ns", "log_nc", "mc_error"]
FAITHFULNESS += ["undefined"]
ANSWERS = ["task", "model", "method", "baseline", "judge", "top", "rate", "rate_ci_low", "rate_ci_high"]
ANSWERS += ["score", "score_all", "min_top_k", "min_ci_low", "min_ci_high", "n"]
ANSWERS += ["published_rate", "published_score"]


def faithfulness(values):
    """Tables 1, 2 and 5: ln(NS / NS_baseline) + ln(NC / NC_baseline).

    Args:
        values: from `results.load`.

    Returns:
        A row a method and baseline. log_ratio: 0 is as faithful as the baseline, higher is better; 95 %
        percentile intervals over the n prompts. baseline "random": scores of U[0, 1), our choice, since the
        paper says only "the random baseline"; `published` stands beside it. "matched": the method's own
        scores in random order, which leaves ranking, not scale.
        log_ns, log_nc: the parts of log_ratio (Table 5). mc_error: what the baseline's draws leave.
        undefined: prompts without a value.
    """
    table = log_ratio.faithfulness(task_columns(values), within=["task", "model"])
    table = table.rename(columns={"attribution": "method"})
    table["published"] = [_published_log_ratio(row) for row in table.itertuples()]
    return _sorted(table[FAITHFULNESS])


def boundings(table, records=()):
    """Table 2: Noiser with each bounding of its noise, and what the searches found.

    Args:
        table: from `faithfulness`.
        records: from `results.load`, with rows {"metric": "k" or "flipped", "bounding", "value"}.

    Returns:
        The rows of Noiser with means over seeds, NaN where there are none. k: mean scale of the noise;
        flipped: share of prompts in which some token flips the prediction within the search, below 1 where
        k is a bound of the search and not of the model.
    """
    found = _metric_rows(records, ["bounding"])
    keys = ["task", "model", "bounding"]
    table = table[table.method == "noiser"]
    for name in ("k", "flipped"):
        known = select(found, metric=name).groupby(keys).value.mean()
        table = table.assign(**{name: known.reindex(pd.MultiIndex.from_frame(table[keys])).to_numpy()})
    return table.drop(columns="method").reset_index(drop=True)


def answerability(answers, minimum=None):
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
            by_prompt = each.groupby("example")[["right", "score_all"]].mean()
            row = {**key, "method": method, "top": top}
            row |= over_examples(by_prompt.right, "rate", "rate_ci_low", "rate_ci_high")
            row["score"] = each.mass[each.right == 1].mean()
            row["score_all"] = by_prompt.score_all.mean()
            row["n"] = len(by_prompt)
            if needed is not None:
                row |= _minimum(select(needed, **key), top)
            for metric in ("rate", "score") if published else ():
                row[f"published_{metric}"] = _published(
                    table, key["model"], attribution=method, metric=metric
                )
            rows.append(row)
    return _sorted(pd.DataFrame(rows).reindex(columns=ANSWERS))


def evidence(values):
    """Agreement with known evidence, a row a method: as `papers.attributions.tables.evidence` has it."""
    table = attributions.evidence(values).rename(columns={"dataset": "task", "attribution": "method"})
    return _sorted(table)


def parts(values):
    """Figure 2: mean share of each part of a text in a method's scores.

    Args:
        values: rows of `metrics.parts`.

    Returns:
        A row a method and part, with its interval over n texts. chance: the part's share of the tokens.
        unscored: texts without a share, as all their scores are 0.
    """
    rows = []
    for row, part in groups(task_columns(values), ["task", "model", "attribution", "part"]):
        each = part.groupby("example")[["share", "chance"]].mean()
        known = each.dropna()
        row |= over_examples(known.share, "share")
        rows.append(
            row | {"chance": known.chance.mean(), "n": len(known), "unscored": len(each) - len(known)}
        )
    return _sorted(pd.DataFrame(rows).rename(columns={"attribution": "method"}))


def prompts(records):
    """Table 7: prompts of each task, and how many were kept because the model predicts the gold word.

    Args:
        records: from `results.load`, with rows {"metric": "prompts", "stage", "value"}; stage "all", "kept",
            or why some were left out.

    Returns:
        A row a task and model. Seeds of a generated task have prompts of their own: counts are means over
        seeds.
    """
    found = select(_metric_rows(records, ["stage"]), metric="prompts")
    table = found.pivot_table(index=["task", "model"], columns="stage", values="value", sort=False)
    table = table.round().astype("Int64").rename_axis(columns=None).reset_index()
    if {"all", "kept"} <= set(table):
        table["share"] = table.kept / table["all"]
    paper = papers.published(PAPER, "table_7")
    paper = (paper.kept / paper.prompts).groupby([paper.dataset, paper.model]).first()
    table["published"] = [
        _or_average(paper.get(task, {}), model) for task, model in zip(table.task, table.model, strict=True)
    ]
    return table


def facts(examples):
    """Which prompts of a generated world ask for the same fact, and so are one observation.

    Args:
        examples: from `results.load_tables(..., "examples")`: tokens and target of each prompt and step; a
            column `fact`, where records have it, is taken as it is.

    Returns:
        DataFrame with columns task, seed, example and fact: the names that stand outside brackets and, where
        one word is explained, that word. Prompts of other tasks have no row.
    """
    columns = ["task", "seed", "example", "fact"]
    if not len(examples):
        return pd.DataFrame(columns=columns)
    table = examples.rename(columns={"dataset": "task"})
    table = table[[task in TASKS and TASKS[task].generated for task in table.task]]
    if "fact" not in table:
        table = table.assign(fact=[_names(tokens) for tokens in table.tokens])
        steps = table.groupby(["task", "seed", "example"]).target.transform("size")
        words = table.target.astype(str).where(steps == 1, "")
        table["fact"] = (table.fact + " " + words).where(table.fact != "", table.example.astype(str))
    return table[columns].drop_duplicates(columns[:3])


def _names(tokens):
    """The names of a prompt of a generated world, without those of a distractor in brackets."""
    text = re.sub(r"\(.*?\)", " ", " ".join(map(str, tokens)))
    return " ".join(sorted({word for word in text.split() if word in {*PEOPLE, *COUNTRIES}}))


def as_printed(table, value, rows=("method",), columns=("task", "model"), known="published"):
    """A table as printed: "ours [interval] (published)" in each field.

    Args:
        table: from `faithfulness`, `boundings`, `answerability` or `parts`.
        value: its column to print; log_ratio and share have their interval in ci_low and ci_high.
        rows, columns: lists of its columns, as `report.tables.as_printed` takes them.
        known: its column of published values, which it may lack.
    """
    cells = table.reindex(columns=[value, "ci_low", "ci_high", known]).to_numpy(float)
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
    values["model"] = [results.slug(model) for model in values.model]
    if "baseline" not in values:
        values["baseline"] = ""
    return values


def _metric_rows(records, columns):
    found = metric_rows(records, ["metric", "value", *columns])
    return found.rename(columns={"dataset": "task"})


def _sorted(table):
    """Tasks and models as they came, then methods and boundings in the paper's order, random ones last."""
    methods = attribution_order(papers.published(PAPER, "table_1").attribution, baseline_last=True)
    return ordered(table, task=(), model=(), method=methods, bounding=("", *BOUNDINGS))


def _minimum(needed, top):
    """Mean share of words that the judge needs for one method; without a column `top` of its first answer."""
    needed = needed[needed.top == top] if "top" in needed else needed[[top == 1] * len(needed)]
    shares = needed.dropna(subset="share").groupby("example").share.mean()
    return over_examples(shares, "min_top_k", "min_ci_low", "min_ci_high")


def _published_log_ratio(row):
    if row.baseline != RANDOM:
        return np.nan
    if row.bounding in ("", "k_min"):
        return _published("table_1", row.model, dataset=row.task, attribution=row.method)
    if row.task != "knowns":
        return np.nan
    return _published("table_2", row.model, bounding=row.bounding)


def _published(table, model, **given):
    """The printed value of the model, or the printed average; NaN where there is none or it was copied."""
    frame = select(papers.published(PAPER, table), **given)
    values = frame.value.mask(frame.copied) if "copied" in frame else frame.value
    return _or_average(values.set_axis(frame.model), model)


def _or_average(values, model):
    if model in values:
        return values[model]
    if "average" in values:
        return values["average"]
    return float(np.mean(values)) if len(values) else np.nan
