"""Intervals of seeds and texts: t, nested, crossed and studentised, by hand and against scipy."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from faithlib import statistics
from faithlib.statistics import intervals


def test_seeds_interval_is_scipys_t_interval():
    x = [0.034, -0.031, 0.02, 0.11]
    interval = statistics.seeds_interval(x)
    test = stats.ttest_1samp(x, 0.0)
    expected = test.confidence_interval(0.95)
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))
    assert interval.two_sided() == pytest.approx(test.pvalue)
    assert interval.pvalue(">") == pytest.approx(stats.ttest_1samp(x, 0.0, alternative="greater").pvalue)
    assert interval.pvalue("<", 0.1) == pytest.approx(stats.ttest_1samp(x, 0.1, alternative="less").pvalue)
    assert (interval.unit, interval.n_units, interval.df) == ("seed", 4, 3)


def test_seeds_interval_by_hand():
    # mean 2, sd 1, t(2) at .975 = 4.3027: 2 ± 4.3027 / √3
    interval = statistics.seeds_interval([1.0, 2.0, 3.0])
    assert (interval.low, interval.high) == pytest.approx((2 - 2.48414, 2 + 2.48414), abs=1e-5)
    assert str(interval) == "+2.000 [-0.484, +4.484] (3 seeds)"


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
    interval = statistics.nested_interval(groups)
    assert (interval.low, interval.high) == statistics.seeds_interval([0.5, 2.0, 4.0]).ends()
    assert interval.design == "nested"


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
    interval = statistics.crossed_interval(x)
    assert interval.value == pytest.approx(2)
    assert interval.components[0] == pytest.approx((np.sqrt(m / 9), df))
    assert interval.components[1] == pytest.approx((stats.sem([0, 1, 5]), 2))
    reach = max(stats.t.ppf(0.975, df) * np.sqrt(m / 9), stats.t.ppf(0.975, 2) * stats.sem([0, 1, 5]))
    assert interval.high == pytest.approx(2 + reach)


def test_crossed_interval_is_never_narrower_than_t_over_seeds():
    rng = np.random.default_rng(4)
    for ratio, seeds in itertools.product((0, 0.05, 0.3, 1, 5), (3, 5)):
        x = ratio * rng.normal(size=(seeds, 1)) + rng.normal(size=(seeds, 50)) + rng.normal(size=50)
        crossed, over_seeds = statistics.crossed_interval(x), statistics.seeds_interval(x.mean(axis=1))
        assert crossed.low <= over_seeds.low + 1e-12 and crossed.high >= over_seeds.high - 1e-12
        assert crossed.pvalue(">") >= over_seeds.pvalue(">") - 1e-12
        assert all(df >= seeds - 1 for _, df in crossed.components)


def test_crossed_interval_does_not_depend_on_the_order_of_seeds_and_texts():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4, 40))
    ends = statistics.crossed_interval(x).ends()
    assert statistics.crossed_interval(x[rng.permutation(4)]).ends() == pytest.approx(ends)
    assert statistics.crossed_interval(x[:, rng.permutation(40)]).ends() == pytest.approx(ends)
    assert statistics.crossed_interval(3 * x + 1).ends() == pytest.approx([3 * end + 1 for end in ends])


def test_p_and_interval_agree():
    rng = np.random.default_rng(6)
    for i in range(20):
        intervals = [
            statistics.seeds_interval(rng.normal(size=3)),
            statistics.crossed_interval(rng.normal(size=(3, 40)) + rng.normal(size=(3, 1))),
            statistics.text_interval(rng.exponential(size=40), ("agree", i), n_resamples=999),
            statistics.share_interval(rng.random(60) < 0.8, np.arange(60) // 3),
        ]
        for interval in intervals:
            for end, step in itertools.product(interval.ends(), (-1e-6, 1e-6)):
                bound = end + step
                assert (interval.pvalue(">", bound) <= 0.025) == (interval.low > bound)
                assert (interval.pvalue("<", bound) <= 0.025) == (interval.high < bound)


def test_text_interval_is_t_below_30_texts():
    x = np.random.default_rng(7).exponential(size=29)
    expected = stats.ttest_1samp(x, 0).confidence_interval(0.95)
    assert statistics.text_interval(x).ends() == pytest.approx((expected.low, expected.high))


def test_text_interval_is_the_studentised_bootstrap_from_30():
    x = np.random.default_rng(8).exponential(size=40)
    interval = statistics.text_interval(x, ("sst", "minilm", "soft_ns"))
    drawn = x[statistics.stream("sst", "minilm", "soft_ns").integers(40, size=(10_000, 40))]
    pivots = (drawn.mean(axis=1) - x.mean()) / stats.sem(drawn, axis=1)
    low, high = x.mean() - np.quantile(pivots, [0.975, 0.025]) * stats.sem(x)
    assert interval.ends() == pytest.approx((low, high), abs=2e-3)
    assert interval.high - interval.value > interval.value - interval.low  # longer on the side of the tail


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


def test_borderline_is_four_monte_carlo_errors_of_the_bootstrap():
    x = np.random.default_rng(11).normal(size=50)
    bounds = statistics.text_interval(x, ("borderline",))
    ends = [statistics.text_interval(x, ("other", i)).low for i in range(40)]
    error = bounds._errors(0.95)[0]
    assert np.std(ends) == pytest.approx(error, rel=0.35)
    assert bounds.borderline(bounds.low + 3.9 * error) and not bounds.borderline(bounds.low - 4.1 * error)
    assert bounds.borderline(bounds.high)
    assert not statistics.seeds_interval([1.0, 2.0, 3.0]).borderline(2 - 2.48414)


def test_limits_clip_the_ends():
    interval = statistics.seeds_interval([0.9, 0.95, 1.0], limits=(0, 1))
    assert interval.high == 1 and interval.low == statistics.seeds_interval([0.9, 0.95, 1.0]).low


def test_the_variance_is_never_below_that_of_the_texts():
    """Mean squares by hand: 0 of the models, 48 of the texts, 1 of the rest; 48 is above 0 + 48 - 1."""
    interval = statistics.crossed_interval([[0.0, 4, 8], [1, 3, 8], [-1, 5, 8]])
    assert interval.components[0][0] == pytest.approx((48 / 9) ** 0.5)
