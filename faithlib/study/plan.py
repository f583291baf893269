"""What a study will compute, and what that costs, before it starts."""

import time
from dataclasses import dataclass, field
from inspect import signature

import numpy as np
import torch

from faithlib import attributions
from faithlib.engine import batching, forward
from faithlib.metrics import registry

WORTH_SAYING = 3  # seconds: a shorter study starts without an estimate
LONG = 600  # seconds: a longer one is told how to be shorter


@dataclass(frozen=True)
class Estimate:
    """The cost of a study, roughly: passes of the model, a text each, and seconds, 0 if none was timed.

    bytes: memory of the weights and of a pass; by_name: {attribution or metric: its passes}.
    """

    passes: int
    seconds: float = 0.0
    bytes: int = 0
    by_name: dict = field(default_factory=dict)

    def __add__(self, other):
        """The cost of two models, one after the other."""
        shares = {name: n + other.by_name.get(name, 0) for name, n in self.by_name.items()}
        seconds, most = self.seconds + other.seconds, max(self.bytes, other.bytes)
        return Estimate(self.passes + other.passes, seconds, most, shares)

    def advice(self, part):
        """What to know before a study starts: what is dearest, and what fewer texts take."""
        n, minutes = len(part.encodings), part.asked.minutes
        each = self.seconds / n
        fewer = [f"{count} texts {_span(count * each)}" for count in (20, 50) if count < n]
        metrics = {m.name for m in part.metrics}
        groups = metrics, set(self.by_name) - metrics
        dearest = [max(names, key=self.by_name.get) for names in groups if names]
        parts = [", ".join(fewer), f"dearest: {' and '.join(dearest)}"]
        if minutes and 20 * each > 60 * minutes:
            over = _span(20 * each - 60 * minutes)
            parts.append(f"20 texts take {_span(20 * each)}, {over} over minutes={minutes:g}")
        elif not minutes and self.seconds > LONG:
            parts.append("minutes=10 stops after ten minutes")
        if self.seconds > LONG and str(getattr(part.model, "dtype", "")) == "torch.float32":
            parts.append("dtype='auto' of load_model may halve it")
        return "; " + "; ".join(filter(None, parts))

    def __str__(self):
        """One line, such as "about 12,000 passes, 2 min, 1.5 GiB"."""
        return f"about {self.passes:,} passes, {_span(self.seconds)}, {self.bytes / 2**30:.1f} GiB"


def _span(seconds):
    return f"{seconds / 60:,.0f} min" if seconds >= 90 else f"{seconds:,.0f} s"


def chosen(metrics, inputs):
    """The `Metric`s of a study: by names, the "default" of those that it can have, or "all" of them.

    Raises ValueError for no metric, an unknown one, one whose needs are not met.
    """
    if isinstance(metrics, str) and metrics in ("default", "all"):
        every = [registry.get(name) for name in registry.names()]
        every = [m for m in every if _of_study(m) and set(m.needs) <= inputs.has]
        return [m for m in every if m.default or metrics == "all"]
    if not isinstance(metrics, (str, list, tuple)):
        raise ValueError(f'metrics={metrics!r}: give names in a list, "default" or "all"')
    names = [metrics] if isinstance(metrics, str) else list(dict.fromkeys(metrics))
    if not names:
        raise ValueError('metrics=[] leaves nothing to measure: give names, "default" or "all"')
    metrics_chosen = [registry.get(name) for name in names]
    for metric in metrics_chosen:
        inputs.check(metric)
        if not _of_study(metric):
            raise ValueError(f"metric {metric.name!r} has no value of a single text: leave it out")
    return metrics_chosen


def _of_study(metric):
    """Whether a study can have a metric: values of single texts, or those of a model trained with masks."""
    return metric.level == "example" or "masked" in metric.needs


def estimate(model, encodings, names, aligned, metrics, baselines, budget=None, per_token=0.0, **settings):
    """The `Estimate` of a study.

    names: registered attributions, of which those of one function share their passes; aligned: how many have
    scores; baselines: of each attribution; budget: padded tokens of a pass; per_token: seconds.
    """
    n = np.array([e.maskable.sum() for e in encodings])
    lengths = np.array([len(e.ids) for e in encodings])
    sources, by_name = (len(names) + aligned) * (1 + baselines), {}
    asked = 10 if any("masked" in metric.needs for metric in metrics) else 1  # anew at every level
    for entry in {attributions.get(name).resolve(): attributions.get(name) for name in names}.values():
        by_name[entry.name] = asked * _passes_of(entry, n, settings) + 0 * n
    shared = set()
    for metric in metrics:
        once = 0 if metric.shared_passes in shared else _count(metric.shared_passes, n)
        by_name[metric.name] = sources * _count(metric.passes, n) + once + 0 * n
        shared.add(metric.shared_passes)
    per_text = 1 + sum(by_name.values())
    by_name = {name: int(passes.sum()) for name, passes in by_name.items()}
    tokens = budget or batching.token_budget(model)
    weights = sum(w.numel() * w.element_size() for w in model.model.parameters())
    try:
        activations = tokens * batching.activation_bytes(model)
    except AttributeError:  # an adapted module without a config
        activations = 0
    seconds = float((per_text * lengths).sum() * per_token)
    return Estimate(int(per_text.sum()), seconds, weights + activations, by_name)


def seconds_per_token(model, encodings, cache=None):
    """Seconds of a (padded) token in a forward pass; on a CPU that others use too, of this process."""
    longest = max(len(e.ids) for e in encodings)
    timed = encodings[: max(1, batching.token_budget(model) // longest)]
    forward.probabilities(model, [forward.unchanged(encodings[0])])
    start, cpu = time.perf_counter(), time.process_time()
    forward.probabilities(model, [forward.unchanged(e) for e in timed], cache)
    wall, spent = time.perf_counter() - start, (time.process_time() - cpu) / torch.get_num_threads()
    seconds = min(wall, spent) if model.device.type == "cpu" else wall
    return seconds / (len(timed) * max(len(e.ids) for e in timed))


def _passes_of(entry, n, settings):
    parameters = signature(entry.resolve()).parameters
    taken = {name: settings.get(name, p.default) for name, p in parameters.items()}
    steps = next((taken[name] for name in ("steps", "samples") if name in taken), 1)
    if "rounds" in taken:  # ReAGent asks twice a round
        steps = 2 * taken["rounds"] * taken["probes"]
    if "halvings" in taken:  # Noiser; the search for the smallest scale soon has few tokens left
        calls = 2 if taken["bounding"] == "k_min" else taken["halvings"]
        steps = calls * taken["noise"]
    return {
        "none": 0,
        "constant": 2,
        "steps": steps,
        "tokens": n,
        "steps times tokens": steps * n,
        "tokens squared": taken.get("beam", 1) * n**2 / 2,
    }[entry.cost]


def _count(passes, n):
    return np.array([passes(int(k)) for k in n]) if callable(passes) else passes
