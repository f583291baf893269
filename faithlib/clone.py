"""The clone of the project: its packages `notebooks` and `replication` are not in what pip installs.

Importing this module puts the clone on the path, where there is one: that in which faithlib stands,
else that in which one works.
"""

import sys
from pathlib import Path

PARTS = ("notebooks", "replication", "workflow")
MISSING = (
    "{what} is not here: it is in a clone of the project, not in what pip installs; go into its folder and "
    "give the command again"
)


def root():
    """The root of the clone, or None."""
    here = Path.cwd()
    for folder in (Path(__file__).resolve().parents[1], here, *here.parents):
        if all((folder / part).is_dir() for part in PARTS):
            return folder
    return None


def enter(what="this"):
    """The root of the clone, which is on the path then.

    Args:
        what: that needs it, for the message.

    Raises:
        ValueError: there is none.
    """
    found = root()
    if found is None:
        raise ValueError(MISSING.format(what=what))
    if str(found) not in sys.path:
        sys.path.insert(0, str(found))  # before a folder of this name where one works
    return found


if root():
    enter()
