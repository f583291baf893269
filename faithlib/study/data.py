"""The texts of a study, read from what a person has."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from faithlib.models import check_examples, fit, precision
from faithlib.tasks import SPLITS, columns, tables


@dataclass
class Texts:
    """The rows of a study.

    Attributes:
        frame: DataFrame with the column text, and text_b, label, evidence, target and contrast where given.
        name: of the data set, "" for none; it names the random streams of intervals.
        label_names: the classes, in order; () where they are not known.
        validation, train: the splits beside "test", as a DataFrame and as it was given.
    """

    frame: pd.DataFrame
    name: str = ""
    label_names: tuple = ()
    validation: pd.DataFrame | None = None
    train: object = None

    def column(self, name):
        """A column as a list, or None where the data have none."""
        return list(self.frame[name]) if name in self.frame else None

    def unigrams(self, model):
        """The token ids of the split "train", with their repeats: (n,) int."""
        if self.train is None:
            raise ValueError("operator='resample' draws tokens of the split train: give train and test")
        place, frame = "split 'train' of data", tables.as_frame(self.train)
        if "text" not in frame:
            raise ValueError(f"{place} has no column 'text', from which resample draws: name it 'text'")
        texts = columns.texts(frame["text"], "text", place, blank=True)
        return np.concatenate([e.ids[e.maskable] for e in model.encode(texts)])

    def encode(self, model, long_texts=""):
        """([Encoding], what was cut, in a sentence, or ""): the texts as a model reads them.

        long_texts: "error" or "truncate", as `models.check_examples` takes it; "" refuses the first that is
        too long. Raises ValueError for what it cannot take.
        """
        pairs = [self.column("text_b")] if "text_b" in self.frame and any(self.frame["text_b"]) else []
        if pairs and hasattr(model, "prefix"):
            raise ValueError(f"data has the column text_b, and {model.name} is a language model: drop it")
        encodings, cut = model.encode(self.column("text"), *pairs), []
        if long_texts:
            encodings, cut = check_examples(model, encodings, long_texts)
        model.check(encodings)
        return encodings, "".join(f"{row['why']}: their ends are cut." for row in cut)


def read(data) -> Texts:
    """Anything that holds texts as `Texts`.

    data: a list of texts, a DataFrame, a `datasets.Dataset`, what `load_data` gives or {split: table}; of
    several splits "test" is taken. Raises ValueError for a single string, no rows, no column text, no split
    "test" among several, a text that is no string or is blank, and for evidence and answers that are none.

    Example:
        >>> read(["the plot was great"]).frame.shape
        (1, 1)
    """
    name, label_names, validation, train, place = "", (), None, None, "data"
    loaded = hasattr(data, "task") and hasattr(data, "splits")
    if loaded:
        name, label_names = data.task.name, tuple(data.task.labels or ())
        data = data.splits
    if isinstance(data, Mapping):
        if "test" not in data and len(data) != 1:
            keys = ", ".join(map(repr, data))
            raise ValueError(f"data has the splits {keys}: give one of them, or a DataFrame of columns")
        if "test" in data and "validation" in data:
            validation = read({"validation": data["validation"]}).frame
        train = data.get("train") if "test" in data else None
        split = "test" if "test" in data else next(iter(data))
        for other in [other for other in data if other not in (split, *SPLITS)]:
            print(f"data: split {other!r} is not read; read are {', '.join(SPLITS)}")
        data, place = data[split], f"split {split!r} of data"
    frame = tables.as_frame(data)
    label_names = label_names or tuple(frame.attrs.get("names", {}).get("label", ()))
    if "text" not in frame:
        raise ValueError(f"data has columns {', '.join(map(str, frame))}: name the column of texts 'text'")
    if twice := sorted({str(c) for c in frame if list(frame).count(c) > 1}):
        raise ValueError(f"data has the column {twice[0]!r} more than once: rename or remove one")
    if not loaded and (unread := [str(c) for c in frame if c not in ("text", *tables.COLUMNS)]):
        print(f"{place}: not read are {', '.join(unread)}; read are text, {', '.join(tables.COLUMNS)}")
    if frame.empty:
        raise ValueError("data has no rows: give at least one text")
    for column in {"text", "text_b"} & set(frame):
        columns.texts(frame[column], column, place, blank=column == "text_b")
    if "evidence" in frame and loaded:
        frame["evidence"] = [np.array(list(row)).tolist() for row in frame.evidence]
    elif "evidence" in frame:
        frame["evidence"] = columns.evidence(list(frame.evidence), list(frame.text), "evidence", "data")
    for column in {"target", "contrast"} & set(frame):
        answers = columns.answers(frame[column], column, "data")
        frame[column] = pd.Series(answers, dtype=object)  # None stays None
    return Texts(frame, name, label_names, validation, train)


def check_model(model):
    """Raise ValueError for what is no model, such as the name of one."""
    if not all(hasattr(model, name) for name in ("encode", "logits", "outputs")):
        raise ValueError(
            f"model is of type {type(model).__name__}: give what load_model returns, or an adapter "
            "(docs/adding.md, 'A model family')"
        )
    one = next(iter(getattr(model.model, "parameters", list)()), torch.zeros(1))  # a model's dtype is its own
    if one.dtype not in (torch.float32, getattr(model, "dtype", one.dtype)) and not precision.quantised(one):
        now = f"and has weights in {one.dtype} now: give load_model the changed model"
        raise ValueError(f"{model.name} was loaded in {model.dtype}, {now}")
    config = getattr(model.model, "config", None)
    if not hasattr(model, "prefix") and hasattr(config, "problem_type"):
        fit.check_head(config, None, model.name)
