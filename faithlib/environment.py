"""What faithlib runs on, in a dozen lines to paste into a report: `faithlib env`."""

import os
import platform
from pathlib import Path

from faithlib.provenance import code_provenance, device_name

PACKAGES = ("faithlib", "python", "torch", "transformers", "tokenizers", "datasets", "numpy")
HALF_PRECISIONS = ("bfloat16", "float16")


def summary():
    """Versions, platform, devices with the half precisions that they compute in, the cache, the commit.

    They are [(name, text)]; the home folder is written as ~.
    """
    code = code_provenance()
    rows = [(name, code["versions"][name]) for name in PACKAGES]
    rows.append(("platform", f"{platform.platform()}, {os.cpu_count()} processors"))
    rows += [("device", _device(device)) for device in _devices()]
    rows.append(("HF_HOME", _cache()))
    state = {True: ", edited", False: "", "unknown": ""}[code["dirty"]]
    rows.append(("git", f"{code['git']}{state}"))
    rows.append(("code", code["code"][:12]))
    return rows


def _devices():
    import torch

    devices = [torch.device("cpu")]
    devices += [torch.device("cuda", number) for number in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        devices.append(torch.device("mps"))
    return devices


def _device(device):
    from faithlib.models.precision import has_instructions

    half = [dtype for dtype in HALF_PRECISIONS if has_instructions(dtype, device)]
    name = f"{device}, {device_name(device)}" if device.type == "cuda" else str(device)
    return f"{name}; half precision: {', '.join(half) or 'none'}"


def _cache():
    """The folder of the hub's cache, and whether it, or the first folder above it, can be written."""
    from huggingface_hub.constants import HF_HOME

    folder = Path(HF_HOME).expanduser()
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    writable = "writable" if os.access(there, os.W_OK) else "not writable"
    name = str(folder).replace(str(Path.home()), "~")
    return f"{name}, {writable}"
