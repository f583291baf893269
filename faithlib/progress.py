"""The progress bar of everything that takes longer than a few seconds."""

import sys
from contextlib import contextmanager

from tqdm import tqdm

_open = []  # the bars that are open: only the first is shown


@contextmanager
def bar(total, what, unit):
    """A progress bar with a rate and the remaining time.

    It stays silent for the first three seconds, and inside another bar. On a terminal it is drawn; where the
    output is saved (a notebook run by papermill, a log file) it is a short line every 15 seconds, written to
    stdout because notebooks print stderr on red.

    Args:
        total: how many units of work there are; a float is allowed.
        what: what is done, the text before the bar.
        unit: what is counted, in the singular.

    Yields:
        The `tqdm` bar; call its `update(n)`.

    Example:
        >>> with bar(3, "adding", "number") as progress:
        ...     for _ in range(3):
        ...         _ = progress.update(1)
    """
    terminal, nested = sys.stderr.isatty(), bool(_open)
    text = "{desc}: {n:.0f}/{total:.0f} {unit}s in {elapsed}, {remaining} left, {rate_fmt} "
    with tqdm(
        total=total,
        desc=what,
        unit=unit,
        file=sys.stderr if terminal else sys.stdout,
        disable=nested,
        delay=3,
        mininterval=1 if terminal else 15,
        bar_format=None if terminal else text,
    ) as progress:
        _open.append(progress)
        try:
            yield progress
        finally:
            _open.remove(progress)


@contextmanager
def silent():
    """Inside, no progress bar is shown.

    Example:
        >>> with silent(), bar(3, "adding", "number") as progress:
        ...     _ = progress.update(3)
    """
    _open.append(tqdm(disable=True))
    try:
        yield
    finally:
        _open.pop()
