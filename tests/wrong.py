"""What is refused: values that a rule of `faithlib.options` excludes, and the one line that says so."""

import math
import re

import pytest

from faithlib.options import Each, Number, Of, Optional, Whole


def values(rule):
    """Values that a rule refuses: [value]."""
    if isinstance(rule, Each):
        return [[value] for value in values(rule.rule)]
    if isinstance(rule, Optional):
        return [value for value in values(rule.rule) if value is not None]
    if isinstance(rule, Of):
        return ["none of these", 0.5]
    if isinstance(rule, Whole):
        return [rule.least - 1, rule.least + 0.5, math.nan, True, "1", None]
    assert isinstance(rule, Number)
    ends = [rule.least - 1, rule.most + 1] + ([rule.least] if rule.above else [])
    return [end for end in ends if math.isfinite(end)] + [math.nan, math.inf, True, "1e-3", None]


def refusal(call, /, *arguments, error=ValueError, **settings):
    """A call fails with one line: that line."""
    with pytest.raises(error) as failure:
        call(*arguments, **settings)
    message = str(failure.value)
    assert "\n" not in message
    return message


def refused(pattern, call, /, *arguments, **settings):
    """A call fails with one line that matches `pattern`: that line."""
    message = refusal(call, *arguments, **settings)
    assert pattern and re.search(pattern, message), message
    return message


def tells(parts, call, /, *arguments, **settings):
    """A call fails with one line that has all `parts`: that line."""
    message = refusal(call, *arguments, **settings)
    for part in parts:
        assert part and part in message, message
    return message
