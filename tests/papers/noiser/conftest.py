"""Fixtures of the tests of noiser."""

import pandas as pd
import pytest
from sample.noiser import soft


@pytest.fixture
def values():
    parts = [soft("world_facts"), soft("world_agreement"), soft(definition="released")]
    return pd.concat(parts, ignore_index=True)
