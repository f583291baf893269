"""Which words a model uses, on a model that is written down."""

import numpy as np
import pytest
from sample.compiled import compiled

from faithlib.corpora import planted
from notebooks.ground_truth_2.measure import planted_truth

TEXT = "the teacher saw the copper chair near the velvet station"
ROW = {"text": TEXT, "evidence": [4, 8], "weights": [4, 2]}


def words(row):
    """All words that a swap may bring."""
    return [row["text"], " ".join(planted.OBJECTS)]


def test_log_odds_fall_by_what_the_words_add():
    """Each word of the graded model adds its weight to one logit; the third class has the logit 0."""
    row = {"text": "the copper saw velvet", "evidence": [1, 3], "weights": [4, 2]}
    model = compiled("graded", words(row))
    generator = np.random.default_rng(0)
    both = planted_truth.fall(model, [row], [0], [[1, 3]], generator)
    one = planted_truth.fall(model, [row], [0], [[3]], generator)
    other = planted_truth.fall(model, [row], [0], [[2]], generator)

    def odds(logit):  # of the first class against the second, of logit −3.5, and the third
        return logit - np.log(np.exp(-3.5) + 1)

    assert both == pytest.approx(odds(2.5) - odds(-3.5), abs=1e-4)
    assert one == pytest.approx(odds(2.5) - odds(0.5), abs=1e-4)
    assert other == pytest.approx(0, abs=1e-6)


def test_a_text_counts_where_its_evidence_matters():
    model = compiled("one_word", words(ROW))
    unused = {**ROW, "evidence": [1]}
    assert planted_truth.used(model, [ROW, unused], [0, 0], np.random.default_rng(0)).tolist() == [
        True,
        False,
    ]


def test_the_order_of_graded_words_is_that_of_their_effects():
    row = {"text": "the copper saw pepper velvet", "evidence": [1, 3, 4], "weights": [4, 1, 2]}
    model = compiled("graded", words(row))
    turned = {**row, "weights": [1, 4, 2]}
    columns = planted_truth.ordered(model, [row, turned], [0, 0], np.random.default_rng(0))
    assert columns.tolist() == [[True] * 3, [False] * 3]
