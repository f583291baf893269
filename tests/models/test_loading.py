"""A model that is loaded by name: its head, and what is refused."""

import shutil

import pytest
import tiny
import torch

from faithlib import models


@pytest.fixture(params=tiny.KINDS)
def classifier(request):
    return tiny.classifier(request.param)


def logits(classifier, encodings, **changes):
    with torch.no_grad():
        return classifier.logits(classifier.collate(encodings), **changes)


# Bad input ----------------------------------------------------------------------------------------


def told(error):
    """The message, which has to be one line."""
    message = str(error.value)
    assert "\n" not in message
    return message


# Finding a model ----------------------------------------------------------------------------------


def saved(folder, kind="bert", seed=0):
    built = tiny.classifier(kind, seed)
    tiny.save(built, folder)
    return folder


def test_a_models_folder_that_is_none_is_refused():
    with pytest.raises(FileNotFoundError, match="model_dir='/no/such/shelf' is no folder"):
        models.load("org/encoder", tiny.LABELS, model_dir="/no/such/shelf")


def test_an_unknown_model_is_told_in_one_line():
    with pytest.raises(FileNotFoundError) as error:
        models.load("no-one/no-such-model", tiny.LABELS)
    message = told(error)
    assert "'no-one/no-such-model'" in message and "model_dir" in message and "go online" in message


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
    a, b, c = (logits(m, m.encode(tiny.TEXTS)) for m in (one, same, other))
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
    with pytest.raises(FileNotFoundError) as error:
        models.load("encoder", tiny.LABELS, model_dir=str(tmp_path))
    assert "safetensors" in told(error)


def test_a_checkpoint_without_its_encoder_is_refused(tmp_path):
    folder = saved(tmp_path / "encoder")
    shutil.copy(saved(tmp_path / "other", "distilbert") / "model.safetensors", folder)
    with pytest.raises(ValueError) as error:
        models.load("encoder", tiny.LABELS, model_dir=str(tmp_path))
    message = told(error)
    assert "lacks weights of its encoder" in message and "'encoder'" in message


def test_tiny_bert_reads_the_words_of_the_task():
    one, same, other = (models.load("tiny-bert", ("no", "yes"), tiny.TEXTS, seed=s) for s in (0, 0, 1))
    vocabulary = one.tokenizer.get_vocab()
    assert set(" ".join(tiny.TEXTS).split()) < set(vocabulary)
    assert len(vocabulary) == one.model.config.vocab_size
    (encoding,) = one.encode(["Great plot zebra"], ["was it long"])  # lower-cased; zebra is unknown
    assert one.tokens(encoding) == "[CLS] great plot [UNK] [SEP] was it long [SEP]".split()
    assert encoding.types.tolist() == [0] * 5 + [1] * 4
    assert one.mask_id == vocabulary["[MASK]"]
    a, b, c = (logits(m, [encoding]) for m in (one, same, other))
    assert torch.equal(a, b) and not torch.allclose(a, c)
