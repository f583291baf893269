"""Segments as a table: against leave-one-out token by token, and probabilities by hand."""

import numpy as np
import pytest
import tiny
import torch

import faithlib as fl
from faithlib.study import targets as explained
from faithlib.study.data import read

TEXT = "the plot was great . it was long and boring , the ending was not ."


def p_of(model, encoding, target, erased=()):
    ids = encoding.ids.copy()
    ids[list(erased)] = model.mask_id
    with torch.no_grad():
        return float(model.model(torch.tensor(ids)[None]).logits[0].double().softmax(-1)[target])


def test_a_token_is_its_own_segment():
    model = tiny.classifier("bert")
    table = fl.by_segment(model, tiny.TEXTS[:3], "token", targets=[1, 0, 2])
    encodings = model.encode(tiny.TEXTS[:3])
    loo = fl.attribute(model, encodings, [1, 0, 2], ["leave_one_out"])["leave_one_out"]
    for i, (encoding, scores) in enumerate(zip(encodings, loo, strict=True)):
        rows = table[table.text == i]
        assert (
            rows.score.tolist() == sorted(rows.score, reverse=True) and len(rows) == encoding.maskable.sum()
        )
        assert rows.sort_values("segment").score.values == pytest.approx(scores[encoding.maskable], abs=1e-6)


def test_sentences_are_erased_by_rank():
    model = tiny.classifier("bert")
    (encoding,) = model.encode([TEXT])
    table = fl.by_segment(model, [TEXT], "sentence", targets=[1])
    assert sorted(table.words) == sorted(
        ["the plot was great .", "it was long and boring , the ending was not ."]
    )
    places = {0: range(1, 6), 1: range(6, 17)}
    best = table.segment[0]
    assert table.p.values == pytest.approx(p_of(model, encoding, 1), abs=1e-6)
    assert table.p_without_top[0] == pytest.approx(p_of(model, encoding, 1, places[best]), abs=1e-6)
    assert table.p_only_top[0] == pytest.approx(p_of(model, encoding, 1, places[1 - best]), abs=1e-6)
    assert table.p_without_top[1] == pytest.approx(p_of(model, encoding, 1, range(1, 17)), abs=1e-6)
    assert table.p_only_top[1] == pytest.approx(table.p[1])  # all of them


def test_answers_of_several_tokens_and_contrasts_are_sums_over_tokens():
    model, prompts = tiny.causal("llama"), ["the plot was . it was great", "boring . long . she liked it"]
    kept = {name: fl.by_segment(model, prompts, "sentence", **given) for name, given in {
        "answer": {"targets": [(20, 24), (9,)]}, "other": {"targets": [(11,), (7, 8)]},
        "both": {"targets": [(20, 24), (9,)], "contrast": [(11,), (7, 8)]},
    }.items()}  # fmt: skip
    scores = {name: t.set_index(["text", "segment"]).score.sort_index() for name, t in kept.items()}
    assert scores["both"].values == pytest.approx((scores["answer"] - scores["other"]).values, abs=1e-6)
    p = {name: t.groupby("text").p.first() for name, t in kept.items()}
    assert p["both"].values == pytest.approx((p["answer"] - p["other"]).values)
    texts = read(prompts)
    encodings = texts.encode(model)
    wanted = explained.resolve(model, texts, encodings, [(20, 24), (9,)])
    tokens = explained.attribute(model, encodings, wanted, ["leave_one_out"])["leave_one_out"]
    by_token = fl.by_segment(model, prompts, "token", targets=[(20, 24), (9,)])
    for i, (encoding, s) in enumerate(zip(encodings, tokens, strict=True)):
        rows = by_token[by_token.text == i].sort_values("segment")
        assert rows.score.values == pytest.approx(s[encoding.maskable], abs=1e-6)


def test_what_is_wrong_is_refused_before_any_pass():
    model = tiny.causal("llama")
    for given, told in {
        ("the plot", "chapter", ""): "unit",
        ("the plot", "word", "blur"): "removal",
    }.items():
        with pytest.raises(ValueError, match=told):
            fl.by_segment(model, [given[0]], given[1], removal=given[2] or "mask")
    with pytest.raises(ValueError, match="contrast of text 0 is its target"):
        fl.by_segment(model, ["the plot"], "word", targets=[5], contrast=[5])


def test_a_text_whose_tokens_are_deleted_one_after_the_other():
    table = fl.by_segment(tiny.classifier("bert"), ["the plot was great ."], "word", removal="delete")
    assert table["rank"].tolist() == [1, 2, 3, 4, 5] and np.isfinite(table.p_without_top).all()
