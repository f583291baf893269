"""`evaluate`: attributions × metrics of one model, or several, on one's own texts."""

import sys
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd

from faithlib import attributions as methods
from faithlib import scores
from faithlib.engine import batching, forward
from faithlib.metrics.inputs import Inputs
from faithlib.models import placement
from faithlib.progress import bar, silent
from faithlib.study import chunks, masked, plan, show, table
from faithlib.study import targets as explained
from faithlib.study.data import check_model, class_names, labels, read
from faithlib.study.imports import align
from faithlib.study.methods import joined, unused


@dataclass
class Study:
    """What `evaluate` returns.

    Attributes:
        table: a row for each attribution and metric, with COLUMNS. value: the mean over the n texts where the
            metric means something; ci_low, ci_high: its 95 % interval; void: texts left out because the value
            means nothing there; diagnosticity: share of texts on which the attribution's value is better
            than that of its own scores in random order (ties count ½); unit: what the interval speaks of;
            flag: why there is no value or interval, and what else to know.
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

    def show(self, **options):
        """Show the table, a figure and heat maps of a few texts: see `study.show.show`."""
        return show.show(self, **options)

    def agreement(self, **options):
        """Rank agreement of the metrics: see `study.show.agreement`."""
        return show.agreement(self, **options)

    def save(self, folder, **options):
        """Save record, tables, figures and explorer in a folder: see `study.show.save`."""
        return show.save(self, folder, **options)


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
    budget=None,
    resume=None,
    long_texts="error",
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
        metrics: names of `faithlib.metrics.registry.names()`; "default" for what this model and data can have
            a value of; "all" for the others of single texts too, and RACU and MaSF of a model trained with
            masks.
        targets: what is explained, one a text: a class by number or name; for language models a token id,
            several, or the text of an answer, which a blank parts from its prompt unless either has one. By
            default what the model predicts.
        contrast: as targets; then p(target) − p(contrast) is explained.
        baselines: how often each attribution's scores are put in random order, for the diagnosticity.
        seed: of every random draw.
        budget: padded tokens of a pass; by default what fits the processor's caches or the GPU's memory.
        resume: a folder that keeps finished chunks, so that a study that was stopped goes on.
        long_texts: "error" refuses texts that are longer than the model takes, "truncate" cuts their ends.
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
    _check(models, baselines, seed, budget, resume)
    texts = read(data)
    settings = {"seed": seed, **settings}
    with joined(attributions) as wanted:
        sessions = [
            _Session(
                m, texts, wanted, metrics, targets, contrast, baselines, budget, resume, long_texts, settings
            )
            for m in models
        ]
        _check_metrics(sessions, _names(models))
        with nullcontext() if progress else silent():
            return _finished(sessions, _names(models), texts, progress)


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

    def __init__(
        self, model, texts, wanted, metrics, given, contrast, baselines, budget, resume, long_texts, settings
    ):  # fmt: skip
        self.model, self.texts, self.wanted, self.settings = model, texts, wanted, settings
        self.given, self.contrast, self.baselines, self.budget = given, contrast, baselines, budget
        self.resume, self.found_now = resume, {}
        if resume is not None and placement.offloaded(model.model):
            raise ValueError(f"resume={str(resume)!r}: {model.name} has offloaded weights: leave resume out")
        self.encodings, self.cut = texts.encode(model, long_texts)
        longest = max(len(e.ids) for e in self.encodings)
        if budget is not None and budget < longest:
            raise ValueError(
                f"budget={budget} is smaller than the longest text, of {longest} tokens: give {longest} or "
                "more"
            )
        self.labels = None if hasattr(model, "prefix") else labels(texts, model)
        names = list(dict.fromkeys(wanted.computed.values()))
        methods.check(names or ["random_uniform"], model, **settings)
        for setting in unused(names, settings):
            print(f"{setting}={settings[setting]!r}: no attribution of {', '.join(wanted.order)} takes it")
        self.targets = explained.resolve(model, texts, self.encodings, given, contrast)
        explained.check(self.targets, names)
        self.found = _aligned(self)  # checked: which output of several is meant is known later
        self.cache = forward.Cache()
        zeros = np.zeros(len(self.encodings), int)
        self.inputs = Inputs(
            model, self.encodings, zeros, texts.column("evidence"), settings["seed"], self.cache
        )
        self.inputs.masking = masked.masking(self)
        chosen = plan.chosen(metrics, self.inputs)
        self.metrics = [m for m in chosen if m.level == "example"]
        self.masked = masked.METRICS if len(self.metrics) < len(chosen) else []
        self.left_out = masked.REASON if metrics == "all" and masked.could(self) and not self.masked else ""

    def predict(self):
        """What the model predicts, which is what is explained unless targets are given; and the estimate."""
        with batching.limited(self.model, self.budget):
            per_token = plan.seconds_per_token(self.model, self.encodings, self.cache)
            self.predicted, _ = explained.predictions(self.model, self.encodings, self.cache)
        self.targets = explained.resolve(
            self.model, self.texts, self.encodings, self.given, self.contrast, self.predicted
        )
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
            words, predicted = model.tokenizer.decode, [model.tokenizer.decode([t]) for t in self.predicted]
            label_names, named = (), [words(list(answer)).strip() for answer in targets.listed]
        else:
            label_names, predicted = tuple(class_names(model) or self.texts.label_names), self.predicted
            known = label_names or [str(i) for i in range(model.outputs)]
            words, named = (lambda classes: known[classes[0]]), [known[t] for t in targets.first]
        if targets.contrast is not None:
            foils = [words(list(foil)).strip() for foil in targets.contrast]
            named = [f"{name} − {foil}" for name, foil in zip(named, foils, strict=True)]
        elif not hasattr(model, "prefix"):
            named = None
        return label_names, named, predicted

    def explain(self):
        """Scores of all attributions, in their order."""
        about = {"baselines": self.baselines, "evidence": str(self.inputs.evidence)}
        self.chunks = chunks.Chunks(
            self.resume, self.model, self.encodings, self.targets, seed=self.settings["seed"], **about
        )
        names = list(dict.fromkeys(self.wanted.computed.values()))
        if self.resume is None:
            found = self._attributed(names) if names else {}
        else:
            found = {name: self._kept(name) for name in names}
        computed = {shown: found[name] for shown, name in self.wanted.computed.items()}
        return {name: (computed | self.found)[name] for name in self.wanted.order}

    def _attributed(self, names):
        return explained.attribute(
            self.model, self.encodings, self.targets, names, cache=self.cache, budget=self.budget,
            **self.settings,
        )  # fmt: skip

    def _kept(self, name):
        """Scores of an attribution from its chunk; its function runs if there is none."""
        function = methods.get(name).function
        family = [other for other in self.wanted.computed.values() if methods.get(other).function == function]

        def compute():
            if name not in self.found_now:
                self.found_now.update(self._attributed(list(dict.fromkeys(family))))
            return self.found_now[name]

        return self.chunks.scores(name, function, self.settings, self.encodings, compute)

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
    estimates = [session.predict() for session in sessions]
    estimate = plan.Estimate(
        sum(e.passes for e in estimates), sum(e.seconds for e in estimates), max(e.bytes for e in estimates)
    )
    at_chance, notes = "", []
    if sessions[0].labels is not None:
        at_chance = table.chance(sessions[0].labels, [session.predicted for session in sessions])
    if at_chance:
        notes.append(
            f"{', '.join(names)} on {texts.name or 'these texts'}: {at_chance}. No value is given: "
            "what explains such predictions says nothing."
        )
        print(notes[0], flush=True)
    told = [reason for session in sessions for reason in (session.cut, session.left_out) if reason]
    for reason in dict.fromkeys(told):
        notes.append(reason)
        print(reason, flush=True)
    for session, name in zip(sessions, names, strict=True):
        config = getattr(getattr(session.model, "model", None), "config", None)
        if origin := getattr(config, "origin", None):
            notes.append(f"Weights of {name}: {', '.join(origin.values())}.")
    if shown and estimate.seconds >= plan.WORTH_SAYING:
        first = sessions[0]
        counts = len(first.encodings), len(first.wanted.order), len(first.metrics)
        what = "{} texts, {} attributions, {} metrics".format(*counts)
        print(f"{what}: {estimate}", file=sys.stderr if sys.stderr.isatty() else sys.stdout, flush=True)
    parts, areas_of, contrasted = [], [], sessions[0].targets.contrast is not None
    for session, name in zip(sessions, names, strict=True):
        found = session.explain()
        values = session.measure(found)
        values.insert(0, "model", name)
        label_names, target_names, predicted = session.names()
        flat = {n: sum(map(_flat, s, session.encodings)) for n, s in found.items()}
        areas = {}
        if session.masked:
            areas, shares = masked.measured(session, name)
            values = pd.concat([values, shares], ignore_index=True)
        own = table.table(values, session.metrics, texts.name, at_chance, flat, contrasted)
        own = masked.added(own, session.masked, values, [areas], texts.name, at_chance)
        areas_of.append(areas)
        parts.append(
            Study(
                own, values, found, session.encodings, session.targets.first, texts.column("text"),
                [session.model.tokens(e) for e in session.encodings], name, list(notes), session.labels,
                predicted, (), estimate, label_names, target_names,
            )
        )  # fmt: skip
    if len(parts) == 1:
        return parts[0]
    values = pd.concat([part.values for part in parts], ignore_index=True)
    first, joint = parts[0], table.table(values, sessions[0].metrics, texts.name, at_chance, None, contrasted)
    joint = masked.added(joint, sessions[0].masked, values, areas_of, texts.name, at_chance)
    return Study(
        joint, values, first.scores, first.encodings, first.targets, first.texts, first.tokens,
        ", ".join(names), notes, first.labels, first.predicted, tuple(parts), estimate, first.label_names,
        first.target_names,
    )  # fmt: skip


def _flat(s, encoding):
    own = np.asarray(s)[encoding.maskable]
    return int(len(own) > 1 and np.ptp(own) == 0)


def _aligned(session):
    """Scores from elsewhere on the model's tokens: {name: [(tokens,)]}."""
    given, texts = session.wanted.given, session.texts
    if not given:
        return {}
    pairs = texts.column("text_b")
    found = align(given, texts.column("text"), session.model, session.targets.first, pairs)
    scores.check_scores(session.encodings, found)
    return found


def _names(models):
    """The models' names; of equal ones the later are numbered."""
    names, seen = [], {}
    for model in models:
        seen[model.name] = seen.get(model.name, 0) + 1
        names.append(model.name if seen[model.name] == 1 else f"{model.name} ({seen[model.name]})")
    return names


def _check(models, baselines, seed, budget, resume):
    if not models:
        raise ValueError("model=[] leaves nothing to explain: give at least one")
    for model in models:
        check_model(model)
    scores.whole("baselines", baselines)
    scores.whole("seed", seed)
    if budget is not None:
        scores.whole("budget", budget, 1)
    chunks.check(resume)
