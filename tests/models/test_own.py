"""`load_model`: a model of one's own is kept as it is, and what does not fit is refused in one line."""

import json
import re
import shutil
from types import SimpleNamespace

import pandas as pd
import pytest
import tiny
import torch
from sample import families
from transformers import (
    BertForMaskedLM,
    CanineConfig,
    CanineForSequenceClassification,
    SqueezeBertConfig,
    SqueezeBertForSequenceClassification,
    T5Config,
    T5ForSequenceClassification,
    XLNetConfig,
    XLNetForSequenceClassification,
)
from wrong import tells

from faithlib import attributions, load_data, models
from faithlib.models import fit, load_model
from faithlib.training.fine_tuning import _splits

NAMES = ("bad", "good", "mixed")


def saved(folder, built=None, labels=NAMES, **config):
    """A folder with a classifier of three classes as `save_pretrained` writes it."""
    built = built or tiny.classifier()
    if labels:
        built.model.config.id2label = dict(enumerate(labels))
        built.model.config.label2id = {name: i for i, name in enumerate(labels)}
    for key, value in config.items():
        setattr(built.model.config, key, value)
    tiny.save(built, folder)
    return str(folder)


def changed(folder, **config):
    """The folder with other values in its config.json."""
    path = f"{folder}/config.json"
    with open(path) as file:
        settings = json.load(file)
    with open(path, "w") as file:
        json.dump({**settings, **config}, file)
    return folder


def logits(model, texts=tiny.TEXTS):
    with torch.no_grad():
        return model.logits(model.collate(model.encode(texts)))


def refused(*parts, source, **settings):
    return tells(parts, load_model, source, error=(ValueError, FileNotFoundError), **settings)


# What is kept -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [k for k in families.ENCODERS if k != "mpnet"])
def test_a_fine_tuned_classifier_keeps_head_and_names(tmp_path, kind):
    built = families.classifier(kind)
    model = load_model(saved(tmp_path, built), labels=NAMES, data=tiny.TEXTS)
    assert isinstance(model, models.Classifier) and model.name == str(tmp_path)
    assert torch.equal(logits(model), logits(built))
    assert list(model.model.config.id2label.values()) == list(NAMES)


@pytest.mark.parametrize("kind", tiny.CAUSAL_KINDS)
def test_the_config_decides_that_it_is_a_language_model(tmp_path, kind):
    built = tiny.causal(kind)
    source = saved(tmp_path, built, labels=None)  # transformers reads every Qwen2 tokenizer as Qwen2's own
    model = load_model(source, built.tokenizer if kind == "qwen2" else None, data=tiny.PROMPTS)
    assert isinstance(model, models.CausalLM)
    assert torch.allclose(logits(model, tiny.PROMPTS), logits(built, tiny.PROMPTS), atol=1e-6)
    refused("causal language model", "leave labels out", source=str(tmp_path), labels=NAMES)


def test_the_dtype_is_that_of_the_weights_unless_asked_for(tmp_path):
    built = tiny.classifier()
    built.model.to(torch.bfloat16)
    source = saved(tmp_path, built)
    assert load_model(source).dtype == torch.bfloat16
    assert load_model(source, dtype=torch.float32).dtype == torch.float32
    assert load_model(built.model, built.tokenizer).dtype == torch.bfloat16


def test_a_model_in_memory_is_used_and_not_copied():
    built = tiny.classifier()
    model = load_model(built.model, built.tokenizer, data=tiny.TEXTS)
    assert model.model is built.model and torch.equal(logits(model), logits(built))
    lm = tiny.causal()
    assert isinstance(load_model(lm.model, lm.tokenizer), models.CausalLM)


def test_an_adapter_passes_through(tmp_path):
    lm = tiny.copying_lm()
    assert load_model(lm) is lm
    classifier = tiny.classifier()
    assert load_model(classifier, labels=NAMES) is classifier
    refused("has 3 classes and labels names 2 (no, yes)", source=classifier, labels=("no", "yes"))


def test_numbered_labels_of_fewer_classes_leave_the_head_as_it_is():
    built = tiny.classifier()
    data = load_data(pd.DataFrame({"text": tiny.TEXTS[:2], "label": [0, 1]}), label="label")
    model = load_model(built.model, built.tokenizer, data=data)
    assert model.outputs == built.model.config.num_labels == 3
    lm = tiny.causal()
    assert load_model(lm.model, lm.tokenizer, data=data).name  # its labels are no classes of the model


def test_probabilities_in_place_of_logits_are_refused(monkeypatch):
    classifier = tiny.classifier()
    monkeypatch.setattr(
        classifier, "_logits", lambda *args: type(classifier)._logits(classifier, *args).softmax(-1)
    )
    assert load_model(classifier) is classifier  # without a text nothing is known
    refused("returns probabilities as logits: leave its softmax out", source=classifier, data=tiny.TEXTS)
    network = tiny.classifier().model
    network.register_forward_hook(lambda module, args, out: type(out)(logits=out.logits.softmax(-1)))
    refused("its logits are probabilities", source=network, tokenizer=classifier.tokenizer)


def test_weights_of_two_dtypes_in_memory_are_cast_only_when_asked():
    built = tiny.classifier()
    built.model.classifier.to(torch.bfloat16)
    message = "has weights of torch.float32, torch.bfloat16: give one dtype"
    refused(message, source=built.model, tokenizer=built.tokenizer)
    assert load_model(built.model, built.tokenizer, dtype="float32").dtype == torch.float32


def test_names_of_no_meaning_take_those_asked_for_and_case_does_not_matter(tmp_path, capsys):
    source = saved(tmp_path / "a", labels=None)
    model = load_model(source, labels=NAMES)
    assert model.model.config.id2label == dict(enumerate(NAMES))
    said = f"{source} does not name its classes: taken as 0 = bad, 1 = good, 2 = mixed; give labels if"
    assert capsys.readouterr().out.startswith(said)
    load_model(source, labels=("0", "1", "2"))
    load_model(source)
    assert capsys.readouterr().out == ""  # nothing is guessed
    model = load_model(saved(tmp_path / "b", labels=("BAD", "GOOD", "MIXED")), labels=NAMES)
    assert model.model.config.id2label[0] == "BAD"
    assert load_model(saved(tmp_path / "c"), labels=("0", "1")).outputs == 3  # numbers have no names


def test_built_models_know_the_words_of_the_data():
    model = load_model("tiny-bert", labels=("no", "yes"), data=tiny.TEXTS)
    assert model.outputs == 2 and "great" in model.tokenizer.get_vocab()
    refused("give labels", source="tiny-bert", data=tiny.TEXTS)
    refused("give data", source="tiny-llama")
    refused("leave tokenizer out", source="tiny-llama", data=["a"], tokenizer=model.tokenizer)


# A new head ---------------------------------------------------------------------------------------


def test_a_new_head_is_asked_for_seeded_and_said(tmp_path, capsys):
    source, two = saved(tmp_path), ("no", "yes")
    one, same, other = (load_model(source, labels=two, new_head=True, seed=s) for s in (1, 1, 2))
    assert one.outputs == 2 and torch.equal(logits(one), logits(same))
    assert not torch.allclose(logits(one), logits(other))
    assert torch.equal(one.embedding_table, tiny.classifier().embedding_table)
    assert capsys.readouterr().out.splitlines()[0] == (
        f"{source}: a new head of 2 classes, drawn at random (seed 1): train it first"
    )
    kept = load_model(source)
    again = load_model(source, labels=NAMES, new_head=True, seed=5)  # also where the model's own would fit
    assert not torch.equal(kept.model.classifier.weight, again.model.classifier.weight)
    built = tiny.classifier()
    memory = load_model(built.model, built.tokenizer, labels=two, new_head=True, seed=1)
    assert torch.allclose(logits(memory), logits(one))
    refused("give labels", source=source, new_head=True)


def test_a_new_head_leaves_torchs_generator_where_it_is(tmp_path):
    before = torch.get_rng_state()
    load_model(saved(tmp_path), labels=("no", "yes"), new_head=True)
    assert torch.equal(torch.get_rng_state(), before)


def test_models_load_says_that_a_head_is_fresh_and_why(tmp_path, capsys):
    source = saved(tmp_path / "a")
    models.load(source, NAMES)
    assert capsys.readouterr().out == ""
    for labels, reason in (
        (("no", "yes"), "has a head of 3 classes (bad, good, mixed), not of the 2 (no, yes)"),
        (
            ("good", "bad", "mixed"),
            "has the classes (bad, good, mixed), in another order than (good, bad, mixed)",
        ),
    ):
        one, same = (models.load(source, labels, seed=3) for _ in range(2))
        said = f"{source} {reason}: it gets a fresh one of {len(labels)} classes, to be trained\n"
        assert capsys.readouterr().out == said  # once
        assert torch.equal(logits(one), logits(same))
        assert not torch.equal(one.model.classifier.weight[:2], tiny.classifier().model.classifier.weight[:2])
        assert one.model.config.id2label == dict(enumerate(labels))
    tiny.classifier().model.base_model.save_pretrained(tmp_path / "b")
    tiny.classifier().tokenizer.save_pretrained(tmp_path / "b")
    models.load(str(tmp_path / "b"), NAMES)
    assert "has no classification head: it gets a fresh one of 3 classes" in capsys.readouterr().out


# Heads that do not fit ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (("bad", "good"), "has a head of 3 classes (bad, good, mixed), not of the 2 (bad, good)"),
        (
            ("good", "bad", "mixed"),
            "has the classes (bad, good, mixed), in another order than (good, bad, mixed)",
        ),
        (
            ("bad", "good", "none"),
            "has the classes (bad, good, mixed), of other names than (bad, good, none)",
        ),
        (("0", "1", "2", "3"), "has the classes 0 to 2 (bad, good, mixed), and the labels, from 0, go to 3"),
    ],
)
def test_a_head_of_other_classes_is_refused(tmp_path, labels, message):
    source = saved(tmp_path)
    refused(f"model {source!r} {message}", "new_head=True", source=source, labels=labels)
    built = tiny.classifier()
    built.model.config.id2label = dict(enumerate(NAMES))
    refused(message, source=built.model, tokenizer=built.tokenizer, labels=labels)


def test_multi_label_and_regression_heads_are_refused(tmp_path):
    source = saved(tmp_path / "a", problem_type="multi_label_classification")
    refused("multi-label head", "fine-tune a single-label classifier", source=source)
    words = families.tokenizer("electra")
    built = models.Classifier(families.network("electra", len(words), labels=1), words, "one")
    refused("head of regression (one value)", source=saved(tmp_path / "b", built, labels=None))


def test_a_model_without_a_head_is_refused(tmp_path):
    built = tiny.classifier()
    built.model.base_model.save_pretrained(tmp_path / "a")
    built.tokenizer.save_pretrained(tmp_path / "a")
    refused("(BertModel) has no classification head", "new_head=True", source=str(tmp_path / "a"))
    BertForMaskedLM(built.model.config).save_pretrained(tmp_path / "b")
    built.tokenizer.save_pretrained(tmp_path / "b")
    refused("(BertForMaskedLM) has no classification head", source=str(tmp_path / "b"))
    changed(str(tmp_path / "a"), architectures=["BertForSequenceClassification"])
    message = "lacks weights of its classification head (classifier.bias and 1 more)"
    refused(message, source=str(tmp_path / "a"))
    assert load_model(str(tmp_path / "b"), labels=NAMES, new_head=True).outputs == 3


# Weights and files --------------------------------------------------------------------------------


def test_layers_that_are_missing_or_left_over_are_refused(tmp_path):
    source = changed(saved(tmp_path), num_hidden_layers=1)
    refused("layers that its config does not name (bert.encoder.layer.1.", source=source)
    with pytest.raises(ValueError, match="layers that its config does not name"):
        models.load(source, NAMES)
    refused(
        "lacks weights of its encoder (bert.encoder.layer.2.", source=changed(source, num_hidden_layers=3)
    )
    refused("lacks weights of its encoder (bert.", source=changed(source, num_hidden_layers=2, vocab_size=99))
    lm = saved(tmp_path / "lm", tiny.causal(), labels=None)
    refused("does not use (model.layers.1.", source=changed(lm, num_hidden_layers=1))
    refused("lacks weights (model.layers.2.", source=changed(lm, num_hidden_layers=3))


def test_a_head_of_another_shape_than_the_config_says_is_refused(tmp_path):
    source = saved(tmp_path)
    changed(source, id2label={"0": "no", "1": "yes"}, label2id={"no": 0, "yes": 1})
    refused("has weights 'classifier.bias' of shape (3,), its config says (2,)", source=source)


def test_damaged_files_pickles_and_code_are_refused(tmp_path):
    source = saved(tmp_path / "cut")
    weights = (tmp_path / "cut/model.safetensors").read_bytes()
    (tmp_path / "cut/model.safetensors").write_bytes(weights[: len(weights) // 2])
    refused(f"model {source!r}", "safetensors are damaged or cut off", "download or copy", source=source)
    (tmp_path / "cut/model.safetensors").unlink()
    torch.save(tiny.classifier().model.state_dict(), tmp_path / "cut/pytorch_model.bin")
    refused("cannot be loaded", "safetensors", source=source)
    (tmp_path / "cut/config.json").write_text("{")
    refused("cannot be loaded", source=source)
    code = saved(tmp_path / "code")
    changed(code, model_type="mine", auto_map={"AutoConfig": "evil.Config", "AutoModel": "evil.Model"})
    (tmp_path / "code/evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    refused("cannot be loaded", source=code)
    with pytest.raises(FileNotFoundError):
        models.load(code, NAMES)
    assert not (tmp_path / "ran").exists()
    refused("cannot be loaded", "check the name", source=str(tmp_path / "none"))


# Tokenizers ---------------------------------------------------------------------------------------


def test_a_tokenizer_that_is_invented_or_of_another_model_is_refused(tmp_path):
    source = saved(tmp_path / "a")
    other = tiny.tokenizer("roberta")
    refused("embeddings of 33 tokens and its tokenizer knows", source=source, tokenizer=other)
    few = models.load("tiny-bert", NAMES, ["one word"]).tokenizer
    refused(
        "embeddings of 33 tokens and its tokenizer knows 7, numbered up to 6: give",
        source=source,
        tokenizer=few,
    )
    for file in (tmp_path / "a").glob("tokenizer*"):
        file.unlink()
    for load in (load_model, lambda s: models.load(s, NAMES)):
        tells(["has no tokenizer in ", ": save it there"], load, source)
    assert load_model(source, tiny.tokenizer("bert")).outputs == 3


def test_a_tokenizer_that_knows_no_word_of_the_data_is_refused(tmp_path):
    source = saved(tmp_path)
    refused("gives only [UNK] for ['ничего']", source=source, data=["ничего", "нет"])
    assert load_model(source, data=["ничего", "great"]).outputs == 3


# Families and settings ----------------------------------------------------------------------------


def test_families_that_do_not_work_are_refused_by_name(tmp_path):
    words = tiny.tokenizer("bert")
    t5 = T5Config(vocab_size=33, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2, num_labels=3)
    squeeze = dict(hidden_size=16, embedding_size=16, num_hidden_layers=1, num_attention_heads=2)
    squeeze |= {f"{part}_groups": 1 for part in ("q", "k", "v", "post_attention", "intermediate", "output")}
    squeeze = SqueezeBertConfig(vocab_size=33, intermediate_size=16, num_labels=3, **squeeze)
    canine = CanineConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, num_labels=3)
    xlnet = XLNetConfig(vocab_size=33, d_model=8, n_layer=1, n_head=2, d_inner=8, num_labels=3)
    for made, message in (
        (T5ForSequenceClassification(t5), "is an encoder-decoder (t5), which faithlib does not explain"),
        (CanineForSequenceClassification(canine), "(canine) has no table of word embeddings"),
        (XLNetForSequenceClassification(xlnet), "(xlnet) does not say how many positions it has"),
    ):
        folder = tmp_path / made.config.model_type
        made.save_pretrained(folder)
        words.save_pretrained(folder)
        refused(str(folder), message, source=str(folder))
        refused(message, source=made, tokenizer=words)
        with pytest.raises(ValueError, match=re.escape(message)):
            models.load(str(folder), NAMES)
    model = load_model(SqueezeBertForSequenceClassification(squeeze), words)
    with pytest.raises(ValueError, match="its attention weights do not sum to 1: choose"):  # and no more
        attributions.check(["attention"], model)
    attributions.check(["leave_one_out"], model)


@pytest.mark.parametrize("family", ["GPT2", "Llama"])
def test_decoders_with_a_head_of_classes_are_refused(tmp_path, family):
    import transformers

    sizes = dict(vocab_size=33, num_labels=3, pad_token_id=0, max_position_embeddings=64)
    sizes |= dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2)
    sizes |= dict(intermediate_size=8) if family == "Llama" else {}
    config = getattr(transformers, f"{family}Config")(**sizes)
    made = getattr(transformers, f"{family}ForSequenceClassification")(config)
    message = f"({family.lower()}) classifies by the last token of a decoder"
    refused(message, source=made, tokenizer=tiny.tokenizer("bert"))


def test_a_classifier_is_no_language_model_and_the_reverse(tmp_path):
    with pytest.raises(ValueError, match="is a classifier, not a language model: load it with load_model"):
        models.load_causal(saved(tmp_path / "a"))
    with pytest.raises(ValueError, match="is a causal language model .llama., not an encoder"):
        models.load(saved(tmp_path / "b", tiny.causal(), labels=None), NAMES)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"labels": {"no", "yes"}}, "are no names: give a list"), ({"device": 0}, "device='0' is unknown"),
        ({"labels": 3}, "labels=3 are no names"), ({"data": 3}, "holds no texts"),
        ({"data": []}, "holds no texts"), ({"max_length": True}, "max_length=True must be"),
        ({"new_head": 1}, "new_head=1 must be True or False"),
    ],
)  # fmt: skip
def test_settings_of_the_wrong_kind_are_refused_before_anything_is_read(settings, message):
    refused(message, **{"source": "no/such", **settings})


def test_the_weights_of_another_family_are_refused(tmp_path):
    source = saved(tmp_path / "a")
    other = saved(tmp_path / "b", tiny.classifier("distilbert"))
    shutil.copy(f"{other}/model.safetensors", source)
    refused("lacks weights of its encoder", source=source)


def test_what_wraps_a_model_says_what_to_give():
    built = tiny.classifier()
    refused("give source._orig_mod", source=torch.compile(built.model), tokenizer=built.tokenizer)
    built.model.config.return_dict = False
    refused("config.return_dict=False: set it to True", source=built.model, tokenizer=built.tokenizer)
    built.model.config.return_dict, built.model.config.id2label = True, None
    refused("config.id2label=None: set it to", source=built.model, tokenizer=built.tokenizer)
    adapted = tiny.classifier().model
    adapted.merge_and_unload = None  # as a model of peft has it
    refused("source is a PEFT model: give source.merge_and_unload()", source=adapted)


def test_data_in_another_order_than_the_model_is_read_by_name(tmp_path):
    source = saved(tmp_path)
    frame = pd.DataFrame({"text": ["a", "b", "c"], "label": ["good", "mixed", "bad"]})
    data = load_data(frame, label="label", labels=["mixed", "good", "bad"])
    model = load_model(source, data=data)
    assert fit.label_names(model.model.config) == NAMES
    both = {"train": data.splits["test"], "validation": data.splits["test"]}
    seen = _splits(model, SimpleNamespace(task=data.task, splits=both))
    assert seen[0][1].tolist() == [NAMES.index(name) for name in frame.label]
