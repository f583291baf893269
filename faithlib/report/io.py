"""Tables and figures on disk: the same bytes for the same content."""

import io
import re
from pathlib import Path
from typing import Any

import pandas as pd

from faithlib.report.style import ARROWS, coloured, in_words, styled

CSV_FLOAT = "%.6g"  # numbers in CSV files
# What pdfLaTeX does not print as it is:
MATHS = {"α": r"\alpha", "χ": r"\chi", "∇": r"\nabla", "|": "|"}


def save_table(
    frame: pd.DataFrame, stem: Path | str, better: dict | None = None, printed: Any = None, precision: int = 3
) -> None:
    """Write <stem>.csv (6 digits, plain headers), <stem>.tex and <stem>.html; the folder is made.

    Args:
        better: {column: "higher" or "lower"}, as `styled` takes it; columns that are missing do not count.
        printed: the frame that LaTeX and HTML hold, if not the CSV's: a wide layout, say.
        precision: digits after the point in LaTeX and HTML.
    """
    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(f"{stem}.csv", index=False, float_format=CSV_FLOAT, lineterminator="\n")
    printed = frame if printed is None else printed
    better = {c: way for c, way in (better or {}).items() if c in printed}
    html = styled(printed, better, precision, whole=True).to_html(table_uuid=stem.name)
    Path(f"{stem}.html").write_text(html, encoding="utf-8")
    Path(f"{stem}.tex").write_text(_latex(printed, better, precision), encoding="utf-8")


def save_figure(figure, stem):
    """Write <stem>.pdf, <stem>.png and <stem>.svg, byte-identical for the same figure in `use_style`."""
    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(f"{stem}.pdf", metadata={"CreationDate": None})
    figure.savefig(f"{stem}.png", metadata={"Software": None})
    drawing = io.StringIO()
    figure.savefig(drawing, format="svg", metadata={"Date": None})
    Path(f"{stem}.svg").write_text(_numbered(drawing.getvalue()), encoding="utf-8", newline="\n")


def _numbered(svg):
    """An SVG whose clip paths have numbers for ids; matplotlib hashes the last bits of a layout."""
    ids = dict.fromkeys(re.findall(r'<clipPath id="(\w+)"', svg))
    numbers = {name: f"clip{number}" for number, name in enumerate(ids, 1)}
    return re.sub(r'(?<=[#"])p\w+(?=[")])', lambda match: numbers.get(match[0], match[0]), svg)


def _latex(frame, better, precision):
    headers = {c: f"{c} {ARROWS[better[c]][1]}" if c in better else str(c) for c in frame}
    style = coloured(in_words(frame.rename(columns=headers)))
    style = style.format(precision=precision, na_rep="", escape="latex")
    style = style.format_index(escape="latex-math", axis="columns")
    text = style.to_latex(hrules=True, convert_css=True)
    return text.translate({ord(sign): rf"\ensuremath{{{maths}}}" for sign, maths in MATHS.items()})
