"""Fine-tuning, plain, masked or with salience loss, the best epoch kept, and what a model then does."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from faithlib.forward import batches_by_length, halving, out_of_memory, replaced, token_budget
from faithlib.progress import bar
from faithlib.salience import salience_loss
from faithlib.scores import DEFINITIONS

CHOICES = {
    "optimiser": ("adamw", "amsgrad"),
    "schedule": ("linear", "constant"),
    "best": ("loss", "accuracy", "micro_f1", "macro_f1", "mcc"),
    "definition": DEFINITIONS,
    "masking": ("none", "half", "all"),
    "checking": ("unmasked", "masked", "both"),
}
BATCHES, CHECKS = 1, 2  # streams of random masks: what one strategy draws changes nothing for another


def recipe(model, epochs):
    """Settings of `fine_tune` as in Madsen et al. (2022): Table 4 for a BiLSTM, Table 5 for an encoder.

    Where the tables are silent the release decides: the BiLSTM's attention has no weight decay in models for
    single texts; biases and layer norms of an encoder have none, and its β₂ is 0.98. The tables' batch size,
    which differs between data sets, and the metric that chooses the epoch are left to the caller. Madsen et
    al. (2024) fine-tune encoders by the same, in batches of 16, for the epochs of their Table 3.
    """
    config = model.config
    if config.model_type == "bilstm-attention":
        return {
            "epochs": epochs,
            "learning_rate": 1e-3,
            "optimiser": "amsgrad",
            "weight_decay": 1e-5,
            "undecayed": () if config.paired else ("attention.",),
            "schedule": "constant",
            "warmup": 0,
            "clip": None,
        }
    return {
        "epochs": epochs,
        "learning_rate": 2e-5,
        "betas": (0.9, 0.98),
        "weight_decay": 0.01,
        "undecayed": ("bias", "LayerNorm", "layer_norm"),
        "warmup": 0.06 * epochs,
        "clip": None,
    }


def fine_tune(
    classifier,
    splits,
    *,
    epochs,
    batch_size,
    learning_rate,
    head_learning_rate=None,
    optimiser="adamw",
    betas=(0.9, 0.999),
    weight_decay=0.01,
    undecayed=(),
    schedule="linear",
    warmup=0.1,
    clip=1.0,
    checks_per_epoch=1,
    best="loss",
    patience=None,
    seed=0,
    masking="none",
    checking="unmasked",
    salience=None,
    salience_weight=0.0,
    definition="paper",
):
    """Fine-tune in place and keep the weights of the best check; returns the history.

    splits: {"train": (encodings, labels), "validation": (encodings, labels)}. Unless told otherwise: AdamW
    with one rate for the encoder and one for the head, linear decay to 0 after a warm-up over the first
    `warmup` epochs, gradients clipped to norm `clip` (None: not at all), the check of the least development
    loss (Zhao & Aletras 2023, appendix A).
    optimiser: "adamw", or "amsgrad": Adam's variant, its weight decay a penalty in the gradient. undecayed:
    parts of the names of parameters that have no weight decay. schedule: "linear" or "constant". best: "loss"
    or the validation metric that chooses, of equal checks the first. patience: training ends after so many
    checks without a better one (None: never), and where the metric is 1 already.
    masking: "none", or of every mini-batch "half" (masked fine-tuning) or "all" (only masking) of the
    examples are `masked`, drawn anew in every epoch (Madsen et al. 2024, section 3.2, Algorithm 1). checking:
    which copies of the validation split choose the check: the "unmasked" one, the "masked" one, all of whose
    examples are masked, or "both" as one split. The masks of that copy are drawn once and depend on `seed`
    alone, as does the order of examples: strategies differ in nothing else. The schedule counts optimiser
    steps; the release counts examples, so that its rate rises through almost all of the training.
    salience: [(tokens,)] of the training encodings, as `salience.fit` gives it, or None. With it the loss is
    L = L_c + λ L_sal (Chrysostomou & Aletras 2021, Eq. 2), λ = salience_weight and L_sal = `salience_loss` of
    that definition, of attention as the model uses it, after dropout. λ = 0 is plain fine-tuning. In both
    definitions L_c is the cross-entropy of logits, batches are shuffled, and L_c alone or `best` chooses the
    check; the release's cross-entropy of probabilities, its batches in order of length and its choice by
    L are not repeated.
    history: rows of "epoch", "train_loss" and "validation_loss" (L_c, nats per example), "salience_loss"
    (L_sal in training, a mean over steps) where there is salience, f"validation_{best}" where a metric
    chooses, and "kept", true of the check whose weights are kept. These are of the copies that choose; with
    masking or checking, f"validation_{best}_unmasked" and f"validation_{best}_masked" tell each copy's own.
    Raises ValueError for settings out of range, a salience that is 0 everywhere or not as `fit` gives it, a
    model without attention that shall have salience or without a mask token that shall have masks, and for
    both at once; FloatingPointError if a loss is not finite.
    """
    _check(
        {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "patience": patience},
        {
            "optimiser": optimiser,
            "schedule": schedule,
            "best": best,
            "definition": definition,
            "masking": masking,
            "checking": checking,
        },
    )
    if not 0 <= salience_weight < math.inf:
        raise ValueError(f"salience_weight={salience_weight!r} must be 0 or above")
    plain, guided = (masking, checking) == ("none", "unmasked"), salience is not None and salience_weight
    if guided and not plain:
        raise ValueError(
            f"masking={masking!r}, checking={checking!r} and a salience: masked fine-tuning and "
            "salience loss do not go together, leave one out"
        )
    model, train, validation = classifier.model, splits["train"], splits["validation"]
    data = (
        _Split(classifier, *train) if masking == "none" else _MaskedSplit(classifier, *train, masking, seed)
    )
    guide = _Guide(classifier, train[0], salience, salience_weight, definition) if guided else None
    checks = (
        _Checks(classifier, validation, best)
        if plain
        else _MaskedChecks(classifier, validation, best, checking, seed)
    )
    losses = []
    generator = np.random.default_rng(seed)
    steps = math.ceil(len(data.lengths) / batch_size)  # optimiser steps an epoch
    kind = torch.optim.AdamW if optimiser == "adamw" else partial(torch.optim.Adam, amsgrad=True)
    groups = _groups(model, learning_rate, head_learning_rate or learning_rate, weight_decay, undecayed)
    stepper = kind(groups, betas=betas, fused=True)  # on a CPU ten times as fast as unfused
    rate = _rate(round(warmup * steps), steps * epochs if schedule == "linear" else math.inf)
    rates = torch.optim.lr_scheduler.LambdaLR(stepper, rate)
    check_at = {round(steps * (i + 1) / checks_per_epoch) for i in range(checks_per_epoch)}
    batches = (
        (epoch, step, rows)
        for epoch in range(epochs)
        for step, rows in enumerate(shuffled_by_length(data.lengths, batch_size, generator), 1)
    )
    with torch.random.fork_rng(devices=[]), bar(steps * epochs, "training", "step") as progress:
        torch.manual_seed(seed)  # dropout draws from torch's global generator
        for epoch, step, rows in batches:
            losses.append(_step(classifier, data, rows, stepper, clip, guide))
            rates.step()
            progress.update()
            if step in check_at:
                checks.look(epoch, step, steps, losses, learning_rate)
                losses.clear()
                if checks.over(patience):
                    break
    model.load_state_dict(checks.weights)
    model.eval()
    return checks.history


@torch.inference_mode()
def evaluate(classifier, encodings, labels):
    """Performance: {"loss" (nats), those of `performance`, "probabilities" (n, classes)}."""
    classifier.model.eval()
    data, logits = _Split(classifier, encodings, labels), None
    for rows in batches_by_length(data.lengths, token_budget(classifier)):
        part = torch.cat(halving(lambda rows: classifier.logits(data.at(rows)[0]).float().cpu(), rows))
        logits = torch.empty(len(encodings), part.shape[1]) if logits is None else logits
        logits[rows] = part
    return {
        "loss": cross_entropy(logits, torch.as_tensor(labels)).item(),
        **performance(logits.argmax(-1).numpy(), labels),
        "probabilities": logits.softmax(-1).numpy(),
    }


def performance(predicted, labels):
    """How well classes are predicted: {"accuracy", "micro_f1", "macro_f1", "mcc"}; higher is better.

    predicted, labels: (examples,) int. mcc: Matthews' correlation coefficient, in [−1, 1], 0 where all
    predictions are one class; the others are in [0, 1].
    """
    from sklearn.metrics import f1_score, matthews_corrcoef

    accuracy = float((predicted == labels).mean())
    return {
        "accuracy": accuracy,
        "micro_f1": accuracy,  # one label an example: they are the same
        "macro_f1": float(f1_score(labels, predicted, average="macro")),
        "mcc": float(matthews_corrcoef(labels, predicted)),
    }


def masked(classifier, encodings, generator, masking="all"):
    """The encodings as masked fine-tuning sees them (Madsen et al. 2024, Algorithm 1), in the same order.

    Of each example a ratio r ~ U[0, 1) is drawn, and each of its tokens is the mask token with probability r.
    masking: "all" examples, or "half", ⌊n / 2⌋ of them at random. Tokens of text_b are masked as well:
    Algorithm 1 masks an input, not a part of it, and so does the release (explanations mask `text` alone).
    Special tokens never are, so that an input keeps its form. Raises ValueError for another masking and for a
    model without a mask token.
    """
    if masking not in ("half", "all"):
        raise ValueError(f"masking={masking!r} is unknown: use 'half', 'all'")
    mask_id = _mask_id(classifier)
    return [
        replaced(e, m, mask_id).encoding
        for e, m in zip(encodings, _masks(encodings, generator, masking), strict=True)
    ]


def shuffled_by_length(lengths, batch_size, generator, pool=50):
    """Batches of row indices in random order, similar lengths together (within pools of batches)."""
    rows = generator.permutation(len(lengths))
    size = batch_size * pool
    batches = []
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        part = part[np.argsort(np.asarray(lengths)[part], kind="stable")]
        batches += [part[i : i + batch_size] for i in range(0, len(part), batch_size)]
    return [batches[i] for i in generator.permutation(len(batches))]


class _Split:
    """A split padded once and moved to the device once, from which batches are cut."""

    def __init__(self, classifier, encodings, labels):
        self.lengths = np.array([len(e.ids) for e in encodings])
        self.whole = classifier.collate(encodings)
        self.labels = torch.as_tensor(labels, device=classifier.device)

    def at(self, rows):
        """The examples `rows`: a Batch padded to the longest of them, and their labels (batch,)."""
        index = torch.as_tensor(rows, device=self.labels.device)
        return self.whole.at(index, stop=int(self.lengths[rows].max())), self.labels[index]


class _MaskedSplit(_Split):
    """A split that is masked anew whenever a batch is cut from it."""

    def __init__(self, classifier, encodings, labels, masking, seed):
        super().__init__(classifier, encodings, labels)
        self.encodings, self.masking, self.mask_id = encodings, masking, _mask_id(classifier)
        self.generator = np.random.default_rng([seed, BATCHES])

    def at(self, rows):
        batch, labels = super().at(rows)
        where = np.zeros(batch.ids.shape, bool)
        for row, m in zip(
            where, _masks([self.encodings[i] for i in rows], self.generator, self.masking), strict=True
        ):
            row[: len(m)] = m
        where = torch.from_numpy(where).to(batch.ids.device)
        return replace(batch, ids=batch.ids.masked_fill(where, self.mask_id)), labels


class _Guide:
    """The salience of a split, padded once, and the loss that draws attention to it."""

    def __init__(self, classifier, encodings, salience, weight, definition):
        if len(salience) != len(encodings):
            raise ValueError(f"salience has {len(salience)} rows for {len(encodings)} training examples")
        classifier.check_attention("train it without salience")
        self.classifier, self.weight, self.definition = classifier, weight, definition
        padded = np.zeros((len(encodings), max(len(e.ids) for e in encodings)), np.float32)
        for i, (encoding, row) in enumerate(zip(encodings, salience, strict=True)):
            _check_salience(i, encoding, np.asarray(row), definition)
            padded[i, : len(row)] = row
        self.whole = torch.from_numpy(padded).to(classifier.device)  # (examples, tokens)

    def at(self, batch, rows):
        """Logits (batch, classes) of the examples `rows`, and their salience loss, in one graph."""
        logits, layers = self.classifier.attentions(batch)
        index = torch.arange(len(logits), device=logits.device)
        attention = layers[-1][index, :, self.classifier.reads(batch)].float().mean(1)  # (batch, tokens)
        salience = self.whole[torch.as_tensor(rows, device=logits.device), : attention.shape[1]]
        where = batch.maskable if self.definition == "paper" else batch.present
        return logits, salience_loss(attention, salience, where, self.definition)


class _Checks:
    """What the checks of one training found, and the weights of the best of them."""

    def __init__(self, classifier, validation, best):
        self.classifier, self.validation, self.best = classifier, validation, best
        self.history, self.weights, self.top = [], None, -math.inf

    def find(self):
        """The performance that chooses, and what else the history shall tell."""
        return evaluate(self.classifier, *self.validation), {}

    def look(self, epoch, step, steps, losses, learning_rate):
        """Check after `step` of an epoch's `steps`; losses: what `_step` returned since the last check."""
        losses = torch.stack(losses).tolist()  # all at once: a GPU does not wait after every step
        for i, parts in enumerate(losses, step - len(losses) + 1):
            for loss, kind in zip(parts, ("training", "salience"), strict=False):
                if not math.isfinite(loss):
                    raise FloatingPointError(
                        f"{kind} loss is {loss} in epoch {epoch + 1}, step {i}: "
                        f"lower learning_rate ({learning_rate})"
                    )
        found, of_copies = self.find()
        loss = found["loss"]
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"development loss is {loss} in epoch {epoch + 1}: lower learning_rate ({learning_rate})"
            )
        means = [float(np.mean(part)) for part in zip(*losses, strict=True)]
        row = {"epoch": epoch + step / steps, "train_loss": means[0], "validation_loss": loss}
        if len(means) > 1:
            row["salience_loss"] = means[1]
        value = -loss
        if self.best != "loss":
            row[f"validation_{self.best}"] = value = found[self.best]
        row.update(of_copies)
        row["kept"] = value > self.top
        if row["kept"]:
            for earlier in self.history:
                earlier["kept"] = False
            self.top = value
            self.weights = {k: v.detach().clone() for k, v in self.classifier.model.state_dict().items()}
        self.history.append(row)

    def over(self, patience):
        """Whether to stop: the metric can rise no more, or the last `patience` checks were no better."""
        since = [row["kept"] for row in reversed(self.history)].index(True)
        return since == patience or (self.best != "loss" and self.top == 1)


class _MaskedChecks(_Checks):
    """Checks by a masked copy of the validation split, or by both copies."""

    def __init__(self, classifier, validation, best, checking, seed):
        super().__init__(classifier, validation, best)
        self.checking = checking
        encodings, labels = validation
        copy = masked(classifier, encodings, np.random.default_rng([seed, CHECKS]))
        self.copies = {"unmasked": validation, "masked": (copy, labels)}

    def find(self):
        of = {name: evaluate(self.classifier, *copy) for name, copy in self.copies.items()}
        one, other = of.values()
        predicted = np.concatenate([copy["probabilities"].argmax(-1) for copy in (one, other)])
        of["both"] = {
            "loss": (one["loss"] + other["loss"]) / 2,
            **performance(predicted, np.tile(self.validation[1], 2)),
        }
        own = {f"validation_{self.best}_{name}": of[name][self.best] for name in self.copies}
        return of[self.checking], own


def _masks(encodings, generator, masking):
    """Which tokens `masked` masks: [(tokens,) bool]."""
    n = len(encodings)
    ratios = generator.random(n)
    if masking == "half":  # at random: Algorithm 1's second of two would be the longer in batches by length
        ratios[generator.permutation(n) >= n // 2] = 0
    return [
        (e.maskable | e.auxiliary) & (generator.random(len(e.ids)) < r)
        for e, r in zip(encodings, ratios, strict=True)
    ]


def _mask_id(classifier):
    if classifier.mask_id is None:
        raise ValueError(f"{classifier.name} has no mask token to replace others by: choose another model")
    return classifier.mask_id


def _check(positive, chosen):
    for name, value in positive.items():
        if value is not None and not value > 0:
            raise ValueError(f"{name}={value!r} must be above 0")
    for name, value in chosen.items():
        if value not in CHOICES[name]:
            raise ValueError(f"{name}={value!r} is unknown: use {', '.join(map(repr, CHOICES[name]))}")


def _check_salience(i, encoding, row, definition):
    told = f"salience of example {i}"
    if row.shape != encoding.ids.shape:
        raise ValueError(f"{told} has the shape {row.shape} for {len(encoding.ids)} tokens")
    if not np.isfinite(row).all() or (row < 0).any():
        raise ValueError(f"{told} has values below 0 or not finite: scores must be 0 or above")
    if not row.any():
        raise ValueError(f"{told} is 0 for every token: remove the text or use another salience")
    total, inside = row.sum(), row[encoding.maskable].sum()
    distribution = abs(total - 1) < 1e-4 and np.isclose(inside, total)
    if definition == "paper" and not distribution:
        raise ValueError(
            f"{told} is not a distribution over its maskable tokens (sum {total:.3g}, "
            f"{inside:.3g} of it on them): use salience.fit"
        )
    if definition == "released" and distribution and encoding.maskable.sum() > 1:
        raise ValueError(
            f"{told} was divided by its sum, which the release does not do: use salience.fit "
            "with definition='released'"
        )


def _step(classifier, data, rows, stepper, clip, guide):
    """Train on the examples `rows`: the cross-entropy and, with a guide, the salience loss, (1 or 2,).

    Where memory runs out, gradients are those of halves, quarters and so on, added up: the same step but for
    the draws of dropout.
    """
    classifier.model.train()
    batch, labels = data.at(rows)
    pieces = 1
    while True:
        stepper.zero_grad()
        try:
            losses = [
                _backward(classifier, batch, labels, rows, piece, guide)
                for piece in np.array_split(np.arange(len(rows)), pieces)
            ]
            break
        except (RuntimeError, MemoryError) as error:
            whole = guide is not None and guide.definition == "released"  # squares a sum over the batch
            if not out_of_memory(error) or pieces >= len(rows) or whole:
                raise
        pieces = min(2 * pieces, len(rows))
    if clip is not None:
        torch.nn.utils.clip_grad_norm_(classifier.model.parameters(), clip)
    stepper.step()
    return torch.stack(losses).sum(0)


def _backward(classifier, batch, labels, rows, piece, guide):
    """Add the gradients of a piece of a batch, weighted by its share; the losses, weighted likewise."""
    share = len(piece) / len(rows)
    if share < 1:
        index = torch.as_tensor(piece, device=labels.device)
        batch, labels, rows = batch.at(index), labels[index], np.asarray(rows)[piece]
    if guide is None:
        loss = cross_entropy(classifier.logits(batch), labels)
        parts = [loss]
    else:
        logits, divergence = guide.at(batch, rows)
        parts = [cross_entropy(logits, labels), divergence]
        loss = parts[0] + guide.weight * parts[1]
    (loss * share if share < 1 else loss).backward()
    return torch.stack(parts).detach() * share


def _groups(model, learning_rate, head_learning_rate, weight_decay, undecayed):
    """Parameters of the encoder and of the head, each with and without weight decay."""
    encoder, groups = {id(p) for p in model.base_model.parameters()}, {}
    for name, p in model.named_parameters():
        decay = 0.0 if any(part in name for part in undecayed) else weight_decay
        groups.setdefault((id(p) not in encoder, decay), []).append(p)
    return [
        {
            "params": groups[head, decay],
            "lr": head_learning_rate if head else learning_rate,
            "weight_decay": decay,
        }
        for head, decay in sorted(groups)
    ]


def _rate(warmup_steps, total):
    """The share of the learning rate at a step: rising over the warm-up, then falling to 0 at `total`."""

    def rate(step):
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        return (total - step) / max(1, total - warmup_steps) if total < math.inf else 1.0

    return rate
