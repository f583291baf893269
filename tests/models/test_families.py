"""Every family of encoders: logits, widths, positions, and all attributions and metrics of a study."""

import numpy as np
import pandas as pd
import pytest
import tiny
import torch
from sample import families
from transformers import ModernBertConfig, ModernBertForSequenceClassification

from faithlib import evaluate, load_model
from faithlib.attributions import attribute
from faithlib.engine import forward
from faithlib.metrics import masf
from faithlib.metrics.soft import Settings, values
from faithlib.training import fine_tuning as training

SMALL = dict(samples=5, steps=2, beam=2, noise=2, halvings=2, probes=2, rounds=2)


@pytest.fixture(params=families.ENCODERS)
def classifier(request):
    return families.classifier(request.param, seed=2)


def test_logits_are_those_of_the_model_called_with_ids_whatever_the_padding(classifier):
    encodings = classifier.encode(tiny.TEXTS)
    for i, encoding in enumerate(encodings):
        with torch.no_grad():
            expected = classifier.model(input_ids=torch.tensor(encoding.ids)[None]).logits
        assert torch.allclose(tiny.logits(classifier, encodings)[i], expected[0], atol=1e-5)
        assert torch.allclose(tiny.logits(classifier, [encoding])[0], expected[0], atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "table", "width"),
    [("bert", 16, 16), ("electra", 8, 8), ("albert", 8, 8), ("deberta-v2-factorised", 8, 16)],
)
def test_a_factor_has_the_width_of_what_it_multiplies(kind, table, width):
    classifier = families.classifier(kind)
    assert classifier.embedding_table.shape[1] == table and classifier.factor_width == width
    encodings = classifier.encode(tiny.TEXTS[:1])
    factor = torch.ones(1, len(encodings[0].ids), width)
    unchanged = tiny.logits(classifier, encodings)
    assert torch.equal(tiny.logits(classifier, encodings, factor=factor), unchanged)
    factor[:, 1] = 0
    assert not torch.allclose(tiny.logits(classifier, encodings, factor=factor), unchanged)


def test_a_text_of_all_positions_is_computed_and_a_longer_one_is_none(classifier):
    assert classifier.max_length == 64
    full, longer = (tiny.encoding(n, range(1, n - 1), np.full(n, 5)) for n in (64, 65))
    assert torch.isfinite(tiny.logits(classifier, [full])).all()
    if hasattr(classifier.model.base_model.embeddings, "padding_idx"):  # no position is left unused
        with pytest.raises((IndexError, RuntimeError)):
            tiny.logits(classifier, [longer])


def check_all(model, frame):
    """Every attribution, and every metric of two of them."""
    pairs = [list(frame.text_b)] if "text_b" in frame else []
    encodings = model.encode(list(frame.text), *pairs)
    by_name = attribute(model, encodings, np.zeros(len(frame), int), tiny.methods(), **SMALL)
    for name, rows in by_name.items():
        for encoding, scores in zip(encodings, rows, strict=True):
            assert np.isfinite(scores).all() and not scores[~encoding.maskable].any(), name
    study = evaluate(model, frame, ["gradient_l2", "input_x_gradient"], progress=False)
    assert set(study.table.attribution) >= {"gradient_l2", "input_x_gradient"}
    assert {"soft_nc", "causal_soft_nc"} & set(study.table.metric) and "auprc" in set(study.table.metric)


@pytest.mark.parametrize("kind", families.ENCODERS)
def test_all_attributions_and_metrics(kind):
    pairs = {"text": tiny.TEXTS[:2], "text_b": tiny.TEXTS_B[:2], "evidence": [[0], [1]]}
    check_all(families.classifier(kind, seed=2), pd.DataFrame(pairs))


@pytest.mark.parametrize("kind", tiny.CAUSAL_KINDS)
def test_all_attributions_and_metrics_of_a_language_model(kind):
    prompts = {"text": [tiny.PROMPTS[0], tiny.PROMPTS[3]], "evidence": [[0], [1]]}
    check_all(tiny.causal(kind), pd.DataFrame(prompts))


def test_attention_of_a_head_that_reads_all_positions_is_refused():
    """ModernBERT reads the first token or the mean over tokens, as its config says."""
    words, models = tiny.classifier().tokenizer, {}
    sizes = dict(tiny.SIZES, vocab_size=len(words), num_labels=3, max_position_embeddings=64)
    special = {f"{token}_token_id": 0 for token in ("pad", "bos", "eos", "cls", "sep")}
    for pooling in ("cls", "mean"):
        config = ModernBertConfig(**sizes, **special, classifier_pooling=pooling)
        models[pooling] = load_model(ModernBertForSequenceClassification(config), words)
    encodings = models["cls"].encode(tiny.TEXTS[:2])
    assert attribute(models["cls"], encodings, [0, 1], ["attention"])["attention"][1].any()
    with pytest.raises(ValueError, match="pools all positions, and attention is read at one: choose"):
        attribute(models["mean"], encodings, [0, 1], ["attention"])
    assert attribute(models["mean"], encodings, [0, 1], ["gradient_l2"])["gradient_l2"][1].any()
    assert not any(families.classifier(kind).pools for kind in families.ENCODERS)


@pytest.mark.parametrize("kind", families.FURTHER)
def test_released_definitions_and_masf(kind):
    classifier = families.classifier(kind)
    encodings = classifier.encode(tiny.TEXTS)
    targets = forward.probabilities(classifier, [forward.unchanged(e) for e in encodings]).argmax(1)
    for paper in ("soft_metrics", "fmm", "noiser"):
        names = ["integrated_gradients", "noiser", "lime", "input_x_gradient", "beam"]
        by_name = attribute(classifier, encodings, targets, names, "released", paper, **SMALL)
        assert all(np.isfinite(s).all() for rows in by_name.values() for s in rows)
    signals = masf.signals(classifier, encodings)
    assert all(np.isfinite(np.asarray(signal)).all() for signal in np.atleast_1d(signals))


@pytest.mark.parametrize("kind", families.FURTHER)
@pytest.mark.parametrize("perturbation", ["gaussian_scores", "gaussian_noise", "attention"])
def test_perturbations_beside_bernoulli(kind, perturbation):
    classifier = families.classifier(kind)
    encodings = classifier.encode(tiny.TEXTS)
    scores = {"mine": [np.where(e.maskable, np.arange(len(e.ids)), 0.0) for e in encodings]}
    plan = Settings(perturbations=(perturbation,), random_draws=1)
    if perturbation == "attention" and "deberta" in kind:
        with pytest.raises(ValueError, match="deberta-v2.* takes no weights of attention: leave out"):
            values(classifier, encodings, np.zeros(5, int), scores, plan)
        return
    table = values(classifier, encodings, np.zeros(5, int), scores, plan)
    assert np.isfinite(table.raw).all()


@pytest.mark.parametrize("kind", families.FURTHER)
@pytest.mark.parametrize("masking", ["none", "half"])
def test_further_families_are_trained(kind, masking):
    classifier = families.classifier(kind)
    encoded = classifier.encode(tiny.TEXTS), np.array([0, 1, 2, 0, 1])
    before = classifier.embedding_table.detach().clone()
    settings = dict(epochs=1, batch_size=5, learning_rate=1e-2, seed=0, masking=masking)
    training.fine_tune(classifier, {"train": encoded, "validation": encoded}, **settings)
    assert not torch.equal(classifier.embedding_table, before)
    assert np.isfinite(training.evaluate(classifier, *encoded)["probabilities"]).all()
