"""Generated corpora: the label follows from the evidence, and from nothing cheaper."""

import numpy as np
import pytest
from sample.corpora import PROMPTS, SIZES, evidence_words, sentiment_label

from faithlib import corpora
from faithlib.corpora import babi, planted, relation, topics, world

UNIVERSAL = set("ADJ ADP ADV AUX CCONJ DET NOUN NUM PART PRON PROPN PUNCT SCONJ VERB".split())


LONGEST = {"whereabouts_1": 70, "whereabouts_2": 500, "whereabouts_3": 1500}


@pytest.fixture(scope="module", params=list(corpora.GENERATORS))
def name(request):
    return request.param


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


def planted_label(words):
    return next(i for i, group in enumerate(planted.CLASSES) if words[0] in group)


LABEL_OF = {
    "planted": planted_label, "sentiment": sentiment_label, "topics": topics_label,
    "relation": relation_label, "world": world_label, **dict.fromkeys(LONGEST, whereabouts_label),
    **dict.fromkeys(PROMPTS, world_answer),
}  # fmt: skip


def test_the_evidence_alone_gives_the_label(name):
    for row in corpora.make(name, 1, SIZES)["train"]:
        if row["evidence"]:
            assert LABEL_OF[name](evidence_words(row)) == row["target" if name in PROMPTS else "label"]
        elif name == "planted":
            assert row["label"] == planted.LABELS.index("neither") and row["kind"] == "empty"
        else:
            assert name == "world_biographies" and row["target"] not in world.KNOWN.values()


def test_form(name):
    for rows in corpora.make(name, 2, SIZES).values():
        for row in rows:
            words = row["text"].split()
            assert row["text"] == " ".join(words) == row["text"].lower()
            assert {"world_facts": 4, "planted": 9}.get(name, 10) <= len(words) <= LONGEST.get(name, 30)
            assert len(row["pos"]) == len(words) and set(row["pos"]) <= UNIVERSAL
            assert row["evidence"] == sorted(set(row["evidence"]))
            assert all(0 <= i < len(words) for i in row["evidence"])
            if name in PROMPTS:
                assert list(row) == ["text", "target", "subject", "distractor", "evidence", "pos", "kind"]
                assert row["subject"] in words and row["distractor"] in row["text"]
                continue
            assert 0 <= row["label"] < len(corpora.GENERATORS[name].LABELS)
            if name == "planted":  # its texts have no full stop, and a third of them no evidence
                continue
            assert row["evidence"]
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
