"""The attributions of a study: registered names, functions that join for one call, and scores given."""

from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from inspect import signature

import torch

from faithlib.attributions import registry
from faithlib.engine.forward import padded

COLUMNS = ("example", "position", "token", "maskable", "word")  # of the saved scores, beside attributions


@dataclass
class Methods:
    """What a study explains with: registered names, and scores from elsewhere, by name in the table."""

    computed: dict = field(default_factory=dict)
    scores: dict = field(default_factory=dict)
    order: list = field(default_factory=list)

    @property
    def names(self):
        """The registered names, each once."""
        return list(dict.fromkeys(self.computed.values()))


@contextmanager
def joined(wanted):
    """Inside, all attributions that are asked for are registered: `Methods`.

    wanted: a list of names and functions (model, batch, target) -> scores (batch, tokens), or {name: a
    registered name, a function or scores of all texts}. Raises ValueError for none, a name given twice, an
    unknown one, a function that cannot be called or has the name of another.

    Example:
        >>> def first(model, batch, target):
        ...     return batch.maskable * 1.0
        >>> with joined(["lime", first]) as methods:
        ...     methods.computed
        {'lime': 'lime', 'first': 'first'}
    """
    methods, added = Methods(), []
    try:
        for name, what in _pairs(wanted):
            if name in methods.order:
                raise ValueError(f"attribution {name!r} is given twice: give each once")
            methods.order.append(name)
            if isinstance(what, str):
                methods.computed[name] = registry.get(what).name
            elif callable(what):
                methods.computed[name] = _register(name, what, added)
            else:
                methods.scores[name] = list(what) if isinstance(what, Iterator) else what
        yield methods
    finally:
        for name in added:
            registry.unregister(name)


def _pairs(wanted):
    """[(name in the table, name, function or scores)]."""
    if isinstance(wanted, str) or callable(wanted):
        wanted = [wanted]
    if isinstance(wanted, Mapping):
        pairs = list(wanted.items())
    elif isinstance(wanted, Iterable) and not isinstance(wanted, Set):
        pairs = list(dict.fromkeys((_name(what), what) for what in wanted))
    else:
        raise ValueError(f"attributions of type {type(wanted).__name__}: give names and functions in a list")
    if not pairs:
        names = ", ".join(sorted(registry.names()))
        raise ValueError(f"attributions=[] leaves nothing to explain with: give some of {names}")
    for name, _ in pairs:
        if not isinstance(name, str) or not name:
            raise ValueError(f"attribution {name!r}: give a name of letters, digits and _")
        if name in COLUMNS:
            raise ValueError(f"attribution {name!r} is a column of the saved scores: choose another name")
    return pairs


def _name(what):
    """The name of an attribution that is given without one."""
    if isinstance(what, str):
        return what
    if not callable(what):
        raise ValueError(f"attributions: {type(what).__name__} is no name, function or {{name: scores}}")
    name = getattr(what, "__name__", type(what).__name__)
    if name.isidentifier():
        return name
    raise ValueError(f"attributions: {name} has no name of its own: give {{name: function}}")


def unused(names, settings):
    """The settings, other than the seed, that none of these registered attributions takes: [str]."""
    taken = [p for name in names for p in signature(registry.get(name).resolve()).parameters.values()]
    every = any(p.kind == p.VAR_KEYWORD for p in taken)
    named = {p.name for p in taken} | {"seed", "definition", "paper"}  # the last two are of metrics, too
    return [] if every else sorted(settings.keys() - named)


def _register(name, function, added):
    """The registered name of a function, which joins under `name` if it is not registered yet."""
    if name in registry.names() and registry.get(name).function is function:
        return name
    try:
        signature(function).bind(None, None, None)
    except TypeError as error:
        raise ValueError(f"attribution {name!r}: {error}: give one of (model, batch, target)") from error
    if name in registry.names():
        raise ValueError(f"attribution {name!r} is registered already: choose another name")

    @wraps(function)
    def explain(model, batch, target, **settings):
        results = function(model, batch, target, **settings)
        results = results if isinstance(results, Mapping) else {name: results}
        return {key: _tensor(key, value, batch) for key, value in results.items()}

    registry.register(name, signed=True, family="perturbation")(explain)
    added.append(name)
    return name


def _tensor(name, value, batch):
    try:
        rows = isinstance(value, (list, tuple)) and [len(row) for row in value]
        if rows and rows == [len(e.ids) for e in batch.encodings]:
            return padded(value, batch)
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"attribution {name!r} returns {type(value).__name__}, which is no array of numbers: return one "
            "score a token, (batch, tokens)"
        ) from error
