"""A first study beside the same metrics written by hand around captum.

    python -m benchmarks.study_captum            MiniLM, 50 texts; with --model-dir 12 layers, 768 wide, too
    python -m benchmarks.study_captum --quick    tiny: whether it runs, not how fast

Three attributions by captum, then the default metrics on erased token ids: AOPC, NS and NC, Soft-NS and
Soft-NC, decision flip, of each attribution and of its scores in random order. "batched" sorts all inputs of
a metric by length and passes 32 at once; "one by one" passes each alone, and is timed on fewer texts. CPU
seconds of one thread, taking turns. Writes study_captum.csv and .json to results/benchmarks.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # before torch and numpy read them

from functools import partial

import numpy as np
import pandas as pd
import torch
from captum.attr import InputXGradient, IntegratedGradients

from benchmarks import common, with_captum, workloads
from faithlib import evaluate
from faithlib.models import load

METHODS = ["leave_one_out", "input_x_gradient", "integrated_gradients"]
METRICS = ["ns", "nc", "soft_ns", "soft_nc", "decision_flip", "aopc_comprehensiveness", "aopc_sufficiency"]
SAME = ("ns", "nc", "decision_flip", "aopc_comprehensiveness", "aopc_sufficiency")  # the others draw masks
RATIOS, DRAWS, STEPS, AT_ONCE = (0.01, 0.05, 0.1, 0.2, 0.5), 3, 20, 32
TWELVE = "sentence-transformers/all-mpnet-base-v2"


def main(arguments=None):
    more = {
        "model_dir": {"default": ""},
        "texts": {"type": int, "default": 50},
        "few": {"type": int, "default": 10, "help": "texts of the 12-layer encoder"},
        "alone": {"type": int, "default": 2, "help": "texts of the implementation without batches"},
    }
    options = common.options(__doc__, 1, **more).parse_args(arguments)
    torch.set_num_threads(1)
    rows = []
    small = workloads.encoder(quick=options.quick)
    for work in [small.first(options.texts), *twelve_layers(small, options)]:
        rows += beside(work, options)
    common.save(options, "study_captum", pd.DataFrame(rows), attributions=METHODS, metrics=METRICS)


def twelve_layers(small, options):
    if not options.model_dir:
        return []
    texts = small.texts[: options.few]
    model = load(TWELVE, ["no", "yes"], texts=texts, model_dir=options.model_dir)
    return [workloads.workload("encoder", TWELVE.split("/")[-1], model, texts, outputs=slice(None))]


def decide(work):
    """Make the drawn head decided, so that erasure has something to change: its classes stay."""
    *_, head = (layer for layer in work.model.model.modules() if isinstance(layer, torch.nn.Linear))
    with torch.no_grad():
        head.weight *= 20


def beside(work, options):
    """A row for each implementation on one model."""
    decide(work)
    results, alone = {}, work.first(options.alone)

    def study(of):
        settings = {"targets": work.targets.tolist(), "steps": STEPS, "progress": False}
        return evaluate(of.model, of.texts, METHODS, METRICS, **settings).table

    def keep(name, way):
        results[name] = way()

    ways = {
        "faithlib": partial(study, work),
        "faithlib, bfloat16": partial(study, workloads.in_half(work)),
        "captum and a loop, batched": partial(loop, work, AT_ONCE),
        "captum and a loop, one by one": partial(loop, alone, 1),
    }
    kept = {name: partial(keep, name, way) for name, way in ways.items()}
    seconds = common.turns(kept, options.repeats, common.timed)
    texts = {name: len(alone.texts) if "one by one" in name else len(work.texts) for name in ways}
    each = {name: np.median(taken) / texts[name] for name, taken in seconds.items()}
    ours = results["faithlib"].set_index(["attribution", "metric"]).value
    theirs = results["captum and a loop, batched"]
    gap = np.nanmax([abs(ours[pair] - theirs[pair]) for pair in theirs if pair[1] in SAME])
    return [
        {"model": work.name, "implementation": name, "texts": texts[name], "cpu_seconds_a_text": value,
         "ratio_to_ours": value / each["faithlib"], "ratio_to_half": value / each["faithlib, bfloat16"],
         "largest_difference": gap}
        for name, value in each.items()
    ]  # fmt: skip


# By hand --------------------------------------------------------------------------------------------------


def loop(work, at_once):
    """The mean of each metric by a loop: {(attribution, metric): value}."""
    batches = with_captum.batched(work) if at_once > 1 else with_captum.one_by_one(work)
    gradients = partial(with_captum.by_gradient, work, batches=batches, reduce=with_captum.width_sum)
    scores = {
        "leave_one_out": with_captum.losses(work, perturbations_per_eval=at_once)["leave_one_out"],
        "input_x_gradient": gradients(InputXGradient),
        "integrated_gradients": gradients(
            IntegratedGradients, baselines=0, n_steps=STEPS, method="riemann_middle", internal_batch_size=32
        ),
    }
    rng, means = np.random.default_rng(0), {}
    for name, of_texts in scores.items():
        mixed = [shuffled(s, e.maskable, rng) for s, e in zip(of_texts, work.encodings, strict=True)]
        for metric in METRICS:
            means[name, metric] = np.nanmean(measured(work, of_texts, metric, at_once, rng))
            measured(work, mixed, metric, at_once, rng)  # the random order that diagnosticity needs
    return means


def shuffled(scores, maskable, rng):
    mixed = np.zeros(len(scores))
    mixed[maskable] = rng.permutation(np.asarray(scores)[maskable])
    return mixed


def measured(work, scores, metric, at_once, rng):
    """A metric of one attribution, text by text: (texts,)."""
    inputs, factors, sizes = [], [], []
    for encoding, s in zip(work.encodings, scores, strict=True):
        chosen, factor = variants(work, encoding, np.asarray(s, float), metric, rng)
        inputs += [np.where(mask, work.model.mask_id, encoding.ids) for mask in chosen]
        factors += factor
        sizes.append(len(chosen))
    p = np.split(probabilities(work, inputs, factors, at_once), np.cumsum(sizes)[:-1])
    n = [int(e.maskable.sum()) for e in work.encodings]
    return np.array([value(metric, *row) for row in zip(p, work.targets, n, strict=True)])


def variants(work, encoding, scores, metric, rng):
    """What is erased in each input of a metric [(tokens,)], and factors of embeddings [(tokens, width)]."""
    maskable, n = encoding.maskable, int(encoding.maskable.sum())
    order = np.full(len(scores), n)
    order[maskable] = np.argsort(np.argsort(-scores[maskable], kind="stable"), kind="stable")
    nothing = np.zeros(len(scores), bool)
    if metric.startswith("soft"):
        span = np.ptp(scores[maskable])
        keep = np.where(maskable, (scores - scores[maskable].min()) / (span or 1), 1)
        keep = keep if metric == "soft_ns" else np.where(maskable, 1 - keep, 1)
        width = work.model.embedding_table.shape[1]
        drawn = [rng.random((len(keep), width)) < keep[:, None] for _ in range(DRAWS)]
        empty = np.repeat(~maskable[:, None], width, 1)
        return [nothing] * (2 + DRAWS), [None, empty, *drawn]
    if metric in ("ns", "nc"):
        counts = [min(n, max(1, int(np.ceil(round(ratio * n, 9))))) for ratio in RATIOS]
        chosen = [(order < k) if metric == "nc" else maskable & (order >= k) for k in counts]
        chosen = [nothing, maskable, *chosen]
    elif metric == "decision_flip":
        chosen = [nothing, *(order < k for k in removed(n))]
    else:
        levels = [-(-i * n // min(n, 10)) for i in range(1, min(n, 10) + 1)]
        if metric == "aopc_sufficiency":
            order[maskable] = np.argsort(np.argsort(scores[maskable], kind="stable"), kind="stable")
        chosen = [nothing, *(order < k for k in levels)]
    return chosen, [None] * len(chosen)


def removed(n):
    """How many of n tokens decision flip removes, step by step: a twentieth each, at least one."""
    return np.unique(np.ceil(np.round(np.arange(1, n + 1) * max(0.05 * n, 1), 9)).clip(max=n).astype(int))


def value(metric, p, target, n):
    """A metric of one text of n tokens from the probabilities of its inputs (inputs, classes)."""
    if metric == "decision_flip":
        flipped = np.flatnonzero(p[1:].argmax(1) != p[0].argmax())
        return removed(n)[flipped[0]] / n if len(flipped) else 1.0
    y = p[:, target]
    if metric.startswith("aopc"):
        return (y[0] - y[1:]).mean()
    room = max(0, y[0] - y[1])
    if room < 0.05:
        return np.nan
    kept = 1 - np.maximum(0, y[0] - y[2:]).mean()
    return (kept - (1 - room)) / room if metric in ("ns", "soft_ns") else (1 - kept) / room


@torch.no_grad()
def probabilities(work, inputs, factors, at_once):
    """(inputs, classes), of inputs sorted by length."""
    order, values = np.argsort([len(ids) for ids in inputs], kind="stable"), [None] * len(inputs)
    pad = work.model.tokenizer.pad_token_id
    for start in range(0, len(order), at_once):
        rows = order[start : start + at_once]
        longest = len(inputs[rows[-1]])
        ids = np.stack([np.pad(inputs[i], (0, longest - len(inputs[i])), constant_values=pad) for i in rows])
        present = np.stack([np.arange(longest) < len(inputs[i]) for i in rows])
        hooks = []
        if any(factors[i] is not None for i in rows):
            width = work.model.embedding_table.shape[1]
            factor = torch.ones(len(rows), longest, width)
            for k, i in enumerate(rows):
                if factors[i] is not None:
                    factor[k, : len(factors[i])] = torch.from_numpy(np.asarray(factors[i], np.float32))
            layer = work.model.model.base_model.embeddings
            hooks = [layer.register_forward_hook(lambda _, __, out, factor=factor: out * factor)]
        logits = work.model.model(
            input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(present).long()
        ).logits
        for hook in hooks:
            hook.remove()
        for i, row in zip(rows, logits.float().softmax(-1).numpy(), strict=True):
            values[i] = row
    return np.array(values)


if __name__ == "__main__":
    main()
