"""Large models: layers on several places, weights offloaded to disk, and training in less memory.

Weights that are offloaded are on the device "meta", so code that reads the data or the device of a weight
fails here, on a machine with one processor.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tiny
import torch
from wrong import refused

import faithlib
from faithlib import attributions, evaluate, models
from faithlib.attributions.releases import RELEASED
from faithlib.engine import forward
from faithlib.metrics import masf, registry
from faithlib.models import placement
from faithlib.training import fine_tuning as training

accelerate = pytest.importorskip("accelerate")

KINDS = ("bert", "llama")
SETTINGS = dict(beam=2, steps=4, samples=20, noise=3, halvings=4, probes=2, rounds=2)
DISK = {
    "bert": {"bert.embeddings": "disk", "bert.encoder.layer.1": "disk", "bert.pooler": "disk"},
    "llama": {"model.embed_tokens": "disk", "model.layers.1": "disk", "lm_head": "disk"},
}
REST = {
    "bert": ("bert.encoder.layer.0", "classifier"),
    "llama": ("model.layers.0", "model.norm", "model.rotary_emb"),
}


def build(kind):
    return tiny.causal(kind) if kind in tiny.CAUSAL_KINDS else tiny.classifier(kind)


@pytest.fixture(params=["disk", "everything"])
def pair(request, tmp_path):
    """The function from a kind to the model in memory and the same model offloaded."""

    def made(kind):
        whole, spread = build(kind), build(kind)
        if request.param == "disk":
            layers = {**DISK[kind], **dict.fromkeys(REST[kind], "cpu")}
            accelerate.dispatch_model(spread.model, layers, main_device="cpu", offload_dir=tmp_path)
        else:
            accelerate.cpu_offload(spread.model, execution_device=torch.device("cpu"))
        assert placement.offloaded(spread.model) and spread.device.type == "cpu"
        return whole, spread

    return made


def largest_difference(one, two):
    return max(np.abs(a - b).max() for a, b in zip(one, two, strict=True))


# Offloaded weights --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_attribution_of_an_offloaded_model_is_that_of_the_model_in_memory(kind, pair):
    whole, spread = pair(kind)
    encodings, targets = whole.encode(tiny.TEXTS), [1] * len(tiny.TEXTS)
    expected = attributions.attribute(whole, encodings, targets, tiny.methods("rules"), **SETTINGS)
    for name, rows in expected.items():  # one by one: what one leaves behind must not stop the next
        scores = attributions.attribute(spread, encodings, targets, [name], **SETTINGS)[name]
        assert largest_difference(rows, scores) < 1e-6, name
    assert placement.offloaded(spread.model)


@pytest.mark.parametrize("paper, kind", [("soft_metrics", "bert"), ("saloss", "bert"), ("fmm", "bert"),
                                         ("recursive_roar", "bert"), ("noiser", "llama")])  # fmt: skip
def test_the_released_attributions_are_the_same_too(paper, kind, pair):
    whole, spread = pair(kind)
    encodings, targets = whole.encode(tiny.TEXTS[:3]), [1] * 3
    names = [name for of, name in RELEASED if of == paper]
    one, two = (
        attributions.attribute(model, encodings, targets, names, "released", paper, **SETTINGS)
        for model in (whole, spread)
    )
    assert names and all(largest_difference(one[name], two[name]) < 1e-5 for name in names)


@pytest.mark.parametrize("kind", KINDS)
def test_every_metric_of_an_offloaded_model_is_that_of_the_model_in_memory(kind, pair):
    data = pd.DataFrame({"text": tiny.TEXTS, "evidence": [[0]] * len(tiny.TEXTS)})
    one, two = (evaluate(model, data, ["gradient_l2"]) for model in pair(kind))
    needed = {"causal" if kind == "llama" else "classifier", "mask", "evidence"}
    wanted = {name for name in registry.names() if set(registry.get(name).needs) <= needed}
    wanted = {name for name in wanted if registry.get(name).level == "example"}
    assert wanted & set(one.table.metric) and set(one.table.metric) == set(two.table.metric)
    values = [study.values.value.to_numpy() for study in (one, two)]
    assert np.allclose(*values, atol=1e-5, equal_nan=True) and np.isfinite(values[0]).any()


def test_hidden_states_and_performance_of_an_offloaded_classifier(pair):
    whole, spread = pair("bert")
    encodings = whole.encode(tiny.TEXTS)
    assert np.allclose(masf.signals(whole, encodings), masf.signals(spread, encodings), atol=1e-6)
    one, two = (training.evaluate(model, encodings, np.array([0, 1, 2, 0, 1])) for model in (whole, spread))
    assert one["loss"] == pytest.approx(two["loss"], abs=1e-6)
    attributions.attribute(spread, encodings, [0] * 5, ["scaled_attention"])  # gradients are possible still


def test_gradients_are_wanted_of_the_same_weights_after_an_attribution(pair):
    _, spread = pair("llama")
    before = {name: p.requires_grad for name, p in spread.model.named_parameters()}
    encodings = spread.encode(tiny.PROMPTS)
    attributions.attribute(spread, encodings, [1] * 4, ["scaled_attention", "gradient_l2"])
    assert {name: p.requires_grad for name, p in spread.model.named_parameters()} == before
    assert any(before.values())


def test_offloaded_weights_are_not_trained(pair):
    _, spread = pair("bert")
    split = spread.encode(tiny.TEXTS), np.array([0, 1, 2, 0, 1])
    data = {"train": split, "validation": split}
    message = "tiny-bert has offloaded weights: load it without device_map"
    refused(message, training.fine_tune, spread, data, epochs=1, batch_size=2, learning_rate=1e-3)


def test_half_precision_of_an_offloaded_model(pair):
    whole, spread = pair("llama")
    for model in (whole, spread):
        model.cast(torch.bfloat16)
    inputs = [forward.unchanged(e) for e in whole.encode(tiny.PROMPTS)]
    one, two = (forward.probabilities(model, inputs) for model in (whole, spread))
    assert np.abs(one - two).max() < 1e-6 and next(spread.model.parameters()).dtype == torch.bfloat16


# Several devices ----------------------------------------------------------------------------------


def test_attention_gradients_do_not_pass_through_a_moved_copy(monkeypatch):
    """accelerate moves the outputs to the device of the input: here a copy stands for what is moved."""
    whole, spread = build("bert"), build("bert")
    accelerate.dispatch_model(spread.model, {"bert": "cpu", "classifier": "cpu"}, main_device="cpu",
                              force_hooks=True)  # fmt: skip

    def moved(x, *args, **kwargs):
        if isinstance(x, torch.Tensor):
            return x.clone() if x.is_floating_point() else x
        if isinstance(x, dict):
            return type(x)({key: moved(value) for key, value in x.items()})
        return type(x)(moved(value) for value in x) if isinstance(x, (list, tuple)) else x

    post_forward = accelerate.hooks.AlignDevicesHook.post_forward

    def post(self, module, output):
        return moved(post_forward(self, module, output)) if self.io_same_device else output

    monkeypatch.setattr(accelerate.hooks.AlignDevicesHook, "post_forward", post)
    encodings = whole.encode(tiny.TEXTS)
    names = ["scaled_attention", "attention_rollout"]
    one, two = (attributions.attribute(model, encodings, [1] * 5, names) for model in (whole, spread))
    assert all(largest_difference(one[name], two[name]) < 1e-6 for name in names)
    assert spread.model._hf_hook.io_same_device


def test_a_prefix_is_indexed_on_the_device_of_each_layer():
    model = tiny.causal()
    prefix = model.prefix(model.collate(model.encode(tiny.PROMPTS)))[1]
    one, two = prefix.rows([2, 0, 2], 2), prefix.rows(torch.tensor([2, 0, 2]), 2)
    for (k, v), (other_k, other_v), (whole_k, _) in zip(one.layers, two.layers, prefix.layers, strict=True):
        assert torch.equal(k, other_k) and torch.equal(v, other_v)
        assert torch.equal(k[1], whole_k[0, :, :2]) and k.shape[:1] + k.shape[2:3] == (3, 2)


# Loading ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_model_is_loaded_by_a_device_map(kind, tmp_path):
    built = build(kind)
    tiny.save(built, tmp_path)
    load = models.load_causal if kind == "llama" else models.load
    labels = {} if kind == "llama" else {"label_names": tiny.LABELS}
    spread = load(str(tmp_path), **labels, device_map="auto", attn_implementation="eager")
    assert spread.model.config._attn_implementation == "eager"
    encodings = built.encode(tiny.TEXTS)
    inputs = [forward.unchanged(e) for e in encodings]
    one, two = (forward.probabilities(model, inputs) for model in (built, spread))
    assert np.abs(one - two).max() < 1e-5
    layers = {**DISK[kind], **dict.fromkeys(REST[kind], "cpu")}
    offloaded = load(str(tmp_path), **labels, device_map=layers)
    assert placement.offloaded(offloaded.model)
    assert np.abs(one - forward.probabilities(offloaded, inputs)).max() < 1e-5


def test_a_model_in_memory_is_wrapped_as_it_is():
    built = tiny.causal()
    again = models.CausalLM(built.model.to(torch.bfloat16), built.tokenizer)
    assert again.name == "LlamaForCausalLM" and again.dtype == torch.bfloat16
    assert models.CausalLM(built.model, built.tokenizer, "mine").name == "mine"
    classifier = tiny.classifier()
    wrapped = models.Classifier(classifier.model, classifier.tokenizer, "mine")
    inputs = [forward.unchanged(e) for e in classifier.encode(tiny.TEXTS)]
    assert (forward.probabilities(wrapped, inputs) == forward.probabilities(classifier, inputs)).all()
    assert evaluate(again, tiny.TEXTS, ["leave_one_out"]).table.n.max() > 0


# Training in less memory --------------------------------------------------------------------------


def trained(kind="bert", **settings):
    classifier = tiny.classifier(kind)
    for module in classifier.model.modules():  # a step of several pieces draws dropout anew
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        for name in ("dropout_prob", "dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    data = classifier.encode(tiny.TEXTS * 2), np.array([0, 1, 2, 0, 1] * 2)
    splits = {"train": data, "validation": data}
    chosen = {**dict(epochs=2, batch_size=4, learning_rate=1e-3), **settings}
    history = training.fine_tune(classifier, splits, **chosen)
    return classifier, [(row["train_loss"], row["validation_loss"]) for row in history]


@pytest.mark.parametrize("kind", tiny.KINDS)
@pytest.mark.parametrize("settings", [{"accumulate": 3}, {"checkpointing": True},
                                      {"accumulate": 4, "checkpointing": True}])  # fmt: skip
def test_training_in_less_memory_is_the_same_training(kind, settings):
    whole, expected = trained(kind)
    saving, losses = trained(kind, **settings)
    assert np.abs(np.array(expected) - losses).max() < 1e-5
    weights = saving.model.state_dict()
    for name, weight in whole.model.state_dict().items():
        if ".key." not in name and ".k_lin." not in name:  # whose bias has no gradient but rounding
            assert torch.allclose(weight, weights[name], atol=2e-5), name
    assert not any(getattr(module, "gradient_checkpointing", False) for module in saving.model.modules())


def test_a_step_is_the_sum_of_its_micro_batches(monkeypatch):
    sizes, logits = [], models.Classifier.logits

    def watched(self, batch, **more):
        if self.model.training:
            sizes.append(len(batch.ids))
        return logits(self, batch, **more)

    monkeypatch.setattr(models.Classifier, "logits", watched)
    trained(accumulate=3, epochs=1)
    assert sorted(sizes) == [1, 1, 1, 1, 1, 1, 2, 2]  # steps of 4, 4 and 2 examples


def test_savings_that_change_the_salience_loss_are_refused():
    classifier = tiny.classifier()
    encodings = classifier.encode(tiny.TEXTS * 2)
    salience = [e.maskable / e.maskable.sum() for e in encodings]
    guided = dict(salience=salience, salience_weight=1.0)
    refused("checkpointing=True and a salience", trained, checkpointing=True, **guided)
    released = dict(guided, definition="released")
    refused("accumulate=2 and the released salience loss", trained, accumulate=2, **released)
    (_, one), (_, two) = trained(**guided), trained(accumulate=2, **guided)
    assert np.abs(np.array(one) - two).max() < 1e-5


def test_a_model_that_cannot_compute_its_layers_again_is_refused():
    model = models.load("bilstm", ("no", "yes"), tiny.TEXTS)
    split = model.encode(tiny.TEXTS), np.array([0, 1, 1, 0, 1])
    data = {"train": split, "validation": split}
    settings = dict(epochs=1, batch_size=2, learning_rate=1e-3, checkpointing=True)
    message = "checkpointing=True: bilstm cannot recompute its layers"
    refused(message, training.fine_tune, model, data, **settings)


def test_accelerate_is_optional():
    assert importlib.util.find_spec("accelerate")  # of the extra "large"; nothing of faithlib imports it
    for path in Path(faithlib.__file__).parent.rglob("*.py"):
        assert "import accelerate" not in path.read_text(), path
