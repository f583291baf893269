"""SaLoss: from records to the tables of Chrysostomou & Aletras 2021.

`records` and `values` are what `replication.results.load` returns: values have a row per text, model,
attribution and option, with the columns dataset, model, seed, salience ("none" = trained without), definition
(of the loss), weight (λ), chosen (whether it is the weight chosen), option ("main" or a name of
`card.FLIPS`), attribution, example, fraction, flipped and correct (whether the prediction is). An example is
the unit of the tables of decision flips, seeds are averaged first; of F1 it is a seed.
"""

import numpy as np
import pandas as pd

from faithlib.report.style import cell_text
from faithlib.scores import RANDOM
from faithlib.statistics import interval_from_table, rank_sum, t_test
from notebooks.saloss.measure.rationales import contiguous
from replication import papers, results
from replication import tables as shared

PAPER = "saloss"
SALIENCES = ("none", "textrank", "tfidf", "chi2", "uniform")  # as tables and figures list them
THRESHOLDERS = {"top_k": "table_3", "contiguous": "table_7"}
SIGNIFICANT = 0.05
TEXTS = {"sst": 672, "ag_news": 239}  # rows of the test splits, from 0, whose rationales Table 4 marks
MODEL = ["dataset", "model", "salience", "definition"]  # what one trained model is, but for its seed
CASE = ["thresholder", "attribution", "ratio", "unit"]  # a model's rationales, and their columns in `fresh`
FRESH = [*MODEL, *CASE, "macro_f1", "sd", "seeds", "p_value", "full_text", "published"]
METRICS = [*MODEL, "split", "value", "weight", "input", "attribution", "ratio", "unit", "chosen"]
DEVELOPMENT = ["flip_fraction", "flip_fraction_flipped", "never_flipped", "attention_kl", "loss", "macro_f1"]


def performance(records: list[dict]) -> pd.DataFrame:
    """Table 1: test macro-F1 on full texts beside the published.

    A row a model: mean and sd (n − 1) over seeds; weight: λ, or all that seeds have chosen; majority: share
    of the most frequent label.
    """
    scores, rows = f1(records), []
    majority = shared.select(shared.metric_rows(records), metric="majority")
    majority = majority.groupby(["dataset", "model"]).value.mean()
    paper = papers.published(PAPER, "table_1")
    for row, part in shared.groups(shared.select(scores, input="text"), MODEL):
        row["weight"] = ", ".join(f"{w:g}" for w in sorted(part.weight.unique()))
        row |= _over_seeds(part)
        row["majority"] = majority.get((row["dataset"], row["model"]), np.nan)
        row["published"] = shared.published_value(paper, row["dataset"], salience=row["salience"])
        rows.append(row)
    return _sorted(pd.DataFrame(rows))


def decision_flip(values: pd.DataFrame) -> pd.DataFrame:
    """Tables 2 and 8: the fraction of tokens removed until the prediction flips, beside the published.

    Returns:
        A row a model and attribution, in the main setting. fraction: lower is better, with a 95 % BCa
        interval over the n examples; one that never flips counts as 1. never_flipped: share of examples (and
        seeds) whose prediction never does. fraction_flipped: mean without these. p_value: the paper's test
        against "none", a rank-sum over examples with the same attribution, on the seeds that both have.
    """
    paper = published_flips()
    values = main_setting(values)
    values = values.assign(model=_slugs(values.model))
    rows = []
    for row, part in shared.groups(values, [*MODEL, "attribution"]):
        each = part.groupby("example").fraction.mean()
        which = {"salience": row["salience"], "attribution": row["attribution"]}
        row |= shared.over_examples(each, "fraction") | {
            "never_flipped": 1 - part.flipped.mean(),
            "fraction_flipped": part.fraction[part.flipped].mean(),
            "n": len(each),
            "seeds": part.seed.nunique(),
            "p_value": _rank_sum(values, part, each),
            "published": shared.published_value(paper, row["dataset"], **which),
        }
        rows.append(row)
    return _sorted(pd.DataFrame(rows))


def table_4(values: pd.DataFrame, records: list[dict]) -> pd.DataFrame:
    """The texts of the paper's Table 4 by number: how many of their tokens go until the prediction flips.

    A row a text that some record explains, salience and attribution: fraction, a mean over seeds, and the
    share of these whose prediction flips and is right. Records of a part of the test split tell no row.
    """
    parts = []
    for record in records:
        params, count = record["params"], record["provenance"]["examples"]
        drawn = np.random.default_rng(0).permutation(count["of"])[: count["n"]]  # as the experiment does
        number = TEXTS.get(params["task"])
        if number in drawn and not params["test_size"]:
            unit = {"dataset": params["task"], "model": params["model"], "seed": params["seed"]}
            texts = shared.select(main_setting(values), **unit)
            parts.append(texts[texts.example == (drawn < number).sum()].assign(row=number))
    if not parts:
        return pd.DataFrame()
    by_text = pd.concat(parts).groupby(["dataset", "model", "row", *MODEL[2:], "attribution"], sort=False)
    table = (
        by_text[["fraction", "flipped", "correct"]].mean().assign(seeds=by_text.seed.nunique()).reset_index()
    )
    return _sorted(table.assign(model=_slugs(table.model)))


def options(values: pd.DataFrame) -> pd.DataFrame:
    """Decision flips with one thing changed (`card.FLIPS`): a row a model and option.

    fraction: mean over seeds, examples and attributions, 1 for an example that never flips. never_flipped:
    share of these. random: the fraction of random scores.
    """
    rows, by = values[values.chosen], [*MODEL, "option"]
    rows = rows.assign(model=_slugs(rows.model), never_flipped=~rows.flipped)
    random = rows.attribution == RANDOM
    table = rows[~random].groupby(by, sort=False)[["fraction", "never_flipped"]].mean()
    return _sorted(table.assign(random=rows[random].groupby(by).fraction.mean()).reset_index())


def released_scores(values: pd.DataFrame, released: pd.DataFrame) -> pd.DataFrame:
    """Decision flip of the model without salience: its scores as defined, and as the release computes them.

    Args:
        released: from `results.load_tables(..., "as_released")`, which has a row a text and attribution.

    Returns:
        A row an attribution. defined, released: mean fractions over n examples, seeds averaged first.
        difference: released − defined on the same examples, with a 95 % BCa interval; above 0, what the
        release computes needs more tokens.
    """
    keys = ["dataset", "model", "attribution"]
    paper = shared.select(papers.published(PAPER, "table_2"), salience="none")
    both = shared.select(main_setting(values), salience="none").merge(
        released, "inner", [*keys, "example", "seed"], suffixes=("_defined", "_released")
    )
    fractions = ["fraction_defined", "fraction_released"]
    both = both.astype(dict.fromkeys(fractions, "float32"))  # values are; equal ones shall be equal
    each = both.groupby([*keys, "example"], sort=False)[fractions].mean().astype(float).reset_index()
    rows = []
    for row, part in shared.groups(each, keys):
        row |= {
            "model": results.slug(row["model"]),
            "defined": part.fraction_defined.mean(),
            "released": part.fraction_released.mean(),
            **shared.over_examples(part.fraction_released - part.fraction_defined, "difference"),
            "n": len(part),
            "published": shared.published_value(paper, row["dataset"], attribution=row["attribution"]),
        }
        rows.append(row)
    return _sorted(pd.DataFrame(rows))


def fresh(records: list[dict]) -> pd.DataFrame:
    """Tables 3 and 7: macro-F1 of classifiers trained on rationales alone, beside the published.

    Returns:
        A row a model, thresholder, attribution, ratio and unit (word pieces or words), none where no
        classifier was trained on rationales. macro_f1: higher is better; mean and sd (n − 1) over seeds.
        p_value: Student's t-test against "none" over seeds, two-sided. full_text: macro-F1 of the model that
        the rationales are of, on the whole text.
    """
    scores = f1(records)
    full = shared.select(scores, input="text").groupby(MODEL).value.mean()
    rationales = scores[scores.input.isin(THRESHOLDERS)].rename(columns={"input": "thresholder"})
    rows = []
    for row, part in shared.groups(rationales, [*MODEL, *CASE]):
        same = {name: row[name] for name in ("dataset", "model", *CASE)} | {"salience": "none"}
        trained = row["salience"] != "none"
        paper = papers.published(PAPER, THRESHOLDERS[row["thresholder"]])
        which = {"salience": row["salience"], "ratio": row["ratio"]}
        published = shared.published_value(paper, row["dataset"], **which)
        row |= _over_seeds(part)
        row["p_value"] = t_test(part.value, shared.select(rationales, **same).value) if trained else np.nan
        row["full_text"] = full.get(tuple(row[name] for name in MODEL), np.nan)
        row["published"] = published if row["attribution"] == "attention" else np.nan  # of attention alone
        rows.append(row)
    return _sorted(pd.DataFrame(rows, columns=FRESH))


def pos(tags: pd.DataFrame) -> pd.DataFrame:
    """Figure 1: mean importance of each part of speech, averaged over seeds, and how far that is from "none".

    tags: from `results.load_tables(..., "pos")`, which has a row a tag and model.
    """
    keys = ["dataset", "model", "attribution", "tag"]
    by_tag = tags.assign(model=_slugs(tags.model)).groupby([*keys, "salience", "definition"], sort=False)
    table = by_tag[["importance", "tokens"]].mean().assign(seeds=by_tag.seed.nunique()).reset_index()
    none = table[table.salience == "none"].set_index(keys).importance
    baseline = none.reindex(pd.MultiIndex.from_frame(table[keys])).to_numpy()
    columns = [*MODEL, "attribution", "tag", "importance", "difference", "tokens", "seeds"]
    return _sorted(table.assign(difference=table.importance - baseline))[columns]


def lambdas(records: list[dict]) -> pd.DataFrame:
    """Every λ tried on the development set.

    Returns:
        A row a λ and seed. flip_fraction: mean fraction of tokens until a flip, by which λ is chosen; lower
        is better. flip_fraction_flipped, never_flipped: the mean without texts that never flip, and their
        share. attention_kl: mean KL(α, σ) of attention and salience. loss, macro_f1: on all development
        examples. edge: whether the λ chosen is an end of its grid, beyond which a better one may lie.
        published: the paper's own λ.
    """
    table = development(records)
    grid = table.groupby(["dataset", "model", "seed", "salience", "definition"], sort=False).weight
    ends = (table.weight == grid.transform("min")) | (table.weight == grid.transform("max"))
    table["edge"] = table.chosen & ends & (table.salience != "none")
    paper = papers.published(PAPER, "table_1").rename(columns={"weight": "published"})
    return _sorted(table.merge(paper[["dataset", "salience", "published"]], "left"))


def doses(values: pd.DataFrame, design: str = "crossed") -> pd.DataFrame:
    """How the fraction of tokens to a flip changes with λ, on test texts, TextRank's weights beside λ = 0.

    A row a model, definition, attribution (random scores too) and λ, 0 for the baseline. fraction: mean over
    seeds and texts, 1 for a text that never flips, with the 95 % interval over seeds × texts.
    """
    main = values[(values.option == "main") & values.salience.isin(["none", "textrank"])]
    main = main.assign(model=_slugs(main.model), value=main.fraction.astype(float), text=main.example)
    rows = []
    for definition in main.definition[main.salience == "textrank"].unique():
        table = select_definition(main, definition).assign(definition=definition)
        for row, part in shared.groups(table, ["dataset", "model", "definition", "attribution", "weight"]):
            of = interval_from_table(part, design, ("doses", *map(str, row.values())))
            row |= {"seeds": part.seed.nunique(), "fraction": of.value}
            rows.append(row | {"fraction_low": of.low, "fraction_high": of.high})
    return pd.DataFrame(rows)


def development(records):
    """What the development set says of each model that was tried: a row a model and seed, as `lambdas`."""
    scores = shared.select(shared.metric_rows(records, METRICS), split="validation", input="text")
    keys = ["dataset", "model", "salience", "definition", "seed", "weight", "chosen"]
    table = scores.pivot_table(index=keys, columns="metric", values="value", sort=False)
    table = table.reindex(columns=DEVELOPMENT).dropna(subset="flip_fraction").reset_index()
    return table.astype({"chosen": bool}).rename_axis(columns=None)


def examples(texts: pd.DataFrame, ratio: float) -> pd.DataFrame:
    """Table 4: each model's contiguous rationale of the same texts, a row an example and a column a model.

    texts: from `results.load_tables(..., "examples")`: a row an example and model with tokens, maskable and
    scores_scaled_attention, one entry a token. ratio: of tokens in a rationale.
    """
    keys = ["dataset", "model", "seed", "example", "text", "label"]
    rationales, titles = [], []
    for row in texts.to_dict("records"):
        kept = contiguous(row["scores_scaled_attention"], np.asarray(row["maskable"], bool), ratio)
        rationales.append(" ".join(token for token, keep in zip(row["tokens"], kept, strict=True) if keep))
        titles.append(salience_title(row["salience"], row["definition"]))
    table = texts.assign(model=_slugs(texts.model), rationale=rationales, **{"trained with": titles})
    wide = table.pivot(index=keys, columns="trained with", values="rationale")[list(dict.fromkeys(titles))]
    return wide.reset_index().rename_axis(columns=None)


def as_printed(
    table: pd.DataFrame, value: str, rows: list[str], columns: list[str], better: str
) -> pd.DataFrame:
    """A table as printed: "ours† (published)" in each field; † is significantly better than "none", p < .05.

    table: from `decision_flip` or `fresh`; value: its column to print; rows, columns: as
    `replication.tables.as_printed` takes them; better: "lower" or "higher".
    """
    none = shared.select(table, salience="none")
    keys = [k for k in ("dataset", "model", *CASE) if k in table]
    baseline = none.set_index(keys)[value].reindex(pd.MultiIndex.from_frame(table[keys])).to_numpy()
    gain = (table[value] - baseline) * (1 if better == "higher" else -1)
    daggers = np.where((gain > 0) & (table.p_value < SIGNIFICANT), "†", "")
    texts = [
        cell_text(ours, mark=dagger, published=cell_text(paper, precision=2), precision=2)
        for ours, dagger, paper in zip(table[value], daggers, table.published, strict=True)
    ]
    return shared.as_printed(table, texts, rows, columns)


def main_setting(values):
    """The rows of the main setting: the weight that was chosen, and no option of the decision flip."""
    return values[values.chosen & (values.option == "main")]


def f1(records):
    """The metric rows that are a model's macro-F1 on the test set, of the weights that were chosen."""
    return test_f1(records).query("chosen == True")


def test_f1(records):
    """The metric rows that are macro-F1 on the test set, of every weight."""
    return shared.select(shared.metric_rows(records, METRICS), metric="macro_f1", split="test")


def select_definition(table: pd.DataFrame, definition: str) -> pd.DataFrame:
    """The rows of one definition, where it was trained, with the baseline that all definitions share."""
    baseline = table.salience == "none"
    chosen = (table.definition == definition) & ~baseline
    trained = table[chosen if chosen.any() else baseline][["dataset", "model"]].drop_duplicates()
    return table[chosen | baseline].merge(trained, on=["dataset", "model"])


def salience_title(salience: str, definition: str = "paper") -> str:
    """How tables and figures call a model: "baseline", "TextRank", "TextRank (released)"."""
    titles = {"none": "baseline", "textrank": "TextRank", "tfidf": "TF-IDF", "chi2": "χ²"}
    return titles.get(salience, salience) + (" (released)" if definition == "released" else "")


def published_flips():
    """Tables 2 and 8 in one, of which 8 repeats rows of 2."""
    both = pd.concat([papers.published(PAPER, table) for table in ("table_2", "table_8")])
    return both.drop_duplicates(["dataset", "salience", "attribution"])


def _over_seeds(part):
    return {"macro_f1": part.value.mean(), "sd": part.value.std(ddof=1), "seeds": part.seed.nunique()}


def _rank_sum(values, part, each):
    """p of Wilcoxon's rank-sum test of one cell against the model trained without salience."""
    first = part.iloc[0]
    if first.salience == "none":
        return np.nan
    none = shared.select(values, salience="none", **first[["dataset", "model", "attribution"]])
    both = set(none.seed) & set(part.seed)
    if not both:
        return np.nan
    if both != set(part.seed):
        each = part[part.seed.isin(both)].groupby("example").fraction.mean()
    return rank_sum(each, none[none.seed.isin(both)].groupby("example").fraction.mean())


def _slugs(models):
    return [results.slug(model) for model in models]


def _sorted(table):
    """Data sets and models as they came, then the baseline first, then attributions in the paper's order."""
    attributions = shared.attribution_order(papers.published(PAPER, "table_2").attribution)
    orders = {"dataset": (), "model": (), "thresholder": (), "salience": SALIENCES, "definition": ()}
    return shared.ordered(table, **orders, attribution=attributions)
