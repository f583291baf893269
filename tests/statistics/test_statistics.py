import doctest
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from faithlib import statistics
from faithlib.statistics import intervals


def test_examples_in_docstrings():
    assert doctest.testmod(statistics).failed == 0


def test_mean_interval_is_scipys_for_one_column():
    x = np.random.default_rng(1).exponential(size=40)
    expected = stats.bootstrap((x,), np.mean, n_resamples=500, method="BCa", rng=7)
    mean, low, high = statistics.mean_interval(x, n_resamples=500, seed=7)
    assert mean == pytest.approx(x.mean())
    assert (low, high) == pytest.approx(tuple(expected.confidence_interval))


def test_mean_interval_covers_the_true_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    samples = (rng.random((60, 300)) < 0.3).astype(float)  # 300 experiments of 60 coin flips
    _, low, high = statistics.mean_interval(samples, n_resamples=400)
    assert 0.90 < np.mean((low <= 0.3) & (0.3 <= high)) < 0.99


def test_mean_interval_of_constant_cells_is_the_value_and_leaves_the_others_alone():
    x = np.column_stack([np.ones(5), [0, 0, 1, 1, 1], np.zeros(5)])
    mean, low, high = statistics.mean_interval(x)
    assert mean == pytest.approx([1, 0.6, 0])
    assert (low[0], high[0], low[2], high[2]) == (1, 1, 0, 0)
    assert low[1] < 0.6 < high[1]
    assert statistics.mean_interval([0.25]) == (0.25, 0.25, 0.25)


def test_mean_interval_does_not_depend_on_the_memory_bound():
    x = np.random.default_rng(2).random((30, 4))
    small = statistics.mean_interval(x, memory=1)
    assert np.allclose(small, statistics.mean_interval(x), atol=1e-12)


def test_resamples_are_paired_seeded_and_chunked():
    x = np.random.default_rng(3).random(50)
    both = statistics.resample_means(np.column_stack([x, x + 1]), n_resamples=200)
    assert both.shape == (200, 2)
    assert np.allclose(both[:, 1] - both[:, 0], 1)  # the shift never shows any noise
    again = statistics.resample_means(np.column_stack([x, x + 1]), n_resamples=200, memory=1)
    assert np.allclose(both, again)
    assert both[:, 0].std() == pytest.approx(x.std() / np.sqrt(50), rel=0.2)


def test_percentile_interval():
    assert statistics.percentile_interval(np.arange(101), level=0.9) == pytest.approx((5, 95))


def test_rank_sum_by_hand():
    # 5 against 5 without overlap: U = 25, mean 12.5, sd sqrt(25 * 11 / 12) = 4.787, z = 2.611
    p = statistics.rank_sum([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])
    assert p == pytest.approx(2 * stats.norm.sf(12.5 / np.sqrt(25 * 11 / 12)))
    assert p == pytest.approx(stats.ranksums([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]).pvalue)
    # indicators are tied: 0,0,1 against 0,1,1: U = 3, ties 3 and 3, var = 9/12 * (7 - 48/30)
    z = (4.5 - 3) / np.sqrt(9 / 12 * (7 - 48 / 30))
    assert statistics.rank_sum([0, 0, 1], [0, 1, 1]) == pytest.approx(2 * stats.norm.sf(z))
    assert statistics.rank_sum([1, 1], [1, 1]) == 1


def test_t_test_is_the_textbooks_and_says_when_it_cannot_be_made():
    a, b = [0.8, 0.9], [0.6, 0.7]
    t = 0.2 / np.sqrt(0.005)  # s² = 0.005 pooled, 1/2 + 1/2
    assert statistics.t_test(a, b) == pytest.approx(2 * stats.t.sf(t, 2))
    assert np.isnan(statistics.t_test([0.8], b)) and np.isnan(statistics.t_test([1, 1], [2, 2]))


def test_mean_over_groups_pools_the_spread_within():
    one = np.array([1.0, 2.0, 6.0])
    expected = stats.t.interval(0.95, 2, one.mean(), stats.sem(one))
    assert statistics.mean_over_groups([one]) == pytest.approx((3, *expected))
    mean, low, high = statistics.mean_over_groups([[0.0, 2.0], [10.0, 12.0], [20.0]])  # s² = 2, 2 degrees
    assert (mean, high - low) == pytest.approx((32 / 3, 2 * stats.t.ppf(0.975, 2) * np.sqrt(4) / 3))
    mean, low, high = statistics.mean_over_groups([[0.1], [0.3]])
    assert mean == pytest.approx(0.2) and np.isnan(low) and np.isnan(high)


def test_monte_carlo_error():
    assert statistics.monte_carlo_error([1.0, 2.0, 3.0]) == pytest.approx(1 / np.sqrt(3))
    assert np.isnan(statistics.monte_carlo_error([1.0]))
    assert statistics.monte_carlo_error(np.zeros((4, 2))).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("interval", "relation", "bound", "expected"),
    [
        ((0.1, 0.2), ">", 0, "holds"),
        ((-0.2, -0.1), ">", 0, "does not hold"),
        ((-0.1, 0.1), ">", 0, "inconclusive"),
        ((0.0, 0.0), ">", 0, "does not hold"),
        ((0.0, 0.0), ">=", 0, "holds"),
        ((0.8, 0.9), "<", 0.9, "inconclusive"),
        ((0.8, 0.9), "<=", 0.9, "holds"),
    ],
)
def test_verdict(interval, relation, bound, expected):
    assert statistics.verdict(*interval, relation, bound) == expected


def test_seeds_interval_is_scipys_t_interval():
    x = [0.034, -0.031, 0.02, 0.11]
    found = statistics.seeds_interval(x)
    test = stats.ttest_1samp(x, 0.0)
    expected = test.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.two_sided() == pytest.approx(test.pvalue)
    assert found.pvalue(">") == pytest.approx(stats.ttest_1samp(x, 0.0, alternative="greater").pvalue)
    assert found.pvalue("<", 0.1) == pytest.approx(stats.ttest_1samp(x, 0.1, alternative="less").pvalue)
    assert (found.unit, found.n_units, found.df) == ("seed", 4, 3)


def test_seeds_interval_by_hand():
    # mean 2, sd 1, t(2) at .975 = 4.3027: 2 ± 4.3027 / √3
    found = statistics.seeds_interval([1.0, 2.0, 3.0])
    assert (found.low, found.high) == pytest.approx((2 - 2.48414, 2 + 2.48414), abs=1e-5)
    assert str(found) == "+2.000 [-0.484, +4.484] (3 seeds)"


@pytest.mark.parametrize(
    ("interval", "reason"),
    [
        (statistics.seeds_interval([0.5]), "1 seed: an interval needs 3"),
        (statistics.seeds_interval([0.5, 0.7]), "2 seeds: an interval needs 3"),
        (statistics.seeds_interval([0.1 + 0.2, 0.3, 0.3]), "all values are equal"),
        (statistics.nested_interval([[0.1], [0.2, 0.4]]), "2 seeds: an interval needs 3"),
        (statistics.crossed_interval(np.ones((3, 40))), "all values are equal"),
        (statistics.crossed_interval(np.eye(2, 40)), "2 seeds: an interval needs 3"),
        (statistics.crossed_interval(np.eye(3, 2)), "2 texts: an interval needs 3"),
        (statistics.crossed_interval(np.tile(np.arange(40.0), (3, 1))), "every seed has the same values"),
        (statistics.text_interval([1.0, 2.0]), "2 texts: an interval needs 3"),
        (statistics.text_interval(np.zeros(50), ("a",)), "all values are equal"),
        (statistics.text_interval(np.eye(1, 50)[0], ("a",)), "too few of 50 texts differ"),
        (statistics.share_interval([True, False, True], [0, 0, 1]), "2 clusters: an interval needs 3"),
    ],
)
def test_no_interval_says_why(interval, reason):
    assert not interval.exists
    assert interval.reason.startswith(reason)
    assert math.isnan(interval.low) and math.isnan(interval.high) and math.isnan(interval.df)
    assert (interval.pvalue(), interval.two_sided(), interval.borderline()) == (1.0, 1.0, False)
    assert "[" not in str(interval)


def test_nested_interval_is_over_seed_means():
    groups = [[0.0, 1.0], [2.0], [3.0, 4.0, 5.0]]  # means .5, 2, 4
    found = statistics.nested_interval(groups)
    assert (found.low, found.high) == statistics.seeds_interval([0.5, 2.0, 4.0]).ends()
    assert found.design == "nested"


def test_crossed_interval_by_hand():
    # seed means 0, 1, 5 (mean 2), text means 1, 2, 3, no interaction but ± 1 in one square
    x = np.array([[-1.0, 0, 1], [0, 1, 2], [4, 5, 6]])
    x[0, 0] += 1
    x[0, 1] -= 1
    x[1, 0] -= 1
    x[1, 1] += 1
    ma = 3 * (4 + 1 + 9) / 2  # T · var(0, 1, 5)
    mb = 3 * 1.0  # S · var(1, 2, 3)
    me = 4 / 4
    m = ma + mb - me
    df = m**2 / (ma**2 / 2 + mb**2 / 2 + me**2 / 4)
    found = statistics.crossed_interval(x)
    assert found.value == pytest.approx(2)
    assert found.components[0] == pytest.approx((np.sqrt(m / 9), df))
    assert found.components[1] == pytest.approx((stats.sem([0, 1, 5]), 2))
    reach = max(stats.t.ppf(0.975, df) * np.sqrt(m / 9), stats.t.ppf(0.975, 2) * stats.sem([0, 1, 5]))
    assert found.high == pytest.approx(2 + reach)


def test_crossed_interval_is_never_narrower_than_t_over_seeds():
    rng = np.random.default_rng(4)
    for ratio, seeds in itertools.product((0, 0.05, 0.3, 1, 5), (3, 5)):
        x = ratio * rng.normal(size=(seeds, 1)) + rng.normal(size=(seeds, 50)) + rng.normal(size=50)
        found, over_seeds = statistics.crossed_interval(x), statistics.seeds_interval(x.mean(axis=1))
        assert found.low <= over_seeds.low + 1e-12 and found.high >= over_seeds.high - 1e-12
        assert found.pvalue(">") >= over_seeds.pvalue(">") - 1e-12
        assert all(df >= seeds - 1 for _, df in found.components)


def test_crossed_interval_does_not_depend_on_the_order_of_seeds_and_texts():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4, 40))
    found = statistics.crossed_interval(x).ends()
    assert statistics.crossed_interval(x[rng.permutation(4)]).ends() == pytest.approx(found)
    assert statistics.crossed_interval(x[:, rng.permutation(40)]).ends() == pytest.approx(found)
    assert statistics.crossed_interval(3 * x + 1).ends() == pytest.approx([3 * end + 1 for end in found])


def test_p_and_interval_agree():
    rng = np.random.default_rng(6)
    for i in range(20):
        intervals = [
            statistics.seeds_interval(rng.normal(size=3)),
            statistics.crossed_interval(rng.normal(size=(3, 40)) + rng.normal(size=(3, 1))),
            statistics.text_interval(rng.exponential(size=40), ("agree", i), n_resamples=999),
            statistics.share_interval(rng.random(60) < 0.8, np.arange(60) // 3),
        ]
        for found in intervals:
            for end, step in itertools.product(found.ends(), (-1e-6, 1e-6)):
                bound = end + step
                assert (found.pvalue(">", bound) <= 0.025) == (found.low > bound)
                assert (found.pvalue("<", bound) <= 0.025) == (found.high < bound)


def test_text_interval_is_t_below_30_texts():
    x = np.random.default_rng(7).exponential(size=29)
    expected = stats.ttest_1samp(x, 0).confidence_interval(0.95)
    assert statistics.text_interval(x).ends() == pytest.approx((expected.low, expected.high))


def test_text_interval_is_the_studentised_bootstrap_from_30():
    x = np.random.default_rng(8).exponential(size=40)
    found = statistics.text_interval(x, ("sst", "minilm", "soft_ns"))
    drawn = x[statistics.stream("sst", "minilm", "soft_ns").integers(40, size=(10_000, 40))]
    pivots = (drawn.mean(axis=1) - x.mean()) / stats.sem(drawn, axis=1)
    low, high = x.mean() - np.quantile(pivots, [0.975, 0.025]) * stats.sem(x)
    assert found.ends() == pytest.approx((low, high), abs=2e-3)
    assert found.high - found.value > found.value - found.low  # longer on the side of the tail


def test_text_interval_does_not_depend_on_the_block_size(monkeypatch):
    x = np.random.default_rng(9).normal(size=5000)
    several = statistics.text_interval(x, ("blocks",), n_resamples=1000)  # blocks of 419 resamples
    assert np.isfinite(several.ends()).all() and len(several.pivots) == 1000
    small = intervals._pivots(x[:50], statistics.stream("a"), 100)
    monkeypatch.setattr(intervals, "BLOCK", 60)
    assert np.array_equal(small, intervals._pivots(x[:50], statistics.stream("a"), 100))


def test_another_data_set_moves_no_interval():
    rng = np.random.default_rng(10)
    values = {name: rng.exponential(size=50) for name in ("agnews", "sst", "multirc")}

    def intervals(names):
        return {name: statistics.text_interval(values[name], (name, "minilm")).ends() for name in names}

    few, all_three = intervals(["agnews", "sst"]), intervals(["multirc", "sst", "agnews"])
    assert {name: all_three[name] for name in few} == few  # to the last bit
    assert len(set(all_three.values())) == 3


def test_borderline_is_two_monte_carlo_errors_of_the_bootstrap():
    x = np.random.default_rng(11).normal(size=50)
    found = statistics.text_interval(x, ("borderline",))
    ends = [statistics.text_interval(x, ("other", i)).low for i in range(40)]
    error = found._errors(0.95)[0]
    assert np.std(ends) == pytest.approx(error, rel=0.35)
    assert found.borderline(found.low + 1.9 * error) and not found.borderline(found.low - 2.1 * error)
    assert found.borderline(found.high)
    assert not statistics.seeds_interval([1.0, 2.0, 3.0]).borderline(2 - 2.48414)


def test_share_interval_is_wilsons_with_a_t_quantile():
    # 40 of 50, clusters of one: p ± ... with t(49) = 2.0096
    n, p, q = 50, 0.8, stats.t.ppf(0.975, 49)
    centre, reach = p + q * q / (2 * n), q * np.sqrt(p * (1 - p) / n + q * q / (4 * n * n))
    expected = [(centre - reach) / (1 + q * q / n), (centre + reach) / (1 + q * q / n)]
    found = statistics.share_interval([True] * 40 + [False] * 10)
    assert found.ends() == pytest.approx(expected)
    wilson = stats.binomtest(40, 50).proportion_ci(method="wilson")
    assert found.low == pytest.approx(wilson.low, abs=0.005) and found.low < wilson.low


def test_share_interval_of_clusters():
    whole = np.repeat(np.arange(20) < 15, 5)  # clusters of five with one outcome: as 15 of 20
    found = statistics.share_interval(whole, np.repeat(np.arange(20), 5))
    assert found.deff == 5 and found.n_units == 20
    assert found.ends() == pytest.approx(statistics.share_interval(np.arange(20) < 15).ends())
    # outcomes that alternate within clusters: variance between them 0
    balanced = statistics.share_interval(np.tile([True, False], 50), np.repeat(np.arange(50), 2))
    assert balanced.deff == 1


def test_share_interval_has_a_width_where_all_are_true():
    found = statistics.share_interval(np.ones(100), np.repeat(np.arange(10), 10))
    assert found.deff == 10 and found.high == 1 and 0.6 < found.low < 0.7
    assert found.pvalue(">", 0.6) <= 0.025 < found.pvalue(">", 0.7)
    none = statistics.share_interval(np.zeros(100), np.repeat(np.arange(10), 10))
    assert none.ends() == pytest.approx((0, 1 - found.low))


def test_share_interval_takes_clusters_of_unequal_sizes():
    sizes = [1, 2, 9, 3, 5]
    labels = np.repeat(list("abcde"), sizes)
    found = statistics.share_interval(labels == "c", labels)
    assert found.value == 9 / 20
    assert found.deff == pytest.approx(sum(size**2 for size in sizes) / 20)
    assert 0 <= found.low < 0.45 < found.high <= 1


def test_limits_clip_the_ends():
    found = statistics.seeds_interval([0.9, 0.95, 1.0], limits=(0, 1))
    assert found.high == 1 and found.low == statistics.seeds_interval([0.9, 0.95, 1.0]).low
    assert statistics.seeds_interval([0.9, 0.95, 1.0]).clip(0, 1) == found


def _table(seeds, texts, value=lambda seed, text: seed + (text % 7) + (seed * text) % 3):
    rows = [(seed, text, float(value(seed, text))) for seed in range(seeds) for text in range(texts)]
    return pd.DataFrame(rows, columns=["seed", "text", "value"])


def test_interval_from_table_follows_the_design():
    table = _table(3, 40)
    wide = table.pivot(index="seed", columns="text", values="value")
    crossed = statistics.interval_from_table(table, "crossed")
    assert crossed == statistics.crossed_interval(wide) and crossed.n_texts == 40
    nested = statistics.interval_from_table(table, "nested")
    assert nested.ends() == pytest.approx(statistics.seeds_interval(wide.mean(axis=1)).ends())
    one = statistics.interval_from_table(table[table.seed == 1], "crossed", ("sst",))
    assert one.ends() == statistics.text_interval(wide.loc[1], ("sst",)).ends() and one.unit == "text"
    two = statistics.interval_from_table(table[table.seed < 2], "crossed")
    assert two.reason == "2 seeds: an interval needs 3"
    shuffled = table.sample(frac=1, random_state=0)
    assert statistics.interval_from_table(shuffled, "crossed") == crossed


def test_interval_from_table_never_takes_texts_for_seeds():
    table = _table(1, 1)
    assert statistics.interval_from_table(table, "seeds").reason == "1 seed: an interval needs 3"
    with pytest.raises(ValueError, match="rows repeat seed"):
        statistics.interval_from_table(_table(3, 2), "seeds")


def test_interval_from_table_leaves_out_texts_without_a_value():
    table = _table(3, 40)
    table.loc[(table.seed == 1) & (table.text == 5), "value"] = np.nan
    kept = statistics.interval_from_table(table, "crossed")
    assert kept == statistics.interval_from_table(table[table.text != 5], "crossed") and kept.n_texts == 39


def test_interval_from_table_averages_clusters_first():
    table = _table(1, 40).assign(fact=lambda rows: rows.text // 4)
    found = statistics.interval_from_table(table, "crossed", cluster="fact")
    assert (found.unit, found.n_units) == ("fact", 10)
    assert found.ends() == statistics.text_interval(table.groupby("fact").value.mean()).ends()


def test_ratio_is_tested_on_its_numerator():
    found = statistics.ratio_interval([0.1, 0.2, 0.3, 0.9], [0.2, 0.2, 0.2, 0.01], smallest=0.05)
    assert (found.ratio, found.excluded) == (pytest.approx(1), 1)
    assert found.numerator.ends() == statistics.seeds_interval([0.1, 0.2, 0.3]).ends()
    assert found.numerator_all.ends() == statistics.seeds_interval([0.1, 0.2, 0.3, 0.9]).ends()
    none = statistics.ratio_interval([0.1, 0.2, 0.3], [0.0, 0.0, 0.0], smallest=0.05)
    assert math.isnan(none.ratio) and none.numerator.reason == "every denominator is too small"
    assert none.numerator_all.exists


def test_ratio_of_seeds_and_texts_leaves_out_whole_texts():
    over = np.random.default_rng(12).normal(size=(3, 40))
    under = np.full((3, 40), 0.5)
    under[1, 7] = 0.01
    found = statistics.ratio_interval(over, under, smallest=0.05)
    assert found.numerator == statistics.crossed_interval(np.delete(over, 7, axis=1))
    assert found.excluded == 1 and found.ratio == pytest.approx(2 * found.numerator.value)


def test_uncollapsed_interval():
    found = statistics.uncollapsed_interval([0.5, 0.0, 0.6, 0.7], [0, 1, 0, 0])
    assert found.interval.ends() == statistics.seeds_interval([0.5, 0.6, 0.7]).ends()
    assert (found.share, found.collapsed) == (0.25, 1)
    assert not statistics.uncollapsed_interval([0.0, 0.0], [True, True]).interval.exists


def test_holm_by_hand():
    # sorted .005, .01, .03, .04 times 4, 3, 2, 1, then the running maximum
    assert statistics.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert statistics.holm([0.6, 0.7]).tolist() == [1, 1]
    assert statistics.holm([0.02]).tolist() == [0.02]


def test_streams_are_named_not_numbered():
    assert statistics.stream("a", 1).random() == statistics.stream("a", "1").random()
    draws = [
        statistics.stream(*names).random() for names in (("a", "b"), ("b", "a"), ("ab",), ("a", "b", ""))
    ]
    assert len(set(draws)) == 4


def test_cumulative_means():
    draws = np.arange(32.0).reshape(2, 16)
    means = statistics.cumulative_means(draws)
    assert list(means) == [1, 2, 4, 8, 16]
    assert means[4].tolist() == [1.5, 17.5] and means[16].tolist() == [7.5, 23.5]
    assert list(statistics.cumulative_means(draws[:, :5])) == [1, 2, 4]


@pytest.mark.parametrize(("p", "df"), [(0.975, 2), (0.999, 3.7), (0.5, 1), (1 - 0.025 / 32, 2), (0.025, 400)])
def test_t_quantile_is_scipys(p, df):
    assert statistics.t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: statistics.mean_interval([]), "at least one example"),
        (lambda: statistics.mean_interval([0.1, np.nan]), "1 of 2 values"),
        (lambda: statistics.verdict(0, 1, "=="), "unknown relation '=='"),
        (lambda: statistics.verdict(1, 0, ">"), "not an interval"),
        (lambda: statistics.verdict(np.nan, 0, ">"), "not an interval"),
        (lambda: statistics.seeds_interval([]), "no values"),
        (lambda: statistics.seeds_interval([0.1, np.nan, 0.2]), "1 of 3 values"),
        (lambda: statistics.seeds_interval([[0.1, 0.2]]), r"shape \(1, 2\): give one number a seed"),
        (lambda: statistics.seeds_interval([1, 2, 3]).pvalue("=="), "unknown relation '=='"),
        (lambda: statistics.crossed_interval([1.0, 2.0]), "not seeds × texts"),
        (lambda: statistics.text_interval(np.arange(30)), "a random stream needs names"),
        (lambda: statistics.share_interval([0.5, 1]), "give True or False"),
        (lambda: statistics.share_interval([True, False], [1]), "2 observations, but cluster labels"),
        (lambda: statistics.interval_from_table(_table(3, 3), "paired"), "unknown design 'paired'"),
        (lambda: statistics.interval_from_table(_table(3, 3), "crossed", seed="run"), "no column run"),
        (lambda: statistics.interval_from_table(pd.concat([_table(3, 3)] * 2), "crossed"), "9 rows repeat"),
        (lambda: statistics.interval_from_table(_table(3, 3).query("seed == text"), "crossed"), "nested"),
        (lambda: statistics.interval_from_table(_table(3, 0), "crossed"), "no values"),
        (lambda: statistics.ratio_interval([1.0], [1.0, 2.0], 0.1), "differ in shape"),
        (lambda: statistics.ratio_interval([1.0], [1.0], 0), "above 0"),
        (lambda: statistics.uncollapsed_interval([1.0], [True, False]), "give one a seed"),
        (lambda: statistics.holm([0.5, 1.2]), "within"),
        (lambda: statistics.stream(), "needs names"),
    ],
)
def test_errors_are_one_clear_line(call, words):
    with pytest.raises(ValueError, match=words) as error:
        call()
    assert "\n" not in str(error.value)
