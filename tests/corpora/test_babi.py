"""Generated stories: a reader of the text finds answer and support."""

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sample.corpora import SIZES, bag_of_words_accuracy
from sklearn.ensemble import RandomForestClassifier

from faithlib import corpora
from faithlib.corpora import babi

BABI = Path(__file__).resolve().parents[3] / "shared" / "data"


# Stories ------------------------------------------------------------------------------------------


def sentences(text):
    return [sentence.split() for sentence in text.lower().split(".") if sentence.strip()]


def follow(story):
    """[(person, what was done, place or thing, where that person stands)], and no sentence impossible."""
    stands, carries, lies, events = {}, {}, {}, []
    for person, verb, *rest in story:
        (what,) = set(rest) & {*babi.LABELS, *babi.THINGS}
        if what in babi.LABELS:
            assert stands.get(person) != what, "a walk leads elsewhere"
            stands[person], done = what, "walks"
        elif verb in ("dropped", "discarded", "left", "put"):
            assert carries.pop(what) == person, "only who carries it leaves it"
            lies[what], done = stands.get(person), "leaves"
        else:
            places = {lies.get(what), stands.get(person)} - {None}  # the original's people start somewhere
            assert what not in carries and len(places) <= 1, "what is taken is there"
            carries[what], done = person, "takes"
        events.append((person, done, what, stands.get(person)))
    return events


def answer(text, question):
    """(place, supporting sentences), by looking back from the end: another way than the generator's."""
    events = follow(sentences(text))
    asked = question.lower().removesuffix("?").split()

    def last(test):
        return max(i for i, event in enumerate(events) if test(*event))

    if len(asked) == 3:
        index = last(lambda who, done, what, at: (who, done) == (asked[2], "walks"))
        return events[index][2], {index}
    handled = last(lambda who, done, what, at: what == asked[3])
    carrier, done = events[handled][:2]
    walked = [i for i, event in enumerate(events) if event[:2] == (carrier, "walks")]
    if done == "leaves":
        walked = [i for i in walked if i < handled]
    if "before" in asked:
        while events[walked[-1]][2] != asked[-1]:
            walked.pop()
        return events[walked[-2]][2], {walked[-2], walked[-1], handled}
    return events[walked[-1]][2], {walked[-1], handled}


@pytest.mark.parametrize("facts", [1, 2, 3])
def test_a_reader_of_the_story_finds_answer_and_support(facts):
    kinds = set()
    for row in corpora.make(f"whereabouts_{facts}", 11, SIZES)["train"]:
        place, support = answer(row["text"], row["text_b"])
        assert babi.LABELS[row["label"]] == place and len(support) == facts
        number = np.cumsum([0] + [word == "." for word in row["text"].split()])
        words = [i for i, word in enumerate(row["text"].split()) if number[i] in support and word != "."]
        assert row["evidence"] == words
        kinds.add(row["kind"])
    assert kinds == ({"walked"} if facts == 1 else {"taken", "left"})


@pytest.mark.parametrize("facts", [1, 2, 3])
def test_the_questions_of_a_story_come_two_sentences_apart_or_later_and_differ(facts):
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = corpora.GENERATORS[f"whereabouts_{facts}"].generate(rng)
        lengths = [len(sentences(row["text"])) for row in rows]
        assert len(rows) == 5 and all(n % 2 == 0 for n in lengths) and sorted(set(lengths)) == lengths
        assert all(rows[-1]["text"].startswith(row["text"]) for row in rows)
        assert len({(row["text_b"], *row["evidence"]) for row in rows}) == 5
        if facts == 1:
            assert lengths == [2, 4, 6, 8, 10]


def test_stories_need_more_than_their_bag_of_words():
    for name, most in (("whereabouts_1", 0.45), ("whereabouts_2", 0.3), ("whereabouts_3", 0.3)):
        forest = RandomForestClassifier(100, random_state=0)
        assert bag_of_words_accuracy(name, forest, {"walked", "taken", "left"}) < most


@pytest.mark.skipif(not BABI.is_dir(), reason="no local copy of bAbI")
@pytest.mark.parametrize("facts", [1, 2, 3])
def test_the_original_has_the_same_words_answers_and_supports(facts):
    real = pd.read_parquet(BABI / f"babi_{facts}" / "test.parquet")
    for row in real.itertuples():
        place, support = answer(row.text, row.text_b)
        assert place == row.answer and support == set(ast.literal_eval(row.supporting_sentences))
    made = pd.DataFrame(corpora.make(f"whereabouts_{facts}", 0, SIZES)["train"])
    words = [
        {
            word
            for text in frame.text + " " + frame.text_b
            for word in text.lower().replace(".", " ").replace("?", " ").split()
        }
        for frame in (real, made)
    ]
    assert words[0] == words[1]
    length = [frame.text.map(lambda text: len(sentences(text))).mean() for frame in (real, made)]
    assert length[1] == pytest.approx(length[0], rel=0.1)
