"""Intervals of shares, and the one that fits a table."""

import numpy as np
import pytest
from sample.statistics import table_of
from scipy import stats

from faithlib import statistics


def test_share_interval_is_wilsons_with_a_t_quantile():
    # 40 of 50, clusters of one: p ± ... with t(49) = 2.0096
    n, p, q = 50, 0.8, stats.t.ppf(0.975, 49)
    centre, reach = p + q * q / (2 * n), q * np.sqrt(p * (1 - p) / n + q * q / (4 * n * n))
    expected = [(centre - reach) / (1 + q * q / n), (centre + reach) / (1 + q * q / n)]
    interval = statistics.share_interval([True] * 40 + [False] * 10)
    assert interval.ends() == pytest.approx(expected)
    wilson = stats.binomtest(40, 50).proportion_ci(method="wilson")
    assert interval.low == pytest.approx(wilson.low, abs=0.005) and interval.low < wilson.low


def test_share_interval_of_clusters():
    whole = np.repeat(np.arange(20) < 15, 5)  # clusters of five with one outcome: as 15 of 20
    interval = statistics.share_interval(whole, np.repeat(np.arange(20), 5))
    assert interval.deff == 5 and interval.n_units == 20
    assert interval.ends() == pytest.approx(statistics.share_interval(np.arange(20) < 15).ends())
    # outcomes that alternate within clusters: variance between them 0
    balanced = statistics.share_interval(np.tile([True, False], 50), np.repeat(np.arange(50), 2))
    assert balanced.deff == 1


def test_share_interval_has_a_width_where_all_are_true():
    interval = statistics.share_interval(np.ones(100), np.repeat(np.arange(10), 10))
    assert interval.deff == 10 and interval.high == 1 and 0.6 < interval.low < 0.7
    assert interval.pvalue(">", 0.6) <= 0.025 < interval.pvalue(">", 0.7)
    none = statistics.share_interval(np.zeros(100), np.repeat(np.arange(10), 10))
    assert none.ends() == pytest.approx((0, 1 - interval.low))


def test_share_interval_takes_clusters_of_unequal_sizes():
    sizes = [1, 2, 9, 3, 5]
    labels = np.repeat(list("abcde"), sizes)
    interval = statistics.share_interval(labels == "c", labels)
    assert interval.value == 9 / 20
    assert interval.deff == pytest.approx(sum(size**2 for size in sizes) / 20)
    assert 0 <= interval.low < 0.45 < interval.high <= 1


def test_interval_from_table_follows_the_design():
    table = table_of(3, 40)
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
    table = table_of(1, 1)
    assert statistics.interval_from_table(table, "seeds").reason == "1 seed: an interval needs 3"
    with pytest.raises(ValueError, match="rows repeat seed"):
        statistics.interval_from_table(table_of(3, 2), "seeds")


def test_interval_from_table_leaves_out_texts_without_a_value():
    table = table_of(3, 40)
    table.loc[(table.seed == 1) & (table.text == 5), "value"] = np.nan
    kept = statistics.interval_from_table(table, "crossed")
    assert kept == statistics.interval_from_table(table[table.text != 5], "crossed") and kept.n_texts == 39
