"""The causal language model contract: next-token outputs, padding, prefixes, and what is refused."""

import numpy as np
import pytest
import tiny
import torch
from transformers import Phi3Config, Phi3ForCausalLM, PreTrainedTokenizerFast

from faithlib import models
from faithlib.attributions import attribute
from faithlib.engine import batching, forward


@pytest.fixture(params=tiny.CAUSAL_KINDS)
def model(request):
    return tiny.causal(request.param)


def huggingface(model, encoding, **inputs):
    """The model called with one prompt's ids, as its own documentation does: (vocabulary,)."""
    with torch.no_grad():
        return model.model(input_ids=torch.tensor(encoding.ids)[None], **inputs).logits[0, -1]


def leaving_out(model, encodings):
    """Every token replaced, and every token deleted, one at a time; and the prompts themselves."""
    variants = [forward.unchanged(e) for e in encodings]
    for e in encodings:
        for i in np.flatnonzero(e.maskable):
            erased = np.arange(len(e.ids)) == i
            variants += [
                forward.replaced(e, erased, model.mask_id),
                forward.deleted(e, erased),
                forward.zeroed(e, erased),
            ]
    return variants


def test_prompts_are_encoded_with_their_words(model):
    short, long = model.encode(["the plot was", "not unlikely"])
    assert short.ids[0] == 2 and short.maskable.tolist() == [False, True, True, True]
    assert long.words.tolist() == [-1, 0, 1, 1, 1] and not long.auxiliary.any()


def test_the_logits_are_those_after_each_rows_last_token(model):
    encodings = model.encode(tiny.PROMPTS)
    with torch.no_grad():
        ours = model.logits(model.collate(encodings))
    assert ours.shape == (4, model.outputs)
    for encoding, row in zip(encodings, ours, strict=True):
        assert torch.allclose(row, huggingface(model, encoding), atol=1e-5)
    assert ours.std(0).median() > 0.05


def test_the_head_sees_one_token_a_row(model):
    seen = []
    hook = model.model.get_output_embeddings().register_forward_hook(
        lambda module, args, output: seen.append(output.shape)
    )
    batch = model.collate(model.encode(tiny.PROMPTS))
    with torch.no_grad():
        model.logits(batch)
        model.prefix(batch)
        model.attentions(batch)
    hook.remove()
    assert seen == [(4, 1, model.outputs)] * 3
    assert not model.model.get_output_embeddings()._forward_pre_hooks


def test_what_is_explained_is_a_probability(model):
    batch = model.collate(model.encode(tiny.PROMPTS))
    target = torch.tensor([5, 6, 7, 8])
    with torch.no_grad():
        logits = model.logits(batch)
    assert torch.allclose(model.explained(logits, target), logits.softmax(-1)[range(4), target])
    assert model.explains == "probability" and model.reads(batch).tolist() == [3, 9, 1, 8]


@pytest.mark.parametrize("length", [1, 3, 6])
def test_a_prefix_gives_the_same_logits_and_gradients(model, length):
    encodings = [e for e in model.encode(tiny.PROMPTS) if len(e.ids) > length]
    whole = model.collate(encodings)
    with torch.no_grad():
        logits, prefix = model.prefix(whole)
    assert torch.allclose(logits, model.logits(whole), atol=1e-5)
    rest = model.collate([e.at(slice(length, None)) for e in encodings])
    some = prefix.rows(list(range(len(encodings))), length)
    embeddings = model.embed(whole.ids).detach().requires_grad_()
    after = embeddings[:, length:]
    ours = model.logits(rest, embeddings=after, prefix=some)
    all_at_once = model.logits(whole, embeddings=embeddings)
    assert torch.allclose(ours, all_at_once, atol=1e-5)
    (short,), (full,) = (
        torch.autograd.grad(y[:, 5].sum(), e) for y, e in ((ours, after), (all_at_once, embeddings))
    )
    assert torch.allclose(short, full[:, length:], atol=1e-5) and full[:, length:].abs().max() > 1e-3
    again = model.logits(rest, prefix=prefix.rows(list(range(len(encodings))), length))
    assert torch.allclose(again, logits, atol=1e-5)  # a pass does not use a prefix up


def test_keys_and_values_have_the_name_that_the_model_gives_them(monkeypatch):
    model, seen = tiny.causal("llama"), []
    forward_, name, batch = model.model.forward, model._past, model.collate(model.encode(["the plot was"]))
    expected, _ = model.prefix(batch)

    def before(*args, past_key_values=None, **others):
        seen.append(past_key_values)
        return forward_(*args, **others, **{name: past_key_values})

    def since(*args, cache=None, **others):
        seen.append(cache)
        return forward_(*args, **others, **{name: cache})

    for renamed in (before, since):
        monkeypatch.setattr(model.model, "forward", renamed)
        logits, prefix = models.CausalLM(model.model, model.tokenizer, "renamed").prefix(batch)
        assert torch.equal(logits, expected) and seen.pop() is not None and len(prefix.layers) > 0


def test_rows_of_a_prefix_may_repeat(model):
    batch = model.collate(model.encode(["she liked the plot", "it was not great"]))
    with torch.no_grad():
        logits, prefix = model.prefix(batch)
        rest = model.collate([batch.encodings[i].at(slice(3, None)) for i in (1, 0, 1)])
        ours = model.logits(rest, prefix=prefix.rows([1, 0, 1], 3))
    assert torch.allclose(ours, logits[[1, 0, 1]], atol=1e-5)


@pytest.mark.parametrize("budget", [1, 12, 40, 10**6])
def test_variants_with_prefixes_are_those_computed_one_by_one(model, budget):
    encodings = model.encode(tiny.PROMPTS)
    variants = leaving_out(model, encodings)
    targets = np.arange(len(variants)) % model.outputs
    with batching.limited(model, budget):
        values = forward.target_values(model, variants, targets, "probability")
        logits = forward.target_values(model, variants, targets, "logit")
    for variant, target, value, logit in zip(variants, targets, values, logits, strict=True):
        if variant.factor is None:
            expected = huggingface(model, variant.encoding)
            assert logit == pytest.approx(expected[target].item(), abs=1e-5)
            assert value == pytest.approx(expected.softmax(-1)[target].item(), abs=1e-5)
    plain = forward.target_values(
        model, [forward.Variant(v.encoding, v.factor, key=v.key) for v in variants], targets, "probability"
    )
    assert np.abs(plain - values).max() < 1e-5


def test_a_prefix_is_computed_once_and_what_follows_it_only(monkeypatch):
    model, tokens = tiny.causal("llama"), []
    (encoding,) = model.encode(["she liked the unlikely ending a lot"])
    for name in ("prefix", "logits"):
        real = getattr(model, name)
        monkeypatch.setattr(
            model,
            name,
            lambda batch, real=real, **more: (tokens.append(batch.ids.numel()), real(batch, **more))[1],
        )
    length = len(encoding.ids)
    erased = [np.arange(length) == i for i in range(length)]
    variants = [forward.replaced(encoding, e, model.mask_id) for e in erased]
    with batching.limited(model, 8):
        forward.target_values(model, variants, [5] * length, "probability")
    late = [i for i in range(length) if 8 * i >= length]
    early = (length - len(late)) * length
    assert sum(tokens) <= early + length + 1.3 * sum(length - i for i in late)


def test_the_cache_keeps_targets_apart(model):
    encodings, cache = model.encode(tiny.PROMPTS), forward.Cache()
    variants = [forward.unchanged(e) for e in encodings] * 2
    targets = [5, 6, 7, 8, 6, 6, 6, 6]
    first = forward.target_values(model, variants, targets, "probability", cache)
    assert cache.hits == 1  # the second prompt has the same target twice
    again = forward.target_values(model, variants, targets, "probability", cache)
    assert cache.hits == 9 and (first == again).all()
    p = forward.probabilities(model, variants)
    assert np.abs(p[np.arange(8), targets] - first).max() < 1e-6


def test_sdpa_and_eager_agree(model):
    batch = model.collate(model.encode(tiny.PROMPTS))
    with torch.no_grad():
        logits, layers = model.attentions(batch)
        assert torch.allclose(logits, model.logits(batch), atol=1e-4)
    used = model.model.config._attn_implementation
    assert used == ("eager" if model.name == "tiny-gemma2" else "sdpa")  # sdpa drops Gemma-2's soft cap
    assert len(layers) == 2 and layers[0].shape == (4, 2, batch.ids.shape[1], batch.ids.shape[1])


def test_what_stands_for_an_erased_token_is_the_best_there_is():
    model = tiny.causal("gpt2")
    assert model.mask_id == model.tokenizer.unk_token_id == 1
    model.tokenizer.unk_token = None
    assert model.mask_id == model.tokenizer.pad_token_id == 0
    model.tokenizer.pad_token, model.tokenizer.eos_token = None, "[SEP]"
    assert model.mask_id == 3


def test_an_empty_prompt_is_told():
    with pytest.raises(ValueError, match="prompt '' is empty"):
        tiny.causal("llama").encode(["the plot", ""])


def test_a_tokenizer_that_ends_each_prompt_is_told():
    model, ending = tiny.causal("llama"), tiny.word_pieces()[0]  # [CLS] prompt [SEP]
    model.tokenizer = PreTrainedTokenizerFast(tokenizer_object=ending, eos_token="[SEP]", unk_token="[UNK]")
    with pytest.raises(ValueError, match=r"ends each prompt with '\[SEP\]', so that nothing follows: load"):
        model.encode(["the plot"])
    kept = tiny.causal("llama")
    kept.tokenizer.add_special_tokens({"eos_token": "[SEP]"})
    assert kept.encode(["the plot", "the plot [SEP]"])[1].ids.tolist()[-1] == 3  # as it was given


def test_a_causal_model_is_loaded_from_a_folder(tmp_path):
    model = tiny.causal("llama", seed=3)
    tiny.save(model, tmp_path / "small")
    loaded = models.load_causal("small", model_dir=str(tmp_path))
    encodings = loaded.encode(tiny.PROMPTS)
    assert [e.ids.tolist() for e in encodings] == [e.ids.tolist() for e in model.encode(tiny.PROMPTS)]
    with torch.no_grad():
        assert torch.equal(loaded.logits(loaded.collate(encodings)), model.logits(model.collate(encodings)))
    assert loaded.max_length == 64 and loaded.name == "small"
    with pytest.raises(FileNotFoundError, match="'none' cannot be loaded"):
        models.load_causal("none", model_dir=str(tmp_path))


def test_a_prompt_longer_than_the_context_is_told_before_any_work(monkeypatch):
    model = tiny.causal("llama", positions=8)
    encodings = model.encode(["the plot was", "a long , not unlikely film about nothing"])
    monkeypatch.setattr(model, "logits", lambda *a, **k: pytest.fail("work began"))
    with pytest.raises(ValueError, match="example 1 has 11 tokens, tiny-llama takes 8: shorten it"):
        attribute(model, encodings, [5, 5], ["input_x_gradient"])


def test_an_example_without_maskable_tokens_is_told_before_any_work(model, monkeypatch):
    encodings = model.encode(["the plot was", "boring"])
    encodings[1] = encodings[1].at(slice(1))  # its special token alone
    monkeypatch.setattr(model, "logits", lambda *a, **k: pytest.fail("work began"))
    with pytest.raises(ValueError, match="example 1 has no maskable token: remove empty texts"):
        attribute(model, encodings, [5, 5], ["leave_one_out"])


def test_a_next_token_outside_the_vocabulary_is_told(model):
    with pytest.raises(ValueError, match=f"target {model.outputs} is no output"):
        attribute(model, model.encode(["the plot"]), [model.outputs], ["input_x_gradient"])


def test_a_prompt_that_begins_as_the_tokenizer_does_has_one_beginning():
    model = tiny.causal()
    (plain,) = model.encode(["the plot was"])
    (written,) = model.encode([f"{model.tokenizer.bos_token} the plot was"])
    assert written.ids.tolist() == plain.ids.tolist() and written.maskable.tolist() == plain.maskable.tolist()


def test_longrope_depends_on_no_other_prompt():
    """The longest prompt of a batch picks the factors: either side of the limit is a batch of its own."""
    tokenizer = tiny.causal().tokenizer
    rope = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 4, "long_factor": [8.0] * 4}
    config = Phi3Config(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=64, original_max_position_embeddings=8, pad_token_id=0,
        initializer_range=0.5, rope_parameters=rope | {"original_max_position_embeddings": 8},
    )  # fmt: skip
    model = models.CausalLM(Phi3ForCausalLM(config), tokenizer, "long")
    encodings = model.encode(["the plot was", "the plot was great and the film was not boring at all"])
    variants = [forward.unchanged(e) for e in encodings]
    target = forward.probabilities(model, variants).argmax(1)
    scores = attribute(model, encodings, target, ["gradient_l2", "leave_one_out"])
    for i, encoding in enumerate(encodings):
        with torch.no_grad():
            direct = model.model(input_ids=torch.tensor(encoding.ids)[None]).logits[0, -1].softmax(-1)
        assert forward.probabilities(model, variants)[i] == pytest.approx(direct.numpy(), abs=1e-6)
        alone = attribute(model, [encoding], target[[i]], ["gradient_l2", "leave_one_out"])
        for name, of_texts in scores.items():
            assert of_texts[i] == pytest.approx(alone[name][0], abs=1e-6)
    nine = encodings[1].at(slice(9))  # without one token it is on the other side
    shorter = forward.erased(model, nine, np.arange(9) == 6, "delete")
    values = forward.probabilities(
        model,
        [forward.unchanged(nine), shorter, *[forward.replaced(nine, np.arange(9) == k, 5) for k in (6, 7)]],
    )
    with torch.no_grad():
        direct = model.model(input_ids=torch.tensor(shorter.encoding.ids)[None]).logits[0, -1].softmax(-1)
    assert values[1] == pytest.approx(direct.numpy(), abs=1e-6)


def test_a_prefix_that_cannot_be_reused_is_computed_anew(monkeypatch, capsys):
    """A hybrid keeps other states than keys and values: slower, with the same scores."""
    model = tiny.causal()
    encodings = model.encode(tiny.PROMPTS[:2])
    names = ["leave_one_out", "sequential_integrated_gradients", "noiser"]
    before = attribute(model, encodings, [5, 6], names, steps=2)

    def broken(batch):
        raise IndexError("no such layer")

    monkeypatch.setattr(model, "prefix", broken)
    models.fit.check_runs(model)
    assert "prefix cannot be reused: slower, with the same values" in capsys.readouterr().out
    for name, of_texts in attribute(model, encodings, [5, 6], names, steps=2).items():
        for one, other in zip(of_texts, before[name], strict=True):
            assert one == pytest.approx(other, abs=1e-5)
