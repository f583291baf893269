"""A model that is loaded by name: its head, and what is refused."""

import shutil

import pytest
import tiny
import torch
from wrong import refused, tells

from faithlib import models

# Finding a model ----------------------------------------------------------------------------------


def saved(folder, kind="bert", seed=0):
    return tiny.save(tiny.classifier(kind, seed), folder)


def test_a_models_folder_that_is_none_is_refused():
    shelf = dict(model_dir="/no/such/shelf", error=FileNotFoundError)
    refused("model_dir='/no/such/shelf' is no folder", models.load, "org/encoder", tiny.LABELS, **shelf)


def test_an_unknown_model_is_told_in_one_line():
    parts = ["'no-one/no-such-model'", "model_dir", "go online"]
    tells(parts, models.load, "no-one/no-such-model", tiny.LABELS, error=FileNotFoundError)


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_a_saved_encoder_is_kept_and_gets_a_seeded_head(tmp_path, kind):
    source = tiny.classifier(kind, seed=5)
    source.model.base_model.save_pretrained(tmp_path / "org" / "encoder")
    source.tokenizer.save_pretrained(tmp_path / "org" / "encoder")
    before = torch.get_rng_state()
    one, same, other = (
        models.load("org/encoder", ("bad", "good"), model_dir=str(tmp_path), seed=s) for s in (1, 1, 2)
    )
    assert torch.equal(torch.get_rng_state(), before)
    encoder = dict(source.model.base_model.named_parameters())
    for name, weights in one.model.base_model.named_parameters():
        assert torch.equal(weights, encoder[name]), name
    assert one.model.config.id2label == {0: "bad", 1: "good"}
    a, b, c = (tiny.logits(m, m.encode(tiny.TEXTS)) for m in (one, same, other))
    assert a.shape == (5, 2) and torch.equal(a, b) and not torch.allclose(a, c)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_head_of_a_checkpoint_stays_where_it_fits(tmp_path, classes):
    saved(tmp_path / "encoder")  # a classifier of three classes
    one, other = (
        models.load("encoder", tiny.LABELS[:classes], model_dir=str(tmp_path), seed=s) for s in (1, 2)
    )
    assert torch.equal(one.model.classifier.weight, other.model.classifier.weight) == (classes == 3)
    assert one.model.classifier.weight.shape == (classes, 16)


def test_pickled_weights_are_refused(tmp_path):
    folder = saved(tmp_path / "encoder")
    weights = tiny.classifier().model.state_dict()
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    shelf = dict(model_dir=str(tmp_path), error=FileNotFoundError)
    refused("safetensors", models.load, "encoder", tiny.LABELS, **shelf)


def test_a_checkpoint_without_its_encoder_is_refused(tmp_path):
    folder = saved(tmp_path / "encoder")
    shutil.copy(saved(tmp_path / "other", "distilbert") / "model.safetensors", folder)
    message = refused("'encoder'", models.load, "encoder", tiny.LABELS, model_dir=str(tmp_path))
    assert "lacks weights of its encoder" in message


def test_tiny_bert_reads_the_words_of_the_task():
    one, same, other = (models.load("tiny-bert", ("no", "yes"), tiny.TEXTS, seed=s) for s in (0, 0, 1))
    vocabulary = one.tokenizer.get_vocab()
    assert set(" ".join(tiny.TEXTS).split()) < set(vocabulary)
    assert len(vocabulary) == one.model.config.vocab_size
    (encoding,) = one.encode(["Great plot zebra"], ["was it long"])  # lower-cased; zebra is unknown
    assert one.tokens(encoding) == "[CLS] great plot [UNK] [SEP] was it long [SEP]".split()
    assert encoding.types.tolist() == [0] * 5 + [1] * 4
    assert one.mask_id == vocabulary["[MASK]"]
    a, b, c = (tiny.logits(m, [encoding]) for m in (one, same, other))
    assert torch.equal(a, b) and not torch.allclose(a, c)
