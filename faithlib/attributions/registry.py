"""The list of attributions: what each one is, and where its function stands. Nothing here loads torch.

Everything that names attributions reads this list: `attribute`, tables, figures, claims, the grid's checks.
What is built in has a row in attributions.toml; a method of your own joins with the decorator `register`.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from faithlib.registry import Named, Registry, read_rows
from faithlib.scores import RANDOM, suggestion

FAMILIES = ("attention", "gradient", "perturbation", "random baseline")
_WORDS = dict(read_rows(Path(__file__).with_name("words.toml")))
COSTS, NEEDS, COLOURS, LOOKS = (_WORDS[name] for name in ("costs", "needs", "colours", "looks"))


@dataclass(frozen=True)
class Attribution(Named):
    """One attribution.

    Attributes:
        function: (model, batch, target, **settings) -> {name: (batch, tokens)}, or "module:function" of this
            package, which is imported when it is first used.
        explain: a plain sentence on what it computes.
        name, signed, family, label, cost, needs, occlusion, colour, marker, line: as of `register`.
    """

    name: str
    function: Callable | str
    signed: bool
    family: str
    label: str
    cost: str
    needs: tuple = ()
    occlusion: bool = False
    colour: str = ""
    marker: str = ""
    line: str | tuple = ""
    explain: str = ""


_LIST = Registry("attribution")
names, get, unregister = _LIST.names, _LIST.find, _LIST.remove


def register(
    name: str,
    *,
    signed: bool,
    family: str,
    label: str = "",
    cost: str = "tokens",
    needs: Sequence[str] = (),
    occlusion: bool = False,
    colour: str = "",
    marker: str = "",
    line: str | tuple = "",
) -> Callable:
    """Make a function known as the one that yields the scores called `name`.

    A function that yields several names is decorated once for each.

    Args:
        name: a new name, such as "my_method"; "my_method_abs" by custom for absolute scores.
        signed: whether scores below 0 speak against the target.
        family: one of FAMILIES.
        label: for figures; the name with blanks by default.
        cost: one of COSTS.
        needs: what the model must expose, of NEEDS, such as ("attention",).
        occlusion: whether a score is what the output loses when the token is taken out of the text; claims
            about occlusion ask for it.
        colour, marker, line: as matplotlib takes them; by default chosen from the name.

    Raises:
        ValueError: a name that another function has, an unknown family, cost or need.

    Example:
        >>> @register("position", signed=False, family="perturbation", cost="none")
        ... def position(model, batch, target):
        ...     return {"position": (batch.ids > 0).cumsum(1)}
        >>> get("position").label, unregister("position")
        ('position', None)
    """

    def join(function):
        style = dict(colour=colour, marker=marker, line=line)
        add(Attribution(name, function, signed, family, label, cost, tuple(needs), occlusion, **style))
        return function

    return join


def add(entry):
    """Add an `Attribution` to the list; see `register`."""
    if entry.name == RANDOM:
        raise ValueError(f"attribution {RANDOM!r} is the baseline of every table: choose another name")
    for field in ("signed", "occlusion"):
        if not isinstance(value := getattr(entry, field), bool):
            raise ValueError(f"attribution {entry.name!r}: {field}={value!r} must be True or False")
    _LIST.add(_with_look(entry), family=FAMILIES, cost=COSTS, needs=NEEDS)


def described(name):
    """The entry of a name, for what is claimed of it; ValueError for one that is not registered."""
    if name not in _LIST:
        raise ValueError(
            f"attribution {name!r} is not registered, and claims need its entry: import the plugin that "
            f"registers it, or leave it out; {suggestion(name, sorted(_LIST))}"
        )
    return _LIST[name]


def look(name: str) -> Attribution:
    """The entry of a name, or one that has a look alone: figures may draw what is not registered here."""
    return _LIST.get(name) or _with_look(Attribution(name, "", not name.endswith("_abs"), "", "", ""))


def _with_look(entry):
    """The entry with label, colour, marker and line style filled in, chosen from its name."""
    code = zlib.crc32(str(entry.name).encode())
    colours, markers, lines = (LOOKS[name] for name in ("colours", "markers", "lines"))
    return replace(
        entry,
        label=entry.label or str(entry.name).replace("_", " "),
        colour=entry.colour or COLOURS[colours[code % len(colours)]],
        marker=entry.marker or markers[code // 4 % len(markers)],
        line=entry.line or lines[code // 64 % len(lines)],
    )


for _name, _row in read_rows(Path(__file__).with_name("attributions.toml")):
    add(Attribution(_name, **_row | {"colour": COLOURS[_row["colour"]]}))
