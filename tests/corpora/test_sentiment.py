"""Generated reviews: twins, redundant cues, and negation that bags of words miss."""

import pytest
from sample.corpora import SIZES, bag_of_words_accuracy, evidence_words, sentiment_label
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from faithlib import corpora


def test_twins_differ_only_in_the_place_of_not():
    rows = [r for r in corpora.make("sentiment", 7, SIZES)["train"] if r["kind"] == "negated"]
    twins = {}
    for row in rows:
        without = " ".join(word for word in row["text"].split() if word != "not")
        twins.setdefault(without, []).append(row)
    pairs = [pair for pair in twins.values() if len(pair) == 2]
    assert len(pairs) * 2 >= len(rows) - 2  # the last group of a split may lose a member
    for one, other in pairs:
        assert sorted(one["text"].split()) == sorted(other["text"].split())
        assert one["label"] != other["label"]


def test_either_cue_of_a_redundant_example_is_enough():
    rows = [r for r in corpora.make("sentiment", 8, SIZES)["train"] if r["kind"] == "redundant"]
    assert len(rows) > 50
    for row in rows:
        first, second = evidence_words(row)
        assert sentiment_label([first]) == sentiment_label([second]) == row["label"]


@pytest.mark.parametrize(
    "classifier",
    [LogisticRegression(max_iter=1000), RandomForestClassifier(100, random_state=0)],
    ids=["linear", "forest"],
)
def test_a_bag_of_words_reader_is_at_chance_on_negation(classifier):
    assert abs(bag_of_words_accuracy("sentiment", classifier, {"negated"}) - 0.5) < 0.03
    assert bag_of_words_accuracy("sentiment", classifier, {"plain", "redundant"}) > 0.9
