"""SaLoss's report on records made by hand: tables, claims and figures."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from faithlib import results
from faithlib.papers.saloss import claims, figures, tables
from faithlib.report.claims import CLAIMS
from faithlib.statistics import rank_sum

N = 40
FLIPPED = ("random", "attention", "input_x_gradient_abs", "scaled_attention", "integrated_gradients")
LEVEL = {"none": 0.5, "textrank": 0.4, "tfidf": 0.45, "chi2": 0.48, "uniform": 0.52}
F1 = {"none": 0.9, "textrank": 0.895, "tfidf": 0.9, "chi2": 0.9, "uniform": 0.88}
TRAINED = [*((s, "paper") for s in LEVEL), ("textrank", "released")]


def flips(dataset="sst", seed=0, model="folder/tiny"):
    """Fractions around LEVEL: attention 0.1 below it, random 0.2 above, the last two texts never flip."""
    spread, parts = np.linspace(-0.05, 0.05, N), []
    for salience, definition in TRAINED:
        level = LEVEL[salience] + (0.05 if definition == "released" else 0) + 0.01 * seed
        for name in FLIPPED:
            shift = {"attention": -0.1, "random": 0.2}.get(name, 0)
            parts.append(
                pd.DataFrame(
                    {
                        "salience": salience,
                        "definition": definition,
                        "attribution": name,
                        "example": np.arange(N),
                        "fraction": np.where(np.arange(N) < N - 2, level + shift + spread, 1.0),
                        "flipped": np.arange(N) < N - 2,
                    }
                )
            )
    return pd.concat(parts, ignore_index=True).assign(dataset=dataset, model=model, seed=seed)


def record(dataset="sst", seed=0, ratio=0.2):
    rows = [{"metric": "majority", "split": "test", "value": 0.5, "n": N}]
    for salience, definition in TRAINED:
        weight = 0.0 if salience == "none" else 10.0 ** -(2 + seed)
        about = {"split": "test", "n": N, "salience": salience, "definition": definition, "weight": weight}
        f1 = F1[salience] + 0.01 * seed
        rows += [
            about | {"metric": name, "value": f1 + 0.02 * (name == "accuracy"), "input": "text"}
            for name in ("accuracy", "macro_f1")
        ]
        for cut, kind in ((0.1, "top_k"), (0.2, "contiguous")):
            gain = {"none": 0, "textrank": 0.05}.get(salience, -0.02) * (kind == "top_k")
            rows.append(
                about
                | {
                    "metric": "macro_f1",
                    "value": f1 - cut + gain + 0.002 * seed,
                    "input": kind,
                    "attribution": "attention",
                    "ratio": ratio,
                }
            )
        tried = about | {"split": "validation"}
        rows += [
            tried | {"metric": "flip_fraction", "value": 0.4, "chosen": True},
            tried | {"metric": "flip_fraction", "value": 0.6, "chosen": False, "weight": weight / 10},
            tried | {"metric": "attention_kl", "value": 0.7},
        ]
    return {
        "unit": f"{dataset}.tiny.s{seed}",
        "metrics": rows,
        "files": {},
        "params": {"task": dataset, "model": "folder/tiny", "seed": seed},
    }


def tags(dataset="sst", seed=0):
    return pd.DataFrame(
        [
            {
                "salience": salience,
                "definition": definition,
                "attribution": name,
                "tag": tag,
                "tokens": count,
                "importance": base + (0.5 if salience == "textrank" and tag == "ADJ" else 0) + 0.1 * seed,
            }
            for salience, definition in TRAINED
            for name in ("attention", "scaled_attention")
            for tag, count, base in (("ADJ", 30, 1.0), ("NOUN", 50, 1.2), ("DET", 20, 0.4))
        ]
    ).assign(dataset=dataset, model="folder/tiny", seed=seed)


UNITS = [(dataset, seed) for dataset in ("sst", "semeval") for seed in (0, 1)]


@pytest.fixture
def records():
    return [record(*unit) for unit in UNITS]


@pytest.fixture
def values():
    return pd.concat([flips(*unit) for unit in UNITS], ignore_index=True)


def cell(table, **where):
    for name, value in where.items():
        table = table[table[name] == value]
    assert len(table) == 1
    return table.iloc[0]


def test_performance_stands_beside_the_published(records):
    table = tables.performance(records)
    assert table.salience.tolist() == ["none", *["textrank"] * 2, "tfidf", "chi2", "uniform"] * 2
    row = cell(table, dataset="sst", salience="textrank", definition="paper")
    assert (row.macro_f1, row.sd) == pytest.approx((0.9, np.sqrt(0.5) * 0.01)) and row.seeds == 2
    assert (row.weight, row.majority, row.published) == ("0.001, 0.01", 0.5, 0.91)
    assert cell(table, dataset="sst", salience="none").weight == "0"
    assert np.isnan(cell(table, dataset="sst", salience="tfidf").published)


def test_decision_flips_by_hand(values):
    table = tables.decision_flip(values)
    assert table.attribution[:5].tolist() == list(FLIPPED)
    row = cell(table, dataset="sst", salience="textrank", definition="paper", attribution="attention")
    each = values.query("dataset == 'sst' and attribution == 'attention' and definition == 'paper'")
    own = each[each.salience == "textrank"].groupby("example").fraction.mean()
    assert row.fraction == pytest.approx(own.mean()) and row.ci_low < row.fraction < row.ci_high
    assert row.never_flipped == pytest.approx(2 / N) and (row.n, row.seeds) == (N, 2)
    none = each[each.salience == "none"].groupby("example").fraction.mean()
    assert row.p_value == pytest.approx(rank_sum(own, none)) and row.p_value < 1e-6
    assert row.published == 0.42 and row.model == "tiny"
    assert cell(table, dataset="sst", salience="chi2", attribution="attention").published == 0.49
    baseline = cell(table, dataset="semeval", salience="none", attribution="random")
    assert np.isnan(baseline.p_value) and baseline.published == 0.54


def test_scores_as_released_stand_beside_the_defined_by_hand(values):
    released = values[values.salience == "none"].drop(columns=["salience", "definition"])
    released = released.assign(fraction=released.fraction + 0.1 * (released.example % 2))
    table = tables.released_scores(values, released)
    examples = values.example.nunique()
    row = cell(table, dataset="sst", attribution="attention")
    none = values[(values.salience == "none") & (values.dataset == "sst")]
    own = none[none.attribution == "attention"]
    assert row.defined == pytest.approx(own.fraction.mean())
    odd = sum(example % 2 for example in range(examples)) / examples
    assert row.difference == pytest.approx(0.1 * odd) and row.ci_low <= row.difference <= row.ci_high
    assert (
        row.published
        == cell(
            tables.decision_flip(values), dataset="sst", salience="none", attribution="attention"
        ).published
    )


def test_a_salience_is_tested_on_the_seeds_that_both_have(values):
    """The release's form was trained with seed 0 only: so is the baseline that it is compared with."""
    some = values[(values.definition == "paper") | (values.seed == 0)]
    row = cell(tables.decision_flip(some), dataset="sst", definition="released", attribution="attention")
    first = values[(values.seed == 0) & (values.dataset == "sst") & (values.attribution == "attention")]
    own, none = (
        first[(first.salience == s) & (first.definition == d)].fraction
        for s, d in (("textrank", "released"), ("none", "paper"))
    )
    assert row.seeds == 1 and row.p_value == pytest.approx(rank_sum(own, none))


def test_fresh_by_hand(records):
    table = tables.fresh(records)
    assert list(table) == tables.FRESH
    row = cell(table, dataset="sst", salience="textrank", definition="paper", thresholder="top_k")
    assert row.macro_f1 == pytest.approx(0.895 - 0.05 + 0.006) and row.full_text == pytest.approx(0.9)
    # Two seeds each: t = 0.045 / sqrt(s²), s² = 2 · 0.006² / 2 pooled, with two degrees of freedom.
    t = 0.045 / np.sqrt(0.5 * 0.012**2)
    assert row.p_value == pytest.approx(1 - t / np.sqrt(2 + t**2)) and row.published == 0.87
    assert cell(table, dataset="semeval", salience="uniform", thresholder="contiguous").published == 0.42
    other = tables.fresh([record("sst", s, ratio=0.5) for s in (0, 1)])
    assert other.published.isna().all()  # another ratio is another number
    bare = tables.fresh([{**r, "metrics": r["metrics"][:1]} for r in records])
    assert bare.empty and list(bare) == tables.FRESH


def test_one_seed_has_no_test(records):
    table = tables.fresh(records[:1])
    assert table.p_value.isna().all() and table.sd.isna().all()
    verdicts = claims.claims(records[:1], flips(), n_resamples=50).set_index("claim")
    row = verdicts.loc["better top-k rationales on SST and SemEval (macro-F1)"].iloc[0]
    assert row.verdict == "inconclusive" and np.isnan(row.ci_low) and "(1 seed)" in row["where"]


def test_parts_of_speech_are_compared_with_the_baseline():
    table = tables.pos(pd.concat([tags(*unit) for unit in UNITS]))
    own = table[table.attribution == "attention"]
    row = cell(own, dataset="sst", salience="textrank", definition="paper", tag="ADJ")
    assert (row.importance, row.difference, row.seeds) == (pytest.approx(1.55), pytest.approx(0.5), 2)
    assert row.tokens == 30 and (table.difference[table.salience == "none"] == 0).all()


def test_every_lambda_is_listed_and_one_is_chosen(records):
    table = tables.lambdas(records)
    own = table[(table.dataset == "sst") & (table.salience == "textrank") & (table.definition == "paper")]
    assert sorted(own.weight) == [1e-4, 1e-3, 1e-3, 1e-2] and own.groupby("seed").chosen.sum().eq(1).all()
    assert (own.flip_fraction[own.chosen] == 0.4).all() and (own.attention_kl[own.chosen] == 0.7).all()
    assert (own.published == 1e-3).all()


def test_examples_show_each_models_rationale():
    frame = pd.DataFrame(
        [
            {
                "dataset": "sentiment",
                "model": "tiny",
                "seed": 0,
                "example": 0,
                "text": "a truly fine film",
                "label": 1,
                "tokens": ["[CLS]", "a", "truly", "fine", "film", "[SEP]"],
                "salience": salience,
                "definition": "paper",
                "maskable": [False, True, True, True, True, False],
                "scores_scaled_attention": scores,
            }
            for salience, scores in (
                ("none", [0, 0.5, 0.4, 0, 0, 0]),
                ("textrank", [0, 0, 0.3, 0.6, -0.1, 0]),
            )
        ]
    )
    (row,) = tables.examples(frame, 0.5).to_dict("records")
    assert (row["baseline"], row["TextRank"], row["label"]) == ("a truly", "truly fine", 1)


def test_parts_are_read_where_there_are_any(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results" / "quick" / "saloss"
    results.write_parquet(folder / "sst.tiny.s0.pos.parquet", tags()[["tag", "importance"]])
    with_part = record() | {"files": {"sst.tiny.s0.pos.parquet": "digest"}}
    found = results.load_tables("results", "quick", "saloss", [with_part, record(seed=1)], "pos")
    assert set(found.seed) == {0} and set(found.dataset) == {"sst"} and len(found) == len(tags())
    assert results.load_tables("results", "quick", "saloss", [with_part], "examples").empty


def test_shown_marks_what_is_significantly_better(values, records):
    table = tables.decision_flip(values)
    wide = tables.shown(
        table[table.definition == "paper"], "fraction", ["salience", "attribution"], ["dataset"], "lower"
    ).set_index(["salience", "attribution"])
    found = cell(table, dataset="sst", salience="textrank", definition="paper", attribution="attention")
    assert wide.sst["textrank", "attention"] == f"{found.fraction:.2f}† (0.42)"
    assert "†" not in wide.sst["uniform", "attention"] + wide.sst["none", "attention"]  # the former is worse
    wide = tables.shown(
        tables.fresh(records).query("definition == 'paper'"),
        "macro_f1",
        ["dataset"],
        ["thresholder", "salience"],
        "higher",
    )
    assert wide.columns.tolist()[:3] == ["dataset", "top_k, none", "top_k, textrank"]
    assert wide["top_k, textrank"][0] == "0.85† (0.87)"


def test_claims_say_what_the_values_were_made_to_say(records, values):
    table = claims.claims(records, values, n_resamples=200)
    assert list(table) == CLAIMS and set(table.definition) == {"paper", "released"}
    own = table[table.definition == "paper"].set_index("claim")
    mean = own.loc["fewer tokens to a flip than the baseline, on average"]
    assert mean.verdict == "holds" and mean.value == pytest.approx(0.1 * (N - 2) / N)
    assert mean.published == pytest.approx(0.071)
    share = own.loc["fewer tokens to a flip in 19 of 20 cases (share)"]
    assert share.verdict == "holds" and share.value == 1 and share.published == 0.95
    assert share["where"] == "8 of 8 cases, 8 of them by a rank-sum at p < .05; lost: none"
    lead = own.loc["attention is the best attribution (lead over the best other)"]
    assert lead.value == pytest.approx(0.1 * (N - 2) / N) and lead.published == pytest.approx(0.016)
    others = ("TF-IDF", "χ²", "uniform")
    gains = own.value[[f"TextRank needs fewer tokens to a flip than {name}" for name in others]]
    assert gains.tolist() == pytest.approx(np.array([0.05, 0.08, 0.12]) * (N - 2) / N)
    same = own.loc["same performance: at most 0.02 of macro-F1 lost"]
    assert same.verdict == "holds" and same.value == pytest.approx(-0.005)
    better = own.loc["better top-k rationales on SST and SemEval (macro-F1)"]
    assert better.verdict == "holds" and better.value == pytest.approx(0.045) == better.published
    assert own.loc["better contiguous rationales on SST and SemEval (macro-F1)"].verdict == "does not hold"
    released = table[table.definition == "released"].set_index("claim")
    assert released.loc[mean.name].value == pytest.approx(0.05 * (N - 2) / N)
    assert "TextRank needs fewer tokens to a flip than χ²" not in released.index
    json.dumps(table.to_dict("records"))


def test_a_lost_case_is_named(records, values):
    worse = (values.dataset == "sst") & (values.salience == "textrank") & (values.attribution == "attention")
    values.loc[worse, "fraction"] += 0.3
    table = claims.claims(records, values, n_resamples=200).set_index("claim")
    row = table.loc["fewer tokens to a flip in 19 of 20 cases (share)"].iloc[0]
    assert row.verdict == "does not hold" and row.value == 7 / 8 and "lost: sst attention α" in row["where"]


def test_without_salience_there_is_no_claim(records, values):
    assert claims.claims(records, values[values.salience == "none"]).empty


def test_figures_have_a_panel_for_everything(records, values):
    figure = figures.decision_flip(tables.decision_flip(values))
    assert [axis.get_title() for axis in figure.axes] == ["sst", "semeval"]
    elsewhere = values[(values.definition == "paper") | (values.dataset == "sst")]
    figure = figures.decision_flip(tables.decision_flip(elsewhere), definition="released")
    assert [axis.get_title() for axis in figure.axes] == ["sst"]  # no panel with a baseline alone
    figure = figures.fresh(tables.fresh(records))
    assert [axis.get_title() for axis in figure.axes] == [
        "sst: top-k",
        "sst: contiguous",
        "semeval: top-k",
        "semeval: contiguous",
    ]
    figure = figures.pos(tables.pos(pd.concat([tags(*unit) for unit in UNITS])), scale="quick")
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["DET", "ADJ", "NOUN"]
    plt.close("all")
