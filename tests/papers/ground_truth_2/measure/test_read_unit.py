"""One read-half unit, end to end, on a tiny model of generated texts."""

from dataclasses import replace

import numpy as np
import pytest

from notebooks.ground_truth_2.measure import read_unit, scoring
from notebooks.ground_truth_2.measure.read_training import Settings

GOOD, BAD = ("good", "great", "fine", "nice"), ("bad", "poor", "weak", "dull")


def texts(count, generator):
    """Texts of 14 words, of which six say the class: ([str], labels)."""
    rows, labels = [], generator.integers(2, size=count)
    for label in labels:
        words = [*generator.choice((BAD, GOOD)[label], 6), *generator.choice(["a", "the", "film", "plot"], 8)]
        rows.append(" ".join(generator.permutation(words)))
    return rows, labels


@pytest.fixture(scope="module")
def reader():
    generator = np.random.default_rng(0)
    splits = {"train": texts(600, generator), "test": texts(60, generator)}
    settings = Settings(epochs=6, learning_rate=2e-3, head_learning_rate=2e-3, seed=1)
    return read_unit.trained(splits, ("no", "yes"), "attention", "tiny-bert", settings)


def test_a_trained_model_is_checked_and_certified(reader):
    assert reader.accuracy > 0.9 and reader.refused == ""
    assert reader.certificate.set_index("operator").largest[["zero", "mask", "pad", "resample"]].max() < 1e-5
    assert len(reader.encodings) == len(reader.targets) > 20


def test_texts_without_positive_words_are_told(reader):
    short = replace(reader, encodings=[], targets=reader.targets[:0])
    with pytest.raises(ValueError, match="none of 0 texts has 2 positive words: train longer"):
        read_unit.prepared(short, 3)


def test_entries_are_scored_on_texts_with_positive_words(reader):
    texts = read_unit.explained(reader, 3)
    assert len(texts) == 3
    prepared = read_unit.prepared(reader, 3, ("mask", "delete"))
    assert prepared.looked == texts[-1][0] + 1
    table = scoring.rows(prepared, 0, 3, 2)
    assert set(table.text) == {0, 1, 2} and set(table.operator) == {"mask", "delete", ""}
    assert {"halves", "order", "missed", "false above", "ones but one"} <= set(table.error)
    curves = table[(table.metric == "aopc_sufficiency") & (table.operator == "mask")]
    assert curves[curves.error.isin(["halves", "order"])].right.mean() > 0.7
