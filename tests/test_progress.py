"""The progress bar: one line at a time."""

import time

from faithlib.progress import bar, silent


def test_an_inner_bar_stands_behind_the_line_of_the_outer_one(capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    with bar(4, "outer", "example") as outer:
        outer._time, outer.start_t, outer.last_print_t = time.time, 0.0, 0.0
        outer.update(1)
        with bar(6, "inner", "step") as inner:
            for clock[0] in (5, 20, 30):  # a line every 15 seconds
                inner.update(2)
        clock[0] = 50
        outer.update(1)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert "outer: 1/4 examples in 00:20" in lines[0] and lines[0].endswith("inner 4/6 steps")
    assert "outer: 2/4 examples in 00:50, 00:50 left" in lines[1] and "inner" not in lines[1]


def test_what_is_counted_stands_in_the_plural(capsys):
    with bar(2, "measuring", "pass") as progress:
        progress.delay, progress.mininterval, progress.start_t = 0, 0, 0.0
        progress.update(2)
        progress.refresh()
    assert "measuring: 2/2 passes in " in capsys.readouterr().out


def test_what_is_inside_two_bars_and_what_is_told_to_be_silent_have_no_line():
    with bar(3, "outer", "example") as outer, bar(3, "inner", "step"), bar(3, "third", "text") as third:
        assert third.disable and not outer.disable and not outer.postfix
    with bar(3, "outer", "example") as outer, bar(3, "asking {a}", "question") as inner:
        inner.update(2)
        with bar(3, "third", "text"):
            pass
        assert outer.postfix == "asking {a} 2/3 questions"  # names are no templates
    with silent(), bar(3, "one", "step") as one:
        one.update(3)
        assert one.outer.disable
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
