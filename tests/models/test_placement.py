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
    assert placement.existing("cuda:1") == torch.device("cuda", 1)
    assert placement.existing("cuda").index is None
    refused("^device='cuda:2' of 2 that are here: use 'cuda:0' to 'cuda:1'$", placement.existing, "cuda:2")
    refused("'cuda:2' of 2", models.load_causal, "tiny-llama", tiny.TEXTS, device="cuda:2")


@pytest.mark.parametrize("device_map, message", [
    ("atuo", "device='atuo' is unknown: .* or one of 'auto', 'balanced'"),
    ({"": "dsik"}, "device='dsik' is unknown: .* or 'disk'"),
    ({"": 7}, "device='cuda:7' of 2 that are here"),
    (7, "device='cuda:7' of 2 that are here"),
])  # fmt: skip
def test_a_device_map_of_places_that_do_not_exist_is_refused(device_map, message, monkeypatch):
    gpus(monkeypatch, 2)
    for good in ("auto", "cuda:1", 1, {"a": 0, "b": "cpu", "c": "disk"}, {"": torch.device("cpu")}):
        placement.check(device_map=good)
    refused(message, placement.check, device_map=device_map)


def test_a_device_map_needs_accelerate_and_no_device(monkeypatch):
    gpus(monkeypatch, 1)
    refused("'cuda:0' and device_map='auto': give one of them", placement.check, "cuda:0", "auto")
    monkeypatch.setattr(placement.importlib.util, "find_spec", lambda name: None)
    refused(r"'auto' needs accelerate: pip install 'faithlib\[large\]'", placement.check, device_map="auto")


def test_the_dtype_beside_a_device_map_is_that_of_the_gpu(monkeypatch):
    gpus(monkeypatch, 1)
    assert placement.check(device_map="auto").type == "cuda" and placement.check().type == "cpu"


def test_kinds_of_attention_that_cannot_be_had_are_refused(monkeypatch):
    message = "attn_implementation='flash' is unknown: use 'eager', 'sdpa', 'flash_"
    refused(message, placement.check, attn_implementation="flash")
    flash = dict(attn_implementation="flash_attention_2")
    refused("needs a CUDA device and the package flash-attn .*: use 'sdpa'", placement.check, **flash)
    monkeypatch.setattr("transformers.utils.is_flash_attn_2_available", lambda: True)
    refused("half precision only: set dtype='bfloat16' or use 'sdpa'", placement.check, **flash)
    placement.check(**flash, dtype="bfloat16")


def test_a_model_without_that_kind_of_attention_is_told(tmp_path):
    words = tiny.tokenizer("bert")
    config = DebertaV2Config(vocab_size=len(words), **tiny.SIZES, pad_token_id=0)
    tiny.save(SimpleNamespace(model=DebertaV2ForSequenceClassification(config), tokenizer=words), tmp_path)
    message = "attn_implementation='sdpa': model .* cannot have it"
    refused(message, models.load, str(tmp_path), ("no", "yes"), attn_implementation="sdpa")


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

    def modes(model):
        return torch.is_inference_mode_enabled(), torch.is_grad_enabled()

    grad = placement.without_gradients(modes)
    assert grad(SimpleNamespace(model=module)) == (False, False)
    assert grad(SimpleNamespace(model=module[0])) == (True, False)
