"""Models that read half of the words of a text: the other words cannot matter, whatever they say.

Each word has a read bit, drawn from a stream that knows the text's number and not its words. The bit is in
the token type (1 = unread), so that it stays with its token where others are deleted. Two kinds of models:

    attention    unread tokens receive no attention in any layer: no path leads from them to the output
    mask         unread tokens are replaced by the mask token: their place is read, and no word of them
"""

from dataclasses import replace

import numpy as np
import torch

from faithlib.models import Classifier
from faithlib.scores import one_of
from faithlib.statistics import stream

KINDS = ("attention", "mask")
READ, UNREAD = 0, 1  # token types
RATE = 0.5  # chance that a word of a scored text is read


class ReadHalf(Classifier):
    """A transformer that does not read tokens of the type UNREAD.

    Args:
        classifier: the Classifier whose network and tokenizer are used; it must have a mask token.
        kind: of KINDS.

    Raises:
        ValueError: an unknown kind; a model without a mask token.
    """

    def __init__(self, classifier, kind):
        one_of("kind", kind, KINDS)
        if classifier.mask_id is None:
            raise ValueError(f"{classifier.name} has no mask token: use a masked language model")
        name = f"{classifier.name}, {kind}"
        super().__init__(
            classifier.model, classifier.tokenizer, name, classifier.max_length, classifier.dtype
        )
        self.kind = kind

    def _inputs(self, batch, embeddings=None, weight=None):
        unread = batch.types == UNREAD  # (batch, tokens)
        plain = replace(batch, types=torch.zeros_like(batch.types))
        if self.kind == "attention":
            return super()._inputs(replace(plain, present=batch.present & ~unread), embeddings, weight)
        masked = torch.where(unread, self.mask_id, batch.ids)
        if embeddings is not None:
            embeddings = torch.where(unread[..., None], self.embed(masked), embeddings)
        return super()._inputs(replace(plain, ids=masked), embeddings, weight)


def with_bits(encoding, rate, generator):
    """The encoding in which each word is read with the chance `rate`, in [0, 1].

    All tokens of a word have one bit; tokens that are not maskable are read. ValueError for an encoding with
    a text_b, whose token types would be taken for bits.
    """
    if encoding.auxiliary.any():
        raise ValueError("the encoding has a text_b, and token types hold the read bits: leave text_b out")
    count = int(encoding.words.max()) + 1
    unread = generator.random(count) >= rate  # (words,)
    types = np.where(encoding.maskable & unread[encoding.words], UNREAD, READ)
    return replace(encoding, types=types)


def half_read(encodings, seed):
    """The encodings, in the order of their numbers, with bits of RATE from streams of (seed, number)."""
    return [with_bits(e, RATE, stream("read bits", seed, number)) for number, e in enumerate(encodings)]


def unread_tokens(encoding):
    """Which tokens are not read: (tokens,) bool."""
    return encoding.types == UNREAD


def read_tokens(encoding):
    """Which maskable tokens are read: (tokens,) bool."""
    return encoding.maskable & (encoding.types == READ)
