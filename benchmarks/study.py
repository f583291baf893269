"""What a whole study costs beside its distinct passes through the model.

    python -m benchmarks.study            MiniLM, 100 texts, ten attributions, the default metrics
    python -m benchmarks.study --quick    tiny: whether it runs, not how fast

A first run, not timed, counts the inputs that the model is given, equal ones once. The bound passes as many
inputs of the same lengths through the model, well batched and nothing else, with gradients where the study
takes them. "metrics" are those of the study alone, on scores that are given: they share one cache. CPU
seconds of one thread, medians of repeats in which both take turns. Writes study.csv and study.json to
results/benchmarks.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # before torch and numpy read them

from collections import Counter
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import torch

from benchmarks import bounds, common, workloads
from faithlib import evaluate

ATTRIBUTIONS = [
    "attention", "scaled_attention", "gradient_l2", "input_x_gradient", "deeplift", "integrated_gradients",
    "gradient_shap", "lime", "leave_one_out", "random_uniform",
]  # fmt: skip
SETTINGS = {"steps": 20, "samples": 100}


def main(arguments=None):
    options = common.options(__doc__, texts={"type": int, "default": 100}).parse_args(arguments)
    torch.set_num_threads(1)
    work = workloads.encoder(quick=options.quick)
    texts = (work.texts * options.texts)[: 3 if options.quick else options.texts]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.permutation(text.split())) for text in texts]  # none twice
    whole = partial(evaluate, work.model, texts, ATTRIBUTIONS, progress=False, **SETTINGS)
    first, scores = row("whole study", work.model, whole, options.repeats)
    metrics = partial(evaluate, work.model, texts, scores, progress=False)
    rows = [first, row("metrics", work.model, metrics, options.repeats)[0]]
    about = {"texts": len(texts), "attributions": len(ATTRIBUTIONS)}
    common.save(options, "study", pd.DataFrame(rows).assign(**about), settings=SETTINGS)


def row(name, model, run, repeats):
    """Passes of `run`, its seconds and those of its distinct passes; and the scores of its study."""
    with counted(model) as seen:
        study = run()
    again = replay(model, seen)
    seconds = common.turns({"run": run, "passes": again}, repeats, common.timed)
    median = {way: np.median(taken) for way, taken in seconds.items()}
    found = {
        "what": name,
        "metrics": study.table.metric.nunique(),
        "passes": sum(seen.values()),
        "distinct_passes": len(seen),
        "cpu_seconds": median["run"],
        "cpu_seconds_of_distinct_passes": median["passes"],
        "ratio": median["run"] / median["passes"],
        "spread": np.ptp(seconds["run"]) / median["run"],
    }
    return found, study.scores


@contextmanager
def counted(model):
    """Inside, inputs of the model are counted: {(length, with gradients, what is given): times}."""
    seen, logits, attentions = Counter(), model.logits, model.attentions

    def count(batch, **given):
        tensors = [x.detach().cpu().numpy() for x in (batch.ids, *given.values()) if x is not None]
        slopes = torch.is_grad_enabled() and any(x.requires_grad for x in given.values() if x is not None)
        for i, length in enumerate(batch.present.sum(1).tolist()):
            seen[length, slopes, *(x[i, :length].tobytes() for x in tensors)] += 1

    def logits_counted(batch, **given):
        count(batch, **given)
        return logits(batch, **given)

    def attentions_counted(batch):
        count(batch)
        return attentions(batch)

    model.logits, model.attentions = logits_counted, attentions_counted
    try:
        yield seen
    finally:
        del model.logits, model.attentions


def replay(model, seen):
    """The bound: a function that passes one input of each kind in `seen` through the model."""
    runs = []
    for slopes, bound in ((False, bounds.forward), (True, bounds.backward)):
        lengths = Counter(length for length, with_slopes, *_ in seen if with_slopes == slopes)
        encodings = [model.encode(["a " * model.max_length])[0].at(slice(n)) for n in lengths]
        work = SimpleNamespace(model=model, encodings=encodings, targets=np.zeros(len(encodings), int))
        runs.append(bound(work, list(lengths.values())))
    return lambda: [run() for run in runs]


if __name__ == "__main__":
    main()
