"""Bootstrap intervals, rank sums, t tests and plain verdicts."""

import numpy as np
import pytest
from scipy import stats

from faithlib import statistics


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


def test_constant_cells_have_no_interval_and_leave_the_others_alone():
    x = np.column_stack([np.ones(5), [0, 0, 1, 1, 1], np.zeros(5)])
    mean, low, high = statistics.mean_interval(x)
    assert mean == pytest.approx([1, 0.6, 0])
    assert np.isnan([low[0], high[0], low[2], high[2]]).all()
    assert low[1] < 0.6 < high[1]
    mean, *ends = statistics.mean_interval([0.25])
    assert mean == 0.25 and np.isnan(ends).all()


def test_mean_interval_does_not_depend_on_the_memory_bound():
    x = np.random.default_rng(2).random((30, 4))
    small = statistics.mean_interval(x, memory=1)
    assert np.allclose(small, statistics.mean_interval(x), atol=1e-12)


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
