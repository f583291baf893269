"""`load`: one data set from the hub, a local mirror or a generator, in the splits of one paper.

Everything a user can get wrong is checked first and told in one line. Rows travel as pandas frames and become
`datasets.Dataset`s at the end.
"""

import difflib
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import datasets
import numpy as np
import pandas as pd

from faithlib import corpora
from faithlib.tasks.sources import read_hub, read_mirror, tidy
from faithlib.tasks.splits import split_rows, subset
from faithlib.tasks.table import PAPERS, SPLITS, TASKS, Task


@dataclass
class Loaded:
    """A loaded data set; columns text, text_b, label (prompts: text, target), where known also evidence and pos."""

    task: Task
    splits: dict  # {split: datasets.Dataset}
    source: str  # "generated", "mirror" or "hub"
    provenance: dict  # where the rows come from, and rows and sha256 of each split
    differences: list  # {split, rows, published, note} where the size is not the paper's


def load(name, paper=None, data_dir=None, seed=0, sizes=None):
    """Load the task `name`, split as `paper` splits it (None: the first paper of the row).

    Generated tasks ignore `data_dir` and are made from `seed` with `sizes` examples a split. Real tasks are read from
    `<data_dir>/<name>/<split>.parquet` where `data_dir` is given, else from the hub; `sizes` then keeps that many
    examples of a split, drawn with `seed` and left in their order. `sizes` = {split: n}; a split that is missing or 0
    has its default size, or all rows.

    Raises ValueError (unknown name, paper, split or size; no source; bad rows), FileNotFoundError (no such folder, task
    or split) or ConnectionError (the hub does not answer), each with one line that says what to do.
    """
    task = _find(name)
    paper = _check_paper(task, paper)
    sizes = _check_sizes(task, sizes, seed)
    if task.generated:
        source, origin = "generated", {"generator": name, "seed": int(seed)}
        frames = {s: pd.DataFrame(rows) for s, rows in _generate(task, seed, sizes).items()}
        whole = {split: len(frame) for split, frame in frames.items()}
    else:
        recipe = task.papers[paper].recipe
        if data_dir in (None, ""):
            source, (found, origin) = "hub", read_hub(task, recipe)
        else:
            source, (found, origin) = "mirror", read_mirror(task, recipe, Path(data_dir))
        frames = split_rows(
            recipe, {split: tidy(task, split, rows) for split, rows in found.items()}
        )
        whole = {split: len(frame) for split, frame in frames.items()}
        _check_available(task, sizes, whole)
        for split, size in sizes.items():
            frames[split] = subset(frames[split], size, seed)
        origin |= {"subset_seed": int(seed)} if sizes else {}
    _check_classes(task, frames)
    provenance = {"source": source, "task": name, "paper": paper, **origin}
    provenance["rows"] = {split: len(frame) for split, frame in frames.items()}
    provenance["sha256"] = {split: _sha256(frame) for split, frame in frames.items()}
    splits = {s: datasets.Dataset.from_pandas(f, preserve_index=False) for s, f in frames.items()}
    return Loaded(task, splits, source, provenance, _differences(task, paper, frames, whole))


def _generate(task, seed, sizes):
    return corpora.make(task.name, int(seed), {**corpora.SIZES, **sizes})


# What may be asked for ------------------------------------------------------------------------------------------------


def _find(name):
    if isinstance(name, str) and name in TASKS:
        return TASKS[name]
    close = difflib.get_close_matches(str(name), TASKS, n=3)
    hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    raise ValueError(f"unknown task {name!r}: {hint}known tasks: {', '.join(sorted(TASKS))}")


def _check_paper(task, paper):
    if paper is None:
        return next(iter(task.papers), None)
    allowed = PAPERS if task.generated else tuple(task.papers)
    if paper not in allowed:
        raise ValueError(
            f"unknown paper {paper!r} for task {task.name!r}: allowed are {', '.join(allowed)}, or None for the first"
        )
    return paper


def _check_sizes(task, sizes, seed):
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed {seed!r} is not allowed: give a whole number, 0 or larger")
    if not isinstance(sizes, dict | None):
        raise ValueError(
            f"sizes {sizes!r} is not allowed: give a dict such as {{'train': 2000, 'test': 300}}"
        )
    largest = corpora.LARGEST if task.generated else None
    for split, size in (sizes or {}).items():
        if split not in SPLITS:
            raise ValueError(f"unknown split {split!r} in sizes: allowed are {', '.join(SPLITS)}")
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
            raise ValueError(
                f"sizes[{split!r}] = {size!r} is not allowed: give a whole number, 0 for all"
            )
        if largest and size > largest:
            raise ValueError(
                f"sizes[{split!r}] = {size} is too large for a generated task: at most {largest}"
            )
    return {split: int(size) for split, size in (sizes or {}).items() if size}


# What came out --------------------------------------------------------------------------------------------------------


def _check_available(task, sizes, whole):
    for split, size in sizes.items():
        if size > whole.get(split, 0):
            raise ValueError(
                f"sizes[{split!r}] = {size} is more than task {task.name!r} has: {whole.get(split, 0)} rows; ask for "
                f"fewer, or leave the split out for all"
            )


def _check_classes(task, frames):
    for split, frame in frames.items():
        present = set(frame["label"]) if task.labels else set()
        absent = [label for i, label in enumerate(task.labels) if i not in present]
        if absent:
            raise ValueError(
                f"split {split!r} of task {task.name!r} has no example of class {' or '.join(map(repr, absent))} in its "
                f"{len(frame)} rows: ask for more rows, or add some to the file"
            )


def _differences(task, paper, frames, whole):
    """Rows {split, rows, published, note}, one for each split whose size is not the one that the paper prints."""
    if task.generated:
        return []
    found, use = [], task.papers[paper]
    for split, published in zip(SPLITS, use.sizes, strict=True):
        rows = len(frames.get(split, ()))
        if published is None or rows == published:
            continue
        note = (
            f"{rows} drawn from {whole[split]} rows"
            if rows < whole[split]
            else f"the source has {rows} rows"
        )
        if whole[split] != published and use.note:
            note += f"; {use.note}"
        found.append({"split": split, "rows": rows, "published": published, "note": note})
    return found


def _sha256(frame):
    """Hash of what a model sees, row by row, so that two sources can be compared."""
    names = [name for name in ("text", "text_b", "label", "target") if name in frame]
    digest = hashlib.sha256()
    for row in zip(*(frame[name] for name in names), strict=True):
        digest.update(json.dumps([str(value) for value in row]).encode() + b"\n")
    return digest.hexdigest()
