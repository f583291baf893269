"""Peak memory of attributions, each in a process of its own.

    python -m benchmarks.memory             all measures; --quick: tiny models, in this process
    python -m benchmarks.memory <measure>   one of them, as JSON

Nothing here is timed, so these processes use all cores. Writes memory.csv and memory.json to
results/benchmarks.
"""

import json
import os
import pathlib
import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import psutil
import torch

from benchmarks import common, workloads
from faithlib.attributions import attribute
from faithlib.provenance import peak_memory_mib

BUDGET = 1024  # padded tokens of a pass
LINUX = sys.platform == "linux"


def table(quick=False):
    """A DataFrame of all measures, each from its own process (quick: from this one)."""
    frame = pd.DataFrame([measure(name, quick) if quick else _measured_apart(name) for name in MEASURES])
    ours = frame[frame.implementation == "faithlib"].set_index(["model", "method"]).mib_above_loaded
    same = [ours.get(key) for key in zip(frame.model, frame.method, strict=True)]
    frame["ratio_to_ours"] = frame.mib_above_loaded / np.array(same, float)
    return frame


def ours(work, name, **settings):
    attribute(work.model, work.encodings, work.targets, [name], **settings)


def one_hot_input(work):
    """Grad L2 as it is written down: the gradient of a one-hot input, (batch, tokens, vocabulary), twice."""
    batch, table = work.model.collate(work.encodings), work.model.embedding_table
    one_hot = torch.nn.functional.one_hot(batch.ids, len(table)).float().requires_grad_()
    logits = work.model.logits(batch, embeddings=one_hot @ table)
    target = torch.as_tensor(work.targets)[:, None]
    torch.autograd.grad(logits.gather(1, target).sum(), one_hot)[0].norm(dim=-1)


def one_hot_input_by_two(work):
    """The same with as many texts at a time as fill our token budget."""
    for start in range(0, len(work.texts), 2):
        part = slice(start, start + 2)
        one_hot_input(replace(work, encodings=work.encodings[part], targets=work.targets[part]))


def projected_gradient(work):
    """The embedding's gradient first, then over the vocabulary: (batch, tokens, vocabulary) once."""
    batch, table = work.model.collate(work.encodings), work.model.embedding_table
    embeddings = work.model.embed(batch.ids).requires_grad_()
    logits = work.model.logits(batch, embeddings=embeddings)
    target = torch.as_tensor(work.targets)[:, None]
    (torch.autograd.grad(logits.gather(1, target).sum(), embeddings)[0] @ table.T).norm(dim=-1)


def long_sentences(quick):
    """Eight sentences of as many tokens as MiniLM takes: 4,088 variants of 512 tokens to leave one out."""
    work = workloads.encoder(quick=quick)
    texts = [
        " ".join(np.resize(np.random.default_rng(i).permutation(workloads.WORDS), 6 if quick else 510))
        for i in range(2 if quick else 8)
    ]
    return replace(work, texts=texts, encodings=work.model.encode(texts), targets=np.zeros(len(texts), int))


l2, leave_one_out = partial(ours, name="gradient_l2"), partial(ours, name="leave_one_out")
wide, billion, within = workloads.wide_vocabulary, workloads.billion, partial(leave_one_out, budget=BUDGET)
MEASURES = {  # method, implementation, workload, function
    "l2": ("Grad L2", "faithlib", wide, l2),
    "l2_projected": ("Grad L2", "gradient times embedding table", wide, projected_gradient),
    "l2_one_hot": ("Grad L2", "one-hot input", wide, one_hot_input),
    "l2_one_hot_by_two": ("Grad L2", "one-hot input, 2 texts at a time", wide, one_hot_input_by_two),
    "loo": ("leave-one-out ±", "faithlib", long_sentences, leave_one_out),
    "billion": ("leave-one-out ±", "faithlib", billion, leave_one_out),
    "billion_within": ("leave-one-out ±", f"faithlib, budget={BUDGET}", billion, within),
}


def measure(name, quick):
    """One row: the most memory that the function held, above what model and inputs hold."""
    method, implementation, make, function = MEASURES[name]
    work = make(quick)
    short = [work.encodings[0].at(slice(-8, None))]
    function(replace(work.first(1), encodings=short))  # libraries take their buffers once
    loaded = _restart_peak()
    function(work)
    peak = _peak()
    return {
        "task": work.task,
        "model": work.name,
        "method": method,
        "implementation": implementation,
        "examples": len(work.texts),
        "tokens": len(work.encodings[0].ids),
        "mib_above_loaded": round(peak - loaded),
        "mib_total": round(peak),
    }


def _measured_apart(name):
    root = pathlib.Path(__file__).resolve().parent.parent
    threads = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.memory", name]
    printed = subprocess.check_output(command, cwd=root, env=threads, text=True)
    return json.loads(printed.splitlines()[-1])


def _restart_peak():
    """MiB held now; on Linux the peak starts anew, elsewhere it includes loading the model."""
    if LINUX:
        pathlib.Path("/proc/self/clear_refs").write_text("5")
    return psutil.Process().memory_info().rss / 2**20


def _peak():
    if not LINUX:
        return peak_memory_mib()
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def main(arguments=None):
    measures = {"nargs": "?", "choices": MEASURES, "help": "one measure alone"}
    parser = common.options(__doc__, repeats=1)
    parser.add_argument("measure", **measures)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measure(options.measure, options.quick)))
    else:
        common.save(options, "memory", table(options.quick))


if __name__ == "__main__":
    main()
