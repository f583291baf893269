"""One look for every table and figure: arrows, colours, labels. Nothing here draws or loads matplotlib."""

import re
import zlib
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.io.formats.style import Styler

from faithlib.attributions.registry import COLOURS, look, names
from faithlib.registry import read_rows
from faithlib.report.markdown import LONG
from faithlib.scores import RANDOM
from faithlib.tasks.table import TASKS

STYLE = Path(__file__).parent.parent / "faithlib.mplstyle"
MOST = 8  # columns of a table on a page
ARROWS = {"higher": ("↑", r"$\uparrow$"), "lower": ("↓", r"$\downarrow$")}  # html, LaTeX
_SAID = dict(read_rows(Path(__file__).with_name("style.toml")))
MODELS, METRICS, HEADS = (_SAID[name] for name in ("models", "metrics", "heads"))
ROLES, VERDICT_COLOURS = _SAID["roles"], _SAID["verdicts"]


def label(attribution):
    """An attribution's name as a figure or a table prints it."""
    return "random" if attribution == RANDOM else look(attribution).label


def line(attribution: str) -> dict[str, Any]:
    """Keywords for `Axes.plot`: label, colour, marker and line style of an attribution, as registered."""
    if attribution == RANDOM:
        return {"label": "random", "color": COLOURS["black"], "marker": "x", "linestyle": ":"}
    entry = look(attribution)
    return {"label": entry.label, "color": entry.colour, "marker": entry.marker, "linestyle": entry.line}


def role(name: str, text: str) -> dict[str, Any]:
    """Keywords for `Axes.plot`, with the label `text`, of a category of ROLES, which is no attribution."""
    if name not in ROLES:
        raise ValueError(f"role {name!r} is unknown: use one of {', '.join(ROLES)}")
    colour, marker, dashes = ROLES[name]
    return {"label": text, "color": colour, "marker": marker, "linestyle": dashes}


def dataset_title(name: str) -> str:
    """A data set's name in words: the first part of its title in the table of tasks.

    Example:
        >>> dataset_title("babi_1"), dataset_title("whereabouts_1"), dataset_title("all")
        ('bAbI-1', 'generated stories, one supporting fact', 'mean of the data sets')
    """
    if name == "all":
        return "mean of the data sets"
    if name not in TASKS:
        return name.replace("_", " ")
    text = TASKS[name].title
    return text if TASKS[name].generated else re.split(r", | \(", text)[0]


def model_title(name):
    """A model's name as figures print it.

    Example:
        >>> model_title("bilstm"), model_title("Qwen/Qwen2-0.5B")
        ('BiLSTM', 'Qwen2-0.5B')
    """
    short = name.rsplit("/", 1)[-1]
    return MODELS.get(short, short)


def metric_title(name: str) -> str:
    """A performance metric's name in words: "macro-F1"."""
    return METRICS.get(name, name.replace("_", " "))


def in_words(frame):
    """A table with the columns of WORDS, and its headers, in words, as figures print them.

    Example:
        >>> in_words(pd.DataFrame({"dataset": ["sst"], "attribution": ["leave_one_out"]})).values.tolist()
        [['Stanford Sentiment Treebank', 'leave-one-out']]
    """
    said = {c: frame[c].map(say, na_action="ignore") for c, say in WORDS.items() if c in list(frame)}
    heads = {head: labelled(head) for head in frame if isinstance(head, str)}
    unique = len({*heads.values()}) == len(heads)
    return frame.assign(**said).rename(columns=heads if unique else {})


def labelled(text):
    """A text with data sets, models, attributions and columns in words instead of ids.

    The word *attention* stays as it is within a text; alone it is the attribution.

    Example:
        >>> labelled("babi_1: gradient_l2 (bilstm)")
        'bAbI-1: gradient L2 (BiLSTM)'
    """

    def words(match):
        name = match[0]
        if name in TASKS:
            return dataset_title(name)
        if said := MODELS.get(name) or HEADS.get(name):
            return said
        return name if name == "attention" != text else _method(name)

    return re.sub(r"[\w-]+", words, text)


def _method(name):
    return label(name) if name == RANDOM or name in names() else name


WORDS = {  # columns of tables, and how a page says what they hold
    **dict.fromkeys(("dataset", "task"), dataset_title),
    **dict.fromkeys(("model", "published_model"), model_title),
    **dict.fromkeys(("attribution", "method", "measure"), _method),
    "metric": lambda name: METRICS.get(name, name),
}


def use_style() -> None:
    """Make matplotlib draw in faithlib's style (`faithlib.mplstyle`)."""
    import matplotlib.pyplot as plt

    plt.style.use(STYLE)


class Table(Styler):
    """A Styler that a notebook folds where it is long, without an address, which would differ each time."""

    folded = True

    def __repr__(self):
        return "<table>"

    def _repr_html_(self):
        if not len(self.index):
            return "<p>None.</p>"
        table = super()._repr_html_()
        if not self.folded or len(self.index) <= LONG:
            return table
        names = [str(name) for name in self.columns]
        about = self.caption or ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
        name = escape(f"Table of {len(self.index)} rows: {about}")
        return f"<details><summary>{name}</summary>{table}</details>"


def styled(
    frame: pd.DataFrame,
    better: dict | None = None,
    precision: int = 3,
    folded: bool = True,
    whole: bool = False,
) -> Styler:
    """The frame as a pandas Styler for a notebook: arrows in the headers, names in words, verdicts coloured.

    better: {column: "higher" or "lower"}, which direction of a column is better.
    folded: whether a table of more than `markdown.LONG` rows is folded behind its name.
    whole: whether a table of more than MOST columns has all of them; else it is made `narrow`.
    Raises ValueError for a column that the frame lacks and for another direction.
    """
    _check_better(frame, better or {})
    frame, caption = (frame, "") if whole else narrow(frame, precision)
    arrows = {column: f"{column} {ARROWS[way][0]}" for column, way in (better or {}).items()}
    style = coloured(in_words(frame.rename(columns=arrows)))
    style.folded = folded
    if caption:
        style = style.set_caption(escape(caption))
    style = style.format(precision=precision, na_rep="", escape="html")
    return style.format_index(escape="html", axis="columns")


def narrow(frame, precision=3):
    """(a frame of at most MOST columns, a sentence on what is not in it); the frame itself if it is so.

    Intervals go behind their values. Columns that are empty or say the same in all rows are left out, then
    those behind the first MOST.

    >>> wide = pd.DataFrame({"model": ["bert"] * 2, **{name: [1, 2] for name in "abcdefghi"}})
    >>> narrow(wide)[1]
    'The same in all rows: model bert. Not shown here: i.'
    """
    if frame.shape[1] <= MOST:
        return frame, ""
    for value, low in list(zip(frame, list(frame)[1:], strict=False)):
        high = f"{str(low).removesuffix('low')}high"
        if high in frame and high != f"{low}high" and pd.api.types.is_float_dtype(frame[value]):
            rows = frame[[value, low, high]].to_numpy(float)
            texts = [cell_text(*row, precision=precision) for row in rows]
            frame = frame.assign(**{value: texts}).drop(columns=[low, high])
    frame = frame.dropna(axis=1, how="all")
    words = in_words(frame).set_axis(frame.columns, axis=1)
    same = {c: words[c].iloc[0] for c in words if len(words) > 1 and words[c].nunique(dropna=False) == 1}
    rest = frame.drop(columns=list(same))
    facts = ", ".join(f"{name} {value}" for name, value in same.items() if str(value).strip())
    beyond = ", ".join(str(HEADS.get(name, name)) for name in rest.columns[MOST:])
    parts = [f"The same in all rows: {facts}."] * bool(facts) + [f"Not shown here: {beyond}."] * bool(beyond)
    return rest.iloc[:, :MOST], " ".join(parts).replace("_", " ")


def note_scale(figure, scale):
    """Say on the picture itself that it is a quick one: generated corpora and a tiny model."""
    if scale == "quick":
        look = {"fontsize": 7, "color": "#777777", "style": "italic", "x": 0.995, "ha": "right"}
        figure.suptitle("quick scale: generated corpora, tiny model", **look)


def coloured(frame):
    # Tables of one page need names of their own, or one table's colours reach into the other.
    style = Table(frame).hide(axis="index").set_uuid(f"{zlib.crc32(frame.to_csv().encode()):x}")
    style.cell_ids = False  # or every cell of a saved notebook carries an id
    if "verdict" in frame:
        style = style.map(_verdict_css, subset=["verdict"])
    return style


def _verdict_css(verdict):
    """The colour of what a verdict begins with; behind it is what it rests on."""
    colours = [colour for name, colour in VERDICT_COLOURS.items() if str(verdict).startswith(name)]
    return f"color: {colours[0]}" if colours else ""


def _check_better(frame, better):
    for column, way in better.items():
        if column not in frame:
            raise ValueError(f"no column {column!r}: the table has {', '.join(map(str, frame))}")
        if way not in ARROWS:
            raise ValueError(f"{way!r} is no direction of {column}: use one of {', '.join(ARROWS)}")


def cell_text(value, low=np.nan, high=np.nan, *, sd=np.nan, mark="", published="", precision=3, ends=None):
    """A value as a table prints it, "0.61* ± 0.02 [0.56, 0.69] (0.58)"; what is NaN or "" is left out.

    Args:
        value, low, high, sd: the value, the ends of its interval and its standard deviation.
        mark: text right behind the value, such as "*" for a significant one.
        published: the paper's value as text, which stands in brackets.
        precision, ends: digits after the point, of the value and of the ends of its interval (the same).

    Example:
        >>> cell_text(0.614, 0.56, 0.69, published="0.58", ends=2)
        '0.614 [0.56, 0.69] (0.58)'
    """
    text = "" if np.isnan(value) else f"{value:.{precision}f}{mark}"
    text += "" if np.isnan(sd) else f" ± {sd:.{precision}f}"
    ends = precision if ends is None else ends
    text += "" if np.isnan(low) else f" [{low:.{ends}f}, {high:.{ends}f}]"
    return text + (f" ({published})" if published else "")
