"""Segments: where they end, what their removal costs the target, and the search from coarse to fine."""

from functools import partial

import numpy as np
import pytest
import tiny
from sample.lookup import LOSSES, A, look_up, losing, text

from faithlib import forward
from faithlib.attributions import attribute
from faithlib.attributions.segments import hierarchical, leave_one_out, segments
from faithlib.models.base import Encoding

TEXT = "the plot was great . it was long !\n\nwas it unlikely ? a boring film"


@pytest.fixture(params=["bert", "llama"])
def model(request):
    return tiny.causal("llama") if request.param == "llama" else tiny.classifier("bert")


def test_units_end_where_they_should(model):
    (encoding,) = model.encode([TEXT])
    inside = encoding.maskable
    found = {
        unit: segments(encoding, TEXT, unit)[inside] for unit in ("passage", "sentence", "word", "token")
    }
    # "unlikely" is three tokens, "film" and all others one
    assert found["passage"].tolist() == [0] * 9 + [1] * 9
    assert found["sentence"].tolist() == [0] * 5 + [1] * 4 + [2] * 6 + [3] * 3
    assert found["word"].tolist() == [*range(9), 9, 10, 11, 11, 11, 12, 13, 14, 15]
    assert found["token"].tolist() == list(range(18))
    assert (segments(encoding, TEXT, "word")[~inside] == -1).all()


def test_another_text_and_unit_are_told(model):
    (encoding,) = model.encode([TEXT])
    with pytest.raises(ValueError, match="has 2 words, its encoding more: give the same text"):
        segments(encoding, "the plot", "word")
    with pytest.raises(ValueError, match="unit='line' is unknown: use 'passage', 'sentence'"):
        segments(encoding, TEXT, "line")


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
    (found,) = leave_one_out(model, [encoding], [1], [parts])
    variants = [forward.replaced(encoding, parts == n, model.mask_id) for n in range(4)]
    y = forward.target_values(model, [forward.unchanged(encoding), *variants], [1] * 5, model.explains)
    assert found == pytest.approx({n: y[0] - y[n + 1] for n in range(4)}, abs=1e-9)


def test_the_search_divides_only_the_best_segment(model):
    (encoding,) = model.encode([TEXT])
    units = ("passage", "sentence", "token")
    (scores,), passes, flat = hierarchical(model, [encoding], [TEXT], [1], units)
    best = max(scores["passage"], key=scores["passage"].get)
    assert list(scores["passage"]) == [0, 1] and list(scores["sentence"]) == [[0, 1], [2, 3]][best]
    sentence = max(scores["sentence"], key=scores["sentence"].get)
    inside = segments(encoding, TEXT, "sentence") == sentence
    tokens = segments(encoding, TEXT, "token")[inside]
    assert set(scores["token"]) <= set(tokens.tolist())  # a token that is unknown is the mask of some models
    every = attribute(model, [encoding], [1], ["leave_one_out"])["leave_one_out"][0]
    at = {int(n): every[i] for i, n in enumerate(segments(encoding, TEXT, "token"))}
    assert scores["token"] == pytest.approx({n: at[n] for n in scores["token"]}, abs=1e-6)
    assert passes[0] == 1 + sum(map(len, scores.values())) < flat[0]


def test_keeping_all_segments_is_the_flat_search(model):
    encodings = model.encode([TEXT])
    (scores,), _, flat = hierarchical(model, encodings, [TEXT], [1], ("sentence", "token"), keep=9)
    assert 1 + len(scores["token"]) == flat[0]


def test_scores_of_segments_by_hand():
    """The classifier knows what each subset of four tokens is worth: a word is a token."""
    model, line = look_up(losing("abcd", 20, LOSSES)), text(A, A + 1, A + 2, A + 3)
    parts = np.array([-1, 0, 0, 1, 1, -1])
    (found,) = leave_one_out(model, [line], [0], [parts])
    assert found == {0: LOSSES.get("ab", 0), 1: LOSSES.get("cd", 0)} and any(found.values())


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (dict(units=("token", "sentence")), "in this order, each once"),
        (dict(units=()), "give some of passage, sentence, word, token"),
        (dict(units=("line",)), "unit='line' is unknown"),
        (dict(keep=0), "keep=0 must be at least 1"),
    ],
)
def test_what_is_wrong_is_told_before_any_work(model, given, told):
    with pytest.raises(ValueError, match=told) as error:
        hierarchical(model, model.encode([TEXT]), [TEXT], [1], **given)
    assert "\n" not in str(error.value)
