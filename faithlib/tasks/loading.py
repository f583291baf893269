"""`load`: one data set from the hub, a local mirror or a generator, split as its row or a paper says."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import pandas as pd

from faithlib import corpora
from faithlib.progress import say_once
from faithlib.scores import whole
from faithlib.tasks import files
from faithlib.tasks.sources import read_hub, read_mirror, tidy
from faithlib.tasks.splits import split_rows, subset
from faithlib.tasks.table import SPLITS, TASKS, Task, Use


@dataclass
class Loaded:
    """A loaded data set: columns text, text_b, label, and evidence and pos where they are known.

    Prompt sets have text and target ("" where no next word is given) instead.
    """

    task: Task
    splits: dict  # {split: datasets.Dataset}
    source: str  # "generated", "mirror", "hub", "file", "folder" or "memory"
    provenance: dict  # where the rows come from; rows and sha256 of each split
    differences: list  # {split, rows, published, note} where the size is not the paper's


def load(
    name: str, card: Any = None, data_dir: str | Path | None = None, seed: int = 0, sizes: dict | None = None
) -> Loaded:
    """Load the task `name`, split as a paper does it (`card`, of `papers.card`), or as its own row says.

    Generated tasks ignore `data_dir`; they are made from `seed`, with `sizes` examples a split. Real tasks
    are read from `<data_dir>/<name>/<split>.parquet` where `data_dir` is given, else from the hub; `sizes`
    then keeps that many examples of a split, drawn with `seed`, in their order. `sizes` = {split: n}; a split
    that is missing or 0 keeps its default size, or all rows. A path names a data set that only you have; see
    `tasks.files`.

    Raises ValueError (unknown name, split or size, a task that the paper cannot explain; no source; bad
    rows), FileNotFoundError (no such folder, task or split) and ConnectionError (no answer from the hub).
    """
    of_user = files.is_path(name)
    if of_user:
        task, frames, origin = files.read(name, card.kind if card else "classification")
        use = Use()
    else:
        task = TASKS.find(name)
        use = card.use(task.name) if card else Use(task.recipe, task.metric)
    sizes = check_sizes(task, sizes, seed)
    if of_user:
        source = "file"
        frames, whole, origin = subsets(task, frames, sizes, seed, origin)
    elif task.generated:
        source, origin = "generated", {"generator": name, "seed": int(seed)}
        made = corpora.make(name, int(seed), {**corpora.SIZES, **sizes})
        frames = {split: pd.DataFrame(rows) for split, rows in made.items()}
        whole = {split: len(frame) for split, frame in frames.items()}
    else:
        recipe = use.recipe
        if data_dir in (None, ""):
            source, (sources, origin) = "hub", read_hub(task, recipe)
        else:
            source, (sources, origin) = "mirror", read_mirror(task, recipe, _folder(data_dir))
        origin["source_rows"] = {split: len(rows) for split, rows in sources.items()}
        sources = {split: tidy(task, split, rows) for split, rows in sources.items()}
        frames, whole, origin = subsets(task, split_rows(recipe, sources), sizes, seed, origin)
    _check_classes(task, frames)
    about = {"source": source, "task": files.task_slug(name), "paper": card.name if card else None}
    return loaded(task, frames, about | origin, _differences(task, use, frames, whole))


def loaded(task, frames, provenance, differences=()):
    """The `Loaded` of frames, whose rows and hashes join the provenance."""
    provenance["rows"] = {split: len(frame) for split, frame in frames.items()}
    provenance["sha256"] = {split: hash_rows(frame) for split, frame in frames.items()}
    splits = {split: _rows(frame, task.labels) for split, frame in frames.items()}
    return Loaded(task, splits, provenance["source"], provenance, list(differences))


def _rows(frame, labels):
    """A frame as a Dataset, a part of which knows the names of its classes, too."""
    rows = datasets.Dataset.from_pandas(frame, preserve_index=False)
    if not labels:
        return rows
    features = datasets.Features(rows.features | {"label": datasets.ClassLabel(names=list(labels))})
    return datasets.Dataset.from_pandas(frame, features, preserve_index=False)


# What was asked for -------------------------------------------------------------------------------


def _folder(data_dir):
    if not isinstance(data_dir, str | Path):
        raise ValueError(f"data_dir {data_dir!r} is not a path: give the folder of the data sets")
    return Path(data_dir)


def check_sizes(task, sizes, seed):
    """`sizes` as {split: int} without zeros; ValueError for a split, size or seed that is not allowed."""
    whole("seed", seed)
    if not isinstance(sizes, dict | None):
        raise ValueError(f"sizes={sizes!r}: give a dict such as {{'train': 2000, 'test': 300}}")
    for split, size in (sizes or {}).items():
        if split not in SPLITS:
            raise ValueError(f"unknown split {split!r} in sizes: allowed are {', '.join(SPLITS)}")
        whole(f"sizes[{split!r}]", size)  # 0 for all
        if task.generated and size > corpora.LARGEST:
            raise ValueError(
                f"sizes[{split!r}] = {size} is too large for the generated task {task.name!r}: "
                f"at most {corpora.LARGEST}"
            )
    return {split: int(size) for split, size in (sizes or {}).items() if size}


# What came out ------------------------------------------------------------------------------------


def subsets(task, frames, sizes, seed, origin):
    """(frames of these sizes, rows of the whole ones, provenance); a size above what there is means all."""
    whole = {split: len(frame) for split, frame in frames.items()}
    for split, size in sizes.items():
        if split not in frames:
            if task.kind != "prompts":
                raise ValueError(f"sizes[{split!r}] = {size}: task {task.name!r} has no such split: drop it")
        elif size > whole[split]:
            say_once(f"{task.name} has {whole[split]} rows of {split}, fewer than {size}: all are used")
        elif size < whole[split]:
            frames[split] = subset(frames[split], size, seed)
    return frames, whole, origin | ({"subset_seed": int(seed)} if sizes else {})


def _check_classes(task, frames):
    for split, frame in frames.items():
        present = set(frame["label"]) if task.labels else set()
        absent = [label for i, label in enumerate(task.labels) if i not in present]
        if absent:
            raise ValueError(
                f"split {split!r} of task {task.name!r} has no example of class "
                f"{' or '.join(map(repr, absent))} in its {len(frame)} rows: ask for more rows, "
                f"or add some to the source"
            )


def _differences(task, use, frames, whole):
    """Rows {split, rows, published, note} for each split whose size is not the printed one."""
    if task.generated:
        return []
    rows_of = []
    for split, published in zip(SPLITS, use.sizes, strict=True):
        rows = len(frames.get(split, ()))
        if published is None or rows == published:
            continue
        drawn = rows < whole[split]
        note = f"drawn from {whole[split]} rows" if drawn else "all rows that the source has"
        if use.note and whole[split] != published:
            note += f"; {use.note}"
        rows_of.append({"split": split, "rows": rows, "published": published, "note": note})
    return rows_of


def hash_rows(frame):
    """Hash of what a model sees, row by row, so that two sources can be compared."""
    names = [name for name in ("text", "text_b", "label", "target", "contrast") if name in frame]
    digest = hashlib.sha256()
    for row in zip(*(frame[name] for name in names), strict=True):
        digest.update(json.dumps([str(value) for value in row]).encode() + b"\n")
    return digest.hexdigest()
