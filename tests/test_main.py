"""The command line, in this process: what it prints, what it writes, and its status."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import tiny
from datasets import Dataset

import faithlib
from faithlib import __main__ as command
from faithlib import attributions, models, tasks
from faithlib.__main__ import main
from faithlib.metrics import registry
from replication import papers

ROOT = Path(__file__).resolve().parents[1]
TEXTS = ["a great film", "so boring and long", "great acting , long plot", "boring", "a film"] * 2
METHOD = '''
def longest(model, batch, target):
    """Longer tokens matter more."""
    rows = [[len(token) for token in model.tokens(e)] for e in batch.encodings]
    return [[n * keep for n, keep in zip(r, e.maskable)] for r, e in zip(rows, batch.encodings)]
'''


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of a user's: a model, a table, a method."""
    model = models.load("tiny-bert", ("bad", "good"), TEXTS)
    tiny.save(model, tmp_path / "my-model")
    table = {"review": TEXTS, "stars": ["good", "bad"] * 5, "why": ["[0]"] * 10}
    pd.DataFrame(table).to_csv(tmp_path / "reviews.csv", index=False)
    (tmp_path / "my.py").write_text(METHOD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluate(**changes):
    """The arguments of a study; None leaves one out."""
    options = {
        "model": "my-model", "data": "reviews.csv", "text": "review",
        "attributions": "gradient_l2,my.py:longest", "metrics": "ns,decision_flip", **changes,
    }  # fmt: skip
    pairs = [
        (f"--{name.replace('_', '-')}", str(value)) for name, value in options.items() if value is not None
    ]
    return ["evaluate", *(word for pair in pairs for word in pair)]


def stopped(*arguments, **settings):
    raise KeyboardInterrupt


def refusal(capsys, arguments):
    """The one line of a wrong command."""
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert err.startswith("faithlib: ") and err.count("\n") == 1 and err.endswith("\n"), err
    return err


# Lists --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("attributions", attributions.names()), ("metrics", registry.names()), ("tasks", list(tasks.TASKS)),
        ("papers", papers.names()),
    ],
)  # fmt: skip
def test_a_list_has_a_line_for_each(command, names, capsys):
    assert main([command]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == names
    assert all(len(line.split()) > 1 and line == line.rstrip() for line in lines)


def test_lists_know_what_plugins_register(here, capsys):
    (here / "mine.py").write_text(
        "from faithlib import register\n"
        "@register('mine_of_a_test', signed=True, family='gradient')\n"
        "def mine(model, batch, target): ...\n"
    )
    assert main(["attributions", "--plugins", "mine.py"]) == 0
    assert "mine_of_a_test" in capsys.readouterr().out
    attributions.unregister("mine_of_a_test")


OWN = """from faithlib import register

def lime(model, batch, target): ...

@register("both_names", signed=True, family="gradient")
@register("both_abs", signed=False, family="gradient")
def both_names(model, batch, target): ...
"""


def test_a_function_is_taken_by_itself_and_not_by_a_registered_name(here):
    (here / "own.py").write_text(OWN)
    (lime, both), _ = command._named(["own.py:lime", "own.py:both_names"], "default")
    assert callable(lime) and lime is not attributions.get("lime").function and both == "both_names"
    for name in ("both_names", "both_abs"):
        attributions.unregister(name)


def test_lists_load_no_torch():
    code = (
        "import sys; from faithlib.__main__ import main\n"
        "for name in ('attributions', 'metrics', 'tasks', 'papers'): main([name])\n"
        "assert not {'torch', 'transformers', 'datasets'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)


# evaluate -----------------------------------------------------------------------------------------


def test_evaluate_cuts_long_texts_where_it_is_asked(here, capsys):
    pd.DataFrame({"review": ["plot " * 200, "a film"]}).to_csv("long.csv", index=False)
    asked = evaluate(data="long.csv", metrics="ns")
    assert "1 of 2 texts are longer than my-model takes" in refusal(capsys, asked)
    assert main([*asked, "--long-texts", "truncate"]) == 0
    assert "at most 128): their ends are cut." in " ".join(capsys.readouterr().out.split())
    assert "their ends are cut" in (here / "out/record.json").read_text()


def test_evaluate_takes_a_metric_that_registers(here, capsys):
    code = (
        "import faithlib\n"
        "@faithlib.register_metric('mine_of_a_test', better='higher', range=(0, 1))\n"
        "def agree(inputs, scores):\n    return [1] * len(scores)\n"
        "def other(inputs, scores): ...\n"
    )
    (here / "mine.py").write_text(code)
    try:
        assert main(evaluate(attributions="gradient_l2", metrics="mine.py:agree,ns")) == 0
        assert "mine_of_a_test" in pd.read_csv(here / "out/tables/results.csv").metric.tolist()
        refused = refusal(capsys, evaluate(metrics="mine.py:other"))
        assert "put @faithlib.register_metric('other', better=..." in refused
    finally:
        registry.unregister("mine_of_a_test")


def test_the_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"faithlib {faithlib.__version__}\n"


def test_evaluate_writes_a_table(here, capsys):
    assert main(evaluate(dtype="float32", evidence="why", examples="6", output="out") + ["--seed", "3"]) == 0
    table = pd.read_csv(here / "out/tables/results.csv")
    assert set(table.attribution) == {"gradient_l2", "longest"}
    assert set(table.metric) == {"ns", "decision_flip"}
    assert ((table.n + table.void) == 4).all()  # two of six are equal to others
    assert (here / "out/explorer.html").is_file() and (here / "out/record.json").is_file()
    out, err = capsys.readouterr()
    assert "longest" in out and "out/: record.json" in out
    assert "longest" not in attributions.names()  # it joined for this call


@pytest.mark.parametrize(("splits", "left"), [("test validation", "test validation"), ("train", "test")])
def test_of_fewer_examples_the_other_splits_stay(splits, left):
    rows = Dataset.from_dict({"text": [str(i) for i in range(9)]})
    data = SimpleNamespace(splits=dict.fromkeys(splits.split(), rows))
    drawn = command._drawn(data, SimpleNamespace(examples=4, seed=0)).splits
    assert list(drawn) == left.split() and len(drawn["test"]) == 4
    assert all(len(drawn[split]) == 9 for split in drawn if split != "test")


def test_evaluate_passes_on_what_was_given(here, monkeypatch):
    seen = {}

    class Study:
        def show(self, texts):
            seen["texts"] = texts

        def save(self, folder):
            seen["folder"] = str(folder)

    def fake(model, data, wanted, metrics, **settings):
        rows = data.splits["test"].num_rows
        seen.update(model=model, rows=rows, wanted=wanted, metrics=metrics, **settings)
        return Study()

    monkeypatch.setattr(faithlib, "evaluate", fake, raising=False)
    arguments = evaluate(attributions="lime,beam", metrics="all", baselines="2", model="my-model,my-model")
    assert main([*arguments, "-p", "samples=30", "-p", "baseline=mask", "--seed", "4"]) == 0
    assert [m.name for m in seen.pop("model")] == ["my-model", "my-model"]
    assert seen == {
        "rows": 10, "wanted": ["lime", "beam"], "metrics": "all", "baselines": 2, "seed": 4, "samples": 30,
        "baseline": "mask", "resume": Path("out/chunks"), "texts": 0, "folder": "out", "long_texts": "error",
        "operator": None, "minutes": None, "blank": True,
    }  # fmt: skip


@pytest.fixture
def prompts(here):
    """A language model and prompts with answers, in the user's folder."""
    lm = models.load_causal("tiny-llama", [*TEXTS, "great boring"])
    tiny.save(lm, here / "models/some/lm")
    table = {"text": TEXTS[:3], "target": ["film", "and", "a"], "contrast": ["boring", "great", "and"]}
    pd.DataFrame(table).to_csv(here / "prompts.csv", index=False)
    return here


@pytest.mark.parametrize("columns", [{}, {"target": "target", "contrast": "contrast"}])
def test_attributions_have_a_default_for_language_models(prompts, capsys, columns):
    options = {"model": "some/lm", "model_dir": "models", "data": "prompts.csv", "text": None, **columns}
    assert main(evaluate(**options, attributions=None, metrics="naopc_sufficiency")) == 0
    table = pd.read_csv(prompts / "out/tables/results.csv")
    assert list(table.attribution) == ["input_x_gradient", "leave_one_out", "random_uniform"]
    out = capsys.readouterr().out
    for column in ("target", "contrast"):
        line = f"prompts.csv: column {column!r} is not used: give {column}={column!r} (--{column} {column})"
        assert (line in out) == (not columns)


def test_attributions_have_a_default_for_classifiers(here, capsys):
    assert main(evaluate(attributions=None, metrics="ns")) == 0
    table = pd.read_csv(here / "out/tables/results.csv")
    assert list(table.attribution) == ["input_x_gradient", "leave_one_out", "random_uniform"]
    capsys.readouterr()
    assert main(["evaluate", "--help"]) == 0
    assert "(input_x_gradient,leave_one_out,random_uniform)" in "".join(capsys.readouterr().out.split())


def test_ctrl_c_ends_with_one_line(here, monkeypatch, capsys):
    monkeypatch.setattr(faithlib, "evaluate", stopped, raising=False)
    kept = "; what is finished is kept in out, and the same command goes on"
    for there in ("", kept):  # it may have been stopped before anything was finished
        assert main(evaluate()) == 130
        assert capsys.readouterr().err == f"faithlib: stopped{there}\n"
        (here / "out").mkdir(exist_ok=True)


def test_a_stopped_study_goes_on(here):
    assert main(evaluate(metrics="decision_flip", attributions="gradient_l2", output="whole")) == 0

    module, name = registry.get("ns").function.split(":")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"faithlib.metrics.{module}.{name}", stopped)
        assert main(evaluate(metrics="decision_flip,ns", attributions="gradient_l2")) == 130
    kept = sorted(path.name for path in (here / "out/chunks").iterdir())
    assert any("decision_flip" in name for name in kept) and not any(".ns." in name for name in kept)
    assert main(evaluate(metrics="decision_flip,ns", attributions="gradient_l2")) == 0
    tables = [pd.read_csv(here / folder / "tables/results.csv") for folder in ("whole", "out")]
    both = [table[table.metric == "decision_flip"].value.to_list() for table in tables]
    assert both[0] == both[1]


def test_a_partial_has_the_name_it_is_asked_for_by(here, capsys):
    with open("my.py", "a") as file:
        file.write("from functools import partial\nshorter = partial(longest)\n")
    assert main(evaluate(attributions="my.py:shorter", metrics="ns", output="out")) == 0
    assert "\nshorter  0." in capsys.readouterr().out
    assert "--metrics: shorter does not register" in refusal(capsys, evaluate(metrics="my.py:shorter"))


# run ----------------------------------------------------------------------------------------------


def test_run_executes_a_paper_on_own_data(here, capsys):
    rows = [
        f"{a} film , {b} plot" for a in ("great", "boring") for b in "one two three four five six".split()
    ]
    table = pd.DataFrame({"text": rows * 5, "label": ["good"] * 30 + ["bad"] * 30, "evidence": "[0]"})
    table["label"] = ["good" if "great" in text else "bad" for text in table.text]
    names = {"text": "review", "label": "stars", "evidence": "why"}
    table.rename(columns=names).to_csv(here / "mine.csv", index=False)
    few = ["epochs=1", "examples=3", "steps=2", "timed_examples=1", "dtype=bfloat16"]
    few.append('attributions=["gradient_l2"]')
    columns = [word for name, column in names.items() for word in (f"--{name}", column)]
    command = ["run", "attributions", "--data", "mine.csv", *columns]
    command += [word for p in few for word in ("-p", p)]
    assert main(command) == 0
    record = json.loads((here / "out/results/quick/attributions/mine.tiny-bert.s0.json").read_text())
    assert record["provenance"]["dtype"] == "bfloat16" and record["params"]["epochs"] == 1
    assert (here / "out/attributions/experiment.ipynb").is_file() and Path.cwd() == here
    capsys.readouterr()
    assert main(command) == 0 and "nothing to do" in capsys.readouterr().out


def test_run_takes_the_parameters_of_a_record_in_a_process_of_its_own(here):
    record = ROOT / "results/small/attributions/relation.tiny-bert.s0.json"
    asked = [sys.executable, "-m", "faithlib", "run", "attributions", "--like", str(record)]
    done = subprocess.run([*asked, "-p", "examples=-3"], capture_output=True, text=True)
    assert done.returncode == 2 and "examples=-3" in done.stderr and done.stderr.count("\n") == 1
    defaults = {"scale": "quick", "epochs": 1, "seed": 5}
    params = json.loads(record.read_text())["params"]
    taken = command._of_record(record, "attributions", defaults)
    assert taken == {"scale": "small", "epochs": params["epochs"], "seed": params["seed"]}
    with pytest.raises(ValueError, match="is a record of attributions: faithlib run attributions"):
        command._of_record(str(record), "fmm", defaults)


def test_run_names_one_column_and_finds_the_others(here):
    pd.DataFrame({"review": ["good", "bad"], "label": ["up", "down"]}).to_csv("mine.csv", index=False)
    path = command._renamed("mine.csv", {"text": "review"}, here / "out", "classification")
    values = pd.read_parquet(path)[["text", "label"]].to_dict("list")
    assert values == {"text": ["good", "bad"], "label": ["up", "down"]}


def test_scores_that_are_no_numbers_are_one_line(here, capsys):
    code = "def nan(model, batch, target):\n    return model.embed(batch.ids)[..., 0] * float('nan')\n"
    (here / "bad.py").write_text(code)
    assert main(evaluate(attributions="bad.py:nan")) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("faithlib: ")]
    assert "finite" in line


@pytest.mark.parametrize(("end", "status"), [("a cell failed: why", 2), (130, 130), (None, 0)])
def test_run_ends_as_the_notebook_does(here, capsys, monkeypatch, end, status):
    class Execute:
        defaults = staticmethod(lambda notebook: {"epochs": 1, "task": "sst"})
        check = staticmethod(lambda *args: None)

        @staticmethod
        def main(arguments):
            raise SystemExit(end)

    monkeypatch.setitem(sys.modules, "units", SimpleNamespace(check=lambda *args: None))
    monkeypatch.setitem(sys.modules, "execute", Execute)
    assert main(["run", "fmm"]) == status
    assert capsys.readouterr().err == ("faithlib: a cell failed: why\n" if status == 2 else "")


def test_without_notebooks_one_line_says_so(here, capsys, monkeypatch):
    monkeypatch.setattr("faithlib.clone.__file__", str(here / "site-packages/faithlib/clone.py"))
    line = refusal(capsys, ["run", "fmm", "--data", "sentiment"])
    assert "this needs a clone of the project, as pip" in line
