"""Tiny encoders of further families, with random weights: nothing is downloaded."""

import tiny
import torch
import transformers

from faithlib.models import Classifier

FURTHER = ("electra", "albert", "deberta-v2", "deberta-v2-factorised", "mpnet")
ENCODERS = (*tiny.KINDS, *FURTHER)


def tokenizer(kind):
    """A fast tokenizer with the special tokens of `kind`; padding is 1 for MPNet."""
    built, named = tiny.word_pieces()
    if kind == "mpnet":
        named = {**named, "pad_token": "[UNK]"}  # its positions start after the padding index, 1
    inputs = ["input_ids", *(["token_type_ids"] if kind in ("electra", "albert") else []), "attention_mask"]
    return transformers.PreTrainedTokenizerFast(tokenizer_object=built, model_input_names=inputs, **named)


def network(kind, vocabulary, labels=3, positions=64):
    """An untrained classifier: two layers of width 16, two heads; embeddings of width 8 in some."""
    sizes = tiny.SIZES | dict(vocab_size=vocabulary, num_labels=labels)
    sizes |= dict(initializer_range=0.4, max_position_embeddings=positions)
    if kind == "electra":
        return transformers.ElectraForSequenceClassification(
            transformers.ElectraConfig(embedding_size=8, **sizes)
        )
    if kind == "albert":
        return transformers.AlbertForSequenceClassification(
            transformers.AlbertConfig(embedding_size=8, **sizes)
        )
    if kind == "mpnet":
        sizes["max_position_embeddings"] += 2
        return transformers.MPNetForSequenceClassification(transformers.MPNetConfig(pad_token_id=1, **sizes))
    relative = dict(relative_attention=True, pos_att_type=["p2c", "c2p"], position_biased_input=False)
    width = dict(embedding_size=8) if kind == "deberta-v2-factorised" else {}
    config = transformers.DebertaV2Config(type_vocab_size=0, **relative, **width, **sizes)
    return transformers.DebertaV2ForSequenceClassification(config)


def classifier(kind, seed=0, positions=64):
    """A Classifier of any of ENCODERS with random weights that depend on `seed` alone."""
    if kind in tiny.KINDS:
        return tiny.classifier(kind, seed, positions)
    words = tokenizer(kind)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = network(kind, len(words), positions=positions)
    return Classifier(model, words, f"tiny-{kind}")
