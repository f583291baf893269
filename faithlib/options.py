"""What parameters may be, as data: functions, the grid and tests read the same; nothing here loads torch."""

import math
from dataclasses import dataclass
from numbers import Integral, Real


class Rule:
    """What a parameter may be; `str` says it in a message."""

    def check(self, name, value):
        """Raise ValueError, in one line, for a value that is not allowed."""
        if not self.allows(value):
            raise ValueError(f"{name}={value!r} {self}")


@dataclass(frozen=True)
class Whole(Rule):
    """A whole number from `least` on; True and False are none.

    Example:
        >>> Whole(1).check("steps", 2.5)
        Traceback (most recent call last):
            ...
        ValueError: steps=2.5 must be at least 1, a whole number
    """

    least: int = 0

    def __str__(self):
        return f"must be at least {self.least}, a whole number"

    def allows(self, value):
        return isinstance(value, Integral) and not isinstance(value, bool) and value >= self.least


@dataclass(frozen=True)
class Number(Rule):
    """A finite number of at least `least`, or above it, and at most `most`; True and False are none."""

    least: float = 0
    above: bool = False
    most: float = math.inf

    def __str__(self):
        if self.most < math.inf:
            return f"is outside ({self.least:g}, {self.most:g}], or no number"
        return f"must be {'above' if self.above else 'at least'} {self.least:g}, and finite"

    def allows(self, value):
        if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
            return False
        return self.least <= value <= self.most and not (self.above and value == self.least)


@dataclass(frozen=True)
class Of(Rule):
    """One of some names."""

    names: tuple

    def __str__(self):
        return f"is unknown: use {', '.join(repr(name) for name in self.names if name)}"

    def allows(self, value):
        return value in self.names


@dataclass(frozen=True)
class Each(Rule):
    """A list whose items follow a rule."""

    rule: Rule

    def check(self, name, value):
        for item in value:
            self.rule.check(name, item)


@dataclass(frozen=True)
class Optional(Rule):
    """What a rule allows, or None."""

    rule: Rule

    def check(self, name, value):
        if value is not None:
            self.rule.check(name, value)


def check(values, rules):
    """Raise ValueError, in one line, for the first of {name: value} that {name: rule} refuses."""
    for name, value in values.items():
        if name in rules:
            rules[name].check(name, value)


RATE, SHARE = Number(above=True), Number(above=True, most=1)
DEFINITIONS = ("paper", "released")
REMOVALS = ("mask", "pad", "delete")  # what takes a token's place: the mask or padding token, or nothing
DTYPES = ("float32", "bfloat16", "float16")
PERTURBATIONS = ("bernoulli", "gaussian_scores", "gaussian_noise", "attention")
BOUNDINGS = ("k_min", "k_max", "k_max_per_token", "l2", "linf", "none", "random")
SALIENCES = ("textrank", "tfidf", "chi2", "uniform")
TINY, TINY_CAUSAL, BILSTM = "tiny-bert", "tiny-llama", "bilstm"  # models that are built here
MASKINGS, SELECTIONS = ("none", "half", "all"), ("unmasked", "masked", "both")
STRATEGIES = tuple(f"{masking}/{selection}" for masking in MASKINGS for selection in SELECTIONS)
SETTINGS = {  # of attributions
    **dict.fromkeys(("steps", "samples", "beam", "noise", "halvings", "probes", "rounds"), Whole(1)),
    "seed": Whole(),
    "baseline": Of((None, "zero", "token", "pad")),
    "path": Of(("input", "text")),
    "removal": Of(REMOVALS),
    "bounding": Of(BOUNDINGS),
    "norm": Of(("none", "l1", "l2", "linf")),
}
TRAINING = {  # of `training.fine_tune`
    **dict.fromkeys(("epochs", "batch_size", "checks_per_epoch", "accumulate"), Whole(1)),
    "patience": Optional(Whole(1)),
    "seed": Whole(),
    "learning_rate": RATE,
    **dict.fromkeys(("head_learning_rate", "clip"), Optional(RATE)),
    **dict.fromkeys(("warmup", "weight_decay", "salience_weight"), Number()),
    "optimiser": Of(("adamw", "amsgrad")),
    "schedule": Of(("linear", "constant")),
    "best": Of(("loss", "accuracy", "micro_f1", "macro_f1", "mcc")),
    "masking": Of(MASKINGS),
    "definition": Of(DEFINITIONS),
}
FROM_ONE = """epochs batch_size soft_draws random_draws ig_steps steps samples noise halvings beam
    timed_examples every width hidden min_count patience workers"""
FROM_ZERO = """train_size validation_size test_size examples tuning_examples max_length unused_classes tokens
    varied_examples bounding_examples seed"""
PARAMETERS = {  # of the papers' notebooks
    **dict.fromkeys(FROM_ONE.split(), Whole(1)),
    **dict.fromkeys(FROM_ZERO.split(), Whole()),
    **dict.fromkeys(("learning_rate", "head_learning_rate", "rate"), RATE),
    **dict.fromkeys(("weights", "released_weights", "variances"), Each(RATE)),
    "judge_share": SHARE,
    "perturbations": Each(Of(PERTURBATIONS)),
    "boundings": Each(Of(BOUNDINGS)),
    "saliences": Each(Of(SALIENCES)),
    "definitions": Each(Of(DEFINITIONS)),
    "strategies": Each(Of(STRATEGIES)),
    "options": Of(("", "none")),
    "removal": Of(REMOVALS),
}
