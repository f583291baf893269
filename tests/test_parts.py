"""Shares of a text's parts, by hand."""

import numpy as np
import pytest
import tiny

from faithlib.metrics.plausibility import part_shares, words_of


def test_a_part_is_found_word_by_word():
    text = "When my flight landed in Japan, I slept. (I had a dream). It was in the capital,"
    words = text.split()
    assert [words[i] for i in words_of(text, "Japan")] == ["Japan,"]
    assert [words[i] for i in words_of(text, "(I had a dream).")] == ["(I", "had", "a", "dream)."]
    assert words_of(text, "When my") == [0, 1] and words_of(text, "") == []
    with pytest.raises(ValueError, match="'Chad' is not in"):
        words_of(text, "Chad")


def test_shares_by_hand():
    encodings = [tiny.encoding(6, [1, 2, 3, 4]), tiny.encoding(4, [1, 2])]
    parts = [{"subject": [0], "distractor": [1, 2]}, {"distractor": [0]}]
    scores = {"a": [np.array([9, 1, -2, 0, 1, 9]), np.zeros(4)]}
    table = part_shares(encodings, parts, scores)
    assert table.part.tolist() == ["subject", "distractor", "distractor"]
    assert table.share.tolist()[:2] == [0.25, 0.5] and np.isnan(table.share[2])
    assert table.chance.tolist() == [0.25, 0.5, 0.5]
    with pytest.raises(ValueError, match="parts of 1 examples for 2"):
        part_shares(encodings, parts[:1], scores)
