"""FMM's report on records made by hand: tables, claims and figures."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from faithlib import papers, results
from faithlib.papers.fmm import claims, figures, tables
from faithlib.papers.fmm.card import CARD
from faithlib.report.claims import CLAIMS

STEPS = np.arange(0, 101, 10)
LINE = 1 - STEPS / 200  # random: from 1 to ½, evenly
DROP = np.where(STEPS > 0, 0.5, 1.0)  # at the end at once: RACU 0.9, ACU 0.225
MASKED, PLAIN = tables.MASKED, tables.PLAIN
LEVEL = {
    "gradient_l2": 0.4,
    "gradient_l1": 0.4,
    "input_x_gradient": -0.2,
    "input_x_gradient_abs": 0.2,
    "integrated_gradients": 0.6,
    "integrated_gradients_abs": 0.4,
    "leave_one_out": 1.0,
    "leave_one_out_abs": 0.5,
    "beam": 1.1,
}  # how far each measure is from LINE (0) to DROP (1)
UNITS = [(dataset, seed) for dataset in ("sst2", "cola", "whereabouts_2") for seed in (0, 1)]


def curves_of(dataset="sst2", seed=0, model="folder/MiniLM"):
    parts, metric = [], CARD.metric(dataset)
    for strategy in (MASKED, PLAIN):
        for measure, level in (("random", 0), *LEVEL.items()):
            value = LINE + level * (DROP - LINE) + 0.01 * seed * (measure == "beam") * (STEPS == 50)
            parts += [
                pd.DataFrame(
                    {
                        "strategy": strategy,
                        "measure": measure,
                        "step": STEPS,
                        "metric": name,
                        "value": v,
                        "masked_tokens": STEPS * 10,
                        "unchanged_texts": 0,
                    }
                )
                for name, v in ((metric, value), ("loss", 0 * value))
            ]
    return pd.concat(parts, ignore_index=True).assign(dataset=dataset, model=model, seed=seed)


def record(dataset="sst2", seed=0, converged=True):
    metric = CARD.metric(dataset)
    rows = [{"metric": "majority", "split": "test", "value": 0.5, "n": 100}]
    for strategy, values in ((MASKED, (0.9, 0.5)), (PLAIN, (0.91, 0.4)), ("all/masked", (0.8, 0.5))):
        about = {"split": "test", "n": 100, "strategy": strategy}
        rows += [
            about | {"metric": metric, "value": values[0] + 0.01 * seed, "masked": 0},
            about | {"metric": metric, "value": values[1], "masked": 100},
            about | {"metric": "loss", "value": 9.0, "masked": 0},
            {"metric": "converged", "strategy": strategy, "value": int(converged)},
        ]
    times = {"fine_tuning": 60.0, "masf": 30.0, "leave_one_out": 90.0 + 60 * seed, "random": 0.0}
    return {
        "unit": f"{dataset}.MiniLM.s{seed}",
        "metrics": rows,
        "files": {},
        "params": {"task": dataset, "model": "folder/MiniLM", "seed": seed},
        "volatile": {"seconds_of_measures": {MASKED: times, PLAIN: {"fine_tuning": 60.0}}},
    }


def masf_of(dataset="sst2", seed=0):
    """In distribution with masked fine-tuning, but for one test of 20; out of it without."""
    rows = []
    for strategy in (MASKED, PLAIN):
        for definition in tables.P_OF:
            about = {"strategy": strategy, "definition": definition, "n": 100}
            rows.append(
                about
                | {
                    "measure": "validation",
                    "ratio": 0,
                    "share_below_05": 0.05,
                    "p": 0.0 if definition == "released" else 0.5,
                }
            )
            for measure in ("random", "leave_one_out"):
                for ratio in STEPS:
                    amiss = strategy == PLAIN or (measure, ratio) == ("random", 100)
                    p = 0.01 if amiss and ratio else 0.4 + 0.1 * seed + 0.002 * ratio
                    rows.append(about | {"measure": measure, "ratio": ratio, "p": p, "share_below_05": 0.1})
    return pd.DataFrame(rows).assign(dataset=dataset, model="folder/MiniLM", seed=seed)


def epochs_of(dataset="sst2", seed=0):
    return pd.DataFrame(
        [
            {
                "strategy": strategy,
                "epoch": epoch,
                "unmasked": 0.9 - 0.3 / epoch + 0.01 * seed,
                "masked": 0.7 - 0.2 / epoch if strategy == MASKED else np.nan,
            }
            for strategy in (MASKED, PLAIN)
            for epoch in (1, 2, 3)
        ]
    ).assign(dataset=dataset, model="folder/MiniLM", seed=seed)


def every(make, units=UNITS):
    return pd.concat([make(*unit) for unit in units], ignore_index=True)


@pytest.fixture(scope="module")
def records():
    return [record(*unit) for unit in UNITS]


@pytest.fixture(scope="module")
def points(records):
    return tables.points(every(curves_of), records)


def cell(table, **where):
    for name, value in where.items():
        table = table[table[name] == value]
    assert len(table) == 1
    return table.iloc[0]


def test_names_are_those_of_the_published_tables():
    four = papers.published("fmm", "table_4").set_index("measure")
    assert set(tables.MEASURES) == {"random", *four.index}
    assert {m: tables.variant(m) for m in four.index} == four.variant.to_dict()
    assert set(four.index[four.category == "occlusion"]) == set(claims.OCCLUSION)
    assert papers.published("fmm", "table_10").set_index("strategy").name.to_dict() == tables.STRATEGIES
    assert tables.named("half/masked") == "half masked, masked chooses"
    assert [CARD.metric(d) for d in ("cola", "babi_1", "topics")] == ["mcc", "accuracy", "accuracy"]


def test_points_keep_each_data_sets_own_metric(points):
    assert points.groupby("dataset").metric.unique().map(list).to_dict() == {
        "sst2": ["accuracy"],
        "cola": ["mcc"],
        "whereabouts_2": ["accuracy"],
    }
    assert set(points.model) == {"MiniLM"} and points.converged.all()


def test_performance_stands_beside_the_published(records):
    table = tables.performance(tables.scores(records))
    assert table.strategy[:3].tolist() == list(tables.STRATEGIES)
    row = cell(table, dataset="sst2", strategy=MASKED)
    assert (row.unmasked, row.all_masked, row.majority) == pytest.approx((0.905, 0.5, 0.5))
    assert row.unmasked_low <= 0.9 + 1e-9 and (row.seeds, row.unconverged) == (2, 0)
    assert (row.published, row.published_low, row.published_majority) == (0.94, pytest.approx(0.938), 0.51)
    assert row.published_model == "roberta-base"  # the paper has no MiniLM
    assert cell(table, dataset="whereabouts_2", strategy=MASKED).published == 0.99
    assert np.isnan(cell(table, dataset="sst2", strategy=PLAIN).published)
    mean = cell(table, dataset="all", strategy=PLAIN)
    assert (mean.unmasked, mean.all_masked, mean.seeds) == pytest.approx((0.915, 0.4, 2))


def test_a_seed_that_did_not_converge_is_flagged_and_only_left_out_on_request(records):
    broken = [record("sst2", 0), record("sst2", 1, converged=False), *records[2:]]
    table = tables.performance(tables.scores(broken))
    row = cell(table, dataset="sst2", strategy=MASKED)
    assert (row.seeds, row.unconverged, row.unmasked) == (2, 1, pytest.approx(0.905))
    assert cell(table, dataset="all", strategy=MASKED).seeds == 1  # the paper's mean has converged seeds only
    left = cell(tables.performance(tables.scores(broken, leave_out=True)), dataset="sst2", strategy=MASKED)
    assert (left.seeds, left.unconverged, left.unmasked) == (1, 0, 0.9)
    kept, fewer = (tables.points(every(curves_of), broken, leave_out) for leave_out in (False, True))
    assert len(kept) - len(fewer) == 2 * 10 * 11
    assert cell(tables.racu(kept), dataset="sst2", strategy=MASKED, measure="beam").unconverged == 1


def test_racu_by_hand_and_beside_the_published(points):
    table = tables.racu(points)
    own = table[(table.dataset == "sst2") & (table.strategy == MASKED)]
    assert own.measure.tolist() == list(tables.MEASURES[1:])
    row = cell(own, measure="leave_one_out")
    assert (row.acu, row.racu, row.variant) == (pytest.approx(0.225), pytest.approx(0.9), "signed")
    assert (row.published, row.published_acu) == pytest.approx((1.713, 0.516))
    assert (row.published_low, row.published_high) == pytest.approx((1.651, 1.801))
    assert row.roar_of == "" and np.isnan(row.roar)  # Recursive ROAR has no leave-one-out
    row = cell(own, measure="gradient_l2")
    assert (row.roar_of, row.roar, row.published) == ("published", pytest.approx(0.261), pytest.approx(0.404))
    row = cell(own, measure="beam")
    assert row.acu == pytest.approx(1.1 * 0.225 - 0.01 * 0.1 / 2) and row.ci_low < row.racu < row.ci_high
    plain = table[table.strategy == PLAIN]
    assert plain.published.isna().all() and plain.roar.isna().all()
    assert cell(table, dataset="whereabouts_2", strategy=MASKED, measure="beam").published == 1.392
    wide = tables.shown(table).set_index("measure")
    assert wide.sst2["leave_one_out"] == "0.900 (1.713)" and wide.index[0] == "gradient_l2"


def test_our_recursive_roar_stands_beside_where_it_has_been_run(points, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert tables.roar("results", "small") is None
    common = {"dataset": "sst", "model": "some/MiniLM", "by": "ratio", "metric": "macro_f1"}
    curves = [("random", (0.9, 0.5, 0.1), (0.2, 1.0, 0.1)), ("gradient_l2", (0.9, 0.4, 0.1), (0.2, 0.0, 0.1))]
    values = pd.DataFrame(
        [
            {
                **common,
                "measure": measure,
                "recursive": recursive,
                "seed": seed,
                "step": step,
                "value": value if recursive or measure == "random" else 0.1,
            }
            for measure, *seeds in curves
            for recursive in (False, True)
            for seed, curve in enumerate(seeds)
            for step, value in zip((0, 50, 100), curve, strict=True)
        ]
    )
    monkeypatch.setattr(tables.results, "load", lambda *of: ([], values))
    table = tables.racu(points, tables.roar("results", "small"))
    row = cell(table, dataset="sst2", strategy=MASKED, measure="gradient_l2")
    ends = row.roar, row.roar_low, row.roar_high  # of an area of 0.4 it takes 0.05; of 0.475, 0.5: clipped
    assert ends == pytest.approx((0.5625, 0.125, 1)) and row.roar_of == "ours"
    other = cell(table, dataset="sst2", strategy=MASKED, measure="integrated_gradients_abs")
    assert (other.roar, other.roar_of) == (pytest.approx(0.329), "published")


def test_curves_are_means_with_intervals(points):
    row = cell(tables.curve_table(points), dataset="sst2", strategy=MASKED, measure="beam", step=50)
    assert row.value == pytest.approx(0.48) and row.value_low < row.value < row.value_high
    assert (row.metric, row.seeds, row.masked_tokens) == ("accuracy", 2, 500)


def test_masf_has_a_column_for_each_definition(records):
    table = tables.masf(tables.flagged(every(masf_of), records))
    row = cell(table, dataset="sst2", strategy=MASKED, measure="leave_one_out", ratio=50)
    assert (row.p_simes, row.p_calibrated, row.share_simes) == pytest.approx((0.55, 0.55, 0.1))
    assert row.p_simes_low < row.p_simes < row.p_simes_high and (row.n, row.seeds) == (100, 2)
    null = cell(table, dataset="sst2", strategy=MASKED, measure="validation")
    assert (null.p_simes, null.p_released, null.ratio) == (0.5, 0, 0)
    some = masf_of().query("definition == 'paper'")
    assert tables.masf(tables.flagged(some, records)).p_calibrated.isna().all()


def test_walltime_is_minutes_beside_the_published(records):
    table = tables.walltime(records)
    row = cell(table, dataset="sst2", strategy=MASKED, part="leave_one_out")
    assert (row.minutes, row.published, row.seeds) == (2, 10, 2)
    assert cell(table, dataset="sst2", strategy=MASKED, part="fine_tuning").published == 79
    assert cell(table, dataset="cola", strategy=MASKED, part="masf").published == 2
    assert np.isnan(cell(table, dataset="sst2", strategy=PLAIN, part="fine_tuning").published)


def test_history_has_both_copies(records):
    table = tables.history(tables.flagged(every(epochs_of), records))
    own = table[(table.dataset == "sst2") & (table.strategy == MASKED)]
    assert own["copy"].tolist() == ["unmasked"] * 3 + ["masked"] * 3
    assert own.value.tolist() == pytest.approx([0.605, 0.755, 0.805, 0.5, 0.6, 0.7 - 0.2 / 3])
    assert not ((table.strategy == PLAIN) & (table["copy"] == "masked")).any()


def test_parts_are_read_where_there_are_any(records, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "sst2.MiniLM.s0.masf.parquet"
    own = masf_of()
    results.write_parquet(tmp_path / "results/quick/fmm" / name, own.drop(columns=["dataset", "model"]))
    with_part = records[0] | {"files": {name: "digest"}}
    found = tables.load_parts("results", "quick", [with_part, records[1]], "masf")
    assert len(found) == len(own) and set(found.model) == {"MiniLM"} and found.converged.all()
    assert tables.load_parts("results", "quick", records, "history").empty


def test_claims_say_what_the_values_were_made_to_say(records, points):
    found = tables.flagged(every(masf_of), records)
    table = claims.claims(tables.scores(records), points, found)
    assert list(table) == CLAIMS and set(table.definition) == {"paper", "released", "calibrated"}
    table = table[table.definition == "paper"].set_index("claim")

    def expect(start, verdict, value, published=None):
        (row,) = table[table.index.str.startswith(start)].to_dict("records")
        assert (row["verdict"], row["value"]) == (verdict, pytest.approx(value, abs=1e-3)), start
        assert published is None or row["published"] == pytest.approx(published, abs=5e-5)
        return row

    row = expect("masked fine-tuning loses no performance", "holds", -0.01)
    assert row["where"] == "sst2 -0.010 (2 seeds), cola -0.010 (2 seeds), whereabouts_2 -0.010 (2 seeds)"
    expect("everything masked: at or above", "holds", 0)
    expect("everything masked: below", "holds", 0.1)
    expect("masked data is in distribution with masked", "holds", 0.95)
    expect("masked data is in distribution in more tests", "holds", 0.95)
    expect("occlusion is the most faithful (", "holds", 0.5 * 0.225, 0.1854)
    expect("occlusion is the most faithful among", "holds", 0.1 * 0.225, 0.003)
    expect("signed above absolute: x∇x", "does not hold", -0.4 * 0.225, -0.0735)
    expect("signed above absolute: integrated", "holds", 0.2 * 0.225)
    expect("signed above absolute: leave-one-out", "holds", 0.5 * 0.225)
    expect("Beam at or above", "holds", 0.1 * 0.225)
    row = expect(
        "more faithful than the same",
        "does not hold",
        np.mean(
            [
                np.mean([0.36 - 0.261, 0.18 - 0.186, 0.36 - 0.329]),
                np.mean([0.36 - 0.578, 0.18 - 0.481, 0.36 - 0.42]),
            ]
        ),
        0.3666,
    )
    assert row["where"].endswith("Recursive ROAR: published") and "cola" not in row["where"]
    json.dumps(table.reset_index().to_dict("records"))


def test_one_seed_makes_no_claim(records, points):
    one = [r for r in records if r["params"]["seed"] == 0]
    found = tables.flagged(every(masf_of), records)
    assert claims.claims(tables.scores(one), points[points.seed == 0], found[found.seed == 0]).empty
    table = tables.racu(points[points.seed == 0])
    assert table.acu.notna().all() and table.acu_low.isna().all()


def test_a_flat_baseline_takes_no_part_against_recursive_roar(records, points):
    flat = points.assign(value=points.value.where(points.dataset != "sst2", 0.5))
    table = claims.claims(tables.scores(records), flat).set_index("claim")
    assert "sst2" not in table["where"]["more faithful than the same measures by Recursive ROAR (RACU)"]
    assert "sst2 +0.000" in table["where"]["Beam at or above leave-one-out"]


def test_figures_have_a_panel_for_everything(records, points):
    scores, curve_table = tables.scores(records), tables.curve_table(points)
    table = tables.performance(scores)
    for masked in (0, 100):
        figure = figures.performance(table, scores, masked)
        assert [a.get_title() for a in figure.axes] == ["sst2", "cola", "whereabouts_2", "all"]
    figure = figures.curves(curve_table)
    assert figure.axes[1].get_title() == "sst2: signed" and len(figure.axes[1].lines) == 5
    figure = figures.masf(tables.masf(tables.flagged(every(masf_of), records)), "calibrated")
    assert figure.axes[1].get_title() == "sst2: plain fine-tuning" and len(figure.axes) == 6
    figure = figures.history(tables.history(tables.flagged(every(epochs_of), records)))
    assert figure.axes[1].get_title() == "sst2: masked copy"
    found = tables.racu(points)
    assert len(figures.racu(found).axes) == 3
    panel = figures.racu(found.assign(flat=1)).axes[0]  # the published values stay
    assert "flat" in panel.get_title() and not panel.containers
    assert np.isfinite([line.get_xdata()[0] for line in panel.lines[1:]]).any()
    first, second = figures.pages(curve_table, 2)
    assert set(first.dataset) == {"sst2", "cola"} and set(second.dataset) == {"whereabouts_2"}
    plt.close("all")
