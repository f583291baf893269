"""What a metric is given: outputs of the model by hand, computed once, and what a study lacks."""

import numpy as np
import pytest
import tiny

from faithlib.engine import forward
from faithlib.metrics import registry
from faithlib.metrics.inputs import Inputs, continued


@pytest.fixture
def inputs():
    model = tiny.classifier()
    return Inputs(model, model.encode(tiny.TEXTS[:3]), [2, 0, 1])


def test_probabilities_are_those_of_the_targets(inputs):
    model, encodings = inputs.model, inputs.encodings
    full = forward.probabilities(model, [forward.unchanged(e) for e in encodings])
    assert inputs.p_full == pytest.approx(full[[0, 1, 2], [2, 0, 1]], abs=1e-6)
    empty = forward.probabilities(model, [forward.zeroed(e, e.maskable) for e in encodings])
    assert inputs.p_empty == pytest.approx(empty[[0, 1, 2], [2, 0, 1]], abs=1e-6)
    variants = [forward.unchanged(encodings[1])] * 2
    assert inputs.target_probabilities(variants, [1, 1]) == pytest.approx([full[1, 0]] * 2, abs=1e-6)


def test_outputs_are_computed_once(inputs, monkeypatch):
    first = inputs.p_full
    monkeypatch.setattr(inputs.model, "logits", None)
    assert inputs.p_full is first
    again = inputs.target_probabilities([forward.unchanged(e) for e in inputs.encodings])
    assert again == pytest.approx(first)  # from the cache


def test_random_draws_belong_to_a_text_and_a_seed(inputs):
    model, encodings = inputs.model, inputs.encodings
    other = Inputs(model, encodings[::-1], [1, 0, 2])
    assert inputs.seeds(0, 2) == other.seeds(2, 2) != other.seeds(0, 2)
    assert len({tuple(seed) for seed in inputs.seeds(0, 3)}) == 3
    assert Inputs(model, encodings, [0, 0, 0], seed=1).seeds(0, 1) != inputs.seeds(0, 1)


def test_what_a_study_has_and_lacks(inputs):
    assert inputs.has == {"classifier", "mask"}
    causal = tiny.causal()
    prompts = causal.encode(tiny.PROMPTS[:1])
    assert Inputs(causal, prompts, [5], evidence=[[0]]).has >= {"causal", "evidence"}
    inputs.check(registry.get("ns"))
    with pytest.raises(ValueError, match="'auprc' needs words that are known to decide each text: tiny"):
        inputs.check(registry.get("auprc"))
    with pytest.raises(ValueError, match="'causal_soft_ns' needs a causal language model"):
        inputs.check(registry.get("causal_soft_ns"))
    assert np.array_equal(inputs.targets, [2, 0, 1])


def test_what_metrics_share_is_computed_once(inputs):
    asked = []
    for _ in range(2):
        assert inputs.once(("bounds", 3), lambda: asked.append(1) or "found") == "found"
    assert asked == [1]


def test_a_variant_is_continued_as_it_is(inputs):
    (encoding,) = tiny.causal().encode(tiny.PROMPTS[:1])
    erased = np.array([False, True, False, False])
    variant = continued(forward.zeroed(encoding, erased), (7, 8))
    assert variant.encoding.ids.tolist() == [*encoding.ids.tolist(), 7, 8] == variant.base.ids.tolist()
    assert variant.encoding.maskable.tolist() == [*encoding.maskable.tolist(), False, False]
    assert variant.factor().tolist() == [1, 0, 1, 1, 1, 1] and variant.start == 1
    weighted = forward.Variant(encoding, weight=np.array([1, 0.5, 1, 0]), factor=lambda: np.zeros((4, 2)))
    longer = continued(weighted, (7,))
    assert longer.weight.tolist() == [1, 0.5, 1, 0, 1] and longer.factor().tolist() == 4 * [[0, 0]] + [[1, 1]]
    assert continued(weighted, ()) is weighted


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([0, 1, 0], "3 targets for 2 texts"), ([-1, 0], "target -1 is no output"),
        ([True, False], "target True is no output"), ([0.0, 1.0], "target 0.0 is no output"),
    ],
)  # fmt: skip
def test_targets_are_one_class_a_text(targets, message):
    model = tiny.classifier()
    with pytest.raises(ValueError, match=message):
        Inputs(model, model.encode(tiny.TEXTS[:2]), targets)
