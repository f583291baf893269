"""The table of sources is whole, loads nothing large, and has what the scales of its models read."""

import subprocess
import sys

import fetch
import grid
import packages
import pytest
from sources import SOURCES, origin
from toy import ROOT

MPNET, GEMMA = SOURCES["sentence-transformers/all-mpnet-base-v2"], SOURCES["google/gemma-3-270m"]


def test_the_table_is_whole_and_loads_nothing_large():
    for name, row in SOURCES.items():
        assert name == row.name and row.kind in packages.FOLDERS
        assert row.licence and row.terms.startswith("https://")
        assert all("==" in package for package in row.wheels)
        assert all(address.startswith("https://") for address in row.links) and row.parts
        digests = [*filter(None, row.parts.values()), *(step.sha256 for step in row.steps if step.sha256)]
        assert all(len(digest) == 64 and int(digest, 16) for digest in digests)
        assert {step.work for step in row.steps} <= set(packages.STEPS)
    assert len(MPNET.wheels) == 5 and len(GEMMA.wheels) == 4 and GEMMA.consent == "gemma"
    code = "import sources, sys; sys.exit('torch' in sys.modules or 'pandas' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT / "workflow", check=True)


def test_an_origin_says_what_was_done_in_words():
    assert origin(MPNET)["done"] == "join, unzip, round to bfloat16"
    assert origin(MPNET, hub=True)["done"] == "round to bfloat16" and "done" not in origin(GEMMA, hub=True)
    assert all(isinstance(text, str) and text for text in origin(SOURCES["glove.6B.50d.txt"]).values())


@pytest.mark.parametrize("scale", ["base", "base-gpu"])
def test_packages_carry_all_that_the_base_scales_read(scale, monkeypatch):
    monkeypatch.chdir(ROOT)
    _, models, vectors = fetch.needs(grid.read_all({"scale": scale})[1])
    assert models and {*models, *vectors} <= set(SOURCES)
