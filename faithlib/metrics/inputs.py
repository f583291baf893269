"""What a metric is given: a model, texts and targets, and the model's outputs for any variant of a text."""

import zlib
from functools import cached_property

import numpy as np

from faithlib import forward
from faithlib.metrics.registry import NEEDS
from faithlib.models.causal import CausalLM


class Inputs:
    """The texts of a study and the model that is explained; all metrics of a study share one.

    Args:
        model: a `Classifier` or a `CausalLM`.
        encodings: the texts, [Encoding].
        targets: (examples,) int, the class or next token that is explained.
        evidence: for each text the indices of its evidence words, or None where it is not known.
        seed: of every random draw; a draw belongs to a text, whatever else is evaluated.
        cache: a `forward.Cache`; outputs found in it are not computed again.
    """

    def __init__(self, model, encodings, targets, evidence=None, seed=0, cache=None):
        self.model, self.encodings, self.targets = model, encodings, np.asarray(targets)
        self.evidence, self.seed = evidence, seed
        self.cache = forward.Cache() if cache is None else cache

    @property
    def has(self):
        """What this study can give a metric, of `registry.NEEDS`."""
        found = {"causal"} if isinstance(self.model, CausalLM) else {"classifier"}
        found |= {"mask"} if self.model.mask_id is not None else set()
        return found | ({"evidence"} if self.evidence is not None else set())

    def check(self, metric):
        """Raise ValueError where a `Metric` needs what this study lacks."""
        for need in metric.needs:
            if need not in self.has:
                raise ValueError(
                    f"metric {metric.name!r} needs {NEEDS[need]}, which {self.model.name} and its data do "
                    "not give: leave it out"
                )

    def seeds(self, i, draws):
        """Seeds of the random draws of example i, [[int]]: equal for every attribution."""
        of_text = zlib.crc32(self.encodings[i].ids.tobytes())
        return [[self.seed, of_text, draw] for draw in range(draws)]

    def target_probabilities(self, variants, examples=None):
        """The probability of each variant's target: (len(variants),) float.

        Args:
            variants: `forward.Variant`s.
            examples: (len(variants),) int, of which text each one is a variant; by default one of each text.
        """
        targets = self.targets if examples is None else self.targets[np.asarray(examples)]
        return forward.target_values(self.model, variants, targets, "probability", self.cache)

    @cached_property
    def p_full(self):
        """The probability of the target given the whole text: (examples,)."""
        return self.target_probabilities([forward.unchanged(e) for e in self.encodings])

    @cached_property
    def p_empty(self):
        """The probability of the target where every maskable token is a zero vector: (examples,)."""
        return self.target_probabilities([forward.zeroed(e, e.maskable) for e in self.encodings])
