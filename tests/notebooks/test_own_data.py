"""All six experiments on data that only the user has: a file, a folder, a task of a plugin, own prompts."""

import json

import pandas as pd
import pytest
import tiny
from sample.units import ROOT, run_here

from faithlib import corpora, models, tasks
from faithlib.models.precision import resolve
from replication import results

SHORT = {"epochs": 1, "dtype": "bfloat16", "variant": "my-data"}
FEW = {
    "attributions": {"examples": 4, "steps": 2, "timed_examples": 1, "attributions": ["gradient_l2", "lime"]},
    "soft_metrics": {
        "examples": 4, "ig_steps": 2, "ratios": [0.5], "curve_ratios": [], "soft_draws": 1, "random_draws": 1,
        "perturbations": ["bernoulli"], "attributions": ["gradient_l2"], "definitions": ["paper"],
    },
    "recursive_roar": {
        "ratios": [50, 100], "measures": ["gradient_l2"], "width": 8, "hidden": 4, "train_size": 5000,
    },
    "saloss": {
        "examples": 4, "tuning_examples": 4, "ig_steps": 2, "weights": [1.0], "saliences": ["textrank"],
        "attributions": ["attention", "random_normal"], "fresh_ratios": [],
    },
    "fmm": {
        "examples": 3, "ig_steps": 2, "beam": 1, "ratios": [50, 100], "measures": ["gradient_l2"],
        "strategies": ["half/both"], "explained": ["half/both"], "train_size": 5000,
    },
}  # fmt: skip
PROMPTS = ["mira lives in the city of", "the cat of the man likes the", "tom and mira go to the"]


@pytest.fixture
def reviews(tmp_path):
    """A folder with a table of reviews, as a user may have it."""
    made = corpora.make("sentiment", 0, {"train": 120, "validation": 60, "test": 40})
    for split, rows in made.items():
        table = pd.DataFrame(rows)[["text", "label", "evidence"]]
        table["label"] = ["good" if label else "bad" for label in table.label]
        table.assign(evidence=[json.dumps(list(map(int, e))) for e in table.evidence]).to_csv(
            tmp_path / f"{split}.csv", index=False
        )
    return tmp_path


def experiment(paper, folders, **parameters):
    """The record and the values of one unit."""
    run_here({**SHORT, **folders, **parameters}, ROOT / f"notebooks/{paper}/experiment.ipynb")
    (record,), values = results.load(folders["results_dir"], "quick", paper, variants=None)
    return record, values


@pytest.mark.filterwarnings("ignore:.*constant in the reference")  # so few and short texts
@pytest.mark.parametrize("paper", [name for name in FEW if name != "attributions"])
def test_papers_of_classifiers_run_on_a_folder(paper, folders, reviews):
    model, dtype = ("bilstm", "auto") if paper == "recursive_roar" else ("tiny-bert", "bfloat16")
    record, values = experiment(paper, folders, task=f"{reviews}/", model=model, dtype=dtype, **FEW[paper])
    assert record["unit"] == f"{reviews.name}.{model}.s0.my-data" and len(values)
    assert f"torch.{record['provenance']['dtype']}" == str(resolve(dtype))
    assert record["provenance"]["data"]["source"] == "file"
    assert record["provenance"]["data"]["rows"] == {"train": 120, "validation": 60, "test": 40}


def test_one_file_with_evidence_is_enough(folders, reviews, capsys):
    record, values = experiment(
        "attributions", folders, task=str(reviews / "train.csv"), **FEW["attributions"]
    )
    assert record["unit"] == "train.tiny-bert.s0.my-data" and set(values.dataset) == {"train"}
    assert "84 train, 18 validation, 18 test" in capsys.readouterr().out
    assert set(values.attribution) == {"gradient_l2", "lime"}


def test_a_task_of_a_plugin_runs(folders, reviews):
    """Its rows are read as those of all tasks, from a mirror."""
    plugin, mirror = reviews / "my_task.py", reviews / "mirror/ours"
    plugin.write_text(
        "from faithlib.tasks import Task, register_task\n"
        "register_task(Task('ours', 'our reviews', ('bad', 'good')))\n"
    )
    mirror.mkdir(parents=True)
    for split in tasks.SPLITS:
        table = pd.read_csv(reviews / f"{split}.csv")
        table.assign(label=(table.label == "good") * 1).to_parquet(mirror / f"{split}.parquet")
    try:
        record, _ = experiment(
            "soft_metrics", folders, task="ours", plugins=[str(plugin)], data_dir=str(mirror.parent),
            train_size=5000, **FEW["soft_metrics"],
        )  # fmt: skip
    finally:
        tasks.unregister_task("ours")
    assert record["unit"] == "ours.tiny-bert.s0.my-data"
    assert record["provenance"]["data"]["rows"]["train"] == 120


@pytest.mark.parametrize("answers", [False, True])
def test_noiser_explains_own_prompts(folders, tmp_path, answers):
    lm = models.load_causal("tiny-llama", PROMPTS)
    tiny.save(lm, tmp_path / "my-lm")
    table = pd.DataFrame({"text": PROMPTS})
    setting = {"tokens": 2}
    if answers:  # what the model says anyway, as prompts with another answer are left out
        said = [lm.tokenizer.decode(row.argmax()) for row in next_tokens(lm)]
        table, setting = table.assign(target=said), {"tokens": 0}
    table.to_csv(tmp_path / "prompts.csv", index=False)
    record, values = experiment(
        "noiser", folders, task=str(tmp_path / "prompts.csv"), model=str(tmp_path / "my-lm"), examples=50,
        boundings=["l2"], bounding_examples=1, noise=2, steps=2, samples=4, soft_draws=1, judge="",
        dtype="bfloat16", **setting,
    )  # fmt: skip
    assert record["unit"] == "prompts.my-lm.s0.my-data" and values.example.nunique() == 3
    assert set(values[values.setting == "l2"].example) == {0} and record["design"] == "crossed"
    assert record["provenance"]["data"]["rows"] == {"test": 3}


def next_tokens(lm):
    from faithlib.engine import forward

    return forward.probabilities(lm, [forward.unchanged(e) for e in lm.encode(PROMPTS)])
