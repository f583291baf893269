"""What a study will compute, and what that costs, before it starts."""

import time
from dataclasses import dataclass
from inspect import signature

import numpy as np

from faithlib import attributions
from faithlib.engine import batching, forward
from faithlib.metrics import registry

WORTH_SAYING = 3  # seconds: a shorter study starts without an estimate


@dataclass(frozen=True)
class Estimate:
    """The cost of a study, roughly: equal inputs are counted as often as they are asked for.

    Attributes:
        passes: of the model, a text each.
        seconds: from a timed batch; 0 if none was timed.
        bytes: memory of the weights and of a pass.
    """

    passes: int
    seconds: float = 0.0
    bytes: int = 0

    def __str__(self):
        """One line.

        Example:
            >>> print(Estimate(12000, 95, 3 * 2**29))
            about 12,000 passes, 2 min, 1.5 GiB
        """
        long = self.seconds >= 90
        shown = f"{self.seconds / 60:,.0f} min" if long else f"{self.seconds:,.0f} s"
        return f"about {self.passes:,} passes, {shown}, {self.bytes / 2**30:.1f} GiB"


def chosen(metrics, inputs):
    """The `Metric`s of a study.

    Args:
        metrics: "default", "all" or names. "default" is every metric of single texts that the study can have
            and that is registered as default; "all" takes the others too.
        inputs: `metrics.inputs.Inputs`.

    Raises:
        ValueError: no metric, an unknown one, one whose needs are not met.
    """
    if isinstance(metrics, str) and metrics in ("default", "all"):
        every = [registry.get(name) for name in registry.names()]
        every = [m for m in every if _of_study(m) and set(m.needs) <= inputs.has]
        return [m for m in every if m.default or metrics == "all"]
    if not isinstance(metrics, (str, list, tuple)):
        raise ValueError(f'metrics={metrics!r}: give names, "default" or "all"')
    names = [metrics] if isinstance(metrics, str) else list(dict.fromkeys(metrics))
    if not names:
        raise ValueError('metrics=[] leaves nothing to measure: give names, "default" or "all"')
    found = [registry.get(name) for name in names]
    for metric in found:
        inputs.check(metric)
        if not _of_study(metric):
            raise ValueError(f"metric {metric.name!r} has no value of a single text: leave it out")
    return found


def _of_study(metric):
    """Whether a study can have a metric: values of single texts, or those of a model trained with masks."""
    return metric.level == "example" or "masked" in metric.needs


def estimate(model, encodings, names, given, metrics, baselines, budget=None, per_token=0.0, **settings):
    """The `Estimate` of a study.

    Args:
        model: the model that is explained.
        encodings: its texts.
        names: registered attributions; those of one function share their passes.
        given: number of attributions whose scores are there.
        metrics: [`Metric`].
        baselines: matched baselines of each attribution.
        budget: padded tokens of a pass.
        per_token: seconds of a token in a forward pass.
        settings: of the attributions.
    """
    n = np.array([e.maskable.sum() for e in encodings])
    lengths = np.array([len(e.ids) for e in encodings])
    per_text, sources = np.ones(len(n)), (len(names) + given) * (1 + baselines)
    for entry in {attributions.get(name).resolve(): attributions.get(name) for name in names}.values():
        asked = 10 if any("masked" in metric.needs for metric in metrics) else 1  # anew at every level
        per_text = per_text + asked * _passes_of(entry, n, settings)
    for metric in metrics:
        per_text = per_text + sources * _count(metric.passes, n)
    shared = {metric.shared_passes for metric in metrics}
    per_text = per_text + sum(_count(passes, n) for passes in shared)
    tokens = budget or batching.token_budget(model)
    weights = sum(w.numel() * w.element_size() for w in model.model.parameters())
    try:
        activations = tokens * batching.activation_bytes(model)
    except AttributeError:  # an adapted module without a config
        activations = 0
    return Estimate(int(per_text.sum()), float((per_text * lengths).sum() * per_token), weights + activations)


def seconds_per_token(model, encodings, cache=None):
    """Seconds of a token in a forward pass, of a batch that is timed after one that is not."""
    timed = encodings[: max(1, batching.token_budget(model) // max(len(e.ids) for e in encodings))]
    forward.probabilities(model, [forward.unchanged(encodings[0])])
    start = time.perf_counter()
    forward.probabilities(model, [forward.unchanged(e) for e in timed], cache)
    return (time.perf_counter() - start) / sum(len(e.ids) for e in timed)


def _passes_of(entry, n, settings):
    own = signature(entry.resolve()).parameters
    taken = {name: settings.get(name, p.default) for name, p in own.items()}
    steps = next((taken[name] for name in ("steps", "samples") if name in taken), 1)
    if "rounds" in taken:  # ReAGent asks twice a round
        steps = 2 * taken["rounds"] * taken["probes"]
    if "halvings" in taken:  # Noiser asks for each of its noise vectors
        steps = taken["halvings"] * taken["noise"]
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
