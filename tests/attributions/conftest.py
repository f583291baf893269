"""Fixtures of the tests of attributions."""

import pytest
import tiny
from sample.lookup import LOSSES, A, look_up, losing, text


@pytest.fixture
def four():
    """A classifier that knows what each subset of four tokens is worth, and the text of these four."""
    return look_up(losing("abcd", 20, LOSSES)), [text(A, A + 1, A + 2, A + 3)]


@pytest.fixture(params=tiny.KINDS)
def classifier(request):
    return tiny.classifier(request.param)
