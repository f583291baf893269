"""How fast the attributions are: faithlib, its peers as users run them, and the bound.

    make bench                  on a CPU; DEVICE=cuda on a GPU; about half an hour
    python -m benchmarks.attributions --quick

CPU seconds of one thread (CUDA: seconds between events), medians of several repeats in which the
implementations take turns. Before anything is timed the scores are compared: a peer that computes something
else is no peer. In bfloat16, faithlib and its peers run a copy of the model that is cast to it; under
autocast peers keep the model. What cannot run has no numbers and the reason in `note`. Writes
attributions.csv and attributions.json (where and with what it was measured) to results/benchmarks.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # before torch and numpy read them

import importlib.metadata
from functools import partial

import numpy as np
import pandas as pd
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from benchmarks import cases, common, workloads
from faithlib import progress
from faithlib.engine import batching

LARGE = ("x⊙grad", "leave-one-out ±", "LIME 100")  # methods timed on the large language model


def main(arguments=None):
    options = common.options(__doc__, 5, common.BOTH, model_dir={"default": ""}).parse_args(arguments)
    torch.set_num_threads(1)
    device = torch.device(options.device)
    most = peak(device, 256 if options.quick else 2048 if device.type == "cpu" else 8192)
    chosen, rows = list(all_cases(device, options.quick, options.model_dir)), []
    runs = sum(len(case.implementations) for case in chosen) * (1 + options.repeats)
    with progress.bar(runs, "timing", "run") as bar:
        for case in chosen:
            rows += measure(case, options.repeats, most, device, bar)
    installed = {d.name.lower(): d.version for d in importlib.metadata.distributions()}
    about = {"token_budget": batching.TOKEN_BUDGET[device.type]}
    about["peak_gflop_per_second"] = round(most / 1e9, 1)
    about["peers"] = {peer: installed.get(peer) for peer in ("captum", "inseq")}
    common.save(options, "attributions", pd.DataFrame(rows), **about)


def all_cases(device, quick, model_dir):
    """The cases of every model, one model after the other."""
    models = [
        (workloads.encoder(device, quick), cases.encoder),
        (workloads.causal("Llama", device, quick), cases.causal),
        (workloads.causal("GPT-2", device, quick), cases.causal),
    ]
    few, dear = (2, 1) if quick else (16, 8) if device.type == "cpu" else (64, 64)
    for work, make in models:
        yield from make(work, work.first(few), work.first(dear), quick)
    work = workloads.large(device, quick, model_dir)
    made = cases.causal(work.first(4), work.first(2), work.first(1), quick)
    yield from (case for case in made if case.method in LARGE)


def measure(case, repeats, most, device, bar):
    """Rows of the table for one case, one an implementation. most: the device's peak in FLOP a second."""
    scores, flops, notes = {}, {}, {}
    for name, run in case.implementations.items():  # not timed: warms up, compares, counts
        try:
            with Flops() as counter:
                scores[name] = run()
            flops[name] = counter.total
        except Exception as error:
            if name in ("bound", "faithlib"):
                raise
            notes[name] = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:120]}"
        bar.update()
    ways = {name: run for name, run in case.implementations.items() if name in scores}
    seconds = common.turns(ways, repeats, partial(common.timed, device=device), bar.update)
    median = {name: float(np.median(s)) for name, s in seconds.items()}
    n, rate = len(case.work.texts), f"sequences_per_{'cpu' if device.type == 'cpu' else 'gpu'}_second"
    rows, about = [], {"task": case.work.task, "model": case.work.name, "method": case.method}
    for name in case.implementations:
        row = about | {"implementation": name}
        if name in scores:
            row |= {
                rate: n / median[name],
                "ratio_to_bound": median["bound"] / median[name],
                "ratio_to_ours": median["faithlib"] / median[name],
                "sequences": n,
                "spread": np.ptp(seconds[name]) / median[name],
                "fraction_of_peak": flops[name] / median[name] / most,
                **agreement(scores[name], scores["faithlib"], case),
            }
        rows.append(row | {"note": notes.get(name, "")})
    return rows


def peak(device, size):
    """FLOP a second of the device in the fastest of ten float32 matrix products."""
    a = torch.rand(size, size, device=device)
    return 2 * size**3 / min(common.timed(lambda: a @ a, device) for _ in range(10))


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
    largest = np.nan if case.drawn else max(differences)
    return {"largest_difference": largest, "correlation": min(correlations)}


if __name__ == "__main__":
    main()
