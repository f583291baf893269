"""What is kept on disk: whole or absent, hashed, and read back as it was written; nothing here loads torch.

A record is a JSON file, written last, and the parquet files that it names. Each one, of a unit or of a study,
has in format 2

    format          2; records of format 1, which lack the keys marked *, are read as they are
    files           {name: SHA-256} of the parquet files
    volatile        what may differ when it is made again: seconds, memory, host, time
    sha256 *        of the record without this key, `volatile` and `volatile_sha256`: `record_digest`
    volatile_sha256 *  of `volatile`

`read_record` checks all hashes that a record has.
"""

import hashlib
import json
import os
import pathlib
import re
import time
from collections import Counter
from contextlib import suppress
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
from safetensors import SafetensorError, safe_open

from faithlib.provenance import code_digest, digest, file_digest

FORMAT = 2  # of a record, see above
PARQUET = {"compression": "zstd", "index": False}
SPENT = ("seconds", "cpu_seconds")  # what a part says of its making


class Store:
    """The finished parts of one piece of work, as files: each is read back where there is one, else made.

    A name holds a digest of all that the part depends on, so that nothing is read back for another model,
    text, setting or version of the code. A damaged file is made again.

    Args:
        folder: where the files are; None keeps nothing, and all is made.
        code: the parts of faithlib and of a paper that the work is made by, as `code_digest` takes them.
        about: what else it depends on: plain values, arrays, encodings.
    """

    def __init__(self, folder, code, *about):
        self.folder = folder and pathlib.Path(folder)
        self.key = self.folder and digest([code_digest(*code), _plain(about)])
        self.spent = Counter()  # on what was read back

    def path(self, name, ending, *about):
        """The file of a part."""
        return self.folder / f"{name}.{digest([self.key, name, _plain(about)])[:16]}.{ending}"

    def table(self, name, make, *about):
        """make(), a DataFrame, or what an earlier run kept of it."""
        if self.folder is None:
            return make()
        path = self.path(name, "parquet", *about)
        frame = read_part(path)
        if frame is not None:
            self.spent.update(frame.attrs)
        else:
            made, spent = _timed(make)
            made.attrs = spent
            write_parquet(path, made)
            frame = pd.read_parquet(path)
        frame.attrs = {}  # they would end up in a record
        return frame

    def weights(self, name, model, train):
        """(file, history, seconds) of train() -> history, whose weights are kept or loaded into the model."""
        from safetensors.torch import load_model, save_file

        path = self.path(name, "safetensors")
        about = read_metadata(path)
        if about is not None:
            load_model(model, path)
            self.spent.update({name: float(about.get(name, 0)) for name in SPENT})
        else:
            history, spent = _timed(train)
            weights = {k: v.contiguous() for k, v in model.state_dict().items()}
            about = {"history": json.dumps(history)} | {name: str(value) for name, value in spent.items()}
            write_atomically(path, partial(save_file, weights, metadata=about))
        return path, json.loads(about["history"]), float(about.get("seconds", 0))


def _plain(value):
    """A value as `digest` takes it: encodings and arrays by their contents."""
    if hasattr(value, "maskable"):
        return _plain([value.ids, value.types, value.maskable, value.words, value.spans])
    if isinstance(value, np.ndarray):
        content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return [value.shape, str(value.dtype), content]
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def cpu_seconds():
    """CPU seconds of this process and of its children that have ended: neither waiting nor pauses count."""
    return time.process_time() + sum(os.times()[2:4])


def _timed(make):
    """(what make() returns, its {"seconds", "cpu_seconds"})."""
    began, cpu, made = time.monotonic(), cpu_seconds(), make()
    return made, dict(zip(SPENT, (time.monotonic() - began, cpu_seconds() - cpu), strict=True))


def project_root() -> pathlib.Path:
    """The nearest folder above the working directory that holds pyproject.toml, else that directory."""
    here = pathlib.Path.cwd()
    return next((p for p in (here, *here.parents) if (p / "pyproject.toml").is_file()), here)


def listed(names, most=4):
    """Some names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


class UnreadableRecord(ValueError):
    """A record that is truncated or changed, or that a later faithlib wrote: the reason, and the fix."""

    def __init__(self, reason, fix):
        super().__init__(f"{reason}: {fix}")
        self.reason = reason


def read_record(path):
    """A record whose files are whole and whose hashes, where it has them, fit; else UnreadableRecord."""
    path = pathlib.Path(path)
    fix = f"delete {shown(path)} and run the unit again"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        files, version = record["files"], record.get("format", 1)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableRecord(f"record {path.name} is damaged ({error})", fix) from error
    if version not in range(1, FORMAT + 1):
        reason = f"record {path.name} is of format {version!r}, and this faithlib reads 1 to {FORMAT}"
        raise UnreadableRecord(reason, "update faithlib")
    if version > 1 or "sha256" in record:
        hashes = record_digest(record), digest(record.get("volatile"))
        if hashes != (record.get("sha256"), record.get("volatile_sha256")):
            raise UnreadableRecord(f"record {path.name} was changed after it was written", fix)
    for name, expected in files.items():
        if not path.with_name(name).is_file():
            raise UnreadableRecord(f"record {path.name} has lost its file {name}", fix)
        if file_digest(path.with_name(name)) != expected:
            reason = f"file {name} is not the one that record {path.name} was written with"
            raise UnreadableRecord(reason, fix)
    return record


def as_text(record):
    """A record as its file holds it."""
    return json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def record_digest(record):
    """SHA-256 of what a record says: all of it but its own hashes and what may differ in another run."""
    apart = ("sha256", "volatile", "volatile_sha256")
    return digest({key: value for key, value in record.items() if key not in apart})


def save_record(path, record, frames) -> bool:
    """Write a record: its parquet files first, the JSON, which has their hashes and says done, last.

    A record that is there already is left untouched where it says the same, and kept as *.replaced where it
    does not.

    Args:
        path: of the JSON.
        record: what it says, without `files` and its own hashes; NaN is a ValueError.
        frames: {name of a parquet file: DataFrame}.
    """
    contents = {name: frame.to_parquet(None, **PARQUET) for name, frame in frames.items()}
    files = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    record = json.loads(as_text(record | {"files": files}))  # as it is read: keys are texts, tuples lists
    record |= {"sha256": record_digest(record), "volatile_sha256": digest(record["volatile"])}
    if path.is_file():
        try:
            if record_digest(read_record(path)) == record["sha256"]:
                return False
            ending = "replaced"
        except ValueError:
            ending = "damaged"
        print(f"{shown(path)} was there before: it is kept as {set_aside(path, ending).name}.")
    for name, content in contents.items():
        write_atomically(path.with_name(name), lambda part, content=content: part.write_bytes(content))
    write_atomically(path, lambda part: part.write_text(as_text(record), encoding="utf-8"))
    return True


def set_aside(path, ending):
    """Rename a record's files, not its variants', to <name>.<ending>[.<n>]; the new path of its JSON."""
    of_record = re.compile(rf"{re.escape(path.stem)}(\.[^\W\d]\w*)?\.(json|parquet)")
    files = [file for file in path.parent.iterdir() if of_record.fullmatch(file.name)]
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

    Raises OSError for a full disk and for a folder that may not be written.
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
            f"{shown(path)} cannot be written ({reason}): make room or correct the folder's "
            "rights, then give the same command again; what is finished is kept"
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def write_parquet(path, frame):
    """A DataFrame as parquet, whole or absent; the form that every record and every part has."""
    write_atomically(path, partial(frame.to_parquet, **PARQUET))


def read_part(path):
    """A DataFrame that an earlier run kept; None where there is none or it is damaged."""
    try:
        return pd.read_parquet(path)
    except (FileNotFoundError, pa.ArrowException, OSError):
        return None


def read_metadata(path):
    """The texts beside the weights in a safetensors file; None where there is no file or it is damaged."""
    try:
        with safe_open(path, "pt") as file:
            return file.metadata()
    except (FileNotFoundError, SafetensorError):
        return None


def shown(path):
    root = project_root()
    return path.relative_to(root) if path.is_relative_to(root) else path
