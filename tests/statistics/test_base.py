"""What intervals share: quantiles, streams, Monte Carlo errors, Holm."""

import numpy as np
import pytest
from scipy import stats

from faithlib import statistics


def test_monte_carlo_error():
    assert statistics.monte_carlo_error([1.0, 2.0, 3.0]) == pytest.approx(1 / np.sqrt(3))
    assert np.isnan(statistics.monte_carlo_error([1.0]))
    assert statistics.monte_carlo_error(np.zeros((4, 2))).tolist() == [0, 0, 0, 0]


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


@pytest.mark.parametrize(("p", "df"), [(0.975, 2), (0.999, 3.7), (0.5, 1), (1 - 0.025 / 32, 2), (0.025, 400)])
def test_t_quantile_is_scipys(p, df):
    assert statistics.base.t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df))
