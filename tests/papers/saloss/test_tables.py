"""Tables of saloss: by hand, beside the published numbers, with what is flagged and left out."""

import numpy as np
import pandas as pd
import pytest
from sample.rows import cell
from sample.saloss import FLIPPED, UNITS, N, record, tags

from faithlib.statistics import rank_sum
from notebooks.saloss import tables
from replication.tables import select


def test_performance_stands_beside_the_published(records):
    table = tables.performance(records)
    assert table.salience.tolist() == ["none", *["textrank"] * 2, "tfidf", "chi2", "uniform"] * 2
    row = cell(table, dataset="sst", salience="textrank", definition="paper")
    assert (row.macro_f1, row.sd) == pytest.approx((0.9, np.sqrt(0.5) * 0.01)) and row.seeds == 2
    assert (row.weight, row.majority, row.published) == ("0.001, 0.01", 0.5, 0.91)
    assert cell(table, dataset="sst", salience="none").weight == "0"
    assert np.isnan(cell(table, dataset="sst", salience="tfidf").published)


def test_the_papers_texts_are_found_by_number(values, records):
    """Row 672 is the 95th of the 300 of 1,821 texts that the experiment draws."""
    count = {"examples": {"n": 300, "of": 1821}}
    whole = [r | {"provenance": count, "params": r["params"] | {"test_size": 0}} for r in records]
    moved = values.assign(example=values.example + 94 - 3)  # it is the fourth made text
    table = tables.table_4(moved, whole)
    assert set(table.dataset) == {"sst"} and set(table.row) == {672}
    row = cell(table, salience="textrank", definition="paper", attribution="attention")
    main = tables.main_setting(values).query(
        "dataset == 'sst' and salience == 'textrank' and definition == 'paper' and attribution == 'attention'"
    )
    assert row.fraction == pytest.approx(main[main.example == 3].fraction.mean())
    assert (row.flipped, row.correct, row.seeds) == (1, 1, 2)
    part = [r | {"params": r["params"] | {"test_size": 1821}} for r in whole]
    few = [r | {"provenance": {"examples": {"n": 94, "of": 1821}}} for r in whole]
    few_drawn = np.random.default_rng(0).permutation(1821)[:94]
    assert 672 not in few_drawn and tables.table_4(moved, part).empty and tables.table_4(moved, few).empty


def test_decision_flips_by_hand(values):
    table = tables.decision_flip(values)
    assert table.attribution[:5].tolist() == list(FLIPPED)
    row = cell(table, dataset="sst", salience="textrank", definition="paper", attribution="attention")
    each = tables.main_setting(values).query(
        "dataset == 'sst' and attribution == 'attention' and definition == 'paper'"
    )
    textrank = each[each.salience == "textrank"].groupby("example").fraction.mean()
    assert row.fraction == pytest.approx(textrank.mean()) and row.ci_low < row.fraction < row.ci_high
    assert row.never_flipped == pytest.approx(2 / N) and (row.n, row.seeds) == (N, 2)
    assert row.fraction_flipped == pytest.approx(textrank[: N - 2].mean())
    none = each[each.salience == "none"].groupby("example").fraction.mean()
    assert row.p_value == pytest.approx(rank_sum(textrank, none)) and row.p_value < 1e-6
    assert row.published == 0.42 and row.model == "tiny"
    assert cell(table, dataset="sst", salience="chi2", attribution="attention").published == 0.49
    baseline = cell(table, dataset="semeval", salience="none", attribution="random")
    assert np.isnan(baseline.p_value) and baseline.published == 0.54


def test_options_of_the_flip_by_hand(values):
    table = tables.options(values)
    assert len(table) == 2 * 6 * 5  # data sets, models, options
    shares = 0.4 + 0.005 - 0.025, 0.4 + 0.005 - 0.025 + 0.1  # of TextRank, attention 0.1 lower, two seeds
    for option, share in zip(("main", "mask"), shares, strict=True):
        row = cell(table, dataset="sst", salience="textrank", definition="paper", option=option)
        flipped = np.linspace(-0.05, 0.05, N)[: N - 2].mean()
        assert row.fraction == pytest.approx((share + flipped) * (N - 2) / N + 2 / N)
        assert row.random == pytest.approx((share + 0.225 + flipped) * (N - 2) / N + 2 / N)
        assert row.never_flipped == pytest.approx(2 / N)


def test_scores_as_released_stand_beside_the_defined_by_hand(values):
    values = tables.main_setting(values)
    released = values[values.salience == "none"].drop(columns=["salience", "definition"])
    released = released.assign(fraction=released.fraction + 0.1 * (released.example % 2))
    table = tables.released_scores(values, released)
    examples = values.example.nunique()
    row = cell(table, dataset="sst", attribution="attention")
    none = values[(values.salience == "none") & (values.dataset == "sst")]
    attention = none[none.attribution == "attention"]
    assert row.defined == pytest.approx(attention.fraction.mean())
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
    values = tables.main_setting(values)
    some = values[(values.definition == "paper") | (values.seed == 0)]
    row = cell(tables.decision_flip(some), dataset="sst", definition="released", attribution="attention")
    first = values[(values.seed == 0) & (values.dataset == "sst") & (values.attribution == "attention")]
    textrank, none = (
        first[(first.salience == s) & (first.definition == d)].fraction
        for s, d in (("textrank", "released"), ("none", "paper"))
    )
    assert row.seeds == 1 and row.p_value == pytest.approx(rank_sum(textrank, none))


def test_fresh_by_hand(records):
    table = tables.fresh(records)
    assert list(table) == tables.FRESH
    row = cell(
        table, dataset="sst", salience="textrank", definition="paper", thresholder="top_k", unit="word pieces"
    )
    assert row.macro_f1 == pytest.approx(0.895 - 0.05 + 0.006) and row.full_text == pytest.approx(0.9)
    # Two seeds each: t = 0.045 / sqrt(s²), s² = 2 · 0.006² / 2 pooled, with two degrees of freedom.
    t = 0.045 / np.sqrt(0.5 * 0.012**2)
    assert row.p_value == pytest.approx(1 - t / np.sqrt(2 + t**2)) and row.published == 0.87
    assert set(select(table, dataset="semeval", salience="uniform", thresholder="contiguous").published) == {
        0.42
    }
    other = tables.fresh([record("sst", s, ratio=0.5) for s in (0, 1)])
    assert other.published.isna().all()  # another ratio is another number
    bare = tables.fresh([{**r, "metrics": r["metrics"][:1]} for r in records])
    assert bare.empty and list(bare) == tables.FRESH


def test_parts_of_speech_are_compared_with_the_baseline():
    table = tables.pos(pd.concat([tags(*unit) for unit in UNITS]))
    attention = table[table.attribution == "attention"]
    row = cell(attention, dataset="sst", salience="textrank", definition="paper", tag="ADJ")
    assert (row.importance, row.difference, row.seeds) == (pytest.approx(1.55), pytest.approx(0.5), 2)
    assert row.tokens == 30 and (table.difference[table.salience == "none"] == 0).all()


def test_every_lambda_is_listed_and_a_choice_at_the_edge_is_marked(records):
    table = tables.lambdas(records)
    rows = table[(table.dataset == "sst") & (table.salience == "textrank") & (table.definition == "paper")]
    assert sorted(rows.weight) == [1e-4, 1e-3, 1e-3, 1e-2] and rows.groupby("seed").chosen.sum().eq(1).all()
    assert (rows.flip_fraction[rows.chosen] == 0.4).all() and (rows.attention_kl[rows.chosen] == 0.7).all()
    assert (rows.published == 1e-3).all() and rows.edge.equals(rows.chosen)  # of two, each is an end
    assert not table.edge[table.salience == "none"].any()
    middle = {"split": "validation", "input": "text", "salience": "textrank", "definition": "paper", "n": 8}
    middle |= {"metric": "flip_fraction", "value": 0.7, "weight": 1.0, "chosen": False}
    wider = tables.lambdas([{**records[0], "metrics": [*records[0]["metrics"], middle]}])
    assert not wider.edge[wider.definition == "paper"].any()


def test_examples_show_each_models_rationale():
    frame = pd.DataFrame(
        [
            {
                "dataset": "sentiment", "model": "tiny", "seed": 0, "example": 0,
                "text": "a truly fine film", "label": 1,
                "tokens": ["[CLS]", "a", "truly", "fine", "film", "[SEP]"], "salience": salience,
                "definition": "paper", "maskable": [False, True, True, True, True, False],
                "scores_scaled_attention": scores,
            }
            for salience, scores in (
                ("none", [0, 0.5, 0.4, 0, 0, 0]),
                ("textrank", [0, 0, 0.3, 0.6, -0.1, 0]),
            )
        ]
    )  # fmt: skip
    (row,) = tables.examples(frame, 0.5).to_dict("records")
    assert (row["baseline"], row["TextRank"], row["label"]) == ("a truly", "truly fine", 1)


def test_shown_marks_what_is_significantly_better(values, records):
    table = tables.decision_flip(values)
    wide = tables.as_printed(
        table[table.definition == "paper"], "fraction", ["salience", "attribution"], ["dataset"], "lower"
    ).set_index(["salience", "attribution"])
    row = cell(table, dataset="sst", salience="textrank", definition="paper", attribution="attention")
    assert wide.sst["textrank", "attention"] == f"{row.fraction:.2f}† (0.42)"
    assert "†" not in wide.sst["uniform", "attention"] + wide.sst["none", "attention"]  # the former is worse
    fresh = tables.fresh(records).query("definition == 'paper' and unit == 'word pieces'")
    wide = tables.as_printed(fresh, "macro_f1", ["dataset"], ["thresholder", "salience"], "higher")
    assert wide.columns.tolist()[:3] == ["dataset", "top_k, none", "top_k, textrank"]
    assert wide["top_k, textrank"][0] == "0.85† (0.87)"
