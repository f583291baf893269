"""Compute one committed unit again and compare it with its record: python workflow/rerun.py

The unit is drawn at random from those of generated corpora that took at most five minutes on a CPU. With the
record's version of torch, on a CPU, every value has to be the same to the last bit; elsewhere values that
differ by up to 1e-6 are equal, and larger differences are named as not comparable.
"""

import json
import os
import random
import tempfile
from pathlib import Path

import execute
import pandas as pd
import torch
from verify import committed

from replication import records, results
from replication.parameters import defaults

LONGEST = 300  # seconds of CPU
CLOSE = 1e-6


def candidates(files):
    """The committed records that can be computed again here, soon and without data: paths."""
    paths = []
    for path in files:
        if path.suffix != ".json" or len(path.parts) != 4 or not records.scale_of(path):
            continue
        record = json.loads(path.read_text(encoding="utf-8"))
        about, spent = record.get("provenance", {}), record.get("volatile", {}).get("cpu_seconds")
        generated = (about.get("data") or {}).get("source") == "generated"
        if generated and about["device"] == "cpu" and spent and spent <= LONGEST:
            paths.append(path)
    return paths


def again(path, folder):
    """Compute the unit of a record in a folder; its new record, beside which its tables lie."""
    old = results.read_record(path)
    places = {"results_dir": str(folder / "results"), "checkpoint_dir": str(folder / "checkpoints")}
    parameters = old["params"] | {"scale": old["scale"], "device": "cpu"} | places
    experiment = f"notebooks/{old['paper']}/experiment.ipynb"
    takes = defaults(experiment)
    execute.run(experiment, str(folder / "unit.ipynb"), {k: v for k, v in parameters.items() if k in takes})
    return folder.joinpath(*path.parts)


def compare(path, new):
    """(largest difference of a value, lines that say what differs) of a record and of the same unit again."""
    old, now = (results.read_record(name) for name in (path, new))
    then, weights = old["provenance"].get("weights") or {}, now["provenance"].get("weights") or {}
    other = [name for name, digest in then.items() if weights.get(name, digest) != digest]
    lines = [f"{name}: other weights" for name in other]
    largest = 0.0
    for name in old["files"]:
        one, other = (pd.read_parquet(folder / name) for folder in (path.parent, new.parent))
        if list(one) != list(other) or len(one) != len(other):
            return float("inf"), [*lines, f"{name}: other rows or columns"]
        for column in one:
            largest = max(largest, _difference(one[column], other[column]))
    return largest, lines


def _difference(one, other):
    """The largest difference of two columns; infinite where texts differ or values are missing in one."""
    if one.equals(other):
        return 0.0
    if not pd.api.types.is_numeric_dtype(one) or (one.isna() != other.isna()).any():
        return float("inf")
    return float((one.astype(float) - other.astype(float)).abs().max())


def main(arguments=()):
    paths = candidates(committed())
    if not paths:
        raise SystemExit(
            f"{Path.cwd()} has no committed unit of a generated corpus that is computed in minutes"
        )
    path = random.choice(paths)
    torch_then = results.read_record(path)["provenance"]["versions"]["torch"]
    same = torch_then == torch.__version__
    print(f"Computed again: {path}, with torch {torch.__version__} (then {torch_then})", flush=True)
    with tempfile.TemporaryDirectory() as name:
        largest, lines = compare(path, again(path, Path(name)))
    if same and not largest and not lines:
        return print("Every value and every weight is the same, bit for bit.")
    if largest <= CLOSE and not (same and lines):
        return print(f"Every value is the same to {CLOSE:g} (largest difference {largest:g}).")
    if same:
        raise SystemExit(
            "\n".join([*lines, f"values differ by up to {largest:g}: the record is not this code's"])
        )
    print(f"Not comparable: another version of torch; values differ by up to {largest:g}.")


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"  # as the units of the workflow run
    execute.command(main)
