"""The progress bar: one at a time."""

from faithlib.progress import bar


def test_an_inner_bar_is_silent():
    with bar(3, "outer", "example") as outer, bar(3, "inner", "step") as inner:
        assert inner.disable and not outer.disable
    with bar(3, "next", "example") as after:
        assert not after.disable


def test_a_bar_that_failed_does_not_silence_the_next():
    try:
        with bar(3, "broken", "step"):
            raise ValueError
    except ValueError:
        pass
    with bar(3, "next", "step") as after:
        assert not after.disable
