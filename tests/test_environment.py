"""`faithlib env`: what it prints, and that it names no folder of a person."""

import platform
from pathlib import Path

import numpy as np
import pytest
import torch

import faithlib
from faithlib import environment
from faithlib.__main__ import main


@pytest.fixture
def rows(monkeypatch):
    """The rows of a machine with two GPUs that know no bfloat16."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Some GPU")
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **settings: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    return environment.summary()


def test_it_names_versions_and_devices(rows):
    table = dict(rows)
    assert table["faithlib"] == faithlib.__version__ and table["numpy"] == np.__version__
    assert table["torch"] == torch.__version__ and table["python"] == platform.python_version()
    assert [text for name, text in rows if name == "device"] == [
        "cpu; half precision: bfloat16", "cuda:0, Some GPU; half precision: float16",
        "cuda:1, Some GPU; half precision: float16", "mps; half precision: float16",
    ]  # fmt: skip
    assert len(rows) <= 15 and all(text and "\n" not in text for _, text in rows)


def test_a_processor_without_half_precision_says_none(monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {})
    assert environment._device(torch.device("cpu")) == "cpu; half precision: none"


@pytest.mark.parametrize("access, state", [(True, "writable"), (False, "not writable")])
def test_the_cache_is_told_without_the_home_folder(monkeypatch, access, state):
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(Path.home() / "some" / "cache"))
    monkeypatch.setattr(environment.os, "access", lambda folder, mode: access)
    assert environment._cache() == f"{Path('~/some/cache')}, {state}"


@pytest.mark.parametrize(
    "git, dirty, text", [("a1b2", True, "a1b2, edited"), ("a1b2", False, "a1b2"), ("unknown",) * 3]
)
def test_the_commit_and_whether_it_was_edited(monkeypatch, git, dirty, text):
    code = environment.code_provenance() | {"git": git, "dirty": dirty}
    monkeypatch.setattr(environment, "code_provenance", lambda: code)
    assert dict(environment.summary())["git"] == text


def test_the_command_prints_a_line_each(rows, capsys):
    assert main(["env"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [name for name, _ in rows]
