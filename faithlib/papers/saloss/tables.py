"""SaLoss: from records to the tables of Chrysostomou & Aletras 2021.

`values` is what `faithlib.results.load` returns: a row per text, model and attribution, with the columns
dataset, model, seed, salience ("none" = trained without), definition (of the loss), attribution, example,
fraction and flipped. An example is the unit of all that is said of decision flips, seeds are averaged first;
of F1 it is a seed.
"""

import numpy as np
import pandas as pd

from faithlib import papers, results
from faithlib.metrics.rationales import contiguous
from faithlib.report.tables import ordered, original, where
from faithlib.statistics import mean_interval, rank_sum, t_test

PAPER = "saloss"
SALIENCES = ("none", "textrank", "tfidf", "chi2", "uniform")  # as tables and figures list them
ATTRIBUTIONS = ("random", "attention", "input_x_gradient_abs", "scaled_attention", "integrated_gradients")
THRESHOLDERS = {"top_k": "table_3", "contiguous": "table_7"}
SIGNIFICANT = 0.05
MODEL = ["dataset", "model", "salience", "definition"]  # what one trained model is, but for its seed
METRICS = [
    *MODEL,
    "seed",
    "metric",
    "split",
    "value",
    "n",
    "weight",
    "input",
    "attribution",
    "ratio",
    "chosen",
]
FRESH = [
    *MODEL,
    "thresholder",
    "attribution",
    "ratio",
    "macro_f1",
    "sd",
    "seeds",
    "p_value",
    "full_text",
    "published",
]


def performance(records):
    """Table 1: test macro-F1 on full texts, mean and sd (n − 1) over seeds, beside the published.

    weight: λ; where seeds have chosen different ones, all of them. majority: share of the most frequent
    label.
    """
    scores, every = f1(records), metrics(records)
    majority = every[every.metric == "majority"].groupby(["dataset", "model"]).value.mean()
    known = _published("table_1", ["dataset", "salience"])
    rows = []
    for key, part in _groups(scores[scores.input == "text"], MODEL):
        row = dict(zip(MODEL, key, strict=True))
        row["weight"] = ", ".join(f"{w:g}" for w in sorted(part.weight.unique()))
        row |= {
            "macro_f1": part.value.mean(),
            "sd": part.value.std(ddof=1),
            "seeds": part.seed.nunique(),
            "majority": majority.get(key[:2], np.nan),
            "published": known.get((original(row["dataset"]), row["salience"]), np.nan),
        }
        rows.append(row)
    return _sorted(pd.DataFrame(rows))


def decision_flip(values):
    """Tables 2 and 8: the fraction of tokens removed until the prediction flips, beside the published.

    fraction: lower is better, with a 95 % BCa interval over the n examples. never_flipped: share of examples
    (and seeds) whose prediction never does. p_value: the paper's test against "none", a rank-sum over
    examples with the same attribution, on the seeds that both have.
    """
    known = pd.concat(
        [_published(table, ["dataset", "salience", "attribution"]) for table in ("table_2", "table_8")]
    )
    known = known[~known.index.duplicated()]  # Table 8 repeats rows of Table 2
    values = values.assign(model=_slugs(values.model))
    rows = []
    for (*key, attribution), part in _groups(values, [*MODEL, "attribution"]):
        dataset, _, salience, _ = key
        each = part.groupby("example").fraction.mean()
        fraction, low, high = mean_interval(each)
        rows.append(
            {
                **dict(zip(MODEL, key, strict=True)),
                "attribution": attribution,
                "fraction": fraction,
                "ci_low": low,
                "ci_high": high,
                "never_flipped": 1 - part.flipped.mean(),
                "n": len(each),
                "seeds": part.seed.nunique(),
                "p_value": _rank_sum(values, part, each),
                "published": known.get((original(dataset), salience, attribution), np.nan),
            }
        )
    return _sorted(pd.DataFrame(rows))


def released_scores(values, released):
    """Decision flip of the model without salience: its scores as defined, and as the release computes them.

    released: from `results.load_tables(..., "as_released")`, which has a row a text and attribution.
    defined, released: mean fractions over n examples, seeds averaged first. difference: released − defined on
    the same examples, with a 95 % BCa interval; above 0, what the release computes needs more tokens.
    """
    keys = ["dataset", "model", "attribution", "example"]
    known = _published("table_2", ["dataset", "salience", "attribution"])
    both = values[values.salience == "none"].merge(
        released, "inner", [*keys, "seed"], suffixes=("_defined", "_released")
    )
    each = both.groupby(keys, sort=False)[["fraction_defined", "fraction_released"]].mean().reset_index()
    rows = []
    for key, part in _groups(each, keys[:3]):
        difference, low, high = mean_interval(part.fraction_released - part.fraction_defined)
        rows.append(
            {
                **dict(zip(keys, key, strict=False)),
                "model": results.slug(key[1]),
                "defined": part.fraction_defined.mean(),
                "released": part.fraction_released.mean(),
                "difference": difference,
                "ci_low": low,
                "ci_high": high,
                "n": len(part),
                "published": known.get((original(key[0]), "none", key[2]), np.nan),
            }
        )
    return _sorted(pd.DataFrame(rows))


def fresh(records):
    """Tables 3 and 7: macro-F1 of classifiers trained on rationales alone, beside the published.

    Higher is better; mean and sd (n − 1) over seeds. p_value: Student's t-test against "none" over seeds,
    two-sided. full_text: the macro-F1 of the model that the rationales are of, on the whole text.
    """
    scores = f1(records)
    full = scores[scores.input == "text"].groupby(MODEL).value.mean()
    known = {name: _published(t, ["dataset", "salience", "ratio"]) for name, t in THRESHOLDERS.items()}
    keys = [*MODEL, "input", "attribution", "ratio"]
    rationales = scores[scores.input.isin(THRESHOLDERS)]
    rows = []
    for key, part in _groups(rationales, keys):
        dataset, model, salience, definition, thresholder, attribution, ratio = key
        same = {
            "dataset": dataset,
            "model": model,
            "input": thresholder,
            "attribution": attribution,
            "ratio": ratio,
            "salience": "none",
        }
        p = t_test(part.value, where(rationales, **same).value) if salience != "none" else np.nan
        paper = known[thresholder].get((original(dataset), salience, ratio), np.nan)  # of attention alone
        rows.append(
            {
                **dict(zip(MODEL, key, strict=False)),
                "thresholder": thresholder,
                "attribution": attribution,
                "ratio": ratio,
                "macro_f1": part.value.mean(),
                "sd": part.value.std(ddof=1),
                "seeds": part.seed.nunique(),
                "p_value": p,
                "full_text": full.get(key[:4], np.nan),
                "published": paper if attribution == "attention" else np.nan,
            }
        )
    return _sorted(pd.DataFrame(rows, columns=FRESH))  # no rows where no classifier was trained on rationales


def pos(tags):
    """Figure 1: mean importance of each part of speech, averaged over seeds, and how far that is from "none".

    tags: from `results.load_tables(..., "pos")`, which has a row a tag and model.
    """
    keys = ["dataset", "model", "attribution", "tag"]
    table = (
        tags.assign(model=_slugs(tags.model))
        .groupby([*keys, "salience", "definition"], sort=False)
        .agg(importance=("importance", "mean"), tokens=("tokens", "mean"), seeds=("seed", "nunique"))
        .reset_index()
    )
    none = table[table.salience == "none"].set_index(keys).importance
    baseline = none.reindex(pd.MultiIndex.from_frame(table[keys])).to_numpy()
    return _sorted(table.assign(difference=table.importance - baseline))[
        [*MODEL, "attribution", "tag", "importance", "difference", "tokens", "seeds"]
    ]


def lambdas(records):
    """Every λ tried on the development set, one row a seed: flips, attention and which was chosen.

    flip_fraction: mean fraction of tokens until a flip over n texts, by which λ is chosen; lower is better.
    attention_kl: mean KL(α, σ) of attention and salience. published: the paper's own λ.
    """
    scores = metrics(records)
    keys = [*MODEL, "seed", "weight"]
    tried = scores[scores.metric == "flip_fraction"].rename(columns={"value": "flip_fraction"})
    kl = scores[scores.metric == "attention_kl"].rename(columns={"value": "attention_kl"})
    table = tried[[*keys, "flip_fraction", "n", "chosen"]].merge(kl[[*keys, "attention_kl"]], "outer", keys)
    known = _published("table_1", ["dataset", "salience"], "weight")
    table["chosen"] = table.chosen.eq(True)  # a row of KL alone has none
    table["published"] = [
        known.get((original(d), s), np.nan) for d, s in zip(table.dataset, table.salience, strict=True)
    ]
    return _sorted(table)


def examples(texts, ratio, attribution="scaled_attention"):
    """Table 4: each model's contiguous rationale of the same texts, a row an example and a column a model.

    texts: from `results.load_tables(..., "examples")`: a row an example and model with tokens, maskable and
    `scores_<attribution>`, one entry a token.
    """
    rows = []
    for row in texts.to_dict("records"):
        kept = contiguous(row[f"scores_{attribution}"], np.asarray(row["maskable"], bool), ratio)
        words = " ".join(token for token, keep in zip(row["tokens"], kept, strict=True) if keep)
        rows.append(
            {name: row[name] for name in ("dataset", "model", "seed", "example", "text", "label")}
            | {"trained with": named(row["salience"], row["definition"]), "rationale": words}
        )
    table = pd.DataFrame(rows).assign(model=lambda t: _slugs(t.model))
    keys = ["dataset", "model", "seed", "example", "text", "label"]
    order = list(dict.fromkeys(table["trained with"]))
    wide = table.pivot(index=keys, columns="trained with", values="rationale")[order]
    return wide.reset_index().rename_axis(columns=None)


def shown(table, value, rows, columns, better):
    """A table as printed: "ours† (published)" in each field; † is significantly better than "none", p < .05.

    value: the column that is shown. rows, columns: lists of columns. better: "lower" or "higher".
    """
    none = table[table.salience == "none"]
    keys = [k for k in ("dataset", "model", "thresholder", "attribution", "ratio") if k in table]
    baseline = none.set_index(keys)[value].reindex(pd.MultiIndex.from_frame(table[keys])).to_numpy()
    gain = (table[value] - baseline) * (1 if better == "higher" else -1)
    dagger = np.where((gain > 0) & (table.p_value < SIGNIFICANT), "†", "")
    paper = table.published.map(lambda p: f" ({p:.2f})" if p == p else "")  # NaN is not itself
    wide = table.assign(text=table[value].map("{:.2f}".format) + dagger + paper).pivot_table(
        index=rows, columns=columns, values="text", aggfunc="first", sort=False
    )
    wide.columns = [", ".join(map(str, c)) if isinstance(c, tuple) else c for c in wide.columns]
    return wide.fillna("").reset_index()


def metrics(records):
    """The metric rows of all records in one DataFrame, with dataset, model and seed; NaN where absent."""
    rows = []
    for params, found in ((r["params"], r["metrics"]) for r in records):
        unit = {"dataset": params["task"], "model": results.slug(params["model"]), "seed": params["seed"]}
        rows += [unit | row for row in found]
    return pd.DataFrame(rows, columns=METRICS)


def f1(records):
    """The rows of `metrics` that are a model's macro-F1 on the test set."""
    scores = metrics(records)
    return scores[(scores.metric == "macro_f1") & (scores.split == "test")]


def of_definition(table, definition):
    """The rows of one definition, where it was trained, with the baseline that all definitions share."""
    baseline = table.salience == "none"
    own = (table.definition == definition) & ~baseline
    trained = table[own if own.any() else baseline][["dataset", "model"]].drop_duplicates()
    return table[own | baseline].merge(trained, on=["dataset", "model"])


def named(salience, definition="paper"):
    """How tables and figures call a model: "baseline", "TextRank", "TextRank (released)"."""
    titles = {"none": "baseline", "textrank": "TextRank", "tfidf": "TF-IDF", "chi2": "χ²"}
    return titles.get(salience, salience) + (" (released)" if definition == "released" else "")


def _rank_sum(values, part, each):
    """p of Wilcoxon's rank-sum test of one cell against the model trained without salience."""
    first = part.iloc[0]
    if first.salience == "none":
        return np.nan
    none = where(values, salience="none", **first[["dataset", "model", "attribution"]])
    both = set(none.seed) & set(part.seed)
    if not both:
        return np.nan
    if both != set(part.seed):
        each = part[part.seed.isin(both)].groupby("example").fraction.mean()
    return rank_sum(each, none[none.seed.isin(both)].groupby("example").fraction.mean())


def _published(table, keys, column="value"):
    return papers.published(PAPER, table).set_index(keys)[column]


def _slugs(models):
    return [results.slug(model) for model in models]


def _groups(frame, keys):
    return frame.groupby(keys, observed=True, sort=False)


def _sorted(table):
    """Data sets and models as they came, then the baseline first, then attributions in the paper's order."""
    return ordered(
        table,
        dataset=(),
        model=(),
        thresholder=(),
        salience=SALIENCES,
        definition=(),
        attribution=ATTRIBUTIONS,
    )
