"""Training with bits that change: batches, precision, and a model that learns to read a word."""

import numpy as np
import pytest
import torch

from faithlib import models
from notebooks.ground_truth_2.measure import read_training
from notebooks.ground_truth_2.measure.read_half import ReadHalf, half_read, read_tokens

SETTINGS = read_training.Settings(
    dtype="float32", epochs=12, learning_rate=2e-3, head_learning_rate=2e-3, pool=64
)


def test_batches_hold_texts_of_about_one_length():
    lengths = np.random.default_rng(0).integers(5, 60, 640)
    batches = read_training.batches(lengths, read_training.Settings(), np.random.default_rng(1))
    assert len(batches) == 20 and sorted(np.concatenate(batches)) == list(range(640))
    assert np.mean([np.ptp(lengths[batch]) for batch in batches]) < 5
    assert len(read_training.batches(lengths[:70], SETTINGS, np.random.default_rng(1))) == 2


def test_another_precision_is_refused():
    with pytest.raises(ValueError, match="dtype='float16' is unknown: use 'bfloat16', 'float32'"):
        read_training.Settings(dtype="float16")


def test_a_model_learns_from_the_words_that_it_reads():
    generator = np.random.default_rng(0)
    labels = generator.integers(2, size=480)
    noise = generator.choice(["chair", "table", "lamp"], (480, 3))
    texts = [" ".join([*noise[i], ("bad", "good")[labels[i]]]) for i in range(480)]
    model = ReadHalf(models.load("tiny-bert", ("no", "yes"), texts), "attention")
    encodings = model.encode(texts)
    losses = read_training.train(model, encodings, labels, SETTINGS)
    assert len(losses) == 12 and losses[-1] < losses[0]
    assert model.dtype == torch.float32 and not model.model.training
    half = half_read(encodings, 5)
    seen = np.array([read_tokens(e)[4] for e in half])  # the word that decides
    assert read_training.accuracy(model, [half[i] for i in np.flatnonzero(seen)], labels[seen]) > 0.95
    unseen = [half[i] for i in np.flatnonzero(~seen)]
    assert read_training.accuracy(model, unseen, labels[~seen]) < 0.65
    assert read_training.refused(0.7, np.array([0, 1, 1])).startswith("accuracy 0.700 with half of the words")
