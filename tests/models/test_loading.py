"""The classifier contract on tiny models, and where a model is found by name."""

import importlib.util
import json
import shutil

import numpy as np
import pytest
import tiny
import torch

from faithlib import models
from faithlib.models.loading import PACKAGED

MINILM = "sentence-transformers/all-MiniLM-L6-v2"


@pytest.fixture(params=tiny.KINDS)
def classifier(request):
    return tiny.classifier(request.param)


def logits(classifier, encodings, **changes):
    with torch.no_grad():
        return classifier.logits(classifier.collate(encodings), **changes)


def ids_logits(classifier, batch, present=None):
    """The Hugging Face model called with input ids, as its own documentation does."""
    inputs = {
        "input_ids": batch.ids,
        "attention_mask": (batch.present if present is None else present).long(),
    }
    if classifier.model.config.model_type == "bert":
        inputs["token_type_ids"] = batch.types
    with torch.no_grad():
        return classifier.model(**inputs).logits


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
    classifier.tokenizer = tiny.PreTrainedTokenizerFast(tokenizer_object=built, **named)
    (encoding,) = classifier.encode(["the plot was great"])
    assert encoding.words.tolist() == [-1, 0, 1, 2, 3, -1]


def test_tokens_that_follow_an_encoding_are_maskable_and_words_of_their_own():
    array = np.array
    prompt = models.base.Encoding(
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
    assert torch.isfinite(logits(classifier, [short])).all()


def test_roberta_counts_its_positions_behind_the_padding_index():
    classifier = tiny.classifier("roberta", positions=10)
    assert classifier.model.config.max_position_embeddings == 12 and classifier.max_length == 10
    (encoding,) = classifier.encode(["a " * 30])
    (full,), _ = models.check_examples(classifier, [encoding], "truncate")
    assert logits(classifier, [full]).shape == (1, 3)  # one position more would be out of range
    with pytest.raises((IndexError, RuntimeError)):
        logits(classifier, [classifier.encode(["a " * 9])[0]])


def test_a_smaller_max_length_holds_and_a_larger_one_does_not(classifier):
    for given, kept in ((8, 8), (0, 64), (500, 64)):
        again = models.Classifier(classifier.model, classifier.tokenizer, "x", given)
        assert again.max_length == kept


# Logits -------------------------------------------------------------------------------------------


def test_logits_are_those_of_the_model_called_with_ids(classifier):
    for pair in (None, tiny.TEXTS_B):
        batch = classifier.collate(classifier.encode(tiny.TEXTS, pair))
        with torch.no_grad():
            ours = classifier.logits(batch)
        assert torch.equal(ours, ids_logits(classifier, batch))
        assert ours.std(0).min() > 0.05  # the toy does tell the texts apart


def test_padding_batch_and_order_do_not_change_logits(classifier):
    encodings = classifier.encode(tiny.TEXTS, tiny.TEXTS_B)
    together = logits(classifier, encodings)
    alone = torch.cat([logits(classifier, [e]) for e in encodings])
    reverse = logits(classifier, encodings[::-1]).flip(0)
    padded = logits(classifier, [*encodings, classifier.encode(["great " * 40], ["good ?"])[0]])[:-1]
    for other in (alone, reverse, padded):
        assert (together - other).abs().max() < 1e-5


def test_eager_attention_gives_the_same_logits_and_does_not_stay(classifier):
    batch = classifier.collate(classifier.encode(tiny.TEXTS))
    used = classifier.model.config._attn_implementation
    assert used == "sdpa"
    with torch.no_grad():
        eager, layers = classifier.attentions(batch)
    assert (eager - classifier.logits(batch)).abs().max() < 1e-4
    assert classifier.model.config._attn_implementation == used
    assert len(layers) == 2 and layers[0].shape == (5, 2, *(2 * [batch.ids.shape[1]]))
    for weights in layers:
        assert torch.allclose(weights.sum(-1), torch.ones(()), atol=1e-6)  # special positions included
        assert weights[~batch.present[:, None, None, :].expand_as(weights)].abs().max() == 0


def test_attention_is_restored_after_an_error(classifier, monkeypatch):
    batch = classifier.collate(classifier.encode(tiny.TEXTS))
    monkeypatch.setattr(classifier, "_inputs", lambda batch: {})
    with pytest.raises(ValueError):
        classifier.attentions(batch)
    assert classifier.model.config._attn_implementation == "sdpa"


def test_hidden_states_begin_with_the_embeddings_and_end_with_the_last_layer(classifier):
    batch = classifier.collate(classifier.encode(tiny.TEXTS[:2]))
    with torch.no_grad():
        states = classifier.hidden_states(batch)
        embedded = classifier.model.base_model.embeddings(batch.ids)
        last = classifier.model.base_model(input_ids=batch.ids, attention_mask=batch.present.long())[0]
    assert len(states) == 3
    real = batch.present
    assert torch.allclose(states[0][real], embedded[real], atol=1e-6)
    assert torch.allclose(states[-1][real], last[real], atol=1e-6)


def test_factor_and_weight_of_ones_change_nothing(classifier):
    encodings = classifier.encode(tiny.TEXTS, tiny.TEXTS_B)
    plain = logits(classifier, encodings)
    tokens = max(len(e.ids) for e in encodings)
    for width in (1, 16):
        assert torch.equal(logits(classifier, encodings, factor=torch.ones(5, tokens, width)), plain)
    weighted = logits(classifier, encodings, weight=torch.ones(5, tokens))
    assert (weighted - plain).abs().max() < 1e-5


def test_a_factor_multiplies_the_embedding_output(classifier):
    batch = classifier.collate(classifier.encode(tiny.TEXTS[:2]))
    factor = torch.rand(*batch.ids.shape, 16, generator=torch.Generator().manual_seed(0))
    seen = []
    encoder = next(
        m for m in classifier.model.base_model.children() if m is not classifier.model.base_model.embeddings
    )
    hook = encoder.register_forward_pre_hook(
        lambda module, args, kwargs: seen.append(args[0] if args else kwargs["hidden_states"]),
        with_kwargs=True,
    )
    with torch.no_grad():
        changed = classifier.logits(batch, factor=factor)
        expected = classifier.model.base_model.embeddings(batch.ids) * factor
        hook.remove()
        assert torch.allclose(seen[0][batch.present], expected[batch.present], atol=1e-6)
        assert (changed - classifier.logits(batch)).abs().max() > 1e-2  # and the hook is gone again
        assert torch.allclose(classifier.logits(batch), ids_logits(classifier, batch), atol=1e-6)


def test_weight_zero_is_a_token_that_attention_masks(classifier):
    encodings = classifier.encode(tiny.TEXTS[:2], tiny.TEXTS_B[:2])
    batch = classifier.collate(encodings)
    weight, present = torch.ones(batch.ids.shape), batch.present.clone()
    weight[0, 2], weight[1, 3], weight[1, 6] = 0, 0, 0
    present[0, 2], present[1, 3], present[1, 6] = False, False, False
    ours = logits(classifier, encodings, weight=weight)
    if classifier.model.config.model_type != "roberta":
        expected = ids_logits(classifier, batch, present)
    else:  # the same; spelled with embeddings, for the ids of masked positions are not looked at
        with torch.no_grad():
            expected = classifier.model(
                inputs_embeds=classifier.embed(batch.ids), attention_mask=present.long()
            ).logits
    assert (ours - expected).abs().max() < 1e-5
    assert (ours - logits(classifier, encodings)).abs().max() > 1e-2


def test_a_weight_scales_attention_before_it_is_normalised(classifier):
    batch = classifier.collate(classifier.encode(tiny.TEXTS[:2]))
    weight = torch.rand(batch.ids.shape, generator=torch.Generator().manual_seed(0))
    model = classifier.model
    with torch.no_grad():
        _, (plain, _) = classifier.attentions(batch)
        model.set_attn_implementation("eager")
        changed = model(**classifier._inputs(batch, weight=weight), output_attentions=True).attentions[0]
        model.set_attn_implementation("sdpa")
    expected = plain * weight[:, None, None, :]
    expected = expected / expected.sum(-1, keepdim=True)
    assert (changed - expected)[batch.present[:, None, :, None].expand_as(changed)].abs().max() < 1e-5


# Bad input ----------------------------------------------------------------------------------------


def told(error):
    """The message, which has to be one line."""
    message = str(error.value)
    assert "\n" not in message
    return message


def test_texts_without_a_maskable_token_are_refused(classifier):
    encodings = classifier.encode(["great", "", "", "plot"])
    with pytest.raises(ValueError, match="2 texts have no maskable token .first: example 1.: remove"):
        models.check_examples(classifier, encodings)


def test_too_long_texts_are_refused_or_counted(classifier):
    encodings = classifier.encode([" ".join(["a"] * n) for n in (62, 63, 80)])
    assert models.check_examples(classifier, encodings[:1]) == (encodings[:1], [])
    with pytest.raises(ValueError) as error:
        models.check_examples(classifier, encodings)
    message = told(error)
    assert "2 of 3 texts are longer than tiny-" in message and "(82 tokens, at most 64)" in message
    assert "long_texts='truncate'" in message
    cut, excluded = models.check_examples(classifier, encodings, long_texts="truncate")
    assert [len(e.ids) for e in cut] == [64, 64, 64]
    assert [row["n"] for row in excluded] == [2] and excluded[0]["what"] == "end of text cut"


def test_a_question_that_fills_the_model_is_refused(classifier):
    encodings = classifier.encode(["plot"], ["good ? " * 40])
    with pytest.raises(ValueError, match="text_b alone fills the model"):
        models.check_examples(classifier, encodings, "truncate")


def test_unknown_long_texts_is_refused(classifier):
    with pytest.raises(ValueError, match="long_texts='cut' is unknown: use 'error' or 'truncate'"):
        models.check_examples(classifier, classifier.encode(["plot"]), "cut")


# Finding a model ----------------------------------------------------------------------------------


def saved(folder, kind="bert", seed=0):
    built = tiny.classifier(kind, seed)
    built.model.save_pretrained(folder)
    built.tokenizer.save_pretrained(folder)
    return folder


def test_a_models_folder_comes_first_then_a_folder_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = json.dumps({"model_type": "bert"})

    def make(name):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(config)
        return folder

    (tmp_path / "shelf/org/encoder").mkdir(parents=True)  # no config.json: not a model
    assert models.locate("org/encoder", "shelf") == "org/encoder"  # nothing: the hub may have it
    make("org/encoder")
    assert models.locate("org/encoder", "shelf") == "org/encoder"
    short = make("shelf/encoder")
    assert models.locate("org/encoder", str(tmp_path / "shelf")) == str(short)
    (tmp_path / "shelf/org/encoder/config.json").write_text(config)
    assert models.locate("org/encoder", str(tmp_path / "shelf")) == str(tmp_path / "shelf/org/encoder")
    assert models.locate("org/encoder") == "org/encoder"
    assert models.locate(str(short)) == str(short)


@pytest.mark.skipif(not importlib.util.find_spec(PACKAGED[MINILM][0]), reason="needs the test extra")
def test_an_installed_package_serves_minilm_where_no_folder_does(tmp_path):
    found = models.locate(MINILM, str(tmp_path))
    assert json.loads((tmp_path / found / "config.json").read_text())["num_hidden_layers"] == 6
    mine = tmp_path / "all-MiniLM-L6-v2"
    mine.mkdir()
    (mine / "config.json").write_text("{}")
    assert models.locate(MINILM, str(tmp_path)) == str(mine)


def test_a_models_folder_that_is_none_is_refused():
    with pytest.raises(FileNotFoundError, match="model_dir='/no/such/shelf' is no folder"):
        models.load("org/encoder", tiny.LABELS, model_dir="/no/such/shelf")


def test_an_unknown_model_is_told_in_one_line():
    with pytest.raises(FileNotFoundError) as error:
        models.load("no-one/no-such-model", tiny.LABELS)
    message = told(error)
    assert "'no-one/no-such-model'" in message and "model_dir" in message and "go online" in message


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_a_saved_encoder_is_kept_and_gets_a_seeded_head(tmp_path, kind):
    source = tiny.classifier(kind, seed=5)
    source.model.base_model.save_pretrained(tmp_path / "org" / "encoder")
    source.tokenizer.save_pretrained(tmp_path / "org" / "encoder")
    before = torch.get_rng_state()
    one, same, other = (
        models.load("org/encoder", ("bad", "good"), model_dir=str(tmp_path), seed=s) for s in (1, 1, 2)
    )
    assert torch.equal(torch.get_rng_state(), before)
    encoder = dict(source.model.base_model.named_parameters())
    for name, weights in one.model.base_model.named_parameters():
        assert torch.equal(weights, encoder[name]), name
    assert one.model.config.id2label == {0: "bad", 1: "good"}
    a, b, c = (logits(m, m.encode(tiny.TEXTS)) for m in (one, same, other))
    assert a.shape == (5, 2) and torch.equal(a, b) and not torch.allclose(a, c)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_head_of_a_checkpoint_stays_where_it_fits(tmp_path, classes):
    saved(tmp_path / "encoder")  # a classifier of three classes
    one, other = (
        models.load("encoder", tiny.LABELS[:classes], model_dir=str(tmp_path), seed=s) for s in (1, 2)
    )
    assert torch.equal(one.model.classifier.weight, other.model.classifier.weight) == (classes == 3)
    assert one.model.classifier.weight.shape == (classes, 16)


def test_pickled_weights_are_refused(tmp_path):
    folder = saved(tmp_path / "encoder")
    weights = tiny.classifier().model.state_dict()
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    with pytest.raises(FileNotFoundError) as error:
        models.load("encoder", tiny.LABELS, model_dir=str(tmp_path))
    assert "safetensors" in told(error)


def test_a_checkpoint_without_its_encoder_is_refused(tmp_path):
    folder = saved(tmp_path / "encoder")
    shutil.copy(saved(tmp_path / "other", "distilbert") / "model.safetensors", folder)
    with pytest.raises(ValueError) as error:
        models.load("encoder", tiny.LABELS, model_dir=str(tmp_path))
    message = told(error)
    assert "lacks weights of its encoder" in message and "'encoder'" in message


def test_tiny_bert_reads_the_words_of_the_task():
    one, same, other = (models.load("tiny-bert", ("no", "yes"), tiny.TEXTS, seed=s) for s in (0, 0, 1))
    vocabulary = one.tokenizer.get_vocab()
    assert set(" ".join(tiny.TEXTS).split()) < set(vocabulary)
    assert len(vocabulary) == one.model.config.vocab_size
    (encoding,) = one.encode(["Great plot zebra"], ["was it long"])  # lower-cased; zebra is unknown
    assert one.tokens(encoding) == "[CLS] great plot [UNK] [SEP] was it long [SEP]".split()
    assert encoding.types.tolist() == [0] * 5 + [1] * 4
    assert one.mask_id == vocabulary["[MASK]"]
    a, b, c = (logits(m, [encoding]) for m in (one, same, other))
    assert torch.equal(a, b) and not torch.allclose(a, c)


def test_the_last_layer_computes_what_is_read_and_nothing_else(classifier):
    """The logits and gradients of the whole model, from CLS alone behind the last attention."""
    kind = classifier.model.config.model_type
    encodings = classifier.encode(tiny.TEXTS, tiny.TEXTS_B)
    batch, shapes = classifier.collate(encodings), []
    if kind != "distilbert":
        layer = classifier.model.base_model.encoder.layer[-1]
        layer.output.register_forward_hook(lambda module, args, output: shapes.append(output.shape[1]))
    embeddings = classifier.embed(batch.ids).detach().requires_grad_()
    ours = classifier.logits(batch, embeddings=embeddings)
    whole = classifier.model(**classifier._inputs(batch, embeddings)).logits
    assert torch.allclose(ours, whole, atol=1e-6)
    one, two = (torch.autograd.grad(y.square().sum(), embeddings)[0] for y in (ours, whole))
    assert torch.allclose(one, two, atol=1e-5) and one.abs().max() > 1e-2
    classifier.model.train()
    classifier.logits(batch)
    if kind != "distilbert":
        assert shapes == [1, batch.ids.shape[1], batch.ids.shape[1]]
        assert not layer.attention.output._forward_pre_hooks
