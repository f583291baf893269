"""Encodings: which tokens are maskable, to which word each belongs, and what is refused."""

import numpy as np
import pytest
import tiny
import torch
import transformers
from wrong import refused

from faithlib import models

# Encoding -----------------------------------------------------------------------------------------


def test_a_single_text_is_maskable_without_its_special_tokens(classifier):
    (encoding,) = classifier.encode(["the plot was great"])
    assert encoding.maskable.tolist() == [False, True, True, True, True, False]
    assert not encoding.auxiliary.any()
    assert encoding.words.tolist() == [-1, 0, 1, 2, 3, -1]
    assert [t.strip("Ġ") for t in classifier.tokens(encoding)][1:-1] == "the plot was great".split()


def test_only_text_is_maskable_in_a_pair(classifier):
    (encoding,) = classifier.encode(["it was long"], ["is it good ?"])
    between = 2 if classifier.model.config.model_type == "roberta" else 1
    rest = len(encoding.ids) - 4
    assert encoding.maskable.tolist() == [False] + 3 * [True] + rest * [False]
    assert encoding.auxiliary.tolist() == (4 + between) * [False] + (rest - between - 1) * [True] + [False]
    assert encoding.words.tolist() == [-1, 0, 1, 2] + rest * [-1]
    assert classifier.tokenizer.decode(encoding.ids[encoding.auxiliary]).strip() == "is it good ?"
    typed = classifier.model.config.model_type == "bert"
    assert encoding.types.tolist() == ([0] * 5 + [1] * 5 if typed else [0] * len(encoding.ids))


def test_no_text_b_at_all_is_the_same_as_empty_ones(classifier):
    with_none, with_empty = classifier.encode(["it was long"]), classifier.encode(["it was long"], [""])
    assert with_none[0].ids.tolist() == with_empty[0].ids.tolist()


def test_a_text_is_encoded_alike_beside_a_pair_and_alone(classifier):
    texts, texts_b = ["it was long", "a dull film", "it was dull"], ["", "was it great", ""]
    beside = classifier.encode(texts, texts_b)
    alone = [classifier.encode([text], [b])[0] for text, b in zip(texts, texts_b, strict=True)]
    assert [e.ids.tolist() for e in beside] == [e.ids.tolist() for e in alone]
    assert beside[0].ids.tolist() == classifier.encode(texts)[0].ids.tolist() and beside[1].auxiliary.any()


def test_pieces_belong_to_the_word_they_come_from():
    text = "not  unlikely\tto be\u00a0great"  # two blanks, a tab, a hard blank: as text.split() does
    for kind in ("bert", "roberta"):
        classifier = tiny.classifier(kind)
        (encoding,) = classifier.encode([text])
        pieces = {}
        for word, token in zip(encoding.words, encoding.ids, strict=True):
            pieces.setdefault(int(word), []).append(int(token))
        spelled = {
            w: "".join(classifier.tokenizer.convert_ids_to_tokens(ids)).replace("##", "")
            for w, ids in pieces.items()
        }
        if kind == "bert":
            assert len(pieces[1]) == 3 and spelled[1] == "unlikely"
            assert spelled[0] == "not" and spelled[4] == "great"  # "to" and "be" are unknown to it
        assert sorted(pieces) == [-1, 0, 1, 2, 3, 4]


def test_a_token_that_begins_with_its_blank_belongs_to_the_word_behind_it():
    from tokenizers import processors

    built, named = tiny.byte_pairs()
    built.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), add_prefix_space=False, trim_offsets=False
    )
    classifier = tiny.classifier("roberta")
    classifier.tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=built, **named)
    (encoding,) = classifier.encode(["the plot was great"])
    assert encoding.words.tolist() == [-1, 0, 1, 2, 3, -1]


def test_tokens_that_follow_an_encoding_are_maskable_and_words_of_their_own():
    array = np.array
    prompt = models.Encoding(
        array([2, 7, 8]), array([0, 0, 0]), array([False, True, True]), array([False] * 3), array([-1, 0, 0])
    )
    longer = prompt.followed_by([9, 5])
    for field, expected in {
        "ids": [2, 7, 8, 9, 5],
        "types": [0] * 5,
        "words": [-1, 0, 0, 1, 2],
        "maskable": [False, True, True, True, True],
        "auxiliary": [False] * 5,
    }.items():
        assert getattr(longer, field).tolist() == expected
        assert getattr(longer, field).dtype == getattr(prompt, field).dtype


def test_truncation_cuts_the_end_of_text_alone(classifier):
    long, question = " ".join(["great plot"] * 60), "is it good ?"
    (whole,) = classifier.encode([long], [question])
    (short,), excluded = models.check_examples(classifier, [whole], "truncate")
    assert len(short.ids) == classifier.max_length == 64
    before, after = classifier.tokens(whole), classifier.tokens(short)
    behind = int(np.flatnonzero(whole.maskable)[-1]) + 1
    tail = len(before) - behind
    assert after[-tail:] == before[-tail:] and after[0] == before[0]
    assert after[:-tail] == before[: 64 - tail]
    assert short.auxiliary.sum() == whole.auxiliary.sum() >= 4
    left = short.maskable.sum()
    assert short.words[short.maskable].tolist() == whole.words[whole.maskable][:left].tolist()
    assert excluded[0]["n"] == 1 and "at most 64" in excluded[0]["why"]
    assert torch.isfinite(tiny.logits(classifier, [short])).all()


def test_roberta_counts_its_positions_behind_the_padding_index():
    classifier = tiny.classifier("roberta", positions=10)
    assert classifier.model.config.max_position_embeddings == 12 and classifier.max_length == 10
    (encoding,) = classifier.encode(["a " * 30])
    (full,), _ = models.check_examples(classifier, [encoding], "truncate")
    assert tiny.logits(classifier, [full]).shape == (1, 3)  # one position more would be out of range
    with pytest.raises((IndexError, RuntimeError)):
        tiny.logits(classifier, [classifier.encode(["a " * 9])[0]])


def test_a_smaller_max_length_holds_and_a_larger_one_does_not(classifier):
    for asked, kept in ((8, 8), (0, 64), (500, 64)):
        again = models.Classifier(classifier.model, classifier.tokenizer, "x", asked)
        assert again.max_length == kept


# Bad input ----------------------------------------------------------------------------------------


def test_texts_without_a_maskable_token_are_refused(classifier):
    encodings = classifier.encode(["great", "", "", "plot"])
    message = "2 of 4 texts have no maskable token .first: 1.: drop them"
    refused(message, models.check_examples, classifier, encodings)


def test_too_long_texts_are_refused_or_counted(classifier):
    encodings = classifier.encode([" ".join(["a"] * n) for n in (62, 63, 80)])
    assert models.check_examples(classifier, encodings[:1]) == (encodings[:1], [])
    message = "2 of 3 texts are longer than tiny-.*(82 tokens, at most 64).*long_texts='truncate'"
    refused(message.replace("(", r"\(").replace(")", r"\)"), models.check_examples, classifier, encodings)
    cut, excluded = models.check_examples(classifier, encodings, long_texts="truncate")
    assert [len(e.ids) for e in cut] == [64, 64, 64]
    assert [row["n"] for row in excluded] == [2] and excluded[0]["what"] == "end of text cut"


def test_a_question_that_fills_the_model_is_refused(classifier):
    encodings = classifier.encode(["plot"], ["good ? " * 40])
    refused("text_b alone fills the model", models.check_examples, classifier, encodings, "truncate")


def test_a_text_that_is_too_long_has_to_be_shortened(classifier):
    (encoding,) = classifier.encode([" ".join(["a"] * 80)])
    message = "^example 0 has 82 tokens, .*takes 64: shorten it, or choose another model$"
    refused(message, classifier.check, [encoding])


def test_special_tokens_that_a_text_spells_are_not_scored():
    (encoding,) = tiny.classifier().encode(["the [SEP] plot was xyzzy"])  # an unknown word is one of the text
    assert encoding.maskable.tolist() == [False, True, False, True, True, True, False]
    assert encoding.words.tolist() == [-1, 0, -1, 2, 3, 4, -1]
    assert encoding.spans.tolist() == [[0, 0], [0, 3], [0, 0], [10, 14], [15, 18], [19, 24], [0, 0]]
    assert encoding.at(encoding.maskable).spans.shape == (4, 2)
    assert encoding.followed_by([3]).spans[-1].tolist() == [0, 0]


def test_half_a_character_and_padding_are_refused_by_their_row():
    message = r"texts\[1\] has half a character \(a lone surrogate\): repair"
    refused(message, tiny.classifier().encode, ["fine", "great \ud83d"])
    model = tiny.classifier("roberta")
    message = r"texts\[0\] holds the padding token '.*', which tiny-roberta does not count"
    refused(message, model.encode, [f"the {model.tokenizer.pad_token} plot"])


def test_tokens_are_shown_as_a_text_has_them():
    model = tiny.classifier("roberta")
    text = "the plot"
    (encoding,) = model.encode([text])
    assert model.tokens(encoding, text)[1:-1] == ["the", "plot"]
    assert model.tokens(encoding, text)[0] == model.tokens(encoding)[0]
