"""Faithfulness measurable models: what the paper is, and what it does with each data set."""

import pandas as pd

from faithlib.tasks.table import HIDDEN_TEST, OFFICIAL, Recipe, Use
from replication.papers import Card, published

OPTIONS = {  # (choice as a keyword, option): what the records call it
    ("explained_label", "predicted"): "predicted label",
    ("integrated_gradients", "from padding"): "padding baseline",
    ("integrated_gradients", "as released"): "released",
}
BABI_BY_POSITION = Recipe(train="train[:80%]", validation="train[80%:]")


def hours():
    """Hours that Tables 6 to 9 print for one data set and model, on a V100."""
    table = pd.concat([published("fmm", f"table_{number}") for number in (6, 7, 8, 9)])
    return (table.groupby(["dataset", "model"]).minutes.sum() / 60).to_dict()


CARD = Card.read(
    __file__,
    hours=hours,
    tasks={
        # By position, as for GLUE, is no use for IMDB: the hub sorts the reviews by label.
        "imdb": Use(Recipe(holdout=0.2), "macro_f1", (20000, 5000, 25000)),
        "snli": Use(OFFICIAL, "macro_f1", (549367, 9842, 9824)),
        **{f"babi_{number}": Use(BABI_BY_POSITION, "micro_f1", (8000, 2000, 1000)) for number in (1, 2, 3)},
        "mimic_anemia": Use(OFFICIAL, "macro_f1", (4262, 729, 1243)),
        "mimic_diabetes": Use(OFFICIAL, "macro_f1", (8066, 1573, 1729)),
        "sst2": Use(HIDDEN_TEST, "accuracy", (53879, 13470, 872)),
        "rte": Use(HIDDEN_TEST, "accuracy", (1992, 498, 277)),
        "mnli": Use(HIDDEN_TEST, "accuracy", (314162, 78540, 9815)),
        "qnli": Use(HIDDEN_TEST, "accuracy", (83794, 20949, 5463)),
        "cb": Use(HIDDEN_TEST, "macro_f1", (200, 50, 56)),
        "mrpc": Use(HIDDEN_TEST, "macro_f1", (2934, 734, 408)),
        "qqp": Use(HIDDEN_TEST, "macro_f1", (291077, 72769, 40430)),
        "cola": Use(HIDDEN_TEST, "mcc", (6841, 1710, 1043)),
        "boolq": Use(HIDDEN_TEST, "accuracy", (7542, 1885, 3270)),
    },
)
