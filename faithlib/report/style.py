"""One look for every table and figure: arrows, colours, labels. Nothing here draws or loads matplotlib."""

import zlib
from pathlib import Path

from faithlib.attributions.registry import COLOURS, describe
from faithlib.scores import RANDOM

STYLE = Path(__file__).parent.parent / "faithlib.mplstyle"
ARROWS = {"higher": ("↑", r"$\uparrow$"), "lower": ("↓", r"$\downarrow$")}  # html, LaTeX
VERDICT_COLOURS = {"holds": "#009E73", "does not hold": "#D55E00", "inconclusive": "#777777"}


def label(attribution):
    """An attribution's name as a figure or a table prints it."""
    return "random" if attribution == RANDOM else describe(attribution).label


def line(attribution):
    """Keywords for `Axes.plot`: label, colour, marker and line style of an attribution, as registered."""
    if attribution == RANDOM:
        return {"label": "random", "color": COLOURS["black"], "marker": "x", "linestyle": ":"}
    entry = describe(attribution)
    return {"label": entry.label, "color": entry.colour, "marker": entry.marker, "linestyle": entry.line}


def use_style():
    """Make matplotlib draw in faithlib's style (`faithlib.mplstyle`)."""
    import matplotlib.pyplot as plt

    plt.style.use(STYLE)


def styled(frame, better=None, precision=3):
    """The frame as a pandas Styler for a notebook: arrows in the headers, verdicts coloured.

    better: {column: "higher" or "lower"}, which direction of a column is better.
    Raises ValueError for a column that the frame lacks and for another direction.
    """
    _check_better(frame, better or {})
    arrows = {column: f"{column} {ARROWS[way][0]}" for column, way in (better or {}).items()}
    style = coloured(frame.rename(columns=arrows))
    return style.format(precision=precision, na_rep="", escape="html")


def bracketed(frame, precision=3):
    """The frame with intervals behind their values: `x`, `x_low`, `x_high` as one text, "0.61 [0.56, 0.69]".

    `x_ci_low` and `x_ci_high` likewise. A value without an interval stands alone; a missing one is "".
    """
    frame = frame.copy()
    for low in [c for c in frame if c.endswith("_low")]:
        high, value = f"{low.removesuffix('_low')}_high", low.removesuffix("_low").removesuffix("_ci")
        rows = [
            ["" if x != x else f"{x:.{precision}f}" for x in row]
            for row in frame[[value, low, high]].to_numpy()
        ]
        frame[value] = [f"{v} [{of}, {to}]" if of else v for v, of, to in rows]
        frame = frame.drop(columns=[low, high])
    return frame


def note_scale(figure, scale):
    """Say on the picture itself that it is a quick one: generated corpora and a tiny model."""
    if scale == "quick":
        figure.suptitle(
            "quick scale: generated corpora, tiny model",
            fontsize=7,
            color="#777777",
            style="italic",
            x=0.995,
            ha="right",
        )


def coloured(frame):
    # Tables of one page need names of their own, or one table's colours reach into the other.
    name = zlib.crc32(frame.to_csv().encode())
    style = frame.style.hide(axis="index").set_uuid(f"{name:x}")
    style.cell_ids = False  # or every cell of a saved notebook carries an id
    if "verdict" in frame:
        css = {verdict: f"color: {colour}" for verdict, colour in VERDICT_COLOURS.items()}
        style = style.map(lambda verdict: css.get(verdict, ""), subset=["verdict"])
    return style


def _check_better(frame, better):
    for column, way in better.items():
        if column not in frame:
            raise ValueError(f"no column {column!r}: the table has {', '.join(map(str, frame))}")
        if way not in ARROWS:
            raise ValueError(f"{way!r} is no direction of {column}: use one of {', '.join(ARROWS)}")
