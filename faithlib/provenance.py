"""What a result was made with: code, versions, device, memory, weights."""

import ast
import hashlib
import importlib.metadata
import json
import os
import pathlib
import platform
import re
import subprocess
from functools import cache, partial
from typing import Any

PACKAGES = "faithlib torch transformers tokenizers datasets numpy pandas scipy scikit-learn".split()


def paper_of(path):
    """The paper that a file, by its path from the project's root, computes for: what stands in its `measure`.

    It is "" for all that is no paper's, and for what makes its tables and figures.

    Example:
        >>> paper_of("notebooks/noiser/measure/judge.py"), paper_of("notebooks/noiser/tables.py")
        ('noiser', '')
    """
    path = pathlib.PurePosixPath(path)
    computes = path.match("notebooks/*/measure.py") or path.match("notebooks/*/measure/*.py")
    return path.parts[1] if computes else ""


def digest(value):
    """SHA-256 of a plain value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def file_digest(path):
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sources():
    """{name: file} of what computes: faithlib's by its path there, papers' by theirs in the project."""
    package = pathlib.Path(__file__).parent
    files = sorted(p for kind in ("py", "toml") for p in package.rglob(f"*.{kind}"))
    library = {p.relative_to(package).as_posix(): p for p in files}
    papers = {p.relative_to(package.parent).as_posix(): p for p in package.parent.glob("notebooks/*/**/*.py")}
    return library | {name: papers[name] for name in sorted(papers) if paper_of(name)}  # pip installs none


def code_digest(*parts: str) -> str:
    """SHA-256 of all code that computes, or of some parts of it and of what these import, directly or not.

    Parts are files and folders of faithlib by their path there ("engine/forward.py"), those of a paper by
    their path in the project ("notebooks/noiser/measure"). Raises ValueError for one that matches no source:
    a hash without it would outlive edits of the code.
    """
    files = sources()
    if unmatched := [part for part in parts if not _within(part, files)]:
        raise ValueError(f"no source of faithlib is called {', '.join(unmatched)}")
    waiting, reached = list(parts), set() if parts else set(files)
    while waiting:
        for name in set(_within(waiting.pop(), files)) - reached:
            reached.add(name)
            waiting += [part for module in names_used(files[name]) if (part := _part(module, files))]
    return digest([(name, file_digest(files[name])) for name in files if name in reached])


def _within(part, files):
    """The names of the sources that are a file or lie in a folder."""
    return [name for name in files if name == part or name.startswith(f"{part}/")]


@cache
def names_used(path):
    """What a source imports, by dotted names: ["faithlib.scores.whole"]; a file of data imports nothing."""
    if path.suffix != ".py":
        return []
    try:
        tree = ast.parse(path.read_bytes())
    except SyntaxError:  # of a file of one's own, whose import says where
        return []
    nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    return [f"{getattr(n, 'module', '')}.{alias.name}".strip(".") for n in nodes for alias in n.names]


def _part(module, files):
    """The file or folder that a dotted name stands for; "" for none of `files`, such as a library's."""
    first, *rest = module.split(".")
    parts = rest if first == "faithlib" else [first, *rest] if first == "notebooks" else []
    while parts:
        path = "/".join(parts)
        if f"{path}.py" in files:
            return f"{path}.py"
        if _within(path, files):
            return path  # its names may be lazy, so that all of its modules count
        parts = parts[:-1]
    return ""


def code_provenance() -> dict[str, Any]:
    """What code this is: git commit, whether faithlib or the notebooks differ from it, versions.

    Outside a git repository, as in a downloaded archive, the first two are "unknown".
    """
    versions = {"python": platform.python_version()}
    versions |= {name: importlib.metadata.version(name) for name in PACKAGES}
    computing = "faithlib", "notebooks/*/measure*", "notebooks/*/experiment.ipynb"
    changed = _git("status", "--porcelain", "--", *computing)
    return {
        "git": _git("rev-parse", "HEAD") or "unknown",
        "dirty": "unknown" if changed is None else bool(changed),
        "code": code_digest(),
        "versions": versions,
    }


def weights_digest(model: Any) -> str:
    """SHA-256 of a model's weights."""
    import torch

    sha = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        sha.update(name.encode())
        sha.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return sha.hexdigest()


def device_name(device: Any) -> str:
    """The device, as a reader would name it."""
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def processor():
    """The kind of processor, by which sums are rounded: its name, generation, and what torch uses of it."""
    import torch

    path = pathlib.Path("/proc/cpuinfo")
    text = path.read_text() if path.is_file() else ""  # not on macOS and Windows
    facts = dict(re.findall(r"^(model name|cpu family|model)\s*: (.+)$", text, re.MULTILINE))
    name = facts.get("model name") or platform.processor() or platform.machine()
    if {"cpu family", "model"} <= set(facts):  # one name may stand for several generations
        name += f" (family {facts['cpu family']}, model {facts['model']})"
    return f"{name}, {torch.backends.cpu.get_cpu_capability()}"


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
    run = partial(subprocess.run, cwd=root, capture_output=True, text=True, check=True)
    try:
        top = run(["git", "rev-parse", "--show-toplevel"]).stdout.strip()
        answer = run(["git", *arguments]).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer if pathlib.Path(top).resolve() == root else None  # else it is of a folder around this one
