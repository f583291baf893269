"""The experiment notebooks as a whole: wrong parameters, the same unit twice, the paper's own set-up."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import tiny
import torch
from tokenizers import trainers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from faithlib import attributions, results, training

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "notebooks/soft_metrics/experiment.ipynb"
EVIDENCE = ROOT / "notebooks/attributions/experiment.ipynb"
DATA = ROOT.parent / "shared" / "data"
import execute  # noqa: E402
import grid  # noqa: E402

SMALL = {
    "train_size": 200,
    "validation_size": 60,
    "test_size": 60,
    "examples": 4,
    "epochs": 1,
    "ig_steps": 3,
    "ratios": [0.2, 0.5],
    "curve_ratios": [],
    "soft_draws": 1,
    "random_draws": 1,
    "perturbations": ["bernoulli", "attention"],
}


def run_here(parameters, notebook=NOTEBOOK):
    """Run the notebook's cells in this process, without a kernel."""
    cells = [c for c in json.loads(notebook.read_text())["cells"] if c["cell_type"] == "code"]
    names = {}
    for cell in cells:
        exec("".join(cell["source"]), names)
        if "parameters" in cell["metadata"].get("tags", ()):
            names |= parameters


class ReachedTraining(Exception):
    pass


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    return {"results_dir": str(tmp_path / "results"), "checkpoint_dir": str(tmp_path / "kept")}


@pytest.fixture
def no_training(monkeypatch):
    def train(*args, **settings):
        raise ReachedTraining

    monkeypatch.setattr(training, "fine_tune", train)


def test_right_parameters_reach_training(folders, no_training):
    with pytest.raises(ReachedTraining):
        run_here({**SMALL, **folders})


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"task": "sentimnt"}, "'sentimnt'"),
        ({"model": "no-one/no-model"}, "'no-one/no-model'"),
        ({"scale": "medium"}, "'medium'"),
        ({"seed": -1}, "seed=-1"),
        ({"device": "tpu"}, "'tpu'"),
        ({"attributions": ["attention", "atention"]}, "'atention'"),
        ({"ratios": [0.1, 1.5]}, "1.5"),
        ({"curve_ratios": [0]}, "ratio 0"),
        ({"perturbations": ["gauss"]}, "'gauss'"),
        ({"definitions": ["published"]}, "'published'"),
        ({"soft_draws": 0}, "soft_draws=0"),
        ({"random_draws": 0}, "random_draws=0"),
        ({"train_size": -5}, "-5"),
        ({"test_size": 10**7}, "10000000"),
        ({"ig_steps": 0}, "steps=0"),
        ({"examples": -1}, "examples=-1"),
        ({"max_length": -1}, "max_length=-1"),
        ({"attributions": []}, "attributions=[]"),
        ({"ratios": []}, "ratios=[]"),
        ({"definitions": []}, "definitions=[]"),
        ({"max_length": 8}, "longer than"),
        ({"long_texts": "drop"}, "'drop'"),
        ({"task": "sst", "data_dir": "/no/such/folder"}, "/no/such/folder"),
        ({"task": "sst", "data_dir": str(ROOT / "tests")}, "'sst'"),
        ({"model": "tiny-BERT", "model_dir": "/no/such/shelf"}, "/no/such/shelf"),
    ],
)
def test_wrong_parameters_are_told_before_training(folders, no_training, wrong, named):
    with pytest.raises((ValueError, OSError)) as error:
        run_here({**SMALL, **folders, **wrong})
    message = str(error.value)
    assert named in message and "\n" not in message
    assert not Path(folders["results_dir"]).exists() and not Path(folders["checkpoint_dir"]).exists()


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"batch_size": 0}, {"learning_rate": 0.0}])
def test_training_refuses_its_own_settings(folders, wrong):
    with pytest.raises(ValueError, match="must be above 0"):
        run_here({**SMALL, **folders, **wrong})


def test_the_same_unit_twice_is_the_same_bytes(folders, tmp_path):
    unit, found = "sentiment.tiny-bert.s0", []
    for name in ("one", "two"):
        places = {key: f"{folder}/{name}" for key, folder in folders.items()}
        execute.run(NOTEBOOK, tmp_path / f"{name}.ipynb", {**SMALL, **places})
        found.append(science(places["results_dir"], unit))
    assert sorted(found[0]) == [f"{unit}{end}" for end in (".examples.parquet", ".json", ".parquet")]
    assert found[0] == found[1]
    assert_valid(places["results_dir"], "quick", unit, examples=4)
    # What an interrupted run has finished: nothing is trained or measured again, and the bytes stay.
    places["results_dir"] = folders["results_dir"] + "/resumed"
    with pytest.MonkeyPatch.context() as patch:
        for name in ("training.fine_tune", "metrics.soft.values"):
            patch.setattr(f"faithlib.{name}", None)
        run_here({**SMALL, **places})
    assert science(places["results_dir"], unit) == found[0]


def science(results_dir, unit, paper="soft_metrics", volatile=()):
    """{file name: content} of a unit at quick scale, without what may differ between two runs."""
    folder = Path(results_dir, "quick", paper)
    record = json.loads((folder / f"{unit}.json").read_text())
    assert set(record.pop("volatile")) == {"finished", "seconds", "peak_memory_mib", "host", *volatile}
    del record["sha256"], record["volatile_sha256"]
    for name in ("git", "dirty", "code"):  # a file may be edited while this test runs
        del record["provenance"][name]
    return {path.name: path.read_bytes() for path in folder.iterdir()} | {f"{unit}.json": json.dumps(record)}


def assert_valid(results_dir, scale, unit, examples):
    """A record that can be read, and whose values are what the contract says."""
    (record,), values = results.load(results_dir, scale, "soft_metrics")
    assert record["unit"] == unit and len(values) > 0
    assert sorted(values.example.unique()) == list(range(examples))
    named = {row["metric"]: row["value"] for row in record["metrics"]}
    assert 0 <= named["accuracy"] <= 1 and 0 <= named["macro_f1"] <= 1 and np.isfinite(named["loss"])
    assert values.raw.between(0, 1).all()
    assert set(values.metric) == {"NS", "NC", "Soft-NS", "Soft-NC"}
    assert set(values.definition) == {"paper", "released"}
    assert set(values.baseline) == {"", "normal", "matched"}
    assert set(values[values.baseline == ""].attribution) == set(record["params"]["attributions"])
    assert record["provenance"]["model"]["sha256"] and record["provenance"]["data"]["sha256"]


# Attributions against known evidence --------------------------------------------------------------

FEW = {
    "train_size": 200,
    "validation_size": 60,
    "test_size": 60,
    "examples": 6,
    "epochs": 1,
    "steps": 3,
    "timed_examples": 1,
}


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"task": "wikibio"}, "'wikibio'"),
        ({"attributions": ["lime", "beem"]}, "'beem'"),
        ({"attributions": []}, "attributions=[]"),
        ({"steps": 0}, "steps=0"),
        ({"max_length": 8}, "longer than"),
        ({"timed_examples": 0}, "timed_examples=0"),
    ],
)
def test_wrong_parameters_of_evidence_are_told_before_training(folders, no_training, wrong, named):
    with pytest.raises(ReachedTraining):
        run_here({**FEW, **folders}, EVIDENCE)
    with pytest.raises(ValueError) as error:
        run_here({**FEW, **folders, **wrong}, EVIDENCE)
    assert named in str(error.value) and "\n" not in str(error.value)


def test_a_task_without_evidence_is_told(folders, no_training, tmp_path):
    with pytest.raises(ValueError, match="task='sst' has no evidence"):
        run_here(
            {
                **FEW,
                **folders,
                "task": "sst",
                "data_dir": str(mirror(tmp_path, "sst")),
                "train_size": 0,
                "validation_size": 0,
                "test_size": 0,
            },
            EVIDENCE,
        )


def test_all_methods_meet_the_evidence_twice_with_the_same_bytes_and_make_a_table(folders, tmp_path):
    unit, found = "relation.tiny-bert.s0", []
    for name in ("one", "two"):
        places = {key: f"{folder}/{name}" for key, folder in folders.items()}
        run_here({**FEW, **places, "task": "relation"}, EVIDENCE)
        found.append(science(places["results_dir"], unit, "attributions", ["seconds_per_example"]))
    assert sorted(found[0]) == [f"{unit}{end}" for end in (".examples.parquet", ".json", ".parquet")]
    assert found[0] == found[1]
    (record,), values = results.load(places["results_dir"], "quick", "attributions")
    asked = execute.defaults(EVIDENCE)["attributions"]
    assert set(asked) == set(attributions.names())  # all that there are
    agreement = values[values.metric != "completeness_gap"]
    assert len(agreement) == len(asked) * 3 * 6 and agreement.value.notna().all()
    gap = values[values.metric == "completeness_gap"]
    assert list(gap.example) == list(range(6)) and (gap.value >= 0).all() and gap.chance.isna().all()
    assert set(record["volatile"]["seconds_per_example"]) == set(asked)

    report = ROOT / "notebooks/attributions/report.ipynb"
    run_here({"scale": "quick", "results_dir": places["results_dir"], "figures_dir": str(tmp_path)}, report)
    folder = Path(places["results_dir"], "quick", "attributions")
    table = pd.read_csv(folder / "tables" / "evidence.csv")
    assert list(table.attribution) == asked and set(table.dataset) == {"relation"} and (table.n == 6).all()
    assert (folder / "claims.csv").is_file() and (tmp_path / "quick/attributions/evidence.png").is_file()


# Recursive ROAR -----------------------------------------------------------------------------------

ROAR = ROOT / "notebooks/recursive_roar/experiment.ipynb"
BRIEF = {
    "train_size": 60,
    "validation_size": 20,
    "test_size": 20,
    "epochs": 1,
    "ig_steps": 2,
    "width": 8,
    "hidden": 4,
    "ratios": [50, 100],
}


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"task": "wikibio"}, "'wikibio'"),
        ({"measures": ["atention"]}, "'atention'"),
        ({"measures": []}, "[]"),
        ({"measures": ["random"]}, "'random'"),
        ({"ratios": [50, 20]}, "[50, 20]"),
        ({"ratios": [50, 200]}, "100"),
        ({"ratios": [], "counts": []}, "counts=[]"),
        ({"counts": [0, 1]}, "[0, 1]"),
        ({"recursive": []}, "[]"),
        ({"ig_steps": 0}, "steps=0"),
        ({"workers": 0}, "workers=0"),
        ({"max_length": 8}, "longer than"),
        ({"vectors": "/no/such/file"}, "/no/such/file"),
        ({"width": 0}, "width=0"),
    ],
)
def test_wrong_parameters_of_roar_are_told_before_training(folders, no_training, wrong, named):
    with pytest.raises(ReachedTraining):
        run_here({**BRIEF, **folders}, ROAR)
    with pytest.raises((ValueError, FileNotFoundError)) as error:
        run_here({**BRIEF, **folders, **wrong}, ROAR)
    assert named in str(error.value) and "\n" not in str(error.value)


def test_roar_twice_is_the_same_bytes_and_makes_a_report(folders, tmp_path):
    unit, found = "relation.bilstm.s0", []
    for name in ("one", "two"):
        places = {key: f"{folder}/{name}" for key, folder in folders.items()}
        run_here({**BRIEF, **places, "task": "relation", "counts": [1, 2]}, ROAR)
        found.append(science(places["results_dir"], unit, "recursive_roar", ["seconds_of_models"]))
    assert sorted(found[0]) == [
        f"{unit}{end}" for end in (".json", ".parquet", ".predictions.parquet", ".sparsity.parquet")
    ]
    assert found[0] == found[1]
    (record,), values = results.load(places["results_dir"], "quick", "recursive_roar")
    curves = values[values.metric == "accuracy"]
    assert len(curves) == 5 * 2 * (3 + 3)  # measures with random, ROAR or not, steps by ratio and by count
    assert curves.value.between(0, 1).all()
    assert set(record["volatile"]["seconds_of_models"]) == set(values.job)
    assert {row["metric"] for row in record["metrics"]} == {"accuracy", "majority", "racu"}

    report = ROOT / "notebooks/recursive_roar/report.ipynb"
    run_here({"scale": "quick", "results_dir": places["results_dir"], "figures_dir": str(tmp_path)}, report)
    folder = Path(places["results_dir"], "quick", "recursive_roar")
    table = pd.read_csv(folder / "tables" / "racu.csv")
    assert len(table) == 8 and table.ci_low.isna().all() and (folder / "claims.csv").is_file()
    assert {p.stem for p in (tmp_path / "quick/recursive_roar").glob("*.png")} == {
        *(f"figure_{n}" for n in range(3, 9)),
        "table_2",
    }
    plt.close("all")


def test_roar_by_count_alone_has_no_areas(folders):
    run_here({**BRIEF, **folders, "ratios": [], "counts": [1], "measures": ["attention"]}, ROAR)
    (record,), values = results.load(folders["results_dir"], "quick", "recursive_roar")
    assert set(values.by) == {"count"} and "racu" not in {row["metric"] for row in record["metrics"]}


# SaLoss -------------------------------------------------------------------------------------------

SALOSS = ROOT / "notebooks/saloss/experiment.ipynb"
SHORT = {
    "train_size": 80,
    "validation_size": 30,
    "test_size": 30,
    "examples": 8,
    "tuning_examples": 6,
    "epochs": 1,
    "ig_steps": 2,
    "weights": [1.0],
    "released_weights": [0.001],
}


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"task": "wikibio"}, "'wikibio'"),
        ({"attributions": ["atention"]}, "'atention'"),
        ({"saliences": ["textrank", "tf-idf"]}, "'tf-idf'"),
        ({"saliences": ["tfidf"]}, "'textrank'"),
        ({"weights": []}, "weights=[]"),
        ({"weights": [0.0]}, "weights=[0.0]"),
        ({"step": 0.0}, "step=0.0"),
        ({"released_weights": [-1.0]}, "[-1.0]"),
        ({"removal": "drop"}, "'drop'"),
        ({"max_length": 8}, "longer"),
        ({"fresh_ratios": [1.5]}, "1.5"),
        ({"tagger": "no_such_tagger"}, "'no_such_tagger'"),
        ({"ig_steps": 0}, "steps=0"),
    ],
)
def test_wrong_parameters_of_saloss_are_told_before_training(folders, no_training, wrong, named):
    with pytest.raises(ReachedTraining):
        run_here({**SHORT, **folders}, SALOSS)
    with pytest.raises((ValueError, FileNotFoundError)) as error:
        run_here({**SHORT, **folders, **wrong}, SALOSS)
    assert named in str(error.value) and "\n" not in str(error.value)


def test_saloss_twice_is_the_same_bytes_and_makes_a_report(folders, tmp_path):
    unit, found = "sentiment.tiny-bert.s0", []
    for name in ("one", "two"):
        places = {key: f"{folder}/{name}" for key, folder in folders.items()}
        run_here({**SHORT, **places}, SALOSS)
        found.append(science(places["results_dir"], unit, "saloss"))
    assert sorted(found[0]) == [
        f"{unit}{end}"
        for end in (".as_released.parquet", ".examples.parquet", ".json", ".parquet", ".pos.parquet")
    ]
    assert found[0] == found[1]
    places["results_dir"] = folders["results_dir"] + "/resumed"
    with pytest.MonkeyPatch.context() as patch:  # nothing is trained or measured again
        patch.setattr("faithlib.training.fine_tune", None)
        run_here({**SHORT, **places}, SALOSS)
    assert science(places["results_dir"], unit, "saloss") == found[0]

    (record,), values = results.load(places["results_dir"], "quick", "saloss")
    assert len(values) == 4 * 5 * 8  # baseline, TextRank twice, uniform; attributions; examples
    assert values.fraction.between(0, 1, "right").all()
    rows = pd.DataFrame(record["metrics"])
    assert (rows[rows.split == "test"].groupby("salience").size()[["none", "textrank", "uniform"]] > 2).all()
    assert rows[rows.metric == "flip_fraction"].chosen.sum() == 3

    report = ROOT / "notebooks/saloss/report.ipynb"
    run_here({"scale": "quick", "results_dir": places["results_dir"], "figures_dir": str(tmp_path)}, report)
    folder = Path(places["results_dir"], "quick", "saloss")
    assert {p.stem for p in (folder / "tables").glob("*.csv")} == {
        "decision_flip",
        "fresh",
        "lambdas",
        "performance",
        "pos",
        "released_scores",
    }
    assert (folder / "claims.csv").is_file()
    assert (tmp_path / "quick/saloss/importance_by_part_of_speech.png").is_file()
    plt.close("all")


# FMM ----------------------------------------------------------------------------------------------

FMM = ROOT / "notebooks/fmm/experiment.ipynb"
TINY = {
    "train_size": 60,
    "validation_size": 50,
    "test_size": 30,
    "examples": 6,
    "epochs": 1,
    "ig_steps": 2,
    "beam": 1,
    "ratios": [50, 100],
}


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"task": "wikibio"}, "'wikibio'"),
        ({"measures": ["beem"]}, "'beem'"),
        ({"measures": []}, "[]"),
        ({"strategies": ["half/all"]}, "'half/all'"),
        ({"ratios": [50, 20]}, "[50, 20]"),
        ({"beam": 0}, "beam=0"),
        ({"validation_size": 20}, "20"),
        ({"max_length": 8}, "longer"),
        ({"ig_steps": 0}, "steps=0"),
    ],
)
def test_wrong_parameters_of_fmm_are_told_before_training(folders, no_training, wrong, named):
    with pytest.raises(ReachedTraining):
        run_here({**TINY, **folders}, FMM)
    with pytest.raises(ValueError) as error:
        run_here({**TINY, **folders, **wrong}, FMM)
    assert named in str(error.value) and "\n" not in str(error.value)


@pytest.mark.filterwarnings("ignore:.*constant in the reference")  # so few and short texts
def test_fmm_twice_is_the_same_bytes_and_makes_a_report(folders, tmp_path):
    unit, found = "sentiment.tiny-bert.s0", []
    for name in ("one", "two"):
        places = {key: f"{folder}/{name}" for key, folder in folders.items()}
        run_here({**TINY, **places}, FMM)
        found.append(science(places["results_dir"], unit, "fmm", ["seconds_of_measures"]))
    assert sorted(found[0]) == [
        f"{unit}{end}" for end in (".history.parquet", ".json", ".masf.parquet", ".parquet")
    ]
    assert found[0] == found[1]
    (record,), values = results.load(places["results_dir"], "quick", "fmm")
    accuracy = values[values.metric == "accuracy"]
    assert len(accuracy) == 2 * 10 * 3  # strategies, measures with random, steps
    ends = accuracy[accuracy.step.isin([0, 100])].groupby(["strategy", "step"]).value
    assert (ends.nunique() == 1).all()  # whatever the measure, nothing or everything is masked
    assert {row["metric"] for row in record["metrics"]} == {"accuracy", "majority", "converged"}

    report = ROOT / "notebooks/fmm/report.ipynb"
    run_here({"scale": "quick", "results_dir": places["results_dir"], "figures_dir": str(tmp_path)}, report)
    folder = Path(places["results_dir"], "quick", "fmm")
    assert {p.stem for p in (folder / "tables").glob("*.csv")} == {
        "performance",
        "history",
        "masf",
        "curves",
        "racu",
        "walltime",
    }
    assert (folder / "claims.csv").is_file()
    assert (tmp_path / "quick/fmm/faithfulness_curves_masked_fine_tuning.png").is_file()
    plt.close("all")


# The paper's own set-up ---------------------------------------------------------------------------

SIZED = {
    "google-bert/bert-base-uncased": (BertForSequenceClassification, BertConfig, {}),
    "FacebookAI/roberta-base": (
        RobertaForSequenceClassification,
        RobertaConfig,
        {
            "max_position_embeddings": 514,
            "type_vocab_size": 1,
            "pad_token_id": 1,
            "bos_token_id": 0,
            "eos_token_id": 2,
        },
    ),
}


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


def mirror(folder, task):
    """A mirror of a real data set with generated rows, where the real one is not at hand."""
    from faithlib import corpora

    generated = corpora.make("sentiment", 0, {"train": 60, "validation": 20, "test": 20})
    (folder / task).mkdir(parents=True)
    for split, rows in generated.items():
        rows = pd.DataFrame(rows)
        rows["text_b"] = "was it good ? || yes" if task == "multirc" else ""
        rows[["text", "text_b", "label"]].to_parquet(folder / task / f"{split}.parquet")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "short"), [("sst.bert-base-uncased.s0", {}), ("multirc.roberta-base.s0", {"max_length": 128})]
)  # 512 tokens on a CPU would take an hour
def test_a_unit_of_the_paper_scale_runs(folders, tmp_path, unit, short):
    task = unit.split(".")[0]
    data = DATA if (DATA / task).is_dir() else mirror(tmp_path / "data", task)
    _, papers, _ = grid.read({"scale": "paper"})
    parameters = papers["soft_metrics"].units[unit]
    assert parameters["epochs"] == 3 and parameters["learning_rate"] == 1e-5
    texts = pd.read_parquet(data / task / "train.parquet").text[:200]
    checkpoint(tmp_path / "models", parameters["model"], texts)
    few = {
        "train_size": 16,
        "validation_size": 8,
        "test_size": 8,
        "examples": 2,
        "ig_steps": 2,
        "soft_draws": 1,
        "random_draws": 1,
        "curve_ratios": [],
        "perturbations": ["bernoulli"],
    }
    places = {"data_dir": str(data), "model_dir": str(tmp_path / "models"), **folders}
    execute.run(NOTEBOOK, tmp_path / "out.ipynb", {**parameters, **few, **short, **places})
    assert_valid(folders["results_dir"], "paper", unit, examples=2)
    (record,), values = results.load(folders["results_dir"], "paper", "soft_metrics")
    assert record["params"]["model"] == parameters["model"]
    assert record["provenance"]["data"]["source"] == "mirror"
    assert not list(Path(folders["results_dir"]).rglob("*.examples.parquet"))  # no rows of real data
    assert "text" not in values
