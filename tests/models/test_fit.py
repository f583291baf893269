"""What fits: kinds of models, names of classes, weights and tokenizers, each by hand-made cases."""

import pytest
import tiny
import torch
from transformers import BertConfig, GPT2Config, LlamaConfig
from wrong import refused

from faithlib import load_model
from faithlib.models import fit


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (BertConfig(architectures=["BertForSequenceClassification"]), "classifier"),
        (BertConfig(architectures=["BertForMaskedLM"]), ""),
        (BertConfig(), ""),
        (GPT2Config(architectures=["GPT2LMHeadModel"]), "causal"),
        (LlamaConfig(architectures=["LlamaForSequenceClassification"]), "classifier"),
    ],
)
def test_the_architecture_says_what_a_model_is(config, expected):
    assert fit.kind(config) == expected


def test_names_of_classes_are_in_the_order_of_their_numbers():
    assert fit.label_names(BertConfig(id2label={1: "good", 0: "bad"})) == ("bad", "good")
    assert fit.label_names(BertConfig(num_labels=3)) is None


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (None, ""), (("bad", "good"), ""), (("Bad", "GOOD"), ""), (("0", "1"), ""),
        (("1", "0"), "of other names"), (("good", "bad"), "in another order"),
        (("no", "yes"), "of other names"), (("a", "b", "c"), "not of the 3 (a, b, c)"),
    ],
)  # fmt: skip
def test_why_a_head_does_not_fit(asked, reason):
    misfit = fit.unfit_head(BertConfig(id2label={0: "bad", 1: "good"}), asked)
    assert (misfit == "") == (reason == "") and reason in misfit
    holes = fit.unfit_head(BertConfig(id2label={0: "bad", 2: "good"}), asked)
    assert holes == "has the outputs 0, 2 in id2label, not 0 to 1"


def test_a_head_of_more_outputs_than_its_config_names_is_told():
    built = tiny.classifier("bert")
    built.model.config.id2label = {0: "bad", 1: "good"}
    with pytest.raises(ValueError, match="it has 3 outputs, and its config 2"):
        load_model(built.model, built.tokenizer)


def info(missing=(), unexpected=(), mismatched=()):
    keys = dict(missing_keys=missing, unexpected_keys=unexpected, mismatched_keys=mismatched)
    return {name: set(some) for name, some in keys.items()}


def test_buffers_and_poolers_that_are_left_over_do_no_harm():
    left_over = ["bert.embeddings.position_ids", "roberta.pooler.dense.weight"]
    fit.check_weights(info(unexpected=left_over), "m", "f")
    message = r"model 'm' has weights that its architecture does not use \(score\)"
    refused(message, fit.check_weights, info(unexpected=["score"]), "m", "f")
    message = r"lacks weights of its classification head \(classifier.weight\) and has score of another head"
    refused(message, fit.check_weights, info(["classifier.weight"], ["score"]), "m", "f", head=True)


def test_an_encoder_may_lack_a_pooler_and_nothing_else():
    network = tiny.classifier().model
    lacking = info(["bert.pooler.dense.weight", "classifier.weight"], ["cls.bias"])
    fit.check_encoder(network, lacking, "m", "f")
    message = r"lacks weights of its encoder \(bert.a and 1 more\)"
    refused(message, fit.check_encoder, network, info(["bert.a", "bert.b"]), "m", "f")
    message = r"layers that its config does not name \(bert.encoder.layer.7.x\)"
    refused(message, fit.check_encoder, network, info(unexpected=["bert.encoder.layer.7.x"]), "m", "f")


def test_a_model_that_works_passes_and_one_whose_embeddings_are_ignored_does_not(monkeypatch):
    model = tiny.classifier()
    fit.check_runs(model)
    fit.check_runs(tiny.causal())
    embed = model.embed
    monkeypatch.setattr(model, "embed", lambda ids: 2 * embed(ids))
    refused("its logits from embeddings are not those from token ids", fit.check_runs, model)
    monkeypatch.undo()
    with torch.no_grad():
        next(model.model.parameters()).fill_(float("nan"))
    refused("its logits are NaN or infinite", fit.check_runs, model)


def test_a_classifier_needs_a_mask_token():
    words, network = tiny.causal().tokenizer, tiny.causal().model
    fit.check_tokenizer(words, network, "m")
    refused("model 'm': its tokenizer has no mask token", fit.check_tokenizer, words, network, "m", mask=True)
