"""Fine-tuning of classifiers (plain, masked, or with a salience loss), and their performance."""

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from faithlib import options
from faithlib.engine.batching import batches_by_length, halving, out_of_memory, token_budget
from faithlib.metrics.performance import performance
from faithlib.models import fit, placement, precision
from faithlib.options import SELECTIONS
from faithlib.progress import bar
from faithlib.scores import one_of, suggestion
from faithlib.training.minibatches import VALIDATION, MaskedSplit, Split, masked, shuffled_by_length
from faithlib.training.salience import Guide


@dataclass(frozen=True)
class Recipe:
    """How a classifier is fine-tuned.

    The defaults suit pretrained encoders (Devlin et al. 2019, appendix A.3); a model with fresh weights needs
    a higher rate, such as 1e-3.

    Attributes:
        epochs: how often each training example is used.
        batch_size: examples of an optimiser step.
        learning_rate: of the encoder, after the warm-up.
        head_learning_rate: of the head; None for that of the encoder.
        optimiser: "adamw"; or "amsgrad", a variant of Adam with weight decay as an L2 penalty.
        betas, weight_decay: of the optimiser.
        undecayed: parameters whose name contains one of these strings have no weight decay.
        schedule: of the learning rate after the warm-up: "linear", to 0 at the end, or "constant".
        warmup: epochs over which the learning rate rises linearly; a fraction is allowed.
        clip: the largest norm of the gradient; None for no clipping.
        checks_per_epoch: evaluations an epoch, evenly spaced.
        best: what selects the evaluation: the validation "loss", "accuracy", "micro_f1", "macro_f1" or "mcc";
            the earliest of equal ones.
        patience: stop after this many evaluations without a better one; None for never. Training also stops
            when the metric reaches 1.
        seed: of the order of examples, dropout and masks.
        masking: which examples of a mini-batch are masked: "none", "half" (masked fine-tuning; then
            `evaluate` measures RACU and MaSF too, with a split "validation" of 40 texts) or "all".
        selection: the copy of the validation split that selects: "unmasked"; "masked", by draws that depend
            on `seed` alone; or "both" as one split. A list keeps the best weights by each from one training,
            the same as from a training of its own.
        salience_weight: λ, 0 or above. With a salience and 0 the loss is that of plain fine-tuning, and
            attention and dropout are computed as with any other λ, so that models can be compared as pairs.
        definition: of the salience loss, "paper" or "released".
        accumulate: micro-batches whose gradients are added up for an optimiser step: the same step up to
            rounding, except for the draws of dropout, in less memory.
        checkpointing: compute activations again for the gradient: the same step in less memory and about a
            third more time.
    """

    epochs: int = 3
    batch_size: int = 32
    learning_rate: float = 5e-5
    head_learning_rate: float | None = None
    optimiser: str = "adamw"
    betas: tuple = (0.9, 0.999)
    weight_decay: float = 0.01
    undecayed: tuple = ()
    schedule: str = "linear"
    warmup: float = 0.1
    clip: float | None = 1.0
    checks_per_epoch: int = 1
    best: str = "loss"
    patience: int | None = None
    seed: int = 0
    masking: str = "none"
    selection: str | list = "unmasked"
    salience_weight: float = 0.0
    definition: str = "paper"
    accumulate: int = 1
    checkpointing: bool = False

    def __post_init__(self):
        options.check(vars(self), options.TRAINING)
        for rule in self.selections:
            one_of("selection", rule, SELECTIONS)
        if self.masking == "half" and self.batch_size == 1:
            raise ValueError("masking='half' with batch_size=1: half of one example is none, give 2 or more")
        if isinstance(self.undecayed, str):
            raise ValueError(f"undecayed={self.undecayed!r} is one text: give a list, [{self.undecayed!r}]")

    @property
    def selections(self):
        """The rules by which weights are kept, in a list."""
        return [self.selection] if isinstance(self.selection, str) else list(self.selection)

    @property
    def plain(self):
        """Whether no text is masked."""
        return self.masking == "none" and self.selections == ["unmasked"]


def recipe(model: torch.nn.Module, epochs: int) -> dict[str, Any]:
    """Settings of `fine_tune` as in Madsen et al. (2022): Table 4 for a BiLSTM, Table 5 for an encoder.

    What the tables do not state follows the release: the BiLSTM's attention has no weight decay in models for
    single texts; the biases and layer norms of an encoder have none, and its β₂ is 0.98. The batch size and
    the metric that selects the epoch are not included. Madsen et al. (2024) fine-tune encoders with the same
    settings, in batches of 16, for the epochs of their Table 3. The model is the torch module of a
    Classifier.
    """
    config = model.config
    if config.model_type == "bilstm-attention":
        return {
            "epochs": epochs, "learning_rate": 1e-3, "optimiser": "amsgrad", "schedule": "constant",
            "weight_decay": 1e-5, "undecayed": () if config.paired else ("attention.",), "warmup": 0,
            "clip": None,
        }  # fmt: skip
    return {
        "epochs": epochs, "learning_rate": 2e-5, "betas": (0.9, 0.98), "warmup": 0.06 * epochs,
        "weight_decay": 0.01, "undecayed": ("bias", "LayerNorm", "layer_norm"), "clip": None,
    }  # fmt: skip


def fine_tune(
    classifier: Any, data: Any, *, salience: list[np.ndarray] | None = None, **settings: Any
) -> list[dict] | dict[str, tuple]:
    """Fine-tune a classifier in place and keep the weights of the best evaluation.

    By default: AdamW with one learning rate for the encoder and one for the head, a linear schedule, and the
    evaluation with the lowest validation loss (Zhao & Aletras 2023, appendix A).

    Masked fine-tuning (Madsen et al. 2024, section 3.2, Algorithm 1) masks tokens of each mini-batch, with
    new draws in every epoch. All strategies see the same examples in the same order. The schedule counts
    optimiser steps; the release counts examples, so that its rate rises through almost all of the training.

    With salience the loss is L = L_c + λ L_sal (Chrysostomou & Aletras 2021, Eq. 2), where L_sal is the
    `salience_loss` of attention as the model uses it, after dropout. In both definitions L_c is the
    cross-entropy of logits, batches are shuffled, and L_c or `best` selects the evaluation; the release's
    cross-entropy of probabilities, its batches in order of length and its selection by L are not reproduced.

    Args:
        classifier: a Classifier; its weights are changed.
        data: what `load_data` returns, with labels in its splits "train" and "validation"; or
            {"train": (encodings, labels), "validation": (encodings, labels)}, labels (examples,) int.
        salience: [(tokens,)] of the training encodings, as `salience.fit` returns it, or None.
        settings: of a `Recipe`, such as epochs=3, batch_size=32, learning_rate=5e-5, masking="half".

    Returns:
        The history, a list of one dict an evaluation: "epoch" (a float), "train_loss" and "validation_loss"
        (L_c, nats per example), "salience_loss" (mean of L_sal over steps, with salience only),
        f"validation_{best}" if a metric selects, and "kept", true of the evaluation whose weights are kept.
        With masking or another selection, also f"validation_{best}_unmasked" and f"validation_{best}_masked".
        For a list of selections {selection: (history, weights)}, and the model has the weights of the first.

    Raises:
        ValueError: a setting that is unknown or out of range; splits or labels that do not fit; a salience
            that is 0 everywhere or not as `fit` returns it; settings that do not go together; what the model
            cannot have.
        FloatingPointError: a loss is not finite.

    Example:
        >>> from faithlib import models
        >>> classifier = models.load("tiny-bert", ("no", "yes"), ["the plot was great"])
        >>> split = classifier.encode(["great", "the plot"]), np.array([1, 0])
        >>> len(fine_tune(classifier, {"train": split, "validation": split}, epochs=2, batch_size=2))
        2
    """
    allowed = [entry.name for entry in fields(Recipe)]
    if unknown := [name for name in settings if name not in allowed]:
        raise ValueError(f"setting {unknown[0]!r} is unknown: {suggestion(unknown[0], allowed)}")
    recipe = Recipe(**settings)
    _check(classifier, recipe, guided=salience is not None)
    (encodings, labels), validation = _splits(classifier, data)
    guide = None
    if recipe.masking == "none":
        split = Split(classifier, encodings, labels)
    else:
        split = MaskedSplit(classifier, encodings, labels, recipe.masking, recipe.seed)
    if salience is not None:
        guide = Guide(classifier, encodings, salience, recipe.salience_weight, recipe.definition)
    evaluations = _evaluations(classifier, recipe, validation)
    _train(classifier, recipe, split, guide, list(evaluations.values()))
    model = classifier.model
    model.load_state_dict(evaluations[recipe.selections[0]].weights)
    if hasattr(model, "config"):
        model.config.masked_training = recipe.masking  # for RACU and MaSF of `evaluate`
    model.eval()
    if isinstance(recipe.selection, str):
        return evaluations[recipe.selection].history
    return {rule: (of_rule.history, of_rule.weights) for rule, of_rule in evaluations.items()}


def _train(classifier, recipe, split, guide, evaluations):
    """Train for all epochs, or until no rule of `evaluations` waits for a better evaluation."""
    steps = math.ceil(len(split.lengths) / recipe.batch_size)  # optimiser steps an epoch
    stepper, rates = _optimiser(classifier.model, recipe, steps)
    checks = recipe.checks_per_epoch
    evaluated_steps = {round(steps * (i + 1) / checks) for i in range(checks)}
    generator, losses = np.random.default_rng(recipe.seed), []
    recomputed = classifier.checkpointing() if recipe.checkpointing else nullcontext()
    random, overall = torch.random.fork_rng(devices=[]), bar(steps * recipe.epochs, "training", "step")
    with random, classifier.training_precision(), recomputed, overall as progress:
        torch.manual_seed(recipe.seed)  # dropout draws from torch's global generator
        for epoch in range(recipe.epochs):
            batches = shuffled_by_length(split.lengths, recipe.batch_size, generator)
            for step, rows in enumerate(batches, 1):
                losses.append(_step(classifier, split, rows, stepper, recipe.clip, guide, recipe.accumulate))
                rates.step()
                progress.update()
                if step not in evaluated_steps:
                    continue
                shared = {}  # what the rules compute once
                for rule in evaluations:
                    if not rule.finished(recipe.patience):
                        rule.evaluate(epoch, step, steps, losses, recipe.learning_rate, shared)
                losses.clear()
                if all(rule.finished(recipe.patience) for rule in evaluations):
                    return


def _evaluations(classifier, recipe, validation):
    """What selects the weights: {rule: `_Evaluations`}."""
    copies = {"unmasked": validation}
    if not recipe.plain:
        texts = masked(classifier, validation[0], np.random.default_rng([recipe.seed, VALIDATION]))
        copies["masked"] = texts, validation[1]
    evaluations = {}
    for rule in recipe.selections:
        alone = (recipe.masking, rule) == ("none", "unmasked")
        copies_of_rule = {"unmasked": validation} if alone else copies
        evaluations[rule] = _Evaluations(classifier, copies_of_rule, recipe.best, rule)
    return evaluations


def _optimiser(model, recipe, steps):
    """The optimiser and its schedule, of which a step is one of `steps` an epoch."""
    head = recipe.learning_rate if recipe.head_learning_rate is None else recipe.head_learning_rate
    groups = _groups(model, recipe.learning_rate, head, recipe.weight_decay, recipe.undecayed)
    kind = torch.optim.AdamW if recipe.optimiser == "adamw" else partial(torch.optim.Adam, amsgrad=True)
    stepper = kind(groups, betas=recipe.betas, fused=True)  # on a CPU ten times as fast as unfused
    total = steps * recipe.epochs if recipe.schedule == "linear" else math.inf
    return stepper, torch.optim.lr_scheduler.LambdaLR(stepper, _rate(round(recipe.warmup * steps), total))


def _splits(classifier, data):
    """The encodings and labels of the splits "train" and "validation": [(encodings, labels)] * 2."""
    if not hasattr(data, "splits"):
        if missing := {"train", "validation"} - set(data if isinstance(data, Mapping) else ()):
            raise ValueError(f"splits without {min(missing)!r}: give what load_data returns, with both")
        return data["train"], data["validation"]
    if hasattr(classifier, "prefix"):
        raise ValueError(f"{classifier.name} is a language model: give {{split: (encodings, targets)}}")
    splits, names, classes = [], fit.label_names(getattr(classifier.model, "config", None)), data.task.labels
    named = names and classes and not fit.numbered(classes)
    places = fit.places(classes, names) if named else list(range(len(classes)))  # of each class of data
    if places is None:
        raise ValueError(
            f"data has the classes {', '.join(classes)}, {classifier.name} has {', '.join(names)}: "
            "give data and a model of the same classes, or load the model with new_head=True"
        )
    for name in ("train", "validation"):
        rows = data.splits.get(name)
        if rows is None or "label" not in rows.column_names:
            raise ValueError(f"data has no split {name!r} with labels: give what load_data returns of both")
        numbers = np.array(places)[rows["label"]]
        splits.append((classifier.encode(list(rows["text"]), list(rows["text_b"])), numbers))
    return splits


@placement.without_gradients
def evaluate(classifier: Any, encodings: Sequence, labels: Sequence[int] | np.ndarray) -> dict[str, Any]:
    """Performance of a classifier, which is put into evaluation mode, on a split with labels (examples,) int.

    Returns:
        {"loss": cross-entropy, nats per example; the metrics of `performance`; "probabilities": (examples,
        classes) float32}.
    """
    classifier.model.eval()
    data, labels = Split(classifier, encodings, labels), np.asarray(labels, np.int64)
    logits = torch.empty(len(encodings), classifier.outputs)
    for rows in batches_by_length(data.lengths, token_budget(classifier)):
        longest = int(data.lengths[rows].max())
        parts = halving(classifier, lambda rows: classifier.logits(data.at(rows)[0]).cpu(), rows, longest)
        logits[rows] = torch.cat(parts)
    return {
        "loss": cross_entropy(logits, torch.as_tensor(labels)).item(),
        **performance(logits.argmax(-1).numpy(), labels),
        "probabilities": logits.softmax(-1).numpy(),
    }


class _Evaluations:
    """The evaluations of one training by one rule, and the weights of the best of them.

    `copies` is {"unmasked", and where masked texts count "masked": (encodings, labels)} of the validation
    split.
    """

    def __init__(self, classifier, copies, best, selection):
        self.classifier, self.copies, self.best, self.selection = classifier, copies, best, selection
        self.history, self.weights, self.top = [], None, -math.inf

    def performance(self, shared):
        """The performance that selects, and further entries for the history's row."""
        for name in [name for name in self.copies if name not in shared]:
            shared[name] = evaluate(self.classifier, *self.copies[name])
        measured = {name: shared[name] for name in self.copies}
        if len(measured) == 1:
            return measured["unmasked"], {}
        one, other = measured.values()
        predicted = np.concatenate([copy["probabilities"].argmax(-1) for copy in (one, other)])
        both = performance(predicted, np.tile(self.copies["unmasked"][1], 2))
        measured["both"] = {"loss": (one["loss"] + other["loss"]) / 2, **both}
        extra = {f"validation_{self.best}_{name}": measured[name][self.best] for name in self.copies}
        return measured[self.selection], extra

    def evaluate(self, epoch, step, steps, losses, learning_rate, shared):
        """Evaluate after `step` of an epoch's `steps`; `losses` are those of `_step` since the last time.

        `shared` is {copy: its performance after this step}, which all rules fill and use.
        """
        losses = torch.stack(losses).tolist()  # all at once, so that a GPU is not synchronised at each step
        for i, values in enumerate(losses, step - len(losses) + 1):
            for loss, kind in zip(values, ("training", "salience"), strict=False):
                if not math.isfinite(loss):
                    raise FloatingPointError(
                        f"{kind} loss is {loss} in epoch {epoch + 1}, step {i}: "
                        f"lower learning_rate ({learning_rate})"
                    )
        measured, extra = self.performance(shared)
        loss = measured["loss"]
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"validation loss is {loss} in epoch {epoch + 1}: lower learning_rate ({learning_rate})"
            )
        means = [float(np.mean(values)) for values in zip(*losses, strict=True)]
        row = {"epoch": epoch + step / steps, "train_loss": means[0], "validation_loss": loss}
        if len(means) > 1:
            row["salience_loss"] = means[1]
        value = -loss
        if self.best != "loss":
            row[f"validation_{self.best}"] = value = measured[self.best]
        row.update(extra)
        row["kept"] = value > self.top
        if row["kept"]:
            for earlier in self.history:
                earlier["kept"] = False
            self.top = value
            self.weights = {k: v.detach().clone() for k, v in self.classifier.model.state_dict().items()}
        self.history.append(row)

    def finished(self, patience):
        """Whether to stop: the metric is 1, or the last `patience` evaluations were not better."""
        if not self.history:
            return False
        since = [row["kept"] for row in reversed(self.history)].index(True)
        return since == patience or (self.best != "loss" and self.top == 1)


def _step(classifier, data, rows, stepper, clip, guide, accumulate=1):
    """Take an optimiser step on the examples `rows`; returns L_c and, with a guide, L_sal: (1 or 2,).

    The gradients of `accumulate` pieces are added up. When memory runs out, the step is retried with twice as
    many pieces, and so on: the same step except for the draws of dropout.
    """
    classifier.model.train()
    batch, labels = data.at(rows)
    pieces = min(accumulate, len(rows))
    while True:
        stepper.zero_grad()
        try:
            parts = np.array_split(np.arange(len(rows)), pieces)
            losses = [_backward(classifier, batch, labels, rows, part, guide) for part in parts]
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
    """Add the gradients of a piece of a batch, weighted by its share; returns the losses, so weighted."""
    share = len(piece) / len(rows)
    if share < 1:
        index = torch.as_tensor(piece, device=labels.device)
        batch, labels, rows = batch.at(index), labels[index], np.asarray(rows)[piece]
    if guide is None:
        loss = cross_entropy(classifier.logits(batch), labels)
        losses = [loss]
    else:
        logits, divergence = guide.logits_and_loss(batch, rows)
        losses = [cross_entropy(logits, labels), divergence]
        loss = losses[0] + guide.weight * losses[1]
    (loss * share if share < 1 else loss).backward()
    return torch.stack(losses).detach() * share


def _check(classifier, recipe, guided):
    """Raise ValueError for what a model cannot have of a recipe, with or without a salience."""
    name, model = classifier.name, getattr(classifier, "model", None)
    if model is None:
        raise ValueError(f"{name} is no model of transformers: train it yourself, then explain it")
    if classifier.dtype == torch.float16:
        raise ValueError(f"{name} has dtype float16, whose gradients vanish: train it in bfloat16")
    if recipe.accumulate > 1 and guided and recipe.definition == "released":
        raise ValueError(
            f"accumulate={recipe.accumulate} and the released salience loss, which squares a sum over the "
            "batch: set accumulate=1 or definition='paper'"
        )
    if recipe.checkpointing and guided:
        raise ValueError("checkpointing=True and a salience, which keeps attention weights: leave one out")
    if recipe.checkpointing and not getattr(model, "supports_gradient_checkpointing", False):
        raise ValueError(f"checkpointing=True: {name} cannot recompute its layers: leave it out")
    if placement.offloaded(model):
        raise ValueError(f"{name} has offloaded weights: load it without device_map to train it")
    if any(map(precision.quantised, model.parameters())):
        raise ValueError(f"{name} has quantised weights: load it without quantisation to train it")
    if guided and not recipe.plain:
        raise ValueError(
            f"masking={recipe.masking!r}, selection={recipe.selection!r} and a salience: masked fine-tuning "
            "and salience loss do not go together, leave one out"
        )


def _groups(model, learning_rate, head_learning_rate, weight_decay, undecayed):
    """Parameter groups of the optimiser: encoder and head, each with and without weight decay."""
    encoder, groups = {id(p) for p in model.base_model.parameters()}, {}
    for name, p in model.named_parameters():
        decay = 0.0 if any(text in name for text in undecayed) else weight_decay
        groups.setdefault((id(p) not in encoder, decay), []).append(p)
    rates = {True: head_learning_rate, False: learning_rate}  # whether it is the head's
    keys = sorted(groups)
    return [{"params": groups[key], "lr": rates[key[0]], "weight_decay": key[1]} for key in keys]


def _rate(warmup_steps, total):
    """The factor of the learning rate at a step: linear warm-up, then linear decay to 0 at `total` steps."""

    def rate(step):
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        return (total - step) / max(1, total - warmup_steps) if total < math.inf else 1.0

    return rate
