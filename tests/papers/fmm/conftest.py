"""Fixtures of the tests of fmm."""

import pytest
from sample.fmm import UNITS, curves_of, every, record

from notebooks.fmm import tables


@pytest.fixture(scope="module")
def records():
    return [record(*unit) for unit in UNITS]


@pytest.fixture(scope="module")
def points(records):
    return tables.points(every(curves_of), records)
