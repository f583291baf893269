"""What tests of several generated corpora share."""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from faithlib import corpora
from faithlib.corpora import sentiment

SIZES = {"train": 600, "validation": 100, "test": 200}
PROMPTS = ("world_facts", "world_agreement", "world_biographies")  # a target and no label


def evidence_words(row):
    words = row["text"].split()
    return [words[i] for i in row["evidence"]]


def sentiment_label(words):
    """The label by hand: the polarity of the evidence adjectives, turned by "not"."""
    positive = {word in sentiment.POSITIVE for word in words if word != "not"}
    assert len(positive) == 1
    return int(positive.pop() != ("not" in words))


def bag_of_words_accuracy(name, classifier, keep):
    splits = corpora.make(name, 9, SIZES)
    counts = CountVectorizer(token_pattern=r"\S+")
    train = counts.fit_transform([row["text"] for row in splits["train"]])
    test = [row for row in splits["test"] if row["kind"] in keep]
    classifier.fit(train, [row["label"] for row in splits["train"]])
    predicted = classifier.predict(counts.transform([row["text"] for row in test]))
    return np.mean(predicted == [row["label"] for row in test])
