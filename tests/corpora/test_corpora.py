"""Generated corpora: the label follows from the evidence, and from nothing cheaper."""

import ast
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from faithlib import corpora
from faithlib.corpora import babi, relation, sentiment, topics, world

BABI = Path(__file__).resolve().parents[3] / "shared" / "data"
UNIVERSAL = set("ADJ ADP ADV AUX CCONJ DET NOUN NUM PART PRON PROPN PUNCT SCONJ VERB".split())
SIZES = {"train": 600, "validation": 100, "test": 200}
LONGEST = {"whereabouts_1": 70, "whereabouts_2": 500, "whereabouts_3": 1500}
PROMPTS = ("world_facts", "world_agreement", "world_biographies")  # a target and no label


@pytest.fixture(scope="module", params=list(corpora.GENERATORS))
def name(request):
    return request.param


def evidence_words(row):
    words = row["text"].split()
    return [words[i] for i in row["evidence"]]


def sentiment_label(words):
    """The label by hand: the polarity of the evidence adjectives, turned by "not"."""
    positive = {word in sentiment.POSITIVE for word in words if word != "not"}
    assert len(positive) == 1
    return int(positive.pop() != ("not" in words))


def topics_label(words):
    lists = zip(topics.ACTORS, topics.VERBS, topics.OBJECTS, strict=True)
    vocabularies = [set().union(*parts) for parts in lists]
    (label,) = [i for i, vocabulary in enumerate(vocabularies) if set(words) <= vocabulary]
    return label


def relation_label(words):
    outcome, verb = words
    return relation.VERBS[outcome].index(verb)


def world_label(words):
    return world.LABELS.index(world.FACTS[tuple(words)])


def world_answer(words):
    """The fact that two words in any order name, a relation by one of its words."""
    (subject,) = set(words) & {*world.PEOPLE, *world.COUNTRIES}
    (word,) = set(words) - {subject}
    wordings = {
        r: " ".join((*world.WORDINGS[r], world.ENDINGS[r], *world.LIVES.get(r, ()))) for r in world.WORDINGS
    }
    (relation,) = [r for r, text in wordings.items() if f"!{word}/" in text]
    return world.KNOWN[relation, subject]


def whereabouts_label(words):
    """The first place of the supporting sentences: of two, the second is the one asked about."""
    return next(babi.LABELS.index(word) for word in words if word in babi.LABELS)


LABEL_OF = {
    "sentiment": sentiment_label,
    "topics": topics_label,
    "relation": relation_label,
    "world": world_label,
    **dict.fromkeys(LONGEST, whereabouts_label),
    **dict.fromkeys(PROMPTS, world_answer),
}


def test_the_evidence_alone_gives_the_label(name):
    for row in corpora.make(name, 1, SIZES)["train"]:
        if row["evidence"]:
            assert LABEL_OF[name](evidence_words(row)) == row["target" if name in PROMPTS else "label"]
        else:
            assert name == "world_biographies" and row["target"] not in world.KNOWN.values()


def test_form(name):
    for rows in corpora.make(name, 2, SIZES).values():
        for row in rows:
            words = row["text"].split()
            assert row["text"] == " ".join(words) == row["text"].lower()
            assert (4 if name == "world_facts" else 10) <= len(words) <= LONGEST.get(name, 30)
            assert len(row["pos"]) == len(words) and set(row["pos"]) <= UNIVERSAL
            assert row["evidence"] == sorted(set(row["evidence"]))
            assert all(0 <= i < len(words) for i in row["evidence"])
            if name in PROMPTS:
                assert list(row) == ["text", "target", "subject", "distractor", "evidence", "pos", "kind"]
                assert row["subject"] in words and row["distractor"] in row["text"]
                continue
            assert row["evidence"] and 0 <= row["label"] < len(corpora.GENERATORS[name].LABELS)
            closing = ("is", "AUX") if name == "world" else (".", "PUNCT")  # a prompt stops before its answer
            assert (words[-1], row["pos"][-1]) == closing


def test_the_same_seed_gives_the_same_rows_and_another_seed_others(name):
    assert corpora.make(name, 3, SIZES) == corpora.make(name, 3, SIZES)
    assert corpora.make(name, 3, SIZES) != corpora.make(name, 4, SIZES)


def test_the_global_generator_is_not_used(name):
    np.random.seed(0)
    before = np.random.get_state()[1].tolist()
    corpora.make(name, 0, {"train": 5, "validation": 5, "test": 5})
    assert np.random.get_state()[1].tolist() == before


def test_splits_share_no_text(name):
    texts = [{row["text"] for row in rows} for rows in corpora.make(name, 5, SIZES).values()]
    assert len(set().union(*texts)) == sum(map(len, texts))


def test_sizes_and_classes(name):
    splits = corpora.make(name, 6, SIZES)
    assert {split: len(rows) for split, rows in splits.items()} == SIZES
    if name in PROMPTS:
        return
    classes = len(corpora.GENERATORS[name].LABELS)
    shares = np.bincount([row["label"] for row in splits["train"]], minlength=classes) / 600
    assert np.all(abs(shares - 1 / classes) < 0.08)


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


def bag_of_words_accuracy(name, classifier, keep):
    splits = corpora.make(name, 9, SIZES)
    counts = CountVectorizer(token_pattern=r"\S+")
    train = counts.fit_transform([row["text"] for row in splits["train"]])
    test = [row for row in splits["test"] if row["kind"] in keep]
    classifier.fit(train, [row["label"] for row in splits["train"]])
    found = classifier.predict(counts.transform([row["text"] for row in test]))
    return np.mean(found == [row["label"] for row in test])


@pytest.mark.parametrize(
    "classifier",
    [LogisticRegression(max_iter=1000), RandomForestClassifier(100, random_state=0)],
    ids=["linear", "forest"],
)
def test_a_bag_of_words_reader_is_at_chance_on_negation(classifier):
    assert abs(bag_of_words_accuracy("sentiment", classifier, {"negated"}) - 0.5) < 0.03
    assert bag_of_words_accuracy("sentiment", classifier, {"plain", "redundant"}) > 0.9


def test_relation_needs_the_question():
    forest = RandomForestClassifier(100, random_state=0)
    assert abs(bag_of_words_accuracy("relation", forest, {"asked"}) - 0.5) < 0.03
    for row in corpora.make("relation", 10, SIZES)["train"]:
        intervention, comparator, outcome = row["text_b"].split(" | ")
        assert f"we compared {intervention} with {comparator} " in row["text"]
        assert evidence_words(row)[0] == outcome


def test_a_grammar_that_runs_out_says_so(monkeypatch):
    monkeypatch.setattr(relation, "VERBS", dict(list(relation.VERBS.items())[:2]))
    monkeypatch.setattr(relation, "INTERVENTIONS", ["zinc"])
    monkeypatch.setattr(relation, "COMPARATORS", ["placebo"])
    with pytest.raises(ValueError, match=r"sizes\['train'\] = 500 is more than the relation .*144"):
        corpora.make("relation", 0, {"train": 500})  # 6 settings, 2 orders, 6 label pairs, 2 asked


def test_a_prompt_of_the_world_does_not_say_its_answers_fact():
    rows = corpora.make("world", 9, SIZES)["train"]
    assert {row["kind"] for row in rows} == {"1 before", "2 before"}
    for row in rows:
        asked, subject = evidence_words(row)
        assert f"{asked} of {subject} is" not in row["text"].removesuffix(f"the {asked} of {subject} is")
    assert len({tuple(evidence_words(row)) for row in rows}) == len(world.FACTS) == 70


def test_prompts_ask_for_every_fact():
    for name in PROMPTS[:2]:
        rows = corpora.make(name, 9, {"train": 2000})["train"]
        assert {row["kind"] for row in rows} == set(world.WORDINGS)
        assert {(row["kind"], row["subject"]): row["target"] for row in rows} == world.KNOWN
        assert len(world.KNOWN) == 80 and not any(row["target"] in row["text"].split() for row in rows)


def test_a_distractor_stands_between_the_evidence():
    named = 0
    for row in corpora.make("world_agreement", 12, SIZES)["train"]:
        words, aside = row["text"].split(), row["distractor"].split()
        start = words.index("(")
        assert words[start : start + len(aside)] == aside and aside[-1] == ")"
        first, last = row["evidence"]
        assert first < start and last >= start + len(aside) and words[first] == row["subject"]
        others = set(aside) & {*world.PEOPLE, *world.COUNTRIES}
        assert row["subject"] not in others and all(
            (other in world.PEOPLE) == (row["subject"] in world.PEOPLE) for other in others
        )
        named += len(others)
    assert 0.4 < named / SIZES["train"] < 0.6


def test_a_biography_is_continued_word_by_word_with_the_fact_it_left_out():
    rng = np.random.default_rng(0)
    for _ in range(30):
        first, *more = rows = world.Biographies.generate(rng)
        assert len(rows) == 10 and first["kind"] == "prompt"
        assert {row["kind"] for row in more} == {"continued"}
        for row, after in pairwise(rows):
            assert after["text"] == f"{row['text']} {row['target']}"
        assert first["text"].endswith(" .") and rows[-1]["target"] == "."
        (asked,) = [row for row in rows if row["evidence"]]
        answers = {r: world.FACTS[r, first["subject"]] for r in world.LIVES}
        told = {r for r, answer in answers.items() if answer in first["text"].split()}
        assert len(told) == 2 and [answers[r] for r in answers if r not in told] == [asked["target"]]


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
        found = last(lambda who, done, what, at: (who, done) == (asked[2], "walks"))
        return events[found][2], {found}
    told = last(lambda who, done, what, at: what == asked[3])
    carrier, done = events[told][:2]
    walked = [i for i, event in enumerate(events) if event[:2] == (carrier, "walks")]
    if done == "leaves":
        walked = [i for i in walked if i < told]
    if "before" in asked:
        while events[walked[-1]][2] != asked[-1]:
            walked.pop()
        return events[walked[-2]][2], {walked[-2], walked[-1], told}
    return events[walked[-1]][2], {walked[-1], told}


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
