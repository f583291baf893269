"""The figures of Chrysostomou & Aletras 2021, drawn from the tables of `notebooks.saloss.tables`.

A figure takes the table of its name, its scale ("quick" is noted on it) and a definition of the loss.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from faithlib.attributions.registry import names
from faithlib.report import figures as plots
from faithlib.report import label
from faithlib.report.style import line, role
from notebooks.saloss.tables import SALIENCES, select_definition
from replication.papers import layout, published
from replication.tables import in_order

LOOKS = {
    "none": role("usual", "no salience (baseline)"),
    "textrank": role("proposed", "TextRank (SaLoss)"),
    "tfidf": role("third", "TF-IDF"),
    "chi2": role("fourth", "χ²"),
    "uniform": role("reference", "uniform (control)"),
}
THRESHOLDERS = {"top_k": "top tokens", "contiguous": "one span"}
INTERVAL = ("ci_low", "ci_high")
TAGS = {  # the universal parts of speech (universaldependencies.org)
    "ADJ": "adjective", "ADP": "adposition", "ADV": "adverb", "AUX": "auxiliary", "DET": "determiner",
    "CCONJ": "coordinating conj.", "INTJ": "interjection", "NOUN": "noun", "NUM": "numeral",
    "PART": "particle", "PRON": "pronoun", "PROPN": "proper noun", "PUNCT": "punctuation",
    "SCONJ": "subordinating conj.", "SYM": "symbol", "VERB": "verb", "X": "other",
}  # fmt: skip
CAPTIONS = layout("saloss", "captions.yaml")


def decision_flip(table: pd.DataFrame, scale: str = "", definition: str = "paper") -> Figure:
    """Tables 2 and 8 as a figure: the fraction of tokens to a flip, a row for each attribution."""
    table = select_definition(table, definition)
    order = in_order(table.attribution.unique(), names())
    saliences = in_order(table.salience.unique(), SALIENCES)
    grid = plots.panels(table, left=1.6, height=0.4 + len(order) * (0.16 + 0.1 * len(saliences)))
    for axis, part in grid:
        for i, salience in enumerate(saliences):  # of a row, one below the other
            one, look = part[part.salience == salience], LOOKS[salience]
            rows = plots.place(one.attribution, order, plots.beside(i, len(saliences)))
            plots.points(axis, one, "fraction", rows, look, INTERVAL, size=3.5)
            plots.points(axis, one, "published", rows, look | {"hollow": True}, None, size=5.5)
        plots.attribution_rows(axis, order)
    grid.include(0)
    grid.name_axes("tokens removed\nuntil a flip (share) ↓")
    ours = [LOOKS[name] | {"linestyle": ""} for name in saliences]
    return grid.finish([*ours, *_published(table)], scale)


def fresh(table: pd.DataFrame, scale: str = "", definition: str = "paper") -> Figure:
    """Tables 3 and 7 as a figure: macro-F1 of classifiers trained on rationales, a row for each salience."""
    table = select_definition(table, definition).query("unit == 'word pieces'")
    table = table.assign(low=table.macro_f1 - table.sd.fillna(0), high=table.macro_f1 + table.sd.fillna(0))
    saliences = in_order(table.salience.unique(), SALIENCES)
    ways = {name: THRESHOLDERS.get(name, name) for name in dict.fromkeys(table.thresholder)}
    grid = plots.panels(table, left=1.5, height=0.35 + 0.3 * len(saliences), columns=("thresholder", ways))
    for axis, part in grid:
        for i, salience in enumerate(saliences):
            one, look = part[part.salience == salience], LOOKS[salience]
            plots.points(axis, one, "macro_f1", [i - 0.12] * len(one), look, ("low", "high"))
            plots.points(axis, one, "published", [i + 0.2] * len(one), look | {"hollow": True}, None)
            plots.guide(axis, one.full_text.mean(), look={"color": look["color"]})
        plots.name_rows(axis, [LOOKS[salience]["label"] for salience in saliences])
        axis.set_xlim(0, 1.02)  # a mark at 1 is whole
    grid.name_axes("macro-F1 ↑")
    whole = plots.mark("model on the whole text", dashes=":")
    ours = plots.mark("ours", "#555555", "o")
    return grid.finish([ours, *_published(table), whole], scale)


def doses(table: pd.DataFrame, scale: str = "", definition: str = "paper") -> Figure:
    """The fraction of tokens to a flip against λ: a panel a data set, a curve an attribution."""
    table = table[table.definition == definition]
    weights = sorted(table.weight.unique())
    table = table.assign(place=table.weight.map(weights.index))
    order = in_order(table.attribution.unique(), names())
    grid = plots.panels(table, height=1.9)
    for axis, part in grid:
        for name in order:
            plots.lines(axis, part[part.attribution == name], "place", "fraction", line(name))
        axis.set_xticks(range(len(weights)), [f"{np.log10(w):g}" if w else "none" for w in weights])
    grid.include(0, 1, which="y")
    grid.name_axes("log₁₀ λ, weight of the salience loss", "tokens to a flip (share) ↓")
    return grid.finish(plots.attribution_looks(order), scale)


def pos(table: pd.DataFrame, scale: str = "") -> Figure:
    """Figure 1: mean importance of parts of speech by scaled attention, without and with TextRank."""
    table = select_definition(table, "paper")
    saliences = ["none", "textrank"]
    table = table[(table.attribution == "scaled_attention") & table.salience.isin(saliences)]
    tags = table.tag.nunique()
    grid = plots.panels(table, height=0.4 + 0.17 * tags, across=2, left=1.4, sharey=False)
    for axis, part in grid:
        wide = part.pivot(index="tag", columns="salience", values="importance").reindex(columns=saliences)
        wide = wide.sort_values("none", ascending=False)
        plots.guide(axis, 1)
        axis.hlines(range(len(wide)), wide.min(axis=1), wide.max(axis=1), color="#BBBBBB", linewidth=1)
        for name in saliences:
            plots.points(axis, wide, name, range(len(wide)), LOOKS[name], None)
        plots.name_rows(axis, [TAGS.get(tag, tag) for tag in wide.index])
    grid.include(0)
    grid.name_axes(f"importance by {label('scaled_attention')}\n(1 = average word)")
    return grid.finish([LOOKS[name] | {"linestyle": ""} for name in saliences], scale)


def _published(table):
    """The legend of hollow marks, with the paper's models of the data sets that are shown."""
    if not table.published.notna().any():
        return []
    models = published("saloss", "table_6").set_index("dataset").model
    return [plots.HOLLOW | {"label": plots.published_label(*models.reindex(table.dataset.unique()).dropna())}]
