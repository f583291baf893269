"""Tables of soft_metrics: by hand, beside the published numbers, with what is flagged and left out."""

import numpy as np
import pandas as pd
import pytest
from sample.rows import cell
from sample.soft_metrics import DRAWS, MATCHED, WINS, N, record, unit

from notebooks.soft_metrics import tables
from notebooks.soft_metrics.claims import claims
from replication import papers
from replication.tables import excluded


def test_aopc_averages_its_own_ratios_only(values):
    measured = tables.aopc(values)
    of = dict(dataset="sst", definition="paper", metric="NS", attribution="deeplift")
    assert cell(measured, **of, baseline="", example=0).raw == pytest.approx(0.6)


def test_diagnosticity_is_the_share_of_wins(diagnostic):
    columns = "dataset attribution metric definition baseline ties value ci_low ci_high n published"
    assert list(diagnostic.columns) == columns.split()
    for metric, by_attribution in WINS.items():
        for attribution, (wins, ties) in by_attribution.items():
            of = dict(dataset="sst", metric=metric, attribution=attribution, definition="paper")
            for rule, worth in (("strict", 0), ("half", 0.5), ("at_least", 1)):
                row = cell(diagnostic, **of, baseline="normal", ties=rule)
                assert row.value == pytest.approx((wins + worth * ties) / N)
                assert row.ci_low < row.value < row.ci_high and row.n == N
            row = cell(diagnostic, **of, baseline="matched", ties="strict")
            assert row.value == pytest.approx((wins - MATCHED[metric]) / N)


def test_published_values_stand_where_the_paper_has_them(diagnostic):
    key = dict(metric="Soft-NC", attribution="deeplift", definition="paper", ties="strict")
    assert cell(diagnostic, dataset="sst", baseline="normal", **key).published == 0.562
    assert np.isnan(cell(diagnostic, dataset="sst", baseline="matched", **key).published)
    # a generated corpus has none, not that of the data set which it imitates
    assert np.isnan(cell(diagnostic, dataset="topics", baseline="normal", **key).published)
    other = tables.diagnosticity(tables.preferences(tables.aopc(unit("imdb"))))
    assert np.isnan(cell(other, dataset="imdb", baseline="normal", **key).published)


def test_seeds_are_averaged_per_example():
    better = unit(seed=1)
    better["raw"] += np.where(better.baseline == "", 10, 0)  # wins every comparison
    both = pd.concat([unit(), better], ignore_index=True)
    table = tables.diagnosticity(tables.preferences(tables.aopc(both)))
    row = cell(table, metric="NS", attribution="deeplift", baseline="normal", ties="strict")
    assert row.value == pytest.approx((8 / N + 1) / 2) and row.n == N


def test_preferences_are_there_where_normalisation_is_not():
    frame = unit()
    frame.loc[frame.example == 0, "denominator"] = 0  # S0 = 1: NS and NC are undefined, S and C not
    table = tables.diagnosticity(tables.preferences(tables.aopc(frame)))
    row = cell(table, metric="NS", attribution="deeplift", baseline="normal", ties="strict")
    assert row.n == N and row.value == pytest.approx(8 / N)
    assert set(tables.faithfulness_by_ratio(frame).n) == {N - 1}


def test_examples_without_a_value_are_left_out_of_n():
    frame = unit()
    frame.loc[frame.example == 0, "raw"] = np.nan
    table = tables.diagnosticity(tables.preferences(tables.aopc(frame)))
    row = cell(table, metric="NS", attribution="deeplift", baseline="normal", ties="strict")
    assert row.n == N - 1 and row.value == pytest.approx(7 / (N - 1))


def test_a_baseline_that_misses_examples_is_told():
    frame = unit()
    frame = frame[~((frame.baseline == "matched") & (frame.example == 3))]
    with pytest.raises(ValueError, match="have no 'matched' baseline"):
        tables.preferences(tables.aopc(frame))


def test_two_models_are_two_data_sets_with_one_published_value():
    both = pd.concat([unit(), unit(model="org/large")], ignore_index=True)
    table = tables.diagnosticity(tables.preferences(tables.aopc(both)))
    assert set(table.dataset) == {"sst (org/tiny)", "sst (org/large)"}
    of = dict(dataset="sst (org/large)", metric="NS", attribution="attention")
    assert cell(table, **of, baseline="normal", ties="strict").published == 0.406


def test_other_perturbations_are_metrics_of_their_own():
    frame = unit()
    other = frame[(frame.metric == "Soft-NS") & (frame.draws == DRAWS)].assign(perturbation="gaussian_scores")
    both = pd.concat([frame, other], ignore_index=True)
    preferred = tables.preferences(tables.aopc(both))
    table = tables.diagnosticity(preferred)
    assert "Soft-NS (gaussian_scores)" in set(table.metric)
    assert np.isnan(table[table.metric == "Soft-NS (gaussian_scores)"].published).all()
    records = [record("sst", "org/tiny", 0, 0.9)]
    assert len(claims(records, both, "quick")[0]) == len(claims(records, frame, "quick")[0])


def test_averages_are_tables_2_and_3(diagnostic, preferred):
    by_attribution = tables.averages(diagnostic, preferred, "attribution")
    key = dict(definition="paper", baseline="normal", metric="NC")
    assert cell(by_attribution, attribution="deeplift", **key).value == pytest.approx(0.6)
    average = cell(by_attribution, attribution="average", **key)
    assert (average.value, average.sd) == pytest.approx((0.5, 0.1))  # of 0.4 and 0.6
    assert np.isnan(average.published)  # other data sets and attributions than the paper's
    soft = cell(by_attribution, attribution="average", **{**key, "metric": "Soft-NC"})
    assert soft.p_examples < 0.01
    assert soft.star == ""  # 4 cells against 4 cannot reach p < .01
    by_dataset = tables.averages(diagnostic, preferred, "dataset")
    assert cell(by_dataset, dataset="topics", **key).value == pytest.approx(0.5)
    printed = tables.averages_as_printed(by_dataset, "dataset").set_index("metric")
    assert list(printed.index) == ["NC", "Soft-NC", "NS", "Soft-NS"]
    assert printed.loc["NC", "sst"] == "0.500"
    assert printed.loc["NC", "average"] == "0.500 ± 0.000"


@pytest.mark.parametrize(("by", "table"), [("attribution", "table_2"), ("dataset", "table_3")])
def test_averages_of_the_published_cells_are_the_published_averages(by, table):
    cells = papers.published("soft_metrics", "table_6").assign(
        definition="paper", baseline="normal", ties="strict", example=0
    )
    averaged = tables.averages(cells, cells.assign(strict=cells.value), by)
    assert len(averaged) == len(papers.published("soft_metrics", table))
    assert np.allclose(averaged.value, averaged.published, atol=0.00101)
    assert ((averaged.star != "") == (averaged.published_star != "")).all()
    lower = averaged[averaged.star == tables.LOWER]
    assert lower[["metric", by]].to_numpy().tolist() == ([["Soft-NC", "multirc"]] if by == "dataset" else [])
    printed = tables.averages_as_printed(averaged, by).set_index("metric")
    assert printed.loc["Soft-NC", "average"] == "0.529* ± " + (
        "0.017 (0.529*)" if by == "attribution" else "0.111 (0.529*)"
    )
    fewer = cells[cells[by] != cells[by].iloc[0]]
    averaged = tables.averages(fewer, fewer.assign(strict=fewer.value), by)
    assert averaged[averaged[by] == "average"].published.isna().all()
    assert averaged[averaged[by] != "average"].published.notna().all()


def test_a_star_needs_five_cells_against_five():
    parts = [unit(f"task{i}") for i in range(5)]
    preferred = tables.preferences(tables.aopc(pd.concat(parts, ignore_index=True)))
    table = tables.averages(tables.diagnosticity(preferred), preferred, "attribution")
    key = dict(definition="paper", baseline="normal", metric="Soft-NC")
    assert cell(table, attribution="deeplift", **key).star == "*"
    preferred = preferred.assign(strict=1 - preferred.strict)
    diagnostic = tables.diagnosticity(preferred)
    lower = tables.averages(diagnostic, preferred, "attribution")
    assert cell(lower, attribution="deeplift", **key).star == "†"  # no reader takes it for a higher one


def test_tables_by_ratio(values):
    faith = tables.faithfulness_by_ratio(values)
    assert set(faith.attribution) == {"attention", "deeplift", "random"}
    key = dict(dataset="sst", definition="paper", metric="NS", attribution="random")
    row = cell(faith, ratio=0.05, **key)
    assert row.value == pytest.approx(0.4) and np.isnan([row.ci_low, row.ci_high]).all()  # all are equal
    assert cell(faith, ratio=0.3, **key).value == 1  # of 50.5, clipped
    by_ratio = tables.diagnosticity_by_ratio(tables.preferences(tables.at_ratios(values)))
    key = dict(dataset="sst", definition="paper", baseline="normal")
    assert cell(by_ratio, metric="NC", ratio=0.2, **key).value == pytest.approx(10 / N)
    soft = by_ratio[(by_ratio.metric == "Soft-NC") & (by_ratio.baseline == "normal")]
    assert soft.ratio.isna().all() and soft.value.tolist() == pytest.approx([18 / N] * 2)


def test_an_option_changes_what_was_measured_on_the_texts_where_it_was_varied(values):
    changed = values[values.varied & (values.metric == "Soft-NS") & (values.draws == DRAWS)]
    changed = changed[changed.definition == "paper"].assign(option="rank")
    worse = changed.assign(raw=changed.raw - (changed.baseline == ""))
    both = pd.concat([values, worse], ignore_index=True)
    pd.testing.assert_frame_equal(tables.aopc(both), tables.aopc(values))
    measured = tables.with_option(both, tables.aopc(both), "rank")
    assert set(measured.example) == set(range(N // 2)) and set(measured.definition) == {"paper"}
    preferred = tables.preferences(measured)
    mean = preferred[preferred.baseline == "normal"].groupby("metric").half.mean()
    assert mean["Soft-NS"] == 0 and mean["Soft-NC"] == 1  # 18 of 20 texts, the first ones


def test_overview_tells_what_was_measured(values):
    row = cell(tables.overview(values), dataset="sst")
    assert (row.examples, row.seeds, row.attributions) == (N, 1, 2)
    assert (row["soft draws"], row["random draws"], row["with choices varied"]) == (DRAWS, 2, N // 2)
    assert row["ratios (%)"] == "1, 5, 10, 20, 30, 50" and row.definitions == "paper, released"


def test_table_6_as_printed(diagnostic):
    wide = tables.diagnosticity_as_printed(diagnostic).set_index(["dataset", "attribution"])
    assert list(wide.columns) == ["NS", "Soft-NS", "NC", "Soft-NC"]
    text = wide.loc[("sst", "attention"), "NS"]
    assert text.startswith("0.300 [") and text.endswith("] (0.406)")
    assert wide.loc[("topics", "attention"), "NS"].endswith("]")  # generated: no published value


def test_performance_and_excluded():
    records = [
        record("sst", "org/tiny", 0, 0.88),
        record("sst", "org/tiny", 1, 0.90),
        record("topics", "tiny", 0, 1.0),
    ]
    table = tables.performance(records)
    sst, topics = table.iloc[0], table.iloc[1]
    assert (sst.dataset, sst.model, sst.seeds, sst.test) == ("sst", "tiny", 2, 1821)
    assert (sst.accuracy, sst.macro_f1_sd) == pytest.approx((89, np.sqrt(2)))
    assert (sst.train_published, sst.f1_published, sst.f1_sd_published) == (6920, 90.4, 0.5)
    assert pd.isna(topics.test_published) and np.isnan(topics.macro_f1_sd)
    left_out = excluded(records)
    assert left_out.to_dict("records") == [
        {"unit": "sst.org/tiny.s1", "split": "test", "what": "text cut", "why": "too long", "n": 3}
    ]


def test_performance_as_printed():
    table = tables.performance([record("sst", "tiny", 0, 0.9), record("imdb", "tiny", 0, 1.0)])
    printed = tables.performance_as_printed(table).set_index("dataset")
    assert printed.loc["sst", "test"].endswith(" (1821)") and "(" not in printed.loc["imdb", "test"]
    assert printed.loc["sst", "F1"].endswith(" (90.4 ± 0.5)") and "(" not in printed.loc["imdb", "F1"]


def test_a_preference_over_several_random_draws_is_the_share_of_them():
    frame = unit()
    frame.loc[(frame.baseline == "normal") & (frame.draw == 1), "raw"] += 1  # the second draw always wins
    table = tables.diagnosticity(tables.preferences(tables.aopc(frame)))
    row = cell(table, metric="Soft-NC", attribution="attention", baseline="normal", ties="strict")
    assert row.value == pytest.approx(18 / N / 2)
