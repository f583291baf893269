"""Equal retention, AOPC and NAOPC: values by hand, all orders by enumeration, beam search within them."""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
import tiny

from faithlib.engine import forward
from faithlib.metrics import erasure, normalised, soft, soft_causal
from faithlib.metrics.inputs import Inputs


@pytest.fixture(scope="module")
def classifier():
    return tiny.classifier()


def inputs_of(model, texts, targets=None):
    encodings = model.encode(texts)
    return Inputs(model, encodings, [0] * len(texts) if targets is None else targets)


def additive(weights):
    """Inputs whose target probability is 1 minus the weights of the masked tokens, at 1, 2, ..."""
    encoding = tiny.encoding(len(weights) + 2, range(1, len(weights) + 1), ids=[2, *[5] * len(weights), 3])

    class Additive(Inputs):
        def target_probabilities(self, variants, examples=None):
            masked = np.array([v.encoding.ids[1:-1] == 4 for v in variants])
            return 1 - masked @ np.array(weights)

    return Additive(SimpleNamespace(mask_id=4, outputs=2), [encoding], [0])


# Equal retention ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "share", "expected"),
    [
        ([1, 0, 0, 0], 0.5, [1, 1 / 3, 1 / 3, 1 / 3]),
        ([0, 1, 1, 1], 0.5, [0, 2 / 3, 2 / 3, 2 / 3]),
        ([0, 0.5, 1], 0.5, [0, 0.5, 1]),
        ([0, 0.2, 1], 0.5, [0.15, 0.35, 1]),  # (b + 0.2 + b + 1) / 3 = 1/2
        ([0.5, 0.5], 0.2, [0.2, 0.2]),
        ([0, 0.2, 1], 1, [1, 1, 1]),
        ([0, 0.2, 1], 0, [0, 0, 0]),
        ([0.5], 0.5, [0.5]),
    ],
)
def test_equal_retention_by_hand(a, share, expected):
    assert soft.equal_retention(a, share) == pytest.approx(expected)


def test_equal_retention_has_the_mean_and_the_order_of_any_scores():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 10, 57):
        scores = rng.standard_normal(n) ** 3 * 10.0 ** rng.integers(-8, 8)
        a = soft.to_probability(scores, np.ones(n, bool), "equal")
        assert a.mean() == pytest.approx(0.5) and a.min() >= 0 and a.max() <= 1
        assert (np.diff(a[np.argsort(scores)]) >= 0).all()
        assert soft.to_probability(7 * scores + 1e-3, np.ones(n, bool), "equal") == pytest.approx(a)


def test_equal_soft_metrics_by_a_loop(classifier):
    texts = tiny.TEXTS[:3]
    inputs = inputs_of(classifier, texts, [2, 0, 1])
    scores = [np.random.default_rng(i).standard_normal(len(e.ids)) for i, e in enumerate(inputs.encodings)]
    for name, keep in (("equal_soft_ns", True), ("equal_soft_nc", False)):
        measured = getattr(soft, name)(inputs, scores, draws=2)
        for i, (e, s) in enumerate(zip(inputs.encodings, scores, strict=True)):
            a, values = soft.to_probability(s, e.maskable, "equal"), []
            for seed in inputs.seeds(i, 2):
                u = np.random.default_rng(seed).random((len(e.ids), 16), dtype=np.float32)
                kept = u < a[:, None].astype(np.float32) if keep else u >= a[:, None].astype(np.float32)
                factor = np.where(e.maskable[:, None], kept, 1.0)
                variant = forward.Variant(e, factor=lambda f=factor: f, key=None)
                p = forward.probabilities(classifier, [variant])[0, inputs.targets[i]]
                fall = max(0, inputs.p_full[i] - p)
                values.append(1 - fall if keep else fall)
            s_zero = 1 - max(0, inputs.p_full[i] - inputs.p_empty[i])
            if 1 - s_zero < erasure.LEAST:
                assert np.isnan(measured[i])
                continue
            raw = np.mean(values)
            by_hand = (raw - s_zero) / (1 - s_zero) if keep else raw / (1 - s_zero)
            assert measured[i] == pytest.approx(by_hand, abs=1e-5)


def test_equal_retention_does_not_reward_scale():
    """Scores near 1 keep nearly everything under "clip"; with equal retention they have no advantage."""
    model = tiny.causal()
    encodings = model.encode(tiny.PROMPTS)
    inputs = Inputs(model, encodings, [5] * len(encodings))
    small = [np.where(e.maskable, np.linspace(0, 0.1, len(e.ids)), 0) for e in encodings]
    large = [np.where(e.maskable, 0.9 + s, 0) for e, s in zip(encodings, small, strict=True)]
    for name in ("causal_equal_soft_ns", "causal_equal_soft_nc"):
        metric = getattr(soft_causal, name)
        assert metric(inputs, large) == pytest.approx(metric(inputs, small), abs=1e-6, nan_ok=True)
    clipped = soft_causal.causal_soft_nc
    assert np.nanmean(clipped(inputs, large)) > np.nanmean(clipped(inputs, small)) + 0.1


# AOPC ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "expected"),
    [(1, [1]), (3, [1, 2, 3]), (10, list(range(1, 11))), (11, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
     (20, list(range(2, 21, 2)))],
)  # fmt: skip
def test_levels(n, expected):
    assert normalised.levels(n).tolist() == expected


def test_aopc_by_hand():
    inputs = additive([0.1, 0.5, 0.2])
    scores = [np.array([9, 1.0, 3.0, 2.0, 9])]  # masks the second token, the third, the first
    # falls .5, .7, .8 and, the least important first, .1, .3, .8
    assert normalised.aopc_comprehensiveness(inputs, scores) == pytest.approx([2 / 3])
    assert normalised.aopc_sufficiency(inputs, scores) == pytest.approx([0.4])
    assert np.ravel(normalised.bounds(inputs)) == pytest.approx([0.4, 2 / 3])
    assert normalised.naopc_comprehensiveness(inputs, scores) == pytest.approx([1])
    assert normalised.naopc_sufficiency(inputs, scores) == pytest.approx([0])
    other = [np.array([9, 3.0, 2.0, 1.0, 9])]  # falls .1, .6, .8, a mean of .5
    assert normalised.naopc_comprehensiveness(inputs, other) == pytest.approx([(0.5 - 0.4) / (2 / 3 - 0.4)])


def test_values_without_room_are_void():
    for weights, void in (([0.02, 0.05, 0.03], True), ([0.1, 0.1, 0.1], True), ([0.1, 0.4], False)):
        value = normalised.naopc_sufficiency(additive(weights), [np.array([0, *weights, 0])])
        assert np.isnan(value).tolist() == [void]


def test_exact_bounds_are_those_of_all_orders(classifier):
    inputs = inputs_of(classifier, ["the plot was great", "she liked the"], [1, 2])
    low, high = normalised.bounds(inputs)
    for i, e in enumerate(inputs.encodings):
        places, means = np.flatnonzero(e.maskable), []
        for order in permutations(places):
            scores = np.zeros(len(e.ids))
            scores[list(order)] = np.arange(len(order), 0, -1)
            alone = Inputs(classifier, [e], inputs.targets[[i]], cache=inputs.cache)
            means.append(normalised.aopc_comprehensiveness(alone, [scores])[0])
        assert [low[i], high[i]] == pytest.approx([min(means), max(means)], abs=1e-6)


def test_the_extremes_of_all_orders_by_enumeration():
    falls = np.random.default_rng(1).standard_normal(2**5)
    means = [
        np.mean([falls[sum(1 << j for j in order[: k + 1])] for k in range(5)])
        for order in permutations(range(5))
    ]
    assert normalised.extreme_mean(falls, 5) == pytest.approx(max(means))
    assert normalised.extreme_mean(falls, 5, min) == pytest.approx(min(means))


def test_a_wide_beam_is_exact(classifier, monkeypatch):
    def bounds(exact, beam):
        monkeypatch.setattr(normalised, "EXACT", exact)
        return normalised.bounds(inputs_of(classifier, tiny.TEXTS[:2], [1, 2]), beam)

    (low, high), wide, narrow = bounds(10, 1), bounds(0, 300), bounds(0, 1)  # 4 and 10 tokens
    assert wide[0] == pytest.approx(low, abs=1e-6) and wide[1] == pytest.approx(high, abs=1e-6)
    assert (narrow[0] >= low - 1e-6).all() and (narrow[1] <= high + 1e-6).all()


def test_beam_search_finds_the_order_of_an_additive_model():
    rng = np.random.default_rng(2)
    for n in (9, 14, 25):
        weights = rng.random(n) / n
        inputs, scores = additive(weights), [np.array([0, *weights, 0])]
        low, high = normalised.bounds(inputs)
        assert high == pytest.approx(normalised.aopc_comprehensiveness(inputs, scores))
        assert low == pytest.approx(normalised.aopc_sufficiency(inputs, scores))


def test_no_order_is_outside_the_scale(classifier):
    texts = [*tiny.TEXTS, "she liked the plot a lot , it was not boring , not long and not about nothing"]
    inputs = inputs_of(classifier, texts)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        scores = [rng.random(len(e.ids)) for e in inputs.encodings]
        for metric in (normalised.naopc_comprehensiveness, normalised.naopc_sufficiency):
            values = metric(inputs, scores)
            finite = values[~np.isnan(values)]
            assert len(finite) and (finite >= 0).all() and (finite <= 1).all()
        reverse = [-s for s in scores]
        assert normalised.naopc_sufficiency(inputs, scores) == pytest.approx(
            normalised.naopc_comprehensiveness(inputs, reverse), nan_ok=True
        )
