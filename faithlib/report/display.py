"""What notebooks show: token heat maps as plain HTML that any viewer shows, figures with their captions.

IPython, which a terminal may lack, is imported by the functions that show.
"""

import html
import io
import os
import re
import sys
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from faithlib.report.io import save_figure
from faithlib.report.style import STYLE

COLOURS = 96  # of a picture in a notebook without a colour bar
DPI = 108  # a figure of 6.8 inches fills a page of 735 pixels
HIDE_WORDS = "FAITHLIB_HIDE_WORDS"  # set where texts may be explained and not copied
POSITIVE, NEGATIVE = (230, 130, 0), (0, 114, 178)  # Okabe-Ito orange and blue, told apart by everyone


def words(tokens: Sequence[str]) -> list[str]:
    """Words or tokens as a page may show them: their positions where $FAITHLIB_HIDE_WORDS is set.

    Example:
        >>> words(["a", "fine", "film"])
        ['a', 'fine', 'film']
    """
    tokens = list(tokens)
    return [str(i) for i in range(len(tokens))] if os.environ.get(HIDE_WORDS) else tokens


def heat(tokens: Sequence[str], rows: dict, notes: dict | None = None, largest: float | None = None) -> Any:
    """Heat maps of one text, a row for each attribution: HTML.

    rows: {name: scores (tokens,)}; orange speaks for the target, blue against it, and the strongest colour
    stands for `largest`, or for a row's own largest absolute score. notes: {name: text behind the row}.
    Raises ValueError where a row has another length than the tokens.
    """
    from IPython.display import HTML

    lines, tokens = [], words(tokens)
    for name, scores in rows.items():
        if len(scores) != len(tokens):
            raise ValueError(f"{name!r} has {len(scores)} scores for {len(tokens)} tokens: give one a token")
        strongest = largest or np.abs(scores).max() or 1
        spans = "".join(_span(t, s / strongest) for t, s in zip(tokens, scores, strict=True))
        note = f"<td style='text-align:left'>{html.escape(str((notes or {}).get(name, '')))}</td>"
        lines.append(
            f"<tr><td style='text-align:right'><b>{html.escape(name)}</b></td>"
            f"<td style='text-align:left;line-height:2'>{spans}</td>{note}</tr>"
        )
    return HTML("<table>" + "".join(lines) + "</table>")


def show_figure(figure: Any, stem: Path, captions: dict[str, str]) -> None:
    """Save a matplotlib figure as .pdf, .png and .svg, show it, and under it its caption; it is closed.

    Args:
        stem: where it is saved: a folder and the name of what it shows.
        captions: {name: caption}; the caption is that of the longest name that the stem's begins with;
            ValueError where there is none.
    """
    stems = [name for name in captions if stem.name.startswith(name)]
    if not stems:
        raise ValueError(f"figure {stem.name!r} has no caption: add one to CAPTIONS ({', '.join(captions)})")
    save_figure(figure, stem)
    show_drawn(figure, captions[max(stems, key=len)])


def show_drawn(figure: Any, caption: str) -> None:
    """Show a matplotlib figure, which is closed, and under it its caption, in Markdown.

    The caption's beginning is the picture's alternative text.
    """
    import matplotlib.pyplot as plt
    from IPython.display import Image, Markdown, display

    picture = _picture(figure)
    plt.close(figure)
    display(Image(picture, alt=beginning(caption)), Markdown(caption))


def beginning(caption):
    """What a caption says is drawn: its words in bold, or else its first sentence.

    Example:
        >>> beginning("**Does it fall?** The curve of *each* model.")
        'Does it fall?'
    """
    bold = re.match(r"\*\*(.+?)\*\*", caption, re.DOTALL)
    words = bold[1] if bold else re.split(r"(?<=[.?!])\s", caption, maxsplit=1)[0]
    return " ".join(re.sub(r"[*`]", "", words).split())


def in_notebook():
    """Whether this runs in a Jupyter kernel."""
    shell = "IPython" in sys.modules and sys.modules["IPython"].get_ipython()
    return bool(shell) and hasattr(shell, "kernel")


@contextmanager
def figure_style():
    """Inside, figures are in faithlib's style; afterwards the user's own style is as it was."""
    import matplotlib.pyplot as plt

    with plt.style.context(STYLE):
        yield


def _picture(figure):
    """A figure as PNG bytes of few colours, 256 if it has a colour bar: a notebook is to be small."""
    import PIL.Image

    full, small = io.BytesIO(), io.BytesIO()
    figure.savefig(full, format="png", dpi=DPI)
    with_bar = any(axis.get_label() == "<colorbar>" for axis in figure.axes)
    colours = (256, PIL.Image.Quantize.MAXCOVERAGE, 1) if with_bar else (COLOURS,)
    PIL.Image.open(full).convert("RGB").quantize(*colours).save(small, format="png", optimize=True)
    return small.getvalue()


def _span(token, strength):
    red, green, blue = POSITIVE if strength >= 0 else NEGATIVE
    return (
        f"<span style='background-color:rgba({red},{green},{blue},{abs(strength):.2f});padding:2px 3px;"
        f"margin:1px;border-radius:3px;display:inline-block'>{html.escape(token)}</span>"
    )
