"""`evaluate`: attributions × metrics of one model, or several, on one's own texts."""

import copy
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from numbers import Real
from types import SimpleNamespace

import numpy as np
import pandas as pd

from faithlib import attributions as methods
from faithlib import scores
from faithlib.engine import batching, forward
from faithlib.metrics import normalised
from faithlib.metrics.inputs import Inputs
from faithlib.metrics.plausibility import evidence_tokens, without_evidence
from faithlib.models import placement
from faithlib.models.base import Transformer
from faithlib.progress import bar, silent
from faithlib.study import chunks, masked, plan, show, table
from faithlib.study import targets as explained
from faithlib.study.data import check_model, class_names, labels, read, taken_as
from faithlib.study.imports import align
from faithlib.study.methods import joined, unused

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
            operator: what took an erased token's place (of soft metrics that of parts of it); flag: why there
            is no value or interval, and what else to know.
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

    def __str__(self):
        """Five lines: see `study.show.summary`."""
        return show.summary(self)

    def show(self, **options):
        """Show the table, a figure and heat maps of a few texts: see `study.show.show`."""
        return show.show(self, **options)

    def agreement(self, **options):
        """Rank agreement of the metrics: see `study.show.agreement`."""
        return show.agreement(self, **options)

    def save(self, folder, **options):
        """Save record, tables, figures and explorer in a folder: see `study.show.save`."""
        return show.save(self, folder, **options)


def load_study(folder):
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
    model,
    data,
    attributions,
    metrics="default",
    targets=None,
    *,
    contrast=None,
    baselines=1,
    seed=0,
    operator=None,
    minutes=None,
    budget=None,
    resume=None,
    long_texts="error",
    blank=True,
    progress=True,
    **settings,
):
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
            and data can have a value of; "all" for the others of single texts too, and RACU and MaSF of a
            model trained with masks.
        targets: what is explained, one a text: a class by number or name; for language models a token id,
            several, or the text of an answer. By default what the model predicts.
        contrast: as targets; then p(target) − p(contrast) is explained.
        baselines: how often each attribution's scores are put in random order, for the diagnosticity.
        seed: of every random draw.
        operator: what takes an erased token's place in all metrics: "zero", "mask", "delete" or "pad"; by
            default what each metric's paper names.
        minutes: stop after about so many minutes, with the texts that are done by then, in a random order
            that `seed` fixes; at least one block of ten. The same call goes on with the same `resume`.
        budget: padded tokens of a pass; by default what fits the processor's caches or the GPU's memory.
        resume: a folder that keeps finished blocks of ten texts, so that a study that was stopped goes on.
        long_texts: "error" refuses texts that are longer than the model takes, "truncate" cuts their ends.
        blank: whether a blank parts an answer from its prompt where one is usual (`targets.parted`).
        progress: whether an estimate and progress bars are shown.
        settings: of the attributions, such as `steps=50`.

    Returns:
        A `Study`.

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
    _check(models, baselines, seed, budget, resume, minutes)
    texts = read(data)
    asked = _Asked(
        metrics, targets, contrast, baselines, operator, minutes, budget, resume, long_texts, blank,
        {"seed": seed, **settings},
    )  # fmt: skip
    with joined(attributions) as wanted:
        sessions = [_Session(m, texts, wanted, asked) for m in models]
        _check_metrics(sessions, _names(models))
        with nullcontext() if progress else silent():
            return _finished(sessions, _names(models), texts, progress)


@dataclass
class _Asked:
    """Arguments of `evaluate`."""

    metrics: str | list
    targets: list | None
    contrast: list | None
    baselines: int
    operator: str | None
    minutes: float | None
    budget: int | None
    resume: str | None
    long_texts: str
    blank: bool
    settings: dict


def _check_metrics(sessions, names):
    """Raise ValueError for models that cannot have the same metrics."""
    asked = [[metric.name for metric in (*s.metrics, *s.masked)] for s in sessions]
    for name, own in zip(names, asked, strict=True):
        if differ := set(own) ^ set(asked[0]):
            raise ValueError(
                f"{names[0]} and {name} do not have the same metrics, one of them alone has "
                f"{min(differ)!r}: name metrics that both have, or evaluate each alone"
            )


class _Session:
    """One model on its texts: checked on construction, then run."""

    def __init__(self, model, texts, wanted, asked):
        self.model, self.texts, self.wanted, self.asked = model, texts, wanted, asked
        self.settings, self.baselines, self.budget = asked.settings, asked.baselines, asked.budget
        self.resume, self.found_now, self.notes = asked.resume, {}, {}
        if self.resume is not None and placement.offloaded(model.model):
            raise ValueError(
                f"resume={str(self.resume)!r}: {model.name} has offloaded weights: leave resume out"
            )
        self.encodings, self.cut = texts.encode(model, asked.long_texts)
        longest = max(len(e.ids) for e in self.encodings)
        if self.budget is not None and self.budget < longest:
            raise ValueError(
                f"budget={self.budget} is smaller than the longest text, of {longest} tokens: give {longest} "
                "or more"
            )
        self.labels = None if hasattr(model, "prefix") else labels(texts, model)
        names = list(dict.fromkeys(wanted.computed.values()))
        methods.check(names or ["random_uniform"], model, **self.settings)
        for setting in unused(names, self.settings):
            print(
                f"{setting}={self.settings[setting]!r}: no attribution of {', '.join(wanted.order)} takes it"
            )
        self.targets = self.resolved()
        explained.check(self.targets, names)
        self.found = _aligned(self)  # checked: which output of several is meant is known later
        self.evidence, self.inputs = texts.column("evidence"), None
        self.set_inputs(np.zeros(len(self.encodings), int))
        self.inputs.masking = masked.masking(self)
        chosen = plan.chosen(asked.metrics, self.inputs)
        self.metrics = [m for m in chosen if m.level == "example"]
        self.masked = masked.METRICS if len(self.metrics) < len(chosen) else []
        if self.masked and asked.minutes:
            raise ValueError(f"minutes={asked.minutes}: RACU and MaSF are of a whole data set: leave one out")
        self.left_out = (
            masked.REASON if asked.metrics == "all" and masked.could(self) and not self.masked else ""
        )

    @property
    def operator(self):
        """The name of the study's operator, "" for none."""
        return getattr(self.asked.operator, "name", self.asked.operator) or ""

    def resolved(self, predicted=None):
        """The targets, of which None is what the model predicts."""
        asked = self.asked
        return explained.resolve(
            self.model, self.texts, self.encodings, asked.targets, asked.contrast, predicted, asked.blank
        )

    def set_inputs(self, targets):
        """What metrics are given, of the texts of this session, with a cache of its own."""
        self.cache = forward.Cache()
        self.inputs = Inputs(
            self.model, self.encodings, targets, self.evidence, self.settings["seed"], self.cache,
            self.targets.answers, self.targets.contrast, self.inputs.masking if self.inputs else "",
            self.asked.operator,
        )  # fmt: skip

    def block(self, rows):
        """The session of some of its texts."""
        if len(rows) == len(self.encodings):
            return self
        part = copy.copy(self)
        part.encodings, part.targets = [self.encodings[i] for i in rows], self.targets.at(rows)
        part.found = {name: [of_texts[i] for i in rows] for name, of_texts in self.found.items()}
        part.evidence, part.found_now = self.evidence and [self.evidence[i] for i in rows], {}
        part.notes = {}
        part.set_inputs(part.targets.first)
        return part

    @cached_property
    def repeated(self):
        """Texts that are equal to an earlier one, with their targets and evidence: {number}."""
        seen, found = set(), set()
        for i, (e, answer) in enumerate(zip(self.encodings, self.targets.listed, strict=True)):
            foil = self.targets.contrast and self.targets.contrast[i]
            key = e.ids.tobytes(), e.types.tobytes(), answer, foil, str(self.evidence and self.evidence[i])
            if key in seen:
                found.add(i)
            seen.add(key)
        return found

    def remarks(self, at_chance):
        """What to know about the texts, in sentences."""
        found, n, name = (
            [self.cut, self.left_out, taken_as(self.texts, self.model)],
            len(self.encodings),
            self.model.name,
        )
        if self.labels is not None and len(set(self.labels.tolist())) == 1:
            found.append(f"All {n} labels are one class: whether {name} is at chance cannot be told.")
        if self.labels is not None and not at_chance and (self.labels != self.predicted).all():
            found.append(f"{name} is wrong on all {n} texts: are the labels those of its classes?")
        if self.repeated:
            found.append(f"{len(self.repeated)} of {n} texts are equal to others: they count once.")
        if self.evidence is not None:
            whole = sum(
                bool(e.maskable.any() and (evidence_tokens(e, words) == e.maskable).all())
                for e, words in zip(self.encodings, self.evidence, strict=True)
            )
            if whole:
                found.append(
                    f"Evidence is every token of {whole} of {n} texts: all attributions are alike there."
                )
            lost = without_evidence(self.encodings, self.evidence) if self.cut else []
            found += [f"Texts with {row['what']} ({row['why']}): {row['n']} of {n}." for row in lost]
        found.append(explained.blanks(self.model, self.texts, self.asked.targets, self.asked.blank))
        return [remark for remark in found if remark]

    def predict(self):
        """What the model predicts, which is what is explained unless targets are given; and the estimate."""
        with batching.limited(self.model, self.budget):
            per_token = plan.seconds_per_token(self.model, self.encodings, self.cache)
            self.predicted, _ = explained.predictions(self.model, self.encodings, self.cache)
        self.targets = self.resolved(self.predicted)
        self.inputs.targets = self.targets.first
        self.inputs.answers, self.inputs.contrast = self.targets.answers, self.targets.contrast
        self.found = _aligned(self)
        names = set(self.wanted.computed.values())
        return plan.estimate(
            self.model, self.encodings, names, len(self.found), self.metrics + self.masked, self.baselines,
            self.budget, per_token, **self.settings,
        )  # fmt: skip

    def names(self):
        """(names of the classes, what is explained of each text in words or None, what is predicted)."""
        model, targets = self.model, self.targets
        if hasattr(model, "prefix"):
            words, predicted = (
                partial(explained.written, model),
                [model.tokenizer.decode([t]) for t in self.predicted],
            )
            label_names, named = (), [words(answer) for answer in targets.listed]
        else:
            label_names, predicted = tuple(class_names(model) or self.texts.label_names), self.predicted
            known = label_names or [str(i) for i in range(model.outputs)]
            words, named = (lambda classes: known[classes[0]]), [known[t] for t in targets.first]
        if targets.contrast is not None:
            foils = [words(foil) for foil in targets.contrast]
            named = [f"{name} − {foil}" for name, foil in zip(named, foils, strict=True)]
        elif not hasattr(model, "prefix"):
            named = None
        return label_names, named, predicted

    def explain(self):
        """Scores of all attributions, in their order."""
        about = () if self.resume is None else (
            self.told, self.encodings, self.targets.listed, self.targets.contrast, self.settings["seed"],
            self.baselines, str(self.inputs.evidence), str(self.asked.operator),
        )  # fmt: skip
        self.chunks = chunks.Chunks(self.resume, *about)
        names = list(dict.fromkeys(self.wanted.computed.values()))
        if self.resume is None:
            found = self._attributed(names) if names else {}
        else:
            found = {name: self._kept(name) for name in names}
        computed = {shown: found[name] for shown, name in self.wanted.computed.items()}
        return {name: (computed | self.found)[name] for name in self.wanted.order}

    def _attributed(self, names):
        notes = {}
        found = explained.attribute(
            self.model, self.encodings, self.targets, names, notes, cache=self.cache, budget=self.budget,
            **self.settings,
        )  # fmt: skip
        self.notes |= {note: values for note, values in notes.items() if note.startswith("completeness")}
        return found

    def _kept(self, name):
        """Scores of an attribution from its chunk; its function runs if there is none."""
        function = methods.get(name).function
        family = [other for other in self.wanted.computed.values() if methods.get(other).function == function]

        def compute():
            if name not in self.found_now:
                self.found_now.update(self._attributed(list(dict.fromkeys(family))))
            return self.found_now[name]

        notes = self.notes if name in GAPPED else {}
        return self.chunks.scores(name, function, self.settings, compute, notes)

    def measure(self, found):
        """Values of every metric, text by text: of each attribution, and of its scores in random order."""
        rows, known = [], self.chunks.values
        total = len(found) * len(self.metrics) * (1 + self.baselines)
        with batching.limited(self.model, self.budget), bar(total, "measuring", "metric") as shown:
            for metric in self.metrics:
                for name, of_texts in found.items():
                    compute = partial(self._measured, metric, name, of_texts)
                    rows.append(known(name, metric, of_texts, compute))
                    shown.update(1 + self.baselines)
        return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()

    def curves(self, found):
        """p of each text as the highest tokens of an attribution are erased, where AOPC asked for it."""
        if "aopc_comprehensiveness" not in {metric.name for metric in self.metrics}:
            return {}
        kept, curve = {}, SimpleNamespace(name="curve", function="curves")
        for name, of_texts in found.items():
            rows = partial(normalised.curves, self.inputs, of_texts)
            kept[name] = self.chunks.values(
                name, curve, of_texts, lambda rows=rows: pd.DataFrame({"p": [list(row) for row in rows()]})
            )
        return {name: [list(row) for row in frame.p] for name, frame in kept.items()}

    def _measured(self, metric, name, of_texts):
        """Values of one attribution and metric, and of its baselines."""
        examples, parts = np.arange(len(self.encodings)), []
        sources = [("", 0, of_texts)]
        sources += [("matched", k, self._matched(of_texts, k)) for k in range(self.baselines)]
        for baseline, draw, given in sources:
            value = np.asarray(metric.resolve()(self.inputs, given), float)
            if value.shape != examples.shape:
                raise ValueError(
                    f"metric {metric.name!r} gives values of shape {value.shape} for {len(examples)} "
                    "texts: give one a text"
                )
            low, high = self.inputs.contrast is not None and metric.contrast_range or metric.range
            if (out := np.isinf(value) | (value < low - 1e-6) | (value > high + 1e-6)).any():
                raise ValueError(
                    f"metric {metric.name!r} gives {value[out][0]:g}, its range is {low:g} to {high:g}: give "
                    "NaN where it means nothing, or register it with its range"
                )
            about = {"example": examples, "attribution": name, "metric": metric.name, "baseline": baseline}
            parts.append(pd.DataFrame({**about, "draw": draw, "value": value}))
        return pd.concat(parts, ignore_index=True)

    def _matched(self, of_texts, draw):
        """An attribution's own scores in random order: the k-th baseline, the same for every metric."""
        return self.inputs.once(
            ("matched", id(of_texts), draw),
            lambda: [
                scores.permuted(s, e, np.random.default_rng([*self.inputs.seeds(i, draw + 1)[draw], 1]))
                for i, (s, e) in enumerate(zip(of_texts, self.encodings, strict=True))
            ],
        )


def _finished(sessions, names, texts, shown):
    """The `Study` of sessions that are ready: predictions first, then scores, values and the table."""
    estimates, first = [session.predict() for session in sessions], sessions[0]
    estimate = sum(estimates[1:], estimates[0])
    at_chance, notes = "", []
    if first.labels is not None:
        at_chance = table.chance(first.labels, [session.predicted for session in sessions])
    if at_chance:
        notes.append(
            f"{', '.join(names)} on {texts.name or 'these texts'}: {at_chance}. No value is given: "
            "what explains such predictions says nothing."
        )
    notes += dict.fromkeys(remark for session in sessions for remark in session.remarks(at_chance))
    for note in notes:
        print(note, flush=True)
    for session, name in zip(sessions, names, strict=True):
        config = getattr(getattr(session.model, "model", None), "config", None)
        if origin := getattr(config, "origin", None):
            notes.append(f"Weights of {name}: {', '.join(origin.values())}.")
    if shown and estimate.seconds >= plan.WORTH_SAYING:
        counts = len(first.encodings), len(first.wanted.order), len(first.metrics)
        what = "{} texts, {} attributions, {} metrics".format(*counts)
        line = f"{what}: {estimate}{estimate.advice(first)}"
        print(line, file=sys.stderr if sys.stderr.isatty() else sys.stdout, flush=True)
    done, computed = _computed(sessions)
    if len(done) < len(first.encodings):
        notes.append(
            f"{len(done)} of {len(first.encodings)} texts, in a random order, were done in "
            f"{first.asked.minutes:g} minutes: call again with the same resume to go on."
        )
        print(notes[-1], flush=True)
    parts = [
        _part(session, name, done, *of_session, texts, at_chance, notes)
        for session, name, of_session in zip(sessions, names, computed, strict=True)
    ]
    if len(parts) == 1:
        return replace(parts[0][0], estimate=estimate)
    studies, areas, once = [part for part, _, _ in parts], [of for _, of, _ in parts], parts[0][2]
    values, contrasted = (
        pd.concat([part.values for part in studies], ignore_index=True),
        first.targets.contrast is not None,
    )
    joint = table.table(
        values[once(values)], first.metrics, texts.name, at_chance, None, contrasted, first.operator
    )
    joint = masked.added(joint, first.masked, values, areas, texts.name, at_chance)
    return replace(
        studies[0],
        table=joint,
        values=values,
        model_name=", ".join(names),
        notes=notes,
        parts=tuple(studies),
        estimate=estimate,
    )


def _computed(sessions):
    """(the texts that are done [number], of each session (scores, values, notes)), block by block."""
    asked, n = sessions[0].asked, len(sessions[0].encodings)
    blocks = [np.arange(n)]
    if asked.resume is not None or asked.minutes:
        order = np.random.default_rng([asked.settings["seed"], n]).permutation(n)
        blocks = [np.sort(rows) for rows in np.split(order, range(BLOCK, n, BLOCK))]
    for session in sessions if asked.resume is not None else ():
        session.told = chunks.told(session.model)
    begun, done, found = time.monotonic(), [], [[] for _ in sessions]
    with bar(n, "evaluating", "text") if len(blocks) > 1 else nullcontext() as shown:
        for rows in blocks:
            for session, parts in zip(sessions, found, strict=True):
                part = session.block(rows)
                scores_of = part.explain()
                values = part.measure(scores_of)
                if len(values):
                    values = values.assign(example=rows[values.example])
                parts.append((scores_of, values, part.notes, part.curves(scores_of)))
            done += rows.tolist()
            if shown is not None:
                shown.update(len(rows))
            if asked.minutes and time.monotonic() - begun > 60 * asked.minutes:
                break
    return done, [_joined(done, parts) for parts in found]


def _joined(done, parts):
    """(scores, values, notes, curves) of all blocks, texts in order and numbered from 0."""
    if len(parts) == 1 and done == list(range(len(done))):
        return parts[0]
    order = np.argsort(done)

    def ordered(at):
        found = {name: [row for part in parts for row in part[at][name]] for name in parts[0][at]}
        return {name: [of_texts[i] for i in order] for name, of_texts in found.items()}

    notes = {name: np.concatenate([part[2][name] for part in parts])[order] for name in parts[0][2]}
    values = pd.concat([part[1] for part in parts], ignore_index=True)
    values["example"] = np.searchsorted(np.sort(done), values.example)
    places = {name: {v: k for k, v in enumerate(values[name].unique())} for name in ("metric", "attribution")}
    keys = ["metric", "attribution", "baseline", "draw", "example"]
    values = values.sort_values(
        keys, key=lambda c: c.map(places[c.name]) if c.name in places else c, kind="stable"
    )
    return ordered(0), values.reset_index(drop=True), notes, ordered(3)


def _part(session, name, done, found, values, gaps, curves, texts, at_chance, notes):
    """(the `Study` of one model, {attribution: RACU}, which values count) of the texts that are done."""
    rows, contrasted = np.sort(done), session.targets.contrast is not None
    values.insert(0, "model", name)
    label_names, target_names, predicted = session.names()
    encodings, own = [session.encodings[i] for i in rows], list(notes)
    flat = {n: sum(map(_flat, s, encodings)) for n, s in found.items()}
    if len(wide := gaps.get("completeness_gap", ())):
        large = wide > GAP * np.abs(gaps["completeness_change"])
        if large.any():
            own.append(
                f"Integrated gradients: in {large.sum()} of {len(rows)} texts the scores miss their sum by "
                f"more than a tenth (median completeness gap {np.median(wide):.2g}): give more steps."
            )
            print(own[-1], flush=True)
    areas = {}
    if session.masked:
        areas, shares = masked.measured(session, name)
        values = pd.concat([values, shares], ignore_index=True)
    repeated = {k for k, i in enumerate(rows) if int(i) in session.repeated}

    def once(values):
        if values.empty:
            return slice(None)
        return ~values.example.isin(repeated) | (values.metric == "masf")

    of_texts = table.table(
        values[once(values)], session.metrics, texts.name, at_chance, flat, contrasted, session.operator
    )
    of_texts = masked.added(of_texts, session.masked, values, [areas], texts.name, at_chance)
    chosen = [texts.column("text")[i] for i in rows]
    tokens = [_written(session.model, *pair) for pair in zip(encodings, chosen, strict=True)]
    known = session.labels if session.labels is None else session.labels[rows]
    study = Study(
        of_texts, values, found, encodings, session.targets.first[rows], chosen, tokens, name, own, known,
type(predicted)(predicted[i] for i in rows) if isinstance(predicted, list) else predicted[rows],
        (), None, label_names, target_names and [target_names[i] for i in rows],
        session.inputs.target_probabilities([forward.unchanged(e) for e in encodings], rows), curves,
    )  # fmt: skip
    return study, areas, once


def _written(model, encoding, text):
    """The tokens of a text as it is written."""
    return model.tokens(encoding, text) if isinstance(model, Transformer) else model.tokens(encoding)


def _flat(s, encoding):
    own = np.asarray(s)[encoding.maskable]
    return int(len(own) > 1 and np.ptp(own) == 0)


def _aligned(session):
    """Scores from elsewhere on the model's tokens: {name: [(tokens,)]}."""
    given, texts = session.wanted.given, session.texts
    if not given:
        return {}
    pairs = texts.column("text_b")
    found = align(given, texts.column("text"), session.model, session.targets.first, pairs, session.encodings)
    scores.check_scores(session.encodings, found)
    return found


def _names(models):
    """The models' names; of equal ones the later are numbered."""
    names, seen = [], {}
    for model in models:
        seen[model.name] = seen.get(model.name, 0) + 1
        names.append(model.name if seen[model.name] == 1 else f"{model.name} ({seen[model.name]})")
    return names


def _check(models, baselines, seed, budget, resume, minutes):
    if not models:
        raise ValueError("model=[] leaves nothing to explain: give at least one")
    for model in models:
        check_model(model)
    scores.whole("baselines", baselines)
    scores.whole("seed", seed)
    if budget is not None:
        scores.whole("budget", budget, 1)
    if minutes is not None and not (
        isinstance(minutes, Real) and not isinstance(minutes, bool) and minutes > 0
    ):
        raise ValueError(f"minutes={minutes!r}: give a number above 0, or leave it out")
    chunks.check(resume)
