"""docs/models.md names what there is: its calls fit the functions, its values are those that are known."""

import ast
import inspect
import re

from docs.page import ROOT

import faithlib as fl
from faithlib.engine import batching
from faithlib.models import placement, precision
from faithlib.training import fine_tuning as training

PAGE = (ROOT / "docs/models.md").read_text(encoding="utf-8")
FUNCTIONS = {"load_model": fl.load_model, "evaluate": fl.evaluate, "fine_tune": training.fine_tune}


def test_calls_fit_the_functions():
    called = set()
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        for node in ast.walk(ast.parse(block)):
            name = getattr(
                getattr(node, "func", None), "attr", getattr(getattr(node, "func", None), "id", "")
            )
            if isinstance(node, ast.Call) and name in FUNCTIONS:
                keywords = {k.arg: None for k in node.keywords}
                inspect.signature(FUNCTIONS[name]).bind(*node.args, **keywords)
                called.add(name)
    assert called == set(FUNCTIONS)


def test_values_are_known():
    quoted = set(re.findall(r'`"([\w:]+)"`', PAGE))
    values = {*precision.DTYPES, *placement.MAPS, *placement.IMPLEMENTATIONS, "cuda:1", "disk"}
    assert quoted <= values | {*batching.TOKEN_BUDGET}
    assert {*precision.DTYPES, *placement.MAPS} <= quoted
