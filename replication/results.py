"""Units being computed: once, and kept in parts while they run.

`start` makes the `Run` that a notebook computes a unit with. What a record is, and how a report reads those
of all units (`load`), stands in `records` and in `faithlib.store`, what it says of code and machine in
`faithlib.provenance`; what notebooks need of these is here as well.
"""

import copy
import json
import os
import pathlib
import platform
import re
import time
from dataclasses import dataclass, field
from functools import partial

import pandas as pd

from faithlib import options, plugins, provenance, store
from faithlib.progress import bar
from faithlib.provenance import code_digest, code_provenance, device_name, processor, weights_digest
from faithlib.scores import one_of
from faithlib.store import digest, listed, project_root, read_record, shown
from faithlib.tasks.files import is_path
from replication import records
from replication.parameters import check
from replication.records import check_scale, design, differences, load, load_tables, seeds, slug, unit_name

FETCHED = ("model", "judge", "vectors")  # parameters that name what `make fetch` puts into model_dir


@dataclass
class Run:
    """One unit being computed: where its parts go, and the parts kept so far."""

    paper: str
    unit: str
    scale: str
    params: dict
    folder: pathlib.Path  # of the record
    kept: pathlib.Path  # of parts that survive an interruption
    device: object  # a torch.device, which this module does not load
    dtype: str = "float32"  # what models compute in; of dtype="auto", what it stands for here
    started: float = field(default_factory=time.monotonic)  # which no change of the clock moves
    cpu: float = field(default_factory=store.cpu_seconds)  # at the start
    earlier: float = 0.0  # seconds that interrupted runs spent on what was read back
    earlier_cpu: float = 0.0  # CPU seconds of the same
    trained: float = 0.0  # seconds that training took of the model kept last, in whichever run
    longest: float = 0.0  # seconds of the longest of these trainings: none goes on where it was cut
    read: dict = field(default_factory=dict)  # `own_files` and `origins` of what it reads, at the start
    weights: dict = field(default_factory=dict)  # {name of its file under `kept`: SHA-256 of a trained model}
    source: dict = field(default_factory=dict, repr=False)  # where the parameters were read from

    def _unchanged(self):
        """Raise ValueError where a parameter is not what it was at the start, which a record would hold."""
        both = [(name, value, self.source.get(name, value)) for name, value in self.params.items()]
        changed = [f"{name} was {then!r} and is {now!r}" for name, then, now in both if now != then]
        if changed:
            fix = "run the notebook again from its parameters, with variant='a-name' where a record is there"
            raise ValueError(f"parameters changed after results.start ({'; '.join(changed)}): {fix}")

    def in_parts(self, name, count, make, key, size=16):
        """A DataFrame over `count` examples, `size` at a time; what an interrupted run made is read back.

        make(start, stop) -> DataFrame. key: everything it depends on besides faithlib's code
        (plain values); another key or other code are other parts.
        """
        self._unchanged()
        measuring = [name for name in provenance.sources() if provenance.paper_of(name) == self.paper]
        code, parts = ("attributions", "metrics", *measuring), []
        kept = store.Store(self.kept, code, key, size, self.dtype)
        with bar(count, name, "example") as progress:
            for start in range(0, count, size):
                stop = min(start + size, count)
                parts.append(kept.table(f"{name}.{start:05d}", partial(make, start, stop)))
                progress.update(stop - start)
        self._read_back(kept.spent)
        return pd.concat(parts, ignore_index=True)

    def keep_weights(self, classifier, train, key):
        """Call train() -> history and keep the weights; an interrupted run's are loaded instead.

        key: everything that training depends on (plain values). Weights are kept as safetensors.
        """
        self._unchanged()
        kept = store.Store(self.kept, ("training",), key, classifier.name, self.dtype)
        path, history, self.trained = kept.weights("weights", classifier.model, train)
        self.longest = max(self.longest, self.trained)
        if path.name not in self.weights:  # else it was trained, or counted, by this process
            self._read_back(kept.spent)
        self.weights[path.name] = weights_digest(classifier.model)
        return history

    def _read_back(self, spent):
        """Count the seconds that an interrupted run spent on what is read back."""
        self.earlier += spent["seconds"]
        self.earlier_cpu += spent["cpu_seconds"]

    def _spent(self):
        """When and where the unit was finished, and what it took: what differs when it is run again."""
        spent = {"finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        spent["seconds"] = round(time.monotonic() - self.started + self.earlier, 1)
        spent["cpu_seconds"] = round(store.cpu_seconds() - self.cpu + self.earlier_cpu, 1)
        spent |= {"longest_training": round(self.longest, 1)} if self.longest else {}
        host = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
        return spent | provenance.peak_memory(self.device) | {"host": host}

    def save(self, metrics, values, excluded=(), provenance=None, volatile=None, design=None, **tables):
        """Write the record, as `records` describes it; see `store.save_record`. The path of its JSON.

        Args:
            metrics: [{"metric": name, "value": number, ...}] of the whole unit.
            values: DataFrame, a row a value per example.
            excluded: [{"what", "why", "n"}] that was cut or left out.
            provenance: what the values depend on besides code and versions, such as `data.provenance`.
            volatile: what may differ when the unit is run again, such as the seconds of a part.
            design: "crossed" where all seeds see the same texts, "nested" where each seed has its own; None
                takes it from `provenance["data"]`, which tells them apart for all seeds but 0.
            tables: further DataFrames, written as <unit>.<name>.parquet.

        Raises:
            ValueError: an unknown design, a table whose name a variant could have, NaN in the JSON, a
                parameter that is not what it was at the start.
        """
        self._unchanged()
        if wrong := [name for name in tables if not name.isidentifier()]:
            raise ValueError(f"table {wrong[0]!r}: give a name of letters, digits and _")
        one_of("design", design, (None, "crossed", "nested"))
        about = code_provenance() | {"device": device_name(self.device), "processor": processor()}
        read = {"weights": self.weights, **self.read}
        about |= {"dtype": self.dtype, **{name: value for name, value in read.items() if value}}
        about |= provenance or {}
        record = {"format": store.FORMAT, "paper": self.paper, "unit": self.unit, "scale": self.scale}
        record |= {"params": self.params, "design": design or records.design_of(self.params, about)}
        record |= {"metrics": metrics, "excluded": list(excluded), "files": {}, "provenance": about}
        record["volatile"] = self._spent() | (volatile or {})
        path = self.folder / f"{self.unit}.json"
        frames = {f"{self.unit}.parquet": values}
        frames |= {f"{self.unit}.{name}.parquet": table for name, table in tables.items()}
        if not store.save_record(path, record, frames):
            print(f"{shown(path)} is there and says the same: it stays as it is.")
            return path
        parts = [left for name in (path.name, *frames) for left in self.folder.glob(f"{name}.*.part")]
        for left in (*parts, *self.kept.rglob("*.part")):
            left.unlink(missing_ok=True)  # of a process that was killed while it wrote
        return path


def start(paper: str, parameters: dict) -> Run:
    """A Run for one unit, and a line in print where its record is there already.

    Args:
        paper: its short name.
        parameters: a notebook's globals() while only its parameters cell has run. Relative folders are taken
            from the project's root; parts that survive an interruption go to `checkpoints` beside
            `results_dir`.

    Raises:
        ValueError: a parameter that the notebook does not have or that is out of its range, or other
            parameters than those of the record that has this unit's name.
    """
    from faithlib.models import placement, precision

    settings = {name: value for name, value in parameters.items() if _is_parameter(name, value)}
    plugins.load(settings.get("plugins", []), project_root())
    scale, seed, device = settings["scale"], settings["seed"], settings["device"]
    check_scale(scale)
    options.check(settings, options.PARAMETERS | {"learning_rate": options.Number()})  # 0: the paper's
    check_device(device)
    device = placement.existing(placement.best() if device == "auto" else device)
    dtype = settings.get("dtype", "float32")
    one_of("dtype", dtype, (*options.DTYPES, "auto"))
    dtype = str(precision.resolve(dtype, device)).removeprefix("torch.") if dtype == "auto" else dtype
    unit = unit_name(settings["task"], settings["model"], seed, settings.get("variant", ""))
    notebook = project_root() / "notebooks" / paper / "experiment.ipynb"
    if notebook.is_file():
        check(os.path.relpath(notebook), settings, "; if cells ran before, run it again from the top")
    root = project_root() / settings["results_dir"]
    folder, kept = (place / scale / paper for place in (root, root.parent / "checkpoints"))
    params = copy.deepcopy({name: value for name, value in settings.items() if name not in records.PLACES})
    path = folder / f"{unit}.json"
    if existing(path, params):
        print(f"{shown(path)} is there, with these parameters: computed again, it is replaced if it differs.")
    read = {"own": own_files(params), "origins": origins(params, settings.get("model_dir", ""))}
    return Run(paper, unit, scale, params, folder, kept / unit, device, dtype, read=read, source=parameters)


def existing(path, params):
    """The record at `path`; None where there is none, or a damaged one, which a line in print says.

    Raises:
        ValueError: it has other parameters than these.
    """
    if not path.is_file():
        return None
    try:
        record = read_record(path)
    except ValueError as error:
        print(f"{error}; this run sets it aside when it ends.")
        return None
    if changed := differences(record.get("params", {}), params):
        fix = "give this run a name of its own, such as variant='my-variant', or another results_dir"
        raise ValueError(f"record {shown(path)} has other parameters ({listed(changed)}): {fix}")
    return record


def own_files(params):
    """SHA-256 of what a unit reads that is one's own: {path in its parameters: hash of a file or a folder}.

    The data where the task is a path, plugins with what they import from their folder, and the model where it
    is a folder's path; only what is there.
    """
    names = [params["task"]] if is_path(params["task"]) else []
    names += params.get("plugins", [])
    names += [params["model"]] if pathlib.Path(params["model"]).is_absolute() else []
    paths = {name: project_root() / pathlib.Path(name).expanduser() for name in names}
    return {name: _contents(path) for name, path in paths.items() if path.exists()}


def origins(params, model_dir):
    """Where the models and vectors of a unit come from, as `make fetch` wrote it: {name: its origin.json}."""
    folder, of_files = project_root() / pathlib.Path(model_dir).expanduser(), {}
    for name in filter(None, map(params.get, FETCHED)):
        for path in (folder / name / "origin.json", folder / f"{name}.origin.json"):
            if path.is_file():
                of_files[name] = json.loads(path.read_text(encoding="utf-8"))
    return of_files


def _contents(path):
    files = [p for p in path.iterdir() if p.is_file()] if path.is_dir() else _beside_it(path)
    return digest([(file.name, store.file_digest(file)) for file in sorted(files)])


def _beside_it(path):
    """A file, and the Python files beside it that it imports, directly or not."""
    files = [path]
    for file in files:  # which grows
        beside = {path.with_name(f"{name.split('.')[0]}.py") for name in provenance.names_used(file)}
        files += [module for module in sorted(beside) if module.is_file() and module not in files]
    return files


def check_device(device):
    """Raise ValueError for what is no device; of several GPUs one is "cuda:<number>"."""
    if not re.fullmatch(r"auto|cpu|mps|cuda(:\d{1,3})?", str(device)):
        raise ValueError(f"device={device!r} is unknown: use 'auto', 'cpu', 'mps', 'cuda' or, say, 'cuda:1'")


def _is_parameter(name, value):
    """Whether a notebook's global is a parameter; raises ValueError for one that no record can hold."""
    if not name[0].islower():
        return False
    if value is None or isinstance(value, (dict, tuple, set, bytes, complex)):
        what = f"parameter {name}={value!r} is a {type(value).__name__}, which no record holds"
        raise ValueError(f"{what}: give a text, a number, true, false or a list")
    return isinstance(value, (bool, int, float, str, list))
