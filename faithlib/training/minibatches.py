"""Mini-batches of a split: padded once, shuffled by length and, for masked fine-tuning, randomly masked."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from faithlib.engine.forward import check_mask, check_outputs, replaced
from faithlib.scores import one_of

TRAINING, VALIDATION = 1, 2  # streams of random masks: the draws of one do not change those of the other


class Split:
    """A split that is padded and moved to the device once, and from which batches are cut.

    Raises ValueError for no examples, and for labels, (examples,) int, of another number or type or that are
    no output of the model.
    """

    def __init__(self, classifier, encodings, labels):
        _check_labels(classifier, encodings, labels)
        classifier.check(encodings)
        self.lengths = np.array([len(e.ids) for e in encodings])
        self.padded = classifier.collate(encodings)
        self.labels = torch.as_tensor(np.array(labels, np.int64), device=classifier.device)

    def at(self, rows):
        """The examples `rows`: a Batch padded to the longest of them, and their labels (batch,)."""
        index = torch.as_tensor(rows, device=self.labels.device)
        return self.padded.at(index, stop=int(self.lengths[rows].max())), self.labels[index]


def _check_labels(classifier, encodings, labels):
    array = np.asarray(labels)
    if wrong := [e for e in encodings if not hasattr(e, "ids")]:
        raise ValueError(f"{wrong[0]!r} among the encodings: give what model.encode(texts) returns")
    if not len(encodings) or array.shape != (len(encodings),) or array.dtype.kind not in "iu":
        raise ValueError(
            f"labels of shape {array.shape} and {array.dtype} for {len(encodings)} encodings: give a whole "
            "number for each, at least one"
        )
    check_outputs(classifier, "label", array)


class MaskedSplit(Split):
    """A split whose batches have new random masks each time, as `masked` draws them."""

    def __init__(self, classifier, encodings, labels, masking, seed):
        super().__init__(classifier, encodings, labels)
        check_mask(classifier)
        self.encodings, self.masking, self.mask_id = encodings, masking, classifier.mask_id
        self.generator = np.random.default_rng([seed, TRAINING])

    def at(self, rows):
        batch, labels = super().at(rows)
        masks = np.zeros(batch.ids.shape, bool)
        drawn = _random_masks([self.encodings[i] for i in rows], self.generator, self.masking)
        for row, mask in zip(masks, drawn, strict=True):
            row[: len(mask)] = mask
        masks = torch.from_numpy(masks).to(batch.ids.device)
        return replace(batch, ids=batch.ids.masked_fill(masks, self.mask_id)), labels


def masked(
    classifier: Any, encodings: Sequence, generator: np.random.Generator, masking: str = "all"
) -> list:
    """The encodings with the random masks of masked fine-tuning (Madsen et al. 2024, Algorithm 1).

    For each example a ratio r ~ U[0, 1) is drawn, and each of its tokens becomes the mask token with
    probability r. Tokens of text_b are masked too: Algorithm 1 masks the whole input, and so does the release
    (explanations mask `text` only). Special tokens are not masked.

    `masking` is "all" examples, or "half", ⌊n / 2⌋ of them at random. Raises ValueError for another one, or a
    model without a mask token.
    """
    one_of("masking", masking, ("half", "all"))
    check_mask(classifier)
    pairs = zip(encodings, _random_masks(encodings, generator, masking), strict=True)
    return [replaced(e, mask, classifier.mask_id).encoding for e, mask in pairs]


def shuffled_by_length(lengths, batch_size, generator, pool=50) -> list:
    """Batches of row indices in random order, each of examples of similar length.

    Rows are shuffled, then sorted by length, (examples,) int, within pools of `pool` batches.
    """
    rows = generator.permutation(len(lengths))
    size = batch_size * pool
    batches = []
    for start in range(0, len(rows), size):
        chosen = rows[start : start + size]
        chosen = chosen[np.argsort(np.asarray(lengths)[chosen], kind="stable")]
        batches += [chosen[i : i + batch_size] for i in range(0, len(chosen), batch_size)]
    return [batches[i] for i in generator.permutation(len(batches))]


def _random_masks(encodings, generator, masking):
    """The masks that `masked` applies: [(tokens,) bool]."""
    n = len(encodings)
    ratios = generator.random(n)
    if masking == "half":  # at random: a fixed half of a batch sorted by length would be the longer texts
        ratios[generator.permutation(n) >= n // 2] = 0
    pairs = zip(encodings, ratios, strict=True)
    return [(e.maskable | e.auxiliary) & (generator.random(len(e.ids)) < r) for e, r in pairs]
