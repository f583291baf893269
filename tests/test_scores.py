"""Orders, masks, sparsity, random baselines and checks of scores."""

import numpy as np
import pytest
import tiny

from faithlib import scores
from faithlib.scores import sparsity

# Sparsity -----------------------------------------------------------------------------------------


def share(rows, by, top):
    (row,) = [row for row in rows if (row["by"], row["top"]) == (by, top)]
    return row["share"]


def test_sparsity_by_hand():
    rows = sparsity([np.array([0.1, -0.5, 0.0, 0.4])])  # sorted 0.5, 0.4, 0.1, 0
    assert [share(rows, "count", top) for top in (1, 2, 3, 4, 10)] == pytest.approx([0.5, 0.9, 1, 1, 1])
    # ⌊4x⌋ tokens: none up to 20 %, one from 30, two from 50, three from 80
    assert [share(rows, "ratio", top) for top in (10, 20, 30, 50, 70, 80, 100)] == pytest.approx(
        [0, 0, 0.5, 0.9, 0.9, 1, 1]
    )
    assert len(rows) == 20 and {row["examples"] for row in rows} == {1}


def test_sparsity_is_a_mean_over_examples_and_blind_to_scale_sign_and_order():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=30), rng.normal(size=7)
    both = sparsity([one, other])
    alone = [sparsity([scores]) for scores in (-3 * one[::-1], other)]
    for row, first, second in zip(both, *alone, strict=True):
        assert row["share"] == pytest.approx((first["share"] + second["share"]) / 2)
    shares = [row["share"] for row in both if row["by"] == "ratio"]
    assert shares == sorted(shares) and shares[-1] == pytest.approx(1)
    assert share(sparsity([np.ones(20)]), "ratio", 30) == pytest.approx(0.3)  # nothing more sparse than even


def test_examples_without_importance_are_counted_out():
    rows = sparsity([np.zeros(5), np.array([1.0, 3.0]), np.array([])])
    assert {row["examples"] for row in rows} == {1} and share(rows, "count", 1) == pytest.approx(0.75)
    assert all(np.isnan(row["share"]) and row["examples"] == 0 for row in sparsity([np.zeros(3)]))
    with pytest.raises(ValueError, match="example 1 has NaN"):
        sparsity([np.ones(2), np.array([1.0, np.nan])])


# Random baselines -----------------------------------------------------------------------------------


def test_normal_scores_have_the_moments_of_a_standard_normal():
    encoding = tiny.encoding(20_004, range(1, 20_001))
    drawn = scores.normal(encoding, np.random.default_rng(0))
    assert (drawn[[0, 20_001, 20_002, 20_003]] == 0).all()
    inside = drawn[1:20_001]
    assert abs(inside.mean()) < 0.03 and abs(inside.std() - 1) < 0.02
    assert abs((inside**3).mean()) < 0.1 and abs((inside**4).mean() - 3) < 0.2
    assert (drawn == scores.normal(encoding, np.random.default_rng(0))).all()
    assert (drawn != scores.normal(encoding, np.random.default_rng(1)))[1:20_001].all()


def test_uniform_scores_lie_between_0_and_1_where_they_may():
    encoding = tiny.encoding(2_004, range(1, 2_001))
    drawn = scores.uniform(encoding, scores.generator(encoding, 0))
    assert (drawn[[0, 2_001, 2_002, 2_003]] == 0).all() and 0 < drawn[1:2_001].min() < drawn.max() < 1
    assert abs(drawn[1:2_001].mean() - 0.5) < 0.02


def test_random_numbers_belong_to_an_example():
    one, same, other = (tiny.encoding(4, [1, 2], ids) for ids in ([1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 5]))
    first = scores.generator(one, 0).random()
    assert first == scores.generator(same, 0).random()
    assert first not in (scores.generator(other, 0).random(), scores.generator(one, 1).random())


def test_permuted_scores_are_the_same_scores_elsewhere():
    encoding = tiny.encoding(30, range(2, 25))
    values = np.arange(30.0)
    shuffled = scores.permuted(values, encoding, np.random.default_rng(0))
    assert sorted(shuffled[2:25]) == list(range(2, 25)) and (shuffled[2:25] != values[2:25]).any()
    assert (shuffled[[0, 1, *range(25, 30)]] == values[[0, 1, *range(25, 30)]]).all()
    assert (values == np.arange(30)).all()  # a copy


def test_every_order_is_equally_likely():
    encoding, generator = tiny.encoding(5, (1, 2, 3)), np.random.default_rng(0)
    values = np.array([0, 1.0, 2.0, 3.0, 0])
    orders = [tuple(scores.permuted(values, encoding, generator)[1:4]) for _ in range(6000)]
    counts = [orders.count(order) for order in set(orders)]
    assert len(counts) == 6 and min(counts) > 880 and max(counts) < 1120  # 1000 ± 4 standard deviations


# Checks -------------------------------------------------------------------------------------------


def test_scores_outside_the_maskable_tokens_may_be_anything():
    """What does not fit is refused: rows of tests/bad_input.txt."""
    scores.check_scores([tiny.encoding(4, [1, 2])], {"mine": [np.array([np.nan, 0, 1, np.inf])]})


def test_unknown_values_are_told_with_those_that_are_known():
    scores.one_of("path", "text", ("input", "text"))
    with pytest.raises(ValueError, match="^path='txt' is unknown: use 'input', 'text'$"):
        scores.one_of("path", "txt", ("", "input", "text"))
    assert scores.suggestion("lme", ["beam", "lime"]) == "did you mean 'lime'? Known are beam, lime"
    assert scores.suggestion("zzz", ["beam", "lime"]) == "Known are beam, lime"
