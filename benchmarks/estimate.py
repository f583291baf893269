"""Whether the line before a study is right: its seconds beside those that the study takes.

    python -m benchmarks.estimate            six set-ups of MiniLM and a random Llama, ten texts each
    python -m benchmarks.estimate --quick    tiny: whether it runs, not how right

CPU seconds of one thread. "times_off" is the larger of the two over the smaller. Writes estimate.csv and
estimate.json to results/benchmarks.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # before torch and numpy read them

import numpy as np
import pandas as pd
import torch

from benchmarks import common, workloads
from faithlib import evaluate

SET_UPS = [
    ("encoder", ["leave_one_out"], "default"),
    ("encoder", ["integrated_gradients", "random_uniform"], "default"),
    ("encoder", ["lime"], ["soft_nc", "decision_flip"]),
    ("causal", ["leave_one_out"], "default"),
    ("causal", ["input_x_gradient", "random_uniform"], "default"),
    ("causal", ["noiser"], ["causal_soft_ns"]),
]


def main(arguments=None):
    options = common.options(__doc__, 1, texts={"type": int, "default": 10}).parse_args(arguments)
    torch.set_num_threads(1)
    works = {
        "encoder": workloads.encoder(quick=options.quick),
        "causal": workloads.causal("Llama", quick=options.quick),
    }
    rows = []
    for kind, *asked in SET_UPS:
        rows.append(row(works[kind].first(options.texts), *asked))
    table = pd.DataFrame(rows)
    common.save(options, "estimate", table.assign(median=np.median(table.times_off)))


def row(work, attributions, metrics):
    """What is said of a study, and what it takes."""
    studies = []
    taken = common.timed(
        lambda: studies.append(evaluate(work.model, work.texts, attributions, metrics, progress=False))
    )
    said = studies[0].estimate.seconds
    about = {"model": work.name, "attributions": ", ".join(attributions), "texts": len(work.texts)}
    return about | {"said": said, "cpu_seconds": taken, "times_off": max(said / taken, taken / said)}


if __name__ == "__main__":
    main()
