"""What a result was made with: code, versions, device, memory, weights."""

import hashlib
import importlib.metadata
import os
import pathlib
import platform
import subprocess

from faithlib.store import digest, file_digest

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


def paper_of(path):
    """The paper that a file computes for: what a paper's folder draws with stands beside `measure`.

    Args:
        path: of a file, from the project's root.

    Returns:
        The name of the paper; "" for all that is no paper's, and for what makes its tables and figures.

    Example:
        >>> paper_of("notebooks/noiser/measure/judge.py"), paper_of("notebooks/noiser/tables.py")
        ('noiser', '')
    """
    path = pathlib.PurePosixPath(path)
    computes = path.match("notebooks/*/measure.py") or path.match("notebooks/*/measure/*.py")
    return path.parts[1] if computes else ""


def sources():
    """{name: file} of what computes: faithlib's by its path there, papers' by theirs in the project."""
    package = pathlib.Path(__file__).parent
    found = {p.relative_to(package).as_posix(): p for p in sorted(package.rglob("*.py"))}
    own = {p.relative_to(package.parent).as_posix(): p for p in package.parent.glob("notebooks/*/**/*.py")}
    return found | {name: own[name] for name in sorted(own) if paper_of(name)}  # none in what pip installs


def code_digest(*parts):
    """SHA-256 of the code that computes, or of the modules and packages named, such as "metrics".

    Args:
        parts: files and folders of faithlib by their path there ("engine/forward.py"), those of a paper by
            their path in the project ("notebooks/noiser/measure").

    Raises:
        ValueError: a part that matches no source; a hash without it would outlive edits of the code.
    """
    found = sources()
    if parts:
        paths = {name: pathlib.PurePosixPath(name) for name in found}
        unmatched = [part for part in parts if not any(path.is_relative_to(part) for path in paths.values())]
        if unmatched:
            raise ValueError(f"no source of faithlib is called {', '.join(unmatched)}")
        found = {
            name: found[name] for name in found if any(paths[name].is_relative_to(part) for part in parts)
        }
    return digest([(name, file_digest(found[name])) for name in found])


def code_provenance():
    """What code this is: git commit, whether faithlib or the notebooks differ from it, versions.

    Outside a git repository, as in a downloaded archive, the first two are "unknown".
    """
    versions = {"python": platform.python_version()}
    versions |= {name: importlib.metadata.version(name) for name in PACKAGES}
    changed = _git(
        "status", "--porcelain", "--", "faithlib", "notebooks/*/measure*", "notebooks/*/experiment.ipynb"
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
