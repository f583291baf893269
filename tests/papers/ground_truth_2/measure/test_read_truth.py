"""Effects of read words: on a model whose logits are a sum, and on which words the truth rests."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from faithlib import models
from faithlib.engine.operators import Operator
from notebooks.ground_truth_2.measure import read_truth
from notebooks.ground_truth_2.measure.read_half import ReadHalf, read_tokens

TEXT = "good plot bad film fine end"
WEIGHTS = {"good": 2.0, "fine": 1.0, "bad": -2.0}


class Adding(ReadHalf):
    """A model whose log odds are the sum of WEIGHTS over the words that it reads."""

    def logits(self, batch, embeddings=None, factor=None, weight=None):
        by_id = {self.tokenizer.convert_tokens_to_ids(word): w for word, w in WEIGHTS.items()}
        values = torch.tensor([[by_id.get(i, 0.0) for i in row] for row in batch.ids.tolist()])
        total = (values * (batch.types == 0)).sum(1)
        return torch.stack([torch.zeros_like(total), total], 1)


@pytest.fixture
def model():
    return Adding(models.load("tiny-bert", ("no", "yes"), [TEXT]), "attention")


@pytest.fixture
def encoding(model):
    """The text, whose last word is not read."""
    (encoding,) = model.encode([TEXT])
    return replace(encoding, types=np.where(encoding.words == 5, 1, 0))


def test_effects_are_those_of_the_sum(model, encoding):
    effect = read_truth.effects(model, encoding, 1, np.random.default_rng(0))
    assert list(effect) == [0, 1, 2, 3, 4]
    assert list(effect.values()) == pytest.approx([2, 0, -2, 0, 1], abs=0.25)


def test_positive_words_also_lower_p_when_they_are_removed(model, encoding):
    words = model.encode([TEXT])[0].ids
    operators = {name: Operator(model, name, "", words[[2, 4]], "test") for name in ("mask", "resample")}
    effect = {0: 2.0, 1: 0.5, 2: -2.0, 3: 0.0, 4: 1.0}
    assert read_truth.positive(model, encoding, 1, effect, operators) == [0, 4]  # word 1 changes nothing
    assert read_truth.positive(model, encoding, 1, {0: 0.1}, operators) == []


def test_what_is_not_kept_is_not_read(encoding):
    assert encoding.words[read_tokens(read_truth.reading(encoding, [0, 3]))].tolist() == [0, 3]
