"""Finished chunks of a study as files, so that a study that was stopped goes on."""

import hashlib
import inspect
import pickle
import re
import sys
from functools import cached_property, partial
from pathlib import Path
from uuid import uuid4

import numpy as np
import pandas as pd

from faithlib.provenance import file_digest, weights_digest
from faithlib.store import Store

OTHERS = ("faithlib", "transformers", "torch", "peft")  # packages whose classes a version tells


class Chunks:
    """The chunks of one model on a block of texts: scores of an attribution, values of it and a metric.

    folder: where the files are, None to keep nothing; about: what every chunk depends on, as of `Store`.
    """

    def __init__(self, folder, *about):
        self.store = Store(folder, ("study/study.py", "metrics"), *about)

    def scores(self, name, function, settings, compute, notes):
        """compute()[name], [(tokens,)], or what was kept of it and of `notes`, which compute fills."""
        if self.store.folder is None:
            return compute()[name]

        def make():
            columns = {"scores": [list(map(float, row)) for row in compute()[name]]}
            return pd.DataFrame(columns | notes)

        about = name, source(function), sorted(settings.items())
        frame = self.store.table(_file(name, "scores"), make, *about)
        notes.update({note: np.array(frame[note]) for note in set(frame) - {"scores"}})
        return [np.array(row, float) for row in frame.scores]

    def values(self, name, metric, function, scores, compute):
        """compute(), a DataFrame of values of one attribution and metric, or what an earlier run kept."""
        if self.store.folder is None:
            return compute()
        of_texts = [np.asarray(row, float) for row in scores]
        return self.store.table(_file(name, metric), compute, name, source(function), of_texts)


def _file(name, what):
    """The start of a file's name: a name of a user's own is no path."""
    return re.sub(r"\W+", "-", name) + f".{what}"


def identity(model):
    """What tells a model from others: weights, config, dtype; of one's own code its text and plain values."""
    classes = [of for of in (type(model), type(model.model)) if of.__module__.partition(".")[0] not in OTHERS]
    methods = [source(method) for of in classes for method in vars(of).values() if inspect.isfunction(method)]
    replaced = [vars(module).get("forward") for module in getattr(model.model, "modules", list)()]
    methods += [source(f) for f in replaced if f and str(f.__module__).partition(".")[0] not in OTHERS]
    facts = {name: str(getattr(model, name, "")) for name in ("dtype", "mask_id", "pad_id")}
    for name, value in vars(model).items() if classes else ():
        kept = name == "tokens_that_fit" or isinstance(getattr(type(model), name, None), cached_property)
        if isinstance(value, (str, int, float)) and not kept:
            facts[name] = value
    return [weights_digest(model.model), str(getattr(model.model, "config", "")), facts, methods]


def check(folder):
    """Raise ValueError for a `resume` that is no folder and cannot become one."""
    if folder is None:
        return
    named = isinstance(folder, (str, Path)) and str(folder)
    if not named or Path(folder).exists() and not Path(folder).is_dir():
        raise ValueError(f"resume={folder!r}: give the folder that keeps what is finished")


def source(function, seen=()):
    """What a function of one's own depends on: its text, files and state; its name where it is built in.

    The files are its module's and those that this one uses of the same folder or the working folder; the
    state is what it was bound to, its defaults, closure and attributes, and the globals that it reads, with
    the `source` of functions of its module (but of those `seen`). What cannot be compared, such as a lock,
    makes each call another one, so that nothing is read back.
    """
    if isinstance(function, str):
        return function
    function, bound = inspect.unwrap(function), ()
    if isinstance(function, partial):
        function, bound = function.func, (function.args, function.keywords)
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    names = "__defaults__", "__kwdefaults__", "__dict__", "__self__"
    held = [getattr(function, name, None) for name in names]
    code, new = getattr(function, "__code__", None), uuid4().hex
    values, functions = _globals(function) if code else ((), ())
    seen = (*seen, function)
    held += [values, *(source(f, seen) for f in functions if f not in seen)]
    try:
        state = hashlib.sha256(pickle.dumps([bound, cells, held])).hexdigest()
    except (pickle.PicklingError, TypeError, AttributeError, RuntimeError):
        state = new
    written = function if code else type(function)
    try:
        text, file = inspect.getsource(written), inspect.getsourcefile(written)
    except (OSError, TypeError):  # typed into a terminal
        return [[code.co_code.hex(), repr(code.co_consts), code.co_names] if code else new, state]
    return [text, _files(Path(file), getattr(function, "__globals__", {})), state]


def _globals(function):
    """What a function, and those within it, read of its module: (values, functions defined there)."""
    waiting, names = [function.__code__], set()
    for code in waiting:
        names |= {*code.co_names}
        waiting += [inner for inner in code.co_consts if inspect.iscode(inner)]
    read = [function.__globals__[name] for name in sorted(names & {*function.__globals__})]
    functions = [v for v in read if inspect.isfunction(v) and v.__module__ == function.__module__]
    values = [v for v in read if not inspect.ismodule(v) and not any(v is f for f in functions)]
    return values, functions


def _files(file, names):
    """[[name, hash]] of a file and of the modules that `names`, its globals, come from, and theirs."""
    digests, waiting = {}, [(file, names)]
    while waiting:
        path, names = waiting.pop()
        if path in digests:
            continue
        digests[path] = file_digest(path) if path.is_file() else ""  # a cell of a notebook has none
        for value in list(names.values()):
            name = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
            module = sys.modules.get(name) if isinstance(name, str) else None
            other = Path(getattr(module, "__file__", None) or "")
            if other.parent in (file.parent, Path.cwd()):
                waiting.append((other, vars(module)))
    return sorted([path.name, digest] for path, digest in digests.items())
