"""Models with fresh weights: the vocabulary is that of the texts, weights follow torch's generator."""

import pytest
import tiny
import torch

from faithlib.models import built


def test_a_bilstm_knows_the_words_that_occur_often_enough():
    model, tokenizer = built.bilstm(["good film", "good plot"], 3, width=4, hidden=2, min_count=2)
    assert sorted(tokenizer.get_vocab()) == ["[CLS]", "[EOS]", "[MASK]", "[PAD]", "[UNK]", "good"]
    assert model.config.vocab_size == 6 and model.config.num_labels == 3


@pytest.mark.parametrize(
    "make", [lambda: built.tiny_bert(tiny.TEXTS, 2), lambda: built.tiny_llama(tiny.TEXTS)]
)
def test_tiny_models_know_every_word_and_follow_the_seed(make):
    weights = []
    for seed in (0, 0, 1):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model, tokenizer = make()
        weights.append(model.get_input_embeddings().weight)
    assert set(" ".join(tiny.TEXTS).split()) < set(tokenizer.get_vocab())
    assert len(tokenizer) == model.config.vocab_size
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])
