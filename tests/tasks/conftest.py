"""Fixtures of the tests of data sets."""

import pytest
from sample.mirrors import rows, write


@pytest.fixture
def mirror(tmp_path):
    """A folder with small mirrors of three data sets."""
    write(tmp_path, "sst", train=rows(20), validation=rows(6, start=20), test=rows(8, start=30))
    write(tmp_path, "ag_news", train=rows(200, 4), test=rows(8, 4, start=300))
    write(tmp_path, "mrpc", train=rows(20, pair=True), validation=rows(6, pair=True, start=20))
    return tmp_path
