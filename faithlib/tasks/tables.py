"""One's own data as tables with our columns: from a file, a folder, a table or a list of texts."""

import csv
import difflib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from faithlib.scores import first_line
from faithlib.tasks import columns
from faithlib.tasks.sources import readable
from faithlib.tasks.table import SPLITS, SUFFIXES, TASKS, Task

COLUMNS = ("text_b", "label", "evidence", "target", "contrast")  # ours, beside text
CALLED = (("train", ("train",)), ("validation", ("validation", "dev", "val", "valid")), ("test", ("test",)))
KINDS = "a task's name, a parquet, csv, tsv or jsonl file, a folder of them, a table or a list of texts"


def read(source, labels=None, **named):
    """One's own data with our columns, checked: (Task, {split: DataFrame}, where the rows come from).

    Arguments and errors are those of `own.load_data`. A column that is called as ours are and not named here
    is not used, which a printed line says.

    Example:
        >>> read(["a great film"])[1]["test"].to_dict("list")
        {'text': ['a great film'], 'target': ['']}
    """
    named, labels = _check({"text": "text", **dict.fromkeys(COLUMNS), **named}, labels)
    label = named["label"]
    kind, name, tables = read_source(source)
    columns_given = {ours: theirs for ours, theirs in named.items() if theirs is not None}
    for split, table in tables.items():
        _check_columns(table, columns_given, _where(name, split, tables))
    _say_unused(tables, named, name)
    labels = _named_classes(tables, label, labels, name)
    frames, label_names = _frames(tables, named, labels, name)
    task_kind = "classification" if label else "prompts"
    task = Task(_slug(name), name, label_names, named["text"], named["text_b"] or "", kind=task_kind)
    source_rows = {split: len(frame) for split, frame in frames.items()}
    return task, frames, {"source": kind, "file": name, "columns": columns_given, "source_rows": source_rows}


# What was asked for -------------------------------------------------------------------------------


def _check(named, labels):
    """The columns' names and the classes, checked before anything is read."""
    for what, column in named.items():
        if not isinstance(column, str) and (column is not None or what == "text"):
            raise ValueError(f"{what}={column!r} names no column: give a string; values go into the table")
    twice = [c for c in named.values() if c is not None and list(named.values()).count(c) > 1]
    if twice:
        raise ValueError(f"column {twice[0]!r} is named twice: give every column one meaning")
    if named["label"] and named["target"]:
        raise ValueError("label and target: give label for a classifier, or target for prompts")
    if named["contrast"] and not named["target"]:
        raise ValueError(f"contrast={named['contrast']!r} needs target, the answer that it is compared with")
    if labels is None:
        return named, None
    listed = isinstance(labels, (list, tuple)) and all(isinstance(x, str) and x.strip() for x in labels)
    if not listed or len(labels) < 2 or len(set(labels)) < len(labels):
        raise ValueError(f"labels={labels!r} must be two or more different names, such as ['bad', 'good']")
    if not named["label"]:
        raise ValueError("labels names the classes of a column: give label, the column")
    return named, tuple(labels)


def _check_columns(table, named, place):
    listed = list(map(str, table.columns))
    if twice := sorted({c for c in listed if listed.count(c) > 1}):
        raise ValueError(f"{place} has the column {twice[0]!r} more than once: rename or remove one")
    for what, column in named.items():
        if column not in listed:
            close = difflib.get_close_matches(column, listed, 1, 0.7)  # "target" is not like "text"
            hint = f"; did you mean {close[0]!r}?" if close else ""
            there = ", ".join(listed) or "none"
            raise ValueError(f"{place} has no column {column!r}, only {there}: give {what}='...'{hint}")
    if not len(table):
        raise ValueError(f"{place} has no rows: give at least one")


def _say_unused(tables, named, name):
    """Print a line for each column that is called as ours are and that nobody has asked for."""
    listed = {str(column) for table in tables.values() for column in table.columns} - set(named.values())
    apart = {"label": "target", "target": "label", "contrast": "label"}
    for ours in (what for what in named if named[what] is None and what in listed):
        other = apart.get(ours)
        fix = f": give {ours}={ours!r} (--{ours.replace('_', '-')} {ours}) to use it"
        if other and named[other]:
            fix = f" beside {other}={named[other]!r}: a label is for classifiers, a target for prompts"
        print(f"{name}: column {ours!r} is not used{fix}", flush=True)


def _named_classes(tables, label, labels, name):
    """The names of the classes where a `datasets.Dataset` says them."""
    for table in tables.values():
        names = table.attrs.get("names", {}).get(label)
        if names and labels and tuple(names) != labels:
            raise ValueError(
                f"{name}: column {label!r} has the classes {', '.join(names)}, labels names "
                f"{', '.join(labels)}: leave labels out"
            )
        labels = tuple(names) if names else labels
    return labels


# Sources ------------------------------------------------------------------------------------------


def read_source(source):
    """(kind of source, its name, {split: DataFrame}) as it stands, whatever its columns."""
    if isinstance(source, (str, os.PathLike)):
        return _read_path(source)
    if isinstance(source, Mapping):
        named = _splits(source, "data")
        for split in [split for split in source if split not in named.values()]:
            if type(source).__name__ != "DatasetDict":  # one of the hub may have more, such as unsupervised
                raise ValueError(f"split {split!r} is unknown: give {', '.join(SPLITS)}, or a DataFrame")
            print(f"data: split {split!r} is not read; read are {', '.join(SPLITS)}")
        tables = {split: as_frame(source[name]) for split, name in named.items()}
        if not tables:
            raise ValueError("data has no splits: give {'test': table}")
        return "memory", "data", tables
    return "memory", "data", {"test": as_frame(source)}


def as_frame(source):
    """A DataFrame of what is in memory; what a `datasets.Dataset` calls its classes stands in `attrs`."""
    if isinstance(source, pd.DataFrame):
        return source.reset_index(drop=True).rename(columns=str)
    if isinstance(source, datasets.Dataset):
        frame = source.with_format(None).to_pandas()
        classes = {c: f for c, f in source.features.items() if isinstance(f, datasets.ClassLabel)}
        frame.attrs["names"] = {c: f.names for c, f in classes.items()}
        return frame
    if isinstance(source, str):
        raise ValueError(f"data={source[:40]!r} is one text: give a list, a table, or load_data of a file")
    if isinstance(source, (Sequence, pd.Series, pd.Index, np.ndarray)):
        if any(isinstance(row, (dict, list, tuple)) for row in source):
            raise ValueError("data is a list of rows: give a list of texts, or pandas.DataFrame(rows)")
        return pd.DataFrame({"text": pd.Series(list(source), dtype=object)})
    if hasattr(source, "to_pandas"):  # of polars, pyarrow
        return source.to_pandas().reset_index(drop=True)
    raise ValueError(f"data is of type {type(source).__name__}: give texts, or load_data of {KINDS}")


def _read_path(source):
    path = Path(source).expanduser()
    try:
        folder, file = bool(source) and path.is_dir(), path.is_file()
    except (OSError, ValueError):  # a text that is too long for a path
        folder = file = False
    if folder:
        return "folder", path.resolve().name, _read_folder(path)
    if file:
        return "file", path.name, {"test": _read_file(path)}
    if path.suffix.lower() in SUFFIXES or isinstance(source, os.PathLike):
        raise FileNotFoundError(f"there is no file {str(source)!r}: check the path")
    close = difflib.get_close_matches(str(source), TASKS, n=3)
    hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    excerpt = str(source) if len(str(source)) <= 60 else str(source)[:57] + "…"
    raise ValueError(f"source={excerpt!r} is no task and no file: {hint}Give {KINDS}")


def _read_folder(folder):
    names = {path.name for path in folder.iterdir() if path.is_file()}
    named = _splits(names, f"folder {str(folder)!r}", SUFFIXES)
    if not named:
        raise FileNotFoundError(
            f"folder {str(folder)!r} has no data: give one with train, validation or test as .parquet, .csv, "
            ".tsv or .jsonl"
        )
    return {split: _read_file(folder / name) for split, name in named.items()}


def _splits(names, where, ends=("",)):
    # {split: what it is called} among these names.
    found = {s: [n + end for n in called for end in ends if n + end in names] for s, called in CALLED}
    for split, twice in found.items():
        if len(twice) > 1:
            raise ValueError(f"{where} has {' and '.join(twice)}: keep one of the split {split!r}")
    return {split: called[0] for split, called in found.items() if called}


def _read_file(path):
    end = path.suffix.lower()
    if end not in SUFFIXES:
        raise ValueError(f"file {path.name!r} has the format {end or 'none'}: give {', '.join(SUFFIXES)}")
    if end == ".parquet":
        return readable(path, pq.read_table).to_pandas()
    try:
        return _read_jsonl(path) if end == ".jsonl" else _read_csv(path, "," if end == ".csv" else "\t")
    except UnicodeDecodeError:
        raise ValueError(f"file {path.name!r} is not UTF-8: save it as UTF-8") from None
    except csv.Error as error:
        raise ValueError(f"cannot read {path.name!r} ({first_line(error)}): correct this line") from None


def _read_csv(path, separator):
    """All cells as strings, as they stand: no text becomes a number, or NaN because it is "NA"."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        other = next((mark for mark in ";\t," if mark in first), separator)
        separator = separator if separator in first else other  # ";" as many spreadsheets save it
        file.seek(0)
        lines = csv.reader(file, delimiter=separator, strict=True)
        header, rows = next(lines, []), []
        if not header:
            raise ValueError(f"file {path.name!r} is empty: give a line of column names, then rows")
        usual = csv.field_size_limit(2**31 - 1)  # characters of a cell; a text can be a book
        try:
            for row in lines:
                row = row or [""] * (len(header) == 1)  # a blank line is a cell of one column, else nothing
                if row and len(row) != len(header):
                    raise csv.Error(f"{len(row)} cells and not {len(header)}")
                if separator == "\t" and any("\t" in cell and "\n" in cell for cell in row):
                    raise csv.Error("a cell holds tabs and line ends: a quote before it is never closed")
                rows += [row] if row else []
        except csv.Error as error:
            quotes = ", and write a quote inside of quotes twice" * ("expected" in str(error))
            raise csv.Error(f"line {lines.line_num}: {error}{quotes}") from None
        finally:
            csv.field_size_limit(usual)
    return pd.DataFrame(rows, columns=range(len(header)), dtype=str).set_axis(header, axis=1)


def _read_jsonl(path):
    rows = []
    with open(path, encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    row = json.loads(line, object_pairs_hook=_once)
                except (ValueError, RecursionError) as error:
                    raise ValueError(
                        f"cannot read line {number} of {path.name!r} ({first_line(error)}): give one JSON "
                        "object a line"
                    ) from None
                if not isinstance(row, dict):
                    raise ValueError(f"line {number} of {path.name!r} is no JSON object: give one a line")
                rows.append(row)
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype=object) for name in names})


def _once(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name occurs twice")
    return dict(pairs)


# Columns ------------------------------------------------------------------------------------------


def _frames(tables, named, labels, name):
    """({split: DataFrame with the final columns}, names of the classes)."""
    label, label_names, numbers = named["label"], (), {}
    if label:
        values = {split: list(table[label]) for split, table in tables.items()}
        numbers, label_names = columns.classes(values, label, name, labels)
    frames = {}
    for split, table in tables.items():
        place = _where(name, split, tables)
        texts = columns.texts(table[named["text"]], named["text"], place)
        frame = pd.DataFrame({"text": pd.Series(texts, dtype=object)})
        if named["text_b"]:
            frame["text_b"] = columns.texts(table[named["text_b"]], named["text_b"], place, blank=True)
        elif label:
            frame["text_b"] = ""
        if label:
            frame["label"] = numbers[split]
        for what in ("target", "contrast"):
            if named[what]:
                values = columns.answers(table[named[what]], named[what], place)
                frame[what] = columns.texts(values, named[what], place)
            elif what == "target" and not label:
                frame[what] = ""
        if "contrast" in frame and (same := list(frame.index[frame.target == frame.contrast])):
            raise ValueError(f"{place}: target and contrast are the same in row {same[0]}: give another")
        if named["evidence"]:
            values = list(table[named["evidence"]])
            frame["evidence"] = columns.evidence(values, texts, named["evidence"], place)
        frames[split] = frame
    return frames, label_names


def _where(name, split, tables):
    return name if len(tables) == 1 else f"split {split!r} of {name}"


def _slug(name):
    """A name of small letters, digits and _, as tasks have it."""
    stem = name.removesuffix(Path(name).suffix) if Path(name).suffix.lower() in SUFFIXES else name
    slug = re.sub(r"\W+", "_", stem.lower()).strip("_")
    return slug if re.match(r"[a-z]", slug) else f"data_{slug}".rstrip("_")
