"""What long work says: the progress bar of everything that takes more than seconds, and lines said once."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from tqdm import tqdm

_open: list = []  # the bars that are open, the one that is shown first
say_once = cache(print)  # a line once a process: models and data are loaded many times


def ignored(share):
    """The progress of work that nobody watches."""


@contextmanager
def bar(total, what, unit):
    """A progress bar with a rate and the remaining time, of `total` units of work.

    It stays silent for the first three seconds. Inside another bar it has no line of its own: how far it is
    stands behind the other's line, and what is inside both stays silent. On a terminal it is drawn; where the
    output is saved (a notebook run by papermill, a log file) it is a short line every 15 seconds, written to
    stdout because notebooks print stderr on red.

    Args:
        what: what is done, the text before the bar.
        unit: what is counted, in the singular.

    Yields:
        An object with `update(n)`.

    Example:
        >>> with bar(3, "adding", "number") as progress:
        ...     _ = progress.update(3)
    """
    terminal, units = sys.stderr.isatty(), f"{unit}es" if unit.endswith("s") else f"{unit}s"
    text = "{desc}: {n:.0f}/{total:.0f} " + units + " in {elapsed}, {remaining} left, {rate_fmt}{postfix} "
    place = {"file": sys.stderr} if terminal else {"file": sys.stdout, "bar_format": text}
    # miniters: or a bar that stands still is not drawn again
    # smoothing: or a bar with another one inside it has the rate of the seconds since its last line
    often = {"delay": 3, "mininterval": 1 if terminal else 15, "miniters": 0, "smoothing": 0}
    with tqdm(total=total, desc=what, unit=unit, disable=bool(_open), **place, **often) as progress:
        inner = _Inner(_open[0], what, f"{total:.0f} {units}") if len(_open) == 1 else progress
        _open.append(progress)
        try:
            yield inner
        finally:
            _open.remove(progress)
            if len(_open) == 1:
                _open[0].set_postfix_str("", refresh=False)


@dataclass
class _Inner:
    """A bar inside another one, which says how far it is."""

    outer: tqdm
    what: str
    total: str
    n: float = 0

    def update(self, n=1):
        self.n += n
        self.outer.set_postfix_str(f"{self.what} {self.n:.0f}/{self.total}", refresh=False)
        self.outer.update(0)


@contextmanager
def silent() -> Iterator[None]:
    """Inside, no progress bar is shown."""
    _open.append(tqdm(disable=True))
    try:
        yield
    finally:
        _open.pop()
