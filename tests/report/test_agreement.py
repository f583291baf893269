"""Rank agreement of metrics: against scipy, by hand, with values that are missing, and its figure."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from studies import study

from faithlib.metrics import registry
from faithlib.report import agreement
from faithlib.report.agreement import COLUMNS, computed, spearman

METRICS = ("ns", "soft_nc", "decision_flip")


def values(cube, metrics=METRICS):
    """A study of values (attributions, metrics, texts)."""
    names = [f"method_{i}" for i in range(cube.shape[0])]
    index = pd.MultiIndex.from_product(
        [names, metrics, range(cube.shape[2])], names=["attribution", "metric", "example"]
    )
    frame = pd.DataFrame({"value": cube.ravel()}, index).reset_index()
    noise = frame.assign(value=-frame.value, baseline="matched")
    return study(values=pd.concat([frame.assign(baseline=""), noise], ignore_index=True))


@pytest.fixture
def cube():
    """Five attributions, three metrics, twelve texts; the metrics agree in part, and some values are tied."""
    draw = np.random.default_rng(0)
    shared = draw.normal(size=(5, 1, 12)) + np.arange(5)[:, None, None]
    return (shared + draw.normal(size=(5, 3, 12))).round(1)


def sign(metric):
    return 1 if registry.get(metric).better == "higher" else -1


def test_spearman_is_scipys():
    draw = np.random.default_rng(1)
    x, y = draw.integers(5, size=(2, 20, 9)).astype(float)
    wanted = [stats.spearmanr(a, b).statistic for a, b in zip(x, y, strict=True)]
    assert spearman(x, y) == pytest.approx(wanted)
    x[:, 2], y[:, 5] = np.nan, np.nan
    wanted = [stats.spearmanr(a, b, nan_policy="omit").statistic for a, b in zip(x, y, strict=True)]
    assert spearman(x, y) == pytest.approx(wanted)


def test_two_pairs_and_constant_values_have_no_correlation():
    x = np.array([[1.0, 2.0, np.nan], [1.0, 1.0, 1.0]])
    assert np.isnan(spearman(x, np.array([1.0, 2.0, 3.0]))).all()


@pytest.mark.parametrize("missing", [False, True])
def test_estimates_are_scipys(cube, missing):
    if missing:
        cube[0, 1, 3:5], cube[2, 0, 0] = np.nan, np.nan
    table = computed(values(cube), draws=20)
    assert list(table) == COLUMNS and len(table) == 6
    for row in table.itertuples():
        a, b = METRICS.index(row.metric_a), METRICS.index(row.metric_b)
        x, y = (sign(METRICS[m]) * cube[:, m] for m in (a, b))
        if row.over == "attributions":
            wanted = stats.spearmanr(np.nanmean(x, 1), np.nanmean(y, 1)).statistic
            assert row.n == 5
        else:
            wanted = np.mean(
                [stats.spearmanr(*p, nan_policy="omit").statistic for p in zip(x, y, strict=True)]
            )
            assert row.n == 12 - (2 * missing if "soft_nc" in row else missing)
        assert row.rho == pytest.approx(wanted)
        assert -1 <= row.ci_low <= row.ci_high <= 1


def test_a_resample_is_of_whole_texts(cube):
    """The interval over texts is that of a loop that draws the texts anew."""
    table = computed(values(cube), draws=200)
    row = table[(table.over == "texts") & (table.metric_b == "soft_nc")].iloc[0]
    draw, means = np.random.default_rng(3), []
    for _ in range(300):
        part = cube[:, :, draw.integers(12, size=12)]
        means.append(np.mean([stats.spearmanr(x[0], x[1]).statistic for x in part]))
    wanted = np.quantile(means, [0.025, 0.975])
    assert [row.ci_low, row.ci_high] == pytest.approx(wanted, abs=0.08)


def test_equal_means_are_ties():
    cube = np.full((4, 2, 7), 0.1)
    cube[1:, :, :] += np.arange(1, 4)[:, None, None]
    cube[0, 0] = cube[1, 0] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    cube[1, 0] = cube[1, 0][::-1]  # the same mean, summed in another order
    row = computed(values(cube, METRICS[:2]), draws=5).iloc[0]
    assert row.rho == pytest.approx(stats.spearmanr([1.5, 1.5, 3, 4], [1, 2, 3, 4]).statistic)


def test_the_direction_of_a_metric_counts(cube):
    cube[:, 2] = -cube[:, 0]  # of decision_flip lower is better
    table = computed(values(cube), draws=5).set_index(["over", "metric_a", "metric_b"])
    for over in ("attributions", "texts"):
        assert table.loc[over, "ns", "decision_flip"].rho == pytest.approx(1)


def test_too_few_have_no_agreement(cube):
    two = computed(values(cube[:2]), draws=5)
    assert two[two.over == "attributions"].rho.isna().all() and two[two.over == "texts"].rho.notna().all()
    short = computed(values(cube[:, :, :2]), draws=5)
    assert short.ci_low.isna().all() and short[short.over == "texts"].rho.isna().all()
    assert computed(values(cube[:, :1], METRICS[:1])).empty


def test_the_same_study_has_the_same_intervals(cube):
    pd.testing.assert_frame_equal(computed(values(cube)), agreement.agreement(values(cube)))


@pytest.mark.parametrize("draws", [0, 1.5, True, "many"])
def test_draws_are_a_whole_number(cube, draws):
    with pytest.raises(ValueError, match=f"draws={draws!r} must be at least 1, a whole number"):
        agreement.agreement(values(cube), draws)


@pytest.mark.parametrize("metrics", [METRICS, (*METRICS, "nc", "soft_ns", "auprc")])
def test_the_figure_has_a_cell_for_each_pair(metrics):
    cube = np.random.default_rng(0).normal(size=(4, len(metrics), 9))
    table = computed(values(cube, metrics), draws=9)
    drawn = agreement.figure(table)
    maps = drawn.axes[:2]
    pairs = len(metrics) * (len(metrics) - 1) // 2
    for axis, over in zip(maps, ("attributions", "texts"), strict=True):
        written = [text.get_text().replace("−", "-") for text in axis.texts if text.get_text()]
        wanted = {f"{rho:.2f}" for rho in table[table.over == over].rho}
        assert len(written) == pairs and {text.split("\n")[0] for text in written} == wanted
        assert all(("[" in text) == (len(metrics) <= agreement.BESIDE) for text in written)
        assert over in axis.get_title()
    plt.close(drawn)
