"""The columns of one's own data: texts, labels, evidence and answers, checked row by row.

Rows are counted from 0. Every message names the data, the rows and what to do.
"""

import ast
import json
import re
from contextlib import contextmanager
from itertools import islice
from numbers import Real

import numpy as np
import pandas as pd

from faithlib.scores import HALF, HALVED

LARGEST = 1_000_000  # characters of a text: the longest article of any task has a tenth of that
SHOWN = 5  # rows that a message names
MOST = 1000  # classes that are numbers, without names
NUMBER = r"(0|[1-9]\d{0,8})(\.0+)?"  # whole, as csv files have it where a label was missing once


def texts(values, name, place, blank=False):
    """A column of texts as a list of str.

    Args:
        values, name, place: the column, its name, and of which data it is, for messages.
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
        raise ValueError(f"{place}: column {name!r} has {kind}, not text, in {_rows(other)}: give strings")
    if empty := [i for i, v in enumerate(values) if missing(v) or not blank and not v.strip()]:
        them = "it" if len(empty) == 1 else "them"
        raise ValueError(f"{place}: column {name!r} has no text in {_rows(empty)}: fill or remove {them}")
    if halved := [i for i, v in enumerate(values) if HALF.search(v)]:
        raise ValueError(f"{place}: column {name!r}, {_rows(halved)}: it {HALVED}")
    if long := [i for i, v in enumerate(values) if len(v) > LARGEST]:
        raise ValueError(
            f"{place}: column {name!r} has more than {LARGEST:,} characters in {_rows(long)}: shorten it"
        )
    return [str(v) for v in values]


def answers(values, name, place):
    """A column of answers as texts, of which whole numbers are written as such; None where there is none.

    Example:
        >>> answers([4, 12.0, None, "Paris"], "target", "data")
        ['4', '12', None, 'Paris']
    """
    numbers = [whole(v) for v in values]
    read = [v if n is None else str(n) for n, v in zip(numbers, values, strict=True)]
    read = [None if missing(v) else v for v in read]
    if other := [i for i, v in enumerate(read) if not isinstance(v, str | None)]:
        kind = type(read[other[0]]).__name__
        raise ValueError(
            f"{place}: column {name!r} has {kind}, not text, in {_rows(other)}: give texts; token ids "
            "are given by targets"
        )
    return read


def classes(columns, name, place, labels=None):
    """({split: labels as numbers, [int]}, names of the classes) of the labels of all splits.

    Args:
        columns: {split: the column}, of names or of numbers 0, 1, ...
        name, place: as of `texts`.
        labels: the names in their order; by default the sorted names, or "0", "1", ... for numbers.

    Raises:
        ValueError: a label that is missing, of another kind than the others, or none of `labels`; a single
            class.

    Example:
        >>> classes({"test": ["good", "bad"]}, "label", "reviews.csv")
        ({'test': [1, 0]}, ('bad', 'good'))
    """
    rows = [(split, i, v) for split, column in columns.items() for i, v in enumerate(column)]
    if absent := [i for _, i, v in rows if is_blank(v)]:
        raise ValueError(f"{place}: column {name!r} has no label in {_rows(absent)}: fill or remove them")
    labelled = [_label(v, labels) for _, _, v in rows]

    def wrong(which):
        of = _rows([rows[i][1] for i in which])
        return f"{place}: column {name!r} has {_shown(labelled[which[0]])} in {of}"

    numerals = [str(whole(v)) for v in labelled]
    if labels and set(numerals) <= set(labels):  # classes that are called by numbers
        labelled = numerals
    strings = all(isinstance(v, str) for v in labelled)
    if strings and not set(labelled) <= set(labels or ()) and all(re.fullmatch(NUMBER, v) for v in labelled):
        labelled, strings = [int(float(v)) for v in labelled], False  # of a csv file
    if strings:
        names = tuple(labels or sorted(set(labelled)))
        if len(names) < 2:
            raise ValueError(
                f"{place}: column {name!r} has the single class {names[0]!r}: name all classes in labels"
            )
        places = {v.casefold(): i for i, v in enumerate(names)}
        if len(places) < len(names):
            print(f"{place}: column {name!r} has classes that differ by case alone: {', '.join(names)}")
        numbers = [names.index(v) if v in names else places.get(v.casefold(), -1) for v in labelled]
        allowed = f"{', '.join(names[:SHOWN])}; correct it, or name it in labels"
    else:
        numbers = [whole(v) for v in labelled]
        if odd := [i for i, n in enumerate(numbers) if n is None]:
            raise ValueError(f"{wrong(odd)}: give names, or whole numbers from 0")
        names = tuple(labels or map(str, range(min(MOST, max(2, max(numbers) + 1)))))
        allowed = ", ".join(f"{i} = {label}" for i, label in enumerate(names[:SHOWN]))
        if not labels and (least := min(numbers)) > 0:
            print(f"{place}: column {name!r} starts at {least}; numbers count from 0; labels take names")
    if bad := [i for i, n in enumerate(numbers) if not 0 <= n < len(names)]:
        raise ValueError(f"{wrong(bad)}: allowed are {allowed}")
    left = iter(numbers)
    return {split: list(islice(left, len(column))) for split, column in columns.items()}, names


def _label(value, labels):
    """A label without blanks around it; true and false are names, or 1 and 0 of two `labels` with others."""
    if isinstance(value, (bool, np.bool_)):
        return int(value) if labels and len(labels) == 2 and str(value) not in labels else str(value)
    return value.strip() if isinstance(value, str) else value


def evidence(values, of_texts, name, place):
    """Evidence as indices of words of `text.split()`, [[int]], or as spans of characters, [[[start, end]]].

    It is spans where one of them ends inside of a word, as in languages without blanks, else words.

    Args:
        values: for each text one of: a mask, a 0 or 1 (or true or false) for each of its words; indices of
            words, [int]; spans of characters, [(start, end)], end not included; substrings, [str] or one str,
            of which every occurrence counts (as whole words, where it occurs so); nothing (None, ""). In
            files, lists are written as JSON.
        of_texts: [str].
        name, place: as of `texts`.

    Raises:
        ValueError: something else, or what is not in the text; lists of 0 and 1 that may be both.

    Example:
        >>> given = [[1], [(0, 6)], "long", [True, False]]
        >>> evidence(given, ["so good", "a very long one", "very long", "so long"], "why", "a.csv")
        [[1], [0, 1], [1], [0]]
        >>> evidence(["好看"], ["电影好看"], "why", "a.csv")
        [[[2, 4]]]
    """
    cells, rows = [], list(zip(values, of_texts, strict=True))
    for i, (value, text) in enumerate(rows):
        with _row(place, name, i):
            cells.append(_cell(value, text))
    masks, words, inside = _masks(cells, of_texts), [], False
    for i, (cell, (_, text)) in enumerate(zip(cells, rows, strict=True)):
        with _row(place, name, i):
            spans = _spans(cell, text, masks)
            bounds = _bounds(text)
            inside = inside or any(_cuts(span, bounds, text) for span in spans)
            words.append((spans, bounds))
    if inside:
        return [[list(span) for span in sorted(set(spans))] for spans, _ in words]
    return [sorted({word for span in spans for word in _touched(span, bounds)}) for spans, bounds in words]


class NotEvidence(ValueError):
    """A cell is no evidence of its text: the reason, and where it stands."""

    def __init__(self, reason, place=""):
        super().__init__(f"{place}evidence {reason}")
        self.reason = reason


@contextmanager
def _row(place, name, i):
    """Inside, what is no evidence names its row."""
    try:
        yield
    except NotEvidence as error:
        raise NotEvidence(error.reason, f"{place}: column {name!r}, row {i}: ") from None


def missing(value):
    """Whether a cell holds nothing: None, NaN, NaT or pandas' NA."""
    return value is None or value is pd.NA or value is pd.NaT or isinstance(value, Real) and value != value


def is_blank(value):
    """Whether a cell holds nothing, or blanks alone."""
    return missing(value) or isinstance(value, str) and not value.strip()


def _bounds(text):
    return [word.span() for word in re.finditer(r"\S+", text)]


def _cell(value, text):
    """One cell of evidence as a list of numbers, spans or substrings."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "("):
        value = _parsed(value)
    if is_blank(value):
        return []
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, (list, tuple, np.ndarray)):
        raise NotEvidence(f"{_shown(value)} is no list: give words, spans or substrings")
    if isinstance(value, tuple) and len(value) == 2 and all(whole(v) is not None for v in value):
        fix = f"give {list(value)} for words, [{value}] for a span"
        raise NotEvidence(f"{value} may be two words or a span: {fix}")
    count = len(_bounds(text))
    if any(isinstance(v, (bool, np.bool_)) for v in value) and not _is_mask(value, count):
        raise NotEvidence(f"{_shown(value)} is no mask of {count} words: give true or false for each")
    return list(value)


def _is_mask(cell, count):
    """Whether a cell has a 0 or 1 for each word."""
    return len(cell) == count and _numbers(cell) and all(v in (0, 1) for v in cell)


def _numbers(cell):
    return all(isinstance(v, (Real, np.bool_)) for v in cell)


def _masks(cells, texts):
    """Whether the lists of numbers in a column are masks, or indices of words.

    They are masks if each has a 0 or 1 for each word, and one of them cannot be indices.
    """
    certain, possible, indices = False, [], False
    for cell, text in zip(cells, texts, strict=True):
        if not cell or not _numbers(cell):
            continue
        count, numbers = len(_bounds(text)), [float(v) for v in cell]
        if not _is_mask(cell, count):
            indices = True
        elif len(set(numbers)) < count or max(numbers) >= count or isinstance(cell[0], (bool, np.bool_)):
            certain = True
        elif count > 1:  # [0] of a single word is that word: a mask would mark nothing
            possible.append(cell)
    if possible and not certain and not indices:
        raise NotEvidence(
            f"{_shown(possible[0])} may be a mask or indices of words: give true and false for a "
            "mask, substrings for words"
        )
    return certain and not indices


def _spans(cell, text, masks):
    """The spans of characters, [(start, end)], that one cell of evidence names."""
    bounds, spans = _bounds(text), []
    if cell and _numbers(cell) and (masks or isinstance(cell[0], (bool, np.bool_))):
        return [span for span, marked in zip(bounds, cell, strict=True) if marked]
    numbers = [n for n in map(whole, cell) if n is not None]
    if twice := [n for n in numbers if numbers.count(n) > 1]:
        raise NotEvidence(
            f"names word {twice[0]} twice: give each word once, or in every row a mask with a 0 or "
            f"1 for each word (this text has {len(bounds)})"
        )
    for item in cell:
        if (word := whole(item)) is not None:
            if not 0 <= word < len(bounds):
                raise NotEvidence(f"names word {word} of {len(bounds)}: give 0 to {len(bounds) - 1}")
            spans.append(bounds[word])
        else:
            spans += occurrences(item, text) if isinstance(item, str) else [_span(item, text)]
    return spans


def _touched(span, bounds):
    """The words, by their numbers, that a span of characters touches."""
    start, end = span
    return [word for word, (first, last) in enumerate(bounds) if first < end and start < last]


def _cuts(span, bounds, text):
    """Whether a span leaves letters or digits of a word outside."""
    start, end = span
    words = (bounds[word] for word in _touched(span, bounds))
    return any(c.isalnum() for first, last in words for c in text[first:start] + text[max(first, end) : last])


def _parsed(value):
    for read in (json.loads, ast.literal_eval):
        try:
            return read(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    raise NotEvidence(f"{_shown(value)} cannot be read: write a list as JSON, such as [[0, 5]]")


def _span(item, text):
    pair = isinstance(item, (list, tuple, np.ndarray)) and len(item) == 2
    if not (pair and None not in map(whole, item)):
        raise NotEvidence(f"{_shown(item)} is no word, span or substring: give 3, (0, 5) or 'great'")
    start, end = map(whole, item)
    if not 0 <= start < end <= len(text):
        raise NotEvidence(f"({start}, {end}) is no span of {len(text)} characters: give 0 <= start < end")
    if not text[start:end].strip():
        raise NotEvidence(f"({start}, {end}) holds blanks alone: correct the span")
    return start, end


def occurrences(item, text):
    """Spans of a substring: those that are whole words, else all."""
    if not item.strip():
        raise NotEvidence("has an empty substring: remove it")
    plain = re.escape(item.strip())
    for pattern in (rf"(?<!\w){plain}(?!\w)", plain):
        if spans := [match.span() for match in re.finditer(pattern, text)]:
            return spans
    raise NotEvidence(f"{_shown(item)} is not in the text: correct it")


def whole(value):
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
