"""Noiser: from records to the tables of Ghasemi Madani et al. 2025.

`values` is what `faithlib.results.load` returns: a row per prompt, step and draw, with the columns dataset,
model, seed and those of `metrics.log_ratio.measure`, and bounding ("" but for Noiser). A prompt is the unit
of all that is said: its steps, draws and seeds are averaged first. Tables call a data set a task and an
attribution a method, as issue and paper do. Published numbers are those of the same model, and for a model
that the paper has not the average over its models; a generated task's are those of the one it imitates.
"""

import numpy as np
import pandas as pd

from faithlib import papers, results
from faithlib.metrics import log_ratio
from faithlib.papers.attributions import tables as attributions
from faithlib.report import label
from faithlib.report.tables import ordered, original, where
from faithlib.statistics import mean_interval

PAPER = "noiser"
METHODS = (
    "attention",
    "attention_rollout",
    "gradient_shap",
    "input_x_gradient",
    "integrated_gradients",
    "deeplift",
    "sequential_integrated_gradients",
    "lime",
    "leave_one_out",
    "noiser",
    "random",
)
BOUNDINGS = ("random", "none", "l2", "linf", "k_max_per_token", "k_max", "k_min")
NAMES = {
    "attention": "last attention",
    "attention_rollout": "rollout",
    "gradient_shap": "GradientSHAP",
    "sequential_integrated_gradients": "SIG",
    "leave_one_out": "occlusion",
    "noiser": "Noiser",
    "input_x_gradient": "x∇x",
}
TOPS = {1: "table_3", 5: "table_6"}
FAITHFULNESS = [
    "task",
    "model",
    "method",
    "bounding",
    "definition",
    "baseline",
    "soft_ns",
    "soft_nc",
    "log_ratio",
    "ci_low",
    "ci_high",
    "n",
    "published",
    "log_ns",
    "log_nc",
    "mc_error",
    "undefined",
]
ANSWERS = [
    "task",
    "model",
    "method",
    "baseline",
    "judge",
    "top",
    "rate",
    "rate_ci_low",
    "rate_ci_high",
    "score",
    "score_all",
    "min_top_k",
    "min_ci_low",
    "min_ci_high",
    "n",
    "published_rate",
    "published_score",
]


def faithfulness(values):
    """Tables 1, 2 and 5: ln(NS / NS_baseline) + ln(NC / NC_baseline), one row a method and baseline.

    0 is as faithful as the baseline, higher is better; 95 % percentile intervals over the n prompts. baseline
    "random" is the paper's and has `published` beside it, "matched" the method's own scores in random order:
    what is left there is ranking, not scale. log_ns, log_nc: the parts of log_ratio (Table 5). mc_error: what
    the baseline's draws leave. undefined: prompts without a value.
    """
    table = log_ratio.faithfulness(named(values), within=["task", "model"])
    table = table.rename(columns={"attribution": "method"})
    table["published"] = [_published_log_ratio(row) for row in table.itertuples()]
    return _sorted(table[FAITHFULNESS])


def boundings(table, records=()):
    """Table 2: Noiser with each bounding of its noise, from `faithfulness`, and what the searches found.

    k: mean scale of the noise; flipped: share of prompts in which some token flips the prediction within the
    search, below 1 where k is a bound of the search and not of the model. Both from rows {"metric": "k" or
    "flipped", "bounding", "value"} of records, averaged over seeds; NaN where there are none.
    """
    found = metrics(records)
    table = table[table.method == "noiser"]
    for name in ("k", "flipped"):
        known = found[found.metric == name].groupby(["task", "model", "bounding"]).value.mean()
        keys = pd.MultiIndex.from_frame(table[["task", "model", "bounding"]])
        table = table.assign(**{name: known.reindex(keys).to_numpy()})
    return table.drop(columns="method").reset_index(drop=True)


def answerability(answers, minimum=None):
    """Tables 3 and 6 and Figure 3: what a judge makes of the most important half of the words.

    answers, minimum: from `results.load_tables`, rows of `metrics.answerability` with the judge's name (and
    baseline, "matched" for a method's scores in random order). top: whether the first answer must be right
    or one of five. rate: share of the n prompts answered, with its interval; score: mean mass of the words
    shown over those answered, as the paper says; score_all: over all prompts, what the release averages and
    the paper prints, so `published_score` stands beside it. A text's mass does not depend on which words
    have it: score is scale, rate is ranking, score_all both. min_top_k: mean share of words that the judge
    needs, lower is better, over the prompts it can answer.
    """
    keys, rows = ["task", "model", "attribution", "baseline", "judge"], []
    answers, minimum = named(answers), None if minimum is None or minimum.empty else named(minimum)
    for key, part in answers.groupby(keys, sort=False):
        task, model, method, baseline, judge = key
        for top, table in TOPS.items():
            each = part.assign(right=part.place.between(1, top).astype(float))
            each["score_all"] = each.mass * each.right
            rate, low, high = mean_interval(_by_prompt(each, "right"))
            row = {
                "task": task,
                "model": model,
                "method": method,
                "baseline": baseline,
                "judge": judge,
                "top": top,
                "rate": rate,
                "rate_ci_low": low,
                "rate_ci_high": high,
                "score": each.mass[each.right == 1].mean(),
                "score_all": _by_prompt(each, "score_all").mean(),
                "n": part.example.nunique(),
            }
            if minimum is not None:
                row |= _minimum(minimum, dict(zip(keys, key, strict=True)), top)
            for metric in ("rate", "score"):
                known = original(task) == "knowns" and not baseline
                row[f"published_{metric}"] = (
                    _published(table, model, attribution=method, metric=metric) if known else np.nan
                )
            rows.append(row)
    return _sorted(pd.DataFrame(rows).reindex(columns=ANSWERS))


def evidence(values):
    """Agreement with known evidence, one row a method: `report.attributions.evidence`, columns renamed."""
    table = attributions.evidence(values).rename(columns={"dataset": "task", "attribution": "method"})
    return _sorted(table)


def parts(values):
    """Figure 2: mean share of each part of a text in a method's scores, with its interval over n texts.

    values: rows of `metrics.parts`. chance: the part's share of the tokens. unscored: texts without a share,
    as all their scores are 0.
    """
    rows = []
    for key, part in named(values).groupby(["task", "model", "attribution", "part"], sort=False):
        each = part.groupby("example")[["share", "chance"]].mean()
        known = each.dropna()
        share, low, high = mean_interval(known.share) if len(known) else [np.nan] * 3
        rows.append(
            {
                **dict(zip(["task", "model", "method", "part"], key, strict=True)),
                "share": share,
                "ci_low": low,
                "ci_high": high,
                "chance": known.chance.mean(),
                "n": len(known),
                "unscored": len(each) - len(known),
            }
        )
    return _sorted(pd.DataFrame(rows))


def prompts(records):
    """Table 7: prompts of each task, and how many were kept because the model predicts the gold word.

    From rows {"metric": "prompts", "stage", "value"} of records; stage "all", "kept", or why some were left
    out. Seeds of a generated task have prompts of their own: counts are means over seeds.
    """
    found = metrics(records)
    found = found[found.metric == "prompts"]
    table = found.pivot_table(index=["task", "model"], columns="stage", values="value", sort=False)
    table = table.round().astype("Int64").rename_axis(columns=None).reset_index()
    if {"all", "kept"} <= set(table):
        table["share"] = table.kept / table["all"]
    paper = papers.published(PAPER, "table_7")
    paper = (paper.kept / paper.prompts).groupby([paper.dataset, paper.model]).first()
    table["published"] = [
        _or_average(paper.get(original(task), {}), model)
        for task, model in zip(table.task, table.model, strict=True)
    ]
    return table


def shown(table, value, rows=("method",), columns=("task", "model"), known="published"):
    """A table as printed: "ours [interval] (published)" in each field.

    value: the column that is shown, its interval in ci_low and ci_high where `value` is log_ratio or share;
    brackets are missing where no interval could be drawn.
    """
    text = table[value].map("{:.2f}".format)
    if value in ("log_ratio", "share"):
        bounds = zip(table.ci_low, table.ci_high, strict=True)
        text = text + [f" [{low:.2f}, {high:.2f}]" if low == low else "" for low, high in bounds]
    if known in table:
        text = text + table[known].map(lambda p: f" ({p:.2f})" if p == p else "")  # NaN is not itself
    table = table.assign(text=text, method=[name(m) for m in table.method] if "method" in table else "")
    wide = table.pivot_table(
        index=list(rows), columns=list(columns), values="text", aggfunc="first", sort=False
    )
    wide.columns = [", ".join(map(str, c)) if isinstance(c, tuple) else c for c in wide.columns]
    return wide.fillna("").reset_index()


def metrics(records):
    """The metric rows of all records in one DataFrame, with task, model and seed; NaN where absent."""
    rows = []
    for params, found in ((r["params"], r["metrics"]) for r in records):
        unit = {"task": params["task"], "model": results.slug(params["model"]), "seed": params["seed"]}
        rows += [unit | row for row in found]
    return pd.DataFrame(rows, columns=["task", "model", "seed", "metric", "stage", "bounding", "value", "n"])


def named(values):
    """Values with the columns task and model as tables have them, and a baseline ("" where there is none)."""
    values = values.rename(columns={"dataset": "task"})
    values["model"] = [results.slug(model) for model in values.model]
    if "baseline" not in values:
        values["baseline"] = ""
    return values


def name(method):
    """A method's name as this paper's tables and figures print it."""
    return NAMES.get(method, label(method))


def _sorted(table):
    """Tasks and models as they came, then methods and boundings in the paper's order."""
    return ordered(table, task=(), model=(), method=METHODS, bounding=("", *BOUNDINGS))


def _by_prompt(values, column):
    return values.groupby("example")[column].mean()


def _minimum(minimum, key, top):
    minimum = where(minimum, **key)
    minimum = minimum[minimum.top == top] if "top" in minimum else minimum[[top == 1] * len(minimum)]
    known = minimum.dropna(subset="share")
    found = mean_interval(_by_prompt(known, "share")) if len(known) else [np.nan] * 3
    return dict(zip(["min_top_k", "min_ci_low", "min_ci_high"], found, strict=True))


def _published_log_ratio(row):
    if row.baseline != "random":
        return np.nan
    if row.bounding in ("", "k_min"):
        return _published("table_1", row.model, dataset=original(row.task), attribution=row.method)
    if original(row.task) != "knowns":
        return np.nan
    return _published("table_2", row.model, bounding=row.bounding)


def _published(table, model, **given):
    """The printed value of the model, or the printed average; NaN where there is none or it was copied."""
    frame = where(papers.published(PAPER, table), **given)
    values = frame.value.mask(frame.copied) if "copied" in frame else frame.value
    return _or_average(values.set_axis(frame.model), model)


def _or_average(values, model):
    if model in values:
        return values[model]
    if "average" in values:
        return values["average"]
    return float(np.mean(values)) if len(values) else np.nan
