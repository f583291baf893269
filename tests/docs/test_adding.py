"""docs/adding.md, followed literally: what is added shows in tables, figures and checks."""

import json
import re
import shutil

import grid
import pandas as pd
import pytest
import tiny
import wrong
from docs.page import (
    ROOT,
    add_units,
    attempt,
    follow,
    here,
    misspell,
    project,
    registries_as_they_were,
    run,
    section,
)

from faithlib import evaluate, load_model, plugins, tasks

PAGE = "docs/adding.md"
ATTRIBUTIONS = ["keep_one", "leave_one_out", "random_uniform"]
HEADINGS = ("An attribution", "A metric", "A task", "A model family", "A paper")


@pytest.fixture(autouse=True)
def nothing_stays_registered():
    with registries_as_they_were():
        yield


def grid_of(folder):
    """A folder with what the check of the grid reads."""
    for name in ("config", "notebooks"):
        shutil.copytree(ROOT / name, folder / name)
    return folder


def refused(folder, monkeypatch, **options):
    """What the check of the grid says, one line, of a config that cannot be run."""
    monkeypatch.chdir(folder)
    return wrong.refusal(grid.read, {"scale": "quick", **options})


# The page ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("heading", HEADINGS)
def test_every_section_has_a_file_a_command_and_what_one_sees(heading):
    steps = section(PAGE, heading)
    expected = {"python", "bash", "text", "yaml"} - {"yaml" if heading == "A metric" else ""}
    assert {step.language for step in steps} == expected
    assert all(step.file for step in steps if step.language in ("python", "yaml"))


def test_an_attribution_is_in_the_study_and_the_grid(tmp_path, monkeypatch):
    follow(section(PAGE, "An attribution"), grid_of(tmp_path), here)
    misspell(tmp_path, "- keep_one\n", "- keep_on\n")
    line = refused(tmp_path, monkeypatch, papers="attributions")
    assert "attribution 'keep_on' is unknown: did you mean 'keep_one'?" in line


@pytest.mark.slow
def test_an_attribution_is_in_the_table_and_the_figure(tmp_path):
    follow(section(PAGE, "An attribution"), project(tmp_path))
    unit = dict(task="sentiment", seed=1, plugins=["keep_one.py"], attributions=ATTRIBUTIONS)
    sizes = dict(train_size=200, validation_size=40, test_size=40, examples=8, timed_examples=1)
    (tmp_path / "small.json").write_text(json.dumps({**unit, **sizes, "epochs": 1, "steps": 2}))
    (tmp_path / "scale.json").write_text('{"scale": "quick"}')
    for notebook, file in (("experiment", "small.json"), ("report", "scale.json")):
        path = f"notebooks/attributions/{notebook}.ipynb"
        run(tmp_path, f"python workflow/execute.py {path} runs/{notebook}.ipynb {file}")
    table = pd.read_csv(tmp_path / "results/quick/attributions/tables/evidence.csv")
    assert list(table.attribution) == ATTRIBUTIONS
    (figure,) = (tmp_path / "figures/quick/attributions").glob("*.svg")
    assert "<!-- keep-one-in -->" in figure.read_text(encoding="utf-8")


def test_a_metric_is_one_short_file_and_in_every_table_that_can_hold_it(tmp_path):
    steps = section(PAGE, "A metric")
    assert len(steps[0].text.splitlines()) <= 30
    follow(steps, tmp_path, here)


def test_a_task_is_in_the_study_and_the_grid(tmp_path, monkeypatch):
    follow(section(PAGE, "A task"), grid_of(tmp_path), here)
    misspell(tmp_path, "task: shop_reviews", "task: shop_review")
    line = refused(tmp_path, monkeypatch, papers="soft_metrics", data_dir="data")
    assert "task 'shop_review' is unknown: did you mean 'shop_reviews'? Kn" in line


@pytest.mark.slow
def test_a_model_family_is_in_the_study_and_by_name_in_the_grid(tmp_path):
    follow(section(PAGE, "A model family"), project(tmp_path))
    place = dict(model_dir=str(tmp_path / "models"), error=FileNotFoundError)
    wrong.refused("^model 'my-modle' cannot be loaded", load_model, "my-modle", labels=("no", "yes"), **place)
    (module,) = plugins.load([tmp_path / "mean_of_words.py"])
    words = tiny.tokenizer("bert")
    model = module.MeanOfWordsClassifier(module.MeanOfWords(len(words), 2), words, "mean-of-words")
    line = r"^mean-of-words gives no attention weights \(a mean has no attention\): choose .* that need none$"
    with pytest.raises(ValueError, match=line):
        evaluate(model, tiny.TEXTS, ["attention"])


@pytest.mark.slow
def test_a_paper_is_in_the_grid_and_the_verdicts_are_printed(tmp_path):
    printed = follow(section(PAGE, "A paper"), project(tmp_path))
    assert re.search(
        r"two attributions disagree \(τ below 0\.5\)\n +ours, 95 % interval: [+-]\d\.\d{3} \[", printed
    )
    for file in ("results/quick/agreement/tables/agreement.csv", "figures/quick/agreement/agreement.pdf"):
        assert (tmp_path / file).is_file()
    check = "python workflow/grid.py scale=quick papers=agreement"
    (tmp_path / "notebooks/agreement/card.py").rename(tmp_path / "card.py")
    status, output = attempt(tmp_path, check)
    assert status == 1 and output.splitlines() == [
        "config/quick.yaml: paper 'agreement' has no card: write agreement/card.py with "
        "CARD = Card('agreement', …)"
    ]


def test_a_paper_that_is_misspelt_is_refused(tmp_path, monkeypatch):
    grid_of(tmp_path)
    add_units(tmp_path, "papers: {agrement: {units: [{task: sentiment, model: tiny-bert, seed: 0}]}}")
    line = refused(tmp_path, monkeypatch, papers="agrement")
    assert line.startswith("config/quick.yaml: paper 'agrement' is unknown: ")


# Mistakes: those at registration and in `evaluate` are rows of tests/bad_input.txt --------------------------


def test_a_task_whose_columns_are_missing_is_refused(tmp_path):
    tasks.register_task(tasks.Task("mine", "my data", ("no", "yes")))
    (tmp_path / "mine").mkdir()
    for split in tasks.SPLITS:
        pd.DataFrame({"text": ["a", "b"], "gold": [0, 1]}).to_parquet(tmp_path / f"mine/{split}.parquet")
    line = (
        r"^'mine/train.parquet' has no column 'label', only text, gold: "
        r"give mine/<split>.parquet, columns text \(text\), label \(int, 0 to 1\)$"
    )
    with pytest.raises(ValueError, match=line):
        tasks.load("mine", data_dir=tmp_path)
