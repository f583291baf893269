"""Compute one committed unit again and compare it with its record: python workflow/rerun.py

The unit is drawn at random from those of generated corpora that took at most five minutes on a CPU. With the
record's version of torch, on its kind of processor, every value has to be the same to the last bit; elsewhere
values that differ by up to 1e-6 are equal, and larger differences are named as not comparable. A record that
lacks a column, or has another one, is not this code's on any machine.
"""

import json
import math
import os
import random
import tempfile
from pathlib import Path

import execute
import pandas as pd
from verify import committed

from replication import records, results
from replication.parameters import defaults

LONGEST = 300  # seconds of CPU
CLOSE = 1e-6
SHOWN = 40  # letters of a text that differs


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
    return folder.joinpath(*path.parts[-4:])


def compare(path, new):
    """What differs between a record and that of the same unit computed again: [(where and how, by how much)].

    By how much is the largest difference of numbers, infinite of texts, rows and weights, and None where the
    form differs: a file or a column that only one of them has.
    """
    old, now = (results.read_record(name) for name in (path, new))
    then, weights = (set((record["provenance"].get("weights") or {}).values()) for record in (old, now))
    differences = [("other weights", math.inf)] * (not then <= weights)
    for name in old["files"]:
        if name not in now["files"]:
            differences.append((f"{name}: is not made any more", None))
            continue
        tables = [pd.read_parquet(record.with_name(name)) for record in (path, new)]
        differences += [(f"{name}: {how}", size) for how, size in _differences(*tables)]
    metrics = [pd.DataFrame(record.get("metrics", [])) for record in (old, now)]
    return differences + [(f"{path.name}, metrics: {how}", size) for how, size in _differences(*metrics)]


def _differences(one, other):
    """What differs between two tables, as `compare` has it."""
    differences = [(f"column {name} is missing now", None) for name in one if name not in other]
    differences += [(f"column {name} is new", None) for name in other if name not in one]
    if len(one) != len(other):
        return [*differences, (f"{len(one)} rows, now {len(other)}", math.inf)]
    for name in one.columns.intersection(other.columns, sort=False):
        then, now = one[name], other[name]
        if then.equals(now):
            continue
        numbers = all(map(pd.api.types.is_numeric_dtype, (then, now)))
        if numbers and (then.isna() == now.isna()).all():
            size = float((then.astype(float) - now.astype(float)).abs().max())
            differences += [(f"column {name} by up to {size:g}", size)] * (size > 0)
            continue
        rows = [row for row, pair in enumerate(zip(then, now, strict=True)) if not _same(*pair)]
        was, became = (repr(column.iloc[rows[0]])[:SHOWN] for column in (then, now))
        how = f"column {name} in {len(rows)} of {len(then)} rows, the first {was}, now {became}"
        differences.append((how, math.inf))
    return differences


def _same(one, other):
    """Whether two values of a table are equal, lists and missing values too."""
    return pd.Series([one], dtype=object).equals(pd.Series([other], dtype=object))


def incomparable(then, now):
    """Why the values of two records may differ although the code is the same; "" where they may not.

    then, now: their provenance. A record that does not name its processor may be of any.
    """
    torch, torch_now = (about["versions"]["torch"].partition("+")[0] for about in (then, now))
    if torch != torch_now:
        return f"another version of torch (record: {torch}, here: {torch_now})"
    if "processor" not in then:
        return f"processor of the record unknown (here: {now['processor']})"
    if then["processor"] != now["processor"]:
        return f"another kind of processor (record: {then['processor']}, here: {now['processor']})"
    return ""


def judged(differences, reason):
    """One line on what `compare` found; SystemExit where the record is not this code's.

    reason: from `incomparable`.
    """
    sizes = [size for _, size in differences]
    if not sizes:
        return "Every value and every weight is the same, bit for bit."
    if None in sizes or not reason:
        raise SystemExit("\n".join([*(how for how, _ in differences), "the record is not this code's"]))
    if max(sizes) <= CLOSE:
        return f"Every value is the same to {CLOSE:g} (largest difference {max(sizes):g})."
    largest = max(differences, key=lambda difference: difference[1])[0]
    return f"Not comparable: {reason}; {len(differences)} differences, such as {largest}."


def main(arguments=()):
    paths = candidates(committed())
    if not paths:
        raise SystemExit(f"{Path.cwd()} has no committed unit of a generated corpus that takes minutes")
    path = random.choice(paths)
    print(f"Computed again: {path}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        new = again(path, Path(name))
        abouts = [results.read_record(record)["provenance"] for record in (path, new)]
        print(judged(compare(path, new), incomparable(*abouts)))


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"  # as the units of the workflow run
    execute.command(main)
