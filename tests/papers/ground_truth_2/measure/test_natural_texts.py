"""Natural texts: how they are cut, and which have enough words on both sides."""

import numpy as np
import pandas as pd
import pytest
import tiny

from notebooks.ground_truth_2.measure import natural_texts
from notebooks.ground_truth_2.measure.read_half import half_read


@pytest.fixture
def folder(tmp_path):
    """A mirror of SST with few texts."""
    (tmp_path / "sst").mkdir()
    for split in ("train", "validation", "test"):
        text = [f"{split} text {i} " + "word " * 80 for i in range(12)]
        table = pd.DataFrame({"text": text, "label": [0, 1] * 6})
        table.to_parquet(tmp_path / "sst" / f"{split}.parquet")
    return tmp_path


def test_texts_are_cut_and_of_the_asked_size(folder):
    natural = natural_texts.NATURAL["sst"]
    splits, provenance = natural_texts.texts(natural, 0, folder, 8, 4)
    assert provenance["task"] == "sst"
    assert {split: len(rows) for split, (rows, _) in splits.items()} == {"train": 8, "test": 4}
    assert {len(text.split()) for text in splits["train"][0]} == {60}
    assert set(splits["test"][1]) <= {0, 1} and len(natural.labels) == 2


def test_a_scored_text_has_words_on_both_sides():
    short, long = tiny.encoding(9, range(1, 8)), tiny.encoding(32, range(1, 31))
    assert not natural_texts.long_enough(half_read([short], 0)[0])
    assert natural_texts.long_enough(half_read([long], 0)[0])
    assert not natural_texts.long_enough(long)  # nothing is unread


def test_unigrams_are_the_tokens_of_texts():
    ids = natural_texts.unigrams([tiny.encoding(4, (1, 2), ids=[2, 8, 9, 3])] * 2)
    assert np.array_equal(ids, [8, 9, 8, 9])
