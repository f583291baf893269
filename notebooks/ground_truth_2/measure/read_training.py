"""Training a `read_half.ReadHalf`: each epoch draws other bits, so that any subset of words is familiar."""

from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from faithlib.engine import forward
from faithlib.scores import one_of
from faithlib.statistics import stream
from notebooks.ground_truth_2.measure.read_half import with_bits

RATES = (0.05, 1.0)  # the share of the words of a training text that is read is drawn between these
MARGIN = 0.15  # above the majority class, with half of the words read: the least accuracy of a scored model


@dataclass(frozen=True)
class Settings:
    """How a model is trained.

    Attributes:
        learning_rate, head_learning_rate: of the network, and of the classification layer.
        warmup: share of the steps in which the rate rises; it then falls to 0 linearly.
        weight_decay: of AdamW.
        clip: the largest norm of a gradient.
        pool: texts that are sorted by length together, so that batches have little padding.
        seed: of order, bits and dropout.
        dtype: what products are computed in while training: "bfloat16", or "float32", which is faster on a
            processor without bfloat16 units.
    """

    epochs: int = 2
    batch_size: int = 32
    learning_rate: float = 1e-4
    head_learning_rate: float = 1e-3
    warmup: float = 0.1
    weight_decay: float = 0.01
    clip: float = 1.0
    pool: int = 640
    seed: int = 0
    dtype: str = "bfloat16"

    def __post_init__(self):
        one_of("dtype", self.dtype, ("bfloat16", "float32"))


def train(model, encodings, labels, settings):
    """Train a model in place; afterwards it computes in float32. Returns the mean loss of each epoch.

    model: a `read_half.ReadHalf` with float32 weights. encodings: [Encoding], whose bits are drawn here.
    labels: (texts,) int.
    """
    steps = settings.epochs * (len(encodings) // settings.batch_size)
    optimizer, schedule = _optimizer(model, settings, steps)
    generator = stream("read training", settings.seed)
    losses = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        model.dtype = getattr(torch, settings.dtype)
        model.model.train()
        for _ in range(settings.epochs):
            total = []
            for rows in batches([len(e.ids) for e in encodings], settings, generator):
                bits = [with_bits(encodings[i], generator.uniform(*RATES), generator) for i in rows]
                target = torch.tensor(labels[rows], device=model.device)
                loss = cross_entropy(model.logits(model.collate(bits)), target)
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.model.parameters(), settings.clip)
                optimizer.step()
                schedule.step()
                total.append(loss.item())
            losses.append(float(np.mean(total)))
        model.model.eval()
        model.dtype = torch.float32
    return losses


def batches(lengths, settings, generator):
    """Batches of one epoch, [(batch_size,) int]: in random order, each of texts of about one length.

    lengths: (texts,) tokens of each text; what does not fill a batch is left out of this epoch.
    """
    order, size, lengths = generator.permutation(len(lengths)), settings.batch_size, np.asarray(lengths)
    of_epoch = []
    for first in range(0, len(order), settings.pool):
        pool = order[first : first + settings.pool]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        count = len(pool) // size
        of_epoch += [pool[n * size : (n + 1) * size] for n in generator.permutation(count)]
    return of_epoch


def accuracy(model, encodings, labels):
    """The share of texts whose class is predicted, in [0, 1]; encodings have their bits."""
    p = forward.probabilities(model, [forward.unchanged(e) for e in encodings])
    return float((p.argmax(1) == labels).mean())


def refused(share, labels):
    """Why a model is not scored, "" if it is.

    share: its accuracy with half of the words read. labels: (texts,) int, of the test texts.

    >>> refused(0.7, np.array([0, 1])), refused(0.6, np.array([0, 1]))
    ('', 'accuracy 0.600 with half of the words is below 0.650')
    """
    least = np.bincount(labels).max() / len(labels) + MARGIN
    return "" if share >= least else f"accuracy {share:.3f} with half of the words is below {least:.3f}"


def _optimizer(model, settings, steps):
    head, body = [], []
    for name, weight in model.model.named_parameters():
        (head if name.startswith("classifier") else body).append(weight)
    groups = [
        {"params": body, "lr": settings.learning_rate},
        {"params": head, "lr": settings.head_learning_rate},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=settings.weight_decay)

    def share(step):
        rise = (step + 1) / max(1, settings.warmup * steps)
        return min(1, rise) * max(0, 1 - step / steps)

    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, share)
