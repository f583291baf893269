"""The list of metrics: every row is whole and can be resolved; what is wrong is one line, at registration."""

from math import inf

import pytest

from faithlib.metrics import registry


@pytest.fixture
def registered():
    """Names that a test registers, taken off the list afterwards."""
    before = registry.names()
    yield
    for name in set(registry.names()) - set(before):
        registry.unregister(name)


@pytest.mark.parametrize("name", registry.names())
def test_every_row_is_whole(name):
    metric = registry.get(name)
    assert metric.name == name and metric.label and callable(metric.resolve())
    assert metric.better in ("higher", "lower") and metric.range[0] < metric.range[1]
    assert set(metric.needs) <= set(registry.NEEDS) and metric.level in registry.LEVELS


def test_a_metric_joins_the_end_of_the_list(registered):
    @registry.register("mean_size", better="lower", range=[0, inf], needs=["classifier"], void="never")
    def mean_size(inputs, scores):
        return [abs(s).mean() for s in scores]

    assert registry.names()[-1] == "mean_size"
    metric = registry.get("mean_size")
    assert (metric.label, metric.range, metric.needs) == ("mean size", (0, inf), ("classifier",))
    assert metric.resolve() is mean_size
    # As a notebook's cell run again.
    registry.register("mean_size", better="lower", range=(0, 1), needs="mask")(mean_size)
    assert (registry.get("mean_size").range, registry.get("mean_size").needs) == ((0, 1), ("mask",))
