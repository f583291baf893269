"""The experiment of soft_metrics: the same unit twice, the paper's own set-up."""

from pathlib import Path

import execute
import grid
import numpy as np
import pandas as pd
import pytest
import tiny
import torch
from sample.units import NOTEBOOK, ROOT, mirror, run_here, science
from tokenizers import trainers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from notebooks.soft_metrics.card import CARD
from replication import results

MEASURED = ("attribution code", "sign", "label", "probability", "special tokens", "removal")  # in passes
DATA = ROOT.parent / "shared" / "data"


SMALL = {
    "train_size": 200, "validation_size": 60, "test_size": 60, "examples": 4, "epochs": 1, "ig_steps": 3,
    "ratios": [0.2, 0.5], "curve_ratios": [], "soft_draws": 2, "random_draws": 1, "varied_examples": 3,
    "perturbations": ["bernoulli", "attention"],
}  # fmt: skip


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_unit_is_the_same_bytes_every_time(folders, tmp_path, times):
    unit, runs = "sentiment.tiny-bert.s0", []
    for name in ("one", "two")[:times]:
        places = {"results_dir": f"{tmp_path}/{name}/results"}
        execute.run(NOTEBOOK, tmp_path / f"{name}.ipynb", {**SMALL, **places})
        runs.append(science(places["results_dir"], unit))
    assert sorted(runs[0]) == [f"{unit}{end}" for end in (".examples.parquet", ".json", ".parquet")]
    assert runs[0] == runs[-1]
    assert_valid(places["results_dir"], "quick", unit, examples=4)
    # What an interrupted run has finished: nothing is trained or measured again, and the bytes stay.
    places["results_dir"] = f"{tmp_path}/{name}/resumed"  # beside the same checkpoints
    with pytest.MonkeyPatch.context() as patch:
        for name in ("training.fine_tune", "metrics.soft.values"):
            patch.setattr(f"faithlib.{name}", None)
        run_here({**SMALL, **places})
    assert science(places["results_dir"], unit) == runs[0]


def assert_valid(results_dir, scale, unit, examples):
    """A record that can be read, and whose values are what the contract says."""
    (record,), values = results.load(results_dir, scale, "soft_metrics")
    assert record["unit"] == unit and len(values) > 0
    assert record["design"] == "crossed" and values.example.nunique() == examples
    named = {row["metric"]: row["value"] for row in record["metrics"]}
    assert 0 <= named["accuracy"] <= 1 and 0 <= named["macro_f1"] <= 1 and np.isfinite(named["loss"])
    assert 0 <= named["balanced_accuracy"] <= 1 and named["collapsed"] in (0, 1)
    assert values.raw.between(0, 1).all()
    assert set(values.metric) == {"NS", "NC", "Soft-NS", "Soft-NC"}
    assert set(values.baseline) == {"", "normal", "matched"}
    assert set(values[values.baseline == ""].attribution) == set(record["params"]["attributions"])
    assert set(values[~values.varied].definition) == {"paper"} and set(values[~values.varied].option) == {""}
    varied = values[values.varied]
    if record["params"]["varied_examples"]:
        assert set(varied.definition) == {"paper", "released"}
        assert {o for choice in MEASURED for o in CARD.choices[choice][1:]} - {"gold"} <= set(varied.option)
    assert record["provenance"]["model"]["sha256"] and record["provenance"]["data"]["sha256"]


# The paper's own set-up ---------------------------------------------------------------------------

SIZED = {
    "google-bert/bert-base-uncased": (BertForSequenceClassification, BertConfig, {}),
    "FacebookAI/roberta-base": (
        RobertaForSequenceClassification,
        RobertaConfig,
        {
            "max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0,
            "eos_token_id": 2,
        },
    ),
}  # fmt: skip


def checkpoint(folder, name, texts):
    """Save a full-size model with random weights and a small tokenizer under its hub name."""
    model_class, config_class, settings = SIZED[name]
    build = tiny.byte_pairs if "roberta" in name else tiny.word_pieces
    words, named = build()
    trainer = trainers.BpeTrainer if "roberta" in name else trainers.WordPieceTrainer
    special = sorted(set(named.values()), key=words.token_to_id)
    words.train_from_iterator(texts, trainer(special_tokens=special, vocab_size=8000, show_progress=False))
    inputs = ["input_ids", *([] if "roberta" in name else ["token_type_ids"]), "attention_mask"]
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, model_input_names=inputs, **named)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = model_class(config_class(vocab_size=len(tokenizer), **settings))
    assert model.config.num_hidden_layers == 12 and model.config.hidden_size == 768
    model.base_model.save_pretrained(folder / name)
    tokenizer.save_pretrained(folder / name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "short"), [("sst.bert-base-uncased.s0", {}), ("multirc.roberta-base.s0", {"max_length": 128})]
)  # 512 tokens on a CPU would take an hour
def test_a_unit_of_the_paper_scale_runs(folders, tmp_path, unit, short):
    task = unit.split(".")[0]
    data = DATA if (DATA / task).is_dir() else mirror(tmp_path / "data", task)
    _, papers, _ = grid.read_all({"scale": "paper"})
    parameters = papers["soft_metrics"].units[unit]
    assert parameters["epochs"] == 3 and parameters["learning_rate"] == 1e-5
    texts = pd.read_parquet(data / task / "train.parquet").text[:200]
    checkpoint(tmp_path / "models", parameters["model"], texts)
    few = {
        "train_size": 16, "validation_size": 8, "test_size": 8, "examples": 2, "ig_steps": 2,
        "soft_draws": 1, "random_draws": 1, "varied_examples": 1, "curve_ratios": [],
        "perturbations": ["bernoulli"],
    }  # fmt: skip
    places = {"data_dir": str(data), "model_dir": str(tmp_path / "models"), **folders}
    execute.run(NOTEBOOK, tmp_path / "out.ipynb", {**parameters, **few, **short, **places})
    assert_valid(folders["results_dir"], "paper", unit, examples=2)
    (record,), values = results.load(folders["results_dir"], "paper", "soft_metrics")
    assert record["params"]["model"] == parameters["model"]
    assert record["provenance"]["data"]["source"] == "mirror"
    assert not list(Path(folders["results_dir"]).rglob("*.examples.parquet"))  # no rows of real data
    assert "text" not in values
