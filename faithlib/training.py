"""Fine-tuning: plain, with the best epoch by development loss kept."""

import math

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from faithlib.forward import TOKEN_BUDGET, bar, batches_by_length


def fine_tune(classifier, splits, *, epochs, batch_size, learning_rate, head_learning_rate=None,
              warmup=0.1, clip=1.0, weight_decay=0.01, checks_per_epoch=1, seed=0):
    """Fine-tune in place and keep the weights of the best development loss; returns the history.

    splits: {"train": (encodings, labels), "validation": (encodings, labels)}. AdamW with one rate for
    the encoder and one for the head, linear decay to 0 after a warm-up over the fraction `warmup` of
    the first epoch, gradients clipped to norm `clip` (Zhao & Aletras 2023, appendix A).
    history: a list of {"epoch", "train_loss", "validation_loss"}, losses in nats per example.
    Raises ValueError for settings out of range and FloatingPointError if the loss is not finite.
    """
    for name, value in {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate}.items():
        if not value > 0:
            raise ValueError(f"{name}={value!r} must be above 0")
    model, (encodings, labels) = classifier.model, splits["train"]
    generator = np.random.default_rng(seed)
    steps = math.ceil(len(encodings) / batch_size)  # optimiser steps an epoch
    optimiser = torch.optim.AdamW(
        _groups(model, learning_rate, head_learning_rate or learning_rate), weight_decay=weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, _linear(warmup_steps=round(warmup * steps), total=steps * epochs))
    check_at = {round(steps * (i + 1) / checks_per_epoch) for i in range(checks_per_epoch)}
    best, kept, history, losses = math.inf, None, [], []
    with torch.random.fork_rng(devices=[]), bar(steps * epochs, "training", "step") as progress:
        torch.manual_seed(seed)  # dropout draws from torch's global generator
        for epoch in range(epochs):
            order = shuffled_by_length([len(e.ids) for e in encodings], batch_size, generator)
            for step, rows in enumerate(order, 1):
                model.train()
                logits = classifier.logits(classifier.collate([encodings[i] for i in rows]))
                loss = cross_entropy(logits, torch.tensor(labels[rows], device=logits.device))
                if not torch.isfinite(loss):
                    raise FloatingPointError(
                        f"training loss is {loss.item()} in epoch {epoch + 1}, step {step}: "
                        f"lower learning_rate ({learning_rate})")
                optimiser.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
                optimiser.step()
                schedule.step()
                losses.append(loss.item())
                progress.update()
                if step in check_at:
                    validation = evaluate(classifier, *splits["validation"])["loss"]
                    if not math.isfinite(validation):
                        raise FloatingPointError(f"development loss is {validation} in epoch {epoch + 1}: "
                                                 f"lower learning_rate ({learning_rate})")
                    history.append({"epoch": epoch + step / steps, "train_loss": float(np.mean(losses)),
                                    "validation_loss": validation})
                    losses.clear()
                    if validation < best:
                        best = validation
                        kept = {k: v.detach().clone() for k, v in model.state_dict().items()}
    model.load_state_dict(kept)
    model.eval()
    return history


@torch.inference_mode()
def evaluate(classifier, encodings, labels):
    """Logits-based performance: {"loss" (nats), "accuracy", "macro_f1", "probabilities" (n, classes)}."""
    from sklearn.metrics import f1_score

    classifier.model.eval()
    logits = None
    lengths, budget = [len(e.ids) for e in encodings], TOKEN_BUDGET[classifier.device.type]
    for rows in batches_by_length(lengths, budget):
        part = classifier.logits(classifier.collate([encodings[i] for i in rows])).float().cpu()
        logits = torch.empty(len(encodings), part.shape[1]) if logits is None else logits
        logits[rows] = part
    predicted = logits.argmax(-1).numpy()
    return {
        "loss": cross_entropy(logits, torch.tensor(labels)).item(),
        "accuracy": float((predicted == labels).mean()),
        "macro_f1": float(f1_score(labels, predicted, average="macro")),
        "probabilities": logits.softmax(-1).numpy(),
    }


def shuffled_by_length(lengths, batch_size, generator, pool=50):
    """Batches of row indices in random order, similar lengths together (within pools of batches)."""
    rows = generator.permutation(len(lengths))
    size = batch_size * pool
    batches = []
    for start in range(0, len(rows), size):
        part = rows[start:start + size]
        part = part[np.argsort(np.asarray(lengths)[part], kind="stable")]
        batches += [part[i:i + batch_size] for i in range(0, len(part), batch_size)]
    return [batches[i] for i in generator.permutation(len(batches))]


def _groups(model, learning_rate, head_learning_rate):
    encoder = {id(p) for p in model.base_model.parameters()}
    head = [p for p in model.parameters() if id(p) not in encoder]
    body = [p for p in model.parameters() if id(p) in encoder]
    return [{"params": body, "lr": learning_rate}, {"params": head, "lr": head_learning_rate}]


def _linear(warmup_steps, total):
    def rate(step):
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        return (total - step) / max(1, total - warmup_steps)
    return rate
