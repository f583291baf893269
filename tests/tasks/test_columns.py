"""Columns of one's own data: what is read from a cell, and which rows a message names."""

import numpy as np
import pandas as pd
import pytest
from wrong import refused, tells

from faithlib.tasks import columns

TEXT = "A great film, truly great!  Not  greatly"  # words: A great film, truly great! Not greatly


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([1, 3], [1, 3]),
        (np.array([1.0, 3.0]), [1, 3]),
        ([0, 1, 0, 0, 1, 0, 0], [1, 4]),  # a mask: an index does not repeat
        ([True, False, False, False, False, False, False], [0]),
        ("[0, 0, 0, 0, 0, 0, 1]", [6]),
        ([], []),
        (None, []),
        (float("nan"), []),
        ("", []),
        ([(2, 7)], [1]),
        ([[0, 7], [20, 26]], [0, 1, 4]),
        (np.array([[2, 7]]), [1]),
        (np.array([np.array([2, 7]), np.array([0, 1])], dtype=object), [0, 1]),
        ([(2.0, 7.0)], [1]),
        ([(2, 6)], [[2, 6]]),  # inside of a word: characters
        (["great"], [1, 4]),  # every whole word, with punctuation; not "greatly"
        ("great film", [1, 2]),
        (["reat"], [[3, 7], [21, 25], [34, 38]]),  # nowhere a whole word
        ("[[2, 7]]", [1]),
        ("[(2, 7)]", [1]),
        ('["truly", "A"]', [0, 3]),
        ([1, (0, 1), "Not"], [0, 1, 5]),
    ],
)
def test_evidence_becomes_indices_of_words(value, words):
    assert columns.evidence([value], [TEXT], "why", "mine") == [words]


def test_labels_are_names_where_all_are():
    result = columns.classes({"test": [1, 3.0, 2]}, "stars", "mine", ("3", "2", "1"))
    assert result == ({"test": [2, 0, 1]}, ("3", "2", "1"))
    assert columns.classes({"test": [1, 0]}, "stars", "mine", ("1", "2"))[0] == {"test": [1, 0]}


def test_evidence_inside_of_words_is_kept_as_characters_in_all_rows():
    texts = ["这部电影很好看，但是", "good film"]
    assert columns.evidence(["很好看", [1]], texts, "why", "mine") == [[[4, 7]], [[5, 9]]]


@pytest.mark.parametrize(
    ("values", "texts", "words"),
    [
        ([[0, 1], [0, 1, 1]], ["good film", "so good film"], [[1], [1, 2]]),  # the second row is a mask
        ([[0, 1], [2]], ["good film", "so good film"], [[0, 1], [2]]),  # the second row is an index
        ([[1], [0]], ["good", "bad"], [[0], []]),  # no text of one word has a word 1
    ],
)
def test_a_column_of_0_and_1_is_read_in_one_way(values, texts, words):
    assert columns.evidence(values, texts, "why", "mine") == words
    with pytest.raises(ValueError, match="may be a mask or indices of words: give true and false for a mask"):
        columns.evidence([[0, 1]], ["good film"], "why", "mine")


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ([7], "evidence names word 7 of 7: give 0 to 6"),
        ([-1], "evidence names word -1"),
        ([(3, 3)], "evidence (3, 3) is no span"),
        ([(-1, 3)], "evidence (-1, 3) is no span"),
        ([(26, 28)], "holds blanks alone"),
        (["great", " "], "empty substring"),
        ([True], "evidence [True] is no mask of 7 words: give true or false for each"),
        ([2, 2], "evidence names word 2 twice: give each word once, or in every row a mask"),
        ([(1, 2, 3)], "evidence (1, 2, 3) is no word, span or substring"),
        ([(0.5, 2)], "is no word, span or substring"),
        ([None], "evidence None is no word, span or substring"),
        (3, "evidence 3 is no list"),
    ],
)
def test_evidence_that_is_not_in_the_text_is_refused(value, part):
    tells(["mine: column 'why', row 1: ", part], columns.evidence, [[0], value], [TEXT, TEXT], "why", "mine")


@pytest.mark.parametrize(
    ("values", "labels", "numbers", "names"),
    [
        (["b", "a", "b"], None, [1, 0, 1], ("a", "b")),
        (["b", "a"], ("b", "a", "c"), [0, 1], ("b", "a", "c")), ([0, 2], None, [0, 2], ("0", "1", "2")),
        ([0, 0], None, [0, 0], ("0", "1")), ([1.0, 0.0], ("n", "p"), [1, 0], ("n", "p")),
        (np.array([1, 0]), ("n", "p"), [1, 0], ("n", "p")), (["1", "0"], None, [1, 0], ("0", "1")),
        (["1", "0"], ("n", "p"), [1, 0], ("n", "p")), (["1", "2"], ("2", "1"), [1, 0], ("2", "1")),
        ([True, False], None, [1, 0], ("False", "True")), ([True, False], ("n", "p"), [1, 0], ("n", "p")),
        (["B ", "a"], ("a", "b"), [1, 0], ("a", "b")), ([True], ("True", "F"), [0], ("True", "F")),
    ],
)  # fmt: skip
def test_labels_become_numbers_in_the_order_of_their_names(values, labels, numbers, names):
    assert columns.classes({"test": values}, "label", "mine", labels) == ({"test": numbers}, names)


def test_numbers_from_one_on_and_names_that_differ_by_case_are_told(capsys):
    columns.classes({"test": [1, 5]}, "stars", "mine")
    columns.classes({"test": ["a", "A"]}, "kind", "mine")
    numbers, names = capsys.readouterr().out.splitlines()
    assert "column 'stars' starts at 1; " in numbers and "differ by case alone: A, a" in names


def test_classes_are_those_of_all_splits():
    result = columns.classes({"train": ["b"], "test": ["a"]}, "label", "mine")
    assert result == ({"train": [1], "test": [0]}, ("a", "b"))


@pytest.mark.parametrize(
    ("values", "labels", "message"),
    [
        (["a", "z", "z"], ("a", "b"), "has 'z' in 2 rows (1, 2): allowed are a, b; correct it, or name it"),
        ([0, 2], ("a", "b"), "has 2 in row 1: allowed are 0 = a, 1 = b"),
        (["5", "0"], ("a", "b"), "has 5 in row 0: allowed are 0 = a, 1 = b"),
    ],
)
def test_labels_that_are_none_are_refused(values, labels, message):
    tells(["mine: column 'stars' ", message], columns.classes, {"test": values}, "stars", "mine", labels)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", None, " ", float("nan")], "has no text in 3 rows (1, 2, 3): fill or remove them"),
        ([pd.NA, "a"], "has no text in row 0"),
        ([["a"]], "has list, not text, in row 0"),
        ([b"a"], "has bytes, not text, in row 0"),
        ([" "] * 9, "9 rows (0, 1, 2, 3, 4, …)"),
    ],
)
def test_texts_that_are_none_are_refused_with_their_rows(values, message):
    tells(["mine: column 'text' ", message], columns.texts, values, "text", "mine")


def test_an_auxiliary_text_may_be_empty_and_not_missing():
    assert columns.texts(["", "a"], "question", "mine", blank=True) == ["", "a"]
    refused("no text in row 0", columns.texts, [None, "a"], "question", "mine", blank=True)
