"""What a study says of itself: equal texts, flat scores, models at chance, gaps."""

import pandas as pd
import pytest
import tiny

from faithlib.engine import forward
from faithlib.study import evaluate

ATTRIBUTIONS = ["gradient_l2", "random_uniform"]


def labelled(labels):
    return pd.DataFrame({"text": tiny.TEXTS, "label": labels})


def predicted(model):
    encodings = model.encode(tiny.TEXTS)
    return forward.probabilities(model, [forward.unchanged(e) for e in encodings]).argmax(1)


def test_flat_scores_are_flagged(classifier):
    def flat(model, batch, target):
        return batch.maskable * 0.5

    study = evaluate(classifier, tiny.TEXTS, [flat, "gradient_l2"], ["decision_flip"])
    assert "all scores are equal in 4 texts" in study.table.flag[0]  # the fifth has one token
    assert "all scores" not in study.table.flag[1]


def test_equal_texts_count_once(classifier, position):
    once = evaluate(classifier, tiny.TEXTS, ["gradient_l2"], [position], progress=False)
    often = evaluate(classifier, tiny.TEXTS * 20, ["gradient_l2"], [position], progress=False)
    assert often.table.n[0] == len(tiny.TEXTS) and "95 of 100 texts are equal to others" in often.notes[0]
    for column in ("value", "ci_low", "ci_high"):
        assert often.table[column][0] == pytest.approx(once.table[column][0], abs=1e-5)
    assert len(often.values) == len(once.values) and len(often.texts) == 100


def test_a_gap_of_integrated_gradients_is_told(classifier, tmp_path):
    setup = dict(model=classifier, data=tiny.TEXTS, attributions=["integrated_gradients"], metrics=["ns"])
    for resume in (None, tmp_path, tmp_path):
        notes = evaluate(**setup, steps=1, resume=resume, progress=False).notes
        assert any("scores miss their sum by more than a tenth" in note for note in notes)
    assert not any("miss their sum" in note for note in evaluate(**setup, steps=200, progress=False).notes)


def test_a_model_at_chance_is_said_first_and_has_no_value(capsys):
    model = tiny.classifier(seed=4)
    right = predicted(model)
    assert len(set(right)) > 1
    study = evaluate(model, labelled((right + 1) % 3), ["gradient_l2"], ["nc", "soft_nc"])
    output = capsys.readouterr().out
    said = "tiny-bert on these texts: at chance: Matthews' correlation -"
    assert output.startswith(said) and output.count("\n") == 1
    assert study.notes == [output.strip()]
    assert study.table[["value", "ci_low", "ci_high", "diagnosticity"]].isna().all(axis=None)
    assert study.table.flag.str.startswith("at chance").all() and study.values.value.notna().any()
    fine = evaluate(model, labelled(right), ["gradient_l2"], ["nc", "soft_nc"])
    assert capsys.readouterr().out == "" and fine.notes == [] and fine.table.value.notna().all()
    assert fine.labels.tolist() == fine.predicted.tolist() == right.tolist()


def test_labels_of_prompts_are_left_out_with_a_note():
    causal = tiny.causal()
    note = "Labels are left out: tiny-llama is a language model (prompts have answers, in the column target)."
    frame = pd.DataFrame({"text": tiny.PROMPTS[:2], "label": [0, 1]})
    assert note in evaluate(causal, frame, ["gradient_l2"], ["aopc_sufficiency"], progress=False).notes
    assert (
        note
        not in evaluate(causal, tiny.PROMPTS[:2], ["gradient_l2"], ["aopc_sufficiency"], progress=False).notes
    )
