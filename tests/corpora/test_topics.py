"""Generated news: no single word gives the topic, all of them together do."""

from sample.corpora import SIZES

from faithlib import corpora
from faithlib.corpora import topics


def test_a_word_of_another_topic_stands_in_a_third_of_the_texts():
    rows = corpora.make("topics", 5, SIZES)["train"]
    words = [
        set(topics.ACTORS[t]) | set(topics.VERBS[t]) | set(topics.OBJECTS[t])
        for t in range(len(topics.LABELS))
    ]
    others = 0
    for row in rows:
        by_topic = [{w for w in row["text"].split() if w in words[t]} for t in range(len(words))]
        evidence = {row["text"].split()[i] for i in row["evidence"]}
        assert by_topic[row["label"]] == evidence and len(evidence) in (2, 3)
        others += any(by_topic[t] for t in range(len(words)) if t != row["label"])
    assert 0.25 < others / len(rows) < 0.42
