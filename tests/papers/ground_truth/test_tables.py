"""Tables of the study of metrics: shares of pairs, means over mechanisms, agreement."""

import numpy as np
import pandas as pd
import pytest
from sample.ground_truth import counts, means
from sample.rows import cell

from notebooks.ground_truth import tables


def test_ties_count_half_and_void_pairs_not_at_all():
    values = counts(nc=(60, 20, 80), mechanisms=["xor"]).assign(void=10)
    found = cell(tables.scores(values), ladder="fifths")
    assert (found.accuracy, found.decided_accuracy, found.tied) == pytest.approx((70 / 90, 60 / 70, 20 / 90))
    assert found.invariance == 0.8


def test_mechanisms_weigh_the_same_whatever_ladders_they_have():
    values = pd.concat([counts(nc=90, mechanisms=["redundant"]), counts(nc=50, mechanisms=["xor"])])
    values.loc[(values.mechanism == "xor") & (values.ladder == "shuffled"), "right"] = 70
    found = cell(tables.scores(values), mechanism="all")
    assert found.accuracy == pytest.approx((0.9 + (0.5 + 0.7) / 2) / 2)


def test_a_metric_that_lacks_a_mechanism_of_its_unit_has_no_mean():
    values = pd.concat([counts(nc=90), counts(ns=90, mechanisms=["xor"])])
    whole = tables.scores(values).query("mechanism == 'all'")
    assert whole.metric.tolist() == ["nc"]


def test_the_table_has_intervals_over_models_and_the_accuracy_of_the_compiled_model():
    parts = [counts(seed=s, nc=n, released_soft_nc=30, random=50) for s, n in ((10, 80), (11, 82), (12, 84))]
    values = pd.concat([*parts, counts("compiled", nc=95, random=50)], ignore_index=True)
    table = tables.metrics(tables.scores(values))
    assert list(table) == tables.METRICS
    row = cell(table, metric="nc", model="tiny-bert", mechanism="xor", ladder="fifths")
    assert (row.accuracy, row.n_models, row.n_texts, row.compiled) == (0.82, 3, 60, 0.95)
    assert row.ci_low == pytest.approx(0.82 - row.detectable) and row.detectable == pytest.approx(
        4.302653 * 0.02 / 3**0.5, rel=1e-5
    )
    released = cell(table, metric="soft_nc", mechanism="xor", ladder="fifths")
    assert released.definition == "released" and np.isnan(released.compiled)
    assert "random" in set(table.metric)


def test_the_overview_is_of_trained_models_with_three_classes():
    values = pd.concat(
        [counts(nc=80, ns=60), counts("compiled", nc=90, ns=90), counts(classes=2, nc=10, ns=10)],
        ignore_index=True,
    )
    table = tables.overview(tables.scores(values))
    assert table.index.tolist() == ["nc", "ns"]
    assert table.loc["nc", ["accuracy", "compiled", "above flat"]].tolist() == pytest.approx([0.8, 0.9, 0.8])


def test_the_tables_of_a_page_have_a_column_a_kind_of_model_and_one_a_mechanism():
    parts = [counts(seed=seed, nc=n, released_soft_nc=30) for seed, n in ((10, 80), (11, 82), (12, 84))]
    parts += [counts("compiled", nc=95), counts("bilstm", nc=60), counts(classes=2, nc=90)]
    parts += [counts(masking="half", mechanisms=["xor"], nc=70)]
    scored = tables.scores(pd.concat(parts, ignore_index=True))
    shown = tables.by_model(tables.metrics(scored)).set_index("metric")
    assert shown.loc["NC"].to_dict() == {
        "tiny BERT": "0.82 [0.77, 0.87]",
        "compiled": "0.95",
        "BiLSTM": "0.60",
        "tiny BERT, two classes": "0.90",
        "tiny BERT, masked-tuned": "0.70",
    }
    assert shown.loc["Soft-NC, released"].tolist() == ["0.30", "", "", "", ""]
    hard = tables.by_mechanism(scored).set_index("metric")
    assert list(hard) == list(tables.PRIMARY) and hard.index.tolist() == ["NC", "Soft-NC, released"]
    assert hard.xor["NC"] == pytest.approx((0.80 + 0.82 + 0.84 + 0.60) / 4)
    alone = tables.by_mechanism(tables.scores(counts("compiled", nc=95, mechanisms=["xor"])))
    assert list(alone) == ["metric", "xor"] and alone.xor.tolist() == [0.95]


def test_metrics_that_rank_alike_agree_and_others_do_not():
    of = pd.concat([means(seed, turned=("ns",)) for seed in (10, 11, 12)])
    table = tables.agreement(of)
    assert cell(table, metric_a="nc", metric_b="soft_nc").rho == 1
    assert cell(table, metric_a="ns", metric_b="nc").rho == -1
    assert (table.n_models == 3).all() and not {"precision", "mean_rank"} & {*table.metric_a, *table.metric_b}


def test_bastings_table_averages_over_models():
    table = tables.attributions(pd.concat([means(10), means(20, model="org/mini")]))
    assert set(table.model) == {"tiny-bert", "mini"}
    assert cell(table, model="tiny-bert", mechanism="xor", attribution="lime").precision == pytest.approx(1.1)
    shown = tables.auprc(table)
    assert cell(shown, model="mini", mechanism="xor").lime == round(
        cell(table, model="mini", mechanism="xor", attribution="lime").auprc, 2
    )


def test_metrics_that_are_not_scored_stand_together_where_models_and_texts_are_the_same():
    why = "it means nothing too often"
    left_out = {
        "a": [("ns of blind", 40), ("1 - nc of blind", 40), ("ns of xor", 7)],
        "b": [("ns of blind", 12), ("1 - nc of blind", 12), ("nc of xor", 0)],
    }
    records = [
        {"unit": unit, "excluded": [{"what": what, "why": why, "n": n} for what, n in rows]}
        for unit, rows in left_out.items()
    ]
    assert tables.unscored(records).to_numpy().tolist() == [
        ["blind", "NS, 1 - NC", why, 2, 52],
        ["xor", "NS", why, 1, 7],
    ]
    assert list(tables.unscored([])) == ["mechanism", "metrics", "why", "models", "texts"]


def test_rejected_texts_and_refused_models_are_counted():
    one = {"dataset": "planted", "model": "org/mini", "classes": 3, "masking": "none", "mechanism": "xor"}
    row = one | {"accuracy": 1.0, "swapped": 0.98, "texts": 20, "passed": 15, "too_short": 0}
    rows = [row | {"seed": 0, "refused": "too few", "rejected_without_mask": 5.0}]
    rows += [row | {"seed": 1, "refused": "", "swapped": 1.0, "passed": 20, "rejected_without_mask": 0.0}]
    (found,) = tables.gates(pd.DataFrame(rows)).to_dict("records")
    assert (found["models"], found["scored"], found["rejected_without_mask"]) == (2, 1, 5)
    assert (found["lowest_swapped"], found["passed"], found["refused"]) == (0.98, 35, "too few")


def test_labels_say_definition_and_control():
    assert tables.label("soft_nc") == "Soft-NC" and tables.label("released_soft_nc") == "Soft-NC, released"
    assert tables.label("1 - nc") == "1 - NC" and tables.label("oracle") == "oracle"


def test_cost_is_of_trained_models_where_there_are_any():
    spent = {"compiled": {"ns": 9.0}, "tiny-bert": {"ns": 1.0}, "bilstm": {"ns": 3.0}}
    records = [{"params": {"model": m}, "volatile": {"milliseconds": ms}} for m, ms in spent.items()]
    passes = pd.DataFrame({"metric": "ns", "model": list(spent), "passes": 5})
    assert tables.cost(records, passes).loc["ns"].to_dict() == {"passes": 5, "milliseconds": 2}
    assert tables.cost(records[:1], passes[:1]).milliseconds["ns"] == 9


def test_language_models_have_costs_of_their_own():
    spent = {"tiny-bert": {"ns": 1.0}, "tiny-llama": {"log_ratio": 4.0}}
    records = [{"params": {"model": m}, "volatile": {"milliseconds": ms}} for m, ms in spent.items()]
    passes = pd.DataFrame({"metric": ["ns", "log_ratio"], "model": list(spent), "passes": [5, 32]})
    assert list(tables.cost(records, passes).index) == ["ns"]
    own = tables.cost(records, passes, causal=True)
    assert own.loc["log_ratio"].to_dict() == {"passes": 32, "milliseconds": 4} and len(own) == 1


def test_models_needed_for_a_stable_order_are_by_hand():
    """Accuracies .80, .82, .84: sd .02; t(5) · .02 / √6 = .0210, t(6) · .02 / √7 = .0185."""
    values = pd.concat([counts(seed=s, nc=n, ns=60) for s, n in ((10, 80), (11, 82), (12, 84))])
    order = tables.stable_order(tables.scores(values))
    assert order.models_needed.to_dict() == {"nc": 7, "ns": 3}
    assert order.detectable.to_dict() == pytest.approx({"nc": 4.302653 * 0.02 / 3**0.5, "ns": 0})
    assert tables.stable_order(tables.scores(counts(nc=80))).empty


def test_familiarity_is_a_mean_over_models():
    one = {"dataset": "planted", "model": "tiny-bert", "classes": 3, "masking": "none", "n": 20}
    one |= {"perturbation": "zero", "input": "top kept"}
    rows = [
        one | {"seed": s, "mechanism": m, "rejected": r}
        for s, of in ((10, (0.2, 0.4)), (11, (0.4, 0.4)), (12, (0.5, 0.5)))
        for m, r in zip(("one_word", "xor"), of, strict=True)
    ]
    (row,) = tables.familiarity(pd.DataFrame(rows)).itertuples()
    assert row.rejected == pytest.approx(0.4) and row.n_models == 3 and row.ci_low < 0.4 < row.ci_high


def test_the_leaderboard_has_metrics_and_attributions_with_their_texts():
    table = tables.metrics(tables.scores(pd.concat([counts(seed=s, nc=80 + s) for s in range(3)])))
    gates = pd.DataFrame(
        {"dataset": "planted", "classes": 3, "mechanism": ["xor", "xor"], "corpus": ["b", "a"]}
    )
    board = tables.leaderboard(table, means(10), gates, "1.0")
    assert list(board) == tables.LEADERBOARD and set(board.version) == {"1.0"}
    own = cell(board, kind="metric", name="nc", mechanism="xor", ladder="fifths", score="accuracy")
    assert own.value == pytest.approx(0.81) and own.n_models == 3 and len(own.corpus) == 16
    other = cell(board, kind="attribution", name="lime", mechanism="xor", score="auprc")
    assert other.value == pytest.approx(1.1) and other.corpus == own.corpus
    assert not board.duplicated(tables.LEADERBOARD[:12]).any() and board.value.notna().all()


def test_racu_by_retraining_has_a_table_of_its_own_and_no_part_in_the_others():
    rung = {"attribution": "evidence_rung_0", "metric": "RACU by ROAR", "mechanism": "xor", "model": "bilstm"}
    parts = [
        counts("bilstm", s, masking="roar", mechanisms=["xor"], **{"RACU by ROAR": 80 + s}) for s in (1, 3, 5)
    ]
    values = pd.concat([counts("bilstm", nc=90), *(part[part.ladder == "fifths"] for part in parts)])
    values.loc[values.masking == "roar", "ladder"] = "retrained"
    scored = tables.scores(values)
    racu = pd.DataFrame([rung | {"value": value} for value in (0.4, 0.6)])
    (row,) = tables.retrained(scored, racu).to_dict("records")
    assert list(row) == tables.RACU and row["n_models"] == 3
    assert (row["accuracy"], row["rung 0"]) == (pytest.approx(0.83), pytest.approx(0.5))
    assert list(tables.overview(scored).index) == ["nc"]
    assert tables.agreement(means().assign(masking="roar")).empty
    assert list(tables.retrained(scored[:0], racu)) == tables.RACU
