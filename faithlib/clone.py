"""The clone of the project: its packages `notebooks` and `replication` are not in what pip installs.

Importing this module puts the clone on the path: that in which faithlib stands, else that in which one works.
"""

import sys
from pathlib import Path

PARTS = ("notebooks", "replication")


def root():
    """The root of the clone, or None."""
    here = Path.cwd()
    for folder in (Path(__file__).resolve().parents[1], here, *here.parents):
        if all((folder / part / "__init__.py").is_file() for part in PARTS):
            return folder
    return None


def enter() -> Path:
    """Put the clone on the path; ValueError where there is none."""
    folder = root()
    if folder is None:
        raise ValueError(
            "this needs a clone of the project, as pip installs faithlib without the papers: change into the "
            "clone's folder and run the command again"
        )
    for part in PARTS:
        other = getattr(sys.modules.get(part), "__file__", None)
        if other and Path(other).resolve().parent != folder / part:
            raise ValueError(
                f"{other} has the name of the project's package {part}: start again in another folder, or "
                "rename it"
            )
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))  # before a folder of this name where one works
    return folder


enter()
