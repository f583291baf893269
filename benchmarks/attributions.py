"""How fast the attributions are: faithlib, its peers as users run them, and the bound.

    make bench                  on a CPU; DEVICE=cuda on a GPU; about half an hour
    python -m benchmarks.attributions --quick

CPU seconds of one thread (CUDA: seconds between events), medians of several repeats in which the
implementations take turns, so that a machine that slows down slows all of them. Before anything is
timed the scores are compared: a peer that computes something else is no peer. Writes attributions.csv,
memory.csv and attributions.json (where and with what it was measured) to results/benchmarks, and prints
the tables and the targets in Markdown.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # before torch and numpy read them

import argparse
import importlib.metadata
import json
import pathlib
import platform
import time
from functools import partial

import numpy as np
import pandas as pd
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from benchmarks import cases, memory, tables, workloads
from faithlib import batching, progress, results


def main(arguments=None):
    folder = results.project_root() / "results" / "benchmarks"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="tiny models: whether it runs, not how fast")
    parser.add_argument("--folder", type=pathlib.Path, default=folder)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    device = torch.device(options.device)
    most = peak(device, 256 if options.quick else 2048 if device.type == "cpu" else 8192)
    chosen, rows = list(all_cases(device, options.quick)), []
    runs = sum(len(case.implementations) for case in chosen) * (1 + options.repeats)
    with progress.bar(runs, "timing", "run") as bar:
        for case in chosen:
            rows += measure(case, options.repeats, most, device, bar)
    speed = pd.DataFrame(rows)
    write(options.folder, device, speed, provenance(device, most, options.repeats))
    if device.type == "cpu":
        print("timed; peak memory takes some minutes more", flush=True)
        held = memory.table(options.quick)
        save(held, options.folder / "memory.csv")
    else:
        held = pd.DataFrame(columns=memory.COLUMNS)
    print(f"\n{tables.page(speed, held)}")


def all_cases(device, quick):
    """The cases of every model, one model after the other."""
    models = [
        (workloads.encoder(device, quick), cases.encoder),
        (workloads.causal("Llama", device, quick), cases.causal),
        (workloads.causal("GPT-2", device, quick), cases.causal),
    ]
    few, dear = (2, 1) if quick else (16, 8) if device.type == "cpu" else (64, 64)
    for work, make in models:
        yield from make(work, work.first(few), work.first(dear))


def measure(case, repeats, most, device, bar):
    """Rows of the table for one case, one an implementation. most: the device's peak in FLOP a second."""
    scores, flops = {}, {}
    for name, run in case.implementations.items():  # not timed: warms up, compares, counts
        with Flops() as counter:
            scores[name] = run()
        flops[name] = counter.total
        bar.update()
    seconds = {name: [] for name in case.implementations}
    for repeat in range(repeats):
        names = list(seconds)
        for name in names[repeat % len(names) :] + names[: repeat % len(names)]:
            seconds[name].append(timed(case.implementations[name], device))
            bar.update()
    median = {name: float(np.median(s)) for name, s in seconds.items()}
    n = len(case.work.texts)
    return [
        {
            "task": case.work.task,
            "model": case.work.name,
            "method": case.method,
            "implementation": name,
            f"sequences_per_{'cpu' if device.type == 'cpu' else 'gpu'}_second": n / median[name],
            "ratio_to_bound": median["bound"] / median[name],
            "ratio_to_ours": median["faithlib"] / median[name],
            "sequences": n,
            "spread": (max(seconds[name]) - min(seconds[name])) / median[name],
            "fraction_of_peak": flops[name] / median[name] / most,
            **agreement(scores[name], scores["faithlib"], case),
        }
        for name in case.implementations
    ]


def timed(run, device):
    """CPU seconds of this process, or the GPU's seconds between two events."""
    if device.type == "cpu":
        start = time.process_time()
        run()
        return time.process_time() - start
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    run()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1000


def peak(device, size):
    """FLOP a second of the device in the fastest of ten float32 matrix products."""
    a = torch.rand(size, size, device=device)
    return 2 * size**3 / min(timed(lambda: a @ a, device) for _ in range(10))


class Flops(TorchDispatchMode):
    """Counts the FLOP of matrix products, by torch's own formulas; attention fused on a CPU is left out.

    torch's FlopCounterMode hooks modules, too, and its hooks refuse leaves that need gradients.
    """

    total = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs, formula = kwargs or {}, flop_registry.get(function._overloadpacket)
        if formula is None and function is not torch.ops.prim.device.default:
            with self:
                output = function.decompose(*args, **kwargs)
            if output is not NotImplemented:
                return output
        output = function(*args, **kwargs)
        if formula is not None:
            self.total += formula(*args, **kwargs, out_val=output)
        return output


def agreement(theirs, ours, case):
    """How far scores are from ours at maskable tokens; of several kinds of scores, the worst.

    largest_difference: in units of our largest absolute score, none for scores that depend on draws.
    correlation: Pearson's, over the tokens of all examples.
    """
    if theirs is None or theirs is ours:
        return {"largest_difference": np.nan, "correlation": np.nan}
    at = np.concatenate([e.maskable for e in case.work.encodings])
    differences, correlations = [], []
    for name in theirs:
        a, b = np.concatenate(theirs[name])[at], np.concatenate(ours[name])[at]
        differences.append(abs(a - b).max() / abs(b).max())
        correlations.append(np.corrcoef(a, b)[0, 1])
    return {
        "largest_difference": np.nan if case.drawn else max(differences),
        "correlation": min(correlations),
    }


def provenance(device, most, repeats):
    """Where and with what it was measured."""
    code = results.code_provenance()
    installed = {d.name.lower(): d.version for d in importlib.metadata.distributions()}
    code["versions"] |= {peer: installed.get(peer) for peer in ("captum", "inseq")}
    return {
        "host": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "device": results.device_name(device),
        "threads": torch.get_num_threads(),
        "repeats": repeats,
        "token_budget": batching.TOKEN_BUDGET[device.type],
        "peak_gflop_per_second": round(most / 1e9, 1),
        **code,
    }


def write(folder, device, speed, where):
    """The table as CSV, and where it comes from as JSON."""
    name = "attributions" if device.type == "cpu" else f"attributions_{device.type}"
    save(speed, folder / f"{name}.csv")
    text = json.dumps(where, indent=1) + "\n"
    results.write_atomically(folder / f"{name}.json", lambda path: path.write_text(text))


def save(table, path):
    results.write_atomically(path, partial(table.to_csv, index=False, float_format="%.4g"))


if __name__ == "__main__":
    main()
