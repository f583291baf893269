"""How fast Noiser is, beside the loop that its definition suggests.

    python -m benchmarks.noiser                  on a CPU, some minutes
    python -m benchmarks.noiser --device cuda    on a GPU
    python -m benchmarks.noiser --quick          tiny: whether it runs, not how fast

The loop takes a token, a halving and ten noise vectors at a time, one pass of ten rows of the whole prompt,
and then a pass a token at k_min; like faithlib it has the head read the last position only. Same model,
prompts and noise. CPU seconds of one thread (CUDA: seconds), medians of repeats in which both take turns. Two
models: the random Llama of the other benchmarks, whose predictions the least noise flips, and a tiny one
trained on the generated world. Writes noiser.csv and noiser.json to results/benchmarks.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # before torch and numpy read them

from functools import partial

import numpy as np
import pandas as pd
import torch

from benchmarks import common, workloads
from faithlib import models, tasks, training
from faithlib.attributions import attribute
from faithlib.scores import generator

NOISE, HALVINGS, SEED = 10, 10, 0


def main(arguments=None):
    parser = common.options(__doc__, devices=common.BOTH, prompts={"type": int, "default": 8})
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    device, rows = torch.device(options.device), []
    for work in (workloads.causal("Llama", device, options.quick), world(device, options.quick)):
        rows += measure(work.first(2 if options.quick else options.prompts), options.repeats, device)
    common.save(options, "noiser", pd.DataFrame(rows), noise=NOISE, halvings=HALVINGS)


def world(device="cpu", quick=False):
    """A tiny Llama trained on the generated world: its test prompts and their answers."""
    data = tasks.load("world")
    texts, answers = [*data.splits["train"]["text"], *data.task.labels], list(data.task.labels)
    model = models.load_causal("tiny-llama", texts, device=device)
    answers = np.array(model.tokenizer.convert_tokens_to_ids(answers))
    encoded = {
        split: (model.encode(rows["text"]), answers[rows["label"]]) for split, rows in data.splits.items()
    }
    most = 64 if quick else None
    part = {split: (ids[:most], labels[:most]) for split, (ids, labels) in encoded.items()}
    training.fine_tune(model, part, epochs=1 if quick else 3, batch_size=32, learning_rate=3e-3)
    name, prompts = "tiny Llama of the generated world", list(data.splits["test"]["text"])
    return workloads.Workload("causal LM", name, model, prompts, *encoded["test"])


def measure(work, repeats, device):
    """Two rows: the loop and faithlib on the same prompts."""
    ways = {"loop": loop, "faithlib": faithlib}
    results = {name: run(work) for name, run in ways.items()}  # not timed: warms up, compares
    runs = {name: partial(run, work) for name, run in ways.items()}
    seconds = common.turns(runs, repeats, partial(common.timed, device=device))
    median = {name: np.median(taken) for name, taken in seconds.items()}
    (k, scores), (k_loop, scores_loop) = results["faithlib"], results["loop"]
    gap = max(np.abs(a - b).max() for a, b in zip(scores, scores_loop, strict=True))
    same = {"largest_difference_k": np.abs(k - k_loop).max(), "k_min_median": np.median(k)}
    same["largest_difference_scores"] = gap
    return [
        {
            "model": work.name,
            "implementation": name,
            "prompts": len(work.encodings),
            "prompts_per_minute": 60 * len(work.encodings) / median[name],
            "ratio_to_loop": median["loop"] / median[name],
            "spread": np.ptp(seconds[name]) / median[name],
            **same,
        }
        for name in ways
    ]


def faithlib(work):
    """k_min of every prompt, and the scores of its tokens."""
    notes, settings = {}, {"noise": NOISE, "halvings": HALVINGS, "seed": SEED}
    scores = attribute(work.model, work.encodings, work.targets, ["noiser"], **settings, notes=notes)
    return notes["k"], scores["noiser"]


@torch.no_grad()
def loop(work):
    """The same, straightforwardly."""
    k_min, scores = [], []
    for encoding, target in zip(work.encodings, work.targets, strict=True):
        batch = work.model.collate([encoding] * NOISE)
        embeddings = work.model.embed(batch.ids)  # (vectors, tokens, width)
        draws = generator(encoding, SEED).standard_normal((NOISE, embeddings.shape[-1]))
        vectors = torch.as_tensor(draws, dtype=torch.float32, device=embeddings.device)

        def mean(i, k, batch=batch, embeddings=embeddings, vectors=vectors):
            noised = embeddings.clone()
            noised[:, i] += k * vectors
            return work.model.logits(batch, embeddings=noised).softmax(-1).mean(0)

        clean = mean(0, 0)
        predicted = clean.argmax()
        tokens, low = np.flatnonzero(encoding.maskable), np.zeros(len(encoding.ids))
        for i in tokens:
            for halving in range(1, HALVINGS + 1):
                middle = low[i] + 0.5**halving
                if mean(i, middle).argmax() == predicted:
                    low[i] = middle
        k_min.append(low[tokens].min())
        row = np.zeros(len(low))
        row[tokens] = [float(clean[target] - mean(i, k_min[-1])[target]) for i in tokens]
        scores.append(row)
    return np.array(k_min), scores


if __name__ == "__main__":
    main()
