"""Answerability: words, marks and searches by hand, with judges whose every answer is known."""

import numpy as np
import pytest
import tiny
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from wrong import refused

from faithlib.metrics.answerability import (
    COLUMNS,
    MINIMUM,
    answerability,
    minimum_rows,
    minimum_top_k,
    place,
    plan,
    rows,
    words,
)
from faithlib.models import CausalLM
from notebooks.noiser.measure.judge import EndpointJudge, Judge, JudgeError, LocalJudge

TEXT, GOLD = "she liked the unlikely ending a lot", "indeed"  # "unlikely" is three tokens
SCORES = np.array([0, 0.1, -0.2, 0.3, 0.2, 0.2, 0.1, 0.0, 0.05, -0.05])  # of [CLS], then a token each


class Known(Judge):
    """Answers what `answer(words)` gives, and remembers what it was asked."""

    def __init__(self, answer):
        super().__init__("known", "{text}")
        self.answer, self.seen = answer, []

    def _ask(self, prompts):
        self.seen += prompts
        yield from ((prompt, self.answer(prompt.split())) for prompt in prompts)


def needs(*wanted, answers=(GOLD,)):
    """A judge that is right where all of these words are shown: more never hurt it."""
    return Known(lambda kept: list(answers) if set(wanted) <= set(kept) else ["no"])


@pytest.fixture
def encoded():
    return tiny.causal().encode([TEXT])


# Words --------------------------------------------------------------------------------------------


def test_words_are_put_together_from_their_tokens(encoded):
    word_list, of_token = words(TEXT, encoded[0])
    assert word_list == TEXT.split() and of_token.tolist() == [0, 1, 2, 3, 3, 3, 4, 5, 6]


def test_a_token_may_span_a_blank():
    """A tokenizer that takes "new york" for one token, and leaves the dash out."""
    vocabulary = {"[UNK]": 0, "in ": 1, "new york": 2, " we ": 3, "live": 4}
    built = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    parts = {"— ": "removed", "new york": "isolated", " we ": "isolated"}
    split = [pre_tokenizers.Split(part, how) for part, how in parts.items()]
    built.pre_tokenizer = pre_tokenizers.Sequence(split)
    words_of = PreTrainedTokenizerFast(tokenizer_object=built, unk_token="[UNK]")
    (encoding,) = CausalLM(tiny.causal().model, words_of, "spanning").encode(["— in new york we live"])
    assert encoding.ids.tolist() == [1, 2, 3, 4]
    word_list, of_token = words("— in new york we live", encoding)
    assert word_list == ["— in", "new york", "we", "live"] and of_token.tolist() == [0, 1, 2, 3]


def test_words_cut_off_at_the_end_are_not_shown():
    model = tiny.causal(positions=5)
    cut = model.truncate(model.encode(["the plot was great , not boring"])[0])
    assert words("the plot was great , not boring", cut)[0] == "the plot was great".split()


def test_words_of_another_text_are_refused(encoded):
    refused("the encoding is of another text than 'she liked'", words, "she liked", encoded[0])


# One prompt by hand -------------------------------------------------------------------------------


def test_one_prompt_by_hand(encoded):
    """Words score .1 −.2 .3 .5 0 .05 −.05: half of seven is three, "the unlikely" and "she"."""
    judge = needs("she", "unlikely", answers=("No!", "Indeed", "yes"))
    table = answerability([TEXT], [GOLD], encoded, {"a": [SCORES], "b": [-SCORES]}, judge)
    assert list(table) == COLUMNS and judge.seen == ["she the unlikely", "liked ending lot"]
    assert table.values.tolist() == [
        [0, "a", 3, 2, pytest.approx(0.9 / 1.2)],
        [0, "b", 3, 0, pytest.approx(0.25 / 1.2)],
    ]
    cells = {(r["metric"], r["attribution"], r["top"]): (r["value"], r["n"]) for r in rows(table, judge.name)}
    assert cells == {
        ("rate", "a", 1): (0, 1), ("score_all", "a", 1): (0, 1), ("rate", "a", 5): (1, 1),
        ("score", "a", 5): (pytest.approx(0.75), 1), ("score_all", "a", 5): (pytest.approx(0.75), 1),
        ("rate", "b", 1): (0, 1), ("score_all", "b", 1): (0, 1), ("rate", "b", 5): (0, 1),
        ("score_all", "b", 5): (0, 1),
    }  # fmt: skip


def test_the_release_adds_scores_up_and_minds_case(encoded):
    judge = needs("she", answers=("Indeed",))
    table = answerability([TEXT], [GOLD], encoded, {"a": [4 * SCORES]}, judge, definition="released")
    assert table.place[0] == 0 and table.mass[0] == pytest.approx(3.6)


def test_scores_over_the_answered_and_over_all(encoded):
    """Two prompts, one answered: the paper's score is its mass, the release's half of it."""
    other = tiny.causal().encode(["the plot was boring"])[0]
    scores = {"a": [SCORES, np.array([0, 1.0, 0, 0, 0])]}
    table = answerability(
        [TEXT, "the plot was boring"], [GOLD, GOLD], [encoded[0], other], scores, needs("unlikely")
    )
    cells = {r["metric"]: (r["value"], r["n"]) for r in rows(table, "known") if r["top"] == 1}
    assert cells == {
        "rate": (0.5, 2),
        "score": (pytest.approx(0.75), 1),
        "score_all": (pytest.approx(0.375), 2),
    }


@pytest.mark.parametrize(("share", "count"), [(0.01, 1), (0.29, 2), (3 / 7, 3), (1.0, 7)])
def test_how_many_words_are_shown(encoded, share, count):
    judge = needs()
    table = answerability([TEXT], [GOLD], encoded, {"a": [SCORES]}, judge, share=share)
    assert table.shown[0] == count == len(judge.seen[0].split())


def test_a_prompt_of_one_word_and_scores_of_zero():
    model = tiny.causal()
    table = answerability(["boring"], [GOLD], model.encode(["boring"]), {"a": [np.zeros(2)]}, needs())
    assert table.values.tolist() == [[0, "a", 1, 1, 0.0]]


@pytest.mark.parametrize(
    ("answers", "gold", "expected"),
    [
        (["basketball"], "Basketball", 1), (["no", " basketball player"], "basketball", 2),
        (["New", "new york city"], "New York", 2), (["York"], "New York", 0), (["$"], "$", 1),
        (["ﬁlm"], "film", 1), ([], "film", 0), (["", "film"], "film", 2), (["films"], "film", 0),
    ],
)  # fmt: skip
def test_right_answers(answers, gold, expected):
    assert place(answers, gold) == expected


# The fewest words ---------------------------------------------------------------------------------


def test_the_fewest_words_by_hand(encoded):
    """In order: unlikely, the, she, a, ending, lot, liked. "a" is the fourth of seven.

    A bisection asks for 7, 3, 5, 4 words, and then for 6, between 5 and 7.
    """
    table = minimum_top_k([TEXT], [GOLD], encoded, {"a": [SCORES]}, needs("a", "the"))
    assert list(table) == MINIMUM
    assert table.values.tolist() == [[0, "a", 4 / 7, 7, 5]]
    assert minimum_rows(table, "known") == [
        {"metric": "min_top_k", "attribution": "a", "top": 1, "judge": "known", "value": 4 / 7, "n": 1}
    ]


def test_bisection_finds_what_all_sizes_give_where_more_never_hurts():
    model, generator = tiny.causal(), np.random.default_rng(0)
    texts = [" ".join(generator.permutation(tiny.WORDS)[:n]) for n in (1, 2, 3, 5, 9, 14, 16)]
    encodings = model.encode(texts)
    scores = {name: [generator.standard_normal(len(e.ids)) * e.maskable for e in encodings] for name in "ab"}
    wanted = [text.split()[len(text.split()) // 2] for text in texts]
    answer = Known(lambda kept: ["yes"] if set(kept) & set(wanted) else ["no"])
    table = minimum_top_k(texts, ["yes"] * 7, encodings, scores, answer)
    for row in table.itertuples():
        word_list, of_token = words(texts[row.example], encodings[row.example])
        s = scores[row.attribution][row.example][encodings[row.example].maskable]
        order = np.argsort(-np.bincount(of_token, s), kind="stable")
        least = 1 + min(place for place, word in enumerate(order) if word_list[word] in wanted)
        assert row.share == least / len(word_list)
    assert table.calls[table.words >= 14].max() <= 9


def test_where_more_words_hurt_every_step_is_taken(encoded):
    """Right with 7, 6, 4, 3, 2 and 1 words and wrong with 5: the first failure counts."""
    judge = Known(lambda kept: ["no"] if len(kept) == 5 else [GOLD])
    assert minimum_top_k([TEXT], [GOLD], encoded, {"a": [SCORES]}, judge).share[0] == 6 / 7


def test_a_judge_that_fails_with_all_words_has_no_share(encoded):
    table = minimum_top_k([TEXT], [GOLD], encoded, {"a": [SCORES]}, needs("absent"))
    assert np.isnan(table.share[0]) and table.calls[0] == 1 and minimum_rows(table, "known") == []


def test_top_five_is_easier_than_top_one(encoded):
    judge = needs("unlikely", answers=("no", GOLD))
    one, five = (
        minimum_top_k([TEXT], [GOLD], encoded, {"a": [SCORES]}, judge, top=top).share[0] for top in (1, 5)
    )
    assert np.isnan(one) and five == 1 / 7


def test_equal_questions_are_asked_once(encoded):
    judge = needs("unlikely")
    scores = {"a": [SCORES], "b": [2 * SCORES], "c": [-SCORES]}
    answerability([TEXT], [GOLD], encoded, scores, judge)
    assert len(judge.seen) == len(set(judge.seen)) == 2 and judge.counts["questions"] == 3
    minimum_top_k([TEXT], [GOLD], encoded, scores, judge)
    assert len(judge.seen) == len(set(judge.seen))


def test_a_local_model_as_a_judge(encoded):
    """One that predicts the last word shown once more: the completion must be it."""
    judge = LocalJudge(tiny.copying_lm(back=0), tokens=1)
    table = answerability([TEXT], ["the"], encoded, {"a": [SCORES * (np.arange(10) == 3)]}, judge, share=0.2)
    assert table[["shown", "place", "mass"]].values.tolist() == [[1, 1, 1.0]]


def test_the_cost_is_told_first(encoded, capsys):
    judge = needs("she")
    judge.cost = lambda questions: f"{len(set(questions))} questions at most"
    minimum_top_k([TEXT], [GOLD], encoded, {"a": [SCORES]}, judge)
    assert capsys.readouterr().out.startswith("7 questions at most\n")


def test_all_that_is_asked_was_planned(encoded, capsys):
    """Of two scores: the sizes 1 to 7 of each and the example; for certain 3, 7 words and the example."""
    judge, planned, certain = needs("she"), [], []
    judge.cost = lambda questions: planned.extend(questions) or "what it costs"
    judge.check_limit = certain.extend
    orders = {"": {"a": [SCORES]}, "turned": {"a": [-SCORES]}}
    plan([TEXT], [GOLD], encoded, orders, judge, share=0.5, others=[("she",)])
    assert capsys.readouterr().out == "what it costs\n" and not judge.seen
    assert len(planned) == 15 and len(set(planned)) == 14  # both orders have the whole text
    assert sorted(map(len, certain)) == [1, 3, 3, 7, 7]
    for scores in orders.values():
        answerability([TEXT], [GOLD], encoded, scores, judge, share=0.5)
        minimum_top_k([TEXT], [GOLD], encoded, scores, judge)
    assert {tuple(prompt.split()) for prompt in judge.seen} <= set(planned)


def test_what_is_certain_to_pass_the_limit_is_not_begun(encoded, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    judge = EndpointJudge("some", tmp_path, limit=1)
    with pytest.raises(JudgeError, match="is to be asked 2 questions after 0, and limit=1: raise limit"):
        plan([TEXT], [GOLD], encoded, {"": {"a": [SCORES]}}, judge)


# What is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(share=0), r"share=0 is outside \(0, 1\]"),
        (dict(definition="mine"), "definition='mine' is unknown"),
        (dict(golds=[" "]), "the gold answer of example 0 is ' '"),
        (dict(golds=["a", "b"]), "1 texts, 2 gold answers and 1 encodings"),
        (dict(scores={"a": [SCORES[:3]]}), "3 scores for 10 tokens"),
        (dict(scores={"a": [np.full(10, np.nan)]}), "NaN or infinite scores"),
    ],
)
def test_bad_input_is_one_clear_line(encoded, wrong, message):
    judge = needs()
    right = dict(texts=[TEXT], golds=[GOLD], encodings=encoded, scores={"a": [SCORES]}, judge=judge)
    refused(message, answerability, **right | wrong)
    assert not judge.seen


def test_how_many_answers_count_is_checked(encoded):
    with pytest.raises(ValueError, match="top=2: use 1 or 5"):
        minimum_top_k([TEXT], [GOLD], encoded, {"a": [SCORES]}, needs(), top=2)
