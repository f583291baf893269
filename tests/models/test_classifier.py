"""Classifiers: logits, attention, hidden states and factors against the Hugging Face model."""

import pytest
import tiny
import torch
from sample import families
from transformers import ModernBertConfig, ModernBertForSequenceClassification
from transformers.modeling_outputs import SequenceClassifierOutput
from wrong import refused

from faithlib import attributions
from faithlib.models import Classifier


def ids_logits(classifier, batch, present=None):
    """The Hugging Face model called with input ids, as its own documentation does."""
    inputs = {
        "input_ids": batch.ids,
        "attention_mask": (batch.present if present is None else present).long(),
    }
    if classifier.model.config.model_type == "bert":
        inputs["token_type_ids"] = batch.types
    with torch.no_grad():
        return classifier.model(**inputs).logits


# Logits -------------------------------------------------------------------------------------------


def test_logits_are_those_of_the_model_called_with_ids(classifier):
    for pair in (None, tiny.TEXTS_B):
        batch = classifier.collate(classifier.encode(tiny.TEXTS, pair))
        with torch.no_grad():
            ours = classifier.logits(batch)
        assert torch.equal(ours, ids_logits(classifier, batch))
        assert ours.std(0).min() > 0.05  # the toy does tell the texts apart


def test_padding_batch_and_order_do_not_change_logits(classifier):
    encodings = classifier.encode(tiny.TEXTS, tiny.TEXTS_B)
    together = tiny.logits(classifier, encodings)
    alone = torch.cat([tiny.logits(classifier, [e]) for e in encodings])
    reverse = tiny.logits(classifier, encodings[::-1]).flip(0)
    padded = tiny.logits(classifier, [*encodings, classifier.encode(["great " * 40], ["good ?"])[0]])[:-1]
    for other in (alone, reverse, padded):
        assert (together - other).abs().max() < 1e-5


def test_eager_attention_gives_the_same_logits_and_does_not_stay(classifier):
    batch = classifier.collate(classifier.encode(tiny.TEXTS))
    used = classifier.model.config._attn_implementation
    assert used == "sdpa"
    with torch.no_grad():
        eager, layers = classifier.attentions(batch)
    assert (eager - classifier.logits(batch)).abs().max() < 1e-4
    assert classifier.model.config._attn_implementation == used
    assert len(layers) == 2 and layers[0].shape == (5, 2, *(2 * [batch.ids.shape[1]]))
    for weights in layers:
        assert torch.allclose(weights.sum(-1), torch.ones(()), atol=1e-6)  # special positions included
        assert weights[~batch.present[:, None, None, :].expand_as(weights)].abs().max() == 0


def test_attention_is_restored_after_an_error(classifier, monkeypatch):
    batch = classifier.collate(classifier.encode(tiny.TEXTS))
    monkeypatch.setattr(classifier, "_inputs", lambda batch: {})
    with pytest.raises(ValueError):
        classifier.attentions(batch)
    assert classifier.model.config._attn_implementation == "sdpa"


def test_hidden_states_begin_with_the_embeddings_and_end_with_the_last_layer(classifier):
    batch = classifier.collate(classifier.encode(tiny.TEXTS[:2]))
    with torch.no_grad():
        states = classifier.hidden_states(batch)
        embedded = classifier.model.base_model.embeddings(batch.ids)
        last = classifier.model.base_model(input_ids=batch.ids, attention_mask=batch.present.long())[0]
    assert len(states) == 3
    real = batch.present
    assert torch.allclose(states[0][real], embedded[real], atol=1e-6)
    assert torch.allclose(states[-1][real], last[real], atol=1e-6)


def test_factor_and_weight_of_ones_change_nothing(classifier):
    encodings = classifier.encode(tiny.TEXTS, tiny.TEXTS_B)
    plain = tiny.logits(classifier, encodings)
    tokens = max(len(e.ids) for e in encodings)
    for width in (1, 16):
        assert torch.equal(tiny.logits(classifier, encodings, factor=torch.ones(5, tokens, width)), plain)
    weighted = tiny.logits(classifier, encodings, weight=torch.ones(5, tokens))
    assert (weighted - plain).abs().max() < 1e-5


def test_a_factor_multiplies_the_embedding_output(classifier):
    batch = classifier.collate(classifier.encode(tiny.TEXTS[:2]))
    factor = torch.rand(*batch.ids.shape, 16, generator=torch.Generator().manual_seed(0))
    classifier.logits(batch)  # what is tried once is tried
    seen = []
    encoder = next(
        m for m in classifier.model.base_model.children() if m is not classifier.model.base_model.embeddings
    )
    hook = encoder.register_forward_pre_hook(
        lambda module, args, kwargs: seen.append(args[0] if args else kwargs["hidden_states"]),
        with_kwargs=True,
    )
    with torch.no_grad():
        changed = classifier.logits(batch, factor=factor)
        expected = classifier.model.base_model.embeddings(batch.ids) * factor
        hook.remove()
        assert torch.allclose(seen[0][batch.present], expected[batch.present], atol=1e-6)
        assert (changed - classifier.logits(batch)).abs().max() > 1e-2  # and the hook is gone again
        assert torch.allclose(classifier.logits(batch), ids_logits(classifier, batch), atol=1e-6)


def test_weight_zero_is_a_token_that_attention_masks(classifier):
    encodings = classifier.encode(tiny.TEXTS[:2], tiny.TEXTS_B[:2])
    batch = classifier.collate(encodings)
    weight, present = torch.ones(batch.ids.shape), batch.present.clone()
    weight[0, 2], weight[1, 3], weight[1, 6] = 0, 0, 0
    present[0, 2], present[1, 3], present[1, 6] = False, False, False
    ours = tiny.logits(classifier, encodings, weight=weight)
    if classifier.model.config.model_type != "roberta":
        expected = ids_logits(classifier, batch, present)
    else:  # the same; spelled with embeddings, for the ids of masked positions are not looked at
        with torch.no_grad():
            expected = classifier.model(
                inputs_embeds=classifier.embed(batch.ids), attention_mask=present.long()
            ).logits
    assert (ours - expected).abs().max() < 1e-5
    assert (ours - tiny.logits(classifier, encodings)).abs().max() > 1e-2


def test_a_weight_scales_attention_before_it_is_normalised(classifier):
    batch = classifier.collate(classifier.encode(tiny.TEXTS[:2]))
    weight = torch.rand(batch.ids.shape, generator=torch.Generator().manual_seed(0))
    model = classifier.model
    with torch.no_grad():
        _, (plain, _) = classifier.attentions(batch)
        model.set_attn_implementation("eager")
        changed = model(**classifier._inputs(batch, weight=weight), output_attentions=True).attentions[0]
        model.set_attn_implementation("sdpa")
    expected = plain * weight[:, None, None, :]
    expected = expected / expected.sum(-1, keepdim=True)
    assert (changed - expected)[batch.present[:, None, :, None].expand_as(changed)].abs().max() < 1e-5


def test_the_last_layer_computes_what_is_read_and_nothing_else(classifier):
    """The logits and gradients of the whole model, from CLS alone behind the last attention."""
    kind = classifier.model.config.model_type
    encodings = classifier.encode(tiny.TEXTS, tiny.TEXTS_B)
    batch, shapes = classifier.collate(encodings), []
    classifier.logits(batch)  # what is tried once is tried
    if kind != "distilbert":
        layer = classifier.model.base_model.encoder.layer[-1]
        layer.output.register_forward_hook(lambda module, args, output: shapes.append(output.shape[1]))
    embeddings = classifier.embed(batch.ids).detach().requires_grad_()
    ours = classifier.logits(batch, embeddings=embeddings)
    whole = classifier.model(**classifier._inputs(batch, embeddings)).logits
    assert torch.allclose(ours, whole, atol=1e-6)
    one, two = (torch.autograd.grad(y.square().sum(), embeddings)[0] for y in (ours, whole))
    assert torch.allclose(one, two, atol=1e-5) and one.abs().max() > 1e-2
    classifier.model.train()
    classifier.logits(batch)
    if kind != "distilbert":
        assert shapes == [1, batch.ids.shape[1], batch.ids.shape[1]]
        assert not layer.attention.output._forward_pre_hooks


@pytest.mark.parametrize("words", [2, 5, 30])
def test_weights_of_attention_keep_a_sliding_window(words):
    """ModernBERT's layers have masks of their own: weights are added to them, beyond the window too."""
    tokenizer = families.tokenizer("modernbert")
    sizes = dict(
        hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=32, pad_token_id=0
    )
    config = ModernBertConfig(vocab_size=len(tokenizer), **sizes, local_attention=8, initializer_range=0.4)
    model = Classifier(ModernBertForSequenceClassification(config), tokenizer, "windows")
    batch = model.collate(model.encode(["the plot " * words, "great"]))
    ones = torch.ones(batch.ids.shape)
    with torch.no_grad():
        plain = model.logits(batch)
        assert (model.logits(batch, weight=ones) - plain).abs().max() < 1e-5
        assert (
            model.logits(batch, weight=0.1 + 0.9 * (batch.ids != batch.ids[0, 1])) - plain
        ).abs().max() > 1e-4


@pytest.mark.parametrize("scale", [1, 1e-3])
def test_heads_that_average_all_tokens_keep_their_logits(scale):
    built = tiny.classifier()
    network, tokenizer = built.model, built.tokenizer

    def pooled(input_ids=None, attention_mask=None, token_type_ids=None, inputs_embeds=None, **more):
        states = network.bert(
            input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
            inputs_embeds=inputs_embeds,
        ).last_hidden_state
        present = attention_mask[..., None].float()
        means = (states * present).sum(1) / present.sum(1)
        return SequenceClassifierOutput(logits=scale * network.classifier(means))

    network.forward = pooled
    model = Classifier(network, tokenizer, "averages")
    batch = model.collate(model.encode(["the plot was great", "boring"]))
    with torch.no_grad():
        logits = pooled(batch.ids, batch.present.long(), batch.types).logits
        assert torch.allclose(model.logits(batch), logits, atol=1e-6 * scale, rtol=1e-5) and model.pools
    refused("a head that reads all positions", attributions.check, ["value_zeroing"], model)
