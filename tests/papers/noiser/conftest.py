"""Fixtures of the tests of noiser."""

import pandas as pd
import pytest
from sample.noiser import soft


@pytest.fixture
def values():
    return pd.concat(
        [soft("world_facts"), soft("world_agreement"), soft(definition="released")], ignore_index=True
    )
