"""What a result was made with: code, versions, device, memory, weights."""

import hashlib
import importlib.metadata
import os
import pathlib
import platform
import subprocess

from faithlib.records import digest, file_digest

PACKAGES = (
    "faithlib",
    "torch",
    "transformers",
    "tokenizers",
    "datasets",
    "numpy",
    "pandas",
    "scipy",
    "scikit-learn",
)


def sources():
    """{name: file} of all code that may compute: faithlib's by its path there, and each paper's own."""
    package = pathlib.Path(__file__).parent
    found = {p.relative_to(package).as_posix(): p for p in sorted(package.rglob("*.py"))}
    papers = sorted(package.parent.glob("notebooks/*/*.py"))  # none in what pip installs
    return found | {p.relative_to(package.parent).as_posix(): p for p in papers}


def code_digest(*parts):
    """SHA-256 of the code that may compute, or of the modules and packages named, such as "metrics".

    A paper's own file is named by its path in the project: "notebooks/fmm/areas.py".
    """
    found = sources()
    if parts:
        named = [pathlib.PurePosixPath(at) for at in found]
        if lost := [part for part in parts if not any(at.is_relative_to(part) for at in named)]:
            raise ValueError(f"no source of faithlib is called {', '.join(lost)}")
        found = {str(at): found[str(at)] for at in named if any(at.is_relative_to(part) for part in parts)}
    return digest([(at, file_digest(found[at])) for at in found])


def code_provenance():
    """What code this is: git commit, whether faithlib or the notebooks differ from it, versions.

    Outside a git repository, as in a downloaded archive, the first two are "unknown".
    """
    versions = {"python": platform.python_version()}
    versions |= {name: importlib.metadata.version(name) for name in PACKAGES}
    changed = _git(
        "status", "--porcelain", "--", "faithlib", "notebooks/*/*.py", "notebooks/*/experiment.ipynb"
    )
    return {
        "git": _git("rev-parse", "HEAD") or "unknown",
        "dirty": "unknown" if changed is None else bool(changed),
        "code": code_digest(),
        "versions": versions,
    }


def weights_digest(model):
    """SHA-256 of a model's weights."""
    import torch

    sha = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        sha.update(name.encode())
        sha.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return sha.hexdigest()


def device_name(device):
    """The device, as a reader would name it."""
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def peak_memory_mib():
    """The most memory this process has held, in MiB."""
    import psutil

    memory = psutil.Process().memory_info()
    if hasattr(memory, "peak_wset"):  # Windows
        return round(memory.peak_wset / 2**20)
    import resource

    unit = 1 if platform.system() == "Darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20)


def peak_memory(device):
    """What a record says of memory, in MiB: the most this process has held, and on a GPU the most there."""
    peak = {"peak_memory_mib": peak_memory_mib()}
    if device.type == "cuda":
        import torch

        peak["peak_gpu_memory_mib"] = round(torch.cuda.max_memory_allocated(device) / 2**20)
    if halvings := os.environ.get("FAITHLIB_HALVINGS"):
        peak["halvings"] = int(halvings)  # of the token budget, after the unit was killed for its memory
    return peak


def _git(*arguments):
    """What git prints of this project; None where it is in no repository of its own, or there is no git."""
    root = pathlib.Path(__file__).resolve().parent.parent
    commands, printed = (("rev-parse", "--show-toplevel"), arguments), []
    try:
        for command in commands:
            done = subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, check=True)
            printed.append(done.stdout.strip())
    except (OSError, subprocess.CalledProcessError):
        return None
    top, answer = printed
    return answer if pathlib.Path(top).resolve() == root else None  # else it is of a folder around this one
