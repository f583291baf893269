"""Empirical CDFs of MaSF: sorting and searching, and comparing all pairs.

    python -m benchmarks.masf            SST-2's sizes, about five minutes
    python -m benchmarks.masf --quick    tiny: whether it runs, not how fast

The first step of Algorithm 2 for a whole test set: how many of a reference are below each value, in 7 layers
of 384 embeddings as MiniLM has them. All pairs are compared for one embedding at a time, which needs the
least memory: at once they would be 30 GiB of truth values. CPU seconds of one thread, medians of repeats in
which the ways take turns; both have to give the same counts. Memory: what numpy holds at most beside what it
is given, for one layer, in a run that is not timed. A reference is sorted once and then searched for every
measure and ratio: both are told. Writes masf.csv and masf.json to results/benchmarks.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # before numpy reads them

import argparse
import json
import pathlib
import platform
import time
import tracemalloc
from functools import partial

import numpy as np
import pandas as pd

from benchmarks.tables import markdown
from faithlib import results
from faithlib.metrics.masf import below, in_columns

TARGET = 50  # times as fast as all pairs
REFERENCE, TEST, LAYERS, WIDTH = 13470, 872, 7, 384  # SST-2 of Table 2, MiniLM


def main(arguments=None):
    folder = results.project_root() / "results" / "benchmarks"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder", type=pathlib.Path, default=folder)
    options = parser.parse_args(arguments)
    sizes = (40, 20, 2, 6) if options.quick else (REFERENCE, TEST, LAYERS, WIDTH)
    table = measure(*sizes, options.repeats)
    write(options.folder, table, sizes, options.repeats)
    print(f"\n{markdown(table)}\n\n{verdict(table)}")


def all_pairs(reference, columns, test):
    """Counts (test, width) of one layer by the definition, one embedding after the other."""
    pairs = zip(reference.T, test.T, strict=True)
    return np.stack([(known[:, None] < new).sum(0) for known, new in pairs], 1)


def sorting(reference, columns, test):
    """The same as `masf.fit` and `MaSF.p_values` have it."""
    return below(test, in_columns(reference))


def searching(reference, columns, test):
    """The same of a second test set, when the reference is sorted already."""
    return below(test, columns)


WAYS = {"all pairs": all_pairs, "sort and search": sorting, "search": searching}


def measure(n, m, layers, width, repeats):
    """One row a way and size of the reference, a quarter and all of it: seconds, MiB and their ratios."""
    rng, rows = np.random.default_rng(0), []
    for size in (n // 4, n):
        reference, test = (rng.standard_normal((layers, k, width), np.float32) for k in (size, m))
        given = [(known, in_columns(known), new) for known, new in zip(reference, test, strict=True)]
        seconds = {name: [] for name in WAYS}
        for repeat in range(repeats):
            counts = {}
            for name in list(WAYS)[:: -1 if repeat % 2 else 1]:
                start = time.process_time()
                counts[name] = [WAYS[name](*layer) for layer in given]
                seconds[name].append(time.process_time() - start)
            assert all((a == b).all() and (b == c).all() for a, b, c in zip(*counts.values(), strict=True))
        rows += [
            {
                "reference": size,
                "test": m,
                "layers": layers,
                "width": width,
                "way": name,
                "cpu_seconds": np.median(seconds[name]),
                "spread": np.ptp(seconds[name]) / np.median(seconds[name]),
                "mib": held(way, given[0]),
            }
            for name, way in WAYS.items()
        ]
    frame = pd.DataFrame(rows)
    slow = frame[frame.way == "all pairs"].set_index("reference").cpu_seconds
    return frame.assign(times_as_fast=frame.reference.map(slow) / frame.cpu_seconds)


def held(way, given):
    """MiB that numpy holds at most while it runs."""
    tracemalloc.start()
    way(*given)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def write(folder, table, sizes, repeats):
    """The table as CSV, and where it comes from as JSON."""
    results.write_atomically(folder / "masf.csv", partial(table.to_csv, index=False, float_format="%.4g"))
    where = {
        "host": f"{platform.system()} {platform.machine()}",
        "repeats": repeats,
        "threads": 1,
        "sizes": sizes,
        **results.code_provenance(),
    }
    text = json.dumps(where, indent=1) + "\n"
    results.write_atomically(folder / "masf.json", lambda path: path.write_text(text))


def verdict(table):
    """The target and what was measured, in one line."""
    first, further = table.times_as_fast.iloc[-2:]
    met = ["met" if times >= TARGET else "missed" for times in (first, further)]
    sizes = f"{table.reference.iloc[-1]:,} × {table.test.iloc[-1]:,}"
    return (
        f"times as fast as all pairs for {sizes}: {first:.0f} with sorting, {further:.0f} for every "
        f"further test set; target ≥ {TARGET}: {met[0]}, {met[1]}"
    )


if __name__ == "__main__":
    main()
