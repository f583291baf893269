"""Write the figures of the lessons as SVG with large type: python docs/teaching_figures.py [06 07 ...]

The notebooks are run in memory, as they stand in notebooks/tutorials; none is changed.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
LARGER = 1.8  # times the size of the type in the notebook
FIRST = """
from faithlib.report import display as _display
from matplotlib.text import Text as _Text

def _saved(figure, caption, show=_display.show_drawn, count=iter(range(1, 1000))):
    for text in figure.findobj(_Text):
        text.set_fontsize({larger} * text.get_fontsize())
    figure.set_size_inches(1.6 * figure.get_size_inches())
    figure.savefig(f"{stem}_{{next(count)}}.svg")
    show(figure, caption)

_display.show_drawn = _saved
"""


def export(notebook, folder):
    """Run a notebook and save each figure that it shows as <folder>/<lesson>_<n>.svg.

    Args:
        notebook: its path.
        folder: where the figures go; it is made.

    Returns:
        The paths of the figures, in their order.
    """
    folder.mkdir(parents=True, exist_ok=True)
    book = nbformat.read(notebook, as_version=4)
    stem = (folder / notebook.stem).as_posix()
    book.cells.insert(0, nbformat.v4.new_code_cell(FIRST.format(larger=LARGER, stem=stem)))
    NotebookClient(book, timeout=600, resources={"metadata": {"path": str(notebook.parent)}}).execute()
    return sorted(folder.glob(f"{notebook.stem}_*.svg"))


if __name__ == "__main__":
    wanted = sys.argv[1:] or [""]
    for path in sorted(ROOT.glob("notebooks/tutorials/[0-9]*.ipynb")):
        if path.stem.startswith(tuple(wanted)):
            for figure in export(path, ROOT / "build/course/figures"):
                print(figure.relative_to(ROOT))
