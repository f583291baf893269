"""Where weights are, and what is refused before a model is loaded."""

from types import SimpleNamespace

import pytest
import tiny
import torch
from transformers import DebertaV2Config, DebertaV2ForSequenceClassification
from wrong import refused

from faithlib import models
from faithlib.models import placement


def gpus(monkeypatch, count):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "meta", "", None])
def test_an_unknown_device_is_refused(device):
    refused("is unknown: use 'cpu', 'cuda', 'cuda:<number>' or 'mps'$", placement.existing, device)


def test_a_device_that_this_machine_lacks_is_refused(monkeypatch):
    gpus(monkeypatch, 0)
    refused("^device='cuda', but this machine shows no CUDA device: use 'cpu'$", placement.existing, "cuda")
    gpus(monkeypatch, 2)
    assert (
        placement.existing("cuda:1") == torch.device("cuda", 1) and placement.existing("cuda").index is None
    )
    refused("^device='cuda:2', but .* shows 2: use 'cuda:0' to 'cuda:1'$", placement.existing, "cuda:2")
    refused("shows 2", models.load_causal, "tiny-llama", tiny.TEXTS, device="cuda:2")


@pytest.mark.parametrize("device_map, told", [
    ("atuo", "device='atuo' is unknown: .* or one of 'auto', 'balanced'"),
    ({"": "dsik"}, "device='dsik' is unknown: .* or 'disk'"),
    ({"": 7}, "device='cuda:7', but this machine shows 2"),
    (7, "device='cuda:7', but this machine shows 2"),
])  # fmt: skip
def test_a_device_map_of_places_that_do_not_exist_is_refused(device_map, told, monkeypatch):
    gpus(monkeypatch, 2)
    for good in ("auto", "cuda:1", 1, {"a": 0, "b": "cpu", "c": "disk"}, {"": torch.device("cpu")}):
        placement.check(device_map=good)
    refused(told, placement.check, device_map=device_map)


def test_a_device_map_needs_accelerate_and_no_device(monkeypatch):
    with pytest.raises(ValueError, match="device='cuda:0' and device_map='auto': give one of them"):
        gpus(monkeypatch, 1)
        placement.check("cuda:0", "auto")
    monkeypatch.setattr(placement.importlib.util, "find_spec", lambda name: None)
    refused(r"'auto' needs accelerate: pip install 'faithlib\[large\]'", placement.check, device_map="auto")


def test_the_dtype_beside_a_device_map_is_that_of_the_gpu(monkeypatch):
    gpus(monkeypatch, 1)
    assert placement.check(device_map="auto").type == "cuda" and placement.check().type == "cpu"


@pytest.mark.parametrize("name", ["tiny-bert", "bilstm", "tiny-llama"])
@pytest.mark.parametrize("given", [{"device_map": "auto"}, {"attn_implementation": "eager"}])
def test_models_that_are_built_have_one_place(name, given):
    with pytest.raises(ValueError, match=f"are for saved models: leave them out for '{name}'"):
        if name == "tiny-llama":
            models.load_causal(name, tiny.TEXTS, **given)
        else:
            models.load(name, ("no", "yes"), tiny.TEXTS, **given)


def test_kinds_of_attention_that_cannot_be_had_are_refused(monkeypatch):
    with pytest.raises(
        ValueError, match="attn_implementation='flash' is unknown: use 'eager', 'sdpa', 'flash_"
    ):
        placement.check(attn_implementation="flash")
    with pytest.raises(ValueError, match="needs a CUDA device and the package flash-attn .*: use 'sdpa'"):
        placement.check(attn_implementation="flash_attention_2")
    monkeypatch.setattr("transformers.utils.is_flash_attn_2_available", lambda: True)
    with pytest.raises(ValueError, match="half precision only: set dtype='bfloat16' or use 'sdpa'"):
        placement.check(attn_implementation="flash_attention_2")
    placement.check(attn_implementation="flash_attention_2", dtype="bfloat16")


def test_a_model_without_that_kind_of_attention_is_told(tmp_path):
    words = tiny.tokenizer("bert")
    sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
    config = DebertaV2Config(vocab_size=len(words), **sizes, pad_token_id=0)
    DebertaV2ForSequenceClassification(config).save_pretrained(tmp_path)
    words.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="attn_implementation='sdpa': model .* cannot have it") as error:
        models.load(str(tmp_path), ("no", "yes"), attn_implementation="sdpa")
    assert "\n" not in str(error.value)


def test_a_module_computes_where_accelerate_says():
    weight, module = torch.device("cpu"), torch.nn.Linear(2, 2)
    assert placement.device_of(module, weight) == weight
    second = SimpleNamespace(execution_device="cuda:1")
    for hook in (second, SimpleNamespace(hooks=[SimpleNamespace(), second])):
        module._hf_hook = hook
        assert placement.device_of(module, weight) == torch.device("cuda", 1)


def test_offloaded_weights_are_on_no_device():
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2, device="meta"))
    assert placement.offloaded(module) and placement.devices(module) == {torch.device("cpu")}
    assert not placement.offloaded(module[0])
    grad = placement.without_gradients(
        lambda model: (torch.is_inference_mode_enabled(), torch.is_grad_enabled())
    )
    assert grad(SimpleNamespace(model=module)) == (False, False)
    assert grad(SimpleNamespace(model=module[0])) == (True, False)
