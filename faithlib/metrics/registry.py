"""The list of metrics: what each one is, and where its function stands. Nothing here loads torch.

What is built in has a row in metrics.toml; a metric of your own joins with the decorator `register`.
"""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

from faithlib.registry import Named, Registry, read_rows

# What a metric asks of the study that it takes part in.
NEEDS = tomllib.loads(Path(__file__).with_name("needs.toml").read_text(encoding="utf-8"))
LEVELS = ("example", "data set")


@dataclass(frozen=True)
class Metric(Named):
    """One metric.

    Attributes:
        name, label: as `evaluate` knows it, and as tables and figures print it.
        better: "higher" or "lower".
        range, contrast_range: (lowest, highest) value, inf where there is no bound; where a contrast of two
            targets is explained, if it is another.
        needs: what it asks of a study, of NEEDS.
        void: when its value means nothing; it is then NaN, and counted.
        function: (inputs, scores) -> (examples,) float, or "module:function" of this package. `inputs` is a
            `metrics.inputs.Inputs`, `scores` the [(tokens,)] of one attribution.
        level: "example", or "data set" for what has no value of a single example.
        source: the paper that defines it.
        default: whether "default" of `evaluate` includes it where it can; "all" does in any case.
        passes, shared_passes: of a text of n maskable tokens, for one attribution and for what all of a study
            share: a number, or a function of n.
        operator: what takes an erased token's place in its paper; "" for nothing.
        soft: whether it erases parts of tokens: then `operator` holds where a study names none.
        explain, fooled: a plain sentence on what it is and when to use it, and on what misleads it.
    """

    name: str
    label: str
    better: str
    range: tuple
    needs: tuple
    void: str
    function: Callable | str
    level: str = "example"
    source: str = ""
    default: bool = True
    passes: Callable | float = 1
    shared_passes: Callable | float = 0
    contrast_range: tuple = ()
    operator: str = ""
    soft: bool = False
    explain: str = ""
    fooled: str = ""

    def limits(self, contrasted):
        """The lowest and the highest value, of a contrast of two targets or not."""
        return self.contrast_range if contrasted and self.contrast_range else self.range


_LIST = Registry("metric")
names, get, unregister = _LIST.names, _LIST.find, _LIST.remove


def register(
    name: str,
    *,
    better: str,
    range: tuple[float, float],
    needs: Sequence[str] = (),
    label: str = "",
    void: str = "",
    source: str = "",
    default: bool = True,
    explain: str = "",
) -> Callable:
    """Make a function known as a metric: it is then in every table that can hold it.

    Args:
        name: a new name, such as "log_odds".
        better: "higher" or "lower".
        range: (lowest, highest) value; `math.inf` where there is no bound.
        label: for tables and figures; the name with blanks by default.
        needs, void, source, default, explain: as of `Metric`.

    Raises:
        ValueError: a name that another function has, another direction, no range, an unknown need.

    Example:
        >>> @register("largest", better="higher", range=(0, 1))
        ... def largest(inputs, scores):
        ...     return [abs(s).max() / abs(s).sum() for s in scores]
        >>> get("largest").better
        'higher'
        >>> unregister("largest")
    """

    def join(function):
        text = label or str(name).replace("_", " ")
        rest = dict(source=source, default=default, explain=explain)
        wanted = (needs,) if isinstance(needs, str) else tuple(needs)
        add(Metric(name, text, better, tuple(range or ()), wanted, void, function, **rest))
        return function

    return join


def add(entry):
    """Add a `Metric` to the list; see `register`."""
    ends = entry.range if isinstance(entry.range, tuple) else ()
    if len(ends) != 2 or not all(isinstance(end, Real) for end in ends) or not ends[0] < ends[1]:
        raise ValueError(f"metric {entry.name!r}: range={entry.range!r}: give (lowest, highest)")
    _LIST.add(entry, better=("higher", "lower"), needs=NEEDS, level=LEVELS)


# Passes of one perturbation curve, and those that find the best and the worst order of n tokens: by all
# subsets of a short text, else by beam search.
PASSES = {"points": lambda n: min(n, 10), "orders": lambda n: 2**n if n <= 8 else 30 * n}
for _name, _row in read_rows(Path(__file__).with_name("metrics.toml")):
    _passes = {key: PASSES.get(_row[key], _row[key]) for key in ("passes", "shared_passes") if key in _row}
    add(Metric(_name, **{"needs": (), "void": ""} | _row | _passes))
