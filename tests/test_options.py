"""Each rule refuses the values that it says are wrong, in functions that take the parameter too."""

import math

import pytest
import wrong

from faithlib import options
from faithlib.attributions import check
from faithlib.options import Each, Number, Of, Optional, Whole
from faithlib.training.fine_tuning import Recipe

TABLES = {"settings": options.SETTINGS, "training": options.TRAINING, "parameters": options.PARAMETERS}
WRONG = [
    (f, name, v) for f, rules in TABLES.items() for name, rule in rules.items() for v in wrong.values(rule)
]
DOORS = {
    "settings": lambda **values: check(["lime"], **values),
    "training": Recipe,
    "parameters": lambda **values: options.check(values, options.PARAMETERS),
}


@pytest.mark.parametrize(("door", "name", "value"), WRONG, ids=lambda value: str(value))
def test_what_a_rule_calls_wrong_is_refused_with_its_name(door, name, value):
    named = value[0] if isinstance(value, list) else value
    with pytest.raises(ValueError) as error:
        DOORS[door](**{name: value})
    assert str(error.value).startswith(f"{name}={named!r} ") and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("rule", "right", "refused"),
    [
        (Whole(1), [1, 7], [0, 1.0, True, "1", math.nan]),
        (Number(), [0, 0.5, 3], [-1e-9, math.inf, math.nan, False, "0"]),
        (Number(above=True, most=1), [1e-9, 1], [0, 1.1]), (Number(-math.inf), [-5, 0], [-math.inf]),
        (Of((None, "a")), [None, "a"], ["b", ""]), (Each(Whole(1)), [[], [1, 2]], [[1, 0]]),
        (Optional(Whole(1)), [None, 1], [0]),
    ],
    ids=lambda value: str(value),
)  # fmt: skip
def test_a_rule_tells_values_apart(rule, right, refused):
    for value in right:
        rule.check("name", value)
    for value in [*refused, *wrong.values(rule)]:
        with pytest.raises(ValueError, match="name="):
            rule.check("name", value)
