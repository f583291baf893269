"""Where the evidence is known, attributions of a trained model find it, and random ones do not."""

import numpy as np
import pytest

from faithlib import models, tasks
from faithlib.attributions import attribute
from faithlib.scores import normal, permuted
from faithlib.training import fine_tuning as training

TEXTS = 100


@pytest.fixture(scope="module")
def case():
    """A tiny BERT trained on the generated sentiment corpus, and 100 test texts with their evidence."""
    data = tasks.load("sentiment", sizes={"train": 1500, "validation": 200, "test": 200})
    classifier = models.load("tiny-bert", data.task.labels, data.splits["train"]["text"])
    encoded = {
        split: (classifier.encode(list(rows["text"])), np.array(rows["label"]))
        for split, rows in data.splits.items()
    }
    training.fine_tune(classifier, encoded, epochs=6, batch_size=32, learning_rate=2e-3)
    performance = training.evaluate(classifier, *encoded["test"])
    evidence = [
        np.isin(e.words, words)
        for e, words in zip(encoded["test"][0][:TEXTS], data.splits["test"]["evidence"][:TEXTS], strict=True)
    ]
    return classifier, encoded["test"][0][:TEXTS], performance, evidence


def precision(scores, encodings, evidence):
    """The share of evidence among the |evidence| highest maskable tokens, mean over texts."""
    shares = []
    for s, encoding, true in zip(scores, encodings, evidence, strict=True):
        order = np.argsort(-np.where(encoding.maskable, s, -np.inf), kind="stable")
        shares.append(true[order[: true.sum()]].mean())
    return np.mean(shares)


def test_the_model_reads_the_corpus(case):
    _, encodings, performance, evidence = case
    assert performance["accuracy"] > 0.85
    assert all(
        0 < true.sum() < e.maskable.sum() and not true[~e.maskable].any()
        for true, e in zip(evidence, encodings, strict=True)
    )


def test_gradients_find_the_evidence_and_random_scores_do_not(case):
    classifier, encodings, performance, evidence = case
    targets = performance["probabilities"][:TEXTS].argmax(-1)
    names = ["input_x_gradient_abs", "integrated_gradients_abs"]
    scores = attribute(classifier, encodings, targets, names)
    # Drawn at random, |evidence| of n tokens hold |evidence| / n of the evidence.
    chance = np.mean([true.sum() / e.maskable.sum() for true, e in zip(evidence, encodings, strict=True)])
    spread = 4 * 0.5 / TEXTS**0.5  # a precision lies in [0, 1]: its mean strays by at most this
    assert chance < 0.25
    for name in names:
        assert precision(scores[name], encodings, evidence) > chance + 0.35, name
    generator = np.random.default_rng(0)
    noise = [normal(e, generator) for e in encodings]
    matched = [permuted(s, e, generator) for s, e in zip(scores[names[0]], encodings, strict=True)]
    for knowing_nothing in (noise, matched):
        assert abs(precision(knowing_nothing, encodings, evidence) - chance) < spread
