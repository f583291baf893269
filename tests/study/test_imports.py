"""Scores from elsewhere, on the model's tokens: by hand, and as captum, inseq and shap return them."""

import re
from types import SimpleNamespace

import captum.attr
import numpy as np
import pytest
import tiny
import torch
from wrong import refused

from faithlib.attributions import attribute
from faithlib.study.imports import align

TEXTS = ["a long , not unlikely film", "boring"]  # [CLS] a long , not un ##like ##ly film [SEP]


@pytest.fixture(scope="module")
def classifier():
    return tiny.classifier()


@pytest.fixture(scope="module")
def causal():
    return tiny.causal()


def one(model, values, texts=TEXTS, **more):
    return align({"mine": values}, texts, model, **more)["mine"]


# By hand ------------------------------------------------------------------------------------------

TOKENS = [[9, 1, 2, 3, 4, 5, 6, 7, 8, 9], [9, 1, 9]]
ALIGNED = [[0, 1, 2, 3, 4, 5, 6, 7, 8, 0], [0, 1, 0]]


@pytest.mark.parametrize("values", [TOKENS, [row[1:-1] for row in TOKENS]], ids=["tokens", "maskable"])
def test_a_value_a_token_stays_and_others_than_maskable_ones_are_zero(classifier, values):
    rows = one(classifier, values)
    assert [row.tolist() for row in rows] == ALIGNED
    assert all(row.dtype == np.float64 for row in rows)


def test_sub_words_share_the_value_of_their_word(classifier):
    rows = one(classifier, [[1, 2, 3, 4, -9, 6], [7]])
    assert [row.tolist() for row in rows] == [[0, 1, 2, 3, 4, -3, -3, -3, 6, 0], [0, 7, 0]]


def test_blanks_that_belong_to_tokens_are_no_words():
    model = tiny.classifier("roberta")
    values = [np.arange(1.0, len(text.split()) + 1) for text in tiny.TEXTS]
    for row, wanted, encoding in zip(
        one(model, values, tiny.TEXTS), values, model.encode(tiny.TEXTS), strict=True
    ):
        sums = [row[encoding.words == word].sum() for word in range(len(wanted))]
        assert sums == pytest.approx(wanted.tolist()) and row.sum() == pytest.approx(wanted.sum())


def test_the_auxiliary_part_gets_no_scores(classifier):
    rows = one(classifier, [[1], [2]], ["boring", "great"], texts_b=["was it good ?", "is it long ?"])
    assert [row.tolist() for row in rows] == [[0, 1, 0, 0, 0, 0, 0, 0], [0, 2, 0, 0, 0, 0, 0, 0]]
    whole = np.arange(8.0)
    rows = one(classifier, [whole, whole], ["boring", "great"], texts_b=["was it good ?", "is it long ?"])
    assert rows[0].tolist() == [0, 1, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("side", ["right", "left"])
def test_batches_lose_their_padding(classifier, side):
    batch = np.zeros((2, 10))
    batch[0] = TOKENS[0]
    batch[1, slice(0, 3) if side == "right" else slice(7, 10)] = TOKENS[1]
    for scores in (batch, torch.tensor(batch), [torch.tensor(batch).bfloat16()], [batch[:1], batch[1:, :]]):
        if isinstance(scores, list) and len(scores) == 2:  # a batch of its own has no padding
            scores[1] = scores[1][:, :3] if side == "right" else scores[1][:, 7:]
        assert [row.tolist() for row in one(classifier, scores)] == ALIGNED


def test_padding_stands_where_no_scored_token_does():
    causal = tiny.causal("llama")
    assert causal.tokenizer.bos_token_id == causal.encode(["boring"])[0].ids[0]
    lengths = [len(e.ids) for e in causal.encode(["boring", "the plot"])]
    assert lengths[1] == lengths[0] + 1
    batch = np.zeros((2, lengths[1]))
    batch[0, 1 : lengths[0]], batch[1, 1:] = range(1, lengths[0]), range(1, lengths[1])
    for side in ("left", "right"):  # of the tokenizer; the scores are padded at the right
        causal.tokenizer.padding_side = side
        rows = one(causal, batch, ["boring", "the plot"])
        assert [row.tolist() for row in rows] == [batch[0, : lengths[0]].tolist(), batch[1].tolist()]


def test_a_tensor_with_a_gradient_is_read(classifier):
    batch = torch.tensor([[9.0, 1, 9]], requires_grad=True)
    assert one(classifier, batch, ["boring"])[0].tolist() == [0, 1, 0]


def test_a_word_without_a_token_keeps_no_score():
    model = tiny.classifier()
    text = "boring \u200b\u0007 film"  # the normaliser drops control characters
    assert [len(e.ids) for e in model.encode([text])] == [4]
    assert one(model, [[1, 0, 2]], [text])[0].tolist() == [0, 1, 2, 0]
    with pytest.raises(ValueError, match="the model reads no token of .* whose score is 0.5: take it out"):
        one(model, [[1, 0.5, 2]], [text])


# captum -------------------------------------------------------------------------------------------


def test_captums_batches_are_ours(classifier):
    """Input x gradient of a padded batch, as captum returns it, is that of the registry."""
    encodings = classifier.encode(tiny.TEXTS)
    targets = np.array([0, 1, 2, 0, 1])
    batch = classifier.collate(encodings)
    method = captum.attr.InputXGradient(lambda x: classifier.logits(batch, embeddings=x))
    embeddings = classifier.embed(batch.ids).detach().requires_grad_()
    scores = method.attribute(embeddings, target=torch.tensor(targets))
    ours = attribute(classifier, encodings, targets, ["input_x_gradient"])["input_x_gradient"]
    for a, b in zip(one(classifier, scores.sum(-1), tiny.TEXTS), ours, strict=True):
        assert a == pytest.approx(b, abs=1e-5)
    refused("sum over the width", one, classifier, scores, tiny.TEXTS)


def test_captums_language_model_results(causal):
    method = captum.attr.LLMAttribution(captum.attr.FeatureAblation(causal.model), causal.tokenizer)
    results = []
    for text in tiny.PROMPTS:
        words = captum.attr.TextTokenInput(text, causal.tokenizer, skip_tokens=[2])  # [CLS] is no feature
        results.append(method.attribute(words, target=torch.tensor([15])))
    rows = one(causal, results, tiny.PROMPTS)
    for row, result, encoding in zip(rows, results, causal.encode(tiny.PROMPTS), strict=True):
        assert row[encoding.maskable] == pytest.approx(result.seq_attr.numpy(), rel=1e-6)
    assert one(causal, results[0], tiny.PROMPTS[:1])[0].tolist() == rows[0].tolist()
    with pytest.raises(ValueError, match="text 0: 3 scores, tiny-llama has 10 tokens, 9 maskable"):
        one(causal, results[:1], tiny.PROMPTS[1:2])


def test_captums_words_share(causal):
    """A template whose features are words."""
    method = captum.attr.LLMAttribution(captum.attr.FeatureAblation(causal.model), causal.tokenizer)
    words = captum.attr.TextTemplateInput("{} {} film", values=["the", "unlikely"], baselines=["a", "great"])
    result = method.attribute(words, target=torch.tensor([15]))
    first, second = result.seq_attr.double().tolist()
    row = one(causal, [[first, second, 0.0]], ["the unlikely film"])[0]
    assert row.tolist() == pytest.approx([0, first, *[second / 3] * 3, 0])


# inseq --------------------------------------------------------------------------------------------


def test_inseqs_sequences(causal):
    """Saliency, whose norms inseq divides by their sum over the prompt."""
    inseq = pytest.importorskip("inseq")
    explained = inseq.load_model(causal.model, "saliency", tokenizer=causal.tokenizer, device="cpu")
    whole = [f"{text} great" for text in tiny.PROMPTS]
    result = explained.attribute(tiny.PROMPTS, whole, attributed_fn="probability", show_progress=False)
    rows = one(causal, result.aggregate(), tiny.PROMPTS)
    assert [row.tolist() for row in one(causal, result.aggregate().sequence_attributions, tiny.PROMPTS)] == [
        row.tolist() for row in rows
    ]
    for row, encoding in zip(rows, causal.encode(tiny.PROMPTS), strict=True):
        embeddings = causal.embed(torch.tensor(encoding.ids)[None]).detach().requires_grad_()
        probability = causal.model(inputs_embeds=embeddings).logits[0, -1].softmax(-1)[15]  # of "great"
        norms = torch.autograd.grad(probability, embeddings)[0][0].norm(dim=-1)
        wanted = np.where(encoding.maskable, norms / norms.sum(), 0)
        assert row == pytest.approx(wanted, rel=1e-3)
    refused(r"shape \(5, 1, 16\): call aggregate\(\)", one, causal, result, tiny.PROMPTS)
    with pytest.raises(ValueError, match="text 0: its prompt has 4 tokens, tiny-llama reads 2, and they"):
        one(causal, result.aggregate(), tiny.PROMPTS[2:3])


class Token:
    def __init__(self, number):
        self.id = number


class Sequence:
    """What inseq calls a sequence: values (prompt + generated, generated)."""

    source_attributions = None

    def __init__(self, ids, prompt, values):
        self.target, self.attr_pos_start = [Token(number) for number in ids], prompt
        self.target_attributions = torch.tensor(values)


def test_generated_tokens_are_summed_and_specials_may_be_absent(causal):
    ids = causal.encode(["the plot"])[0].ids.tolist()
    values = [[9.0, 9.0], [1.0, 2.0], [3.0, -1.0], [np.nan, 5.0], [np.nan, np.nan]]
    whole = Sequence([*ids, 15, 13], 3, values)
    assert one(causal, [whole], ["the plot"])[0].tolist() == [0, 3, 2]
    bare = Sequence([*ids[1:], 15, 13], 2, values[1:])
    assert one(causal, [bare], ["the plot"])[0].tolist() == [0, 3, 2]
    with pytest.raises(ValueError, match="its prompt has 3 tokens, tiny-llama reads 3, and they differ"):
        one(causal, [whole], ["the film"])


def test_what_inseq_explained_is_the_target(causal):
    ids = causal.encode(["the plot"])[0].ids.tolist()
    whole = Sequence([*ids, 15, 13], 3, [[9.0, 9.0], [1.0, 2.0], [3.0, -1.0], [0.0, 5.0], [0.0, 0.0]])
    assert one(causal, [whole], ["the plot"], targets=[15])[0].tolist() == [0, 3, 2]
    explained, other = (causal.tokenizer.decode([token]) for token in (15, 13))
    wanted = f"text 0: it explains {explained!r}, targets have {other!r}: give the same answers"
    refused(re.escape(wanted), one, causal, [whole], ["the plot"], targets=[13])


# shap ---------------------------------------------------------------------------------------------


class Explanation:
    """What shap calls an Explanation."""

    base_values = 0.0

    def __init__(self, values, data):
        self.values, self.data = values, data


def test_shaps_explanations(classifier):
    shap = pytest.importorskip("shap")

    def probabilities(texts):
        with torch.no_grad():
            batch = classifier.collate(classifier.encode([str(text) for text in texts]))
            return classifier.logits(batch).softmax(-1).numpy()

    texts = tiny.TEXTS[:3]
    explain = shap.Explainer(probabilities, shap.maskers.Text(classifier.tokenizer))
    result = explain(texts, silent=True)
    rows = one(classifier, result, texts, targets=[0, 1, 2])
    for i, row in enumerate(rows):
        assert row[1:-1] == pytest.approx(result.values[i][1:-1, i])  # a slice a token
    singles = one(classifier, [result[i] for i in range(3)], texts, targets=[0, 1, 2])
    assert [row.tolist() for row in singles] == [row.tolist() for row in rows]
    explain = shap.Explainer(probabilities, shap.maskers.Text(r"\W+"))  # words
    result = explain(texts[1:2], silent=True)
    row = one(classifier, result, texts[1:2], targets=[2])[0]
    assert row.sum() == pytest.approx(result.values[0][:, 2].sum(), abs=1e-6)
    assert row[5] == row[6] == row[7] != 0  # un ##like ##ly


def test_slices_are_aligned_by_characters(classifier):
    """Slices that are words, parts of tokens, and several tokens."""
    slices = ["", "a ", "long , ", "no", "t ", "unlike", "ly film", ""]
    values = np.array([8.0, 1.0, 4.0, 2.0, 3.0, 6.0, 10.0, 8.0])
    row = one(classifier, [Explanation(values, slices)], TEXTS[:1])[0]
    assert row.tolist() == [0, 1, 2, 2, 5, 3, 3, 5, 5, 0]
    assert row.sum() == values[1:-1].sum()


def test_special_tokens_may_be_spelt_and_case_may_differ(classifier):
    rows = one(classifier, [Explanation(np.arange(4.0), ["[CLS]", "The ", "PLOT", "[SEP]"])], ["the plot"])
    assert rows[0].tolist() == [0, 1, 2, 0]


def test_several_outputs_need_a_target(classifier):
    values = [np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0]])]
    explanation = Explanation(values, (["the ", "plot"], ["boring"]))
    rows = one(classifier, explanation, ["the plot", "boring"], targets=[1, 0])
    assert [row.tolist() for row in rows] == [[0, 2, 4, 0], [0, 5, 0]]
    refused("values of 2 outputs: give targets", one, classifier, explanation, ["the plot", "boring"])
    with pytest.raises(ValueError, match="text 0: target 2 is not one of 2 outputs: give 0 to 1"):
        one(classifier, explanation, ["the plot", "boring"], targets=[2, 0])


@pytest.mark.parametrize(
    ("values", "slices", "message"),
    [
        ([1.0, 2.0], ["the ", "film"], "its 2 slices spell 'the film' and the text is 'the plot'"),
        ([1.0, 2.0, 3.0], ["the ", "plot"], r"values of shape \(3,\) for 2 slices: give one a slice"),
    ],
)
def test_slices_of_another_text_are_told(classifier, values, slices, message):
    with pytest.raises(ValueError, match=f"attribution 'mine', text 0: {message}"):
        one(classifier, [Explanation(np.array(values), slices)], ["the plot"])


def test_as_many_slices_as_tokens_are_in_order():
    """A token of blanks alone, and one character of several tokens: values stay where they are."""
    model, text = tiny.classifier("roberta"), "the plot\n\nwas 🥲"
    (encoding,) = model.encode([text])
    slices = ["" if start == stop else text[start:stop] for start, stop in encoding.spans.tolist()]
    values = np.where(encoding.maskable, np.arange(1.0, len(slices) + 1), 0)
    explanation = SimpleNamespace(base_values=0.0, values=[values], data=[np.array(slices)])
    assert one(model, explanation, [text])[0] == pytest.approx(values)
    explanation.data = [np.array(["x"] * len(slices))]
    refused("explain the same text", one, model, explanation, [text])


def test_scores_of_texts_that_are_cut_have_either_length(classifier):
    whole, text = np.arange(10.0), TEXTS[0]
    full = classifier.encode([text])
    cut = [classifier.encode([text])[0].at(np.r_[0:5, 9])]
    classifier.max_length, before = 6, classifier.max_length
    try:
        expected = [0, 1, 2, 3, 4, 0]
        for values in (whole, [9, 1, 2, 3, 4, 9], whole[1:-1], [1, 2, 3, 4]):
            assert one(classifier, [values], [text], encodings=cut)[0].tolist() == expected
        assert [len(e.ids) for e in (*full, *cut)] == [10, 6]
    finally:
        classifier.max_length = before


def test_batches_may_be_padded_further(classifier):
    wide = np.zeros((2, 16))
    wide[0, :10], wide[1, :3] = TOKENS[0], TOKENS[1]
    assert [row.tolist() for row in one(classifier, wide)] == ALIGNED


def test_scores_of_words_padded_to_one_array_are_told(classifier):
    rows = [np.arange(1.0, e.maskable.sum() + 1) for e in classifier.encode(tiny.TEXTS)]
    padded = np.zeros((len(rows), 64))
    for row, values in zip(padded, rows, strict=True):
        row[: len(values)] = values
    assert len(one(classifier, rows, tiny.TEXTS)) == len(rows)
    with pytest.raises(ValueError, match="or scores of words padded to one array: give a list"):
        one(classifier, padded, tiny.TEXTS)


def test_pairs_of_tokens_and_scores_are_read_in_order(classifier):
    text = "the plot was great"
    assert one(classifier, [[("the plot", 2.0), (" was", 1.0), (" great", 4.0)]], [text])[0].tolist() == [
        0, 1, 1, 1, 4, 0,
    ]  # fmt: skip
    message = r"not the text in order \(LIME's as_list\(\) has each once\): give one"
    refused(message, one, classifier, [[("great", 0.5), ("the", 0.1)]], [text])
