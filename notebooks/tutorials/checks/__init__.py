"""Checks of the exercises: each prints one line, "right" or a hint, and never a traceback.

A lesson's checks are the functions of one module, `from checks import lesson_03 as check`:

    @check
    def comprehensiveness(mine):
        same(call(mine, 0.9, 0.2), 0.7, "subtract the probability of the rest from that of the text")
"""

import copy
import functools
import json
import re
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[1]  # of the notebooks
DEFINED = r"^(def {0}\(|(\w+, )*{0}(, \w+)* = |(from .+ )?import .*\b{0}$)"  # a line that defines a name


class Hint(Exception):
    """What is wrong with an answer, in one line."""


class Outcome(int):
    """1 for a right answer, else 0. A notebook does not display it, because the line is printed already."""

    def _ipython_display_(self):
        pass


def check(function):
    """Print what a check finds, "right" or one line with a hint, and return whether the answer is right."""

    @functools.wraps(function)
    def checked(*answers):
        try:
            if not answers or any(answer is None or answer is ... for answer in answers):
                raise Hint("there is no answer yet")
            function(*answers)
            line = "right"
        except Hint as hint:
            line = f"not yet: {hint}"
        except Exception as error:
            line = f"not yet: the answer cannot be checked: {_line(error)}"
        print(line)
        return Outcome(line == "right")

    return checked


def call(mine, *inputs, **named):
    """What a student's function returns for copies of the inputs; a hint if it fails or returns None."""
    if not callable(mine):
        raise Hint(f"a function is expected, not {_kind(mine)}")
    try:
        value = mine(*copy.deepcopy(inputs), **copy.deepcopy(named))
    except Exception as error:
        raise Hint(f"your function raises {_line(error)}") from None
    if value is None or value is ...:
        raise Hint("your function returns nothing yet")
    return value


def same(value, expected, hint, atol=1e-6, wrong=()):
    """Raise a hint unless a value equals `expected`; `wrong`: (value, its hint) of usual mistakes."""
    expected = np.asarray(expected, dtype=float)
    try:
        found = np.asarray(value, dtype=float)
    except (TypeError, ValueError, RuntimeError):
        raise Hint(f"{_kind(expected)} is expected, not {_kind(value)}") from None
    if found.shape != expected.shape:
        raise Hint(f"{_kind(expected)} is expected, not {_kind(found)}")
    hints = [h for known, h in ((expected, ""), *wrong) if np.allclose(found, known, 1e-5, atol, True)]
    if hint := [*hints, hint][0]:
        raise Hint(hint)


def choice(answer, right, hints):
    """Raise a hint unless the answer is `right`; `hints` maps each wrong choice to its hint."""
    answer = answer.strip().lower() if isinstance(answer, str) else answer
    if not isinstance(answer, (str, int, float)) or answer not in (right, *hints):
        raise Hint(f"{answer!r} is no choice: write one of {', '.join(map(repr, sorted([right, *hints])))}")
    if answer != right:
        raise Hint(hints[answer])


def _line(error):
    """An exception in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")


def _kind(value):
    """A value in words: "a number", "an array of shape (3,)", "a string"."""
    if isinstance(value, (np.ndarray, np.generic)):
        return f"an array of shape {value.shape}" if np.ndim(value) else "a number"
    return f"a value of type {type(value).__name__}"


def _missing(shell, kind, error, trace, tb_offset=None):
    """For IPython: answer a NameError by the section of the notebook that defines the name."""
    lessons = [name[-2:] for name in sys.modules if name.startswith(f"{__name__}.lesson_")]
    for path in (path for lesson in lessons for path in FOLDER.glob(f"{lesson}_*.ipynb")):
        heading = ""
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            headings = re.findall(r"^#+ (.+)$", "".join(cell["source"]), re.MULTILINE)
            if cell["cell_type"] == "markdown":
                heading = [heading, *headings][-1]
            elif re.search(DEFINED.format(re.escape(error.name)), "".join(cell["source"]), re.MULTILINE):
                print(f"{error.name} is not there yet: first run the cells of the section “{heading}”")
                return
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


if "IPython" in sys.modules and (shell := sys.modules["IPython"].get_ipython()):
    shell.set_custom_exc((NameError,), _missing)
