"""A data set that only the user has as the task of a paper: a file or a folder, named by its path.

Its tables have the columns text and label, and text_b (never masked or scored) and evidence where they are
known; of prompts text, and target where an answer is given. A folder holds a file for each split; one file is
divided here into the splits that a paper trains, chooses and tests on.
"""

import re
from pathlib import Path

from faithlib.tasks.table import SPLITS, SUFFIXES

SHARES = {"test": 0.15, "validation": 0.15}  # of all rows, where there is no such split
COLUMNS = {"classification": ("text_b", "label", "evidence"), "prompts": ("target", "evidence")}


def is_path(task):
    """Whether a task is named by a path, not by the name of a row of `TASKS`.

    Example:
        >>> is_path("mine/reviews.csv"), is_path("./mine"), is_path("sst")
        (True, True, False)
    """
    return isinstance(task, str) and bool(re.search(r"[/\\]", task) or task.lower().endswith(SUFFIXES))


def task_slug(task):
    """The name of a task as records and tables show it: of a path its last part, without the suffix.

    Example:
        >>> task_slug("mine/our reviews.csv"), task_slug("sst")
        ('our-reviews', 'sst')
    """
    if not is_path(task):
        return task
    last = re.split(r"[/\\]", task.rstrip("/\\"))[-1]
    stem = last[: last.rindex(".")] if last.lower().endswith(SUFFIXES) else last
    return re.sub(r"[^\w-]+", "-", stem).strip("-") or "data"


def find(task):
    """The path of a task; FileNotFoundError where there is no such file or folder."""
    path = Path(task).expanduser()
    if not path.exists():
        raise FileNotFoundError(
            f"task={task!r}: unknown task, and there is no such file or folder: check the path"
        )
    return path


def read(task, kind="classification"):
    """(Task, {split: DataFrame}, provenance) of a task that is named by its path, divided into splits.

    Args:
        task: a file or a folder, as a parameter of an experiment.
        kind: "classification" or "prompts", what the paper explains.

    Raises:
        FileNotFoundError: there is no such file or folder.
        ValueError: no column text, or label; what `tasks.load_data` refuses; too few rows of a class.
    """
    from faithlib.tasks import tables  # it reads all kinds of data, this module names them

    path = find(task)
    columns = named(path, kind)
    if kind == "classification" and "label" not in columns:
        there = _there(path)
        raise ValueError(
            f"{path.name} has no column 'label', only {', '.join(there)}: give each text a label, or rename "
            "the column that holds it"
        )
    task, frames, origin = tables.read(path, **columns)
    origin = {"file": path.name, "source_rows": origin["source_rows"]}
    if kind == "prompts":
        return task, {"test": frames.get("test", next(iter(frames.values())))}, origin
    if path.is_file():
        frames = {"train": frames["test"]}
    if missing := [split for split in SPLITS if split not in frames]:
        frames = _divided(frames, missing, path)
        origin["drawn"] = {split: SHARES[split] for split in missing}
        rows = ", ".join(f"{len(frames[split])} {split}" for split in SPLITS)
        print(f"{path.name} has no split {' or '.join(missing)}: drawn from its rows for all seeds: {rows}")
    return task, {split: frames[split] for split in SPLITS}, origin


def named(path, kind):
    """The columns, besides text, that papers of a kind read of one's own data by name: {name: name}."""
    there = _there(path)
    return {name: name for name in COLUMNS[kind] if name in there}


def _there(path):
    """The columns that all tables of a file or a folder have."""
    from faithlib.tasks import tables

    tables_read = tables.read_source(path)[2].values()
    return [str(name) for name in next(iter(tables_read)) if all(name in table for table in tables_read)]


def _divided(frames, missing, path):
    """The frames and the splits that are missing, drawn from train with the same shares of classes."""
    from sklearn.model_selection import train_test_split

    if "train" in missing:
        raise ValueError(f"{path.name} has no split 'train', which a paper trains on: add train.csv")
    rest, frames_of = frames["train"], {split: frame for split, frame in frames.items() if split != "train"}
    rows = len(rest)
    for split in missing:
        try:
            rest, frames_of[split] = train_test_split(
                rest, test_size=round(SHARES[split] * rows), random_state=0, stratify=rest["label"]
            )
        except ValueError:
            raise ValueError(
                f"{path.name} has {rows} rows, {frames['train']['label'].value_counts().min()} of the rarest "
                f"class: too few to draw {split}; give more rows, or a folder with {', '.join(SPLITS)}"
            ) from None
    frames_of["train"] = rest
    return {split: frame.sort_index().reset_index(drop=True) for split, frame in frames_of.items()}
