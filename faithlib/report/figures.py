"""What the figures of all papers share: panels, curves, points with intervals, heat maps, legends.

A figure is drawn from a table: one panel for each data set and model, with a title in words, axes that are
shared wherever panels are compared, and one legend. A filled mark is ours, a hollow one is published. `axis`
is where to draw, `look` keywords as of `style.line` or `style.role`.
"""

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from faithlib.report.style import dataset_title, label, line, model_title, note_scale

WIDTH = 6.8  # inches: the width of a page's text
GREY = "#777777"
POINTS, CHARACTER = 72, 4.9  # points an inch; points that a character of a title is wide
INTERVAL = ("low", "high")
OUTLINE = {"markerfacecolor": "none", "markeredgewidth": 0.9}  # of a hollow mark
HOLLOW = {"label": "published", "color": "#555555", "marker": "o", "linestyle": "", "hollow": True}


def title(dataset, model="", *more) -> str:
    """A panel's title in words, of a data set and a model ("" for none), and more words.

    Example:
        >>> title("babi_1", "bilstm"), title("cb", "", "macro-F1")
        ('bAbI-1, BiLSTM', 'CommitmentBank: macro-F1')
    """
    names = ", ".join(name for name in (dataset_title(dataset), model and model_title(model)) if name)
    return ": ".join([names, *filter(None, more)])


def published_label(*models):
    """What a legend says of hollow marks: "published", with the models they are from.

    Example:
        >>> published_label("roberta-base")
        'published (RoBERTa-base)'
    """
    names = list(dict.fromkeys(model_title(model) for model in models if model))
    return f"published ({', '.join(names)})" if names else "published"


@dataclass
class Panels:
    """A figure and its panels in reading order: iterate for (axis, rows of the table)."""

    figure: object
    cells: list
    across: int

    def __iter__(self):
        return iter(self.cells)

    @property
    def axes(self):
        """The panels' axes."""
        return [axis for axis, _ in self.cells]

    def name_axes(self, x="", y=""):
        """Label the lowest panel of each column and the first of each row, where y may be a list."""
        last = len(self.cells) - self.across
        for i, axis in enumerate(self.axes):
            if i >= last:
                axis.set_xlabel(x)
                axis.tick_params(labelbottom=True)
            if i % self.across == 0:
                axis.set_ylabel(y if isinstance(y, str) else y[i // self.across])

    def include(self, *values, which="x", span=None):
        """Make every panel show some values; for when all of them are drawn."""
        for axis in self.axes:
            include(axis, *values, which=which, span=span)

    def finish(self, handles=None, scale="", columns=None):
        """The figure, with the legend below the panels and the note of the scale.

        Args:
            handles: looks or artists; by default what the axes label.
            scale: "quick" writes on the figure that it is a smoke run.
            columns: of the legend; by default as many as fit.
        """
        add_legend(self.figure, _of_axes(self.axes) if handles is None else handles, columns)
        note_scale(self.figure, scale)
        return self.figure


def panels(
    table: pd.DataFrame,
    by: Sequence[str] = ("dataset", "model"),
    across: int = 3,
    height: float | Sequence[float] = 1.6,
    columns: tuple[str, dict] | None = None,
    names: Callable[..., str] = title,
    left: float = 0.6,
    sharex: bool | str = True,
    sharey: bool | str = True,
) -> Panels:
    """Axes in a grid, one for each group of a table: `Panels`; of an empty table one, which says so.

    Args:
        table: DataFrame with the columns of `by`; groups stand in the order of its rows.
        by: columns that make a group.
        across: panels in a row, at most.
        height: of one panel, in inches; or of each row of panels.
        columns: (column, {value: words}) for a row for each group and in it a panel for each value. A panel
            without rows says so.
        names: (*group) -> its title in words; by default `by` is data set, model and further words.
        left: inches that the labels of the vertical axis take, for the width of titles.
        sharex, sharey: as `matplotlib.pyplot.subplots` takes them.
    """
    import matplotlib.pyplot as plt

    groups = [(names(*key), part) for key, part in table.groupby(list(by), sort=False)]
    if columns:
        column, values = columns
        across = len(values)
        groups = [
            (f"{name}: {words}" if words else name, part[part[column] == value])
            for name, part in groups
            for value, words in values.items()
        ]
    groups = groups or [("", table)]
    across = min(across, len(groups)) or 1
    heights = np.broadcast_to(height, -(-len(groups) // across))
    width = WIDTH if across > 1 or left > 1 else 4.4
    titles = [_wrapped(name, (width - left) / across) for name, _ in groups]
    heights = heights + 0.12 * max(text.count("\n") for text in titles)
    size, of = (width, 0.7 + heights.sum()), {"height_ratios": heights}
    shared = {"sharex": sharex, "sharey": sharey}
    figure, axes = plt.subplots(len(heights), across, squeeze=False, **shared, figsize=size, gridspec_kw=of)
    for axis in axes.flat[len(groups) :]:
        axis.set_visible(False)
    cells = []
    for axis, text, (_, part) in zip(axes.flat, titles, groups, strict=False):
        axis.set_title(text)
        if part.empty:
            axis.text(0.5, 0.5, "no records", ha="center", color=GREY, transform=axis.transAxes)
        cells.append((axis, part))
    return Panels(figure, cells, across)


def lines(
    axis: Any, table: pd.DataFrame, x: str, y: str, look: dict, interval: tuple[str, str] | None = INTERVAL
) -> None:
    """A curve with marks of columns x and y, and a band where intervals are known.

    `interval` is what stands behind y's name in the columns of its interval; None draws no band.
    """
    import seaborn as sns

    table = table.sort_values(x)
    sns.lineplot(table, x=x, y=y, ax=axis, estimator=None, legend=False, markersize=4, **(look | _edge(look)))
    axis.set(xlabel="", ylabel="")
    if interval:
        low, high = (table[column] for column in _interval(table, y, interval))
        axis.fill_between(table[x], low, high, color=look["color"], alpha=0.15, linewidth=0)


def curves(
    table: pd.DataFrame, x: str, y: str, curve: str, looks: dict[str, dict], words: str,
    columns: tuple[str, dict] = ("", {"": ""}), labels: tuple[str, str] = ("", ""),
) -> Any:  # fmt: skip
    """The curves of one unit, which end between 0 and 1: a figure, with a legend.

    Args:
        table: DataFrame, a row a point.
        x, y, curve: its columns; a value of `curve` is a line.
        looks: {value of `curve`: its look}.
        words: the title.
        columns: (column, {value: words}) for a panel for each value.
        labels: of the axes.
    """
    grid = panels(table.assign(**{"": ""}), [""], names=lambda _: words, columns=columns)
    for axis, part in grid:
        for name, look in looks.items():
            lines(axis, part[(part[curve] == name) & part[y].notna()], x, y, look, None)
    grid.include(0, 1.03, which="y")
    grid.name_axes(*labels)
    return grid.finish(looks.values())


def points(axis, table, value, heights, look, interval=INTERVAL, limits=None, size=4.5):
    """Values as marks at given heights, with their intervals.

    Args:
        table: DataFrame, a row a mark.
        value: the column that is drawn.
        heights: (rows,) where on the vertical axis.
        look: with hollow=True only the outline is drawn.
        interval: (low, high), what stands behind the value's name in the columns of its interval, or whole
            names of columns; None draws none.
        limits: (low, high) of the axis: a value outside is drawn at its edge, with the number beside it, and
            an interval that reaches outside ends there in an arrow.
        size: of the marks, in points.
    """
    at, heights = table[value].to_numpy(float), np.asarray(heights, float)
    low, high = limits or (-np.inf, np.inf)
    bars, cut = np.zeros((2, len(at))), [[], []]
    if interval:
        bounds = np.array([table[column].to_numpy(float) for column in _interval(table, value, interval)])
        cut = np.array([bounds[0] < low, bounds[1] > high])
        bounds = np.clip(bounds, low, high)
        bars = np.clip(np.nan_to_num([at - bounds[0], bounds[1] - at]), 0, None)
    within = (at >= low) & (at <= high)
    hollow = OUTLINE if look.get("hollow") else {}
    style = {"color": look["color"], "marker": look["marker"], "linestyle": "", "markersize": size}
    if interval:
        bars = bars[:, within]
        axis.errorbar(at[within], heights[within], xerr=bars, elinewidth=1, **style, **hollow)
        for edge, arrow, beyond in zip((low, high), "<>", cut, strict=True):
            for y in heights[within & beyond]:
                axis.plot([edge], [y], **(style | {"marker": arrow, "markersize": 3}))
    else:
        axis.plot(at[within], heights[within], **style, **hollow)
    for x, y in zip(at[~within], heights[~within], strict=True):
        if np.isnan(x):
            continue
        edge, sign = (high, -1) if x > high else (low, 1)
        arrow = r"$\leftarrow$" if sign > 0 else r"$\rightarrow$"
        axis.plot([edge], [y], **(style | {"marker": arrow}), **hollow, clip_on=False)
        text = {"ha": "left" if sign > 0 else "right", "va": "center", "fontsize": 6, "color": look["color"]}
        number = f"{x:.{1 if abs(x) >= 10 else 2}f}".replace("-", "−")
        axis.annotate(number, (edge, y), xytext=(5 * sign, 0), textcoords="offset points", **text)
    if limits:
        margin = 0.03 * (high - low)
        axis.set_xlim(low - margin, high + margin)


def heat(axis, values, marked=None, limits=(0, 1), colours="Blues"):
    """A heat map; returns the artist, for a colour bar.

    Args:
        values: DataFrame, a row and a column for each of the map.
        marked: DataFrame of the same shape, of text to write into the cells.
        limits: the values of the lightest and of the darkest colour.
        colours: a colour map of matplotlib.
    """
    import seaborn as sns

    texts = {"annot": marked, "fmt": "", "annot_kws": {"fontsize": 6}}
    every = {"xticklabels": True, "yticklabels": True, "linewidths": 0.5, "cbar": False}
    low, high = limits
    sns.heatmap(values, vmin=low, vmax=high, cmap=colours, ax=axis, **texts, **every)
    axis.set(xlabel="", ylabel="")
    axis.grid(False)
    axis.set_facecolor("#DDDDDD")  # of a cell without a value
    axis.tick_params(length=0, labelsize=7)
    axis.tick_params(axis="y", rotation=0)
    return axis.collections[0]


def name_rows(axis, names):
    """One row of the vertical axis for each name, the first on top."""
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.45, -0.55)


def attribution_rows(axis, attributions):
    """One row for each attribution, by its label."""
    name_rows(axis, [label(name) for name in attributions])


def place(values, names, shift=0):
    """The heights of marks with these names, moved by `shift`, in rows of `names`, the first on top.

    Example:
        >>> place(["lime", "attention"], ["attention", "lime"], 0.25).tolist()
        [1.25, 0.25]
    """
    names = list(names)
    return np.array([names.index(value) for value in values], float) + shift


def beside(i, n, space=0.75):
    """How far from the middle of its row the i-th of n marks stands, so that none hides another.

    Example:
        >>> [beside(i, 2, space=0.5) for i in range(2)]
        [-0.125, 0.125]
    """
    return space / n * (i - (n - 1) / 2)


def include(axis, *values, span=None, which="x"):
    """Widen an axis, "x" or "y", so that it shows some values and is not narrower than a span.

    All must be drawn, also in panels that share the axis: the limits are final.
    """
    low, high = getattr(axis, f"get_{which}lim")()
    low, high = min(low, *values, high), max(high, *values, low)
    if span and high - low < span:
        low, high = (low + high - span) / 2, (low + high + span) / 2
    getattr(axis, f"set_{which}lim")(low, high)


def guide(axis: Any, at: float, which: str = "x", look: dict | None = None, text: str = "") -> Any:
    """A thin line across a panel: zero, chance, or a reference."""
    style = {"color": GREY, "linewidth": 1, "linestyle": ":"} | (look or {})
    draw = axis.axvline if which == "x" else axis.axhline
    return draw(at, zorder=0.5, label=text or "_", **style)


def add_legend(figure: Any, handles: Iterable, columns: int | None = None) -> None:
    """A legend of artists or looks (also HOLLOW) below all panels, by default of as many columns as fit."""
    handles = [_handle(handle) if isinstance(handle, dict) else handle for handle in handles]
    if not handles:
        return
    longest = max(len(str(handle.get_label())) for handle in handles)
    fitting = max(1, int((figure.get_figwidth() - 0.2) * POINTS / (3.7 * longest + 34)))
    rows = -(-len(handles) // min(fitting, len(handles)))
    columns = columns or -(-len(handles) // rows)
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)


def mark(text: str, colour: str = GREY, marker: str = "", dashes: str = "") -> dict[str, Any]:
    """A look for the legend of what is neither an attribution nor a role."""
    return {"label": text, "color": colour, "marker": marker, "linestyle": dashes}


def attribution_looks(attributions):
    """The looks of attributions, as `line` has them."""
    return [line(name) for name in attributions]


def _handle(look):
    from matplotlib.lines import Line2D

    look = dict(look)
    hollow = OUTLINE if look.pop("hollow", False) else {}
    return Line2D([], [], markersize=4.5, **look, **hollow)


def _of_axes(axes):
    """What the axes have labels for, each once, in the order of their first panel."""
    entries = {}
    for axis in axes:
        handles, names = axis.get_legend_handles_labels()
        entries = dict(zip(names, handles, strict=True)) | entries
    return list(entries.values())


def _wrapped(text, inches):
    """A title in as few lines as its panel's width allows, of about the same length."""
    widest = max(12, int(inches * POINTS / CHARACTER))
    whole = {"break_long_words": False, "break_on_hyphens": False}
    tries = [textwrap.wrap(text, width, **whole) for width in range(widest, 11, -1)]
    return "\n".join([lines for lines in tries if len(lines) == len(tries[0])][-1])


def _interval(table, value, interval):
    return [name if name in table else f"{value}_{name}" for name in interval]


def _edge(look):
    """seaborn edges marks in white, which leaves little of a small one."""
    thin = look["marker"] in ("x", "+", "|")
    return {"markeredgewidth": 0.9 if thin else 0.4, "markeredgecolor": look["color"]}
