"""The columns of one's own data: texts, labels, evidence and answers, checked row by row.

Rows are counted from 0. Every message names the data, the rows and what to do.
"""

import ast
import json
import re
from numbers import Integral, Real

import numpy as np
import pandas as pd

from faithlib.tasks.sources import LARGEST

SHOWN = 5  # rows that a message names
MOST = 1000  # classes that are numbers, without names


def texts(values, name, where, blank=False):
    """A column of texts as a list of str.

    Args:
        values: the column.
        name: of the column.
        where: of which data, for messages.
        blank: whether a text may be empty.

    Raises:
        ValueError: a value that is missing, no string, blank, or longer than `LARGEST` characters.

    Example:
        >>> texts(["a film", None], "text", "reviews.csv")
        Traceback (most recent call last):
            ...
        ValueError: reviews.csv: column 'text' has no text in row 1: fill or remove it
    """
    values = list(values)
    if other := [i for i, v in enumerate(values) if not isinstance(v, str) and not missing(v)]:
        kind = type(values[other[0]]).__name__
        raise ValueError(f"{where}: column {name!r} has {kind} and no text in {_rows(other)}: give strings")
    if empty := [i for i, v in enumerate(values) if missing(v) or not blank and not v.strip()]:
        them = "it" if len(empty) == 1 else "them"
        raise ValueError(f"{where}: column {name!r} has no text in {_rows(empty)}: fill or remove {them}")
    if long := [i for i, v in enumerate(values) if len(v) > LARGEST]:
        raise ValueError(
            f"{where}: column {name!r} has more than {LARGEST:,} characters in {_rows(long)}: shorten it"
        )
    return [str(v) for v in values]


def classes(columns, name, where, labels=None):
    """Labels of all splits as numbers, and the names of the classes.

    Args:
        columns: {split: the column}, of names or of numbers 0, 1, ...
        name: of the column.
        where: of which data, for messages.
        labels: the names in their order; by default the sorted names, or "0", "1", ... for numbers.

    Returns:
        ({split: [int]}, names).

    Raises:
        ValueError: a label that is missing, of another kind than the others, or none of `labels`; a single
            class.

    Example:
        >>> classes({"test": ["good", "bad"]}, "label", "reviews.csv")
        ({'test': [1, 0]}, ('bad', 'good'))
    """
    rows = [(split, i, v) for split, column in columns.items() for i, v in enumerate(column)]
    if absent := [i for _, i, v in rows if _blank(v)]:
        raise ValueError(f"{where}: column {name!r} has no label in {_rows(absent)}: fill or remove them")
    given = [v for _, _, v in rows]
    strings = all(isinstance(v, str) for v in given)
    if (
        strings
        and all(v.isdecimal() and v == str(int(v)) for v in given)
        and not set(given) <= set(labels or ())
    ):
        given, strings = list(map(int, given)), False  # of a csv file
    if strings:
        names = tuple(labels or sorted(set(given)))
        if len(names) < 2:
            raise ValueError(
                f"{where}: column {name!r} has the single class {names[0]!r}: name all classes in labels"
            )
        numbers = [names.index(v) if v in names else -1 for v in given]
        allowed = f"{', '.join(names[:SHOWN])}; correct it, or name it in labels"
    else:
        numbers = [_whole(v) for v in given]
        if odd := [i for i, n in enumerate(numbers) if n is None]:
            rows_of = _rows([rows[i][1] for i in odd])
            raise ValueError(
                f"{where}: column {name!r} has {_shown(given[odd[0]])} in {rows_of}: give names, or whole "
                "numbers from 0"
            )
        names = tuple(labels or map(str, range(min(MOST, max(2, max(numbers) + 1)))))
        allowed = ", ".join(f"{i} = {label}" for i, label in enumerate(names[:SHOWN]))
    if bad := [i for i, n in enumerate(numbers) if not 0 <= n < len(names)]:
        rows_of = _rows([rows[i][1] for i in bad])
        raise ValueError(
            f"{where}: column {name!r} has {_shown(given[bad[0]])} in {rows_of}: allowed are {allowed}"
        )
    found, start = {}, 0
    for split, column in columns.items():
        found[split] = numbers[start : start + len(column)]
        start += len(column)
    return found, names


def evidence(values, of_texts, name, where):
    """Evidence as indices of words of `text.split()`: [[int]].

    Args:
        values: for each text one of: indices of words, [int]; spans of characters, [(start, end)], end not
            included; substrings, [str] or one str, of which every occurrence counts (as whole words, where it
            occurs so); nothing (None, ""). In files, lists are written as JSON.
        of_texts: [str].
        name: of the column.
        where: of which data, for messages.

    Raises:
        ValueError: something else, or what is not in the text.

    Example:
        >>> evidence([[1], [(0, 3)], "long"], ["so good", "a very long one", "very long"], "why", "a.csv")
        [[1], [0, 1], [1]]
    """
    found = []
    for i, (value, text) in enumerate(zip(values, of_texts, strict=True)):
        try:
            found.append(_words(value, text))
        except ValueError as error:
            raise ValueError(f"{where}: column {name!r}, row {i}: {error}") from None
    return found


def missing(value):
    """Whether a cell holds nothing: None, NaN, NaT or pandas' NA."""
    return value is None or value is pd.NA or value is pd.NaT or isinstance(value, Real) and value != value


def _blank(value):
    return missing(value) or isinstance(value, str) and not value.strip()


def _words(value, text):
    """Indices of the words that one cell of evidence names."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "("):
        value = _parsed(value)
    if _blank(value):
        return []
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, (list, tuple, np.ndarray)):
        raise ValueError(f"evidence {_shown(value)} is no list: give words, spans or substrings")
    if isinstance(value, tuple) and len(value) == 2 and all(_whole(v) is not None for v in value):
        raise ValueError(
            f"evidence {value} may be two words or a span: give {list(value)} for words, [{value}] for a span"
        )
    bounds = [word.span() for word in re.finditer(r"\S+", text)]
    found = set()
    for item in value:
        if isinstance(item, Integral) and not isinstance(item, (bool, np.bool_)):
            if not 0 <= item < len(bounds):
                raise ValueError(
                    f"evidence names word {item}, the text has {len(bounds)}: give 0 to {len(bounds) - 1}"
                )
            found.add(int(item))
            continue
        spans = _occurrences(item, text) if isinstance(item, str) else [_span(item, text)]
        for start, end in spans:
            found |= {w for w, (first, last) in enumerate(bounds) if first < end and start < last}
    return sorted(found)


def _parsed(value):
    for read in (json.loads, ast.literal_eval):
        try:
            return read(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    raise ValueError(f"evidence {_shown(value)} cannot be read: write a list as JSON, such as [[0, 5]]")


def _span(item, text):
    whole = isinstance(item, (list, tuple, np.ndarray)) and len(item) == 2 and None not in map(_whole, item)
    if not whole:
        raise ValueError(f"evidence {_shown(item)} is no word, span or substring: give 3, (0, 5) or 'great'")
    start, end = map(_whole, item)
    if not 0 <= start < end <= len(text):
        raise ValueError(
            f"evidence ({start}, {end}) is no span of a text of {len(text)} characters: give 0 <= start < end"
        )
    if not text[start:end].strip():
        raise ValueError(f"evidence ({start}, {end}) holds blanks alone: correct the span")
    return start, end


def _occurrences(item, text):
    """Spans of a substring: those that are whole words, else all."""
    if not item.strip():
        raise ValueError("evidence has an empty substring: remove it")
    plain = re.escape(item.strip())
    for pattern in (rf"(?<!\w){plain}(?!\w)", plain):
        if spans := [match.span() for match in re.finditer(pattern, text)]:
            return spans
    raise ValueError(f"evidence {_shown(item)} is not in the text: correct it")


def _whole(value):
    """A whole number as int, also where a table has it as 1.0, else None."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real) or value != value:
        return None
    return int(value) if abs(value) < 2**53 and value == int(value) else None


def _rows(rows):
    listed = ", ".join(map(str, rows[:SHOWN])) + (", …" if len(rows) > SHOWN else "")
    return f"row {listed}" if len(rows) == 1 else f"{len(rows)} rows ({listed})"


def _shown(value):
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "…"
