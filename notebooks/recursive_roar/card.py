"""Recursive ROAR: what the paper is, and what it does with each data set."""

from faithlib.tasks.table import BABI, IMDB_SHORT, OFFICIAL, Recipe, Use
from replication.papers import Card, published

MIN_COUNT = {"imdb": 10, "snli": 3}  # words rarer than that in the training texts are unknown to a BiLSTM
REMASKED = 9  # masked shares between nothing and everything, for each of which Table 7 counts


def hours():
    """Hours that Table 7 makes for one data set and model, on a V100 (RoBERTa: an A100)."""
    minutes = published("recursive_roar", "table_7").groupby(["dataset", "model"]).minutes.sum()
    return (minutes * REMASKED / 60).to_dict()


CARD = Card.read(
    __file__,
    tasks={
        "sst": Use(Recipe(words=(5, 10_000)), "macro_f1", (6579, 848, 1776), "the paper counts spaCy tokens"),
        "imdb": Use(
            IMDB_SHORT,
            "macro_f1",
            (17212, 4304, 4362),
            "the paper counts other tokens, and its 20 % of the test set is not published",
        ),
        "snli": Use(OFFICIAL, "micro_f1", (549367, 9842, 9824)),
        **{f"babi_{number}": Use(BABI, "accuracy", (8500, 1500, 1000)) for number in (1, 2, 3)},
        "mimic_anemia": Use(OFFICIAL, "macro_f1", (4262, 729, 1242)),
        "mimic_diabetes": Use(OFFICIAL, "macro_f1", (8066, 1573, 1729)),
    },
    hours=hours,
)
