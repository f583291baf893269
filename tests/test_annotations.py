"""Every function of the project that a notebook calls says what it takes and what it returns."""

import ast
import importlib
import inspect
import json
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("faithlib", "replication", "notebooks")
NOTEBOOKS = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("notebooks/**/*.ipynb"))


def code(path):
    """The code cells of a notebook as a syntax tree, without its magic commands."""
    cells = json.loads((ROOT / path).read_text(encoding="utf-8"))["cells"]
    lines = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code").splitlines()
    return ast.parse("\n".join(line for line in lines if not line.lstrip().startswith(("%", "!"))))


def imported(tree):
    """What a notebook imports from the project: {name: object}."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES:
            module = importlib.import_module(node.module)
            names |= {alias.asname or alias.name: getattr(module, alias.name, None) for alias in node.names}
        elif isinstance(node, ast.Import):
            ours = [alias for alias in node.names if alias.name.split(".")[0] in PACKAGES]
            names |= {alias.asname: importlib.import_module(alias.name) for alias in ours if alias.asname}
    return names


def called(tree):
    """The functions of the project that a notebook calls by their names."""
    names = imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            first, *attributes = ast.unparse(node.func).split(".")
            function = names.get(first)
            for attribute in attributes:
                function = getattr(function, attribute, None)
            if isinstance(function, type):
                function = vars(function).get("__init__")
            function = getattr(function, "__func__", function)
            if isinstance(function, types.FunctionType):
                yield function


def missing(function):
    """What a function does not say: names of parameters, "return"."""
    signature = inspect.signature(function)
    parameters = [name for name, p in signature.parameters.items() if p.annotation is p.empty]
    silent = [name for name in parameters if name not in ("self", "cls")]
    if signature.return_annotation is signature.empty and function.__name__ != "__init__":
        silent.append("return")
    return silent


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_what_a_notebook_calls_is_annotated(path):
    assert {f.__qualname__: missing(f) for f in called(code(path)) if missing(f)} == {}


def test_a_function_without_annotations_is_noticed():
    tree = ast.parse("from faithlib.scores import first_line\nfirst_line(1)")
    assert [function.__name__ for function in called(tree)] == ["first_line"]
    assert missing(lambda text: text) == ["text", "return"]
