"""Checks of the exercises: each prints one line, "right" or a hint, and never a traceback.

A lesson's checks are the functions of one module, `from checks import lesson_03 as check`. The lines of a
check's docstring are its hints, which `check.hint()` gives one after another:

    hint = hints(__name__)

    @check(instead=erasure.comprehensiveness)
    def comprehensiveness(mine):
        \"\"\"How far does p fall without the rationale?
        np.maximum takes the larger of two arrays, entry by entry.
        \"\"\"
        same(call(mine, 0.9, 0.2), 0.7, "subtract the probability of the rest from that of the text")

A function that passes is kept, in memory and as `answers/<name>.py`, and later cells use it as
`yours.<name>`. Until then `instead` stands in, which a line says.
"""

import ast
import copy
import functools
import inspect
import json
import linecache
import re
import sys
from importlib import import_module
from numbers import Real
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[1]  # of the notebooks
ANSWERS = FOLDER / "answers"
DEFINED = r"^(def {0}\(|(\w+, )*{0}(, \w+)* = |(from .+ )?import .*\b{0}$)"  # a line that defines a name
CHECKS = {}  # {(lesson's module, name): check}
INSTEAD = {}  # {name: (its check without the printing, what stands in for the answer)}
PASSED = {}  # {name: a function that passed its check}
_failed = {}  # {lesson's module: [the check that failed last, hints given]}


WAYS = {  # what to do, by a part of an error's text
    "truth value of an array": ": it gets arrays, and np.maximum, np.minimum and np.where take them",
    "could not be broadcast": ": the shapes do not fit, and x[:, None] makes a column of x",
}


class Hint(Exception):
    """What is wrong with an answer, in one line."""


class Outcome(int):
    """1 for a right answer, else 0. A notebook does not display it, because the line is printed already."""

    def _ipython_display_(self):
        pass


def check(function=None, instead=None):
    """Print what a check finds, "right" or one line with a hint, and return whether the answer is right."""
    if function is None:
        return functools.partial(check, instead=instead)
    name, lesson = function.__name__, function.__module__

    @functools.wraps(function)
    def checked(*answers):
        line = _found(function, answers)
        print(line)
        if line == "right" and instead:
            _keep(name, answers[0])
        elif line != "right" and _failed.get(lesson, [None])[0] != name:
            _failed[lesson] = [name, 0]
        return Outcome(line == "right")

    CHECKS[lesson, name] = checked
    if instead:
        INSTEAD[name] = function, instead
    return checked


def hints(lesson):
    """`hint` of a lesson: it prints the next hint on the exercise that was checked last and is not right."""

    def hint(name=""):
        if name:
            _failed[lesson] = [name, 0]
        name, count = _failed.get(lesson, ["", 0])
        if not name:
            return print("no check has failed yet: run the check of an exercise first")
        if (lesson, name) not in CHECKS:
            names = ", ".join(other for module, other in CHECKS if module == lesson)
            return print(f"{name!r} is no check of this lesson: use one of {names}")
        steps = steps_of(CHECKS[lesson, name])
        step = min(count, len(steps) - 1)
        _failed[lesson][1] = count + 1
        last = ", the last" if step == len(steps) - 1 else ""
        print(f"{name}, hint {step + 1} of {len(steps)}{last}: {steps[step]}")

    return hint


def steps_of(checked):
    """The hints of a check, which are the lines of its docstring."""
    return inspect.getdoc(checked).splitlines()


def prediction(guess, number, about=""):
    """Print a student's prediction beside the number that was found."""
    number = round(float(number), 2)
    if guess is None or guess is ...:
        return print(f"you made no prediction; the number is {number:g}{about}")
    if isinstance(guess, bool) or not isinstance(guess, Real):
        return print(f"not yet: a prediction is a number, not {_kind(guess)}")
    far = (
        "right" if abs(guess - number) <= 0.05 * max(1, abs(number)) else f"off by {abs(guess - number):.2g}"
    )
    print(f"you predicted {guess:g}, the number is {number:g}{about}: {far}")


class Yours:
    """The student's functions that passed their checks, as attributes; for the others what stands in."""

    def __getattr__(self, name):
        for path in sorted(FOLDER.glob("checks/lesson_*.py")):
            if name in INSTEAD:
                break
            import_module(f"{__name__}.{path.stem}")
        if name not in INSTEAD:
            raise AttributeError(f"no exercise asks for {name!r}: use one of {', '.join(INSTEAD)}")
        instead = INSTEAD[name][1]
        mine = PASSED.get(name) or _kept(name)
        if mine is None:
            _say_once(f"{name}: the course's own stands in until yours passes its check")
            return instead

        @functools.wraps(mine)
        def guarded(*arguments, **named):
            copies = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
            try:
                return _array(mine(*copies, **named))
            except Exception as error:
                _say_once(f"your {name} stops here ({_line(error)}): the course's own goes on")
                return instead(*arguments, **named)

        return guarded


yours = Yours()


def call(mine, *inputs, **named):
    """What a student's function returns for copies of the inputs; a hint if it fails or returns None."""
    if not callable(mine):
        raise Hint(f"a function is expected, not {_kind(mine)}")
    try:
        value = mine(*copy.deepcopy(inputs), **copy.deepcopy(named))
    except Exception as error:
        ways = [way for part, way in WAYS.items() if part in str(error)]
        raise Hint(f"your function raises {_line(error)}{''.join(ways)}") from None
    if value is None or value is ...:
        raise Hint("your function returns nothing yet")
    return value


def same(value, expected, hint, atol=1e-6, wrong=()):
    """Raise a hint unless a value equals `expected`; `wrong`: (value, its hint) of usual mistakes."""
    expected = np.asarray(expected, dtype=float)
    try:
        values = np.asarray(_array(value), dtype=float)
    except (TypeError, ValueError, RuntimeError):
        raise Hint(f"{_kind(expected)} is expected, not {_kind(value)}") from None
    if values.shape != expected.shape:
        raise Hint(f"{_kind(expected)} is expected, not {_kind(values)}")
    hints = [h for other, h in ((expected, ""), *wrong) if np.allclose(values, other, 1e-5, atol, True)]
    if hint := [*hints, hint][0]:
        raise Hint(hint)


def choice(answer, right, hints):
    """Raise a hint unless the answer is `right`; `hints` maps each wrong choice to its hint."""
    answer = answer.strip().lower() if isinstance(answer, str) else answer
    if not isinstance(answer, (str, int, float)) or answer not in (right, *hints):
        raise Hint(f"{answer!r} is no choice: write one of {', '.join(map(repr, sorted([right, *hints])))}")
    if answer != right:
        raise Hint(hints[answer])


def _found(function, answers):
    """What a check says about answers: "right", or "not yet" with the hint."""
    try:
        if not answers or any(answer is None or answer is ... for answer in answers):
            raise Hint("there is no answer yet")
        function(*answers)
    except Hint as hint:
        return f"not yet: {' '.join(str(hint).split())}"
    except Exception as error:
        return f"not yet: the answer cannot be checked: {_line(error)}"
    return "right"


def _keep(name, function):
    """Keep a function that passed, and the cell that defines it for later lessons and kernels."""
    PASSED[name] = function
    written_in = getattr(getattr(function, "__code__", None), "co_filename", "")
    cell = "".join(linecache.getlines(written_in))
    if cell and not Path(written_in).is_file():
        try:
            ANSWERS.mkdir(exist_ok=True)
            (ANSWERS / f"{name}.py").write_text(cell, encoding="utf-8")
        except OSError as error:
            _say_once(f"your {name} serves this kernel only: {_line(error)}")


def _kept(name):
    """A function of an earlier lesson or kernel, if it still passes its check; else None."""
    path, check_it = ANSWERS / f"{name}.py", INSTEAD[name][0]
    if not path.is_file():
        return None
    names = {}
    try:
        exec(_imports(check_it.__module__), names)
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
        line = _found(check_it, [names.get(name)])
    except Exception as error:
        line = _line(error)
    if line != "right":
        _say_once(f"answers/{path.name} does not pass any more ({line})")
        return None
    PASSED[name] = names[name]
    return names[name]


def _imports(lesson):
    """The imports of a lesson's notebook as code."""
    sources = ["".join(cell["source"]) for _, cell in _cells(lesson) if cell["cell_type"] == "code"]
    nodes = [node for source in sources for node in ast.parse(source).body]
    lines = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    return compile(ast.Module(lines, []), lesson, "exec")


def _cells(lesson):
    """(the section's heading, cell) of a lesson's notebook."""
    for path in FOLDER.glob(f"{lesson[-2:]}_*.ipynb"):
        heading = ""
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                heading = [heading, *re.findall(r"^#+ (.+)$", "".join(cell["source"]), re.MULTILINE)][-1]
            yield heading, cell


@functools.cache
def _say_once(line):
    print(line)


def _line(error):
    """An exception in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")


def _array(value):
    """A list, a tuple or a tensor as an array, or as a number; anything else as it is."""
    value = value.detach().numpy() if hasattr(value, "detach") else value
    value = np.array(value) if isinstance(value, (list, tuple)) else value
    return value[()] if isinstance(value, np.ndarray) else value


def _kind(value):
    """A value in words: "a number", "an array of shape (3,)", "a string"."""
    if isinstance(value, (np.ndarray, np.generic)):
        return f"an array of shape {value.shape}" if np.ndim(value) else "a number"
    return f"a value of type {type(value).__name__}"


def _stopped(shell, kind, error, trace, tb_offset=None):
    """For IPython: answer an error in a lesson's own cell with one line, and in a student's as usual."""
    lessons = sorted(path.stem.partition("_")[0] for path in FOLDER.glob("[0-9][0-9]_*.ipynb"))
    code = {n: [(h, "".join(c["source"])) for h, c in _cells(n) if c["cell_type"] == "code"] for n in lessons}
    run = (shell.user_ns.get("In") or [""])[-1].strip()
    matching = [n for n in lessons if run and any(run == source.strip() for _, source in code[n])]
    loaded = [n for n in lessons if f"{__name__}.lesson_{n}" in sys.modules]
    defined = DEFINED.format(re.escape(getattr(error, "name", None) or " "))
    for heading, source in [cell for n in loaded or matching for cell in code[n]]:
        if isinstance(error, NameError) and re.search(defined, source, re.MULTILINE):
            return print(f"{error.name} is not there yet: first run the cells of the section “{heading}”")
    if matching:
        print(f"this cell stops ({_line(error)}): cells build on each other, so run all cells above it again")
    else:
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


if "IPython" in sys.modules and (shell := sys.modules["IPython"].get_ipython()):
    shell.set_custom_exc((Exception,), _stopped)
