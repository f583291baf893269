"""What the benchmarks share: options, taking turns, seconds, and where results go."""

import argparse
import json
import os
import pathlib
import platform
import time
from functools import partial

import torch

from faithlib import store
from replication import results

BOTH = ("cpu", "cuda")


def options(doc, repeats=3, devices=("cpu",), **more):
    """The parser of a benchmark. more: further options, {name: keywords of add_argument}."""
    folder = results.project_root() / "results" / "benchmarks"
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=devices)
    parser.add_argument("--repeats", type=int, default=repeats)
    parser.add_argument("--quick", action="store_true", help="tiny models: whether it runs, not how fast")
    parser.add_argument("--folder", type=pathlib.Path, default=folder)
    for name, keywords in more.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **keywords)
    return parser


def turns(ways, repeats, clock, done=lambda: None):
    """Seconds of each way, {name: [seconds]}; the ways take turns, so that a slower machine slows all.

    Args:
        ways: {name: function of nothing}.
        repeats: how often each one runs.
        clock: function -> seconds, such as `partial(timed, device=device)`.
        done: called after each run.
    """
    seconds = {name: [] for name in ways}
    for repeat in range(repeats):
        names, first = list(ways), repeat % len(ways)
        for name in names[first:] + names[:first]:
            seconds[name].append(clock(ways[name]))
            done()
    return seconds


def timed(run, device="cpu"):
    """CPU seconds of this process, or the GPU's seconds between two events."""
    if torch.device(device).type == "cpu":
        start = time.process_time()
        run()
        return time.process_time() - start
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    run()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1000


def save(options, name, table, **about):
    """A table as CSV, and where and how it was measured as JSON, in `options.folder`."""
    suffix = "" if options.device == "cpu" else f"_{options.device}"
    record = {
        "host": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "device": results.device_name(torch.device(options.device)),
        "threads": torch.get_num_threads(),
        "repeats": options.repeats,
        **about,
        **results.code_provenance(),
    }
    write = partial(table.to_csv, index=False, float_format="%.4g", lineterminator="\n")
    store.write_atomically(options.folder / f"{name}{suffix}.csv", write)
    text = json.dumps(record, indent=1) + "\n"
    store.write_atomically(options.folder / f"{name}{suffix}.json", lambda path: path.write_text(text))
    print(table.to_string(index=False), flush=True)
