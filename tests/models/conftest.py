"""What the tests of models share."""

import pytest
import tiny


@pytest.fixture(params=tiny.KINDS)
def classifier(request):
    return tiny.classifier(request.param)
