"""What is known by name: attributions, metrics, tasks. Nothing here loads torch."""

import tomllib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from faithlib.scores import one_of, suggestion


class Registry(Mapping):
    """Entries by name, in the order in which they joined; it reads like a dictionary.

    `kind` is what an entry is called in messages, such as "metric".

    Example:
        >>> from types import SimpleNamespace
        >>> metrics = Registry("metric")
        >>> metrics.add(SimpleNamespace(name="ns", place="erasure:ns", better="higher"))
        >>> list(metrics), metrics["ns"].better
        (['ns'], 'higher')
    """

    def __init__(self, kind: str):
        self.kind = kind
        self._entries: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def names(self) -> list[str]:
        """All names, in the order of the tables."""
        return list(self)

    def add(self, entry: Any, **allowed: Collection) -> None:
        """Add an entry, which has a `name` and a `place` where it is written.

        One of the same place as the entry of its name replaces it: a notebook's cell may run again. `allowed`
        is {field: the values that it may have}; a field may hold a tuple of them.

        Raises:
            ValueError: a name that is none or stands elsewhere, no function, a field with another value.
        """
        name, present = entry.name, self.get(entry.name)
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"{self.kind} {name!r}: give a name of letters, digits and _")
        if not callable(function := getattr(entry, "function", "")) and not isinstance(function, str):
            raise ValueError(f"{self.kind} {name!r}: {function!r} is no function: decorate one")
        if present and present.place != entry.place:
            raise ValueError(f"{self.kind} {name!r} is {present.place} already: choose another name")
        for field, values in allowed.items():
            value_of_field = getattr(entry, field)
            for value in value_of_field if isinstance(value_of_field, tuple) else (value_of_field,):
                one_of(f"{self.kind} {name!r}: {field}", value, values)
        self._entries[name] = entry

    def find(self, name: str) -> Any:
        """The entry of a name; ValueError, with the nearest name, for an unknown one."""
        if name not in self._entries:
            fix = f"{suggestion(name, sorted(self))}; add your own by importing the file that registers it"
            raise ValueError(f"{self.kind} {name!r} is unknown: {fix}")
        return self._entries[name]

    def remove(self, name: str) -> None:
        """Take a name off the list: for tests and examples."""
        del self._entries[name]


def read_rows(path):
    """The rows of a TOML file that lists entries: [(name, {field: value})], lists as tuples."""
    rows = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    return [(name, {key: _frozen(value) for key, value in row.items()}) for name, row in rows.items()]


def _frozen(value):
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


class Named:
    """What a registered function has: `name` and `function`, itself or "module:function" of its package."""

    @property
    def place(self):
        """Where the function is written."""
        function = self.function
        return f"{function.__module__}.{function.__qualname__}" if callable(function) else function

    def resolve(self):
        """The function, imported if need be."""
        package = type(self).__module__.rpartition(".")[0]
        return self.function if callable(self.function) else resolve_name(f"{package}.{self.function}")
