"""The units of the scale one-gpu end with a record: random weights under their models' names, ten texts."""

import json

import pandas as pd
import pytest
import tiny
import transformers as hf
from sample.units import ROOT, run_here

from faithlib.engine import forward
from faithlib.models import load_causal
from replication import results

LAYERS = 2  # of the checkpoints' 12 and 24; all else but the vocabulary is as in them
TEN = {"train_size": 10, "validation_size": 40, "test_size": 10, "examples": 10}  # MaSF's test wants 40
QWEN = {"hidden_size": 896, "intermediate_size": 4864, "num_attention_heads": 14, "num_key_value_heads": 2}
KINDS = {  # tokenizer, classes, and what differs from the configuration's defaults
    "google-bert/bert-base-uncased": ("bert", hf.BertForSequenceClassification, hf.BertConfig, {}),
    "FacebookAI/roberta-base": ("roberta", hf.RobertaForSequenceClassification, hf.RobertaConfig,
                                {"max_position_embeddings": 514}),
    "Qwen/Qwen2-0.5B": ("qwen2", hf.Qwen2ForCausalLM, hf.Qwen2Config, QWEN),
}  # fmt: skip


def qwen2_tokenizer():
    """A tokenizer of Qwen2's class with the tokens of tiny's texts."""
    pairs = json.loads(tiny.byte_pairs()[0].to_str())["model"]
    return hf.Qwen2Tokenizer(vocab=pairs["vocab"], merges=list(map(tuple, pairs["merges"])))


@pytest.fixture(scope="module")
def at_hand(tmp_path_factory):
    """A folder with the models and the data sets of the scale."""
    folder = tmp_path_factory.mktemp("at_hand")
    for name, (kind, model, config, sizes) in KINDS.items():
        tokenizer = tiny.tokenizer(kind) if kind in tiny.KINDS else qwen2_tokenizer()
        sizes = {"vocab_size": len(tokenizer) + 1, "pad_token_id": tokenizer.pad_token_id, **sizes}
        model(config(num_hidden_layers=LAYERS, **sizes)).save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    rows = pd.DataFrame({"text": [f"{a} {b}" for a in tiny.TEXTS[:4] for b in tiny.PROMPTS[:3]]})
    for task, splits in (("sst", ("train", "validation", "test")), ("cola", ("train", "validation"))):
        (folder / task).mkdir()
        for split in splits:
            times = 20 if split == "train" else 1  # CoLA's training rows are divided
            table = pd.concat([rows] * times, ignore_index=True)
            table.assign(label=table.index % 2).to_parquet(folder / task / f"{split}.parquet")
    lm = load_causal("Qwen/Qwen2-0.5B", model_dir=str(folder))
    p = forward.probabilities(lm, [forward.unchanged(e) for e in lm.encode(list(rows.text))])
    said = [lm.tokenizer.decode(row.argmax()).strip() for row in p]
    facts = rows.rename(columns={"text": "prompt"}).assign(attribute=said, subject="plot", relation_id="P1")
    (folder / "knowns").mkdir()
    facts[facts.attribute != ""].to_parquet(folder / "knowns/test.parquet")
    return str(folder)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*constant in the reference")  # so few and short texts
@pytest.mark.parametrize("paper", ["soft_metrics", "recursive_roar", "saloss", "fmm", "noiser"])
def test_a_unit_ends_with_a_record(paper, folders, at_hand):
    import grid

    scale, entries, _ = grid.read_all({"scale": "one-gpu"})
    ((unit, parameters),) = entries[paper].units.items()
    notebook = ROOT / f"notebooks/{paper}/experiment.ipynb"
    few = {name: size for name, size in TEN.items() if name in grid.defaults(str(notebook))}
    run_here({**parameters, **few, **folders, "data_dir": at_hand, "model_dir": at_hand}, notebook)
    (record,), values = results.load(folders["results_dir"], scale, paper, variants=None)
    assert record["unit"] == unit and record["metrics"] and len(values)
    assert record["provenance"]["device"] == "cpu"


def test_every_paper_has_one_unit_of_a_checkpoint_of_its_own(monkeypatch):
    monkeypatch.chdir(ROOT)
    import grid

    _, entries, _ = grid.read_all({"scale": "one-gpu"})
    models = {paper: [p["model"] for p in entry.units.values()] for paper, entry in entries.items()}
    assert all(len(of) == 1 and of[0].count("/") == 1 for of in models.values())
    assert set(models) == {"soft_metrics", "recursive_roar", "saloss", "fmm", "noiser"}
