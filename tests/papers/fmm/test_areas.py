"""Areas of fmm: by hand, with every option, beside Recursive ROAR's."""

import numpy as np
import pandas as pd
import pytest
from sample.fmm import MASKED, PLAIN, curves_of, draws_of, every, option_of, predictions_of
from sample.rows import cell

from notebooks.fmm import areas, tables


def test_an_option_changes_its_own_measures_and_nothing_else(records):
    values = every(curves_of)
    both = pd.concat([values, option_of(values)])
    options = areas.options(both, records, pd.DataFrame())
    assert list(options) == ["main", "released"]
    main, released = (
        areas.areas(options[name][options[name].strategy == MASKED])["sst2", "MiniLM"] for name in options
    )
    changed = (main - released).abs().max()
    assert changed["integrated_gradients"] == pytest.approx(0.6 * 0.225)
    assert (changed.drop("integrated_gradients") == 0).all()


def test_curves_of_the_texts_that_are_right_at_first():
    curves = areas.correct_curves(predictions_of()).set_index(["measure", "step"]).value
    assert curves["beam", 0] == 1 == curves["random", 0]
    assert curves["random", 10] == pytest.approx((8 / 8 + 7 / 8) / 2)  # two draws
    assert curves["beam", 10] == pytest.approx(3 / 8)
    assert curves["beam", 100] == 0.5  # of the eight, the even ones


def test_areas_by_hand():
    points = curves_of().query("metric == 'accuracy' and strategy == @MASKED")
    assert areas.areas(points)["sst2", "folder/MiniLM"].beam[0] == pytest.approx(1.1 * 0.225)
    assert areas.areas(points, "RACU")["sst2", "folder/MiniLM"].beam[0] == pytest.approx(1.1 * 0.9)
    steep = points.assign(value=points.value.where(points.measure != "beam", 0))
    assert areas.areas(steep, "RACU clipped")["sst2", "folder/MiniLM"].beam[0] == 1
    assert areas.areas(steep, "RACU")["sst2", "folder/MiniLM"].beam[0] > 1


def test_random_draws_move_the_random_curve(records):
    table = areas.random_draws(every(draws_of), records)
    area = table[table.dataset == "sst2"].set_index("draws").area
    assert area[2] == pytest.approx(0.75 + 0.005) and area[1] - area[2] == pytest.approx(0.1)
    assert (table.seeds == 2).all()
    wide = areas.random_draws_as_printed(table)
    assert wide.columns.tolist() == [*tables.CURVE, 1, 2] and (wide.dataset == "sst2").any()
    assert wide[wide.dataset == "sst2"][[1, 2]].to_numpy().tolist()[0] == ["0.855", "0.755"]


def test_racu_by_hand_and_beside_the_published(points):
    table = areas.racu(points)
    masked = table[(table.dataset == "sst2") & (table.strategy == MASKED)]
    assert masked.measure.tolist() == tables.measure_order()[1:10]
    row = cell(masked, measure="leave_one_out")
    assert (row.acu, row.racu, row.variant) == (pytest.approx(0.225), pytest.approx(0.9), "signed")
    assert (row.published, row.published_acu) == pytest.approx((1.713, 0.516))
    assert row.denominator == pytest.approx(0.25)  # of a line from 1 to ½
    assert (row.published_low, row.published_high) == pytest.approx((1.651, 1.801))
    assert row.roar_of == "" and np.isnan(row.roar)  # Recursive ROAR has no leave-one-out
    row = cell(masked, measure="gradient_l2")
    assert (row.roar_of, row.roar, row.published) == ("published", pytest.approx(0.261), pytest.approx(0.404))
    row = cell(masked, measure="beam")
    assert row.acu == pytest.approx(1.1 * 0.225 - 0.01 * 0.1 / 2) and row.ci_low < row.racu < row.ci_high
    plain = table[table.strategy == PLAIN]
    assert plain.published.isna().all() and plain.roar.isna().all()
    row = cell(table, dataset="whereabouts_2", strategy=MASKED, measure="beam")
    assert np.isnan(row.published) and np.isnan(row.roar)  # generated
    wide = areas.racu_as_printed(table).set_index("measure")
    assert wide.sst2["leave_one_out"] == "0.900 (1.713)" and wide.index[0] == "gradient_l2"


def test_our_recursive_roar_stands_beside_where_it_has_been_run(points, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert areas.load_roar("results", "small") is None
    common = {"dataset": "sst", "model": "some/MiniLM", "variant": "1500-texts", "by": "ratio"}
    common["metric"] = "macro_f1"
    curves = [("random", (0.9, 0.5, 0.1), (0.2, 1.0, 0.1)), ("gradient_l2", (0.9, 0.4, 0.1), (0.2, 0.0, 0.1))]
    values = pd.DataFrame(
        [
            {
                **common, "measure": measure, "recursive": recursive, "seed": seed, "step": step,
                "value": value if recursive or measure == "random" else 0.1,
            }
            for measure, *seeds in curves
            for recursive in (False, True)
            for seed, curve in enumerate(seeds)
            for step, value in zip((0, 50, 100), curve, strict=True)
        ]
    )  # fmt: skip
    monkeypatch.setattr(areas.results, "load", lambda *of, **more: ([], values))
    table = areas.racu(points, areas.load_roar("results", "small"))
    row = cell(table, dataset="sst2", strategy=MASKED, measure="gradient_l2")
    ends = row.roar, row.roar_low, row.roar_high  # of an area of 0.4 it takes 0.05; of 0.475, 0.5: clipped
    assert ends == pytest.approx((0.5625, 0.125, 1)) and row.roar_of == "ours, 1500-texts"
    assert row.roar_acu == pytest.approx((0.05 + 0.5) / 2)
    other = cell(table, dataset="sst2", strategy=MASKED, measure="integrated_gradients_abs")
    assert (other.roar, other.roar_of) == (pytest.approx(0.329), "published")
