"""Operators: what takes the place of an erased token, the same for all metrics of a study."""

from inspect import signature

import numpy as np

from faithlib.engine import forward
from faithlib.scores import one_of, whole
from faithlib.statistics.base import stream

OPERATORS = ("zero", "mask", "delete", "pad", "resample")
BY = ("element", "token")
TEXTS = 4  # replacement texts that "resample" averages


def takes_factor(model):
    """Whether a model's logits can be had with its embedding output multiplied by a factor."""
    parameters = signature(model.logits).parameters.values()
    return any(one.name == "factor" or one.kind is one.VAR_KEYWORD for one in parameters)


class Operator:
    """How one model's erased tokens are replaced.

    zero: the embedding output becomes the zero vector. mask, pad: the token becomes the mask or padding
    token. delete: it is left out, and later tokens take its position. resample: it becomes the token at its
    position in a replacement text, whose tokens are drawn from the training split.

    Args:
        name: of OPERATORS.
        by: what soft metrics draw, of BY: "element" (single dimensions of the embedding output, which only
            "zero" can erase) or "token"; by default "element" for "zero" and "token" for all others.
        unigrams: (n,) int, token ids of the training split with their repeats; for "resample".
        stream: the name of the random numbers of "resample", on which with the text and its own number a
            replacement text depends: it is the same for all explanations of the text.
        texts: replacement texts that "resample" averages; of all other operators 1.

    Raises:
        ValueError: an unknown name, what the model cannot have, no unigrams or stream for "resample".

    Example:
        >>> from faithlib import models
        >>> model = models.load("tiny-bert", ("no", "yes"), ["the plot was great"])
        >>> (encoding,) = model.encode(["the plot was great"])
        >>> model.tokens(Operator(model, "delete").variant(encoding, encoding.maskable).encoding)
        ['[CLS]', '[SEP]']
    """

    def __init__(self, model, name, by="", unigrams=(), stream="", texts=TEXTS):
        one_of("operator", name, OPERATORS)
        self.by = by or ("element" if name == "zero" else "token")
        one_of("by", self.by, BY)
        whole("texts", texts, 1)
        self.model, self.name, self.stream = model, name, stream
        self.unigrams = np.asarray(unigrams, int)
        self.texts = texts if name == "resample" else 1
        self._replacements = {}
        self._check()

    def _check(self):
        name, token = self.name, {"mask": "mask_id", "pad": "pad_id"}.get(self.name)
        others = ", ".join(repr(other) for other in OPERATORS if other != name)
        if token and getattr(self.model, token) is None:
            raise ValueError(f"operator={name!r}: {self.model.name} has no {name} token: use one of {others}")
        if name == "zero" and not takes_factor(self.model):
            raise ValueError(
                f"operator='zero', but {self.model.name} gives no access to its embeddings (its logits take "
                f"no factor): use one of {others}"
            )
        if self.by == "element" and name != "zero":
            raise ValueError(f"by='element' with operator={name!r}: only for 'zero', use by='token'")
        if name == "resample" and not (len(self.unigrams) and self.stream):
            raise ValueError(
                "operator='resample' needs the token ids of the training split and the name of a stream: "
                "give unigrams and stream"
            )

    def check(self, encodings):
        """Raise ValueError where erasing all maskable tokens of a text leaves nothing that can be read."""
        if self.name == "delete" and any(e.maskable.all() for e in encodings):
            raise ValueError(
                f"operator='delete', but {self.model.name} has no special token that is left when a text is "
                "deleted: use 'zero', 'mask', 'pad' or 'resample'"
            )

    def variants(self, encoding, masked):
        """The variants whose outputs are averaged, [Variant]: tokens at `masked` (tokens,) bool erased."""
        return [self.variant(encoding, masked, text) for text in range(self.texts)]

    def variant(self, encoding, masked, text=0):
        """One of `variants`; text: the number of the replacement text, counted modulo `texts`."""
        if self.name != "resample":
            return forward.erased(self.model, encoding, masked, self.name)
        return forward.replaced(encoding, masked, self._replacement(encoding, text % self.texts))

    def _replacement(self, encoding, text):
        """The ids of a replacement text: (tokens,)."""
        key = encoding.ids.tobytes(), text
        if key not in self._replacements:
            generator = stream("resample", self.stream, encoding.ids.tolist(), text)
            self._replacements[key] = generator.choice(self.unigrams, len(encoding.ids))
        return self._replacements[key]
