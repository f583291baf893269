"""Which metric can be believed: one unit, which is a model of each mechanism, its gates and all scores."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from faithlib import models, training
from faithlib.attributions import attribute
from faithlib.corpora import planted
from faithlib.provenance import code_digest, weights_digest
from faithlib.store import digest
from notebooks.ground_truth.measure import familiarity, gates, language, protocol, retraining
from notebooks.ground_truth.measure.compiled import compiled
from notebooks.ground_truth.measure.explanations import RUNGS
from notebooks.noiser.measure.judge import LocalJudge

COMPILED = "compiled"  # the name of the model whose weights are written down
TESTED = 400  # texts that accuracy is measured on
PART = 20  # texts whose outputs are kept at once
MOST = 5  # sentences offered for each text that is scored: those without whole evidence are passed over


@dataclass(frozen=True)
class Unit:
    """What a unit computes; fields are the notebook's parameters of these names.

    `masking` is "none", "half" (masked fine-tuning), or "roar" (models are trained again on masked texts).

    Raises:
        ValueError: a mechanism that is unknown, or not for this model.
    """

    model: str
    seed: int
    classes: int = 3
    masking: str = "none"
    train_size: int = 16_000
    examples: int = 100
    epochs: int = 8
    batch_size: int = 32
    learning_rate: float = 2e-3
    draws: int = protocol.DRAWS
    attributions: tuple = ()
    model_dir: str = ""
    sentences: tuple = ()

    def mechanisms(self, chosen=()):
        """The mechanisms asked for, [Mechanism]; by default all that the model can have.

        Graded evidence is for the compiled model alone, which has no blind mechanism and no default class.
        """
        known = [
            m
            for m in planted.MECHANISMS.values()
            if not (m.control if self.model == COMPILED else m.needs == "sum")
        ]
        if wrong := [name for name in chosen if name not in [m.name for m in known]]:
            names = ", ".join(m.name for m in known)
            raise ValueError(f"mechanisms={wrong[0]!r} is none of {self.model}: use {names}")
        plain = (self.classes, self.masking) == (3, "none")
        if self.model == COMPILED and not plain:
            raise ValueError(
                "the compiled model has three classes and no training: use classes=3, masking='none'"
            )
        if self.causal and (not plain or self.sentences):
            raise ValueError(
                f"{self.model} has three classes, generated texts and no masks: use classes=3, "
                "masking='none', task='planted'"
            )
        return [m for m in known if not chosen or m.name in chosen]

    @property
    def causal(self):
        """Whether the model is a language model."""
        return self.model == language.MODEL

    @property
    def kind(self):
        """Of its model, as `protocol.metrics` takes it."""
        return "causal" if self.causal else "classifier"

    @property
    def settings(self):
        """Of `training.fine_tune`."""
        masking = "none" if self.masking == protocol.RETRAINED else self.masking
        return dict(
            epochs=self.epochs, batch_size=self.batch_size, learning_rate=self.learning_rate, seed=self.seed,
            masking=masking,
        )  # fmt: skip


def corpus(unit, mechanism):
    """The texts of a unit and mechanism, those of a seed the same for all models: {split: [example]}."""
    sizes = {"train": unit.train_size, "validation": 300, "test": max(TESTED, MOST * unit.examples)}
    count = sum(sizes.values())
    sentences = None
    if unit.sentences:
        order = np.random.default_rng([unit.seed, count]).permutation(len(unit.sentences))
        sentences = [unit.sentences[i] for i in order]
    rows = planted.make(mechanism.name, count, unit.seed, unit.classes, sentences)
    ends = np.cumsum(list(sizes.values()))[:-1]
    return {
        name: list(part) for name, part in zip(sizes, np.split(np.array(rows, object), ends), strict=True)
    }


def untrained(unit, device, texts):
    """The unit's model before training, always with the same weights; texts: [str], its vocabulary."""
    if unit.causal:
        words = [*texts, " ".join(planted.LABELS)]
        return models.load_causal(unit.model, words, unit.model_dir, unit.seed, device)
    labels = planted.LABELS[: unit.classes]
    size = {"width": 64, "hidden": 64} if unit.model == "bilstm" else {}
    return models.load(unit.model, labels, texts, unit.model_dir, unit.seed, device, **size)


def model_of(run, unit, mechanism, rows):
    """(the unit's classifier of one mechanism, its training history)."""
    if unit.model == COMPILED:
        return compiled(mechanism.name, [row["text"] for row in rows["test"]]), []
    classifier = untrained(unit, run.device, [row["text"] for row in rows["train"]])
    history = run.keep_weights(
        classifier,
        lambda: training.fine_tune(classifier, _encoded(classifier, rows), **unit.settings),
        [unit.settings, mechanism.name, unit.classes, digest([rows["train"], rows["validation"]])],
    )
    return classifier, history


def _encoded(classifier, rows):
    """{split: (encodings, targets)}."""
    return {
        split: (classifier.encode([row["text"] for row in of]), language.targets(classifier, of))
        for split, of in rows.items()
    }


def judge_of(run, unit, mechanism, rows):
    """A language model that learnt the classes from texts with gaps, as a judge."""
    lm, _ = model_of(
        run, replace(unit, seed=unit.seed + language.JUDGE), mechanism, language.gapped(rows, unit.seed)
    )
    return LocalJudge(lm, tokens=1)


def gated(unit, classifier, mechanism, rows):
    """Which texts count: (accepted examples, a row of what the gates found).

    Texts whose fifths have no room for the evidence are left out first; a mechanism whose evidence decides
    nothing has no gates.
    """
    rng = np.random.default_rng([unit.seed, list(planted.MECHANISMS).index(mechanism.name)])
    whole = [row for row in rows["test"] if row["kind"] == "whole"]
    encodings = classifier.encode([row["text"] for row in whole])
    tokens = [protocol.evidence_of(e, row["evidence"]) for e, row in zip(encodings, whole, strict=True)]
    fits = [
        row
        for row, true in zip(whole, tokens, strict=True)
        if mechanism.needs != "all" or len(true) // RUNGS >= true.sum()
    ]
    found = {"mechanism": mechanism.name, "corpus": digest(rows), "too_short": len(whole) - len(fits)}
    fits = fits[: unit.examples]
    found["tokens"] = float(np.mean([len(true) for true in tokens]))
    others = [row["text"].split() for row in rows["test"] if row["kind"] == "empty"] or [
        planted.neutral(rng).split() for _ in range(50)
    ]
    accuracy, swapped = gates.accuracy(classifier, rows["test"][:TESTED], others, rng)
    found |= {"accuracy": accuracy, "swapped": swapped, "texts": len(fits)}
    if mechanism.control:
        return fits, found | {"passed": len(fits), "refused": ""}
    default = unit.classes == 2 or unit.settings["masking"] != "none"
    table = gates.of_texts(classifier, mechanism, fits, others, rng, default)
    reason = gates.refused(accuracy, swapped, table)
    found |= {"passed": int(table.passes.sum()), "refused": reason}
    found |= {f"rejected_{name}": n for name, n in gates.rejected(table).items()}
    return [row for row, passes in zip(fits, table.passes, strict=True) if passes and not reason], found


def measured(run: Any, unit: Any, mechanism: Any, functions: dict, spent: dict) -> dict[str, pd.DataFrame]:
    """All scores of one mechanism, resumable.

    Args:
        run: a `results.Run`.
        unit: a `Unit`.
        mechanism: a `corpora.planted.Mechanism`.
        functions: as `protocol.metrics` returns them.
        spent: as `protocol.score` takes it.

    Returns:
        {"counts": a table with protocol.KEYS and COUNTS, "attributions": one with protocol.MEANS,
        "familiarity": one with familiarity.COLUMNS, "gates": a table of one row, "excluded": rows}.
    """
    rows = corpus(unit, mechanism)
    classifier, history = model_of(run, unit, mechanism, rows)
    kept, gate = gated(unit, classifier, mechanism, rows)
    gate["epochs"] = next((row["epoch"] for row in history if row["kept"]), 0)
    found = {name: pd.DataFrame() for name in ("counts", "attributions", "familiarity")}
    found |= {"gates": pd.DataFrame([gate]), "excluded": []}
    if not kept:
        why = gate["refused"] or "no text is long enough"
        return found | {"excluded": [{"what": mechanism.name, "why": why, "n": gate["texts"]}]}
    if unit.masking == protocol.RETRAINED:
        return found | _retrained(run, unit, mechanism, rows)
    if unit.causal:
        judge = judge_of(run, unit, mechanism, rows)
        functions = functions | language.metrics(judge, kept, unit.draws)
    everything = functions | protocol.controls(functions, unit.seed)
    made_by = weights_digest(classifier.model), code_digest("notebooks/ground_truth", "corpora")
    key = [run.params, mechanism.name, sorted(everything), gate["passed"], *made_by]
    counts = run.in_parts(
        f"ladders-{mechanism.name}",
        len(kept),
        lambda start, stop: protocol.score(
            classifier, mechanism, kept[start:stop], everything, unit.seed, spent
        ),
        key,
        PART,
    )
    found["counts"], void = protocol.total(counts)
    found["excluded"] = [
        {
            "what": f"{metric} of {mechanism.name}",
            "why": "it means nothing too often",
            "n": round(share * len(kept)),
        }
        for metric, share in void
    ]
    if mechanism.control:
        return found
    validation = [row["text"] for row in rows["validation"]]
    if not unit.causal:
        found["familiarity"] = familiarity.of_perturbations(
            classifier, kept, validation, unit.masking, unit.seed
        )
    if not unit.attributions:
        return found
    names = {name: f for name, f in functions.items() if name not in dict(void)}
    values = run.in_parts(
        f"attributions-{mechanism.name}",
        len(kept),
        lambda start, stop: attributed(
            classifier, kept[start:stop], list(unit.attributions), names, unit.seed
        ),
        key,
        PART,
    )
    means = values.groupby(["attribution", "metric"], sort=False).value.agg(["mean", "count"]).reset_index()
    means.columns = protocol.MEANS
    counts = pd.concat([found["counts"], protocol.order(values)], ignore_index=True)
    return found | {"counts": counts, "attributions": means}


def attributed(classifier, rows, names, functions, seed=0):
    """`protocol.of_attributions` of the scores of attributions of these names."""
    encodings, targets = classifier.encode([row["text"] for row in rows]), language.targets(classifier, rows)
    scores = attribute(classifier, encodings, targets, names, seed=seed)
    return protocol.of_attributions(classifier, rows, scores, functions, seed)


def _retrained(run, unit, mechanism, rows):
    """{"counts", "attributions"}: what RACU by retraining makes of rungs, resumable by model."""
    tuned, _ = model_of(run, replace(unit, masking="half"), mechanism, rows)
    make = partial(untrained, unit, run.device, [row["text"] for row in rows["train"]])
    splits, kept = _encoded(tuned, rows), run.kept / mechanism.name
    settings = {name: value for name, value in unit.settings.items() if name != "seed"}
    found = retraining.score(make, tuned, splits, settings, kept, unit.seed)
    return dict(zip(("counts", "attributions"), found, strict=True))
