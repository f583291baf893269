"""A data set that only the user has as the task of a paper: a file or a folder, named by its path.

What such files hold says `faithlib.tasks.own`, which reads them; here they get the splits that a paper
trains, chooses and tests on. Nothing here is imported that takes long.
"""

import re
from pathlib import Path

SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl")
SHARES = {"validation": 0.15, "test": 0.15}  # of all rows, where the files leave a split out


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


def find(task, root="."):
    """The path of a task, absolute or from the project's root.

    Raises:
        FileNotFoundError: there is no such file or folder.
    """
    path = Path(root, Path(task).expanduser())
    if not path.exists():
        raise FileNotFoundError(
            f"task={task!r}: there is no such file or folder: check the path, or name a task"
        )
    return path
