"""What half precision costs and saves: every attribution, metric and training, against our own float32.

    python -m benchmarks.precision data_dir=<folder> model_dir=<folder>     MiniLM and a BiLSTM on SST
    python -m benchmarks.precision --quick                                  generated reviews, tiny models

CPU seconds of one thread. Scores of both dtypes are compared text by text (Spearman's rank correlation: mean
and least), and the mean of a metric is compared in units of its standard error over the same texts: NC of an
attribution's scores, or the metric's own values for the same scores. Writes precision.csv to
results/benchmarks. The rule for committed results: half precision is used where the correlation is at least
.98 and the mean moves by at most 0.2 standard errors, and for training where the test accuracy of three seeds
lies within one standard error of float32's.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # before torch and numpy read them

import argparse
import pathlib
import time

import numpy as np
import pandas as pd
import torch
from scipy.stats import spearmanr

from faithlib import forward, models, results, tasks, training
from faithlib.attributions import attribute
from faithlib.metrics import registry
from faithlib.metrics.inputs import Inputs
from faithlib.progress import bar

COLUMNS = [
    "model",
    "method",
    "dtype",
    "seconds",
    "ratio",
    "spearman_mean",
    "spearman_min",
    "change_in_se",
    "n",
]
METHODS = {  # attribution -> its settings; dear ones are compared on fewer texts
    "attention": {}, "scaled_attention": {}, "attention_rollout": {}, "gradient_l1": {}, "gradient_l2": {},
    "input_x_gradient": {}, "deeplift": {}, "integrated_gradients": {"steps": 20},
    "gradient_shap": {"samples": 20}, "leave_one_out": {}, "lime": {"samples": 100}, "noiser": {"noise": 3},
    "sequential_integrated_gradients": {"steps": 5}, "beam": {"beam": 3},
}  # fmt: skip
DEAR = ("noiser", "sequential_integrated_gradients", "beam")
MINILM = "sentence-transformers/all-MiniLM-L6-v2"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("paths", nargs="*", help="data_dir=<folder> model_dir=<folder>")
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--dear-texts", type=int, default=24)
    parser.add_argument("--dtype", default="bfloat16", choices=["bfloat16", "float16"])
    parser.add_argument("--quick", action="store_true", help="tiny models: whether it runs, not how fast")
    folder = results.project_root() / "results" / "benchmarks"
    parser.add_argument("--folder", type=pathlib.Path, default=folder)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    paths = dict(path.split("=", 1) for path in options.paths)
    texts = (12, 4) if options.quick else (options.texts, options.dear_texts)
    chosen = {"tiny-bert": {}} if options.quick else {MINILM: {"learning_rate": 5e-5}, "bilstm": {}}
    rows = []
    for name, settings in chosen.items():
        rows += table(name, settings, options.dtype, texts, options.quick, paths)
    frame = pd.DataFrame(rows, columns=COLUMNS)
    options.folder.mkdir(parents=True, exist_ok=True)
    frame.to_csv(options.folder / "precision.csv", index=False, float_format="%.4g", lineterminator="\n")
    print(frame.to_string(index=False))


def table(name, settings, dtype, texts, quick, paths):
    """Rows of one model: training, attributions, metrics."""
    task = "sentiment" if quick or "data_dir" not in paths else "sst"
    sizes = {"train": 300, "validation": 60, "test": max(texts)} if quick else {"test": max(texts)}
    data = tasks.load(task, data_dir=paths.get("data_dir"), sizes=sizes)
    words = list(data.splits["train"]["text"])
    pair, rows, accuracies = {}, [], {}
    for kind in ("float32", dtype):
        seconds = []
        for seed in range(1 if quick else 3):
            model = models.load(name, data.task.labels, words, paths.get("model_dir", ""), seed, dtype=kind)
            splits = {s: (model.encode(list(rows["text"])), np.array(rows["label"]))
                      for s, rows in data.splits.items()}  # fmt: skip
            recipe = {"epochs": 1, "batch_size": 32, "learning_rate": 1e-3, "seed": seed, **settings}
            start = time.process_time()
            training.fine_tune(model, splits, **recipe)
            seconds.append(time.process_time() - start)
            accuracies.setdefault(kind, []).append(training.evaluate(model, *splits["test"])["accuracy"])
            pair.setdefault(kind, model)
        rows.append([name, "fine_tuning", kind, np.median(seconds)])
    one, other = (np.array(accuracies[kind]) for kind in ("float32", dtype))
    error = one.std(ddof=1) / len(one) ** 0.5 if len(one) > 1 else np.nan
    _finish(rows, None, (other.mean() - one.mean()) / error if error else np.nan, len(one))
    pair[dtype].model.load_state_dict(pair["float32"].model.state_dict())  # the same weights, rounded
    encodings = pair["float32"].encode(list(data.splits["test"]["text"]))
    whole = [forward.unchanged(e) for e in encodings]
    targets = forward.probabilities(pair["float32"], whole).argmax(1)
    kept = None
    with bar(len(METHODS) + len(registry.names()), f"{name}: comparing", "method") as progress:
        for method, given in METHODS.items():
            if name == "bilstm" and method == "attention_rollout":  # one layer: attention itself
                continue
            n = texts[1] if method in DEAR else texts[0]
            found, two = {}, []
            for kind, model in pair.items():
                start = time.process_time()
                found[kind] = attribute(model, encodings[:n], targets[:n], [method], **given)[method]
                two.append([name, method, kind, time.process_time() - start])
            kept = found["float32"] if method == "leave_one_out" else kept
            values = [_nc(pair["float32"], encodings[:n], targets[:n], scores) for scores in found.values()]
            _finish(two, list(zip(*found.values(), strict=True)), _change(*values), n, encodings)
            rows += two
            progress.update()
        for metric in map(registry.get, registry.names()):
            if metric.level == "example" and set(metric.needs) <= {"classifier", "mask"}:
                two, values = [], []
                for kind, model in pair.items():
                    start = time.process_time()
                    values.append(metric.resolve()(Inputs(model, encodings, targets), kept))
                    two.append([name, metric.name, kind, time.process_time() - start])
                _finish(two, None, _change(*values), len(encodings))
                rows += two
            progress.update()
    return rows


def _nc(model, encodings, targets, scores):
    return registry.get("nc").resolve()(Inputs(model, encodings, targets), scores)


def _change(one, other):
    """How far a mean moves, in standard errors of the float32 mean, over texts that both have a value of."""
    both = np.isfinite(one) & np.isfinite(other)
    one, other = np.asarray(one)[both], np.asarray(other)[both]
    error = one.std(ddof=1) / len(one) ** 0.5 if len(one) > 1 else 0
    return (other.mean() - one.mean()) / error if error else np.nan


def _finish(rows, scores, change, n, encodings=()):
    """Complete a float32 row and the row of the other dtype: ratio, correlations, change, n."""
    correlations = [
        spearmanr(a[e.maskable], b[e.maskable])[0]
        for (a, b), e in zip(scores or [], encodings, strict=False)
        if e.maskable.sum() > 2 and np.ptp(a[e.maskable]) and np.ptp(b[e.maskable])
    ]
    agreement = [np.mean(correlations), np.min(correlations)] if correlations else [np.nan, np.nan]
    whole, half = rows
    ratio = whole[3] / half[3] if half[3] else np.nan
    whole += [1.0, 1.0, 1.0, 0.0, n]
    half += [ratio, *agreement, change, n]


if __name__ == "__main__":
    main()
