"""Faults that people reported of other libraries, on small inputs: the right value, or one clear line."""

import json

import numpy as np
import pandas as pd
import pytest
import tiny
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BloomConfig,
    BloomForCausalLM,
    FalconConfig,
    FalconForCausalLM,
    GptOssConfig,
    GptOssForCausalLM,
    PreTrainedTokenizerFast,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
)
from transformers.modeling_outputs import SequenceClassifierOutput

from faithlib import attributions, evaluate, load_data, load_model
from faithlib.study import explorer

QUIET = dict(progress=False)
SIZES = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2)


@pytest.fixture(scope="module")
def classifier():
    return tiny.classifier()


def test_masks_and_indices_are_the_same_evidence(classifier):
    """huggingface/datasets#1716: rationales are lists of 0 and 1."""
    texts = ["the plot was great and long", "a long boring film about nothing"]
    masks, indices = [[0, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 0]], [[3], [2]]
    values = []
    for evidence in (masks, indices):
        frame = pd.DataFrame({"text": texts, "evidence": evidence})
        for data in (frame, load_data(frame, evidence="evidence")):
            study = evaluate(classifier, data, ["leave_one_out"], ["auprc", "first_hit"], **QUIET)
            values.append(study.table.value.tolist())
    assert values == values[:1] * 4
    rows = study.scores["leave_one_out"]
    ranks = [1 + (s[1:-1] > s[1:-1][i]).sum() for s, (i,) in zip(rows, indices, strict=True)]
    assert values[0] == pytest.approx([np.mean(1 / np.array(ranks)), np.mean(ranks)])


def test_more_than_ten_classes_keep_their_order():
    """MIC-DKFZ/nnUNet#1005: names by string keys, sorted as text, put class 10 before class 2."""
    words, names = tiny.tokenizer("bert"), [f"c{i}" for i in range(12)]
    config = BertConfig(vocab_size=len(words), intermediate_size=32, num_labels=12, **SIZES)
    network = BertForSequenceClassification(config)
    network.config.id2label = {str(i): name for i, name in enumerate(names)}
    study = evaluate(load_model(network, words), ["the plot"], ["random_uniform"], ["ns"], targets=["c2"])
    assert study.label_names == tuple(names) and study.targets.tolist() == [2]


def test_labels_of_a_file_are_numbers_whatever_their_type(tmp_path):
    """pandas writes whole numbers as 0.0 … 11.0 after a missing value."""
    numbers = np.arange(24) % 12
    for labels in (numbers, numbers.astype(float)):
        table = pd.DataFrame({"text": [f"film {i}" for i in range(24)], "label": labels})
        table.to_csv(tmp_path / "a.csv", index=False)
        data = load_data(tmp_path / "a.csv", label="label")
        assert data.task.labels == tuple(map(str, range(12)))
        assert data.splits["test"]["label"] == numbers.tolist()


@pytest.mark.parametrize("named", [True, False])
def test_a_head_that_averages_all_tokens_explains_its_own_logits(named):
    """captum#1178: with an encoder whose last layer is cut to its first token, logits are another model's."""

    def averaged(network, mask, **inputs):
        states = network.bert(attention_mask=mask, **inputs).last_hidden_state
        weight = torch.ones(states.shape[:2]) if mask is None or mask.ndim != 2 else mask.float()
        means = (states * weight[..., None]).sum(1) / weight.sum(1, keepdim=True)
        return SequenceClassifierOutput(logits=network.classifier(means))

    class Loose(BertForSequenceClassification):
        def forward(self, **inputs):
            for name in ("output_attentions", "output_hidden_states", "labels"):
                inputs.pop(name, None)
            return averaged(self, inputs.pop("attention_mask", None), **inputs)

    class Strict(BertForSequenceClassification):
        def forward(
            self, input_ids=None, attention_mask=None, token_type_ids=None, inputs_embeds=None, **more
        ):
            inputs = {"token_type_ids": token_type_ids, "inputs_embeds": inputs_embeds}
            return averaged(self, attention_mask, input_ids=input_ids, **inputs)

    kind, built = (Strict if named else Loose), tiny.classifier()
    kind.__name__ = "BertForSequenceClassification"
    network = built.model
    network.__class__ = kind
    texts = ["the plot was great", "boring"]
    with torch.no_grad():
        plain = [network(**built.tokenizer(text, return_tensors="pt")).logits[0].tolist() for text in texts]
        model = load_model(network, built.tokenizer)
        logits = model.logits(model.collate(model.encode(texts)))
    assert logits.numpy() == pytest.approx(np.array(plain), abs=1e-5)


def test_a_name_never_becomes_a_path(classifier, tmp_path):
    scores = {"../beside": [np.arange(4.0), np.arange(1.0)]}
    evaluate(classifier, ["the plot was great", "boring"], scores, ["ns"], resume=tmp_path / "keep", **QUIET)
    assert [path.name for path in tmp_path.iterdir()] == ["keep"] and any((tmp_path / "keep").iterdir())


def test_scores_from_elsewhere_of_texts_that_are_cut():
    """transformers-interpret#95: scores of the whole text, and of what a tokenizer left of it."""
    model, long = tiny.classifier(positions=16), "the plot was great and it was boring " * 4
    whole = len(model.tokenizer(long)["input_ids"])
    for n in (16, whole):
        scores = {"mine": [np.arange(n) * 0.1, np.arange(3) * 0.1]}
        study = evaluate(model, [long, "boring"], scores, ["ns"], long_texts="truncate", **QUIET)
        assert study.scores["mine"][0].tolist() == pytest.approx([0, *np.arange(1, 15) * 0.1, 0])


def test_files_are_read_as_they_are_meant_or_refused(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"text": "great film \ud83d"}) + "\n")
    with pytest.raises(ValueError, match="half a character"):
        load_data(path)
    path = tmp_path / "a.csv"
    path.write_text("text;label\nthe plot was great;pos\nboring, dull;neg\n")
    data = load_data(path, label="label")
    assert list(data.splits["test"]["text"]) == ["the plot was great", "boring, dull"]
    assert data.task.labels == ("neg", "pos")


def test_bytes_are_shown_as_the_text_has_them():
    """tokenizers#203: "naïve" is no "naÃ¯ve"."""
    text = "这部 naïve café 👍🏽"
    study = evaluate(tiny.classifier("roberta"), [text], ["random_uniform"], ["ns"], **QUIET)
    tokens = explorer.described(study)[0]["tokens"]
    assert set("".join(tokens[1:-1])) <= {*text, "·"} and "é" in tokens  # · continues a character


def test_whole_numbers_in_a_column_are_answers_in_words():
    frame = pd.DataFrame({"text": ["the plot was", "it was"], "target": [4, 12]})
    with pytest.raises(ValueError, match="has no token for '4'"):
        evaluate(tiny.causal(), frame, ["random_uniform"], ["aopc_sufficiency"], **QUIET)


def test_the_estimate_counts_the_inputs_that_a_study_computes(monkeypatch):
    model, rows = tiny.classifier(), []
    logits = model.logits

    def counted(batch, *rest, **named):
        rows.append(len(batch.ids))
        return logits(batch, *rest, **named)

    monkeypatch.setattr(model, "logits", counted)
    generator = np.random.default_rng(0)
    texts = [" ".join(generator.choice(tiny.WORDS, n)) for n in (9, 14, 20, 26)]
    study = evaluate(model, texts, ["input_x_gradient", "leave_one_out", "random_uniform"], **QUIET)
    assert 0.5 < sum(rows) / study.estimate.passes <= 1  # equal inputs are computed once


def unigram(*first):
    """SentencePiece's tokenizer over the texts of `tiny`, after other pre-tokenizers."""
    built, special = Tokenizer(models.Unigram()), ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    built.normalizer, built.decoder = normalizers.NFKC(), decoders.Metaspace()
    built.pre_tokenizer = pre_tokenizers.Sequence([*first, pre_tokenizers.Metaspace()])
    trainer = trainers.UnigramTrainer(
        vocab_size=60, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    built.train_from_iterator([*tiny.TEXTS, "这部电影很好看"] * 5, trainer)
    built.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = dict(bos_token="<s>", cls_token="<s>", eos_token="</s>", sep_token="</s>", mask_token="<mask>")
    return PreTrainedTokenizerFast(tokenizer_object=built, pad_token="<pad>", unk_token="<unk>", **names)


@pytest.mark.parametrize("first", [[], [pre_tokenizers.WhitespaceSplit()]], ids=["blanks", "split"])
@pytest.mark.parametrize("text", ["the plot , great and boring", "这部电影很好看"])
def test_as_many_slices_as_tokens_are_a_value_a_token(first, text):
    """shap#2849: a token of a blank alone is a slice " ", and slices repeat characters."""

    class Explanation:
        base_values = 0.0

    words = unigram(*first)
    config = XLMRobertaConfig(
        vocab_size=len(words), intermediate_size=32, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        max_position_embeddings=66, type_vocab_size=1, **SIZES,
    )  # fmt: skip
    model = load_model(XLMRobertaForSequenceClassification(config), words)
    spans = words(text, return_offsets_mapping=True)["offset_mapping"]
    starts, values = [start for start, _ in spans], np.random.default_rng(0).normal(size=len(spans))
    ends = [max(end, start) for (_, end), start in zip(spans[:-1], starts[1:], strict=True)]
    values[[0, -1]] = 0
    explanation = Explanation()
    explanation.data = [np.array([text[a:b] for a, b in zip(starts, [*ends, spans[-1][1]], strict=True)])]
    explanation.values = [values]
    study = evaluate(model, [text], {"shap": explanation}, ["ns"], baselines=0, **QUIET)
    assert study.scores["shap"][0] == pytest.approx(values)


def further(kind):
    """A causal language model of a family whose attention is its own."""
    words = tiny.causal().tokenizer
    common = dict(
        vocab_size=len(words), pad_token_id=0, bos_token_id=2, eos_token_id=3, initializer_range=0.5
    )
    if kind == "falcon":
        return FalconForCausalLM(FalconConfig(new_decoder_architecture=False, **common, **SIZES)), words
    if kind == "bloom":
        return BloomForCausalLM(BloomConfig(hidden_size=16, n_layer=2, n_head=2, **common)), words
    gpt = dict(num_key_value_heads=1, head_dim=8, intermediate_size=32, num_local_experts=2, sliding_window=4)
    config = GptOssConfig(num_experts_per_tok=1, max_position_embeddings=64, **gpt, **common, **SIZES)
    return GptOssForCausalLM(config), words


@pytest.mark.parametrize("kind", ["gpt_oss", "falcon", "bloom"])
def test_leave_one_out_needs_no_attention_weights(kind):
    """Attention that cannot be had is switched off alone; max_length stands for unknown positions."""
    network, words = further(kind)
    model = load_model(network.eval(), words, max_length=32)
    (encoding,) = model.encode(["the plot was great and it was"])

    def p(ids):
        with torch.no_grad():
            return network(input_ids=torch.tensor(ids)[None]).logits[0, -1].softmax(-1).numpy()

    target = int(p(encoding.ids).argmax())
    (scores,) = attributions.attribute(model, [encoding], [target], ["leave_one_out"])["leave_one_out"]
    for i in np.flatnonzero(encoding.maskable):
        erased = encoding.ids.copy()
        erased[i] = model.mask_id
        assert scores[i] == pytest.approx(p(encoding.ids)[target] - p(erased)[target], abs=1e-5)
