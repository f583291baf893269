"""Tables on pages and in notebooks have at most eight columns: they fit a page of 1280 pixels."""

import json
import re

import pytest
from docs.page import ROOT

MOST = 8
FOUND = ["README.md", "docs/*.md", "benchmarks/*.md", "notebooks/*/*.md", "notebooks/**/*.ipynb"]
PAGES = sorted({path.relative_to(ROOT).as_posix() for some in FOUND for path in ROOT.glob(some)})
ROW, CELL = re.compile(r"<tr.*?</tr>", re.DOTALL), re.compile(r"<t[dh][ >]")
NUMBER = re.compile(r"<th[^>]*>\s*\d*\s*</th>")  # of a row, and what is above it
NO_ROW = re.compile(r"\\\||```.*?```", re.DOTALL)


def texts(path):
    """What a page or a notebook shows, [str]: prose, and outputs in HTML and Markdown."""
    if path.suffix == ".md":
        return [path.read_text(encoding="utf-8")]
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    prose = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
    of_outputs = [data[kind] for data in outputs for kind in ("text/html", "text/markdown") if kind in data]
    return ["".join(text) for text in (*prose, *of_outputs)]


def widths(text):
    """The number of columns of each row of a table; the numbers of rows are no column."""
    yield from (len(CELL.findall(row)) for row in ROW.findall(NUMBER.sub("", text)))
    lines = NO_ROW.sub("", text).splitlines()
    yield from (line.count("|") - 1 for line in lines if line.startswith("|"))


@pytest.mark.parametrize("page", PAGES)
def test_a_table_has_at_most_eight_columns(page):
    assert max((width for text in texts(ROOT / page) for width in widths(text)), default=0) <= MOST


def test_rows_are_counted_without_their_numbers():
    assert list(widths("<tr><th>0</th><td>1</td><td>2</td></tr>\n| a | b \\| c |")) == [2, 2]
