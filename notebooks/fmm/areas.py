"""FMM: the areas between curves, with every way to explain, and Recursive ROAR's beside them (Table 1)."""

from functools import cache, partial

import numpy as np
import pandas as pd

from faithlib.metrics import curves
from faithlib.report.style import cell_text
from faithlib.scores import RANDOM
from notebooks.fmm import tables
from notebooks.fmm.card import CARD, OPTIONS
from notebooks.fmm.tables import CURVE, MASKED, PUBLISHED_MODEL
from notebooks.recursive_roar import tables as recursive_roar
from replication import papers, results
from replication.tables import as_printed, groups, over_seeds, published_interval, published_row, select

(ROAR,) = CARD.reads  # the paper whose records stand beside
SST = {"sst2": "sst"}  # whose Recursive ROAR stands beside it in the paper's Table 1
UNIT = ["dataset", "model", "seed", "strategy"]
RACU = [*CURVE, "measure", "variant", "acu", "acu_low", "acu_high", "racu", "ci_low", "ci_high"]
RACU += ["denominator", "flat", "seeds", "unconverged", "left_out", "published", "published_low"]
RACU += ["published_high", "published_acu", "published_model", "roar", "roar_low", "roar_high"]
RACU += ["roar_of", "roar_acu"]


def options(
    values: pd.DataFrame, records: list[dict], predictions: pd.DataFrame, leave_out: bool = False
) -> dict[str, pd.DataFrame]:
    """The curves of the main setting and of every option that the records have.

    Args:
        predictions: from `results.load_tables(..., "predictions")`.
        leave_out: whether to drop seeds that did not converge.

    Returns:
        {"main", the names of `card.OPTIONS`, and each with `of_correct`: as `tables.points`}.
    """
    by_option = {}
    for name in ("main", *OPTIONS.values()):
        if name == "main" or (values.option == name).any():
            by_option[name] = tables.points(values, records, leave_out, name)
        if len(predictions) and (predictions.option == name).any():
            correct = correct_curves(select(tables.explained(predictions, name), strategy=MASKED))
            by_option[of_correct(name)] = tables.with_convergence(correct, records, leave_out)
    return by_option


def of_correct(name):
    """What `options` calls the curves of the texts that are predicted correctly."""
    return f"{name}, correctly predicted"


def correct_curves(predictions):
    """The curves, as `tables.points`, of the texts that a model predicts correctly before anything is masked.

    predictions: a row a text with UNIT, measure (draws are "random 1", ..., whose mean is "random"), step,
    example, predicted and label.
    """
    predictions = predictions.assign(right=predictions.predicted == predictions.label)
    key = [*UNIT, "example"]
    right = predictions[(predictions.step == 0) & predictions.right][key].drop_duplicates()
    rows = [
        row | {"value": _metric(CARD.metric(row["dataset"]))(part.label, part.predicted)}
        for row, part in groups(predictions.merge(right, on=key), [*UNIT, "measure", "step"])
    ]
    curve = pd.DataFrame(rows)
    curve["measure"] = [RANDOM if m.startswith(f"{RANDOM} ") else m for m in curve.measure]
    return curve.groupby([*UNIT, "measure", "step"], sort=False).value.mean().reset_index()


def _metric(name):
    """A metric of `training.performance`, which would load torch: a function of labels and predictions."""
    from sklearn import metrics

    macro = partial(metrics.f1_score, average="macro")
    return {"accuracy": metrics.accuracy_score, "macro_f1": macro, "mcc": metrics.matthews_corrcoef}[name]


def areas(points, area="ACU", flat=True):
    """Areas of all measures, of the curves without a gap: {(data set, model): DataFrame seeds × measures}.

    Args:
        points: rows of curves with dataset, model, seed, measure, step and value.
        area: "ACU", "RACU" or "RACU clipped"; RACU is NaN for seeds whose random curve hardly falls.
        flat: whether to keep the ACU of these seeds.
    """
    by_case = {}
    for key, part in points.groupby(["dataset", "model"], sort=False):
        wide = part.pivot(index=["measure", "seed"], columns="step", values="value").dropna()
        if RANDOM not in wide.index.unique("measure"):
            continue
        by_case[key] = curves.areas(wide, area, flat)
    return by_case


def racu(points: pd.DataFrame, roar: pd.DataFrame | None = None) -> pd.DataFrame:
    """Tables 1, 11 and 12: ACU and RACU with intervals, beside the published and Recursive ROAR's (`roar`).

    Returns:
        A row a curve; higher is better. ci_low, ci_high: of RACU, which is not clipped here. denominator:
        area between the random curve and the all-masked performance. variant: signed measures can do better
        than everything masked, so that their RACU may exceed 1. flat counts seeds whose random curve hardly
        falls: there only ACU can be read. roar: RACU, clipped as published; roar_acu: ACU; roar_of: are they
        ours, on the same model and of which variant, or the published RACU of RoBERTa-base?
    """
    paper, rows = tables.published_areas(), []
    unconverged = points[~points.converged].groupby([*CURVE, "measure"]).seed.nunique()
    measured = points.groupby(CURVE).filter(lambda part: part.measure.nunique() > 1)  # more than random
    theirs, variants = {"ACU": {}}, {}
    if roar is not None:
        theirs = {area: areas(roar, area) for area in ("RACU clipped", "ACU")}
        variants = roar.groupby(["dataset", "model"]).variant.first()
    table = curves.summary(measured, CURVE).rename(columns={"racu_low": "ci_low", "racu_high": "ci_high"})
    for row in table.to_dict("records"):
        measure, key = row["measure"], tuple(row[name] for name in (*CURVE, "measure"))
        acu = tables.published_cell(select(paper, statistic="acu"), row, measure)
        published = tables.published_cell(select(paper, statistic="racu"), row, measure)
        row |= {"variant": tables.variant(measure), "unconverged": unconverged.get(key, 0)}
        row |= published_interval(published) | {"published_model": published.get("model", "")}
        row["published_acu"] = acu.get("value", np.nan) / 100
        if row["strategy"] == MASKED:
            row |= _roar_cell(theirs, variants, row["dataset"], row["model"], measure)
        rows.append(row)
    return tables.in_paper_order(pd.DataFrame(rows).reindex(columns=RACU))


def racu_as_printed(table: pd.DataFrame, value: str = "racu") -> pd.DataFrame:
    """Table 1's layout: a row a measure, a column a data set, "ours (published)"; value: "racu" or "acu"."""
    table = select(table, strategy=MASKED)
    paper = {"racu": "published", "acu": "published_acu"}[value]
    pairs = table[[value, paper]].to_numpy()
    texts = [cell_text(ours, published=cell_text(theirs)) for ours, theirs in pairs]
    return tables.by_dataset(table, texts, ["measure", "variant"])


def random_draws(draws: pd.DataFrame, records: list[dict]) -> pd.DataFrame:
    """How much the number of random draws matters: the area under the random curve, from 1 to all draws.

    An ACU is this area less the measure's own, so a change of it moves all measures of a data set alike.
    Returns a row a data set, model, strategy and number of draws: mean over seeds with its interval.
    """
    scored = draws[draws.metric == draws.dataset.map(CARD.metric)]
    curve = tables.with_convergence(scored, records).pivot_table(
        index=[*CURVE, "draws", "seed"], columns="step", values="value", sort=False
    )
    area = np.trapezoid(curve.to_numpy(), curve.columns.to_numpy(float) / 100)
    table = curve.index.to_frame(index=False).assign(area=area)
    rows = [
        row | over_seeds(part.area, "area") | {"seeds": part.seed.nunique()}
        for row, part in groups(table, [*CURVE, "draws"])
    ]
    return tables.in_paper_order(pd.DataFrame(rows))


def random_draws_as_printed(table: pd.DataFrame) -> pd.DataFrame:
    """A row a data set, model and strategy, a column a number of draws: the areas without their intervals."""
    texts = [cell_text(area) for area in table.area]
    return tables.in_paper_order(as_printed(table, texts, CURVE, ["draws"]))


# Recursive ROAR -----------------------------------------------------------------------------------


def load_roar(results_dir: str, scale: str) -> pd.DataFrame | None:
    """Recursive ROAR's curves of its main setting, of fewer texts where models are encoders; None without."""
    try:
        _, values = results.load(results_dir, scale, ROAR, variants=None)
    except FileNotFoundError:
        return None
    points = recursive_roar.main(recursive_roar.points(values))
    return points[(points.by == "ratio") & points.recursive.astype(bool)]


@cache
def published_roar():
    """Recursive ROAR's own Table 2, with SST under SST2's name."""
    return papers.published(ROAR, "table_2").replace({"dataset": {"sst": "sst2"}})


def _roar_cell(theirs, variants, dataset, model, measure):
    """Recursive ROAR's RACU and ACU of one cell: ours of the same model, else the published RACU."""
    key = SST.get(dataset, dataset), model
    if measure in theirs["ACU"].get(key, ()):
        values = {area: theirs[area][key][measure].dropna() for area in theirs}
        if len(values["RACU clipped"]):
            of = ", ".join(filter(None, ["ours", variants[key]]))
            means = {"roar_acu": values["ACU"].mean(), "roar_of": of}
            return over_seeds(values["RACU clipped"], "roar") | means
    of = {"model": PUBLISHED_MODEL, "measure": measure}
    published = published_row(published_roar(), tables.published_dataset(dataset), **of)
    return published_interval(published, "roar") | {"roar_of": "published" if published else ""}
