"""Recursive ROAR: from records to the tables of Madsen et al. 2022.

`records` and `values` are what `replication.results.load` returns with all variants: values have a row per
value, with the columns dataset, model, seed, variant, measure, recursive, by, step, job, metric and value;
`points` are those of `points`. A seed is the unit of every interval, as in the paper: means over seeds with
95 % BCa intervals, measure and random baseline paired by seed. One seed has none.
"""

import numpy as np
import pandas as pd

from faithlib.metrics import curves
from faithlib.scores import RANDOM
from notebooks.recursive_roar.card import CARD
from replication import claims, papers, results
from replication.tables import groups, over_seeds, published_interval, published_row, select, variant_columns

PAPER = "recursive_roar"
CURVE = ["dataset", "model", "recursive"]
UNITS = ["dataset", "model", "variant"]
UNIT = ["dataset", "model", "seed", "variant"]  # as `results.unit_name` takes them
SAME_TEXTS = "1500-texts"  # the variant of models on the same texts, masking levels and integration steps
OUTPUTS = {"36": "", "6": "6-outputs"}  # of the bAbI models: the variant of the units that have them
TEXTS = {"all": "", "1,500": SAME_TEXTS}
FORMS = {"Eq. 2": "integrated_gradients_abs", "released": "weighted_integrated_gradients_abs"}


def main(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the main setting: units without a variant, and encoders, which run on fewer texts alone.

    At scale base these are the units with GloVe vectors, of which there are no others.
    """
    encoder = rows.model.map(results.slug) != "bilstm"
    return rows[rows.variant.isin(["", "glove-50d"]) | (rows.variant == SAME_TEXTS) & encoder]


def setting(points, outputs="36", form="Eq. 2", texts="all"):
    """The points of the main setting, or of one with another option; None where no record has it.

    outputs: of the bAbI models, of OUTPUTS; texts: trained on, of TEXTS: data sets × models that have not run
    with the option keep their points. form: of integrated gradients, of FORMS, called
    "integrated_gradients_abs".
    """
    kept = main(points)
    for variant in filter(None, (OUTPUTS[outputs], TEXTS[texts])):
        part = points[points.variant == variant]
        if part.empty:
            return None
        replaced = kept.set_index(["dataset", "model"]).index.isin(part.set_index(["dataset", "model"]).index)
        kept = pd.concat([kept[~replaced], part])
    return one_form(kept, form)


def one_form(points, form):
    """The points with one form of integrated gradients, under the name of Eq. 2; None where there is none."""
    if form != "Eq. 2" and FORMS[form] not in set(points.measure):
        return None
    others = [name for name in FORMS.values() if name != FORMS[form]]
    kept = points[~points.measure.isin(others)]
    return kept.assign(measure=kept.measure.replace(FORMS[form], FORMS["Eq. 2"]))


def points(values: pd.DataFrame) -> pd.DataFrame:
    """The curves' values in each data set's own metric, variants last; models by short names."""
    metric = {dataset: CARD.metric(dataset) for dataset in values.dataset.unique()}
    kept = values[values.metric == values.dataset.map(metric)]
    kept = kept.assign(model=[results.slug(model) for model in kept.model])
    return kept.sort_values("variant", kind="stable", ignore_index=True)


def gates(values: pd.DataFrame) -> pd.DataFrame:
    """Which data sets × models take part in claims: those above chance before anything is masked.

    As `replication.claims.gates`, with the column variant: the score is macro-F1, beside balanced accuracy.
    """
    scored = select(values, measure=RANDOM, step=0).drop_duplicates([*UNITS, "seed", "metric"])
    scored = scored.assign(model=[results.slug(model) for model in scored.model])
    parts = [claims.gates(part).assign(variant=name) for name, part in scored.groupby("variant", sort=False)]
    return pd.concat(parts, ignore_index=True)


def complete_curves(points, collapsed_models="kept", masking_levels="all"):
    """The curves by ratio of all measures, those without a gap.

    Args:
        collapsed_models: "kept", or "interpolated over": the value of a masking level whose model predicts a
            single class is then that of the line between its neighbours. The model of fully masked texts is
            kept.
        masking_levels: "all", or "every second".

    Returns:
        {(data set, model, recursive): DataFrame (measure, seed) × masking levels in per cent}.
    """
    tables = {}
    points = points[points.by == "ratio"]
    if collapsed_models != "kept":
        points = points.assign(value=points.value.mask(collapsed(points)))
    for key, part in points.groupby(CURVE, sort=False):
        table = part.pivot(index=["measure", "seed"], columns="step", values="value")
        if collapsed_models != "kept":
            table = table.T.interpolate(method="index", limit_area="inside").T
        if masking_levels != "all" and table.shape[1] % 2:
            table = table.iloc[:, ::2]
        table = table.dropna()
        if RANDOM in table.index.unique("measure"):
            tables[key] = table
    return tables


def collapsed(points):
    """Where the model of a masking level predicts a single class, before everything is masked: booleans."""
    classes = points.get("classes_predicted", pd.Series(np.nan, points.index))
    return points.step.between(1, 99) & (classes == 1)


def stopped_early(records: list[dict], points: pd.DataFrame) -> list[str]:
    """Models that predict one class though words are left, and that were stopped before their last epoch.

    Such a model may not have begun to learn: its curve then falls where the information is still there.
    Returns a sentence a unit that has some.
    """
    lines = []
    for record in records:
        params, unit = record["params"], record["unit"]
        models = select(points, **variant_columns(record)).drop_duplicates("job")
        early = models[collapsed(models) & (models.epochs < params["epochs"])]
        if len(early):
            lines.append(
                f"{unit}: {len(early)} of {len(models)} models, predicting one class, ended before epoch "
                f"{params['epochs']} and may not have begun to learn (patience={params['patience']})"
            )
    return lines


def performance(records: list[dict], points: pd.DataFrame) -> pd.DataFrame:
    """Tables 1 and 3: test performance before masking and with everything masked, beside the published.

    A row a data set and model, in fractions. majority: share of the most frequent label; epochs: how many
    were trained; best_epoch: mean of those kept; published_low and published_high: the paper's interval.
    """
    paper = papers.published(PAPER, "table_1")
    paper = paper[paper.statistic != "sequence_length"]
    majority = pd.DataFrame([variant_columns(r) | m for r in records for m in r["metrics"]])
    majority = select(majority, metric="majority").groupby(UNITS).value.mean()
    rows = []
    for row, part in groups(points[points.measure == RANDOM], UNITS):
        by_ratio = select(part, by="ratio")
        published = _published(paper, row, model=row["model"])
        row |= {
            "metric": CARD.metric(row["dataset"]),
            "seeds": part.seed.nunique(),
            **over_seeds(select(by_ratio, step=0).drop_duplicates("seed").value, "unmasked"),
            **over_seeds(select(by_ratio, step=100).drop_duplicates("seed").value, "all_masked"),
            "majority": majority[tuple(row[name] for name in UNITS)],
            "epochs": part.epochs.max(),
            "best_epoch": select(part, step=0).drop_duplicates("seed").best_epoch.mean(),
            **published_interval(published),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def racu(points: pd.DataFrame) -> pd.DataFrame:
    """Table 2 and its like for ROAR: RACU, clipped and not, and ACU, with intervals, beside the published.

    Returns:
        A row a curve; higher is better. racu is unclipped (Eq. 3), racu_clipped as released, so it is what
        `published` compares with, and clipped says whether they differ. The published integrated gradients
        are those of the release, so they stand beside the weighted form. flat counts seeds whose random curve
        hardly falls: where there is one, RACU would be a quotient of noise and is missing. collapsed counts
        the models of the curves that predict a single class although something is left.
    """
    paper, keys = papers.published(PAPER, "table_2"), [*UNITS, "recursive"]
    rows = curves.summary(points[points.by == "ratio"], keys).to_dict("records")
    single = points[(points.by == "ratio") & collapsed(points)].groupby([*keys, "measure"]).size()
    printed = {FORMS["Eq. 2"]: "", FORMS["released"]: FORMS["Eq. 2"]}
    for row in rows:
        which = {"model": row["model"], "measure": printed.get(row["measure"], row["measure"])}
        published = _published(paper, row, **which) if row["recursive"] else {}
        row["clipped"] = not np.isclose(row["racu"], row["racu_clipped"], equal_nan=True)
        row["collapsed"] = int(single.get(tuple(row[name] for name in (*keys, "measure")), 0))
        row |= published_interval(published)
    return pd.DataFrame(rows)


def curve_table(points: pd.DataFrame) -> pd.DataFrame:
    """All curves of the figures: mean performance over seeds with its interval, one row a step."""
    rows = [
        row
        | over_seeds(part.value, "value")
        | {"seeds": part.seed.nunique()}
        | part[["new_tokens", "unchanged_texts"]].mean().to_dict()
        for row, part in groups(points, [*UNITS, "recursive", "by", "measure", "step"])
    ]
    return pd.DataFrame(rows)


def sparsity(shares: pd.DataFrame) -> pd.DataFrame:
    """Figures 5 and 6: the share of all importance that the top tokens hold, of the unmasked model's scores.

    Args:
        shares: rows of `scores.sparsity` with dataset, model, seed, variant, job and measure.
    """
    rows = [
        row | over_seeds(part.share, "share") | {"seeds": part.seed.nunique()}
        for row, part in groups(select(shares, job="unmasked"), [*UNITS, "measure", "by", "top"])
    ]
    return pd.DataFrame(rows).assign(model=lambda table: [results.slug(model) for model in table.model])


def compute(records: list[dict], points: pd.DataFrame) -> pd.DataFrame:
    """Table 7: minutes a masking step takes, training and explaining, of the recursive curves by ratio.

    A row a measure: the mean over steps between nothing and everything masked, and over seeds, on the machine
    that made the records. `published` counts a V100 (BiLSTM) or an A100 (RoBERTa).
    """
    paper = papers.published(PAPER, "table_7")
    seconds = {r["unit"]: r["volatile"]["seconds_of_models"] for r in records}
    chosen = points[(points.by == "ratio") & points.step.between(1, 99) & points.recursive]
    rows = []
    for row, part in groups(chosen, [*UNITS, "measure"]):
        which = {name: row[name] for name in ("dataset", "model", "measure")}
        minutes = select(paper, **which).minutes  # a generated corpus is another size than what it imitates
        units = (results.unit_name(*unit) for unit in zip(*(part[c] for c in UNIT), strict=True))
        spent = [sum(seconds[unit].get(job, (np.nan,))) for unit, job in zip(units, part.job, strict=True)]
        row |= {"minutes": np.mean(spent) / 60, "models": len(spent)}
        rows.append(row | {"published": minutes.iloc[0] if len(minutes) else np.nan})
    return pd.DataFrame(rows)


def _published(table, row, **which):
    """The published row of a data set in the main setting; {} where there is none."""
    return {} if row["variant"] else published_row(table, row["dataset"], **which)
