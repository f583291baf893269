"""What is explained: next tokens, answers of several tokens by teacher forcing, contrasts."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import tiny
import torch
from wrong import refusal, refused, tells

from faithlib import attributions
from faithlib.engine import forward
from faithlib.metrics.inputs import Inputs
from faithlib.study import data, evaluate, targets

ANSWERS = ["great", "long and boring", "it"]


@pytest.fixture(scope="module")
def causal():
    return tiny.causal()


def resolved(model, texts, wanted=None, **more):
    texts = data.read(texts)
    return targets.resolve(model, texts, texts.encode(model)[0], wanted, **more)


def token(model, word):
    return model.tokenizer.convert_tokens_to_ids(word)


def next_p(model, ids):
    """Next-token probabilities after ids, by the Hugging Face model itself."""
    import torch

    with torch.no_grad():
        return model.model(torch.tensor([ids])).logits[0, -1].double().softmax(-1).numpy()


def test_targets_are_tokens_words_and_answers(causal):
    great, it = token(causal, "great"), token(causal, "it")
    prompts = tiny.PROMPTS[:2]
    assert resolved(causal, prompts, [great, np.int64(it)]).listed == [(great,), (it,)]
    assert resolved(causal, prompts, ["great", "it"]).answers is None
    several = resolved(causal, prompts, ["great", [it, great]])
    assert several.answers == [(great,), (it, great)] and several.first.tolist() == [great, it]
    frame = pd.DataFrame({"text": prompts, "target": ["it", ""]})
    assert resolved(causal, frame, predicted=np.array([5, 9])).listed == [(it,), (9,)]


def test_an_answer_is_read_as_it_follows_the_prompt():
    """A byte-level tokenizer: the blank belongs to the word after it."""
    roberta = tiny.classifier("roberta")  # a language model's tokenizer would end no prompt
    model = SimpleNamespace(
        encode=lambda texts: [e.at(slice(-1)) for e in roberta.encode(texts)], tokenizer=roberta.tokenizer
    )
    (prompt,) = model.encode(["the plot was"])
    (whole,) = model.encode(["the plot was great"])
    expected = whole.ids[whole.maskable][prompt.maskable.sum() :]
    assert len(expected) and targets._continuation(model, "the plot was", prompt, "great") == tuple(expected)


def test_the_probability_of_an_answer_is_by_teacher_forcing(causal):
    texts = data.read(tiny.PROMPTS[:3])
    encodings = texts.encode(causal)[0]
    wanted = targets.resolve(causal, texts, encodings, ANSWERS)
    inputs = Inputs(causal, encodings, wanted.first, answers=wanted.answers)
    for e, answer, p in zip(encodings, wanted.answers, inputs.p_full, strict=True):
        ids, by_hand = e.ids.tolist(), 1.0
        for t in answer:
            by_hand *= next_p(causal, ids)[t]
            ids.append(t)
        assert p == pytest.approx(by_hand, rel=1e-4)
    erased = [forward.zeroed(e, e.maskable) for e in encodings]
    for i, (e, answer) in enumerate(zip(encodings, wanted.answers, strict=True)):
        by_hand = 1.0
        for k, t in enumerate(answer):
            longer = targets.followed(e, answer[:k]) if k else e
            variant = forward.zeroed(longer, longer.maskable)
            by_hand *= forward.target_values(causal, [variant], [t], "probability")[0]
        assert inputs.target_probabilities(erased)[i] == pytest.approx(by_hand, rel=1e-4)


def test_scores_of_an_answer_are_the_sum_over_its_tokens(causal):
    texts = data.read(tiny.PROMPTS[:2])
    encodings = texts.encode(causal)[0]
    wanted = targets.resolve(causal, texts, encodings, ["great", "it was"])
    scores = targets.attribute(causal, encodings, wanted, ["leave_one_out"])["leave_one_out"]
    e, (first, second) = encodings[1], wanted.answers[1]
    for place in np.flatnonzero(e.maskable):
        masked = e.ids.copy()
        masked[place] = causal.mask_id
        loss = next_p(causal, e.ids.tolist())[first] - next_p(causal, masked.tolist())[first]
        loss += (
            next_p(causal, [*e.ids.tolist(), first])[second]
            - next_p(causal, [*masked.tolist(), first])[second]
        )
        assert scores[1][place] == pytest.approx(loss, abs=1e-5)
    plain = attributions.attribute(causal, encodings[:1], wanted.first[:1], ["leave_one_out"])
    assert scores[0] == pytest.approx(plain["leave_one_out"][0], abs=1e-6)


def test_a_contrast_is_a_difference(causal):
    prompts, a, b = tiny.PROMPTS[:2], ["great", "it"], ["boring", "long"]
    names = ["input_x_gradient", "leave_one_out", "random_uniform"]
    of_a, of_b = (evaluate(causal, prompts, names, ["aopc_comprehensiveness"], t) for t in (a, b))
    both = evaluate(causal, prompts, names, ["aopc_comprehensiveness"], a, contrast=b)
    for name in names[:2]:
        for i in range(2):
            assert both.scores[name][i] == pytest.approx(
                of_a.scores[name][i] - of_b.scores[name][i], abs=1e-6
            )
    assert both.scores["random_uniform"][0] == pytest.approx(of_a.scores["random_uniform"][0])
    same = [s.values.query("attribution == 'random_uniform'").value.to_numpy() for s in (both, of_a, of_b)]
    assert same[0] == pytest.approx(same[1] - same[2], abs=1e-6)


def test_a_contrast_of_an_answer_with_itself_is_zero(causal):
    texts = data.read(tiny.PROMPTS[:2])
    encodings = texts.encode(causal)[0]
    wanted = targets.resolve(causal, texts, encodings, ["great", "it was"])
    wanted = replace(wanted, contrast=wanted.answers)
    scores = targets.attribute(causal, encodings, wanted, ["input_x_gradient", "leave_one_out"])
    assert all((row == 0).all() for rows in scores.values() for row in rows)


def test_a_contrast_of_classes():
    model = tiny.classifier()
    study = evaluate(
        model, tiny.TEXTS[:2], ["input_x_gradient"], ["naopc_sufficiency"], [0, 1], contrast=[1, 2]
    )
    assert study.targets.tolist() == [0, 1] and len(study.table) == 1


def test_a_study_of_answers_has_every_metric(causal):
    frame = pd.DataFrame({"text": tiny.PROMPTS[:3], "target": ANSWERS})
    study = evaluate(causal, frame, ["input_x_gradient", "gradient_l2"], "all")
    assert study.targets.tolist() == [token(causal, word) for word in ("great", "long", "it")]
    assert {"causal_soft_ns", "causal_equal_soft_nc", "naopc_sufficiency"} <= set(study.table.metric)
    assert study.values.value.notna().any()
    assert all(
        (s[~e.maskable] == 0).all() for e, s in zip(study.encodings, study.scores["gradient_l2"], strict=True)
    )


def test_soft_metrics_of_an_answer_are_means_over_its_tokens(causal):
    """Prompts that end at each token of an answer, measured alone: the distances are averaged."""
    from faithlib.metrics.soft_causal import hellinger

    encodings = causal.encode(tiny.PROMPTS[:1])
    answer = (token(causal, "great"), token(causal, "it"))
    inputs = Inputs(causal, encodings, [answer[0]], answers=[answer])
    variant = forward.zeroed(encodings[0], encodings[0].maskable)
    distances = inputs.distances([variant], [0], hellinger)
    second = targets.followed(encodings[0], answer[:1])
    apart = [
        Inputs(causal, [e], [0]).distances([forward.zeroed(e, e.maskable)], [0], hellinger)[0]
        for e in (encodings[0], second)
    ]
    assert distances == pytest.approx([np.mean(apart)], abs=1e-6)
    assert inputs.distances([variant], [0], hellinger) == distances


@pytest.mark.parametrize(
    ("wanted", "more", "message"),
    [
        ({"a": 1, "b": 2}, {}, "targets={'a': 1, 'b': 2}: give a list, one for each text"),
        ({1, 2}, {}, "targets={1, 2}: give a list, one for each text"),
        (np.array(5), {}, "targets=array(5): give a list, one for each text"),
        (["good", "good"], dict(contrast=["film", "good "]), "contrast of text 1 is its target"),
        ([1, True], {}, "targets of text 1 is True"),
        ([1, 2], dict(contrast=[3, 2]), "contrast of text 1 is its target"),
        (pd.Series([1, 2], index=[7, 0]), dict(contrast=[3, 2]), "contrast of text 1 is its target"),
        ([1, 2], dict(contrast=[3]), "contrast: 1 for 2 texts"),
        ([1, 2], dict(contrast=[3, ""]), "contrast of text 1 is ''"),
    ],
)
def test_wrong_targets_are_one_line(causal, wanted, more, message):
    tells([message], resolved, causal, tiny.PROMPTS[:2], wanted, **more)


@pytest.mark.parametrize("more", [{}, {"contrast": ["lion", "lion"]}])
@pytest.mark.parametrize(
    ("answer", "word"), [("zebra", "zebra"), ("a zebra", "zebra"), ("great lion zebra", "lion")]
)
def test_an_answer_that_the_tokenizer_does_not_know_is_refused(causal, answer, word, more):
    message = f"targets of text 1: tiny-llama has no token for {word!r}: give another word"
    assert message == refusal(resolved, causal, tiny.PROMPTS[:2], ["great", answer], **more)
    frame = pd.DataFrame({"text": tiny.PROMPTS[:2], "target": ["great", answer]})
    refused(f"has no token for {word!r}", evaluate, causal, frame, ["random_uniform"])


def test_the_unknown_token_itself_may_be_asked_for(causal):
    unknown = causal.tokenizer.unk_token_id
    assert resolved(causal, tiny.PROMPTS[:1], [unknown]).listed == [(unknown,)]
    assert resolved(causal, tiny.PROMPTS[:1], ["[UNK]"]).listed[0]


@pytest.mark.parametrize("ids", [torch.tensor([1, 2]), np.array([1, 2]), [torch.tensor(1), np.int64(2)]])
def test_targets_of_torch_and_numpy_are_numbers(causal, ids):
    assert resolved(causal, tiny.PROMPTS[:2], ids).listed == [(1,), (2,)]
    assert resolved(tiny.classifier(), tiny.TEXTS[:2], ids).listed == [(1,), (2,)]
    several = [torch.tensor([4, 5]), np.array([6])]
    assert resolved(causal, tiny.PROMPTS[:2], several).listed == [(4, 5), (6,)]


def test_targets_may_come_one_by_one():
    def once():
        yield from [2, 0]

    more = {"targets": once(), "contrast": (i for i in [0, 1]), "progress": False}
    study = evaluate(tiny.classifier(), tiny.TEXTS[:2], ["random_uniform"], ["ns"], **more)
    assert study.targets.tolist() == [2, 0]


@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_a_blank_target_is_the_prediction_in_data_alone(causal, blank):
    prompts, predicted = tiny.PROMPTS[:2], np.array([5, 9])
    frame = pd.DataFrame({"text": prompts, "target": ["it", blank]})
    assert resolved(causal, frame, predicted=predicted).listed == [(token(causal, "it"),), (9,)]
    for guess in (None, predicted):
        line = f"targets of text 1 is {blank!r}: give a token id, a list of them, or a text that is not blank"
        assert line == refusal(resolved, causal, prompts, ["it", blank], predicted=guess)
        with pytest.raises(ValueError, match="targets of text 1 is .*the model has classes 0 to 2"):
            resolved(tiny.classifier(), tiny.TEXTS[:2], [0, blank], predicted=guess)


def test_an_answer_without_tokens_is_named(causal, monkeypatch):
    encode = causal.encode  # as of tokenizers that drop a zero-width space
    monkeypatch.setattr(causal, "encode", lambda texts: encode([t.replace("\u200b", "") for t in texts]))
    refused("targets of text 0 is '.u200b': give a token id", resolved, causal, tiny.PROMPTS[:1], ["\u200b"])


def test_a_prediction_that_is_not_known_yet_is_no_contrast(causal):
    frame = pd.DataFrame({"text": tiny.PROMPTS[:2], "target": ["it", ""]})
    first = resolved(causal, frame, contrast=[3, 0])  # 0 stands for what is predicted later
    assert first.contrast == [(3,), (0,)]
    with pytest.raises(ValueError, match="contrast of text 1 is its target"):
        resolved(causal, frame, contrast=[3, 0], predicted=np.array([5, 0]))


@pytest.mark.parametrize(
    ("prompt", "answer", "blank"),
    [
        ("The capital is", "Paris", True), ('Tom said, "', "I", False), ('He said "yes"', "and", True),
        ("The answer is (", "B", False), ("2+2=", "4", False), ("2 + 2 =", "4", True),
        ("a well-", "known", False), ("it costs $", "5", False), ("and/", "or", False),
        ("print(", "x", False), ("日本の首都は", "東京", False), ("The capital is", "東京", True),
        ("the end", ".", False), ("He did", "n't", False), ("Answer:", "B", True),
        ("line\n", "next", False),
    ],
)  # fmt: skip
def test_a_blank_stands_where_one_is_written(prompt, answer, blank):
    assert targets.parted(prompt, answer) is blank


def test_blanks_before_answers_are_shown_and_counted():
    model = tiny.causal()
    frame = pd.DataFrame({"text": ["the plot was", "it was ("], "target": ["great", "it"]})
    texts = data.read(frame)
    encodings = model.encode(list(frame.text))
    said = targets.seams(model, texts, encodings, None)
    assert said == ["1 of 2 answers follow their prompt after a blank, as ␣great."]
    (said,) = targets.seams(model, texts, encodings, None, blank=False)
    assert said.startswith("1 of 2 prompts end inside of a token, as 'the plot was': ")
    lm = SimpleNamespace(tokenizer=tiny.classifier("roberta").tokenizer)
    assert targets.written(lm, lm.tokenizer(" great", add_special_tokens=False)["input_ids"]) == "␣great"
    assert targets.written(lm, lm.tokenizer("great", add_special_tokens=False)["input_ids"]) == "great"


def test_numbers_in_a_column_are_texts(causal):
    texts = data.read(pd.DataFrame({"text": tiny.PROMPTS[:3], "target": [4, 12.0, None]}))
    assert texts.column("target") == ["4", "12", None]
    message = r"column 'target' has list, not text, in row 0: give texts; token ids"
    refused(message, data.read, pd.DataFrame({"text": ["a"], "target": [[4]]}))
