"""What a study is of: one model, its texts, targets and metrics, all checked before the first pass."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from faithlib import attributions
from faithlib.engine import batching, operators
from faithlib.metrics.inputs import Inputs
from faithlib.models import placement
from faithlib.study import chunks, classes, imports, masked, plan
from faithlib.study import targets as explained
from faithlib.study.data import Texts
from faithlib.study.methods import Methods, unused


@dataclass(frozen=True)
class Asked:
    """Arguments of `evaluate`."""

    metrics: str | Sequence[str]
    targets: Sequence | np.ndarray | None
    contrast: Sequence | np.ndarray | None
    baselines: int
    operator: str | operators.Operator | None
    minutes: float | None
    budget: int | None
    resume: str | Path | None
    long_texts: str
    blank: bool
    settings: dict


@dataclass(frozen=True)
class Part:
    """One model and its texts, or a block of them: what the steps of a study take and none of them changes.

    aligned: {attribution: [(tokens,)]}, the scores that are given; predicted: None before the model is asked;
    metrics, masked: those of single texts, and of a model trained with masks; left_out: why there are none of
    these, in a sentence, or ""; weights: what tells the model from others where blocks are kept; passes:
    {attribution or metric: the passes that it is estimated to need}.
    """

    model: object
    name: str
    texts: Texts
    wanted: Methods
    asked: Asked
    encodings: list
    cut: str
    labels: np.ndarray | None
    aligned: dict
    targets: explained.Targets
    inputs: Inputs
    metrics: tuple = ()
    masked: tuple = ()
    left_out: str = ""
    predicted: np.ndarray | None = None
    weights: list | None = None
    passes: dict = field(default_factory=dict)

    def block(self, rows):
        """Some of its texts, with a cache of their own."""
        if len(rows) == len(self.encodings):
            return self
        encodings, targets = [self.encodings[i] for i in rows], self.targets.at(rows)
        evidence = self.inputs.evidence and [self.inputs.evidence[i] for i in rows]
        aligned = {name: [of_texts[i] for i in rows] for name, of_texts in self.aligned.items()}
        inputs = _inputs(self.model, encodings, targets, evidence, self.asked, self.inputs.masking)
        return replace(self, encodings=encodings, targets=targets, aligned=aligned, inputs=inputs)


def prepare(model, name, texts, wanted, asked):
    """The `Part` of a model, all checked that can be before it is asked."""
    if asked.resume is not None and placement.offloaded(model.model):
        raise ValueError(f"resume={str(asked.resume)!r}: {model.name} has offloaded weights: drop resume")
    encodings, cut = texts.encode(model, asked.long_texts)
    batching.check_budget(asked.budget, [len(e.ids) for e in encodings])
    of_texts = None if hasattr(model, "prefix") else classes.labels(texts, model)
    attributions.check(wanted.names or ["random_uniform"], model, **asked.settings)
    for setting in unused(wanted.names, asked.settings):
        print(f"{setting}={asked.settings[setting]!r}: no attribution of {', '.join(wanted.order)} takes it")
    if asked.operator == "resample":
        unigrams, stream = texts.unigrams(model), f"{texts.name or 'study'} {asked.settings['seed']}"
        asked = replace(asked, operator=operators.Operator(model, "resample", "", unigrams, stream))
    elif getattr(asked.operator, "model", model) is not model:
        raise ValueError(f"operator is of another model than {model.name}: give its name, operator='mask'")
    targets = explained.resolve(model, texts, encodings, asked.targets, asked.contrast, blank=asked.blank)
    explained.check(targets, wanted.names)
    aligned = _aligned(wanted, texts, model, targets, encodings)
    evidence, masking = texts.column("evidence"), masked.masking(model, texts.validation, of_texts)
    inputs = _inputs(model, encodings, targets, evidence, asked, masking)
    chosen = plan.chosen(asked.metrics, inputs)
    of_single = tuple(metric for metric in chosen if metric.level == "example")
    of_masked = tuple(masked.METRICS) if len(of_single) < len(chosen) else ()
    if of_masked and asked.minutes:
        raise ValueError(f"minutes={asked.minutes}: RACU and MaSF need the whole data set: leave one out")
    missing = asked.metrics == "all" and masked.could(model) and not of_masked
    return Part(
        model, name, texts, wanted, asked, encodings, cut, of_texts, aligned, targets, inputs, of_single,
        of_masked, left_out=masked.REASON if missing else "",
    )  # fmt: skip


def usual(model):
    """The name of the operator for whole tokens where none was asked for, "" for that of each metric."""
    if model.mask_id is not None:
        return "mask"
    return "zero" if operators.takes_factor(model) else ""


def _aligned(wanted, texts, model, targets, encodings):
    """The scores that are given, on the tokens that the model reads: {attribution: [(tokens,)]}."""
    about = texts.column("text"), model, targets.first, texts.column("text_b")
    return imports.align(wanted.scores, *about, encodings)


def _inputs(model, encodings, targets, evidence, asked, masking, cache=None):
    """What metrics are given."""
    return Inputs(
        model, encodings, targets.first, evidence, asked.settings["seed"], cache, targets.answers,
        targets.contrast, masking, asked.operator, usual(model),
    )  # fmt: skip


def check_metrics(parts):
    """Raise ValueError for models that cannot have the same metrics."""
    first, *others = ({metric.name for metric in (*part.metrics, *part.masked)} for part in parts)
    for part, names in zip(parts[1:], others, strict=True):
        if differ := names ^ first:
            raise ValueError(
                f"{parts[0].name} and {part.name} do not support the same metrics, only one has "
                f"{min(differ)!r}: name metrics that both support, or evaluate each alone"
            )


def predict(part):
    """(the part with what its model predicts, which is explained unless targets are given, its estimate)."""
    model, texts, encodings, asked = part.model, part.texts, part.encodings, part.asked
    cache = part.inputs.cache
    with batching.limited(model, asked.budget):
        per_token = plan.seconds_per_token(model, encodings, cache)
        predicted = explained.predictions(model, encodings, cache)
    wanted = asked.targets, asked.contrast, predicted, asked.blank
    targets = explained.resolve(model, texts, encodings, *wanted)
    part = replace(
        part,
        targets=targets,
        predicted=predicted,
        aligned=_aligned(part.wanted, texts, model, targets, encodings),  # of several outputs, the right
        inputs=_inputs(model, encodings, targets, part.inputs.evidence, asked, part.inputs.masking, cache),
        weights=None if asked.resume is None else chunks.identity(model),
    )
    estimate = plan.estimate(
        model, encodings, part.wanted.names, len(part.aligned), part.metrics + part.masked,
        asked.baselines, asked.budget, per_token, **asked.settings,
    )  # fmt: skip
    return replace(part, passes=estimate.by_name), estimate
