"""The tables of Zhao & Aletras 2023 from per-example values: functions from frames to frames.

`values` is what `faithlib.results.load` returns: one row per value, with the columns dataset,
model, seed, example, attribution, baseline ("" = the attribution itself), draw, definition,
perturbation, metric, ratio, value (normalised) and raw (S or C before that). The steps: `aopc` (one
value an example) → `preferences` (Eq. 6 an example, averaged over random draws and seeds) → tables.
An example is the unit of every interval; seeds and draws are averaged first, so an interval does
not cover the training seeds.
"""

import numpy as np
import pandas as pd

from faithlib import papers
from faithlib.metrics.diagnosticity import TIES, indicator
from faithlib.metrics.erasure import RATIOS, rationale
from faithlib.report.tables import original
from faithlib.statistics import mean_interval, monte_carlo_error, rank_sum

PAPER = "soft_metrics"
HARD = {"Soft-NS": "NS", "Soft-NC": "NC"}  # each soft metric and its hard counterpart
METRICS = ("NC", "Soft-NC", "NS", "Soft-NS")  # in the order of Tables 2 and 3
LEVEL_OF_STARS = 0.01
CELL = ["dataset", "definition", "metric", "ratio"]  # a cell of a table, but for attribution
PAIR = [*CELL, "model", "seed", "example"]  # what u and v of Eq. 6 have in common
TABLE_6 = [
    "dataset",
    "attribution",
    "metric",
    "definition",
    "baseline",
    "ties",
    "value",
    "ci_low",
    "ci_high",
    "n",
    "published",
]


def overview(values):
    """What was measured, one row a data set: examples, seeds, attributions, draws and ratios."""
    rows = []
    for (dataset, model), part in _groups(values, ["dataset", "model"]):
        ratios = sorted(set(part.ratio.dropna().astype(float).round(3)[part.definition == "paper"]))
        draws = part.groupby("baseline", observed=True).draw.nunique()
        rows.append(
            {
                "dataset": dataset,
                "model": _slug(model),
                "examples": part.example.nunique(),
                "seeds": part.seed.nunique(),
                "normal draws": draws.get("normal", 0),
                "attributions": part.attribution[part.baseline == ""].nunique(),
                "matched draws": draws.get("matched", 0),
                "definitions": ", ".join(part.definition.unique()),
                "ratios (%)": ", ".join(f"{100 * r:g}" for r in ratios),
            }
        )
    return pd.DataFrame(rows)


def performance(records):
    """Table 1 beside ours: sizes, accuracy and macro F1 in percent (mean and sd over seeds).

    The paper does not say which average of F1 it prints; macro is the stricter reading. The sd has
    n − 1 below, and is empty for one seed.
    """
    rows = [
        {
            "dataset": r["params"]["task"],
            "model": _slug(r["params"]["model"]),
            "seed": r["params"]["seed"],
            "metric": m["metric"],
            "value": m["value"],
            **r["provenance"]["data"]["rows"],
        }
        for r in records
        for m in r["metrics"]
        if m["split"] == "test" and m["metric"] in ("accuracy", "macro_f1")
    ]
    paper = papers.published(PAPER, "table_1").set_index(["dataset", "statistic"])
    table = []
    for (dataset, model), part in _groups(pd.DataFrame(rows), ["dataset", "model"]):
        score = part.pivot(index="seed", columns="metric", values="value") * 100
        row = {"dataset": dataset, "model": model, "seeds": len(score)}
        for split in ("train", "validation", "test"):
            row |= {split: part[split].max(), f"{split}_published": _lookup(paper.value, (dataset, split))}
        row |= {
            "accuracy": score["accuracy"].mean(),
            "macro_f1": score["macro_f1"].mean(),
            "macro_f1_sd": score["macro_f1"].std(ddof=1),
            "f1_published": _lookup(paper.value, (dataset, "f1")),
            "f1_sd_published": _lookup(paper.sd, (dataset, "f1")),
        }
        table.append(row)
    table = pd.DataFrame(table)
    sizes = [c for c in table if c.startswith(("train", "validation", "test"))]
    return table.astype({c: "Int64" for c in sizes})  # empty, not NaN, where nothing is published


def performance_beside(table):
    """Table 1 as printed: "ours (published)" in each field, F1 with its sd where there is one."""

    def field(ours, paper, spread=np.nan, paper_spread=np.nan, digits=0):
        texts = [
            f"{x:.{digits}f}" + (f" ± {s:.{digits}f}" if s == s else "") if x == x else ""
            for x, s in ((ours, spread), (paper, paper_spread))
        ]  # NaN is not itself
        return texts[0] + (f" ({texts[1]})" if texts[1] else "")

    whole = table.astype({c: float for c in table.select_dtypes("Int64") if c != "seeds"})
    shown = table[["dataset", "model", "seeds"]].copy()
    for split in ("train", "validation", "test"):
        shown[split] = [field(*pair) for pair in zip(whole[split], whole[f"{split}_published"], strict=True)]
    shown["accuracy"] = table.accuracy.map("{:.1f}".format)
    f1 = whole[["macro_f1", "f1_published", "macro_f1_sd", "f1_sd_published"]].to_numpy(float)
    shown["F1"] = [field(*row, digits=1) for row in f1]
    return shown


def aopc(values):
    """One value an example: soft metrics as they are, hard ones averaged over the ratios (AOPC).

    The paper's AOPC takes 1, 5, 10, 20 and 50 %; "released" all ratios of its own list. The other
    perturbations are metrics of their own: "Soft-NS (gaussian_scores)".
    """
    values = _named(values)
    counts = values.ratio.isna() | (values.definition == "released")
    counts |= values.ratio.astype(float).round(3).isin(RATIOS)
    keys = [k for k in (*PAIR, "attribution", "baseline", "draw") if k != "ratio"]
    return _mean(values[counts], keys, ["value", "raw"]).assign(ratio=np.nan)


def at_ratios(values):
    """Hard metrics at each ratio on its own, soft ones with ratio NaN: for Figures 2 and 3."""
    values = _named(values)
    return values.assign(ratio=values.ratio.astype(float).round(3))


def preferences(measured):
    """Eq. 6 an example: how often the attribution is preferred to its random baseline.

    measured: from `aopc` or `at_ratios`. Returns one row per cell, attribution, baseline and
    example, with a column per tie rule (strict, half, at_least) in [0, 1], averaged over draws and
    seeds. It compares S and C before normalisation, which never changes their order but leaves NS
    and NC undefined where 1 − S0 = 0. An example without a finite value has no row.
    Raises ValueError where a baseline covers only some of the attribution's examples.
    """
    pairs = _pairs(measured).dropna(subset=list(TIES))
    return _mean(pairs, [*CELL, "attribution", "baseline", "example"], list(TIES))


def diagnosticity(preferred):
    """Table 6 beside ours: diagnosticity of each metric on each data set and attribution.

    All three tie rules; Eq. 6 as written is "strict". value in [0, 1], higher is better, with a
    95 % BCa interval over the n examples; `published` stands at the paper's baseline, "normal".
    """
    rows = []
    for (dataset, definition, metric), part in _groups(preferred, CELL[:3]):
        wide = part.pivot(index="example", columns=["attribution", "baseline"], values=list(TIES))
        wide = wide.dropna()  # a paired table: the same examples in every cell
        for (ties, attribution, baseline), *interval in _intervals(wide):
            cell = [dataset, attribution, metric, definition, baseline, ties]
            rows.append([*cell, *interval, len(wide)])
    table = pd.DataFrame(rows, columns=TABLE_6[:-1])
    known = papers.published(PAPER, "table_6").set_index(["dataset", "attribution", "metric"]).value
    keys = zip(table.dataset.map(_base), table.attribution, table.metric, strict=True)
    table["published"] = [_lookup(known, key) for key in keys]
    table.loc[table.baseline != "normal", "published"] = np.nan
    return table


def wide(diagnostic, definition="paper", baseline="normal", ties="strict"):
    """Table 6 as printed: a line per data set and attribution, "ours [interval] (published)"."""
    chosen = (diagnostic.definition == definition) & (diagnostic.baseline == baseline)
    chosen &= (diagnostic.ties == ties) & diagnostic.metric.isin(METRICS)
    part = diagnostic[chosen]
    paper = part.published.map(lambda p: "" if np.isnan(p) else f" ({p:.3f})")
    interval = [f"{r.value:.3f} [{r.ci_low:.2f}, {r.ci_high:.2f}]" for r in part.itertuples()]
    part = part.assign(text=interval + paper)
    order = [m for m in ("NS", "Soft-NS", "NC", "Soft-NC") if m in set(part.metric)]
    table = part.pivot_table(
        index=["dataset", "attribution"], columns="metric", values="text", aggfunc="first", sort=False
    )
    return table[order].reset_index().rename_axis(columns=None)


def averages(diagnostic, preferred, by):
    """Tables 2 (by="attribution") and 3 (by="dataset") beside ours: means of Table 6, strict ties.

    star: soft differs from hard by the paper's test, a rank-sum on the cells of Table 6, p < .01.
    With fewer than 5 against 5 cells no p falls below .01, so no star can appear. p_examples is the
    same test on the examples. The row "average" has the population sd over its line. A published
    average stands only beside one over the same data sets and attributions.
    """
    strict = diagnostic[(diagnostic.ties == "strict") & diagnostic.metric.isin(METRICS)]
    table = "table_2" if by == "attribution" else "table_3"
    known = papers.published(PAPER, table).set_index(["metric", by])
    other = "dataset" if by == "attribution" else "attribution"
    cells = papers.published(PAPER, "table_6")
    rows = []
    for (definition, baseline), part in _groups(strict, ["definition", "baseline"]):
        whose = (preferred.definition == definition) & (preferred.baseline == baseline)
        examples = preferred[whose]
        mean = part.groupby(["metric", by], sort=False).value.mean()
        same = {k: set(part[k].map(_base)) == set(cells[k]) for k in (by, other)}
        for metric in (m for m in METRICS if m in mean):
            for name in (*mean[metric].index, "average"):
                row = {"definition": definition, "baseline": baseline, "metric": metric, by: name}
                row["value"] = mean[metric].mean() if name == "average" else mean[metric, name]
                spread = mean[metric].std(ddof=0) if len(mean[metric]) > 1 else np.nan
                row["sd"] = spread if name == "average" else np.nan
                row |= _stars(part, examples, metric, by, name)
                row |= {"published": np.nan, "published_star": ""}
                if baseline == "normal" and same[other] and (name != "average" or same[by]):
                    key = (metric, _base(name))
                    row["published"] = _lookup(known.value, key)
                    row["published_star"] = "*" if known.significant.get(key, False) else ""
                rows.append(row)
    return pd.DataFrame(rows)


def beside(averaged, by, definition="paper", baseline="normal"):
    """Tables 2 and 3 as printed: one line a metric, "ours* (published*)" in each field."""
    which = (averaged.definition == definition) & (averaged.baseline == baseline)
    part = averaged[which].copy()
    sd = part.sd.map(lambda x: "" if np.isnan(x) else f" ± {x:.3f}")
    ours = part.value.map("{:.3f}".format) + part.star + sd
    paper = [
        f" ({p:.3f}{s})" if p == p else ""  # NaN is not itself: nothing published
        for p, s in zip(part.published, part.published_star, strict=True)
    ]
    part["text"] = ours + paper
    order = list(dict.fromkeys(part[by]))
    return (
        part.pivot(index="metric", columns=by, values="text")[order]
        .reindex([m for m in METRICS if m in set(part.metric)])
        .reset_index()
        .rename_axis(columns=None)
    )


def faithfulness_by_ratio(values):
    """Figure 2: mean NS and NC at each ratio, per attribution and for the random one.

    Each value is clipped to [0, 1] before averaging: where 1 − S0 is nearly 0, NS and NC run into
    the hundreds, and a few such examples would decide the mean. Examples without a value are left
    out of n. Soft metrics stand with ratio NaN. 95 % interval over examples; draws averaged.
    """
    own = at_ratios(values[values.baseline.isin(["", "normal"])])
    own = own.assign(value=own.value.clip(0, 1))
    mean = _mean(own, [*CELL, "attribution", "example"], "value")
    rows = []
    for (dataset, definition, metric), part in _groups(mean, CELL[:3]):
        wide = part.pivot(index="example", columns=["attribution", "ratio"], values="value")
        wide = wide.dropna()
        for (attribution, ratio), *interval in _intervals(wide):
            rows.append([dataset, attribution, definition, metric, ratio, *interval, len(wide)])
    cell = ["dataset", "attribution", "definition", "metric", "ratio"]
    return pd.DataFrame(rows, columns=[*cell, "value", "ci_low", "ci_high", "n"])


def diagnosticity_by_ratio(preferred):
    """Figure 3: diagnosticity at each ratio, averaged over attributions, strict ties.

    preferred: `preferences(at_ratios(values))`. Soft metrics, which know no ratio, stand with NaN.
    """
    mean = _mean(preferred, [*CELL, "baseline", "example"], "strict")
    rows = []
    for (dataset, definition, metric), part in _groups(mean, CELL[:3]):
        wide = part.pivot(index="example", columns=["baseline", "ratio"], values="strict").dropna()
        for (baseline, ratio), *interval in _intervals(wide):
            rows.append([dataset, definition, metric, baseline, ratio, *interval, len(wide)])
    cell = ["dataset", "definition", "metric", "baseline", "ratio"]
    return pd.DataFrame(rows, columns=[*cell, "value", "ci_low", "ci_high", "n"])


def definitions(diagnostic):
    """What the release's departures do: diagnosticity as in the paper and as released, strict ties.

    One row per data set, metric and baseline, averaged over attributions, with what was published.
    """
    strict = diagnostic[(diagnostic.ties == "strict") & diagnostic.metric.isin(METRICS)]
    keys = ["dataset", "metric", "baseline"]
    table = strict.pivot_table(index=keys, columns="definition", values="value", sort=False)
    table = table.reindex(columns=["paper", "released"])
    table["released - paper"] = table.released - table.paper
    table["published"] = strict.groupby(keys, sort=False).published.mean()
    return table.reset_index().rename_axis(columns=None)


def alternatives(diagnostic):
    """Appendix C: diagnosticity of the other soft perturbations, averaged over attributions."""
    other = ~diagnostic.metric.isin(["NS", "NC"])
    part = diagnostic[other & (diagnostic.ties == "strict") & (diagnostic.definition == "paper")]
    table = part.pivot_table(index=["dataset", "metric"], columns="baseline", values="value", sort=False)
    return table.reset_index().rename_axis(columns=None)


def tie_rules(diagnostic):
    """What counting ties as losses, halves or wins does, averaged over attributions."""
    keys = ["dataset", "metric", "definition", "baseline"]
    table = diagnostic.pivot_table(index=keys, columns="ties", values="value", sort=False)
    table = table.reindex(columns=list(TIES))
    table["tied"] = table.at_least - table.strict
    return table.reset_index().rename_axis(columns=None)


def random_draws(measured):
    """Monte-Carlo error of the random baselines: diagnosticity over everything, draw by draw.

    measured: from `aopc`. error = sd over draws / sqrt(draws); NaN for a single draw.
    """
    keys = ["dataset", "definition", "metric", "baseline"]
    pairs = _pairs(measured)
    by_draw = pairs.groupby([*keys, "draw"], observed=True, sort=False).strict.mean()
    table = _groups(by_draw, keys).agg(["size", "mean", monte_carlo_error])
    table.columns = ["draws", "value", "error"]
    return table.reset_index()


def of_unit(values, record):
    """The values of one record."""
    params = record["params"]
    same = (values.dataset == params["task"]) & (values.model == params["model"])
    return values[same & (values.seed == params["seed"])]


def worked_examples(examples, values, which=None, ratio=0.2):
    """A table like the paper's Table 4: what each metric says of single explanations.

    examples: the texts and scores of one unit, values: that unit's. One row per example and
    attribution, definition "paper", with the rationale: the tokens that the attribution ranks
    highest, 20 % of them, in the order of the text. The random attribution stands below with its
    first draw, and no rationale. which: indices of examples; None takes the one with the largest
    1 − S0, whose normalised values are the best defined.
    """
    own = values[(values.definition == "paper") & values.baseline.isin(["", "normal"])]
    if which is None:
        which = own.groupby("example").denominator.first().nlargest(1).index
    measured = aopc(own[(own.draw == 0) & own.example.isin(which)])
    first = measured[measured.metric.isin(METRICS)]
    wide = first.pivot(index=["example", "attribution"], columns="metric", values="value")
    texts = examples.set_index("example")
    names = [c.removeprefix("scores_") for c in texts if c.startswith("scores_")]
    rows = []
    for example in which:
        text = texts.loc[example]
        scores = {name: np.asarray(text[f"scores_{name}"], float) for name in names}
        maskable = np.any([s != 0 for s in scores.values()], axis=0)  # others are never scored
        for name in (n for n in names if (example, n) in wide.index):
            chosen = np.asarray(text.tokens)[rationale(scores[name], maskable, ratio)]
            rows.append(
                {
                    "example": example,
                    "attribution": name,
                    **wide.loc[(example, name)],
                    "rationale": " ".join(chosen),
                }
            )
        if (example, "random") in wide.index:
            rows.append(
                {
                    "example": example,
                    "attribution": "random",
                    **wide.loc[(example, "random")],
                    "rationale": "",
                }
            )
    columns = ["example", "attribution", *(m for m in METRICS if m in wide), "rationale"]
    return pd.DataFrame(rows, columns=columns)


def _pairs(measured):
    """Every attribution's u against every draw v of its baselines, with Eq. 6 per tie rule."""
    own = measured[measured.baseline == ""].rename(columns={"raw": "u"})
    own = own.drop(columns=["baseline", "draw", "value"])
    sides = []
    for baseline, keys in (("normal", PAIR), ("matched", [*PAIR, "attribution"])):
        draws = measured[measured.baseline == baseline].rename(columns={"raw": "v"})
        draws = draws[[*keys, "draw", "v"]]
        _check_covered(own, draws, keys, baseline)
        sides.append(own.merge(draws, on=keys).assign(baseline=baseline))
    pairs = pd.concat(sides, ignore_index=True)
    for ties in TIES:
        pairs[ties] = indicator(pairs.u, pairs.v, ties)
    return pairs


def _check_covered(own, draws, keys, baseline):
    """A baseline that a data set has, it has for every example: else pairs would go missing."""
    where = [k for k in keys if k not in ("example", "seed", "model")]
    there = draws[where].drop_duplicates()
    wanted = own.merge(there, on=where)[keys].drop_duplicates()
    found = wanted.merge(draws[keys].drop_duplicates(), how="left", indicator=True)
    missing = (found._merge == "left_only").sum()
    if missing:
        raise ValueError(
            f"{missing} values have no {baseline!r} baseline to be compared with: "
            "a unit on disk is incomplete, delete its record and run it again"
        )


def _stars(cells, examples, metric, by, name):
    hard = HARD.get(metric)
    empty = {"star": "", "p_cells": np.nan, "p_examples": np.nan}
    if hard not in set(cells.metric):
        return empty
    if name != "average":
        cells, examples = cells[cells[by] == name], examples[examples[by] == name]
    p = [
        rank_sum(column[frame.metric == metric], column[frame.metric == hard])
        for frame, column in ((cells, cells.value), (examples, examples.strict))
    ]
    return {"star": "*" if p[0] < LEVEL_OF_STARS else "", "p_cells": p[0], "p_examples": p[1]}


def _intervals(wide):
    """(column key, mean, low, high) for each column of a frame of examples × cells."""
    mean, low, high = mean_interval(wide.to_numpy())
    return zip(wide.columns, mean, low, high, strict=True)


def _mean(frame, keys, column):
    return frame.groupby(keys, observed=True, sort=False, dropna=False)[column].mean().reset_index()


def _groups(frame, keys):
    return frame.groupby(keys, observed=True, sort=False)


def _named(values):
    """Perturbations and further models as part of the name: one name for each cell of a table."""
    other = ~values.perturbation.isin(["hard", "bernoulli"])
    metric = values.metric.astype(str)
    metric = metric.where(~other, metric + " (" + values.perturbation.astype(str) + ")")
    models = values.groupby("dataset", observed=True).model.nunique()
    dataset = values.dataset.astype(str)
    several = dataset.map(models) > 1
    dataset = dataset.where(~several, dataset + " (" + values.model.astype(str) + ")")
    return values.assign(metric=metric, dataset=dataset, perturbation="bernoulli")


def _base(dataset):
    """The published data set to look up, for a name that may have a model's in brackets."""
    return original(dataset.split(" (")[0])


def _slug(model):
    return model.rsplit("/", 1)[-1]


def _lookup(series, key):
    return series.get(key, np.nan)
