"""`evaluate`: attributions × metrics of one model, or several, on one's own texts."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from faithlib import options, scores
from faithlib.engine import forward, operators
from faithlib.models.base import Transformer
from faithlib.progress import silent
from faithlib.study import chunks, masked, measure, methods, plan, remarks, show, table
from faithlib.study.data import check_model, read
from faithlib.study.prepare import Asked, check_metrics, predict, prepare


@dataclass
class Study:
    """What `evaluate` returns.

    Attributes:
        table: a row for each attribution and metric, with COLUMNS. value: the mean over the n texts where the
            metric means something; ci_low, ci_high: its 95 % interval; void: texts left out because the value
            means nothing there; diagnosticity: share of texts on which the value is better than that of the
            attribution's own scores in random order (ties count ½); unit: what the interval speaks of;
            operator: what took an erased token's place; dtype: what the model computed in; flag: why there is
            no value or interval, and what else to know.
        values: a row for each model, text (example), attribution, metric, baseline ("" or "matched"), draw.
        scores: {attribution: [(tokens,) of each text]}; of the first model, where there are several.
        encodings, targets: the texts as the model reads them, and the class or (first) token explained,
            (texts,) int.
        texts, tokens: [str], and the tokens of each, [[str]].
        model_name: name of the model; of several, joined by commas.
        notes: what to know before the table is read, in sentences.
        labels, predicted: (texts,) int, the classes given and predicted, None where there are none; of
            language models predicted are the next tokens in words.
        label_names: the names of the classes, () where they have none.
        target_names: what was explained of each text, in words; None where it is a class alone.
        p: (texts,) the probability of the target (less that of a contrast) given the whole text.
        curves: {attribution: [p as its highest tokens are masked, at `normalised.levels`]}, of AOPC.
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

    __str__ = show.summary  # its methods are functions of a study
    agreement = show.agreement
    save = show.save
    show = show.show


def load_study(folder: str | Path) -> Study:
    """A `Study` that `Study.save` wrote in a folder, to show again without a model; it has no ids and parts.

    Raises FileNotFoundError where no study stands, ValueError for another version, or a file that is missing
    or changed.

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
    operator: str | operators.Operator | None = None,
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
            or the only one), with the column text, and where it has them text_b (never masked or scored),
            label, evidence (indices of decisive words), target and contrast (of prompts).
        attributions: names of `faithlib.attributions.names()` and functions (model, batch, target) -> scores
            (batch, tokens); or {name: name, function or scores of all texts}, as `imports.align` takes them.
        metrics: names of `faithlib.metrics.registry.names()`; "default" for the cheaper ones that this model
            and data support; "all" for the dear ones too, and RACU and MaSF of a model trained with masks.
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
    targets, contrast = (list(of) if isinstance(of, Iterator) else of for of in (targets, contrast))
    asked = Asked(
        metrics, targets, contrast, baselines, operator, minutes, budget, resume, long_texts, blank,
        {"seed": seed, **settings},
    )  # fmt: skip
    with methods.joined(attributions) as wanted:
        named = zip(models, _names(models), strict=True)
        parts = [prepare(one, name, texts, wanted, asked) for one, name in named]
        check_metrics(parts)
        with nullcontext() if progress else silent():
            predicted, estimates = zip(*map(predict, parts), strict=True)
            return _study(predicted, sum(estimates[1:], estimates[0]), progress)


# Tabulate -----------------------------------------------------------------------------------------


def _study(parts, estimate, progress):
    """The `Study` of parts whose targets are known: what is to be said first, then values and the table."""
    first, asked = parts[0], parts[0].asked
    at_chance = ""
    if first.labels is not None:
        at_chance = table.chance([part.labels.tolist() for part in parts], [part.predicted for part in parts])
    notes = remarks.notes(parts, at_chance)
    if progress and estimate.seconds >= plan.WORTH_SAYING:
        counts = f"{len(first.encodings)} texts, {len(first.wanted.order)} attributions"
        line = f"{counts}, {len(first.metrics)} metrics: {estimate}{estimate.advice(first)}"
        print(line, file=sys.stderr if sys.stderr.isatty() else sys.stdout, flush=True)
    done, measured = measure.in_blocks(parts)
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
    joint, values, remarked = _table(parts, values, rows, areas, at_chance)
    return replace(
        studies[0],
        table=joint,
        values=values,
        model_name=", ".join(part.name for part in parts),
        notes=[*notes, *remarked],
        parts=tuple(studies),
        estimate=estimate,
    )


def _of_model(part, measured, rows, at_chance, notes):
    """(the `Study` of one model on the texts `rows`, {attribution: RACU})."""
    encodings, texts = [part.encodings[i] for i in rows], [part.texts.column("text")[i] for i in rows]
    notes, areas, values = [*notes, *remarks.gap(measured.notes)], {}, measured.values.copy()
    values.insert(0, "model", part.name)
    if part.masked:
        areas, shares = masked.measured(part)
        values = pd.concat([values, shares], ignore_index=True)
    written = [texts] if isinstance(part.model, Transformer) else []  # an adapter's tokens are of encodings
    flat = {name: sum(map(_is_flat, s, encodings)) for name, s in measured.scores.items()}
    label_names, target_names, predicted = remarks.in_words(part)
    p = part.inputs.target_probabilities([forward.unchanged(e) for e in encodings], rows)
    of_texts, values, remarked = _table([part], values, rows, [areas], at_chance, flat)
    return Study(
        table=of_texts,
        values=values,
        scores=measured.scores,
        encodings=encodings,
        targets=part.targets.first[rows],
        texts=texts,
        tokens=[part.model.tokens(*of) for of in zip(encodings, *written, strict=True)],
        model_name=part.name,
        notes=[*notes, *remarked],
        labels=None if part.labels is None else part.labels[rows],
        predicted=[predicted[i] for i in rows] if isinstance(predicted, list) else predicted[rows],
        label_names=label_names,
        target_names=target_names and [target_names[i] for i in rows],
        p=p,
        curves=measured.curves,
    ), areas


def _table(parts, values, rows, areas, at_chance, flat=None):
    """(the table of values on the texts `rows`, these values, what to know of it); equal texts count once."""
    part = parts[0]
    name, contrasted = part.texts.name, part.targets.contrast is not None
    again = np.flatnonzero(np.isin(rows, list(remarks.repeated(part, rows))))
    once = values[~values.example.isin(again)].reset_index(drop=True) if len(values) else values
    operators = {metric.name: part.inputs.erased_by(metric) for metric in part.metrics}
    of_texts = table.table(once, part.metrics, name, at_chance, flat, contrasted, operators)
    of_texts = masked.added(of_texts, part.masked, once, areas, name, at_chance)
    dtypes = [str(getattr(each.model, "dtype", "")).removeprefix("torch.") for each in parts]
    of_texts = of_texts.assign(dtype=", ".join(dict.fromkeys(dtypes)))  # "" of an adapter that does not say
    return of_texts, once, table.remarks(of_texts, once, part.metrics)


def _is_flat(row, encoding):
    """Whether all scores of a text of two tokens or more are equal."""
    maskable = np.asarray(row)[encoding.maskable]
    return bool(len(maskable) > 1 and np.ptp(maskable) == 0)


def _names(models):
    """The models' names; of equal ones the later are numbered."""
    names = [model.name for model in models]
    counts = [names[: i + 1].count(name) for i, name in enumerate(names)]
    return [name if n == 1 else f"{name} ({n})" for name, n in zip(names, counts, strict=True)]


def _check(models, baselines, seed, resume, minutes, operator):
    if not models:
        raise ValueError("model=[] leaves nothing to explain: give at least one")
    for model in models:
        check_model(model)
    scores.whole("baselines", baselines)
    scores.whole("seed", seed)
    options.Optional(options.RATE).check("minutes", minutes)
    if not isinstance(operator, operators.Operator | None):
        scores.one_of("operator", operator, operators.OPERATORS)
    chunks.check(resume)
