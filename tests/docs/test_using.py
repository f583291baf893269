"""docs/using.md, followed literally: a table from five lines; every call and option named is there."""

import inspect
import re
from dataclasses import replace

import pandas as pd
import pytest
import tiny
from docs.page import ROOT, follow, here, section

import faithlib
from faithlib.__main__ import _parser

PAGE = "docs/using.md"


@pytest.mark.parametrize("epochs", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_five_lines_make_a_table(tmp_path, epochs):
    """As the page has it, 5 epochs, which nothing here depends on."""
    steps = section(PAGE, "A table in a minute")
    (code,) = [step.text for step in steps if step.language == "python"]
    assert len([line for line in code.splitlines()[1:] if line]) - 1 == 5  # and one that prints
    assert "epochs=5" in code
    steps = [replace(step, text=step.text.replace("epochs=5", f"epochs={epochs}")) for step in steps]
    printed = follow(steps, tmp_path, here)
    table = pd.read_csv(tmp_path / "out/tables/results.csv")
    assert set(table.attribution) == {"leave_one_out", "gradient_l2", "random_uniform"}
    assert {"soft_ns", "decision_flip", "auprc"} <= set(table.metric) and table.value.notna().all()
    assert all(name in printed for name in {*table.metric, *table.attribution})
    assert (tmp_path / "out/explorer.html").is_file() and (tmp_path / "out/record.json").is_file()


def test_what_the_page_names_is_there():
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    parameters = {
        name
        for function in (faithlib.load_data, faithlib.load_model, faithlib.evaluate)
        for name in inspect.signature(function).parameters
    } | {"steps", "samples", "epochs", "batch_size", "learning_rate", "masking", "sizes"}
    calls = " ".join(re.findall(r"`([^`]*)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)))
    assert set(re.findall(r"\b(\w+)=", calls)) <= parameters | {"name"}
    commands = _parser()._subparsers._group_actions[0].choices
    options = {o for parser in commands.values() for action in parser._actions for o in action.option_strings}
    assert set(re.findall(r"(?<![\w-])(--?[a-z][\w-]*)", text)) - {"-m"} <= options
    for command in re.findall(r"faithlib (\w+) --", text):
        assert command in commands


def test_two_attributions_are_compared_as_the_page_says(capsys):
    (code,) = re.findall(
        r"Is one better than the other\?.*?```python\n(.*?)```", (ROOT / PAGE).read_text(), re.DOTALL
    )
    metrics = ["aopc_sufficiency", "ns"]
    study = faithlib.evaluate(tiny.classifier(), 7 * tiny.TEXTS, ["leave_one_out", "gradient_l2"], metrics)
    capsys.readouterr()
    exec(code, {"study": study})
    of = study.table[study.table.metric == "aopc_sufficiency"].set_index("attribution").value
    assert capsys.readouterr().out.startswith(f"{of.gradient_l2 - of.leave_one_out:+.3f} [")
