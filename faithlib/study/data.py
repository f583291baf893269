"""The texts of a study: read from what a person has, and compared with the model before any work."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from faithlib.models import check_examples, fit
from faithlib.tasks import columns, tables


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
        data, place = data[split], f"split {split!r} of data"
    frame = tables.as_frame(data)
    label_names = label_names or tuple(frame.attrs.get("names", {}).get("label", ()))
    if "text" not in frame:
        raise ValueError(f"data has columns {', '.join(map(str, frame))}: name the column of texts 'text'")
    if twice := sorted({str(c) for c in frame if list(frame).count(c) > 1}):
        raise ValueError(f"data has the column {twice[0]!r} more than once: rename or remove one")
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
    config = getattr(model.model, "config", None)
    if not hasattr(model, "prefix") and hasattr(config, "problem_type"):
        fit.check_head(config, None, model.name)


def labels(texts, model):
    """The label of each text as a class of `model`: (texts,) int, or None where the data have none.

    Classes that have names meet by them, in whatever order; numbers are those of the model. Raises ValueError
    for other classes than the model's, and for a label that is missing or unknown.
    """
    names = class_names(model)
    classes, last = texts.label_names, model.outputs - 1
    if fit.numbered(classes):  # they have no names to compare
        if len(classes) > model.outputs:
            raise ValueError(
                f"data has labels up to {classes[-1]}, {model.name} has the classes 0 to {last}: number the "
                "classes from 0, in the model's order"
            )
        classes = ()
    differ = fit.places(classes, names) is None if names else len(classes) != model.outputs
    if classes and differ:
        heads = ", ".join(names) or f"{model.outputs} without names"
        raise ValueError(
            f"data has the classes {', '.join(classes)}, {model.name} has {heads}: give both the same classes"
        )
    if "label" not in texts.frame:
        return None
    numbered = [str(i) for i in range(model.outputs)]
    of_data = classes or names or numbered
    rows, coded = enumerate(texts.frame.label), bool(classes)
    numbers = np.array([class_of(x, of_data, f"label of row {i}", coded) for i, x in rows])
    if not classes:
        return numbers
    return np.array(fit.places(classes, names or classes))[numbers]  # of the model's classes


def taken_as(texts, model):
    """What classes without names are taken as, in a sentence; "" where names or numbers meet."""
    names = () if hasattr(model, "prefix") or "label" not in texts.frame else texts.label_names
    if not names or fit.numbered(names) or class_names(model):
        return ""
    pairs = ", ".join(f"{i} = {label}" for i, label in enumerate(names))
    return f"{model.name} does not name its classes: taken as {pairs}."


def class_of(value, names, what, coded=False):
    """The number of a class given by number, also as 1.0 or "1", or name, also "LABEL_1"; else ValueError.

    A number that is the name of a class as well is refused, unless it is `coded`, as data with names have it.
    """
    if isinstance(value, str) and (place := fit.places([value.strip()], names)):
        return place[0]
    written = re.fullmatch(r"\s*(?:LABEL_)?(\d+)(?:\.0+)?\s*", value) if isinstance(value, str) else None
    number = int(written[1]) if written else columns.whole(value)
    if str(number) in names and not coded and not fit.numbered(names):
        raise ValueError(
            f"{what} is {value!r}, and the classes are called {', '.join(names)}: give names, as '{number}' "
            f"(load_data: labels={list(names)})"
        )
    if number is not None and 0 <= number < len(names):
        return number
    raise ValueError(f"{what} is {value!r}: the model has classes 0 to {len(names) - 1} ({', '.join(names)})")


def class_names(model):
    """The names of a model's classes in order, [] where it has none of its own."""
    config = getattr(model.model, "config", None)
    names = list(fit.label_names(config) or ())
    return names if len(names) == model.outputs else []
