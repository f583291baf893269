"""What half precision costs and saves: every attribution, metric and training, against our own float32.

    python -m benchmarks.precision --data-dir <folder> --model-dir <folder>
    python -m benchmarks.precision --seconds-only ...                       seconds and ratio anew
    python -m benchmarks.precision --quick                                  generated texts, tiny models

MiniLM and a BiLSTM on SST (without a data_dir on generated reviews); a random Llama on random prompts, and
stories260K, where model_dir has it, on generated ones.
CPU seconds of one thread. Scores of both dtypes are compared text by text (Spearman's rank correlation: mean
and least), and the mean of a metric is compared in units of its standard error over the same texts: NC of an
attribution's scores, or the metric's own values for the same scores. Writes precision.csv to
results/benchmarks, model by model. The comparison needs many texts and no idle machine; seconds need the
opposite: --seconds-only replaces the columns seconds and ratio of that table by those of 40 texts (--texts),
8 of the dear methods (--dear-texts) and one seed's training on 1,000 texts. `tables.rule` says which
comparisons allow half precision in committed results.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # before torch and numpy read them

from functools import partial

import numpy as np
import pandas as pd
import torch
from scipy.stats import spearmanr

from benchmarks import common, workloads
from faithlib import models, tasks, training
from faithlib.attributions import attribute
from faithlib.engine import forward
from faithlib.metrics import registry
from faithlib.metrics.inputs import Inputs
from faithlib.models.bilstm import has_lstm
from faithlib.models.places import locate
from faithlib.progress import bar

COLUMNS = [
    "model", "method", "dtype", "seconds", "ratio", "spearman_mean", "spearman_min", "change_in_se", "n",
]  # fmt: skip
METHODS = {  # attribution -> its settings
    "attention": {}, "scaled_attention": {}, "attention_rollout": {}, "gradient_l1": {}, "gradient_l2": {},
    "input_x_gradient": {}, "deeplift": {}, "integrated_gradients": {"steps": 20},
    "gradient_shap": {"samples": 20}, "leave_one_out": {}, "lime": {"samples": 100}, "noiser": {"noise": 3},
    "sequential_integrated_gradients": {"steps": 5}, "beam": {"beam": 3},
}  # fmt: skip
# Compared on fewer texts:
DEAR = ("noiser", "sequential_integrated_gradients", "beam", "naopc_comprehensiveness", "naopc_sufficiency")
MINILM = "sentence-transformers/all-MiniLM-L6-v2"


def main(arguments=None):
    options = common.options(
        __doc__, 1, data_dir={"default": ""}, model_dir={"default": ""},
        texts={"type": int}, dear_texts={"type": int}, seconds_only={"action": "store_true"},
        dtype={"default": "bfloat16", "choices": ["bfloat16", "float16"]},
    ).parse_args(arguments)  # fmt: skip
    torch.set_num_threads(1)
    few = (12, 4) if options.quick else (40, 8) if options.seconds_only else (400, 24)
    options.texts, options.dear_texts = options.texts or few[0], options.dear_texts or few[1]
    chosen = {"tiny-bert": {}} if options.quick else {MINILM: {"learning_rate": 5e-5}, "bilstm": {}}
    if not has_lstm(getattr(torch, options.dtype)):
        print(f"torch has no LSTM in {options.dtype} for this processor: bilstm is left out")
        chosen.pop("bilstm", None)
    path, earlier = options.folder / "precision.csv", pd.DataFrame(columns=COLUMNS)
    if path.exists():
        earlier = pd.read_csv(path)
    for rows in (
        *(partial(classifier, name, settings, options) for name, settings in chosen.items()),
        partial(language_models, options),
    ):
        earlier = merged(earlier, pd.DataFrame(rows(), columns=COLUMNS), options.seconds_only)
        common.save(options, "precision", earlier, dtype=options.dtype)


def merged(earlier, new, seconds_only):
    """The table with the rows of `new` in place of those of the same model, method and dtype.

    seconds_only: of `new` the columns seconds and ratio alone.
    """
    keys = COLUMNS[:3]
    earlier, new = earlier.set_index(keys), new.set_index(keys)
    if seconds_only:
        earlier.update(new[["seconds", "ratio"]])
        return earlier.reset_index()
    return pd.concat([earlier.drop(new.index, errors="ignore"), new]).reset_index()


def classifier(name, settings, options):
    """Rows of one classifier: training, attributions, metrics."""
    task, size = "sst" if options.data_dir and not options.quick else "sentiment", options.texts
    sizes = (
        {"train": 300, "validation": 60} if options.quick else {"train": 1000} if options.seconds_only else {}
    )
    seeds = range(1 if options.quick or options.seconds_only else 3)
    data = tasks.load(task, data_dir=options.data_dir or None, sizes={**sizes, "test": size})
    words = list(data.splits["train"]["text"])
    pair, rows, accuracies = {}, [], {}
    for kind in ("float32", options.dtype):
        seconds = []
        for seed in seeds:
            model = models.load(name, data.task.labels, words, options.model_dir, seed, dtype=kind)
            splits = {s: (model.encode(list(rows["text"])), np.array(rows["label"]))
                      for s, rows in data.splits.items()}  # fmt: skip
            recipe = {"epochs": 1, "batch_size": 32, "learning_rate": 1e-3, "seed": seed, **settings}
            seconds.append(common.timed(partial(training.fine_tune, model, splits, **recipe)))
            accuracies.setdefault(kind, []).append(training.evaluate(model, *splits["test"])["accuracy"])
            pair.setdefault(kind, model)
        rows.append([name, "fine_tuning", kind, np.median(seconds)])
    one, other = (np.array(accuracies[kind]) for kind in pair)
    error = one.std(ddof=1) / len(one) ** 0.5 if len(one) > 1 else np.nan
    _finish(rows, None, (other.mean() - one.mean()) / error if error else np.nan, len(one))
    pair[options.dtype].model.load_state_dict(pair["float32"].model.state_dict())  # the same, rounded
    return rows + compared(name, pair, pair["float32"].encode(list(data.splits["test"]["text"])), options)


def language_models(options):
    """Rows of the causal language models."""
    work = workloads.causal("Llama", quick=options.quick)
    half = workloads.in_half(work, getattr(torch, options.dtype))
    rows = compared(work.name, {"float32": work.model, options.dtype: half.model}, work.encodings, options)
    name = "tiny-llama" if options.quick else "stories260K"
    if options.quick or locate(name, options.model_dir) != name:
        texts = list(tasks.load("world").splits["test"]["text"])
        load = partial(models.load_causal, name, texts, options.model_dir)
        pair = {kind: load(dtype=kind) for kind in ("float32", options.dtype)}
        rows += compared(name, pair, pair["float32"].encode(texts), options)
    return rows


def compared(name, pair, encodings, options):
    """Rows of one model, {dtype: the model in it}: attributions, metrics."""
    encodings, rows, kept = encodings[: options.texts], [], None
    targets = forward.probabilities(pair["float32"], [forward.unchanged(e) for e in encodings]).argmax(1)
    whole = Inputs(pair["float32"], encodings, targets)
    erasure = registry.get("causal_soft_nc" if "causal" in whole.has else "nc")
    metrics = [m for m in map(registry.get, registry.names()) if m.level == "example"]
    metrics = [m for m in metrics if set(m.needs) <= whole.has]
    with bar(len(METHODS) + len(metrics), f"{name}: comparing", "method") as progress:
        for method, settings in METHODS.items():
            progress.update()
            if name == "bilstm" and method == "attention_rollout":  # one layer: attention itself
                continue
            n = options.dear_texts if method in DEAR else options.texts
            by_kind, two, values = {}, [], []
            for kind, model in pair.items():

                def explain(model=model, kind=kind, n=n, method=method, settings=settings, by_kind=by_kind):
                    by_kind[kind] = attribute(model, encodings[:n], targets[:n], [method], **settings)[method]

                two.append([name, method, kind, common.timed(explain)])
                part = Inputs(pair["float32"], encodings[:n], targets[:n], cache=whole.cache)
                values.append(erasure.resolve()(part, by_kind[kind]))
            kept = by_kind["float32"] if method == "leave_one_out" else kept
            both = list(zip(*by_kind.values(), strict=True))
            _finish(two, both, _change(*values), len(part.encodings), encodings)
            rows += two
        for metric in metrics:
            progress.update()
            n, two, values = options.dear_texts if metric.name in DEAR else options.texts, [], {}
            for kind, model in pair.items():

                def measure(model=model, kind=kind, metric=metric, n=n, values=values):
                    inputs = Inputs(model, encodings[:n], targets[:n])
                    values[kind] = metric.resolve()(inputs, kept[:n])

                two.append([name, metric.name, kind, common.timed(measure)])
            _finish(two, None, _change(*values.values()), len(encodings[:n]))
            rows += two
    return rows


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
