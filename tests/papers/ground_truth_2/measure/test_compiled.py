"""The compiled model computes its rule, on every short text and under every perturbation."""

from itertools import product

import numpy as np
import pytest
from sample.compiled import TOTAL, compiled

from faithlib.attributions import attribute
from faithlib.corpora import planted
from faithlib.engine import forward

WORDS = {
    "one_word": ("copper", "cotton", "chair"),
    "xor": ("needle", "spider", "violin", "basket", "chair"),
    "ordered_pair": ("rabbit", "maple", "chair"),
}


def evidence(mechanism, words):
    """The evidence for the first and the second class, from the rule in words: two sums of weights."""
    a, b = (set(words) & set(planted.CLASSES[c]) for c in (0, 1))
    if mechanism == "xor":
        pairs = [(planted.FIRST[i], planted.SECOND[j], i == j) for i in range(2) for j in range(2)]
        equals = [equal for one, other, equal in pairs if one in words and other in words]
        return TOTAL * equals.count(True), TOTAL * equals.count(False)
    if mechanism == "ordered_pair":
        places = {w: [i for i, word in enumerate(words) if word == w] for w in planted.PAIR}
        one, other = (places[w] for w in planted.PAIR)
        return TOTAL * any(i < j for i in one for j in other), TOTAL * any(j < i for i in one for j in other)
    return TOTAL * bool(a), TOTAL * bool(b)


def probabilities(mechanism, words):
    logits = np.array([*evidence(mechanism, words), TOTAL / 2]) - TOTAL / 2
    return np.exp(logits) / np.exp(logits).sum()


@pytest.mark.parametrize("mechanism", WORDS)
def test_every_text_of_up_to_four_words_follows_the_rule(mechanism):
    texts = [words for n in range(1, 5) for words in product(WORDS[mechanism], repeat=n)]
    model = compiled(mechanism, [" ".join(WORDS[mechanism])])
    encodings = model.encode([" ".join(words) for words in texts])
    predicted = forward.probabilities(model, [forward.unchanged(e) for e in encodings])
    np.testing.assert_allclose(predicted, [probabilities(mechanism, words) for words in texts], atol=1e-6)


@pytest.mark.parametrize("mechanism", WORDS)
def test_a_token_that_is_erased_is_as_a_neutral_word(mechanism):
    rows = [r for r in planted.make(mechanism, 30, seed=4) if r["kind"] == "whole"]
    model = compiled(mechanism, [r["text"] for r in rows] + ["chair"])
    for row, e in zip(rows, model.encode([r["text"] for r in rows]), strict=True):
        for i in row["evidence"]:
            at, words = e.words == i, row["text"].split()
            neutral = probabilities(mechanism, [*words[:i], "chair", *words[i + 1 :]])
            variants = [
                forward.zeroed(e, at),
                forward.replaced(e, at, model.mask_id),
                forward.replaced(e, at, 0),
            ]
            for p in forward.probabilities(model, variants):
                np.testing.assert_allclose(p, neutral, atol=1e-6)
            gone = probabilities(mechanism, [*words[:i], *words[i + 1 :]])
            np.testing.assert_allclose(
                forward.probabilities(model, [forward.deleted(e, at)])[0], gone, atol=1e-6
            )


def test_leaving_a_word_out_finds_the_evidence():
    rows = [r for r in planted.make("one_word", 40, seed=1) if r["kind"] == "whole"][:5]
    model = compiled("one_word", [r["text"] for r in rows])
    encodings = model.encode([r["text"] for r in rows])
    targets = [r["label"] for r in rows]
    by_method = attribute(model, encodings, targets, ["leave_one_out", "attention", "gradient_l2"])
    for row, e, scores in zip(rows, encodings, by_method["leave_one_out"], strict=True):
        of_words = [scores[e.words == i].sum() for i in row["evidence"]]
        np.testing.assert_allclose(of_words, [TOTAL], atol=1e-3)
        assert np.abs(scores[~np.isin(e.words, row["evidence"])]).max() < 1e-3
    assert all(np.isfinite(s).all() for name in by_method for s in by_method[name])


def test_what_cannot_be_compiled_is_told():
    with pytest.raises(ValueError, match="mechanism 'blind' cannot be compiled: use one_word, redundant"):
        compiled("blind", ["a"])
