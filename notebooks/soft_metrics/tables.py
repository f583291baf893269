"""The tables of Zhao & Aletras 2023 from per-example values.

`records` and `values` are what `replication.results.load` returns: values have one row per value, with the
columns dataset, model, seed, example, attribution, baseline ("" = the attribution itself), draw, definition,
option ("" = the main setting), perturbation, draws, metric, ratio, raw (S or C) and denominator (1 − S0). The
steps: `aopc` (one value an example) → `preferences` (Eq. 6 an example, averaged over random draws and seeds)
→ `diagnosticity` and other tables. An example is the unit of every interval of a cell; seeds and draws are
averaged first. Claims know seeds.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from faithlib.metrics.diagnosticity import TIES, indicator
from faithlib.metrics.erasure import RATIOS, normalised_comprehensiveness, normalised_sufficiency
from faithlib.report.style import cell_text
from faithlib.statistics import rank_sum
from replication import papers, results
from replication import tables as shared

PAPER = "soft_metrics"
HARD = {"Soft-NS": "NS", "Soft-NC": "NC"}  # each soft metric and its hard counterpart
METRICS = ("NC", "Soft-NC", "NS", "Soft-NS")  # in the order of Tables 2 and 3
LEVEL_OF_STARS = 0.01
HIGHER, LOWER = "*", "†"  # soft differs from hard; the paper has one star for both
CELL = ["dataset", "definition", "metric", "ratio"]  # a cell of a table, but for attribution
PAIR = [*CELL, "model", "seed", "example"]  # what u and v of Eq. 6 have in common
SOURCE = ["attribution", "baseline", "draw"]  # whose scores a value is of
TABLE_6 = ["dataset", "attribution", "metric", "definition", "baseline", "ties"]
TABLE_6 += ["value", "ci_low", "ci_high", "n", "published"]


def overview(values: pd.DataFrame) -> pd.DataFrame:
    """What was measured, one row a data set: examples, seeds, attributions, draws and ratios."""
    rows = []
    for row, part in shared.groups(values, ["dataset", "model"]):
        ratios = sorted(set(part.ratio.dropna().astype(float).round(3)))
        row |= {
            "model": results.slug(row["model"]),
            "examples": part.example.nunique(),
            "with choices varied": part.example[part.varied].nunique(),
            "seeds": part.seed.nunique(),
            "attributions": part.attribution[part.baseline == ""].nunique(),
            "soft draws": part.draws.max(),
            "random draws": part.draw[part.baseline == "normal"].nunique(),
            "definitions": ", ".join(part.definition.unique()),
            "ratios (%)": ", ".join(f"{100 * r:g}" for r in ratios),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def performance(records: list[dict]) -> pd.DataFrame:
    """Table 1 beside ours: sizes, accuracy and macro F1 in percent, mean and sd (n − 1) over seeds.

    The paper does not say which average of F1 it prints; macro is the stricter reading.
    """
    paper = papers.published(PAPER, "table_1")
    sizes = pd.DataFrame([shared.unit_columns(r) | r["provenance"]["data"]["rows"] for r in records])
    keys = ["dataset", "model"]
    sizes = sizes.drop(columns="seed").groupby(keys).max()
    rows = []
    for row, part in shared.groups(shared.select(shared.metric_rows(records), split="test"), keys):
        score = part.pivot(index="seed", columns="metric", values="value") * 100
        published = shared.select(paper, dataset=row["dataset"]).set_index("statistic")
        row["seeds"] = len(score)
        for split in ("train", "validation", "test"):
            row[split] = sizes[split][row["dataset"], row["model"]]
            row[f"{split}_published"] = published.value.get(split, np.nan)
        row |= {
            "accuracy": score["accuracy"].mean(),
            "macro_f1": score["macro_f1"].mean(),
            "macro_f1_sd": score["macro_f1"].std(ddof=1),
            "f1_published": published.value.get("f1", np.nan),
            "f1_sd_published": published.sd.get("f1", np.nan),
        }
        rows.append(row)
    table = pd.DataFrame(rows)
    counts = [c for c in table if c.startswith(("train", "validation", "test"))]
    return table.astype({c: "Int64" for c in counts})  # empty, not NaN, where nothing is published


def performance_as_printed(table: pd.DataFrame) -> pd.DataFrame:
    """Table 1 as printed: "ours (published)" in each field, F1 with its sd where there is one."""
    whole = table.astype({c: float for c in table.select_dtypes("Int64") if c != "seeds"})
    printed = table[["dataset", "model", "seeds"]].copy()
    for split in ("train", "validation", "test"):
        rows = whole[[split, f"{split}_published"]].to_numpy(float)
        printed[split] = [cell_text(n, published=cell_text(of, precision=0), precision=0) for n, of in rows]
    printed["accuracy"] = table.accuracy.map("{:.1f}".format)
    f1 = whole[["macro_f1", "macro_f1_sd", "f1_published", "f1_sd_published"]].to_numpy(float)
    printed["F1"] = [
        cell_text(ours, sd=sd, published=cell_text(paper, sd=paper_sd, precision=1), precision=1)
        for ours, sd, paper, paper_sd in f1
    ]
    return printed


def main_setting(values, draws=None):
    """The rows of the main setting, soft metrics with all draws, or with the mean of the first `draws`."""
    main = values[values.option == ""]
    of = ["dataset", "model", "seed", "definition", "perturbation"]
    wanted = main.groupby(of, observed=True).draws.transform("max")
    return main[main.draws == (wanted if draws is None else wanted.clip(upper=draws))]


def aopc(values: pd.DataFrame, draws: int | None = None) -> pd.DataFrame:
    """One value an example: soft metrics as they are, hard ones averaged over the ratios (AOPC), ratio NaN.

    The means are over 1, 5, 10, 20 and 50 %, as in the paper, and of definition "released" over all ratios of
    its own list. Other perturbations are metrics of their own: "Soft-NS (gaussian_scores)". draws: as in
    `main_setting`.
    """
    return _over_ratios(main_setting(values, draws))


def with_option(values, main, option):
    """`aopc` with an option of the card that was measured, of the texts on which it was varied.

    main: aopc(values): what the option leaves as it is has the main setting's values.
    """
    changed = _over_ratios(values[values.option == option])
    varied = values[values.varied & values.definition.isin(changed.definition.unique())]
    varied = varied[["dataset", "model", "seed", "example", "definition"]].drop_duplicates()
    varied["dataset"] = _with_models(varied)
    both = pd.concat([changed, main.merge(varied)], ignore_index=True)
    return both.drop_duplicates([*PAIR, *SOURCE], ignore_index=True)


def at_ratios(values: pd.DataFrame) -> pd.DataFrame:
    """Hard metrics at each ratio on its own, soft ones with ratio NaN: for Figures 2 and 3."""
    main = main_setting(values[values.definition == "paper"])
    return _with_names(main.assign(ratio=main.ratio.astype(float).round(3)))


def normalised(measured):
    """NS and NC of Equations 1 and 2 from S or C and 1 − S0; as released already so: a Series."""
    s_zero = 1 - measured.denominator.astype(float)
    ns = normalised_sufficiency(measured.raw, s_zero)
    nc = normalised_comprehensiveness(measured.raw, s_zero)
    value = np.where(measured.metric.str.contains("NS"), ns, nc)
    return pd.Series(np.where(measured.definition == "released", measured.raw, value), measured.index)


def preferences(measured: pd.DataFrame, by: Sequence[str] = ("example",)) -> pd.DataFrame:
    """Eq. 6 an example: how often the attribution is preferred to its random baseline.

    It compares S and C before normalisation, which never changes their order but leaves NS and NC undefined
    where 1 − S0 = 0.

    Args:
        measured: from `aopc` or `at_ratios`.
        by: what else has rows of its own: ("model", "seed", "example") for claims.

    Returns:
        A row a cell, attribution, baseline and example with a finite value: a column per tie rule (strict,
        half, at_least) in [0, 1], averaged over draws and seeds.

    Raises:
        ValueError: a baseline covers only some of the attribution's examples.
    """
    pairs = _pairs(measured).dropna(subset=list(TIES))
    return mean_by(pairs, [*CELL, "attribution", "baseline", *by], list(TIES))


def diagnosticity(preferred: pd.DataFrame) -> pd.DataFrame:
    """Table 6 beside ours: diagnosticity of each metric on each data set and attribution.

    preferred: from `preferences(aopc(values))`. A row a cell and tie rule; Eq. 6 as written is "strict".
    value in [0, 1], higher is better, with a 95 % BCa interval over the n examples; `published` stands at the
    paper's baseline, "normal".
    """
    table = shared.over_paired_examples(preferred, CELL[:3], ["attribution", "baseline"], list(TIES))
    printed = papers.published(PAPER, "table_6").assign(baseline="normal")
    printed = printed.rename(columns={"dataset": "paper's", "value": "published"})
    keys = ["paper's", "attribution", "metric", "baseline"]
    table = table.assign(**{"paper's": table.dataset.map(_dataset)})
    return table.merge(printed[[*keys, "published"]], "left", keys)[TABLE_6]


def diagnosticity_as_printed(diagnostic: pd.DataFrame) -> pd.DataFrame:
    """Table 6 as printed: a line per data set and attribution, "ours [interval] (published)"."""
    part = shared.select(diagnostic, definition="paper", baseline="normal", ties="strict")
    part = part[part.metric.isin(METRICS)]
    cells = part[["value", "ci_low", "ci_high", "published"]].to_numpy()
    texts = [cell_text(*ours, published=cell_text(paper), ends=2) for *ours, paper in cells]
    table = shared.as_printed(part, texts, ["dataset", "attribution"], ["metric"])
    return table[["dataset", "attribution", *(m for m in ("NS", "Soft-NS", "NC", "Soft-NC") if m in table)]]


def averages(diagnostic: pd.DataFrame, preferred: pd.DataFrame, by: str) -> pd.DataFrame:
    """Tables 2 (by="attribution") and 3 (by="dataset") beside ours: means of Table 6, strict ties.

    A row a definition, baseline, metric and name, and a row "average" with the population sd over its line.
    star: soft is higher ("*") or lower ("†") than hard by the paper's test, a rank-sum on the cells of Table
    6, p < .01, which fewer than 5 against 5 cells cannot reach. p_examples is the same test on the examples,
    `preferences(aopc(values))`. A published average stands only beside one over the same data sets and
    attributions.
    """
    strict = shared.select(diagnostic, ties="strict")
    strict = strict[strict.metric.isin(METRICS)]
    printed = papers.published(PAPER, "table_2" if by == "attribution" else "table_3")
    other = "dataset" if by == "attribution" else "attribution"
    cells = papers.published(PAPER, "table_6")
    rows = []
    for which, part in shared.groups(strict, ["definition", "baseline"]):
        examples = shared.select(preferred, **which)
        mean = part.groupby(["metric", by], sort=False).value.mean()
        same = {k: set(part[k].map(_dataset)) == set(cells[k]) for k in (by, other)}
        for metric in (m for m in METRICS if m in mean):
            for name in (*mean[metric].index, "average"):
                average = name == "average"
                paper = shared.select(printed, metric=metric, **{by: _dataset(name)})
                if which["baseline"] != "normal" or not same[other] or (average and not same[by]):
                    paper = paper[:0]
                several = average and len(mean[metric]) > 1
                row = which | {"metric": metric, by: name}
                row["value"] = mean[metric].mean() if average else mean[metric, name]
                row["sd"] = mean[metric].std(ddof=0) if several else np.nan
                row |= _stars(part, examples, metric, by, name)
                row["published"] = paper.value.iloc[0] if len(paper) else np.nan
                rows.append(row | {"published_star": "*" if paper.significant.eq(True).any() else ""})
    return pd.DataFrame(rows)


def averages_as_printed(averaged: pd.DataFrame, by: str, baseline: str = "normal") -> pd.DataFrame:
    """`averages` with the same `by`, as printed in Tables 2 and 3: "ours* (published*)", a line a metric."""
    part = shared.select(averaged, definition="paper", baseline=baseline)
    cells = part[["value", "star", "sd", "published", "published_star"]].itertuples(index=False)
    texts = [
        cell_text(value, mark=star, sd=sd, published=cell_text(paper, mark=paper_star))
        for value, star, sd, paper, paper_star in cells
    ]
    return shared.as_printed(part, texts, ["metric"], [by])


def faithfulness_by_ratio(values: pd.DataFrame) -> pd.DataFrame:
    """Figure 2: mean NS and NC at each ratio, per attribution and for the random one, NaN for soft metrics.

    Each value is clipped to [0, 1] before averaging: where 1 − S0 is nearly 0, NS and NC run into the
    hundreds, and a few such examples would decide the mean. The 95 % interval is over n examples, draws
    averaged; examples without a value are left out of n.
    """
    rows = at_ratios(values[values.baseline.isin(["", "normal"])])
    rows = rows.assign(value=normalised(rows).clip(0, 1))
    mean = mean_by(rows, [*CELL, "attribution", "example"], "value")
    table = shared.over_paired_examples(mean, CELL[:3], ["attribution", "ratio"], "value")
    cell = ["dataset", "attribution", "definition", "metric", "ratio"]
    return table[[*cell, "value", "ci_low", "ci_high", "n"]]


def diagnosticity_by_ratio(preferred: pd.DataFrame) -> pd.DataFrame:
    """Figure 3, of `preferences(at_ratios(values))`: mean diagnosticity over attributions at each ratio."""
    mean = mean_by(preferred, [*CELL, "baseline", "example"], "strict")
    return shared.over_paired_examples(mean, CELL[:3], ["baseline", "ratio"], "strict")


def _pairs(measured):
    """Every attribution's u against every draw v of its baselines, with Eq. 6 per tie rule."""
    plain = measured[measured.baseline == ""].rename(columns={"raw": "u"})
    plain = plain.drop(columns=["baseline", "draw"])
    sides = []
    for baseline, keys in (("normal", PAIR), ("matched", [*PAIR, "attribution"])):
        draws = measured[measured.baseline == baseline].rename(columns={"raw": "v"})
        draws = draws[[*keys, "draw", "v"]]
        _check_covered(plain, draws, keys, baseline)
        sides.append(plain.merge(draws, on=keys).assign(baseline=baseline))
    pairs = pd.concat(sides, ignore_index=True)
    for ties in TIES:
        pairs[ties] = indicator(pairs.u, pairs.v, ties)
    return pairs


def _check_covered(rows, draws, keys, baseline):
    """A baseline that a data set has, it has for every example: else pairs would go missing."""
    cell = [k for k in keys if k not in ("example", "seed", "model")]
    wanted = rows.merge(draws[cell].drop_duplicates(), on=cell)[keys].drop_duplicates()
    merged = wanted.merge(draws[keys].drop_duplicates(), how="left", indicator=True)
    missing = (merged._merge == "left_only").sum()
    if missing:
        raise ValueError(
            f"{missing} values have no {baseline!r} baseline to be compared with: "
            "a unit on disk is incomplete, delete its record and run it again"
        )


def _stars(cells, examples, metric, by, name):
    """The tests of a soft metric against its hard counterpart, over cells and over examples."""
    hard = HARD.get(metric)
    if hard not in set(cells.metric):
        return {"star": "", "p_cells": np.nan, "p_examples": np.nan}
    if name != "average":
        cells, examples = cells[cells[by] == name], examples[examples[by] == name]
    both = [
        (column[frame.metric == metric], column[frame.metric == hard])
        for frame, column in ((cells, cells.value), (examples, examples.strict))
    ]
    p = [rank_sum(*pair) for pair in both]
    soft, usual = (values.mean() for values in both[0])
    star = (HIGHER if soft > usual else LOWER) if p[0] < LEVEL_OF_STARS else ""
    return {"star": star, "p_cells": p[0], "p_examples": p[1]}


def _over_ratios(values):
    values = _with_names(values)
    counts = values.ratio.isna() | (values.definition == "released")
    counts |= values.ratio.astype(float).round(3).isin(RATIOS)
    keys = [k for k in (*PAIR, *SOURCE) if k != "ratio"]
    return mean_by(values[counts], keys, ["raw", "denominator"]).assign(ratio=np.nan)


def mean_by(frame, keys, column):
    """Means of a column, or of several, for each group of `keys`."""
    return frame.groupby(keys, observed=True, sort=False, dropna=False)[column].mean().reset_index()


def _with_names(values):
    """Perturbations and further models as part of the name: one name for each cell of a table."""
    other = ~values.perturbation.isin(["hard", "bernoulli"])
    metric = values.metric.astype(str)
    metric[other] += " (" + values.perturbation[other].astype(str) + ")"
    return values.assign(metric=metric, dataset=_with_models(values), perturbation="bernoulli")


def _with_models(values):
    """Names of data sets; with the model's where a data set has several."""
    dataset = values.dataset.astype(str)
    models = values.groupby("dataset", observed=True).model.nunique()
    several = values.dataset.isin(models.index[models > 1])
    dataset[several] += " (" + values.model[several].astype(str) + ")"
    return dataset


def _dataset(name):
    """The published data set to look up, for a name that may have a model's in brackets."""
    return name.split(" (")[0]
