"""Figures of the lessons for slides: each figure that a notebook shows becomes an SVG with large type."""

import re
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import teaching_figures  # noqa: E402

CELL = """
import matplotlib.pyplot as plt
from faithlib.report import display
plt.rcParams["svg.fonttype"] = "none"
figure, axis = plt.subplots()
axis.set_xlabel("share of the tokens", fontsize=10)
display.show_drawn(figure, "A caption.")
"""


def test_every_figure_of_a_notebook_is_saved_with_larger_type(tmp_path):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL) for _ in range(2)])
    notebook = tmp_path / "03_a_lesson.ipynb"
    nbformat.write(book, notebook)
    before = notebook.read_bytes()
    paths = teaching_figures.export(notebook, tmp_path / "figures")
    assert [path.name for path in paths] == ["03_a_lesson_1.svg", "03_a_lesson_2.svg"]
    sizes = re.findall(r"([\d.]+)px[^>]*>share of the tokens<", paths[0].read_text())
    assert sizes and float(sizes[0]) == 10 * teaching_figures.LARGER
    assert notebook.read_bytes() == before
