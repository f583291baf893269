"""Units, their records and provenance: written atomically, never recomputed, never half there."""

import hashlib
import importlib.metadata
import json
import os
import pathlib
import platform
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import pandas as pd
import pyarrow as pa
from safetensors import SafetensorError, safe_open

from faithlib import plugins
from faithlib.progress import bar

SCALES = ("quick", "small", "paper")
PLACES = ("scale", "data_dir", "model_dir", "results_dir", "checkpoint_dir", "device")  # where, not what
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


def project_root():
    """The nearest folder above the working directory that holds pyproject.toml, else that directory."""
    here = pathlib.Path.cwd()
    return next((p for p in (here, *here.parents) if (p / "pyproject.toml").is_file()), here)


@dataclass
class Run:
    """One unit being computed: where its parts go, and the parts kept so far."""

    paper: str
    unit: str
    scale: str
    params: dict
    folder: pathlib.Path  # of the record
    kept: pathlib.Path  # of parts that survive an interruption
    device: "torch.device"  # noqa: F821, imported where models are run
    started: float = field(default_factory=time.time)
    earlier: float = 0.0  # seconds that interrupted runs spent on what was read back
    trained: float = 0.0  # seconds that training took of the model kept last, in whichever run
    weights: dict = field(default_factory=dict)  # {name of its file under `kept`: SHA-256 of a trained model}

    def in_parts(self, name, count, make, key, size=16):
        """A DataFrame over `count` examples, `size` at a time; what an interrupted run made is read back.

        make(start, stop) -> DataFrame. key: everything it depends on besides faithlib's code
        (plain values); another key or other code are other parts.
        """
        code = code_digest("attributions", "metrics", "models", "forward.py", "scores.py")
        version, parts = digest([key, size, code])[:12], []
        with bar(count, name, "example") as progress:
            for start in range(0, count, size):
                stop = min(start + size, count)
                path = self.kept / f"{name}.{version}.{start:05d}.parquet"
                part = read_part(path)
                if part is None:
                    began, part = time.monotonic(), make(start, stop)
                    part.attrs = {"seconds": time.monotonic() - began}
                    write_parquet(path, part)
                    part = pd.read_parquet(path)
                else:
                    self.earlier += part.attrs.get("seconds", 0)
                part.attrs = {}  # they would end up in the record
                parts.append(part)
                progress.update(stop - start)
        return pd.concat(parts, ignore_index=True)

    def keep_weights(self, classifier, train, key):
        """Call train() -> history and keep the weights; an interrupted run's are loaded instead.

        key: everything that training depends on (plain values). Weights are kept as safetensors.
        """
        from safetensors.torch import load_model, save_file

        version = digest([key, classifier.name, code_digest("training.py", "models")])[:12]
        path = self.kept / f"weights.{version}.safetensors"
        about = read_metadata(path)
        if about is None:
            began, history = time.monotonic(), train()
            weights = {k: v.contiguous() for k, v in classifier.model.state_dict().items()}
            about = {"history": json.dumps(history), "seconds": str(time.monotonic() - began)}
            write_atomically(path, partial(save_file, weights, metadata=about))
        else:
            load_model(classifier.model, path)
            if path.name not in self.weights:  # else it was trained, or counted, by this process
                self.earlier += float(about.get("seconds", 0))
        self.trained = float(about.get("seconds", 0))
        self.weights[path.name] = weights_digest(classifier.model)
        return json.loads(about["history"])

    def save(self, metrics, values, excluded=(), provenance=None, volatile=None, **tables):
        """Write the record: <unit>.parquet and further tables first, <unit>.json (which says done) last.

        volatile: what may differ when the unit is run again, such as the seconds of a part.
        """
        files = {}
        for suffix, table in {"": values, **tables}.items():
            path = self.folder / f"{self.unit}{'.' + suffix if suffix else ''}.parquet"
            write_parquet(path, table)
            files[path.name] = file_digest(path)
        record = {
            "paper": self.paper,
            "unit": self.unit,
            "scale": self.scale,
            "params": self.params,
            "metrics": metrics,
            "excluded": list(excluded),
            "files": files,
            "provenance": {
                **code_provenance(),
                "device": device_name(self.device),
                **({"weights": self.weights} if self.weights else {}),
                **(provenance or {}),
            },
            "volatile": {
                "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "seconds": round(time.time() - self.started + self.earlier, 1),
                **peak_memory(self.device),
                "host": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
                **(volatile or {}),
            },
        }
        path = self.folder / f"{self.unit}.json"
        write_atomically(
            path,
            lambda part: part.write_text(
                json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
            ),
        )
        for left in (*self.folder.glob(f"{self.unit}.*.part"), *self.kept.rglob("*.part")):
            left.unlink(missing_ok=True)  # of a process that was killed while it wrote
        return path


def start(paper, parameters):
    """A Run for one unit. parameters: a notebook's globals() while only its parameters cell has run.

    Relative folders are taken from the project's root. Raises ValueError for an unknown scale or device
    and for a seed or a limit below 0.
    """
    import torch

    given = {name: value for name, value in parameters.items() if _is_parameter(name, value)}
    plugins.load(given.get("plugins", []), project_root())
    scale, seed, device = given["scale"], given["seed"], given["device"]
    if scale not in SCALES:
        raise ValueError(f"scale={scale!r} is unknown: use one of {', '.join(SCALES)}")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed={seed!r} must be a whole number of at least 0")
    for name in ("examples", "max_length"):
        if given.get(name, 0) < 0:
            raise ValueError(f"{name}={given[name]} must be at least 0, which stands for no limit")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device not in ("cpu", "cuda", "mps"):
        raise ValueError(f"device={device!r} is unknown: use 'auto', 'cpu', 'cuda' or 'mps'")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device='cuda' but this machine shows no CUDA device: use 'auto' or 'cpu'")
    unit = f"{given['task']}.{slug(given['model'])}.s{seed}"
    places = ("results_dir", "checkpoint_dir")
    folder, kept = (project_root() / given[place] / scale / paper for place in places)
    params = {name: value for name, value in given.items() if name not in PLACES}
    return Run(paper, unit, scale, params, folder, kept / unit, torch.device(device))


def _is_parameter(name, value):
    """Whether a notebook's global is a parameter; raises ValueError for one that no record can hold."""
    if not name[0].islower():
        return False
    if value is None or isinstance(value, (dict, tuple, set, bytes, complex)):
        raise ValueError(
            f"parameter {name}={value!r} is a {type(value).__name__}, which no record holds: give "
            "a text, a number, true, false or a list"
        )
    return isinstance(value, (bool, int, float, str, list))


def load(results_dir, scale, paper):
    """(records, values): the JSON records of all units and their per-example values in one DataFrame.

    values has the columns of the parquet files and dataset, model, seed. Units that missing.csv lists are
    named in print. Raises FileNotFoundError if there is none, ValueError for a record that is truncated or
    whose values do not belong to it.
    """
    folder = project_root() / results_dir / scale / paper
    for hole in missing(folder):
        print(f"A hole: unit {hole} failed and has no record; tables and figures are made without it.")
    records, values = [], []
    for path in sorted(folder.glob("*.json")):
        record = read_record(path)
        table = pd.read_parquet(path.with_suffix(".parquet"))
        names = {
            "dataset": record["params"]["task"],
            "model": record["params"]["model"],
            "seed": record["params"]["seed"],
        }
        values.append(table.assign(**names))
        records.append(record)
    if not records:
        raise FileNotFoundError(
            f"no records in {_shown(folder)}: run `make results SCALE={scale}` or name another results_dir"
        )
    return records, pd.concat(values, ignore_index=True)


def missing(folder):
    """The units that missing.csv says have failed, in a folder of records: a list of names."""
    listed = pathlib.Path(folder) / "missing.csv"
    units = pd.read_csv(listed).unit if listed.is_file() else []
    return [unit for unit in units if not (listed.parent / f"{unit}.json").is_file()]


def load_tables(results_dir, scale, paper, records, name):
    """The tables <unit>.<name>.parquet that stand beside the records, with dataset, model and seed.

    Records without one are passed over; where none has it the DataFrame is empty.
    """
    folder, found = project_root() / results_dir / scale / paper, []
    for record in records:
        file, params = f"{record['unit']}.{name}.parquet", record["params"]
        if file in record["files"]:
            found.append(
                pd.read_parquet(folder / file).assign(
                    dataset=params["task"], model=params["model"], seed=params["seed"]
                )
            )
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def slug(model):
    """The last part of a model's name, as records and tables show it."""
    return model.rstrip("/").split("/")[-1]


def read_record(path):
    """A record whose files are whole; raises ValueError with the fix otherwise."""
    path = pathlib.Path(path)
    fix = f"delete {_shown(path)} and run the unit again"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        files = record["files"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"record {path.name} is damaged ({error}): {fix}") from error
    for name, expected in files.items():
        if not path.with_name(name).is_file():
            raise ValueError(f"record {path.name} has lost its file {name}: {fix}")
        if file_digest(path.with_name(name)) != expected:
            raise ValueError(f"file {name} is not the one that record {path.name} was written with: {fix}")
    return record


def write_atomically(path, write):
    """Call write(temporary path) and rename: a file of this name is whole or absent.

    Raises OSError, in one line, for a full disk and for a folder that may not be written.
    """
    path = pathlib.Path(path)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(part)
        with open(part, "rb+") as file:
            os.fsync(file.fileno())  # or a power cut leaves a file of this name that is empty
        os.replace(part, path)
    except (OSError, SafetensorError) as error:
        reason = " ".join(str(error).split())
        raise OSError(
            f"{_shown(path)} cannot be written ({reason}): make room or correct the folder's "
            "rights, then give the same command again; what is finished is kept"
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def read_part(path):
    """A DataFrame that an earlier run kept; None where there is none or it is damaged."""
    try:
        return pd.read_parquet(path)
    except (FileNotFoundError, pa.ArrowException, OSError):
        return None


def write_parquet(path, frame):
    """A DataFrame as parquet, whole or absent; the form that every record and every part has."""
    write_atomically(path, partial(frame.to_parquet, compression="zstd", index=False))


def read_metadata(path):
    """The texts beside the weights in a safetensors file; None where there is no file or it is damaged."""
    try:
        with safe_open(path, "pt") as file:
            return file.metadata()
    except (FileNotFoundError, SafetensorError):
        return None


def digest(value):
    """SHA-256 of a plain value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def file_digest(path):
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def weights_digest(model):
    """SHA-256 of a model's weights."""
    import torch

    sha = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        sha.update(name.encode())
        sha.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return sha.hexdigest()


def code_digest(*parts):
    """SHA-256 of faithlib's source, or of the modules and packages named."""
    package = pathlib.Path(__file__).parent
    sources = sorted(
        p for p in package.rglob("*.py") if not parts or p.relative_to(package).parts[0] in parts
    )
    return digest([(p.relative_to(package).as_posix(), file_digest(p)) for p in sources])


def code_provenance():
    """What code this is: git commit, whether faithlib or the notebooks differ from it, versions."""
    versions = {"python": platform.python_version()}
    versions |= {name: importlib.metadata.version(name) for name in PACKAGES}
    return {
        "git": _git("rev-parse", "HEAD"),
        "dirty": bool(_git("status", "--porcelain", "--", "faithlib", "notebooks/*/experiment.ipynb")),
        "code": code_digest(),
        "versions": versions,
    }


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
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=pathlib.Path(__file__).parent.parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _shown(path):
    root = project_root()
    return path.relative_to(root) if path.is_relative_to(root) else path
