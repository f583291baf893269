"""Fixtures of the tests of soft_metrics."""

import pandas as pd
import pytest
from sample.soft_metrics import unit

from notebooks.soft_metrics import tables


@pytest.fixture(scope="module")
def values():
    datasets = [unit(d, definition=k) for d in ("sst", "topics") for k in ("paper", "released")]
    return pd.concat(datasets, ignore_index=True)


@pytest.fixture(scope="module")
def preferred(values):
    return tables.preferences(tables.aopc(values))


@pytest.fixture(scope="module")
def diagnostic(preferred):
    return tables.diagnosticity(preferred)
