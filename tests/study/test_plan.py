"""What a study costs before it starts, by hand, and which metrics it has."""

import pytest
import tiny

from faithlib.metrics import registry
from faithlib.metrics.inputs import Inputs
from faithlib.study import plan


@pytest.fixture(scope="module")
def inputs():
    model = tiny.classifier()
    return Inputs(model, model.encode(["the plot was great", "it was"]), [0, 0])


def passes(inputs, names, metrics, baselines=1, **settings):
    chosen = plan.chosen(metrics, inputs)
    return plan.estimate(inputs.model, inputs.encodings, names, 0, chosen, baselines, **settings).passes


def test_passes_by_hand(inputs):
    assert passes(inputs, ["leave_one_out"], ["ns"], baselines=0) == 2 * (1 + 5) + 6
    assert passes(inputs, ["leave_one_out", "leave_one_out_abs"], ["ns"]) == 2 * (1 + 4 * 5) + 6
    assert passes(inputs, ["lime"], ["ns"], baselines=0, samples=70) == 2 * (1 + 70 + 5)
    assert passes(inputs, ["lime"], ["ns"], baselines=0) == 2 * (1 + 500 + 5)  # its own default
    assert passes(inputs, ["sequential_integrated_gradients"], ["ns"], baselines=0, steps=3) == 12 + 3 * 6
    assert passes(inputs, ["noiser"], ["ns"], baselines=0, noise=4, halvings=5) == 12 + 4 * 2 * 6
    each = {"noise": 4, "halvings": 5, "bounding": "k_max"}
    assert passes(inputs, ["noiser"], ["ns"], baselines=0, **each) == 12 + 4 * 5 * 6
    assert passes(inputs, ["reagent"], ["ns"], baselines=0, rounds=3) == 2 * (1 + 2 * 3 * 8 + 5)
    assert passes(inputs, ["random_uniform"], ["decision_flip"], baselines=0) == 2 + 4 + 2
    both = ["naopc_sufficiency", "naopc_comprehensiveness"]
    assert passes(inputs, ["random_uniform"], both, baselines=0) == 2 + 2 * (4 + 2) + 2**4 + 2**2


def test_seconds_and_memory(inputs):
    model, (metric,) = inputs.model, plan.chosen(["ns"], inputs)
    settings = dict(names=["random_uniform"], aligned=1, metrics=[metric], baselines=0, budget=100)
    cost = plan.estimate(model, inputs.encodings, per_token=0.5, **settings)
    assert cost.seconds == pytest.approx(0.5 * (1 + 2 * 5) * (6 + 4))
    assert cost.by_name == {"random_uniform": 0, "ns": 20} and (cost + cost).passes == 44
    weights = 4 * sum(w.numel() for w in model.model.parameters())
    assert cost.bytes == weights + 100 * 4 * (2 * 32 + 6 * 16)
    assert plan.seconds_per_token(model, inputs.encodings) > 0


def test_the_line():
    assert str(plan.Estimate(12, 3.2, 2**20)) == "about 12 passes, 3 s, 0.0 GiB"
    assert str(plan.Estimate(2_500_000, 5400, 2**31)) == "about 2,500,000 passes, 90 min, 2.0 GiB"


def test_default_and_all(inputs):
    default, every = ([m.name for m in plan.chosen(which, inputs)] for which in ("default", "all"))
    assert {"ns", "soft_nc", "aopc_sufficiency", "decision_flip"} <= set(default)
    assert set(every) - set(default) == {
        *(f"naopc_{name}" for name in ("comprehensiveness", "sufficiency")),
        *("equal_soft_ns", "equal_soft_nc"),
        *(f"f_fidelity_{name}" for name in ("plus", "minus")),
    }
    assert [m.name for m in plan.chosen("ns", inputs)] == ["ns"]


def test_every_metric_of_texts_has_a_cost():
    for name in registry.names():
        metric = registry.get(name)
        assert (
            (plan._count(metric.passes, [5, 50]) >= 0).all()
            if callable(metric.passes)
            else metric.passes >= 0
        )
