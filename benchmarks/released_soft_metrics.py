"""The soft metrics' release as a whole, one departure from the paper after the other, on SST.

    python -m benchmarks.released_soft_metrics --data-dir <folder> [--texts 60] [--train 1000] [--seed 0]

Diagnosticity of four metrics against one draw of N(0, 1) scores, with ties as losses, halves and wins. The
steps are cumulative:

- ours: the paper's definition with our attributions.
- definition: the release's metrics (token id 0, inverted masks, S0 lowered, clipping), our attributions.
- attributions' code: the release's attributions as well.
- separator: [SEP] is scored too and can be in a rationale, but is never erased by the hard metrics: in single
  texts the release hides only [CLS] and padding from an attribution.

MiniLM is fine-tuned here on some texts of SST. Writes soft_metrics_as_released.csv to results/benchmarks.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # before torch and numpy read them

from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd
import torch

from benchmarks import common
from faithlib import models, tasks, training
from faithlib.attributions import attribute
from faithlib.engine import forward
from faithlib.metrics import erasure, soft
from faithlib.metrics.diagnosticity import TIES, indicator
from replication import results

NAMES = ("attention", "scaled_attention", "input_x_gradient_abs", "integrated_gradients", "deeplift")
STUDIED = {  # quick: (task, model)
    False: ("sst", "sentence-transformers/all-MiniLM-L6-v2"),
    True: ("sentiment", "tiny-bert"),
}
STEPS = {  # step: (definition of the metrics, of the attributions, whether the separator is scored)
    "ours": ("paper", "paper", False),
    "definition": ("released", "paper", False),
    "attributions' code": ("released", "released", False),
    "separator": ("released", "released", True),
}


SOURCES = soft._sources


def one_baseline(encoding, scores, plan, example):
    """The scores of the attributions and of one draw of N(0, 1); no other baseline."""
    sources = SOURCES(encoding, scores, plan, example)
    return {key: values for key, values in sources.items() if key[1] != "matched"}


def kept_separator(model, encoding, scores, plan, key):
    """The release's rationales: they may hold the separator, which hard erasure leaves in place."""
    words = encoding.maskable.copy()
    words[-1] = False
    for ratio in erasure.RELEASED_RATIOS:
        chosen = erasure.rationale(scores, encoding.maskable, ratio)
        yield (*key, "NS", ratio), [soft._erased(model, encoding, words & ~chosen, plan)]
        yield (*key, "NC", ratio), [soft._erased(model, encoding, words & chosen, plan)]


def with_separator(encoding):
    """The encoding of a single text whose last token, the separator, is scored as well."""
    maskable = encoding.maskable.copy()
    maskable[-1] = True
    return replace(encoding, maskable=maskable)


def fine_tuned(options):
    """(classifier, encodings, predicted classes, accuracy) of the texts explained."""
    task, model = STUDIED[options.quick]
    data = tasks.load(task, data_dir=options.data_dir, sizes={"train": options.train, "validation": 200})
    texts = list(data.splits["train"]["text"])
    classifier = models.load(model, data.task.labels, texts, options.model_dir, options.seed)
    encoded = {
        split: (classifier.encode(list(rows["text"])), np.array(rows["label"]))
        for split, rows in data.splits.items()
    }
    settings = {"learning_rate": 5e-5, "head_learning_rate": 5e-4, "checks_per_epoch": 3}
    training.fine_tune(classifier, encoded, epochs=options.epochs, seed=options.seed, **settings)
    encodings, labels = encoded["test"]
    chosen = np.sort(np.random.default_rng(0).permutation(len(encodings))[: options.texts])
    encodings = [encodings[i] for i in chosen]
    p = forward.probabilities(classifier, [forward.unchanged(e) for e in encodings])
    return classifier, encodings, p.argmax(1), (p.argmax(1) == labels[chosen]).mean()


def measured(classifier, encodings, targets, step, seed, cache):
    """Diagnosticity of each metric and attribution at a step, by rule for ties: a row each."""
    definition, code, separator = STEPS[step]
    if separator:
        encodings = [with_separator(e) for e in encodings]
    scores = attribute(classifier, encodings, targets, NAMES, code, "soft_metrics", steps=20)
    plan = soft.Settings(definition=definition, soft_draws=1, random_draws=1, seed=seed)
    hard = {"_hard": kept_separator} if separator else {}
    with mock.patch.multiple(soft, _sources=one_baseline, **hard):
        values = soft.values(classifier, encodings, targets, scores, plan, cache=cache)
    means = values.groupby(["example", "attribution", "baseline", "metric"]).raw.mean().reset_index()
    random = means[means.baseline == "normal"][["example", "metric", "raw"]]
    pairs = means[means.baseline == ""].merge(random, on=["example", "metric"])
    for rule in TIES:
        pairs[rule] = indicator(pairs.raw_x, pairs.raw_y, rule)
    table = pairs.groupby(["attribution", "metric"])[list(TIES)].mean().reset_index()
    return table.assign(step=step, texts=len(encodings))


def main(arguments=None):
    options = common.options(
        __doc__, 1, data_dir={"default": ""}, model_dir={"default": ""}, texts={"type": int, "default": 60},
        train={"type": int, "default": 1000}, epochs={"type": int, "default": 2},
        seed={"type": int, "default": 0},
    ).parse_args(arguments)  # fmt: skip
    torch.set_num_threads(1)
    classifier, encodings, targets, accuracy = fine_tuned(options)
    cache = forward.Cache()
    rows = [measured(classifier, encodings, targets, step, options.seed, cache) for step in STEPS]
    task, model = STUDIED[options.quick]
    table = pd.concat(rows).assign(dataset=task, model=results.slug(model))
    table = table.assign(seed=options.seed, accuracy=accuracy)
    columns = ["dataset", "model", "seed", "accuracy", "texts", "step", "attribution", "metric", *TIES]
    about = {"train": options.train, "epochs": options.epochs}
    common.save(options, "soft_metrics_as_released", table[columns], **about)
    print(table.groupby(["step", "metric"], sort=False)[list(TIES)].mean().round(3))


if __name__ == "__main__":
    main()
