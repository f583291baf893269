"""Files of one's own: imported once by their paths, and told in one line where they fail."""

import sys

import pytest
from wrong import refused

from faithlib import attributions, plugins

CODE = """from faithlib.attributions import register
@register("from_a_file", signed=False, family="perturbation", cost="none")
def from_a_file(model, batch, target):
    return {"from_a_file": batch.maskable.float()}
"""


@pytest.fixture(autouse=True)
def forgotten():
    """Modules and attributions that a test brings are gone afterwards."""
    yield
    for name in [name for name in sys.modules if name.startswith("faithlib_plugin_")]:
        del sys.modules[name]
    if "from_a_file" in attributions.names():
        attributions.unregister("from_a_file")


def test_a_file_registers_what_it_holds_and_is_imported_once(tmp_path):
    (tmp_path / "mine.py").write_text(CODE)
    (module,) = plugins.load(["mine.py"], tmp_path)
    assert attributions.get("from_a_file").function is module.from_a_file
    assert plugins.load([str(tmp_path / "mine.py")]) == [module]
    assert plugins.load([]) == []


def test_a_file_that_fails_is_not_kept_as_imported(tmp_path):
    """What else cannot be loaded is in tests/bad_input.txt."""
    (tmp_path / "broken.py").write_text("1 / 0")
    refused("broken.py fails: ZeroDivisionError: division by zero", plugins.load, ["broken.py"], tmp_path)
    assert not [name for name in sys.modules if name.startswith("faithlib_plugin_") and "broken" in name]
