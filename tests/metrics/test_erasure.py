"""Rationales, sufficiency and comprehensiveness, and their normalisation, by hand."""

import numpy as np
import pytest

from faithlib.metrics import erasure
from faithlib.metrics.soft import Settings

NAN = float("nan")


# Sufficiency and comprehensiveness by hand --------------------------------------------------------


def test_sufficiency_and_comprehensiveness():
    p_full, p = np.array([0.9, 0.9, 0.4]), np.array([0.6, 0.95, 0.4])
    assert np.allclose(erasure.sufficiency(p_full, p), [0.7, 1, 1])
    assert np.allclose(erasure.comprehensiveness(p_full, p), [0.3, 0, 0])


def test_normalisation():
    s, s_zero = np.array([0.7, 0.2, 1.0, 1.0]), np.array([0.3, 0.3, 0.3, 1.0])
    assert np.allclose(erasure.normalised_sufficiency(s, s_zero), [4 / 7, -1 / 7, 1, NAN], equal_nan=True)
    c = np.array([0.5, 0.0, 0.7, 0.1])
    assert np.allclose(erasure.normalised_comprehensiveness(c, s_zero), [5 / 7, 0, 1, NAN], equal_nan=True)


def test_released_normalisation():
    s, c = np.array([0.7, 0.2, 1.0, 0.95, 1.0]), np.array([0.5, 0, 0.9, 0.1, 0.5])
    s_zero = np.array([0.3, 0.3, 0.3, 1, 1])
    ns, nc = erasure.released_normalisation(s, c, s_zero)
    assert np.allclose(ns, [0.4001 / 0.7001, 0, 1, 0, 1], atol=1e-9)
    assert np.allclose(nc, [0.5 / 0.7001, 0, 1, 1, 1], atol=1e-9)
    _, nc = erasure.released_normalisation(s, c, s_zero, nc_first=True)
    assert np.allclose(nc, [0.5 / 0.7, 0, 1, 0, 0], atol=1e-9)  # 0 where S0 = 1: no NS has lowered it yet


@pytest.mark.parametrize(
    ("n", "ratio", "paper", "released"),
    [
        (3, 0.01, 1, 1), (3, 0.2, 1, 1), (3, 0.34, 2, 2), (3, 0.5, 2, 2), (3, 0.75, 3, 3), (3, 1.0, 3, 3),
        (4, 0.25, 1, 2), (4, 0.5, 2, 3), (30, 0.1, 3, 4), (10, 0.3, 3, 4), (100, 0.07, 7, 8),
        (100, 0.01, 1, 2), (1, 0.01, 1, 1), (7, 0.2, 2, 2), (20, 0.05, 1, 2),
    ],
)  # fmt: skip
def test_length_of_a_rationale(n, ratio, paper, released):
    maskable = np.array([False] + n * [True] + [False])
    for definition, length in (("paper", paper), ("released", released)):
        assert erasure.rationale(np.arange(n + 2.0), maskable, ratio, definition).sum() == length


def test_a_rationale_is_the_top_of_the_maskable_tokens():
    maskable = np.array([False, True, True, True, True, False])

    def chosen(scores, ratio):
        return np.flatnonzero(erasure.rationale(np.array(scores), maskable, ratio)).tolist()

    assert chosen([9, 0.1, 0.4, 0.2, 0.3, 9], 0.5) == [2, 4]  # the largest scores are not maskable
    assert chosen([9, -0.1, -0.4, -0.2, -0.3, 9], 0.5) == [1, 3]
    assert chosen([0, 0.2, 0.5, 0.2, 0.5, 0], 0.25) == [2]  # of equals the earlier
    assert chosen([0, 0.0, 0.0, 0.0, 0.0, 0], 0.75) == [1, 2, 3]
    assert chosen([0, -5.0, -5.0, -5.0, -9.0, 0], 1) == [1, 2, 3, 4]


@pytest.mark.parametrize("ratio", [0, -0.1, 1.01, 20, NAN])
def test_ratios_outside_are_refused(ratio):
    with pytest.raises(ValueError, match=f"ratio {ratio} is outside .0, 1.: give"):
        erasure.rationale(np.zeros(2), np.array([True, True]), ratio)
    for field in ("ratios", "curve_ratios"):
        with pytest.raises(ValueError, match=f"{field}={ratio} is outside"):
            Settings(**{field: [0.5, ratio]})
