"""Every example in a docstring runs and gives what it says."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import faithlib

ROOT = Path(faithlib.__file__).parents[1]
EXAMPLES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for top in ("faithlib", "replication", "notebooks")
    for path in sorted(ROOT.glob(f"{top}/**/*.py"))
    if ">>> " in path.read_text(encoding="utf-8") and "tutorials" not in path.parts
]


@pytest.mark.parametrize("module", EXAMPLES)
def test_examples_run(module):
    examples = doctest.testmod(import_module(module))
    assert examples.attempted and not examples.failed
