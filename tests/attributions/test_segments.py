"""Segments: where they end, and what their removal costs the target."""

from functools import partial

import numpy as np
import pytest
import tiny
from sample.lookup import LOSSES, A, look_up, losing, text
from wrong import refused

from faithlib.attributions import attribute
from faithlib.attributions.segments import leave_one_out, segments
from faithlib.engine import forward
from faithlib.models.base import Encoding
from faithlib.study import by_segment

TEXT = "the plot was great . it was long !\n\nwas it unlikely ? a boring film"


@pytest.fixture(params=["bert", "llama"])
def model(request):
    return tiny.causal("llama") if request.param == "llama" else tiny.classifier("bert")


def test_units_end_where_they_should(model):
    (encoding,) = model.encode([TEXT])
    inside = encoding.maskable
    by_unit = {
        unit: segments(encoding, TEXT, unit)[inside] for unit in ("passage", "sentence", "word", "token")
    }
    # "unlikely" is three tokens, "film" and all others one
    assert by_unit["passage"].tolist() == [0] * 9 + [1] * 9
    assert by_unit["sentence"].tolist() == [0] * 5 + [1] * 4 + [2] * 6 + [3] * 3
    assert by_unit["word"].tolist() == [*range(9), 9, 10, 11, 11, 11, 12, 13, 14, 15]
    assert by_unit["token"].tolist() == list(range(18))
    assert (segments(encoding, TEXT, "word")[~inside] == -1).all()


def test_another_text_and_unit_are_told(model):
    (encoding,) = model.encode([TEXT])
    refused("has 2 words, its encoding more: give that text", segments, encoding, "the plot", "word")
    refused("unit='line' is unknown: use 'passage', 'sentence'", segments, encoding, TEXT, "line")


def test_a_token_over_the_border_of_two_segments_is_told():
    of = partial(Encoding, np.arange(3), np.zeros(3, int), np.ones(3, bool), np.zeros(3, bool))
    merged = of(np.array([1, 2, 3]))  # the first token is "a plot"
    assert segments(merged, "a plot . long", "sentence").tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match="unit='word': one token holds both 'a' and 'plot', of two words"):
        segments(merged, "a plot . long", "word")
    with pytest.raises(ValueError, match="both 'end.' and 'plot', of two sentences: use a coarser unit"):
        segments(merged, "end. plot . long", "sentence")
    dropped = of(np.array([0, 2, 3]))  # no token has the zero-width blank
    assert segments(dropped, "a \u200b . long", "word").tolist() == [0, 2, 3]


@pytest.mark.parametrize("removal", ["mask", "delete"])
def test_a_segment_of_one_token_has_the_score_of_the_token(model, removal):
    texts = tiny.TEXTS[:2]
    encodings, targets = model.encode(texts), [1, 2]
    tokens = [segments(e, text, "token") for e, text in zip(encodings, texts, strict=True)]
    flat = attribute(model, encodings, targets, ["leave_one_out"], removal=removal)["leave_one_out"]
    for e, of, row in zip(
        encodings, leave_one_out(model, encodings, targets, tokens, removal), flat, strict=True
    ):
        assert list(of.values()) == pytest.approx(row[e.maskable][: len(of)], abs=1e-6) and len(of) > 3


def test_a_segment_is_removed_whole(model):
    (encoding,) = model.encode([TEXT])
    parts = segments(encoding, TEXT, "sentence")
    (scores,) = leave_one_out(model, [encoding], [1], [parts])
    variants = [forward.replaced(encoding, parts == n, model.mask_id) for n in range(4)]
    y = forward.target_values(model, [forward.unchanged(encoding), *variants], [1] * 5, model.explains)
    assert scores == pytest.approx({n: y[0] - y[n + 1] for n in range(4)}, abs=1e-9)


def test_scores_of_segments_by_hand():
    """The classifier knows what each subset of four tokens is worth: a word is a token."""
    model, line = look_up(losing("abcd", 20, LOSSES)), text(A, A + 1, A + 2, A + 3)
    parts = np.array([-1, 0, 0, 1, 1, -1])
    (scores,) = leave_one_out(model, [line], [0], [parts])
    assert scores == {0: LOSSES.get("ab", 0), 1: LOSSES.get("cd", 0)} and any(scores.values())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(targets=["great"]), "target 'great' is no output: tiny-"),
        (dict(targets=[10**6]), "target 1000000 is no output: tiny-"),
        (dict(targets=[True]), "target True is no output"),
        (dict(targets=[(1, 2)]), r"target \(1, 2\) is no output"),
        (dict(targets=[1, 2]), r"targets='\[1, 2\]': give one for each of 1 encodings"),
        (dict(targets=1), "targets='1': give one for each of 1 encodings"),
        (dict(parts=[]), r"parts='\[\]': give one for each of 1 encodings"),
        (dict(parts=[np.zeros(3)]), r"parts of encoding 0 have the shape \(3,\), it has"),
        (dict(removal="zero"), "removal='zero' is unknown: use 'mask', 'pad', 'delete'"),
    ],
)
def test_what_is_wrong_is_told_before_any_pass(model, monkeypatch, wrong, message):
    encodings = model.encode([TEXT])
    right = {"targets": [1], "parts": [segments(encodings[0], TEXT, "word")]}
    monkeypatch.setattr(model, "logits", None)
    refused(message, leave_one_out, model, encodings, **{**right, **wrong})


def test_fixed_words_belong_to_no_segment(model):
    (encoding,) = model.encode([TEXT])
    inside, fixed = encoding.maskable, [0, 1, 11]  # "unlikely", word 11, is three tokens
    for unit in ("passage", "sentence", "word", "token"):
        numbers, without = segments(encoding, TEXT, unit, fixed), segments(encoding, TEXT, unit)
        never = np.isin(encoding.words, fixed) & inside
        assert never.sum() == 5 and (numbers[never] == -1).all()
        assert (numbers[~never] == without[~never]).all()  # the others keep their numbers


def test_a_token_of_a_fixed_word_and_another_is_told():
    line = Encoding(
        np.arange(3), np.zeros(3, int), np.ones(3, bool), np.zeros(3, bool), np.array([1, 2, 3])
    )  # the first token is "a plot"
    assert segments(line, "a plot . long", "token", [0, 1]).tolist() == [-1, 1, 2]
    for unit in ("sentence", "token"):
        message = "fixed: one token holds both 'a' and 'plot', and one of them is"
        refused(message, segments, line, "a plot . long", unit, [0])


def test_sentences_end_at_wide_marks_that_no_blank_follows():
    model, text = tiny.classifier("roberta"), "很好。 不好！难看？ so good ."
    (encoding,) = model.encode([text])
    numbers = segments(encoding, text, "sentence")
    written = [text[slice(*span)].strip() for span in encoding.spans.tolist()]
    assert "".join(written[np.flatnonzero(numbers == n)[-1]] for n in range(4)) == "。！？."
    table = by_segment(model, [text], "sentence").sort_values("segment")
    assert table.words.tolist() == ["很好。", "不好！", "难看？", "so good ."]
