"""The clone's packages are found from any folder of it, and their lack is told in one line."""

import sys
from types import SimpleNamespace

from wrong import refused

from faithlib import clone


def test_the_clone_is_found_from_any_folder_of_it(monkeypatch, tmp_path):
    root = clone.root()
    monkeypatch.setattr(clone, "__file__", str(tmp_path / "site-packages/faithlib/clone.py"))
    monkeypatch.chdir(root / "notebooks/saloss")
    assert clone.enter() == root and str(root) in sys.path


def test_another_package_of_that_name_is_told(monkeypatch, tmp_path):
    other = SimpleNamespace(__file__=str(tmp_path / "notebooks/__init__.py"))
    monkeypatch.setitem(sys.modules, "notebooks", other)
    refused("has the name of the project's package notebooks: start again", clone.enter)


def test_without_a_clone_one_line_says_what_needs_it(monkeypatch, tmp_path):
    monkeypatch.setattr(clone, "__file__", str(tmp_path / "site-packages/faithlib/clone.py"))
    monkeypatch.chdir(tmp_path)
    assert clone.root() is None
    refused("this needs a clone of the project, as pip installs faithlib without the papers", clone.enter)
