"""`evaluate`: attributions × metrics of one model, or several, on one's own texts."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from faithlib import attributions as methods
from faithlib import scores
from faithlib.engine import batching, forward
from faithlib.engine.operators import OPERATORS, Operator, takes_factor
from faithlib.metrics import normalised
from faithlib.metrics.inputs import Inputs
from faithlib.metrics.plausibility import evidence_tokens, without_evidence
from faithlib.models import placement
from faithlib.models.base import Transformer
from faithlib.progress import bar, silent
from faithlib.study import chunks, masked, plan, show, table
from faithlib.study import targets as explained
from faithlib.study.data import Texts, check_model, class_names, labels, read, taken_as
from faithlib.study.imports import align
from faithlib.study.methods import Methods, joined, unused

BLOCK = 10  # texts whose scores and values are kept together
GAP = 0.1  # of what the target changes by: a larger gap of integrated gradients is told
GAPPED = ("integrated_gradients", "integrated_gradients_abs")


@dataclass
class Study:
    """What `evaluate` returns.

    Attributes:
        table: a row for each attribution and metric, with COLUMNS. value: the mean over the n texts where the
            metric means something; ci_low, ci_high: its 95 % interval; void: texts left out because the value
            means nothing there; diagnosticity: share of texts on which the attribution's value is better
            than that of its own scores in random order (ties count ½); unit: what the interval speaks of;
            operator: what took an erased token's place (of soft metrics that of parts of it); dtype: what the
            model computed in; flag: why there is no value or interval, and what else to know.
        values: a row for each model, text (example), attribution, metric, baseline ("" or "matched") and draw
            of the baseline.
        scores: {attribution: [(tokens,) of each text]}; of the first model, where there are several.
        encodings, targets: the texts as the model reads them, and what was explained: (texts,) int, the
            class, or the (first) token.
        texts: the texts, [str].
        tokens: the tokens of each text, [[str]].
        model_name: name of the model; of several, joined by commas.
        notes: what to know before the table is read, in sentences.
        labels, predicted: (texts,) int, the classes given and predicted, None where there are none; of
            language models predicted are the next tokens in words.
        label_names: the names of the classes, () where they have none.
        target_names: what was explained of each text, in words; None where it is a class alone.
        p: (texts,) the probability of the target (less that of a contrast) given the whole text.
        curves: {attribution: [p as its highest tokens are masked, at `normalised.levels`]}, where AOPC,
            comprehensiveness was measured.
        parts: a Study for each model, where there are several.
        estimate: `plan.Estimate`, what the study was thought to cost.
    """

    table: pd.DataFrame
    values: pd.DataFrame = field(repr=False)
    scores: dict = field(repr=False)
    encodings: list = field(repr=False)
    targets: np.ndarray = field(repr=False)
    texts: list = field(repr=False, default_factory=list)
    tokens: list = field(repr=False, default_factory=list)
    model_name: str = ""
    notes: list = field(default_factory=list)
    labels: np.ndarray | None = field(repr=False, default=None)
    predicted: np.ndarray | None = field(repr=False, default=None)
    parts: tuple = field(repr=False, default=())
    estimate: plan.Estimate | None = field(repr=False, default=None)
    label_names: tuple = ()
    target_names: list | None = field(repr=False, default=None)
    p: np.ndarray | None = field(repr=False, default=None)
    curves: dict = field(repr=False, default_factory=dict)

    def __str__(self) -> str:
        """Five lines: see `study.show.summary`."""
        return show.summary(self)

    def show(self, **options: int) -> None:
        """Show the table, a figure and heat maps of a few texts: see `study.show.show`."""
        show.show(self, **options)

    def agreement(self, **options: int) -> pd.DataFrame:
        """Rank agreement of the metrics: see `study.show.agreement`."""
        return show.agreement(self, **options)

    def save(self, folder: str | Path) -> Path:
        """Save record, tables, figures and explorer in a folder: see `study.show.save`."""
        return show.save(self, folder)


def load_study(folder: str | Path) -> Study:
    """A study that `Study.save` wrote, to show again: its table, values, scores and texts, without a model.

    Args:
        folder: as of `Study.save`.

    Returns:
        A `Study`; the encodings hold what is shown, and no ids. Of several models there are no parts.

    Raises:
        FileNotFoundError: no study stands there.
        ValueError: another version, or a file that is missing or changed.

    Example:
        >>> load_study("nowhere")
        Traceback (most recent call last):
            ...
        FileNotFoundError: 'nowhere' has no record.json: give a folder that study.save made
    """
    return Study(**show.read(folder))


def evaluate(
    model: object,
    data: object,
    attributions: Sequence | Mapping | str | Callable,
    metrics: str | Sequence[str] = "default",
    targets: Sequence | np.ndarray | None = None,
    *,
    contrast: Sequence | np.ndarray | None = None,
    baselines: int = 1,
    seed: int = 0,
    operator: str | Operator | None = None,
    minutes: float | None = None,
    budget: int | None = None,
    resume: str | Path | None = None,
    long_texts: str = "error",
    blank: bool = True,
    progress: bool = True,
    **settings: object,
) -> Study:
    """Score attributions of a model by faithfulness metrics, on any texts.

    Args:
        model: a `Classifier` or `CausalLM`, as `load_model` gives; or a list of them, such as one for each
            seed of training: then intervals are over models × texts.
        data: a list of texts, a DataFrame, a `datasets.Dataset` or what `load_data` gives (its split "test",
            or the only one), with the column text; columns text_b (never masked or scored), label, evidence
            (indices of decisive words), target and contrast (of prompts) are used where they are there.
        attributions: names of `faithlib.attributions.names()` and functions (model, batch, target) -> scores
            (batch, tokens); or {name: name, function or scores of all texts}, as `imports.align` takes them.
        metrics: names of `faithlib.metrics.registry.names()`; "default" for the cheaper ones that this model
            and data support; "all" for the others of single texts too, and RACU and MaSF of a
            model trained with masks.
        targets: what is explained, one a text: a class by number or name; for language models a token id,
            several, or the text of an answer. By default what the model predicts.
        contrast: as targets; then p(target) − p(contrast) is explained.
        baselines: how often each attribution's scores are put in random order, for the diagnosticity.
        seed: of every random draw.
        operator: what takes an erased token's place in all metrics: "zero", "mask", "delete", "pad", or
            "resample" (tokens of the split "train"). By default "mask" where the model has a mask token, else
            "zero"; soft metrics erase parts of tokens by zero, as their papers do.
        minutes: stop after about so many minutes, with the texts that are done by then, in a random order
            that `seed` fixes; at least one block of ten. The same call goes on with the same `resume`.
        budget: padded tokens of a pass; by default what fits the processor's caches or the GPU's memory.
        resume: a folder that keeps finished blocks of ten texts, so that a study that was stopped goes on.
        long_texts: "error" refuses texts that are longer than the model takes, "truncate" cuts their ends.
        blank: whether a blank parts an answer from its prompt where one is usual (`targets.parted`).
        progress: whether an estimate and progress bars are shown.
        settings: of the attributions, such as `steps=50`.

    Raises:
        ValueError: an unknown attribution, metric or setting, a metric whose needs are not met, texts that
            are empty or too long, labels that are not the model's, targets that it does not have; before any
            work starts.
        FloatingPointError: scores or outputs of the model that are not finite.

    Example:
        >>> from faithlib import evaluate, load_data, load_model
        >>> reviews = load_data("sentiment", sizes={"train": 200, "validation": 20, "test": 20})
        >>> model = load_model("tiny-bert", data=reviews)
        >>> texts = reviews.splits["test"].select_columns(["text", "evidence"])
        >>> study = evaluate(model, texts, ["gradient_l2", "lime"], ["auprc"], samples=20)
        >>> study.table[["attribution", "metric", "n"]].values.tolist()
        [['gradient_l2', 'auprc', 20], ['lime', 'auprc', 20]]
    """
    models = list(model) if isinstance(model, (list, tuple)) else [model]
    _check(models, baselines, seed, resume, minutes, operator)
    texts = read(data)
    asked = _Asked(
        metrics, targets, contrast, baselines, operator, minutes, budget, resume, long_texts, blank,
        {"seed": seed, **settings},
    )  # fmt: skip
    with joined(attributions) as wanted:
        parts = [
            _prepare(m, name, texts, wanted, asked) for m, name in zip(models, _names(models), strict=True)
        ]
        _check_metrics(parts)
        with nullcontext() if progress else silent():
            predicted, estimates = zip(*map(_predict, parts), strict=True)
            return _study(predicted, sum(estimates[1:], estimates[0]), progress)


@dataclass(frozen=True)
class _Asked:
    """Arguments of `evaluate`."""

    metrics: str | Sequence[str]
    targets: Sequence | np.ndarray | None
    contrast: Sequence | np.ndarray | None
    baselines: int
    operator: str | Operator | None
    minutes: float | None
    budget: int | None
    resume: str | Path | None
    long_texts: str
    blank: bool
    settings: dict


@dataclass(frozen=True)
class _Part:
    """One model and its texts, or a block of them: what the steps of a study take and none of them changes.

    Attributes:
        evidence: of each text, or None.
        aligned: {attribution: [(tokens,)]}, the scores that are given.
        targets, predicted: what is explained, and what the model predicts, None before it is asked.
        metrics, masked: the metrics of single texts, and those of a model trained with masks.
        left_out: why there are none of these, in a sentence, or "".
        weights: what tells the model from others where blocks are kept.
        passes: {attribution or metric: the passes that it is estimated to need}.
    """

    model: object
    name: str
    texts: Texts
    wanted: Methods
    asked: _Asked
    encodings: list
    cut: str
    labels: np.ndarray | None
    evidence: list | None
    aligned: dict
    targets: explained.Targets
    inputs: Inputs
    metrics: tuple = ()
    masked: tuple = ()
    left_out: str = ""
    predicted: np.ndarray | None = None
    weights: list | None = None
    passes: dict = field(default_factory=dict)

    @property
    def operators(self):
        """{metric: the name of the operator with which it erases}."""
        return {metric.name: self.inputs.erased_by(metric) for metric in self.metrics}

    def block(self, rows):
        """Some of its texts, with a cache of their own."""
        if len(rows) == len(self.encodings):
            return self
        encodings, targets = [self.encodings[i] for i in rows], self.targets.at(rows)
        evidence = self.evidence and [self.evidence[i] for i in rows]
        return replace(
            self,
            encodings=encodings,
            targets=targets,
            evidence=evidence,
            aligned={name: [of_texts[i] for i in rows] for name, of_texts in self.aligned.items()},
            inputs=_inputs(self.model, encodings, targets, evidence, self.asked, self.inputs.masking),
        )


# Prepare ------------------------------------------------------------------------------------------


def _prepare(model, name, texts, wanted, asked):
    """The `_Part` of a model, all checked that can be before it is asked."""
    if asked.resume is not None and placement.offloaded(model.model):
        raise ValueError(
            f"resume={str(asked.resume)!r}: {model.name} has offloaded weights: leave resume out"
        )
    encodings, cut = texts.encode(model, asked.long_texts)
    batching.check_budget(asked.budget, [len(e.ids) for e in encodings])
    of_texts = None if hasattr(model, "prefix") else labels(texts, model)
    methods.check(wanted.names or ["random_uniform"], model, **asked.settings)
    for setting in unused(wanted.names, asked.settings):
        print(f"{setting}={asked.settings[setting]!r}: no attribution of {', '.join(wanted.order)} takes it")
    if asked.operator == "resample":
        asked = replace(asked, operator=_resample(model, texts))
    targets = _targets(model, texts, encodings, asked)
    explained.check(targets, wanted.names)
    aligned = _aligned(model, texts, wanted, encodings, targets)
    evidence, masking = texts.column("evidence"), masked.masking(model, texts.validation, of_texts)
    inputs = _inputs(model, encodings, targets, evidence, asked, masking)
    chosen = plan.chosen(asked.metrics, inputs)
    of_single = tuple(metric for metric in chosen if metric.level == "example")
    of_masked = tuple(masked.METRICS) if len(of_single) < len(chosen) else ()
    if of_masked and asked.minutes:
        raise ValueError(f"minutes={asked.minutes}: RACU and MaSF are of a whole data set: leave one out")
    missing = asked.metrics == "all" and masked.could(model) and not of_masked
    return _Part(
        model, name, texts, wanted, asked, encodings, cut, of_texts, evidence, aligned, targets, inputs,
        of_single, of_masked, left_out=masked.REASON if missing else "",
    )  # fmt: skip


def _resample(model, texts):
    return Operator(model, "resample", unigrams=texts.unigrams(model), stream=texts.name or "study")


def _usual(model):
    """The name of the operator for whole tokens where none was asked for, "" for that of each metric."""
    if model.mask_id is not None:
        return "mask"
    return "zero" if takes_factor(model) else ""


def _targets(model, texts, encodings, asked, predicted=None):
    """The targets, of which None is what the model predicts."""
    return explained.resolve(model, texts, encodings, asked.targets, asked.contrast, predicted, asked.blank)


def _inputs(model, encodings, targets, evidence, asked, masking, cache=None):
    """What metrics are given."""
    seed = asked.settings["seed"]
    return Inputs(
        model, encodings, targets.first, evidence, seed, cache, targets.answers, targets.contrast, masking,
        asked.operator, _usual(model),
    )  # fmt: skip


def _aligned(model, texts, wanted, encodings, targets):
    """Scores from elsewhere on the model's tokens: {name: [(tokens,)]}."""
    if not wanted.scores:
        return {}
    pairs = texts.column("text_b")
    aligned = align(wanted.scores, texts.column("text"), model, targets.first, pairs, encodings)
    scores.check_scores(encodings, aligned)
    return aligned


def _check_metrics(parts):
    """Raise ValueError for models that cannot have the same metrics."""
    first, *others = ({metric.name for metric in (*part.metrics, *part.masked)} for part in parts)
    for part, names in zip(parts[1:], others, strict=True):
        if differ := names ^ first:
            raise ValueError(
                f"{parts[0].name} and {part.name} do not have the same metrics, one of them alone has "
                f"{min(differ)!r}: name metrics that both have, or evaluate each alone"
            )


def _predict(part):
    """(the part with what its model predicts, which is explained unless targets are given, its estimate)."""
    model, encodings, asked, cache = part.model, part.encodings, part.asked, part.inputs.cache
    with batching.limited(model, asked.budget):
        per_token = plan.seconds_per_token(model, encodings, cache)
        predicted = explained.predictions(model, encodings, cache)
    targets = _targets(model, part.texts, encodings, asked, predicted)
    part = replace(
        part,
        targets=targets,
        predicted=predicted,
        aligned=_aligned(model, part.texts, part.wanted, encodings, targets),  # of several outputs, the right
        inputs=_inputs(model, encodings, targets, part.evidence, asked, part.inputs.masking, cache),
        weights=None if asked.resume is None else chunks.told(model),
    )
    estimate = plan.estimate(
        model, encodings, set(part.wanted.names), len(part.aligned), part.metrics + part.masked,
        asked.baselines, asked.budget, per_token, **asked.settings,
    )  # fmt: skip
    return replace(part, passes=estimate.by_name), estimate


# Explain and measure ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Measured:
    """What was computed of the texts of a part, or of a block of them.

    Attributes:
        scores: {attribution: [(tokens,)]}.
        values: a row for each text, attribution, metric, baseline and draw.
        notes: {note: (texts,)}, such as the completeness gap.
        curves: {attribution: [p as its highest tokens are erased]}.
    """

    scores: dict
    values: pd.DataFrame
    notes: dict
    curves: dict


def _in_blocks(parts):
    """(the texts that are done [number], the `_Measured` of each part), block by block."""
    asked, n = parts[0].asked, len(parts[0].encodings)
    blocks = [np.arange(n)]
    if asked.resume is not None or asked.minutes:
        order = np.random.default_rng([asked.settings["seed"], n]).permutation(n)
        blocks = [np.sort(rows) for rows in np.split(order, range(BLOCK, n, BLOCK))]
    begun, done, measured = time.monotonic(), [], [[] for _ in parts]
    with bar(n, "evaluating", "text") if len(blocks) > 1 else nullcontext() as progress:
        for rows in blocks:
            for part, of_part in zip(parts, measured, strict=True):
                of_part.append(_measured(part.block(rows), rows))
            done += rows.tolist()
            if progress is not None:
                progress.update(len(rows))
            if asked.minutes and time.monotonic() - begun > 60 * asked.minutes:
                break
    return done, [_joined(done, of_part) for of_part in measured]


def _erasing(part):
    """What tells the operators of a study from those of another, whatever its metrics."""
    operator = part.asked.operator
    if isinstance(operator, Operator):
        operator = operator.name, operator.by, operator.stream, operator.texts, operator.unigrams.tolist()
    return f"{operator}, usually {_usual(part.model)}"


def _measured(part, rows):
    """The `_Measured` of a block, whose texts have the numbers `rows`."""
    about = () if part.asked.resume is None else (
        part.weights, part.encodings, part.targets.listed, part.targets.contrast, part.asked.settings["seed"],
        part.asked.baselines, str(part.evidence), _erasing(part),
    )  # fmt: skip
    kept = chunks.Chunks(part.asked.resume, *about)
    of_texts, notes = _explain(part, kept)
    values = _measure(part, kept, of_texts)
    if len(values):
        values = values.assign(example=rows[values.example])
    return _Measured(of_texts, values, notes, _curves(part, kept, of_texts))


def _explain(part, kept):
    """(scores of all attributions in their order, notes); a function runs only for what is not kept."""
    notes, computed, made = {}, {}, {}

    def attributed(name, names):
        if name not in made:
            of_call = {}
            made.update(
                explained.attribute(
                    part.model,
                    part.encodings,
                    part.targets,
                    names,
                    of_call,
                    cache=part.inputs.cache,
                    budget=part.asked.budget,
                    **part.asked.settings,
                )  # fmt: skip
            )
            notes.update({n: values for n, values in of_call.items() if n.startswith("completeness")})
        return made[name]

    names = part.wanted.names
    for name in names:
        function = methods.get(name).function
        family = [other for other in names if methods.get(other).function == function]
        together = names if part.asked.resume is None else family  # one call, unless blocks are kept
        compute, of_name = partial(attributed, name, together), notes if name in GAPPED else {}
        computed[name] = kept.scores(name, function, part.asked.settings, compute, of_name)
    of_table = {label: computed[name] for label, name in part.wanted.computed.items()} | part.aligned
    return {name: of_table[name] for name in part.wanted.order}, notes


def _measure(part, kept, of_texts):
    """Values of every metric, text by text: of each attribution, and of its scores in random order."""
    rows = []
    passes = {metric.name: max(1, part.passes[metric.name] // len(of_texts)) for metric in part.metrics}
    overall = bar(len(of_texts) * sum(passes.values()), "measuring", "pass")
    with batching.limited(part.model, part.asked.budget), overall as progress:
        for metric in part.metrics:
            for name, of_name in of_texts.items():
                rows.append(kept.values(name, metric, of_name, partial(_values, part, metric, name, of_name)))
                progress.update(passes[metric.name])
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()


def _values(part, metric, name, of_texts):
    """Values of one attribution and metric, and of its baselines."""
    examples, frames = np.arange(len(part.encodings)), []
    sources = [("", 0, of_texts)]
    sources += [("matched", k, _matched(part.inputs, of_texts, k)) for k in range(part.asked.baselines)]
    for baseline, draw, source in sources:
        value = np.asarray(metric.resolve()(part.inputs, source), float)
        if value.shape != examples.shape:
            raise ValueError(
                f"metric {metric.name!r} gives values of shape {value.shape} for {len(examples)} "
                "texts: give one a text"
            )
        low, high = metric.limits(part.inputs.contrast is not None)
        outside = np.isinf(value) | (value < low - 1e-6) | (value > high + 1e-6)
        if outside.any():
            raise ValueError(
                f"metric {metric.name!r} gives {value[outside][0]:g}, its range is {low:g} to {high:g}: give "
                "NaN where it means nothing, or register it with its range"
            )
        about = {"example": examples, "attribution": name, "metric": metric.name, "baseline": baseline}
        frames.append(pd.DataFrame({**about, "draw": draw, "value": value}))
    return pd.concat(frames, ignore_index=True)


def _matched(inputs, of_texts, draw):
    """An attribution's own scores in random order: the k-th baseline, the same for every metric."""

    def permuted(i, row):
        generator = np.random.default_rng([*inputs.seeds(i, draw + 1)[draw], 1])
        return scores.permuted(row, inputs.encodings[i], generator)

    name = "matched", id(of_texts), draw
    return inputs.once(name, lambda: [permuted(i, row) for i, row in enumerate(of_texts)])


def _curves(part, kept, of_texts):
    """p of each text as the highest tokens of an attribution are erased, where AOPC asked for it."""
    if "aopc_comprehensiveness" not in {metric.name for metric in part.metrics}:
        return {}
    curve = SimpleNamespace(name="curve", function="curves")

    def frame(row_of):
        return pd.DataFrame({"p": [list(row) for row in normalised.curves(part.inputs, row_of)]})

    frames = {n: kept.values(n, curve, row_of, partial(frame, row_of)) for n, row_of in of_texts.items()}
    return {name: [list(row) for row in of_name.p] for name, of_name in frames.items()}


def _joined(done, blocks):
    """The `_Measured` of all blocks, texts in order and numbered from 0."""
    if len(blocks) == 1 and done == list(range(len(done))):
        return blocks[0]
    order = np.argsort(done)

    def ordered(dictionaries):
        joined = {name: [row for of in dictionaries for row in of[name]] for name in dictionaries[0]}
        return {name: [rows[i] for i in order] for name, rows in joined.items()}

    values = pd.concat([block.values for block in blocks], ignore_index=True)
    values["example"] = np.searchsorted(np.sort(done), values.example)
    places = {name: {v: k for k, v in enumerate(values[name].unique())} for name in ("metric", "attribution")}
    values = values.sort_values(
        ["metric", "attribution", "baseline", "draw", "example"],
        key=lambda column: column.map(places[column.name]) if column.name in places else column,
        kind="stable",
        ignore_index=True,
    )
    notes = {name: np.array(rows) for name, rows in ordered([block.notes for block in blocks]).items()}
    of_texts, curves = ordered([b.scores for b in blocks]), ordered([b.curves for b in blocks])
    return _Measured(of_texts, values, notes, curves)


# Tabulate -----------------------------------------------------------------------------------------


def _study(parts, estimate, progress):
    """The `Study` of parts whose targets are known: what is to be said first, then values and the table."""
    first, asked = parts[0], parts[0].asked
    at_chance = ""
    if first.labels is not None:
        at_chance = table.chance([part.labels.tolist() for part in parts], [part.predicted for part in parts])
    notes = _notes(parts, at_chance)
    if progress and estimate.seconds >= plan.WORTH_SAYING:
        counts = f"{len(first.encodings)} texts, {len(first.wanted.order)} attributions"
        line = f"{counts}, {len(first.metrics)} metrics: {estimate}{estimate.advice(first)}"
        print(line, file=sys.stderr if sys.stderr.isatty() else sys.stdout, flush=True)
    done, measured = _in_blocks(parts)
    if len(done) < len(first.encodings):
        notes.append(
            f"{len(done)} of {len(first.encodings)} texts, in a random order, were done in "
            f"{asked.minutes:g} minutes: call again with the same resume to go on."
        )
        print(notes[-1], flush=True)
    rows = np.sort(done)
    made = [_of_model(*both, rows, at_chance, notes) for both in zip(parts, measured, strict=True)]
    studies, areas = [study for study, _ in made], [of_model for _, of_model in made]
    if len(parts) == 1:
        return replace(studies[0], estimate=estimate)
    values = pd.concat([study.values for study in studies], ignore_index=True)
    joint, remarks = _table(parts, values, rows, areas, at_chance)
    return replace(
        studies[0],
        table=joint,
        values=values,
        model_name=", ".join(part.name for part in parts),
        notes=[*notes, *remarks],
        parts=tuple(studies),
        estimate=estimate,
    )


def _of_model(part, measured, rows, at_chance, notes):
    """(the `Study` of one model on the texts `rows`, {attribution: RACU})."""
    encodings, texts = [part.encodings[i] for i in rows], [part.texts.column("text")[i] for i in rows]
    notes, areas, values = [*notes, *_gap(measured.notes)], {}, measured.values.copy()
    values.insert(0, "model", part.name)
    if part.masked:
        areas, shares = masked.measured(part)
        values = pd.concat([values, shares], ignore_index=True)
    flat = {name: sum(map(_is_flat, s, encodings)) for name, s in measured.scores.items()}
    label_names, target_names, predicted = _in_words(part)
    p = part.inputs.target_probabilities([forward.unchanged(e) for e in encodings], rows)
    of_texts, remarks = _table([part], values, rows, [areas], at_chance, flat)
    return Study(
        table=of_texts,
        values=values,
        scores=measured.scores,
        encodings=encodings,
        targets=part.targets.first[rows],
        texts=texts,
        tokens=[_tokens(part.model, encoding, text) for encoding, text in zip(encodings, texts, strict=True)],
        model_name=part.name,
        notes=[*notes, *remarks],
        labels=None if part.labels is None else part.labels[rows],
        predicted=[predicted[i] for i in rows] if isinstance(predicted, list) else predicted[rows],
        label_names=label_names,
        target_names=target_names and [target_names[i] for i in rows],
        p=p,
        curves=measured.curves,
    ), areas


def _table(parts, values, rows, areas, at_chance, flat=None):
    """(the table of values on the texts `rows`, what to know about it); repeated texts count once."""
    part = parts[0]
    name, contrasted = part.texts.name, part.targets.contrast is not None
    repeated = _repeated(part)
    again = {k for k, i in enumerate(rows) if int(i) in repeated}
    once = values
    if len(values):
        once = values[~values.example.isin(again) | (values.metric == "masf")]  # MaSF has other texts
    of_texts = table.table(once, part.metrics, name, at_chance, flat, contrasted, part.operators)
    of_texts = masked.added(of_texts, part.masked, values, areas, name, at_chance)
    of_texts = of_texts.assign(dtype=_dtypes([each.model for each in parts]))
    return of_texts, table.remarks(of_texts, once, part.metrics)


def _dtypes(models):
    """What models compute in, in words; "" of an adapter that does not say."""
    names = [str(getattr(model, "dtype", "")).removeprefix("torch.") for model in models]
    return ", ".join(dict.fromkeys(names))


def _repeated(part):
    """Texts that are equal to an earlier one, with their targets and evidence: {number}."""
    seen, repeated = set(), set()
    for i, (e, answer) in enumerate(zip(part.encodings, part.targets.listed, strict=True)):
        foil = part.targets.contrast and part.targets.contrast[i]
        key = e.ids.tobytes(), e.types.tobytes(), answer, foil, str(part.evidence and part.evidence[i])
        if key in seen:
            repeated.add(i)
        seen.add(key)
    return repeated


def _in_words(part):
    """(names of the classes, what is explained of each text in words or None, what is predicted)."""
    model, targets = part.model, part.targets
    if hasattr(model, "prefix"):
        predicted = [model.tokenizer.decode([token]) for token in part.predicted]
        label_names, words = (), partial(explained.written, model)
    else:
        label_names, predicted = tuple(class_names(model) or part.texts.label_names), part.predicted
        classes = label_names or [str(i) for i in range(model.outputs)]
        if targets.contrast is None:
            return label_names, None, predicted

        def words(answer):
            return classes[answer[0]]

    names = [words(answer) for answer in targets.listed]
    if targets.contrast is not None:
        foils = [words(foil) for foil in targets.contrast]
        names = [f"{name} − {foil}" for name, foil in zip(names, foils, strict=True)]
    return label_names, names, predicted


def _notes(parts, at_chance):
    """What to know before the table is read, in sentences; printed but for where weights are from."""
    names, data = ", ".join(part.name for part in parts), parts[0].texts.name or "these texts"
    notes = []
    if at_chance:
        notes.append(
            f"{names} on {data}: {at_chance}. No value is given: what explains such predictions says nothing."
        )
    notes += dict.fromkeys(remark for part in parts for remark in _remarks(part, at_chance) if remark)
    for note in notes:
        print(note, flush=True)
    for part in parts:
        config = getattr(getattr(part.model, "model", None), "config", None)
        if origin := getattr(config, "origin", None):
            notes.append(f"Weights of {part.name}: {', '.join(origin.values())}.")
    return notes


def _remarks(part, at_chance):
    """What to know about the texts of one model, in sentences, "" for nothing."""
    n, name, of_texts = len(part.encodings), part.model.name, part.labels
    yield part.cut
    yield part.left_out
    yield taken_as(part.texts, part.model)
    if of_texts is not None and len(set(of_texts.tolist())) == 1:
        yield f"All {n} labels are one class: whether {name} is at chance cannot be told."
    if of_texts is not None and not at_chance and (of_texts != part.predicted).all():
        yield f"{name} is wrong on all {n} texts: are the labels those of its classes?"
    if repeated := _repeated(part):
        yield f"{len(repeated)} of {n} texts are equal to others: they count once."
    if part.evidence is not None:
        pairs = zip(part.encodings, part.evidence, strict=True)
        whole = sum(
            e.maskable.any() and (evidence_tokens(e, words) == e.maskable).all() for e, words in pairs
        )
        if whole:
            yield f"Evidence is every token of {whole} of {n} texts: all attributions are alike there."
        for row in without_evidence(part.encodings, part.evidence) if part.cut else ():
            yield f"Texts with {row['what']} ({row['why']}): {row['n']} of {n}."
    yield from explained.seams(part.model, part.texts, part.encodings, part.asked.targets, part.asked.blank)


def _gap(notes):
    """A sentence, printed too, where integrated gradients miss their sum in some texts: [str]."""
    gaps = notes.get("completeness_gap", ())
    if not len(gaps) or not (large := gaps > GAP * np.abs(notes["completeness_change"])).any():
        return []
    note = (
        f"Integrated gradients: in {large.sum()} of {len(gaps)} texts the scores miss their sum by "
        f"more than a tenth (median completeness gap {np.median(gaps):.2g}): give more steps."
    )
    print(note, flush=True)
    return [note]


def _tokens(model, encoding, text):
    """The tokens of a text as it is written."""
    return model.tokens(encoding, text) if isinstance(model, Transformer) else model.tokens(encoding)


def _is_flat(row, encoding):
    """Whether all scores of a text of two tokens or more are equal."""
    maskable = np.asarray(row)[encoding.maskable]
    return bool(len(maskable) > 1 and np.ptp(maskable) == 0)


def _names(models):
    """The models' names; of equal ones the later are numbered."""
    names, counts = [], Counter()
    for model in models:
        counts[model.name] += 1
        names.append(model.name if counts[model.name] == 1 else f"{model.name} ({counts[model.name]})")
    return names


def _check(models, baselines, seed, resume, minutes, operator):
    if not models:
        raise ValueError("model=[] leaves nothing to explain: give at least one")
    for model in models:
        check_model(model)
    scores.whole("baselines", baselines)
    scores.whole("seed", seed)
    above = isinstance(minutes, Real) and not isinstance(minutes, bool) and minutes > 0
    if minutes is not None and not above:
        raise ValueError(f"minutes={minutes!r}: give a number above 0, or leave it out")
    if not isinstance(operator, Operator | None):
        scores.one_of("operator", operator, OPERATORS)
    chunks.check(resume)
