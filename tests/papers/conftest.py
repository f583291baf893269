"""What the tests of all papers share."""

import pytest

from replication import multiverse


@pytest.fixture(autouse=True, scope="module")
def one_choice_at_a_time(request):
    """No full grids of choices, which take most of the time, but in modules with `FULL_GRID = True`."""
    with pytest.MonkeyPatch.context() as patch:
        if not getattr(request.module, "FULL_GRID", False):
            patch.setattr(multiverse, "CELLS", 0)
        yield
