"""Finished chunks of a study as files, so that a study that was stopped goes on."""

import hashlib
import inspect
import pickle
import re
import sys
from functools import partial
from pathlib import Path
from uuid import uuid4

import numpy as np
import pandas as pd

from faithlib.provenance import code_digest, weights_digest
from faithlib.store import digest, file_digest, read_part, write_parquet

CODE = (
    "attributions", "engine", "metrics", "models", "study", "scores.py",
)  # fmt: skip


class Chunks:
    """The chunks of one model on a block of texts: scores of an attribution, values of it and a metric.

    A chunk is found again only where model, texts, targets, seed, settings and code are the same.

    Args:
        folder: where the files are, or None to keep nothing.
        model: what tells the model: its digest and dtype, of `told`.
        encodings, targets: what is explained.
        about: further plain values that every chunk depends on.

    Raises:
        ValueError: the folder is a file.
    """

    def __init__(self, folder, model, encodings, targets, **about):
        self.folder = folder and Path(folder)
        if not self.folder:
            return
        texts = hashlib.sha256()
        for e in encodings:
            for field in (e.ids, e.types, e.maskable):
                texts.update(np.ascontiguousarray(field).tobytes())
        explained = (targets.listed, targets.contrast)
        self.key = (
            model,
            texts.hexdigest(),
            str(explained),
            code_digest(*CODE),
            sorted(about.items(), key=str),
        )

    def scores(self, name, function, settings, encodings, compute, notes):
        """compute(), [(tokens,)] of each text, or what was kept of it and of `notes`, which it fills."""
        if not self.folder:
            return compute()
        path = self._path(name, "scores", source(function), sorted(settings.items()))
        if (kept := read_part(path)) is not None and len(kept) == len(encodings):
            notes.update({note: np.array(kept[note]) for note in set(kept) - {"scores"}})
            return [np.array(row, float) for row in kept.scores]
        found = compute()
        columns = {"scores": [list(map(float, row)) for row in found]}
        write_parquet(path, pd.DataFrame(columns | notes))
        return found

    def values(self, name, metric, scores, compute):
        """compute(), a DataFrame of values of one attribution and metric, or what an earlier run kept."""
        if not self.folder:
            return compute()
        given = hashlib.sha256(b"".join(np.asarray(s, float).tobytes() for s in scores)).hexdigest()
        path = self._path(name, metric.name, source(metric.function), given)
        if (kept := read_part(path)) is not None:
            return kept
        found = compute()
        write_parquet(path, found)
        return found

    def _path(self, name, what, *about):
        shown = re.sub(r"\W+", "-", name)  # a name is no path
        return self.folder / f"{shown}.{what}.{digest([self.key, name, what, *about])[:16]}.parquet"


def told(model):
    """What tells a model from others: [digest of its weights, dtype]."""
    return [weights_digest(model.model), str(getattr(model, "dtype", ""))]


def check(folder):
    """Raise ValueError for a `resume` that is no folder and cannot become one."""
    if folder is None:
        return
    if not isinstance(folder, (str, Path)) or not str(folder):
        raise ValueError(f"resume={folder!r}: give the folder that keeps what is finished")
    if Path(folder).exists() and not Path(folder).is_dir():
        raise ValueError(f"resume={str(folder)!r} is a file: give a folder")


def source(function):
    """What a function of one's own depends on: its text, files and state; its name where it is built in.

    The files are its module's and those that this one uses of the same folder or the working folder. The
    state is what it was bound to, its defaults, closure and attributes. What cannot be compared, such as a
    lock or a function inside a function, makes each call another one, so that nothing is read back.
    """
    if isinstance(function, str):
        return function
    function, bound = inspect.unwrap(function), ()
    if isinstance(function, partial):
        function, bound = function.func, (function.args, function.keywords)
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    held = [getattr(function, name, None) for name in ("__defaults__", "__kwdefaults__", "__dict__")]
    code, new = getattr(function, "__code__", None), uuid4().hex
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


def _files(file, names):
    """[[name, hash]] of a file and of the modules that `names`, its globals, come from, and theirs."""
    found, waiting = {}, [(file, names)]
    while waiting:
        path, names = waiting.pop()
        if path in found:
            continue
        found[path] = file_digest(path) if path.is_file() else ""  # a cell of a notebook has none
        for value in list(names.values()):
            name = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
            module = sys.modules.get(name) if isinstance(name, str) else None
            other = Path(getattr(module, "__file__", None) or "")
            if other.parent in (file.parent, Path.cwd()):
                waiting.append((other, vars(module)))
    return sorted([path.name, digest] for path, digest in found.items())
