"""How train, validation and test are made from the splits of a source."""

import pandas as pd
from sample.mirrors import rows
from sklearn.model_selection import train_test_split

from faithlib import tasks
from faithlib.tasks import splits, table

# Recipes ------------------------------------------------------------------------------------------


def test_shares_by_position_are_rounded_to_the_nearest_row():
    for n, train in ((3668, 2934), (250, 200), (9427, 7542), (8551, 6841), (67349, 53879)):
        source = {"train": rows(n), "validation": rows(5)}
        made = splits.split_rows(table.HIDDEN_TEST, source)  # sizes as in FMM, Table 2
        assert (len(made["train"]), len(made["validation"]), len(made["test"])) == (train, n - train, 5)
        assert made["validation"]["text"][0] == f"text number {train} of the mirror"


def test_ag_news_is_held_out_as_in_the_release():
    made = splits.split_rows(table.AG, {"train": rows(120), "test": rows(5)})
    train, held_out = train_test_split(list(range(120)), test_size=0.15, random_state=16377)
    assert made["train"]["text"].tolist() == [f"text number {i} of the mirror" for i in train]
    assert made["validation"]["text"].tolist() == [f"text number {i} of the mirror" for i in held_out]


def test_a_source_with_a_validation_split_keeps_it():
    source = {"train": rows(120), "validation": rows(7), "test": rows(5)}
    made = splits.split_rows(table.AG, source)
    assert [len(made[split]) for split in tasks.SPLITS] == [120, 7, 5]


def test_texts_are_kept_by_their_number_of_words():
    frame = pd.DataFrame({"text": ["a " * n for n in (4, 5, 6, 7)], "label": 0})
    source = {split: frame for split in tasks.SPLITS}
    made = splits.split_rows(tasks.Recipe(words=(5, 7)), source)
    assert made["train"]["text"].str.split().str.len().tolist() == [6]
