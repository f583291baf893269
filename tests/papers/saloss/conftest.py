"""Fixtures of the tests of saloss."""

import pandas as pd
import pytest
from sample.saloss import UNITS, flips, record


@pytest.fixture
def records():
    return [record(*unit) for unit in UNITS]


@pytest.fixture
def values():
    return pd.concat([flips(*unit) for unit in UNITS], ignore_index=True)
