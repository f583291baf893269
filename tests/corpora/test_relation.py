"""Generated findings of trials: the question decides."""

from sample.corpora import SIZES, bag_of_words_accuracy, evidence_words
from sklearn.ensemble import RandomForestClassifier

from faithlib import corpora


def test_relation_needs_the_question():
    forest = RandomForestClassifier(100, random_state=0)
    assert abs(bag_of_words_accuracy("relation", forest, {"asked"}) - 0.5) < 0.03
    for row in corpora.make("relation", 10, SIZES)["train"]:
        intervention, comparator, outcome = row["text_b"].split(" | ")
        assert f"we compared {intervention} with {comparator} " in row["text"]
        assert evidence_words(row)[0] == outcome
