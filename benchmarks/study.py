"""What a whole study costs beside its distinct passes through the model.

    python -m benchmarks.study            MiniLM, 100 texts, ten attributions, the default metrics
    python -m benchmarks.study --quick    tiny: whether it runs, not how fast

The inputs that the model is given are counted while a study runs, equal ones once; the counting's own seconds
are taken off. The bound passes as many inputs of the same lengths through the model, well batched and nothing
else, with gradients where the study takes them. "metrics" are those of the study's first 10 texts alone, on
scores that are given: they share one cache. CPU seconds of one thread, medians of repeats. Writes study.csv
and study.json to results/benchmarks.
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
FEW = 10  # texts of the metrics alone


def main(arguments=None):
    more = {
        "texts": {"type": int, "default": 100},
        "dtype": {"default": "bfloat16", "choices": ["bfloat16", "float32"]},
    }
    options = common.options(__doc__, 1, **more).parse_args(arguments)
    torch.set_num_threads(1)
    work = workloads.encoder(quick=options.quick)
    model = work.model if options.dtype == "float32" else workloads.in_half(work).model
    texts = (work.texts * options.texts)[: 3 if options.quick else options.texts]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.permutation(text.split())) for text in texts]  # none twice
    whole = partial(evaluate, model, texts, ATTRIBUTIONS, progress=False, **SETTINGS)
    first, scores = row("whole study", model, whole, len(texts), options.repeats)
    few = {name: rows[:FEW] for name, rows in scores.items()}
    metrics = partial(evaluate, model, texts[:FEW], few, progress=False)
    second, _ = row("metrics", model, metrics, len(texts[:FEW]), options.repeats)
    table = pd.DataFrame([first, second]).assign(attributions=len(ATTRIBUTIONS), dtype=options.dtype)
    common.save(options, "study", table, settings=SETTINGS)


def row(name, model, run, texts, repeats):
    """Passes of `run`, its seconds and those of its distinct passes; and the scores of its study."""
    studies, again, seconds = [], None, {"run": [], "passes": []}
    for _ in range(repeats):
        with counted(model) as seen:
            taken = common.timed(lambda: studies.append(run()))
        seconds["run"].append(taken - seen.seconds)
        again = again or replay(model, seen)
        seconds["passes"].append(common.timed(again))
    median = {way: np.median(taken) for way, taken in seconds.items()}
    measured = {
        "what": name,
        "texts": texts,
        "metrics": studies[0].table.metric.nunique(),
        "passes": sum(seen.values()),
        "distinct_passes": len(seen),
        "cpu_seconds": median["run"],
        "cpu_seconds_of_distinct_passes": median["passes"],
        "ratio": median["run"] / median["passes"],
        "spread": np.ptp(seconds["run"]) / median["run"],
    }
    return measured, studies[0].scores


class Seen(Counter):
    """How often each input was given to a model, and the CPU seconds that the counting took."""

    seconds = 0.0


@contextmanager
def counted(model):
    """Inside, inputs of the model are counted: {(length, with gradients, what is given): times}."""
    seen, logits, attentions = Seen(), model.logits, model.attentions

    def count(batch, **inputs):
        seen.seconds += common.timed(partial(look, batch, **inputs))

    def look(batch, **inputs):
        tensors = [x.detach().cpu() for x in (batch.ids, *inputs.values()) if x is not None]
        arrays = [(x.float() if x.is_floating_point() else x).numpy() for x in tensors]
        slopes = torch.is_grad_enabled() and any(x.requires_grad for x in inputs.values() if x is not None)
        for i, length in enumerate(batch.present.sum(1).tolist()):
            seen[length, slopes, *(hash(x[i, :length].tobytes()) for x in arrays)] += 1

    def logits_counted(batch, **inputs):
        count(batch, **inputs)
        return logits(batch, **inputs)

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
