"""The papers' tables as the papers print them, with ours beside each number, and how far both agree.

Layouts are data, and there is one drawer.

`notebooks/<paper>/published/layout.yaml` says of each table which columns of its CSV are rows and columns of
the page, and which column of our tables stands beside the published value:

    stands_for: {all-MiniLM-L6-v2: [roberta-base]}  # our model: the paper's models beside which it stands
    tables:
      table_6:
        title: Diagnosticity of each data set, attribution and metric
        headline: true                      # on the page; other tables are folded
        rows: [dataset, attribution]
        columns: [metric]
        pairs: attribution                  # what is compared with each other; for the share of ordered pairs
        digits: 3
        where: {method: fmm}                # of the published rows
        ours: {table: diagnosticity, value: value, where: {baseline: normal}, definitions: [paper, released]}

Of `ours`, `value` is a column or {column of the layout: {its value: our column}}; `times` converts to
the paper's unit; `names` maps {our column: the layout's}; a list in `where` is an order of preference;
`values` maps {column: {our entry: the paper's}}. A table of averages has `mean_of`, another table, and the
keys that are not averaged over. `average: {over: model, without: copied}` is the average over the entries
of `over` of which no cell has the flag `without`; it stands beside a printed one, or where the paper
prints none. `unlike` lists data sets of which ours is another metric.
"""

import warnings
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import DegenerateDataWarning, bootstrap, spearmanr

from faithlib.report.display import show_figure
from faithlib.report.io import CSV_FLOAT, save_figure
from faithlib.report.style import MOST, labelled
from faithlib.tasks.table import TASKS
from replication import WORDING, papers
from replication.claims import accepted
from replication.records import project_root, slug
from replication.tables import select

MARKS = WORDING["marks"]
DERIVED = ("printed", "agreement", "bridge")  # a report's tables about published numbers, made of the others
GREY = "#767676"
DEFINITION = "definition"
AVERAGE = "average"
LEAST = 5  # cells, and pairs of cells; fewer have no agreement
RESAMPLES = 999


@dataclass(frozen=True)
class Layout:
    """How a paper prints a table, and what of ours stands beside it; the fields are those of layout.yaml."""

    paper: str
    name: str
    title: str
    rows: list
    columns: list
    headline: bool = False
    digits: int = 2
    pairs: str = ""
    where: dict = field(default_factory=dict)
    ours: dict = field(default_factory=dict)
    mean_of: str = ""
    average: dict = field(default_factory=dict)
    unlike: list = field(default_factory=list)
    stands_for: dict = field(default_factory=dict)

    @property
    def keys(self):
        """The columns that tell the cells apart."""
        return [*self.rows, *self.columns]

    @property
    def number(self):
        """The table's place in the paper.

        >>> Layout("fmm", "table_11", "", [], []).number
        'Table 11'
        """
        return self.name.replace("table_", "Table ")


def layouts(paper):
    """The layouts of a paper's tables, by name; {} of what has none, such as a study of our own."""
    content = papers.layout(paper, "published/layout.yaml") or {"tables": {}}
    models = content.get("stands_for", {})
    return {name: Layout(paper, name, stands_for=models, **of) for name, of in content["tables"].items()}


def published(layout):
    """The published cells of a layout, each once: its keys, printed, text and published.

    A cell that is printed twice with different numbers has both in `text`, "0.42 / 0.44", and the first as
    `printed`. `published` is as printed, or of an average over what ours is over. A CSV that lacks a column
    of the layout is a ValueError.
    """
    table = papers.published(layout.paper, layout.name)
    lacking = [column for column in [*layout.keys, *layout.where, "value"] if column not in table]
    if lacking:
        what = f"{layout.paper}/published/{layout.name}.csv has no column {lacking[0]!r}"
        raise ValueError(f"{what}, only {', '.join(table)}: name its columns in layout.yaml")

    def text(numbers):
        return " / ".join(f"{number:.{layout.digits}f}" for number in numbers.unique())

    parts = select(table, **layout.where).groupby(layout.keys, sort=False)
    table = parts.value.agg(printed="first", text=text)
    if not layout.average:
        return table.assign(published=table.printed).reset_index()
    return _with_averages(layout, table.assign(flag=parts[layout.average["without"]].any()).reset_index())


def ours(layout, folder=None):
    """Our cells of a layout that has `ours`: its keys that we have, definition, own_model, ours and accepted.

    Args:
        folder: results/<scale>/<paper>/tables; by default the committed one of the small scale.

    Returns:
        A row a cell and definition, "" where the layout names none; accepted: whether the model passed the
        gate of its data set. Empty where the scale has no such table.
    """
    folder = folder or tables_of(layout.paper)
    spec, path = layout.ours, folder / f"{layout.ours['table']}.csv"
    if not path.is_file():
        return pd.DataFrame(columns=[*layout.keys, DEFINITION, "own_model", "ours", "accepted"])
    table = pd.read_csv(path).rename(columns=spec.get("names", {}))
    for column, wanted in spec.get("where", {}).items():
        preferred = wanted if isinstance(wanted, list) else [wanted]
        table = pd.concat([select(table, **{column: value}) for value in preferred])
    table = table.replace(spec.get("values", {}))
    definitions = spec.get("definitions", [""])
    table[DEFINITION] = table[DEFINITION] if definitions != [""] else ""
    table = table[table[DEFINITION].isin(definitions)]
    if "model" not in table:
        table["model"] = next(iter(layout.stands_for))
    gates = folder / "gates.csv"
    passed = accepted(table, pd.read_csv(gates)) if gates.is_file() else table
    table["accepted"] = table.index.isin(passed.index)
    value = spec["value"]
    if isinstance(value, dict):
        ((column, of),) = value.items()
        table = pd.concat([table.assign(**{column: name, "ours": table[c]}) for name, c in of.items()])
    else:
        table = table.assign(ours=table[value])
    table["own_model"] = table.model.map(slug)
    table["model"] = table.own_model.map(lambda name: layout.stands_for.get(name, [name]))
    table = table.explode("model")  # where a layout has no models, one of equal rows is kept below
    table["ours"] *= spec.get("times", 1)
    keys = [*(key for key in layout.keys if key in table), DEFINITION]
    return table.drop_duplicates(keys)[[*keys, "own_model", "ours", "accepted"]].dropna(subset="ours")


def cells(layout, folder=None):
    """A paper's table, long: each published cell with ours beside it; arguments as of `ours`.

    Returns:
        A row a cell and definition of ours: the layout's keys, definition, printed (as the paper has it),
        text (the same as a text), published (an average over what ours is over, else as printed), ours (NaN
        without one), own_model, accepted and mark, one of MARKS or "".
    """
    if layout.mean_of:
        return _averages(layout, folder)
    measured = ours(layout, folder)
    definitions = pd.DataFrame({DEFINITION: layout.ours.get("definitions", [""])})
    table = published(layout).merge(definitions, "cross").merge(measured, "left")  # by the keys that ours has
    table["accepted"] = table.accepted.astype("boolean").fillna(True).astype(bool)
    if "dataset" in table:
        table.loc[table.dataset.isin(layout.unlike), "published"] = np.nan
    table["mark"] = [_mark(row, measured, layout.unlike) for row in table.to_dict("records")]
    return table


def page(layout, folder=None):
    """A table as the paper prints it, as HTML: published grey, ours below it; "" without any of ours."""
    table = cells(layout, folder)
    if table.ours.isna().all():
        return ""
    definitions = list(dict.fromkeys(table[DEFINITION]))
    texts = {key: _cell(layout, part) for key, part in table.groupby(layout.keys, sort=False)}
    columns = list(dict.fromkeys(key[len(layout.rows) :] for key in texts))
    rows = list(dict.fromkeys(key[: len(layout.rows)] for key in texts))
    bodies = []
    for some in _parts(columns, MOST - len(layout.rows)):
        heads = [*layout.rows, *(", ".join(map(str, names)) for names in some)]
        head = "".join(f"<th>{_words(name)}</th>" for name in heads)
        body = ""
        for row in rows:
            values = "".join(f"<td>{texts.get(row + column, '')}</td>" for column in some)
            body += f"<tr>{''.join(f'<th>{_words(name)}</th>' for name in row)}{values}</tr>\n"
        bodies.append(f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>")
    scale = (folder or tables_of(layout.paper)).parents[1].name
    models = ", ".join(dict.fromkeys(_words(name) for name in table.own_model.dropna()))
    ways = "" if definitions == [""] else f", by the definition of: {', then '.join(definitions)}"
    used = "; ".join(f"{mark} {MARKS[mark]}" for mark in MARKS if mark in set(table.mark))
    note = f"Grey: published. Below it ours: {models}, {scale} scale{ways}." + f" {used}." * bool(used)
    caption = f"<table><caption>{layout.number}. {escape(layout.title)}. {note}</caption>\n"
    return caption + "\n<table>".join(bodies)


def _parts(columns, most):
    """The columns in parts of at most `most`, those with one first name together.

    >>> _parts([("bert", "ns"), ("bert", "nc"), ("gpt", "ns"), ("gpt", "nc")], 3)
    [[('bert', 'ns'), ('bert', 'nc')], [('gpt', 'ns'), ('gpt', 'nc')]]
    """
    together = [list(part) for _, part in groupby(columns, key=lambda column: column[0])]
    least, size = -(-len(columns) // most), max(map(len, together))
    names = max(1, min(most // size, -(-len(columns) // (least * size))))
    names = names if least > 1 else len(together)
    return [sum(together[i : i + names], []) for i in range(0, len(together), names)]


def tables_of(paper):
    """The folder of a paper's committed tables, those of the small scale."""
    return project_root() / "results" / "small" / paper / "tables"


def show(paper: str, folder: Path | None = None) -> None:
    """Show a paper's tables in a notebook, the headline ones open, and keep all cells as printed.csv.

    folder: as of `ours`; it takes the CSV, a row a cell, whose column `table` names its table.
    """
    from IPython.display import HTML, display

    tables = []
    for layout in layouts(paper).values():
        if text := page(layout, folder):
            summary = f"<summary>{layout.number}. {escape(layout.title)}</summary>"
            display(HTML(text if layout.headline else f"<details>{summary}{text}</details>"))
        tables.append(cells(layout, folder).assign(table=layout.name))
    path = (folder or tables_of(paper)) / "printed.csv"
    pd.concat(tables).to_csv(path, index=False, float_format=CSV_FLOAT, lineterminator="\n")


def show_first(pages: dict, captions: dict[str, str], count: int = 1) -> None:
    """Show the first of several figures in a notebook and link the others, which are saved beside it.

    Args:
        pages: {stem of the file: figure}.
        captions: as of `faithlib.report.display.show_figure`.
        count: how many are shown.
    """
    import matplotlib.pyplot as plt
    from IPython.display import Markdown, display

    figures = list(pages.items())
    for stem, figure in figures[:count]:
        show_figure(figure, stem, captions)
    for stem, figure in figures[count:]:
        save_figure(figure, stem)
        plt.close(figure)
    if links := [f"[{stem.name}](../../{'/'.join(stem.parts[-4:])}.png)" for stem, _ in figures[count:]]:
        display(Markdown(f"Figures: {', '.join(links)}."))


def _with_averages(layout, table):
    """The published cells with an average in each group, printed or added, over its unflagged entries."""
    over = layout.average["over"]
    others = [key for key in layout.keys if key != over]
    if AVERAGE not in set(table[over]):
        added = table[others].drop_duplicates().assign(**{over: AVERAGE}, printed=np.nan, text="", flag=False)
        table = pd.concat([table, added], ignore_index=True)
    flagged = table.groupby(["dataset", over]).flag.transform("any")
    entries = table[(table[over] != AVERAGE) & ~flagged]
    # Not the mean of groups, which sums in another way: the last digit of a CSV would move.
    means = entries.groupby(others).printed.agg(lambda cells: cells.mean()).rename("mean")
    has_copies = table.groupby("dataset").flag.transform("any")
    made_anew = (table[over] == AVERAGE) & (has_copies | table.printed.isna())
    values = table.printed.mask(made_anew, table.merge(means, "left", others)["mean"])
    return table.drop(columns="flag").assign(published=values)


def _averages(layout, folder):
    """The cells of a table of averages: ours and the published over the same accepted cells."""
    base = cells(layouts(layout.paper)[layout.mean_of], folder)
    run = base[base.ours.notna()]
    both, rows = run[run.accepted], []
    failed = set(base.dataset[~base.accepted])
    for row in published(layout).drop(columns="published").to_dict("records"):
        names = {key: row[key] for key in layout.keys if row[key] != AVERAGE}
        for definition in base[DEFINITION].unique():
            same = select(both, **names, **{DEFINITION: definition})
            cell = {DEFINITION: definition, "ours": same.ours.mean(), "published": same.published.mean()}
            cell |= {"accepted": True, "own_model": next(iter(same.own_model), np.nan)}
            refused = same.empty and row.get("dataset") in failed
            rows.append(row | cell | {"mark": "†" if refused else _mark(row | cell, run)})
    return pd.DataFrame(rows)


def _mark(row, measured, unlike=()):
    """Why a cell is empty, or why it is not to be read, as one of MARKS; "" where nothing is to be said."""
    dataset, model = row.get("dataset"), row.get("model")
    if not np.isnan(row["ours"]):
        return "†" if not row["accepted"] else "≠" if dataset in unlike else ""
    if dataset in TASKS and TASKS[dataset].credentialed:
        return "§"
    if model is not None and model not in set(measured.model):
        return "□"
    run = measured if model is None else measured[measured.model == model]
    return "○" if dataset is not None and dataset not in set(run.dataset) else "×"


def _cell(layout, part):
    """One cell of the page: the published number, and below it one of ours for each definition."""
    first = part.iloc[0]
    lines = [f'<span style="color:{GREY}">{escape(first.text)}</span>']
    if abs(first.published - first.printed) > 0.5 * 10**-layout.digits:
        lines[0] += f' <i style="color:{GREY}">({first.published:.{layout.digits}f} over the same)</i>'
    for row in part.itertuples():
        if np.isnan(row.ours):
            lines.append(row.mark)
        elif not row.mark:
            lines.append(f"<b>{row.ours:.{layout.digits}f}</b>")
        else:
            lines.append(f'<span style="color:{GREY}">{row.ours:.{layout.digits}f}{row.mark}</span>')
    return "<br>".join(dict.fromkeys(lines) if part.ours.isna().all() else lines)


def _words(name):
    """A name of a table in words, as HTML."""
    return escape(labelled(str(name)).replace("_", " "))


# Agreement ----------------------------------------------------------------------------------------


def agreement(paper: str, folder: Path | None = None) -> pd.DataFrame:
    """Spearman's correlation, share of ordered pairs and ratio of levels of each table of a paper.

    Cells of models at chance and of another metric take no part. The interval is a percentile bootstrap over
    cells, which are not independent: cells of a data set share their model. Arguments as of `ours`.

    Returns:
        A row a table and definition: cells that count, of all that the paper prints, at_chance; spearman;
        pairs, the share of published pairs that differ in the layout's `pairs` only and come out the same way
        (ties one half); level, mean of ours / mean of published; each with _low and _high.
    """
    rows = []
    for layout in layouts(paper).values():
        others = [key for key in layout.keys if key != layout.pairs]  # all keys where nothing is compared
        for definition, part in cells(layout, folder).groupby(DEFINITION, sort=False):
            counted = part[part.ours.notna() & part.published.notna() & (part.mark == "")]
            row = {"paper": paper, "table": layout.number, "definition": definition, "cells": len(counted)}
            row |= {"of": int(part.printed.notna().sum()), "at_chance": int((part.mark == "†").sum())}
            group = counted.groupby(others, sort=False).ngroup() if others else np.zeros(len(counted))
            values = counted.published.to_numpy(float), counted.ours.to_numpy(float), np.asarray(group)
            for name, statistic in STATISTICS.items():
                row[name], row[f"{name}_low"], row[f"{name}_high"] = _with_interval(statistic, values)
            rows.append(row)
    return pd.DataFrame(rows)


def same_order(published, ours, group):
    """The share of pairs of a group whose order is the same, of those that differ in the published value.

    All are (cells,) arrays. Pairs equal in ours count one half; NaN of fewer than LEAST pairs.

    >>> same_order(np.array([1, 2, 3, 4]), np.array([1, 2, 4, 3]), np.zeros(4)).round(3)
    np.float64(0.833)
    """
    first, second = np.triu_indices(len(published), 1)
    pairs = (group[first] == group[second]) & (published[first] != published[second])
    first, second = first[pairs], second[pairs]
    same = np.sign(published[first] - published[second]) * np.sign(ours[first] - ours[second])
    return ((same + 1) / 2).mean() if len(same) >= LEAST else np.nan


def _with_interval(statistic, values):
    """(value, low, high); NaN where there is none."""
    settings = {"paired": True, "vectorized": False, "method": "percentile", "n_resamples": RESAMPLES}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)  # cells, or a resample, that are all equal
        value = statistic(*values) if len(values[0]) >= LEAST else np.nan
        if np.isnan(value):
            return np.nan, np.nan, np.nan
        resampled = bootstrap(values, statistic, **settings, rng=0).bootstrap_distribution
    return value, *np.nanquantile(resampled, [0.025, 0.975])


STATISTICS = {
    "spearman": lambda published, ours, group: spearmanr(published, ours).statistic,
    "pairs": same_order,
    "level": lambda published, ours, group: ours.mean() / p if (p := published.mean()) > 0 else np.nan,
}
