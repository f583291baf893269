"""One unit of the study of metrics: its texts, its gates, what is left out."""

import numpy as np
import pandas as pd
import pytest

from faithlib.corpora import planted
from faithlib.store import digest
from notebooks.ground_truth.measure import protocol
from notebooks.ground_truth.measure import unit as measure
from notebooks.ground_truth.measure.unit import Unit
from replication import results

SMALL = {"seed": 3, "train_size": 20, "examples": 4, "draws": 1}


def run_of(tmp_path, model):
    given = {"task": "planted", "model": model, "seed": 3, "scale": "quick", "device": "cpu"}
    return results.start("ground_truth", given | {"results_dir": str(tmp_path / "results")})


def test_mechanisms_are_those_that_the_model_can_have():
    names = {model: [m.name for m in Unit(model, 0).mechanisms()] for model in ("compiled", "tiny-bert")}
    assert set(names["tiny-bert"]) ^ set(names["compiled"]) == {"graded", "blind"}
    with pytest.raises(ValueError, match="mechanisms='graded' is none of tiny-bert: use one_word"):
        Unit("tiny-bert", 0).mechanisms(["graded"])
    with pytest.raises(ValueError, match="the compiled model has three classes"):
        Unit("compiled", 0, classes=2).mechanisms()


def test_all_models_of_a_seed_have_the_same_texts():
    one, other = (
        measure.corpus(Unit(model, **SMALL), planted.MECHANISMS["xor"]) for model in ("compiled", "bilstm")
    )
    assert one == other and {name: len(rows) for name, rows in one.items()} == {
        "train": 20,
        "validation": 300,
        "test": 400,
    }
    assert len({row["text"] for rows in one.values() for row in rows}) == 720


def test_words_are_planted_into_given_sentences():
    words = np.array("a b c d e f g h i j k l".split())
    rng = np.random.default_rng(0)
    sentences = tuple(dict.fromkeys(" ".join(rng.choice(words, 10)) for _ in range(900)))
    rows = measure.corpus(Unit("bilstm", **SMALL, sentences=sentences), planted.MECHANISMS["one_word"])
    assert {w for row in rows["test"] for w in row["text"].split()} - {
        *planted.PLANTED,
        *planted.OBJECTS,
    } == {*words}
    with pytest.raises(ValueError, match="exceeds the number of sentences"):
        measure.corpus(Unit("bilstm", **SMALL, sentences=sentences[:100]), planted.MECHANISMS["one_word"])


def test_a_unit_of_the_compiled_model_is_the_same_when_it_goes_on(tmp_path):
    unit = Unit("compiled", **SMALL, attributions=("gradient_l2", "leave_one_out"))
    functions = protocol.metrics(["nc", "soft_nc"], draws=1)
    found = []
    for _ in range(2):  # the second reads back what the first kept
        of = measure.measured(
            run_of(tmp_path, "compiled"), unit, planted.MECHANISMS["one_word"], functions, {}
        )
        counts, means, gate = of["counts"], of["attributions"], of["gates"].iloc[0]
        found.append((counts.to_csv(), means.to_csv(), gate.to_dict()))
    assert found[0] == found[1] and gate.passed == 4 and of["excluded"] == [] and of["familiarity"].empty
    assert gate.corpus == digest(measure.corpus(unit, planted.MECHANISMS["one_word"])) and gate.tokens > 8
    assert set(counts.metric) == {"nc", "soft_nc", "random", "oracle", "magnitude", "1 - nc"}
    of = means.set_index(["attribution", "metric"]).value
    assert of["leave_one_out", "auprc"] == of["gradient_l2", "mean_rank"] == 1


def test_a_model_that_fails_its_gates_is_listed_and_not_scored(tmp_path):
    """After one epoch on 20 texts."""
    unit = Unit("tiny-bert", **SMALL, epochs=1)
    functions = protocol.metrics(["nc"])
    found = measure.measured(
        run_of(tmp_path, "tiny-bert"), unit, planted.MECHANISMS["one_word"], functions, {}
    )
    (row,), gate = found["excluded"], found["gates"].iloc[0]
    assert found["counts"].empty and found["attributions"].empty
    assert gate.passed == 0 and gate.refused == row["why"]
    assert "accuracy 0." in row["why"] and row["what"] == "one_word" and row["n"] == 4


def test_a_unit_of_retraining_scores_that_alone(tmp_path, monkeypatch):
    unit, given = Unit("bilstm", **SMALL, masking="roar", epochs=1), {}

    def score(make, tuned, splits, settings, kept, seed):
        given.update(settings=settings, sizes={name: len(labels) for name, (_, labels) in splits.items()})
        return "the counts", f"the RACU of {len(make().tokenizer) == len(tuned.tokenizer)} vocabularies"

    monkeypatch.setattr(measure.retraining, "score", score)
    monkeypatch.setattr(measure, "gated", lambda *of: (["a text"], {}))
    found = measure.measured(run_of(tmp_path, "bilstm"), unit, planted.MECHANISMS["xor"], {}, {})
    assert (found["counts"], found["attributions"]) == ("the counts", "the RACU of True vocabularies")
    assert given["settings"]["masking"] == "none" and "seed" not in given["settings"]
    assert given["sizes"] == {"train": 20, "validation": 300, "test": 400}


def test_committed_records_are_of_texts_that_are_made_again():
    folder = results.project_root() / "results" / "small" / "ground_truth"
    gates = pd.read_parquet(folder / "planted.compiled.s10.gates.parquet").set_index("mechanism")
    for name in ("one_word", "xor"):
        assert (
            digest(measure.corpus(Unit("compiled", 10, examples=40), planted.MECHANISMS[name]))
            == (gates.corpus[name])
        )
