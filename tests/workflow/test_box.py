"""A command in a box of time."""

import sys

import box
import pytest


@pytest.mark.parametrize(
    ("text", "line"),
    [("ten", "MINUTES=ten is no number"), ("0.5", "too short for any unit"), ("nan", "short")],
)
def test_minutes_that_are_none_are_refused_in_one_line(text, line):
    with pytest.raises(ValueError, match=line):
        box.main([text, "true"])
    assert box.minutes("1.5") == 1.5


def test_a_command_ends_by_itself_or_when_the_time_is_over():
    assert box.run([sys.executable, "-c", "raise SystemExit(3)"], 60) == (3, False)
    _, over = box.run([sys.executable, "-c", "import time; time.sleep(60)"], 0.5)
    assert over
