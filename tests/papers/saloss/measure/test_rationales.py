"""Rationales by hand, and what a classifier learns from them."""

from math import ceil

import numpy as np
import pytest
import tiny
from wrong import refused

from faithlib import models
from faithlib.corpora import make
from faithlib.metrics.plausibility import evidence_tokens
from faithlib.training import fine_tuning as training
from notebooks.saloss.measure.rationales import THRESHOLDERS, contiguous, extract, top_k

SIX = tiny.encoding(8, range(1, 7))  # six words between two special tokens


def chosen(thresholder, scores, ratio, encoding=SIX):
    """The places of the chosen words, from 0."""
    whole = np.zeros(len(encoding.ids))
    whole[encoding.maskable] = scores
    return (np.flatnonzero(thresholder(whole, encoding.maskable, ratio)) - 1).tolist()


@pytest.mark.parametrize(
    ("scores", "ratio", "expected"),
    [
        ([1, 5, 2, 4, 3, 0], 0.5, [1, 3, 4]),
        ([0, 0, 0, 0, 0, 1], 0.1, [5]),  # the last word too
        ([3, 0, 0, 0, 2, 3], 0.2, [0, 5]),  # ⌈1.2⌉ is 2; document order, not that of the scores
        ([2, 2, 2, 2, 2, 2], 0.4, [0, 1, 2]),
        ([1, 2, 2, 2, 2, 1], 0.3, [1, 2]),
        ([-1, -2, -3, -4, -5, -6], 0.3, [0, 1]),
        ([1] * 6, 1.0, [0, 1, 2, 3, 4, 5]),
        ([1, 2] * 3, 1e-12, [1]),
    ],
)
def test_top_k_by_hand(scores, ratio, expected):
    assert chosen(top_k, scores, ratio) == expected


@pytest.mark.parametrize(
    ("scores", "ratio", "expected"),
    [
        ([1, 5, 2, 4, 3, 0], 0.5, [1, 2, 3]), ([0, 0, 0, 0, 1, 9], 0.3, [4, 5]),
        ([9, 0, 0, 5, 5, 0], 0.3, [3, 4]), ([9, 0, 0, 4, 4, 0], 0.3, [0, 1]), ([2] * 6, 0.5, [0, 1, 2]),
        ([-9, -1, -2, -9, -1, -2], 0.3, [1, 2]), ([0, 3, 3, 3, 3, 0], 1.0, range(6)),
        ([0.1, 0.2, 0.3, 0.3, 0.2, 0.1], 0.5, [1, 2, 3]), ([0.3, 0.2, 0.1, 0.1, 0.2, 0.3], 0.5, [0, 1, 2]),
    ],
)  # fmt: skip
def test_contiguous_by_hand(scores, ratio, expected):
    assert chosen(contiguous, scores, ratio) == list(expected)


def test_a_window_runs_over_what_is_not_maskable():
    encoding = tiny.encoding(8, [1, 2, 5, 6])
    scores = np.array([9, 0, 2, 9, 9, 2, 1, 9], float)
    assert np.flatnonzero(contiguous(scores, encoding.maskable, 0.5)).tolist() == [2, 5]


def test_k_is_the_ceiling_and_only_maskable_tokens_are_chosen():
    rng = np.random.default_rng(0)
    for n in range(1, 60):
        maskable = rng.permutation(np.arange(n + 4) < n)
        scores = rng.normal(size=n + 4)
        for percent in (1, 5, 10, 20, 50, 100):
            k = ceil(percent * n / 100)  # exact: whole numbers
            for threshold in THRESHOLDERS.values():
                which = threshold(scores, maskable, percent / 100)
                assert which.sum() == k and not (which & ~maskable).any()
            best, window = (scores[t(scores, maskable, percent / 100)].sum() for t in (top_k, contiguous))
            assert window <= best + 1e-12


@pytest.mark.parametrize("threshold", THRESHOLDERS.values(), ids=THRESHOLDERS)
def test_what_selects_nothing_is_told(threshold):
    for ratio in (0, -0.1, 1.01, float("nan")):
        refused(rf"ratio {ratio} is outside \(0, 1\]", threshold, np.zeros(8), SIX.maskable, ratio)
    refused("no maskable token", threshold, np.zeros(8), np.zeros(8, bool), 0.5)
    assert threshold(np.zeros(3), np.array([False, True, False]), 0.01).sum() == 1


# Extraction ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_extracted_is_what_the_words_alone_would_be(kind):
    model = tiny.classifier(kind)
    (whole,) = model.encode([tiny.TEXTS[1]], ["is it long ?"])
    words = [2, 3, 6]  # one of them of several pieces in places
    which = whole.maskable & np.isin(whole.words, words)
    (short,) = extract([whole], [which])
    assert short.words[short.maskable].tolist() == whole.words[which].tolist()
    assert short.ids[~short.maskable].tolist() == whole.ids[~whole.maskable].tolist()
    if kind != "roberta":  # its first word has no blank before it, which makes another piece
        (expected,) = model.encode([" ".join(tiny.TEXTS[1].split()[w] for w in words)], ["is it long ?"])
        for field in ("ids", "types", "maskable", "auxiliary"):
            assert (getattr(short, field) == getattr(expected, field)).all(), field


def test_document_order_is_kept_and_the_last_token_can_be_chosen():
    scores = np.array([0, 1, 0, 0, 0, 0, 9, 0], float)
    (short,) = extract([SIX], [top_k(scores, SIX.maskable, 0.3)])
    assert short.ids.tolist() == [1, 2, 7, 8]
    (same,) = extract([SIX], [SIX.maskable])
    assert (same.ids == SIX.ids).all()


@pytest.mark.parametrize(
    ("which", "words"),
    [
        (np.zeros(8, bool), "nothing is chosen of example 1"),
        (np.arange(8) == 0, "tokens of example 1 are chosen that are not maskable"),
    ],
)
def test_rationales_that_cannot_be_extracted_are_told(which, words):
    refused(words, extract, [SIX, SIX], [SIX.maskable, which])


# On a generated corpus ----------------------------------------------------------------------------


def test_a_classifier_learns_from_evidence_and_not_from_random_tokens():
    corpus = make("sentiment", sizes={"train": 400, "validation": 60, "test": 120})
    rng, accuracy = np.random.default_rng(0), {}
    for kind in ("evidence", "random"):
        texts = [row["text"] for row in corpus["train"]]
        model, splits = models.load("tiny-bert", ["negative", "positive"], texts), {}
        for split, rows in corpus.items():
            encodings = model.encode([row["text"] for row in rows])
            which = [evidence_tokens(e, row["evidence"]) for e, row in zip(encodings, rows, strict=True)]
            if kind == "random":  # as many
                which = [
                    top_k(rng.random(len(w)), e.maskable, w.sum() / e.maskable.sum())
                    for e, w in zip(encodings, which, strict=True)
                ]
            splits[split] = extract(encodings, which), [row["label"] for row in rows]
        training.fine_tune(model, splits, epochs=4, batch_size=16, learning_rate=1e-3)
        accuracy[kind] = training.evaluate(model, *splits["test"])["accuracy"]
    assert accuracy["evidence"] > 0.9 > 0.7 > accuracy["random"], accuracy
