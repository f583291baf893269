"""RACU and MaSF in the table of a study: where a model was trained with masks, and said where not."""

import numpy as np
import pandas as pd
import pytest
import tiny

from faithlib import load_data, load_model
from faithlib.study import evaluate
from faithlib.training import fine_tuning as training

TEXTS = [f"{word} {text}" for word in tiny.WORDS[:9] for text in tiny.TEXTS]


def trained(seed=4, masking="half"):
    model = tiny.classifier(seed=seed)
    model.model.config.masked_training = masking
    return model


@pytest.fixture(scope="module")
def data():
    """Labels that the model is above chance on, and a validation split."""
    model = trained()
    encodings = model.encode(TEXTS)
    labels = [int(model.logits(model.collate([e])).argmax()) for e in encodings]
    frame = pd.DataFrame({"text": TEXTS, "label": labels})
    return {"test": frame.iloc[::3].reset_index(drop=True), "validation": frame}


def test_all_has_racu_and_masf_of_a_model_trained_with_masks(data, capsys):
    zeros = [np.zeros(len(e.ids)) for e in trained().encode(list(data["test"].text))]
    wanted = {"gradient_l2": "gradient_l2", "beam": "beam", "given": zeros}
    study = evaluate(trained(), data, wanted, "all", beam=2, baselines=0, progress=False)
    assert "left out" not in capsys.readouterr().out + " ".join(study.notes)
    table = study.table.set_index(["attribution", "metric"])
    assert list(study.table.attribution.unique()) == list(wanted)
    row = table.loc["gradient_l2", "masked_racu"]
    assert np.isfinite(row.value) and row.n == 15 and row.flag == "one value of the data set: no interval"
    masf = table.loc["gradient_l2", "masf"]
    values = study.values.query("metric == 'masf' and attribution == 'gradient_l2'").value
    assert masf.value == pytest.approx(values.mean()) and masf.n == len(values) == 15
    assert table.loc["given", "masked_racu"].flag == "scores that are given cannot be asked again"
    assert ("given", "masf") not in table.index and ("beam", "masf") in table.index


def test_validation_texts_that_are_too_long_are_told(data, capsys):
    long = pd.DataFrame({"text": [" ".join(TEXTS * 9)], "label": [0]})
    splits = data | {"validation": pd.concat([data["validation"], long], ignore_index=True)}
    model = trained()
    evaluate(model, splits, ["gradient_l2"], ["masf"], progress=False)
    said = f"MaSF leaves out 1 of {len(TEXTS) + 1} validation texts: more than {model.max_length} tokens\n"
    assert said in capsys.readouterr().out


def test_by_name_and_of_several_models(data):
    models = [trained(), trained()]
    asked = {"targets": [1] * len(data["test"]), "progress": False}
    study = evaluate(models, data, ["gradient_l2"], ["masked_racu"], **asked)
    note = "RACU and MaSF explain the labels of the texts, as in their papers, and not the targets."
    assert note in study.notes
    row, second = study.table.itertuples()  # one says whether to believe the other
    apart = [part.table.value[0] for part in study.parts]
    assert row.value == pytest.approx(np.nanmean(apart)) and row.unit == "models × texts"
    assert np.isfinite(row.value) and (row.metric, second.metric) == ("masked_racu", "masf")


@pytest.mark.parametrize("without", ["masks", "labels", "validation"])
def test_elsewhere_one_line_says_why_they_are_left_out(data, capsys, without):
    model = trained(masking="none" if without == "masks" else "half")
    data = dict(data) if without != "validation" else {"test": data["test"]}
    if without == "labels":
        data["test"] = data["test"][["text"]]
    study = evaluate(model, data, ["gradient_l2"], "all", baselines=0, progress=False)
    line = capsys.readouterr().out
    assert line.startswith("RACU and MaSF are left out: they need a model trained with masks") and study.notes
    assert line.count("\n") == 1 and not {"masked_racu", "masf"} & set(study.table.metric)
    with pytest.raises(ValueError, match="metric 'masf' needs a model trained with masks"):
        evaluate(model, data, ["gradient_l2"], ["masf"], progress=False)


def test_fine_tune_says_how_it_trained_and_a_saved_model_knows(tmp_path):
    reviews = load_data("sentiment", sizes={"train": 40, "validation": 40, "test": 4})
    model = load_model("tiny-bert", data=reviews)
    history = training.fine_tune(model, reviews, epochs=1, batch_size=20, learning_rate=1e-3, masking="half")
    assert [row["epoch"] for row in history] == [1.0]
    tiny.save(model, tmp_path)
    assert load_model(tmp_path, data=reviews).model.config.masked_training == "half"
    new = load_model(tmp_path, data=reviews, new_head=True)
    assert new.model.config.masked_training == "none"
    rows = new.encode(list(reviews.splits["train"]["text"])), np.array(reviews.splits["train"]["label"])
    training.fine_tune(
        model, {"train": rows, "validation": rows}, epochs=1, batch_size=20, learning_rate=1e-3
    )
    assert model.model.config.masked_training == "none"  # whichever way it was trained
    with pytest.raises(ValueError, match="data has no split 'train' with labels: give what"):
        training.fine_tune(model, load_data(["a film"]), epochs=1, batch_size=2, learning_rate=1e-3)
