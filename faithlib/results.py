"""Units, their records and provenance: written atomically, never recomputed, never half there.

A unit is one task, model, seed and, where it departs from the main setting, a named variant. Its record is
`<unit>.json`, written last, and beside it `<unit>.parquet` (values per example) and `<unit>.<table>.parquet`:

    sst.all-MiniLM-L6-v2.s0.json                      task, last part of the model's name, seed
    sst.all-MiniLM-L6-v2.s0.only-masking.json         the same, variant "only-masking"

The JSON of a record, format 2:

    format          2; records of format 1, which lack the keys marked *, are read as they are
    paper, unit, scale
    params          the notebook's parameters, without those that say where and not what (PLACES)
    design *        "crossed" (all seeds see the same texts) or "nested" (each seed has texts of its own)
    metrics         [{metric, value, ...}] of the whole unit
    excluded        [{what, why, n}] that was cut or left out
    files           {name: SHA-256} of the parquet files
    provenance      git commit and dirty ("unknown" outside git), code (hash of faithlib's source), versions,
                    device, data (source, rows and a hash of each split), hashes of weights
    volatile        what may differ when the unit is run again: seconds, memory, host, time
    sha256 *        of the record without this key, `volatile` and `volatile_sha256`: `record_digest`
    volatile_sha256 *  of `volatile`

`read_record` checks all hashes that a record has. A record is never overwritten: `start` refuses parameters
other than those of the record that has the unit's name, and what `save` replaces is kept as `*.replaced`.
"""

import hashlib
import importlib.metadata
import json
import os
import pathlib
import platform
import re
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
FORMAT = 2  # of a record, see above
PLACES = ("scale", "data_dir", "model_dir", "results_dir", "checkpoint_dir", "device")  # where, not what
HOW = ("workers",)  # parameters that change no value
DEVICES = ("auto", "cpu", "cuda", "mps")
DESIGNS = ("crossed", "nested")
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
    started: float = field(default_factory=lambda: time.time())
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

    def save(self, metrics, values, excluded=(), provenance=None, volatile=None, design=None, **tables):
        """Write the record: <unit>.parquet and further tables first, <unit>.json (which says done) last.

        A record that is there already is left untouched where it says the same, and kept as *.replaced where
        it does not.

        Args:
            metrics: [{"metric": name, "value": number, ...}] of the whole unit.
            values: DataFrame, a row a value per example.
            excluded: [{"what", "why", "n"}] that was cut or left out.
            provenance: what the values depend on besides code and versions, such as `data.provenance`.
            volatile: what may differ when the unit is run again, such as the seconds of a part.
            design: "crossed" where all seeds see the same texts, "nested" where each seed has its own; None
                takes it from `provenance["data"]`, which tells them apart for all seeds but 0.
            tables: further DataFrames, written as <unit>.<name>.parquet.

        Returns:
            The path of the JSON.

        Raises:
            ValueError: an unknown design, a table whose name a variant could have, NaN in the JSON.
            OSError: what cannot be written.
        """
        if wrong := [name for name in tables if not name.isidentifier()]:
            raise ValueError(f"table {wrong[0]!r}: give a name of letters, digits and _")
        if design not in (None, *DESIGNS):
            raise ValueError(f"design={design!r} is unknown: use {' or '.join(map(repr, DESIGNS))}")
        contents = {  # name of a file: its bytes
            f"{self.unit}{'.' + suffix if suffix else ''}.parquet": table.to_parquet(
                None, compression="zstd", index=False
            )
            for suffix, table in {"": values, **tables}.items()
        }
        record = {
            "format": FORMAT,
            "paper": self.paper,
            "unit": self.unit,
            "scale": self.scale,
            "params": self.params,
            "design": design or _design(self.params, provenance or {}),
            "metrics": metrics,
            "excluded": list(excluded),
            "files": {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()},
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
        record = json.loads(as_text(record))  # as it is read: keys are texts, tuples are lists
        record |= {"sha256": record_digest(record), "volatile_sha256": digest(record["volatile"])}
        path = self.folder / f"{self.unit}.json"
        if path.is_file():
            try:
                if record_digest(read_record(path)) == record["sha256"]:
                    print(f"{_shown(path)} is there and says the same: it stays as it is.")
                    return path
                ending = "replaced"
            except ValueError:
                ending = "damaged"
            print(f"{_shown(path)} was there before: it is kept as {set_aside(path, ending).name}.")
        for name, content in contents.items():
            write_atomically(self.folder / name, lambda part, content=content: part.write_bytes(content))
        write_atomically(path, lambda part: part.write_text(as_text(record), encoding="utf-8"))
        own = re.compile(rf"{re.escape(self.unit)}(\.[^\W\d]\w*)?\.(json|parquet)\.\d+\.part")
        parts = [left for left in self.folder.glob("*.part") if own.fullmatch(left.name)]
        for left in (*parts, *self.kept.rglob("*.part")):
            left.unlink(missing_ok=True)  # of a process that was killed while it wrote
        return path


def start(paper, parameters):
    """A Run for one unit, and a line in print where its record is there already.

    Args:
        paper: its short name.
        parameters: a notebook's globals() while only its parameters cell has run. Relative folders are taken
            from the project's root. `variant`, where it is given and not "", names a unit that departs from
            the main setting.

    Raises:
        ValueError: an unknown scale or device, a seed or a limit below 0, a variant that is no slug, or other
            parameters than those of the record that has this unit's name.
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
    check_device(device)
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(f"device={device!r} but this machine shows no CUDA device: use 'auto' or 'cpu'")
    if ":" in device and int(device.split(":")[1]) >= (gpus := torch.cuda.device_count()):
        raise ValueError(
            f"device={device!r} but this machine shows {gpus}: use 'cuda:0' to 'cuda:{gpus - 1}'"
        )
    unit = unit_name(given["task"], given["model"], seed, given.get("variant", ""))
    places = ("results_dir", "checkpoint_dir")
    folder, kept = (project_root() / given[place] / scale / paper for place in places)
    params = {name: value for name, value in given.items() if name not in PLACES}
    _check_existing(folder / f"{unit}.json", params)
    return Run(paper, unit, scale, params, folder, kept / unit, torch.device(device))


def _check_existing(path, params):
    """Raise ValueError if a record of other parameters has this name; say so in print if one is there."""
    if not path.is_file():
        return
    try:
        record = read_record(path)
    except ValueError as error:
        print(f"{error}; this run sets it aside when it ends.")
        return
    if found := differences(record.get("params", {}), params):
        raise ValueError(
            f"record {_shown(path)} has other parameters ({listed(found)}) and is not overwritten: give this "
            "run a name of its own, such as variant='my-variant', or another results_dir"
        )
    print(f"{_shown(path)} is there, with these parameters: computed again, it is replaced if it differs.")


def differences(old, new):
    """What tells the parameters of two units apart: a list of texts such as "epochs=3, not 5".

    Parameters that change no value (HOW) are passed over, and so is one that only one of them has and that is
    empty there, as records older than a parameter lack it.
    """
    found = []
    for name in dict.fromkeys([*old, *new]):
        if name in old and name in new:
            same = old[name] == new[name]
        else:
            same = old.get(name, new.get(name)) in ("", [])
        if not same and name not in HOW:
            has, wanted = (repr(of[name]) if name in of else "unknown" for of in (old, new))
            found.append(f"{name}={has}, not {wanted}")
    return found


def listed(names, most=4):
    """Some names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def check_device(device):
    """Raise ValueError for a device that is not one of DEVICES or, of several GPUs, "cuda:<number>"."""
    if not isinstance(device, str) or (device not in DEVICES and not re.fullmatch(r"cuda:\d{1,3}", device)):
        raise ValueError(
            f"device={device!r} is unknown: use 'auto', 'cpu', 'cuda' or 'mps', "
            "or 'cuda:1' for the second GPU"
        )


def unit_name(task, model, seed, variant=""):
    """The name of a unit, and of its files.

    Args:
        task, model, seed: as in the notebook's parameters.
        variant: "" for the main setting, else letters, digits, - and _, with a hyphen or a digit first, so
            that it is never the name of a table.

    Raises:
        ValueError: another variant.

    Example:
        >>> unit_name("sst", "sentence-transformers/all-MiniLM-L6-v2", 0, "only-masking")
        'sst.all-MiniLM-L6-v2.s0.only-masking'
    """
    if variant and (
        not isinstance(variant, str) or not re.fullmatch(r"[A-Za-z0-9_-]+", variant) or variant.isidentifier()
    ):
        raise ValueError(
            f"variant={variant!r} is no slug: give letters, digits, - and _, with a hyphen in it or a digit "
            "first, such as 'only-masking' or '36-outputs'"
        )
    return f"{task}.{slug(str(model))}.s{seed}" + (f".{variant}" if variant else "")


def expand(scale, defaults, row):
    """(unit name, parameters) for each seed of one row of a config's `units`.

    Raises:
        ValueError: no task, model or seed, a scale that is not the config's, a variant that is no slug.
    """
    parameters = {**defaults, **row}
    if missing := [key for key in ("task", "model", "seed") if key not in parameters]:
        raise ValueError(f"unit {row}: {missing[0]!r} is missing; name task, model and seed")
    if parameters.get("scale", scale) != scale:
        raise ValueError(f"unit {row}: scale={parameters['scale']!r} in the config of {scale}; leave it out")
    parameters["scale"] = scale
    seeds = parameters["seed"] if isinstance(parameters["seed"], list) else [parameters["seed"]]
    for seed in seeds:
        unit = unit_name(parameters["task"], parameters["model"], seed, parameters.get("variant", ""))
        yield unit, {**parameters, "seed": seed}


def _in_config(results_dir, scale, paper):
    """(the config's path, {unit: parameters}) where the folder of results belongs to a project, else None.

    It does where it is called "results" and stands beside "config", with the paper in config/<scale>.yaml.
    """
    folder = project_root() / results_dir
    path = folder.parent / "config" / f"{scale}.yaml"
    if folder.name != "results" or not path.is_file():
        return None
    import yaml  # comes with transformers

    try:
        entry = yaml.safe_load(path.read_text(encoding="utf-8"))["papers"].get(paper)
        if entry is None:
            return None
        units = [dict(expand(scale, entry.get("defaults", {}), row)) for row in entry["units"]]
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"{_shown(path)} cannot be read ({reason}), and it says which units {paper} has: correct it"
        ) from error
    return path, {unit: given for row in units for unit, given in row.items()}


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


def load(results_dir, scale, paper, variants=("",)):
    """(records, values): the JSON records of all units and their per-example values in one DataFrame.

    In a project (a folder `results` beside `config`) these are the units that config/<scale>.yaml lists, in
    any other folder all of them. What else lies there is named in print, and so are units without a record
    and those whose parameters are not the config's. Plugins of the records are imported where their files are
    there, so that labels and colours are the registered ones.

    Args:
        variants: of the units read, "" for the main setting; None for all, which the column `variant` tells
            apart.

    Returns:
        records, and values with the columns of the parquet files and dataset, model, seed, variant.

    Raises:
        FileNotFoundError: there is no record.
        ValueError: a record is truncated or changed, its values do not belong to it, or the config cannot be
            read.
    """
    folder = project_root() / results_dir / scale / paper
    holes = missing(folder)
    for hole in holes:
        print(f"A hole: unit {hole} failed and has no record; tables and figures are made without it.")
    found = {path.stem: path for path in sorted(folder.glob("*.json"))}
    config, units = _in_config(results_dir, scale, paper) or (None, dict.fromkeys(found, {}))
    if config and (others := sorted(set(found) - set(units))):
        print(f"Not shown, as {_shown(config)} does not list them: {listed(others)}.")
    if config and (absent := sorted(set(units) - set(found) - set(holes))):
        print(f"Units of {_shown(config)} without a record: {listed(absent)}.")
    records, values, of_variants = [], [], []
    for unit, path in found.items():
        if unit not in units:
            continue
        record = read_record(path)
        params = record["params"]
        if variants is not None and params.get("variant", "") not in variants:
            of_variants.append(unit)
            continue
        asked = {key: value for key, value in units[unit].items() if key not in PLACES}
        if changed := differences({key: value for key, value in params.items() if key in asked}, asked):
            print(f"Unit {unit} is not what {_shown(config)} asks for: {listed(changed)}.")
        own = params.get("plugins", [])
        plugins.load([file for file in own if (project_root() / file).is_file()], project_root())
        values.append(pd.read_parquet(path.with_suffix(".parquet")).assign(**_names(record)))
        records.append(record)
    if of_variants:
        print(f"Variants, which are not in these tables: {listed(of_variants)}.")
    if not records:
        raise FileNotFoundError(
            f"no records in {_shown(folder)}: run `make results SCALE={scale}` or name another results_dir"
        )
    return records, pd.concat(values, ignore_index=True)


def _names(record):
    """What tells a record's rows from those of others."""
    params = record["params"]
    names = {"dataset": params["task"], "model": params["model"], "seed": params["seed"]}
    return names | {"variant": params.get("variant", "")}


def design(records):
    """ "nested" where each seed of these records has texts of its own, else "crossed".

    Records of format 1 do not say it; their data's seed does, for all seeds but 0.
    """
    found = {r["design"] if "design" in r else _design(r["params"], r["provenance"]) for r in records}
    return "nested" if "nested" in found else "crossed"


def _design(params, provenance):
    """A unit's design by its data, whose seed is the unit's own only where the corpus depends on it."""
    data = provenance.get("data") or {}
    own = data.get("seed", data.get("subset_seed"))
    return "nested" if own == params["seed"] != 0 else "crossed"


def missing(folder):
    """The units that missing.csv says have failed, in a folder of records: a list of names."""
    listed = pathlib.Path(folder) / "missing.csv"
    units = pd.read_csv(listed).unit if listed.is_file() else []
    return [unit for unit in units if not (listed.parent / f"{unit}.json").is_file()]


def load_tables(results_dir, scale, paper, records, name):
    """The tables <unit>.<name>.parquet that stand beside the records, with dataset, model, seed, variant.

    Records without one are passed over; where none has it the DataFrame is empty.
    """
    folder, found = project_root() / results_dir / scale / paper, []
    for record in records:
        file = f"{record['unit']}.{name}.parquet"
        if file in record["files"]:
            found.append(pd.read_parquet(folder / file).assign(**_names(record)))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def slug(model):
    """The last part of a model's name, as records and tables show it."""
    return model.rstrip("/").split("/")[-1]


def read_record(path):
    """A record whose files are whole and whose hashes, where it has them, are its own.

    Raises:
        ValueError: a record that is truncated or changed, or that a later faithlib wrote; with the fix.
    """
    path = pathlib.Path(path)
    fix = f"delete {_shown(path)} and run the unit again"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        files, version = record["files"], record.get("format", 1)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"record {path.name} is damaged ({error}): {fix}") from error
    if version not in range(1, FORMAT + 1):
        raise ValueError(
            f"record {path.name} is of format {version!r}, and this faithlib reads 1 to {FORMAT}: "
            "update faithlib"
        )
    if version > 1 or "sha256" in record:
        hashes = record_digest(record), digest(record.get("volatile"))
        if hashes != (record.get("sha256"), record.get("volatile_sha256")):
            raise ValueError(f"record {path.name} was changed after it was written: {fix}")
    for name, expected in files.items():
        if not path.with_name(name).is_file():
            raise ValueError(f"record {path.name} has lost its file {name}: {fix}")
        if file_digest(path.with_name(name)) != expected:
            raise ValueError(f"file {name} is not the one that record {path.name} was written with: {fix}")
    return record


def as_text(record):
    """A record as its file holds it."""
    return json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def record_digest(record):
    """SHA-256 of what a record says: all of it but its own hashes and what may differ in another run."""
    apart = ("sha256", "volatile", "volatile_sha256")
    return digest({key: value for key, value in record.items() if key not in apart})


def set_aside(path, ending):
    """Rename a record's files to <name>.<ending>, or <name>.<ending>.2 and so on; the new path of its JSON.

    Files of the unit's variants stay.
    """
    own = re.compile(rf"{re.escape(path.stem)}(\.[^\W\d]\w*)?\.(json|parquet)")
    files = [file for file in path.parent.iterdir() if own.fullmatch(file.name)]
    number = 1
    while any(_aside(file, ending, number).exists() for file in files):
        number += 1
    for file in sorted(files, reverse=True):
        file.rename(_aside(file, ending, number))
    return _aside(path, ending, number)


def _aside(file, ending, number):
    return file.with_name(f"{file.name}.{ending}" + (f".{number}" if number > 1 else ""))


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
    """What code this is: git commit, whether faithlib or the notebooks differ from it, versions.

    Outside a git repository, as in a downloaded archive, the first two are "unknown".
    """
    versions = {"python": platform.python_version()}
    versions |= {name: importlib.metadata.version(name) for name in PACKAGES}
    changed = _git("status", "--porcelain", "--", "faithlib", "notebooks/*/experiment.ipynb")
    return {
        "git": _git("rev-parse", "HEAD") or "unknown",
        "dirty": "unknown" if changed is None else bool(changed),
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


def _shown(path):
    root = project_root()
    return path.relative_to(root) if path.is_relative_to(root) else path
