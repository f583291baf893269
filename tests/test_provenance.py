"""What a record says of code and machine."""

import subprocess

import pytest

from faithlib import provenance


def test_code_outside_git_is_unknown(tmp_path, monkeypatch):
    (tmp_path / "inner/faithlib").mkdir(parents=True)
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "inner/faithlib/provenance.py"))
    for _ in range(2):  # the second time inside somebody else's repository
        origin = provenance.code_provenance()
        assert origin["git"] == origin["dirty"] == "unknown"
        subprocess.run(["git", "init", "-q", tmp_path], check=True)


def test_code_in_git_has_a_commit_and_versions():
    origin = provenance.code_provenance()
    assert set(origin) == {"git", "dirty", "code", "versions"} and len(origin["code"]) == 64
    assert {"python", "faithlib", "torch", "numpy"} <= set(origin["versions"])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("model\t\t: 17\nmodel name\t: A CPU\ncpu family\t: 25\nMHz : 2\n", "A CPU (family 25, model 17)"),
        ("BogoMIPS : 50\nCPU part : 0xd0c\n", "arm64"),
        (None, "arm64"),
    ],
)
def test_a_processor_is_known_by_its_generation_and_instructions(tmp_path, monkeypatch, text, name):
    if text:
        (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(provenance.pathlib, "Path", lambda path: tmp_path / "cpuinfo")
    monkeypatch.setattr(provenance.platform, "processor", lambda: "")
    monkeypatch.setattr(provenance.platform, "machine", lambda: "arm64")
    monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda: "NEON")
    assert provenance.processor() == f"{name}, NEON"


def test_the_hash_of_code_depends_on_the_parts_that_are_named():
    parts = ("metrics",), ("models",), ("engine/forward.py",), ()
    assert len({provenance.code_digest(*names) for names in parts}) == 4
    folder = "notebooks/noiser/measure"
    one, other, whole = (f"{folder}/judge.py",), (f"{folder}/unit.py",), (folder,)
    assert len({provenance.code_digest(*names) for names in (one, other, whole)}) == 3
    with pytest.raises(ValueError, match="no source of faithlib is called notebooks/fmm/claims.py"):
        provenance.code_digest("notebooks/fmm/claims.py")  # it draws


def test_every_named_part_must_match_a_source():
    """One that matches nothing would leave its code out of the hash: checkpoints would outlive edits."""
    with pytest.raises(ValueError, match="no source of faithlib is called metric, forwards.py"):
        provenance.code_digest("metric", "models", "forwards.py")
