"""A study shown, compared and saved: its table, its figures, heat maps of texts, agreement of its metrics.

All functions take a `Study`, or whatever has its attributes.
"""

import hashlib
import html
import json
import os
import platform
import shutil
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from faithlib import store
from faithlib.metrics import registry
from faithlib.models.base import Encoding
from faithlib.provenance import code_provenance
from faithlib.report import agreement as rank_agreement
from faithlib.report import figures
from faithlib.report.agreement import agreement
from faithlib.report.display import figure_style, heat, in_notebook, show_drawn
from faithlib.report.io import save_figure, save_table
from faithlib.report.style import ARROWS, cell_text, label, line, styled
from faithlib.scores import whole
from faithlib.study import explorer

__all__ = ["agreement", "as_text", "chosen_texts", "figure", "notes", "save", "show", "wide"]

NUMBERS = ("value", "ci_low", "ci_high", "diagnosticity")  # of the table
KEPT = {"text": "texts", "target": "targets", "target_name": "target_names"}  # columns of a text, and fields
OPTIONAL = {"predicted": "predicted", "label": "labels", "p": "p"}
TOP = 5  # tokens of a text that a terminal shows
DIAGNOSTICITY = (
    "Diagnosticity: share of texts on which the attribution's value is better than that of its own scores in "
    "random order (ties count ½)."
)
CAPTION = (
    "Mean of each metric over the texts, with its 95 % interval. The arrow says which direction is better; "
    "axes differ, as the metrics' units do."
)


# Show ---------------------------------------------------------------------------------------------


def show(study: Any, texts: int = 3) -> None:
    """Show a study: HTML with figures in a notebook, plain text in a terminal.

    texts: of how many texts the scores are shown, chosen by `chosen_texts`; a ValueError below 0.
    """
    chosen, rule = chosen_texts(study, texts)
    if in_notebook():
        _show_html(study, chosen, rule)
    else:
        print(as_text(study, chosen, rule))


def wide(study, column="value", arrows=True):
    """The table of a study with a row for each attribution and a column for each metric: texts, "–" for none.

    column: "value" for texts such as "0.343 [0.301, 0.381] (3 void)", or another column of the table.
    arrows: whether headers say by an arrow which direction is better.
    """
    table, names = study.table, list(study.table.attribution.unique())
    labels = _distinct({name: label(name) for name in names})
    frame = pd.DataFrame({"attribution": [labels[name] for name in names]})
    for metric, title in _metrics(study, arrows).items():
        rows = table[table.metric == metric].set_index("attribution")
        cells = {row.Index: _cell(row, column) for row in rows.itertuples()}
        frame[title] = [cells.get(name, "–") for name in names]
    return frame


def notes(study):
    """What a reader has to know beside the table: what intervals speak of, notes and flags, as sentences."""
    table, sentences = study.table, [str(note) for note in getattr(study, "notes", None) or []]
    units = table.unit.unique() if "unit" in table else ["texts, for this model"]
    name = getattr(study, "model_name", "")
    sentences.append(f"95 % intervals over {' and '.join(units)}{f' ({name})' if name else ''}.")
    if table.void.any():
        sentences.append("Void: texts in which the metric means nothing; they are left out.")
    if "flag" in table:
        flags = table[table.flag.fillna("") != ""].groupby("flag", sort=False)
        for flag, rows in flags:
            pairs = zip(rows.attribution, rows.metric, strict=True)
            cells = [f"{label(name)} × {registry.get(metric).label}" for name, metric in pairs]
            sentences.append(f"{flag}: {store.listed(cells)}." if len(rows) < len(table) else f"{flag}.")
    return sentences


def chosen_texts(study, count):
    """(indices of the `count` texts that are shown, or of all if there are fewer, the rule in a sentence).

    Texts are ordered by the first metric that has values, its mean over attributions, from the worst to the
    best, and taken at equal steps: of three the worst, the median and the best; of one the median. Raises
    ValueError for another count than 0, 1, 2, ...
    """
    whole("texts", count)
    metric, values = _first_metric(study)
    if metric is None:
        return list(range(min(count, len(study.encodings)))), "The first texts; no metric has a value."
    means = values.groupby("example").value.mean()
    order = (means * _sign(metric)).sort_values(kind="stable").index.to_numpy()
    count = min(count, len(order))
    places = np.rint(np.linspace(0, len(order) - 1, count)) if count > 1 else [(len(order) - 1) // 2] * count
    rule = (
        f"Texts at equal steps from the worst to the best {metric.label}, its mean over the attributions "
        f"({len(order)} texts have one)."
    )
    return [int(order[int(place)]) for place in places], rule


def as_text(study, chosen=(), rule=""):
    """A study as plain text: table, diagnosticity, notes, and the highest tokens of the chosen texts."""
    width = shutil.get_terminal_size((100, 24)).columns
    parts = [_lines(wide(study), width)]
    if study.table.diagnosticity.notna().any():
        parts += [textwrap.fill(DIAGNOSTICITY, width), _lines(wide(study, "diagnosticity"), width)]
    parts.append("\n".join(textwrap.fill(note, width) for note in notes(study)))
    if len(chosen):
        parts.append(textwrap.fill(f"{rule} The {TOP} highest scores of each:", width))
    facts = explorer.described(study) if len(chosen) else []
    for i in chosen:
        rows = {label(name): _highest(facts[i], of_texts[i]) for name, of_texts in study.scores.items()}
        indent = max(map(len, rows))
        lines = [f"  {name:<{indent}}  {tokens}" for name, tokens in rows.items()]
        parts.append("\n".join([textwrap.fill(f"{_about(i, facts[i])}: {facts[i]['text']}", width), *lines]))
    return "\n\n".join(parts)


def _lines(frame, width):
    """A frame as text; what is wider than the terminal goes on below, with the attributions again."""
    frame = frame.set_index("attribution").rename_axis(None)
    return frame.to_string(line_width=width, justify="left")


def _show_html(study, chosen, rule):
    from IPython.display import HTML, Markdown, display

    display(styled(wide(study), folded=False, whole=True))
    if study.table.diagnosticity.notna().any():
        display(Markdown(DIAGNOSTICITY), styled(wide(study, "diagnosticity"), folded=False, whole=True))
    display(HTML("<br>".join(map(html.escape, notes(study)))))
    with figure_style():
        show_drawn(figure(study), CAPTION)
    if not len(chosen):
        return
    display(HTML(html.escape(rule)))
    facts, (metric, of_metric) = explorer.described(study), _first_metric(study)
    means = of_metric.groupby(["example", "attribution"]).value.mean()
    labels = _distinct({name: label(name) for name in study.scores})
    for i in chosen:
        rows, values = {}, {}
        for name, text in labels.items():
            cell = cell_text(means.get((i, name), np.nan)) or "–"
            rows[text] = study.scores[name][i]
            values[text] = f"{_metrics(study)[metric.name]} {cell}" if metric else ""
        display(HTML(f"<b>{html.escape(_about(i, facts[i]))}</b>"))
        display(heat(facts[i]["tokens"], rows, values))


def _first_metric(study):
    """The first `Metric` that has values, None if there is none, and its values."""
    values = study.values[(study.values.baseline == "") & study.values.value.notna()]
    if values.empty:
        return None, values
    name = values.metric.iloc[0]
    return registry.get(name), values[values.metric == name]


def _highest(facts, scores):
    """The highest tokens of a text with their scores."""
    scored = [i for i, kind in enumerate(facts["kinds"]) if kind != "o"]
    top = sorted(scored, key=lambda i: -scores[i])[:TOP]
    return ", ".join(f"{facts['tokens'][i]} {scores[i]:.3g}" for i in top)


def _about(i, facts):
    said = {"target": facts["target"], "label": facts["gold"]}
    return ", ".join([f"Text {i + 1}", *(f"{name} {value}" for name, value in said.items() if value)])


def _cell(row, column):
    if column != "value":
        return cell_text(getattr(row, column)) or "–"
    text = cell_text(row.value, row.ci_low, row.ci_high)
    return f"{text or '–'} ({row.void} void)" if row.void else text or "–"


def _metrics(study, arrows=True):
    """{metric: its label, with an arrow}, in the order of the table."""
    entries = [registry.get(name) for name in study.table.metric.unique()]
    labels = _distinct({entry.name: entry.label for entry in entries})
    return {e.name: f"{labels[e.name]} {ARROWS[e.better][0]}" if arrows else labels[e.name] for e in entries}


def _distinct(labels):
    """Labels, with the name behind those that several names share."""
    shared = list(labels.values())
    return {n: text if shared.count(text) == 1 else f"{text} ({n})" for n, text in labels.items()}


def _sign(metric):
    return 1 if metric.better == "higher" else -1


# Figures ------------------------------------------------------------------------------------------


def figure(study):
    """The table of a study as a matplotlib figure: a panel for each metric, a row for each attribution."""
    table = study.table
    names = list(table.attribution.unique())
    titles = {m: "\N{NO-BREAK SPACE}".join(text.rsplit(" ", 1)) for m, text in _metrics(study).items()}
    drawn = figures.panels(
        table, by=["metric"], height=0.6 + 0.2 * len(names), names=titles.get, left=1.5, sharex=False
    )
    for axis, part in drawn:
        figures.guide(axis, 0)
        for name in names:
            rows = part[part.attribution == name]
            heights = figures.place(rows.attribution, names)
            figures.points(axis, rows, "value", heights, line(name), ("ci_low", "ci_high"))
        figures.attribution_rows(axis, names)
        axis.locator_params(axis="x", nbins=4)
        axis.set_title(axis.get_title() + _uncounted(part) + _never(study, part.metric.iloc[0]))
    model = getattr(study, "model_name", "")
    drawn.name_axes("mean over texts")
    drawn.figure.suptitle(model, fontsize=8)
    return drawn.figure


def _uncounted(rows):
    """How many texts a metric has no value of, as the end of a title."""
    most = int(rows.void.max())
    return f"\n{most} of {int((rows.n + rows.void).max())} texts void" if most else ""


def _never(study, metric):
    """How many texts never flip, as the end of a title."""
    rows = study.values[(study.values.metric == metric) & (study.values.baseline == "")]
    most = (rows.value == 1).groupby(rows.attribution).sum().max() if metric == "decision_flip" else 0
    return f"\n{int(most)} of {rows.example.nunique()} texts never flip" if most else ""


def summary(study: Any) -> str:
    """A study in five lines: what it is of, the best by each metric, void texts, notes, what to call."""
    table, entries = study.table, [registry.get(name) for name in study.table.metric.unique()]
    best, void = [], []
    for entry in entries:
        rows = table[table.metric == entry.name].dropna(subset="value")
        if len(rows):
            row = rows.loc[(rows.value * _sign(entry)).idxmax()]
            best.append(f"{entry.label} {label(row.attribution)} ({cell_text(row.value)})")
        if count := int(table[table.metric == entry.name].void.max()):
            void.append(f"{entry.label} {count}")
    counts = f"{len(study.encodings)} texts, {len(study.scores)} attributions, {len(entries)} metrics"
    lines = [
        f"Study of {study.model_name or 'a model'}: {counts}",
        f"Best: {', '.join(best) or 'no metric has a value'}",
        f"Void texts: {', '.join(void) or 'none'}",
        f"Notes: {' '.join(map(str, study.notes)) or 'none'}",
        "See .table, .show(), .agreement() and .save('out'), which writes explorer.html",
    ]
    width = shutil.get_terminal_size((100, 24)).columns
    return "\n".join(textwrap.shorten(line, width, placeholder=" …") for line in lines)


# Save ---------------------------------------------------------------------------------------------


def save(study: Any, folder: str | Path) -> Path:
    """Save a study in a folder.

    | file | content |
    |---|---|
    | record.json | what was studied, the table, provenance, hashes, which `store.read_record` checks |
    | record.parquet, record.scores.parquet | the values and the scores of every text |
    | record.texts.parquet | texts, targets, predictions and labels, for `load_study` |
    | tables/ | results, diagnosticity and agreement as .csv, .html and .tex |
    | figures/ | results and agreement as .pdf, .png and .svg |
    | explorer.html | the texts with their scores and values, to sort and filter |

    Texts stand in explorer.html, record.texts.parquet and record.scores.parquet alone. A record of another
    study that lies in the folder is kept as record.json.replaced. Raises ValueError for a file, OSError for
    what cannot be written.
    """
    folder = Path(folder).expanduser()
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder.as_posix()!r} is a file: give a folder")
    tables, drawn = folder / "tables", folder / "figures"
    better = {title: registry.get(name).better for name, title in _metrics(study, arrows=False).items()}
    save_table(study.table, tables / "results", better, wide(study, arrows=False))
    preferred = study.table[["attribution", "metric", "diagnosticity"]]
    save_table(preferred, tables / "diagnosticity", printed=wide(study, "diagnosticity", arrows=False))
    agreed = rank_agreement.computed(study)
    save_table(agreed, tables / "agreement")
    with figure_style():
        import matplotlib.pyplot as plt

        made = {"results": figure(study)}
        if len(agreed):
            made["agreement"] = rank_agreement.figure(agreed)
        for name, picture in made.items():
            picture.draw_without_rendering()
            picture.set_layout_engine("none")  # as it is now, where each format would lay it out anew
            save_figure(picture, drawn / name)
            plt.close(picture)
    explorer.write(study, folder / "explorer.html")
    _save_record(study, folder)  # last: it says that all is there
    return folder


def _save_record(study, folder):
    """Write record.json and its parquet files."""
    texts = hashlib.sha256("\0".join(map(str, getattr(study, "texts", None) or [])).encode())
    record = {
        "format": store.FORMAT,
        "kind": "study",
        "model": getattr(study, "model_name", ""),
        "texts": {"n": len(study.encodings), "sha256": texts.hexdigest()},
        "attributions": list(study.scores),
        "metrics": list(study.table.metric.unique()),
        "table": json.loads(study.table.to_json(orient="records", double_precision=15)),
        "notes": notes(study),
        "own_notes": list(getattr(study, "notes", None) or []),
        "label_names": list(getattr(study, "label_names", None) or ()),
        "files": {},
        "provenance": code_provenance(),
        "volatile": {
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "host": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        },
    }
    frames = {"record.parquet": study.values, "record.scores.parquet": _scores(study)}
    frames["record.texts.parquet"] = _texts(study)
    store.save_record(folder / "record.json", record, frames)


def _scores(study):
    """A row for each token: example, position, token, maskable, and the score of each attribution."""
    parts = []
    tokens = getattr(study, "tokens", None) or [e.ids for e in study.encodings]
    for i, encoding in enumerate(study.encodings):
        about = {"example": i, "position": np.arange(len(encoding.ids)), "token": list(map(str, tokens[i]))}
        columns = {name: of_texts[i] for name, of_texts in study.scores.items()}
        about |= {"maskable": encoding.maskable, "word": encoding.words}
        parts.append(pd.DataFrame(about | columns))
    return pd.concat(parts, ignore_index=True)


def _texts(study):
    """A row for each text: text, target, target_name, predicted and label, of what the study has."""
    columns = {name: getattr(study, field, None) for name, field in (KEPT | OPTIONAL).items()}
    columns |= {f"curve.{name}": rows for name, rows in (getattr(study, "curves", None) or {}).items()}
    return pd.DataFrame({name: list(values) for name, values in columns.items() if values is not None})


def read(folder):
    """What `save` wrote of a study, as the fields of a `Study`; it raises what `load_study` says."""
    path = Path(folder).expanduser() / ("" if Path(folder).name == "record.json" else "record.json")
    if not path.is_file():
        raise FileNotFoundError(f"{str(folder)!r} has no record.json: give a folder that study.save made")
    record = store.read_record(path)
    if record.get("kind") != "study" or "record.texts.parquet" not in record["files"]:
        raise ValueError(f"{str(folder)!r} holds no study of this version: evaluate and save it again")
    values, scores, texts = (pd.read_parquet(path.with_name(name)) for name in record["files"])
    parts = [part for _, part in scores.groupby("example", sort=True)]
    return {
        "table": pd.DataFrame(record["table"]).astype(dict.fromkeys(NUMBERS, float)),
        "values": values,
        "scores": {name: [part[name].to_numpy() for part in parts] for name in record["attributions"]},
        "encodings": [_encoding(part) for part in parts],
        "targets": texts.target.to_numpy(),
        "texts": list(texts.text),
        "tokens": [list(part.token) for part in parts],
        "model_name": record["model"],
        "notes": record["own_notes"],
        "label_names": tuple(record["label_names"]),
        "target_names": list(texts.target_name) if "target_name" in texts else None,
        "curves": {n: list(texts[f"curve.{n}"]) for n in record["attributions"] if f"curve.{n}" in texts},
        **{field: texts[name].to_numpy() for name, field in OPTIONAL.items() if name in texts},
    }


def _encoding(part):
    """What is shown of an encoding: which tokens are maskable, and of which word; ids are not kept."""
    n, maskable, words = len(part), part.maskable.to_numpy(), part.word.to_numpy()
    return Encoding(np.arange(n), np.zeros(n, int), maskable, np.zeros(n, bool), words)
