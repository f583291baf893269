"""Generated pages: every fault has a test that exists, every pinned package a row, and pages are current."""

import ast

import pages
import pandas as pd
import pytest
from toy import ROOT

FAULTS = pd.read_csv(ROOT / pages.FAULTS, keep_default_na=False)


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def test_the_table_of_faults_has_its_rows():
    assert list(FAULTS) == ["fault", "outcome", "lost", "test", "commit"]
    assert len(FAULTS) == FAULTS.fault.nunique() == 24 and (FAULTS[["outcome", "lost"]] != "").all().all()
    assert FAULTS.outcome.str.match("survived|lost").all()


@pytest.mark.parametrize("test", FAULTS.test.unique())
def test_every_fault_has_a_test_that_exists(test):
    path, name = test.split("::")
    functions = [n.name for n in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))) if hasattr(n, "args")
                 and hasattr(n, "name")]  # fmt: skip
    assert name in functions


def test_the_page_of_faults_is_what_the_table_gives():
    assert (ROOT / "docs/faults.md").read_text("utf-8") == pages.faults()


def test_the_page_of_dependencies_has_every_pinned_package():
    rows = (ROOT / "docs/dependencies.md").read_text("utf-8").partition("| package | licence |\n")[2]
    listed = dict(row.strip("| ").split(" | ") for row in rows.splitlines()[1:])
    pinned = {line.split("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines()}
    assert set(listed) == pinned and all(listed.values())
    assert pages.head("dependencies") in (ROOT / "docs/dependencies.md").read_text("utf-8")


@pytest.mark.parametrize("name, expected", [("pandas", "BSD"), ("torch", "BSD-3-Clause"), ("pytest", "MIT")])
def test_a_licence_is_the_one_that_a_package_declares(name, expected):
    assert expected in pages.licence(name) and "\n" not in pages.licence(name)
