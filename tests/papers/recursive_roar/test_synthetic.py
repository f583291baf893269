"""The synthetic problem: Recursive ROAR is the truth, ROAR is not."""

import warnings

import numpy as np
import pytest

from notebooks.recursive_roar import synthetic


@pytest.fixture(scope="module")
def curves():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing that scikit-learn is about to drop
        return synthetic.curves(train=3000, test=2000)


def accuracy(curves, name):
    return curves[curves.curve == name].sort_values("removed").accuracy.to_numpy()


def test_the_problem_is_equation_1_in_the_order_of_the_releases_draws():
    (x, y), (x_test, y_test) = synthetic.problem(seed=3, train=500, test=200)
    rng = np.random.default_rng(3)
    a, d = [*rng.standard_normal(4), *[0] * 12], rng.standard_normal(16)
    for features, label in ((x, y), (x_test, y_test)):
        z, eta, epsilon = rng.standard_normal((3, len(label)))
        assert features[7, 2] == pytest.approx(a[2] * z[7] / 10 + d[2] * eta[7] + epsilon[7] / 10)
        assert features[7, 9] == pytest.approx(d[9] * eta[7] + epsilon[7] / 10)
        assert (label == (z > 0)).all()
    assert x.shape == (500, 16) and y_test.shape == (200,)
    assert np.linalg.matrix_rank(x) == 3  # z, η and ε are one number an example each


def test_recursive_roar_is_the_truth_and_roar_is_not(curves):
    truth, recursive, roar, worst = (
        accuracy(curves, name) for name in ("truth", "Recursive ROAR", "ROAR", "worst case")
    )
    assert len(curves) == 4 * 17
    assert recursive[:5] == pytest.approx(truth[:5], abs=0.005)
    assert recursive[5:] == pytest.approx(truth[5:], abs=0.04)  # chance, of 2000 examples
    assert (roar > truth + 0.4).sum() >= 3 and (roar > truth - 0.04).all()
    assert (truth[:4] > 0.99).all() and (truth[4:] < 0.55).all()  # redundant: one of the four is enough
    assert (worst[:13] > 0.99).all() and worst[-1] < 0.55
    assert len({truth[0], recursive[0], roar[0], worst[0]}) == 1  # the model that sees everything


@pytest.mark.slow
def test_at_the_papers_size_recursive_roar_is_the_truth_at_every_step():
    curves = synthetic.curves()
    assert accuracy(curves, "Recursive ROAR") == pytest.approx(accuracy(curves, "truth"), abs=0.001)
    assert abs(accuracy(curves, "ROAR") - accuracy(curves, "truth")).max() > 0.45


def test_each_curve_masks_every_feature_once(curves):
    order = curves.groupby("curve").feature.agg(list)
    for features in order:
        assert features[0] == -1 and sorted(features[1:]) == list(range(16))
    assert order["truth"][1:] == list(range(16))
    assert order["worst case"][1:] == [*range(4, 16), 0, 1, 2, 3]
    assert set(order["Recursive ROAR"][1:5]) == {0, 1, 2, 3}
    assert set(order["ROAR"][1:5]) != {0, 1, 2, 3}


def test_roar_ranks_by_the_weights_of_the_first_model_only(curves):
    (x, y), _ = synthetic.problem(train=3000, test=2000)
    weights = synthetic.LogisticRegression(C=np.inf).fit(x, y).coef_[0]
    roar = curves[curves.curve == "ROAR"].feature.tolist()[1:]
    assert roar == np.argsort(-abs(weights), kind="stable").tolist()


def test_it_follows_its_seed():
    one, same, other = (synthetic.curves(seed, 300, 200) for seed in (1, 1, 2))
    assert one.equals(same) and not one.equals(other)


@pytest.mark.parametrize("sizes", [{"train": 99}, {"test": 0}, {"test": 1e5}, {"train": True}])
def test_sizes_that_are_none_are_told(sizes):
    with pytest.raises(ValueError, match=r"^(train|test)=\S+ must be a whole number of examples.*100$"):
        synthetic.curves(**sizes)
