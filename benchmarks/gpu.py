"""What a GPU reaches of its own bound, in two minutes: passes of an encoder and a language model, training.

    python -m benchmarks.gpu --device cuda     on a GPU
    python -m benchmarks.gpu                   the host's share alone, which a CPU has as well
    python -m benchmarks.gpu --quick           tiny: whether it runs, not how fast

Models have random weights and the sizes of the papers' (the BiLSTM and MiniLM those of ROAR and FMM at the
small scale). The bound of a pass is 2 FLOP a parameter that computes and token, 6 in training, at the rate of
products of large matrices, measured in the same run and number format. "Plain loop" is the same passes in
batches made beforehand, and nothing else. Host is the CPU time of the engine for a sequence, in passes as
large as a GPU's that cost nothing. Missed targets are told as missed. Writes gpu_cuda.csv and gpu_cuda.json.
"""

import time
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch
from transformers import BertConfig, BertForSequenceClassification, LlamaConfig, LlamaForCausalLM

from benchmarks import bounds, common
from faithlib import corpora, models, training
from faithlib.engine import forward
from faithlib.engine.batching import TOKEN_BUDGET, Limits
from faithlib.models import CausalLM, Classifier
from faithlib.models.built import word_tokenizer

TOKENS, SEQUENCES, STEPS, BATCH = 128, 4096, 300, 16
TARGETS = {"encoder": ("share", 0.4), "MiniLM, training": ("a second", 100), "host": ("µs a sequence", 10)}
BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
MINILM = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
SMOLLM2 = {"hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3,
           "intermediate_size": 1536}  # fmt: skip
SMALL = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}


def main(arguments=None):
    options = common.options(__doc__, devices=common.BOTH).parse_args(arguments)
    asked = torch.device(options.device)
    measured = options.quick or asked.type == "cuda" and torch.cuda.is_available()
    rows, about = [host(200 if options.quick else 20_000)], {}
    if measured:
        size = 64 if options.quick else 8192
        peaks = {dtype: peak(asked, dtype, size) for dtype in (torch.bfloat16, torch.float32)}
        about = {str(dtype).removeprefix("torch."): round(rate / 1e9) for dtype, rate in peaks.items()}
        rows += [encoder(asked, options.quick, peaks), language_model(asked, options.quick, peaks)]
        rows += [
            trained(name, asked, options.quick, peaks) for name in ("MiniLM, training", "BiLSTM, training")
        ]
    table = pd.DataFrame(rows)
    for name, (column, target) in TARGETS.items():
        for row in table[table.what == name].to_dict("records"):
            met = row[column] <= target if name == "host" else row[column] >= target
            print(f"{name}: {column} {row[column]:.3g}, target {target}: {'met' if met else 'missed'}")
    if measured:
        common.save(options, "gpu", table, gflop_per_second=about)
    else:
        print("No GPU: passes, training and their bound are not measured; the host's share is:")
        print(table.to_string(index=False))


def peak(device, dtype, size, times=20):
    """FLOP a second of products of square matrices."""
    one, other = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    one @ other
    seconds = wall(lambda: [one @ other for _ in range(times)], device)
    return times * 2 * size**3 / seconds


def wall(work, device):
    """Seconds of some work on the clock, until the GPU has done it."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def classifier(sizes, device, dtype=torch.float32):
    """A Classifier of BERT's architecture with random weights, and its vocabulary."""
    words = [f"w{i}" for i in range(1000)]
    tokenizer = word_tokenizer(words)
    model = BertForSequenceClassification(BertConfig(vocab_size=len(tokenizer), **sizes)).to(device, dtype)
    return Classifier(model.eval(), tokenizer, "encoder"), words


def texts(words, count, tokens):
    """Texts of so many words, each with others."""
    draw = np.random.default_rng(0)
    return [" ".join(draw.choice(words, tokens)) for _ in range(count)]


def computing(model):
    """Parameters that compute: all but tables of embeddings."""
    tables = sum(m.weight.numel() for m in model.modules() if isinstance(m, torch.nn.Embedding))
    return sum(p.numel() for p in model.parameters()) - tables


def row(what, count, tokens, seconds, model, rate, flop, plain=float("nan")):
    """One row of the table; flop: a parameter and token."""
    spent = count * tokens * flop * computing(model)
    return {
        "what": what,
        "a second": count / seconds,
        "plain loop": plain,
        "bound": rate * count / spent,
        "share": spent / seconds / rate,
    }


def passes(what, model, count, tokens, words, device, rate):
    """Passes of the engine on texts that all differ, and a plain loop beside."""
    encodings = model.encode(texts(words, count, tokens))
    variants = [forward.unchanged(e) for e in encodings]
    forward.probabilities(model, variants[: count // 8])
    seconds = wall(lambda: forward.probabilities(model, variants), device)
    work = SimpleNamespace(model=model, encodings=encodings, targets=np.zeros(count, int))
    plain = bounds.forward(work, [1] * count)
    plain()
    alone = wall(plain, device)
    return row(what, count, tokens, seconds, model.model, rate, 2, count / alone)


def encoder(device, quick, peaks):
    """Passes of an encoder of BERT-base's sizes in bfloat16."""
    model, words = classifier(SMALL if quick else BASE, device, torch.bfloat16)
    count = 64 if quick else SEQUENCES
    return passes("encoder", model, count, TOKENS - 2, words, device, peaks[torch.bfloat16])


def language_model(device, quick, peaks):
    """Passes of a Llama of SmolLM2-135M's sizes in bfloat16."""
    words = [f"w{i}" for i in range(1000)]
    tokenizer = models.built.tiny_llama(words)[1]
    sizes = SMALL if quick else SMOLLM2
    count = 16 if quick else SEQUENCES // 4
    config = LlamaConfig(vocab_size=len(tokenizer), pad_token_id=0, **sizes)
    lm = CausalLM(LlamaForCausalLM(config).to(device, torch.bfloat16).eval(), tokenizer, "language model")
    return passes("language model", lm, count, TOKENS - 1, words, device, peaks[torch.bfloat16])


def trained(what, device, quick, peaks):
    """Optimiser steps a second of a model of ROAR or FMM, evaluation and the first step aside."""
    steps = 5 if quick else STEPS
    made = corpora.make("sentiment", sizes={"train": BATCH * steps, "validation": BATCH, "test": BATCH})
    written = {split: [r["text"] for r in of] for split, of in made.items()}
    if what.startswith("BiLSTM"):
        model = models.load("bilstm", ("no", "yes"), written["train"], device=device, width=300, hidden=128)
    else:
        tokenizer = word_tokenizer(written["train"])
        config = BertConfig(vocab_size=len(tokenizer), **(SMALL if quick else MINILM))
        model = Classifier(BertForSequenceClassification(config).to(device), tokenizer, what)
    data = {s: (model.encode(written[s]), np.array([r["label"] for r in of])) for s, of in made.items()}
    length = float(np.mean([len(e.ids) for e in data["train"][0]]))

    def fine_tune():
        training.fine_tune(model, data, epochs=1, batch_size=BATCH, learning_rate=1e-5)

    fine_tune()
    seconds = wall(fine_tune, device)
    return row(what, steps, BATCH * length, seconds, model.model, peaks[torch.float32], 6)


def host(count):
    """Microseconds of this process for a sequence of the engine, the model's pass left out."""
    model, words = classifier(SMALL, torch.device("cpu"))
    variants = [forward.unchanged(e) for e in model.encode(texts(words, count, 16))]
    batches = []

    def nothing(batch, *_, **__):
        batches.append(len(batch.ids))
        return torch.zeros(len(batch.ids), 2)

    model.limits = Limits(TOKEN_BUDGET["cuda"], 1e9)
    with patch.object(type(model), "logits", lambda self, batch, *a, **k: nothing(batch)):
        seconds = common.timed(lambda: forward.probabilities(model, variants))
    return {"what": "host", "µs a sequence": 1e6 * seconds / count, "rows a call": count / len(batches)}


if __name__ == "__main__":
    main()
