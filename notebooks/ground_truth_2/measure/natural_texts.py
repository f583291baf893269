"""Natural texts for models that read half of the words: three data sets, cut to so many words."""

from dataclasses import dataclass

import numpy as np

from faithlib.tasks import TASKS, load
from notebooks.ground_truth_2.measure.read_half import read_tokens, unread_tokens

LEAST = {"tokens": 10, "read": 5, "unread": 5}  # of a text that is scored


@dataclass(frozen=True)
class Natural:
    """A data set of version 2.

    Attributes:
        task: its name in `tasks.TASKS`.
        words: a text is cut to so many.
        train_size, test_size: training texts; test texts, of which some are scored.
        epochs: passes over the training texts.
    """

    task: str
    words: int
    train_size: int
    test_size: int = 1_500
    epochs: int = 2

    @property
    def labels(self):
        """The names of the classes."""
        return TASKS.find(self.task).labels


NATURAL = {
    n.task: n for n in (Natural("sst", 60, 6_900), Natural("ag_news", 50, 6_000), Natural("imdb", 100, 5_000))
}


def texts(natural, seed, data_dir, train_size=0, test_size=0):
    """The texts of a data set: ({split: ([str], labels (texts,))} for "train" and "test", their provenance).

    Args:
        natural: a Natural.
        seed: of the choice of texts.
        data_dir: the folder of the data sets.
        train_size, test_size: how many; 0 for those of `natural`.
    """
    sizes = {"train": train_size or natural.train_size, "test": test_size or natural.test_size}
    loaded = load(natural.task, data_dir=data_dir, seed=seed, sizes=sizes)
    splits = {}
    for split in sizes:
        rows = loaded.splits[split]
        splits[split] = [cut(text, natural.words) for text in rows["text"]], np.array(rows["label"])
    return splits, loaded.provenance


def cut(text, words):
    """The first words of a text, without line breaks of HTML.

    >>> cut("A film.<br />Not a good one", 3)
    'A film. Not'
    """
    return " ".join(text.replace("<br />", " ").split()[:words])


def unigrams(encodings):
    """The token ids of texts with their repeats, (tokens,) int: what "resample" draws from."""
    return np.concatenate([e.ids[e.maskable] for e in encodings])


def long_enough(encoding):
    """Whether a text with read bits has LEAST tokens, of which so many are read and unread."""
    counts = {
        "tokens": encoding.maskable.sum(),
        "read": read_tokens(encoding).sum(),
        "unread": unread_tokens(encoding).sum(),
    }
    return all(counts[what] >= least for what, least in LEAST.items())
