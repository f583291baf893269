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

import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import torch

from benchmarks import common
from faithlib.metrics.masf import below, in_columns

REFERENCE, TEST, LAYERS, WIDTH = 13470, 872, 7, 384  # SST-2 of Table 2, MiniLM


def main(arguments=None):
    options = common.options(__doc__).parse_args(arguments)
    torch.set_num_threads(1)
    sizes = (40, 20, 2, 6) if options.quick else (REFERENCE, TEST, LAYERS, WIDTH)
    common.save(options, "masf", measure(*sizes, options.repeats), sizes=sizes)


def all_pairs(reference, columns, test):
    """Counts (test, width) of one layer by the definition, one embedding after the other."""
    pairs = zip(reference.T, test.T, strict=True)
    return np.stack([(old[:, None] < new).sum(0) for old, new in pairs], 1)


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
        inputs = [(old, in_columns(old), new) for old, new in zip(reference, test, strict=True)]
        counts = {}

        def count(name, inputs=inputs, counts=counts):
            counts[name] = [WAYS[name](*layer) for layer in inputs]

        ways = {name: partial(count, name) for name in WAYS}
        seconds = common.turns(ways, repeats, common.timed)
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
                "mib": held(way, inputs[0]),
            }
            for name, way in WAYS.items()
        ]
    frame = pd.DataFrame(rows)
    slow = frame[frame.way == "all pairs"].set_index("reference").cpu_seconds
    return frame.assign(times_as_fast=frame.reference.map(slow) / frame.cpu_seconds)


def held(way, inputs):
    """MiB that numpy holds at most while it runs."""
    tracemalloc.start()
    way(*inputs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


if __name__ == "__main__":
    main()
