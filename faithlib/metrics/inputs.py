"""What a metric is given: a model, texts and targets, and the model's outputs for any variant of a text."""

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from faithlib.engine import forward, operators
from faithlib.metrics.registry import NEEDS
from faithlib.models.causal import CausalLM


class Inputs:
    """The texts of a study and the model that is explained; all metrics of a study share one.

    Args:
        model: a `Classifier` or a `CausalLM`.
        targets: (examples,) int, the class or next token that is explained.
        evidence: for each text the indices of its evidence words, or None where it is not known.
        seed: of every random draw; a draw belongs to a text, whatever else is evaluated.
        answers: for language models, the tokens of each text's answer, [(int, ...)]: their probability is the
            product over tokens, each given those before it. Its first tokens are `targets`.
        contrast: as answers; then p(answer) − p(contrast) is what is explained.
        masking: "half" or "all" where the model was trained with masks and metrics can use it, else "".
        operator: an `operators.Operator`, or the name of one, with which all metrics erase; by default that
            of each metric's paper.
        usual: the name of one for whole tokens where `operator` is left out; soft metrics keep their own.

    Raises ValueError for an operator that the model cannot have.
    """

    def __init__(
        self, model: Any, encodings: Sequence, targets: Sequence[int] | np.ndarray,
        evidence: Sequence | None = None, seed: int = 0, cache: forward.Cache | None = None,
        answers: Sequence | None = None, contrast: Sequence | None = None, masking: str = "",
        operator: operators.Operator | str | None = None, usual: str = "",
    ) -> None:  # fmt: skip
        self.model, self.encodings, self.targets = model, encodings, np.asarray(targets)
        if self.targets.shape != (len(encodings),):
            raise ValueError(f"{self.targets.size} targets for {len(encodings)} texts: give one each")
        forward.check_outputs(model, "target", self.targets)
        self.evidence, self.seed = evidence, seed
        self.answers, self.contrast, self.masking = answers, contrast, masking
        self.cache = forward.Cache() if cache is None else cache
        self.usual = usual
        self._kept: dict = {}
        self.operator = operators.Operator(model, operator) if isinstance(operator, str) else operator
        if self.operator is not None:
            self.operator.check(encodings)

    @property
    def has(self):
        """What this study can give a metric, of `registry.NEEDS`."""
        needs = {"causal"} if isinstance(self.model, CausalLM) else {"classifier"}
        needs |= {"mask"} if self.operator or self.usual or self.model.mask_id is not None else set()
        needs |= {"masked"} if self.masking else set()
        return needs | ({"evidence"} if self.evidence is not None else set())

    def check(self, metric):
        """Raise ValueError where a `Metric` needs what this study lacks."""
        for need in metric.needs:
            if need not in self.has:
                raise ValueError(
                    f"metric {metric.name!r} needs {NEEDS[need]}: {self.model.name} and its data do not "
                    "provide that: leave it out"
                )

    def seeds(self, i, draws):
        """Seeds of the random draws of example i, [[int]]: equal for every attribution."""
        of_text = zlib.crc32(self.encodings[i].ids.tobytes())
        return [[self.seed, of_text, draw] for draw in range(draws)]

    def erasing(self, default, soft=False):
        """The `operators.Operator` of a metric whose paper names `default`; soft: of parts of tokens."""
        name = default if soft else self.usual or default
        return self.operator or self.once(("operator", name), lambda: operators.Operator(self.model, name))

    def erased_by(self, metric):
        """The name of the operator with which a `Metric` erases here, "" for none."""
        return self.erasing(metric.operator, metric.soft).name if metric.operator else ""

    def without(self, masks, examples, default, soft=False):
        """The probability of the target without the tokens of `masks`: (len(masks),) float.

        masks: [(tokens,) bool]; examples: (len(masks),) int, of which text each one is; default, soft: of the
        metric, as `erasing` takes them.
        """
        operator, variants = self.erasing(default, soft), []
        for i, mask in zip(examples, masks, strict=True):
            variants += operator.variants(self.encodings[i], mask)
        p = self.target_probabilities(variants, np.repeat(examples, operator.texts))
        return p.reshape(-1, operator.texts).mean(1)

    def target_probabilities(self, variants, examples=None):
        """The probability of each variant's target, of all its tokens: (len(variants),) float in [0, 1].

        With a contrast p(answer) − p(contrast), in [−1, 1]. examples: (len(variants),) int, of which text
        each one is a variant; by default one of each text.
        """
        examples = np.arange(len(variants)) if examples is None else np.asarray(examples, int)
        answers = [(int(t),) for t in self.targets] if self.answers is None else self.answers
        p = self._probability_of(variants, examples, answers)
        return p if self.contrast is None else p - self._probability_of(variants, examples, self.contrast)

    def _probability_of(self, variants, examples, answers):
        rows = [(row, step) for row, i in enumerate(examples) for step in range(len(answers[i]))]
        steps = [continued(variants[row], answers[examples[row]][:step]) for row, step in rows]
        tokens = [answers[examples[row]][step] for row, step in rows]
        p = forward.target_values(self.model, steps, tokens, "probability", self.cache)
        if len(rows) == len(variants):
            return p
        product = np.ones(len(variants))
        np.multiply.at(product, [row for row, _ in rows], p)
        return product

    def distances(self, variants, examples, distance):
        """How far the next-token distribution of each variant is from that of its text: (len(variants),).

        A mean over the distributions that predict the tokens of the answer. distance: (p, q), each (batch,
        vocabulary) -> (batch,).
        """
        answers = [(0,)] * len(self.encodings) if self.answers is None else self.answers
        places = [(i, step) for i, answer in enumerate(answers) for step in range(len(answer))]
        row_of = {place: row for row, place in enumerate(places)}
        whole = self.once("next tokens", lambda: self._next_tokens(places, answers))
        rows = [(row, step) for row, i in enumerate(examples) for step in range(len(answers[i]))]
        steps = [continued(variants[row], answers[examples[row]][:step]) for row, step in rows]
        references = [row_of[int(examples[row]), step] for row, step in rows]
        values = forward.distances(self.model, steps, whole, references, distance, self.cache)
        of = [row for row, _ in rows]
        return np.bincount(of, values) / np.bincount(of)

    def _next_tokens(self, places, answers):
        """The distributions after each text and each part of its answer: (places, vocabulary)."""
        variants = [continued(forward.unchanged(self.encodings[i]), answers[i][:step]) for i, step in places]
        return forward.probabilities(self.model, variants, self.cache)

    def once(self, what, compute):
        """compute(), or what it gave before under the same name: what metrics of a study share."""
        if what not in self._kept:
            self._kept[what] = value = compute()
            if isinstance(value, np.ndarray) and value.ndim == 1:  # a value a text, such as p_full
                value.setflags(write=False)  # a metric that changed it would change the others
        return self._kept[what]

    @property
    def p_full(self):
        """The probability of the target given the whole text: (examples,)."""
        whole = [forward.unchanged(e) for e in self.encodings]
        return self.once("p_full", lambda: self.target_probabilities(whole))

    @property
    def p_empty(self):
        """The probability of the target without any maskable token, by default zero vectors: (examples,)."""
        return self.empty()

    def empty(self, soft=False):
        """`p_empty`, by the operator of metrics that erase whole tokens, or of soft ones."""
        masks = [e.maskable for e in self.encodings]
        return self.once(("empty", soft), lambda: self.without(masks, np.arange(len(masks)), "zero", soft))


def continued(variant, tokens):
    """The variant followed by tokens that are neither maskable nor perturbed: a `forward.Variant`."""
    if not len(tokens):
        return variant
    factor = variant.factor
    return replace(
        variant,
        encoding=followed(variant.encoding, tokens),
        factor=factor and (lambda: _extended(factor(), len(tokens))),
        weight=None if variant.weight is None else _extended(variant.weight, len(tokens)),
        base=variant.base and followed(variant.base, tokens),
    )


def followed(encoding, tokens):
    """The encoding followed by tokens that are not maskable."""
    longer = encoding.followed_by(list(tokens))
    return replace(longer, maskable=np.append(encoding.maskable, np.zeros(len(tokens), bool)))


def _extended(factor, n):
    """A factor (tokens,) or (tokens, width) with n ones after it."""
    factor = np.asarray(factor)
    return np.concatenate([factor, np.ones((n, *factor.shape[1:]), factor.dtype)])
