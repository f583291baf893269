"""Classes of a study: labels and targets, by number or name, as classes of its model."""

import re

import numpy as np

from faithlib.models import fit
from faithlib.tasks import columns


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
    of_data = classes or names or [str(i) for i in range(model.outputs)]
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

    True and False are the classes of that name, or of two classes the second and the first.
    A number that is the name of a class as well is refused, unless it is `coded`, as data with names have it.
    """
    truth = isinstance(value, (bool, np.bool_))
    if (truth or isinstance(value, str)) and (place := fit.places([str(value).strip()], names)):
        return place[0]
    written = re.fullmatch(r"\s*(?:LABEL_)?(\d+)(?:\.0+)?\s*", value) if isinstance(value, str) else None
    number = int(written[1]) if written else columns.whole(int(value) if truth and len(names) == 2 else value)
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
    names = list(fit.label_names(getattr(model.model, "config", None)) or ())
    return names if len(names) == model.outputs else []
