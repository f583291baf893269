"""Fixtures of the tests of recursive_roar."""

import numpy as np
import pandas as pd
import pytest
from sample.recursive_roar import DROP, LINE, RISE, curve

from notebooks.recursive_roar import tables
from notebooks.recursive_roar.card import CARD


@pytest.fixture(scope="module")
def points():
    """Two data sets, three seeds; attention is at the end at once under recursion and half way under ROAR."""
    parts = []
    for dataset in ("babi_1", "sst"):
        for seed in range(3):
            noise = 0.01 * seed * np.linspace(0, 1, 11) * (1 - np.linspace(0, 1, 11))
            for recursive in (False, True):
                columns = dict(recursive=recursive, dataset=dataset, seed=seed)
                metric = CARD.metric(dataset)
                half = (LINE + DROP) / 2
                first, second = ("gradient_l2", "integrated_gradients_abs")[:: 1 if dataset == "sst" else -1]
                for measure, shape in (
                    ("random", LINE),
                    ("attention", DROP if recursive else half),
                    (first, half),
                    (second, RISE),
                ):
                    parts.append(curve(shape + noise, measure, metric=metric, **columns))
                parts.append(curve(0 * LINE, "random", metric="loss", **columns))  # another metric
    return tables.points(pd.concat(parts, ignore_index=True))
