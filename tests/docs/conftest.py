"""Modules of docs/, which is no package."""

import sys
from importlib.util import module_from_spec, spec_from_file_location

import pytest
from docs.page import ROOT


@pytest.fixture(scope="module")
def load():
    """A module of docs/ by its name; the path is as before afterwards."""
    before = list(sys.path)
    sys.path.insert(0, str(ROOT / "docs"))

    def loaded(name):
        spec = spec_from_file_location(f"docs_{name}", ROOT / f"docs/{name}.py")
        spec.loader.exec_module(module := module_from_spec(spec))
        return module

    yield loaded
    sys.path[:] = before
