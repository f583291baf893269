"""Leave-one-out and beam search: look-up tables worked out by hand, captum, golden values, invariants."""

import json
from pathlib import Path

import captum.attr
import numpy as np
import pytest
import tiny
import torch
from captum.testing.helpers.basic_models import BasicModel_MultiLayer
from sample.lookup import BOS, EOS, MASK, A, classifier, look_up, losing, next_token, text
from wrong import refused

from faithlib.attributions import attribute, beam, occlusion, releases_inseq
from faithlib.engine import batching, forward

GOLDEN = Path(__file__).parents[1] / "golden" / "loo_beam.json"


BOTH = ["leave_one_out", "leave_one_out_abs"]


def test_leave_one_out_is_what_each_token_takes_from_the_logit(four):
    model, encodings = four
    scores = attribute(model, encodings, [0], BOTH)
    assert scores["leave_one_out"][0].tolist() == [0, 4, 3, 2, -1, 0]
    assert scores["leave_one_out_abs"][0].tolist() == [0, 4, 3, 2, 1, 0]
    assert attribute(model, encodings, [1], BOTH)["leave_one_out"][0].tolist() == [0] * 6  # a constant logit


def test_tokens_that_are_masked_already_have_no_score():
    masked = {(A, MASK, A + 1): 3, (MASK, MASK, A + 1): 1, (A, MASK, MASK): 4, (MASK, MASK, MASK): 0}
    outputs = {(BOS, *tokens, EOS): (logit, 0) for tokens, logit in masked.items()}
    model = look_up(losing("ab", 3, {"a": 1, "b": 2}) | outputs)
    encodings = [text(A, MASK, A + 1), text(MASK, MASK, MASK)]
    scores = attribute(model, encodings, [0, 0], ["leave_one_out", "beam"])
    assert [row.tolist() for row in scores["leave_one_out"]] == [[0, 2, 0, -1, 0], [0] * 5]
    assert [row.tolist() for row in scores["beam"]] == [[0, 2, 0, 1, 0], [0] * 5]


def test_no_input_is_evaluated_twice(four):
    model, encodings = four
    attribute(model, encodings, [0], BOTH)
    assert model.model.seen == 5
    attribute(model, encodings, [0], [*BOTH, "beam"], beam=6)
    assert model.model.seen == 5 + 16  # every set of four tokens once, the first five for both methods
    cache = forward.Cache()
    attribute(model, encodings, [1], BOTH, cache=cache)
    assert cache.hits == 0
    attribute(model, encodings, [0], ["beam"], cache=cache)
    assert cache.hits == 5  # another target of the same inputs


# The original authors' code -----------------------------------------------------------------------


@pytest.mark.parametrize("case", json.loads(GOLDEN.read_text())["cases"])
def test_leave_one_out_and_beam_are_the_released_ones(case):
    case = json.loads(GOLDEN.read_text())["cases"][case]
    inputs, expected = case["inputs"], case["expected"]
    ids = {"[BOS]": BOS, "[EOS]": EOS, "[MASK]": MASK, "token": A}
    coded = lambda line: [ids[token] for token in line.split() if token != "[PAD]"]  # noqa: E731
    model = look_up({tuple(coded(line)): logits for line, logits in inputs["table"].items()})
    encodings = [text(*coded(line)[1:-1]) for line in inputs["texts"]]
    for definition in ({}, {"definition": "released", "paper": "fmm"}):
        scores = attribute(model, encodings, inputs["labels"], BOTH, **definition)
        for name, golden in zip(BOTH, (expected["loo_sign"], expected["loo_abs"]), strict=True):
            for ours, theirs in zip(scores[name], golden, strict=True):
                assert ours == pytest.approx(np.array(theirs), abs=1e-6)
        for size in inputs["beam_sizes"]:
            scores = attribute(model, encodings, inputs["labels"], ["beam"], beam=size, **definition)
            assert [row.tolist() for row in scores["beam"]] == expected["beam"][str(size)]


# captum -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", tiny.KINDS)
@pytest.mark.parametrize("removal", ["mask", "pad"])
def test_leave_one_out_is_captums_feature_ablation(kind, removal):
    model = tiny.classifier(kind)
    encodings, targets = model.encode(tiny.TEXTS, tiny.TEXTS_B), [0, 1, 2, 1, 0]
    batch = model.collate(encodings)

    def logits(ids):  # one batch of all examples, so its padding too is captum's
        typed = {"token_type_ids": batch.types} if kind == "bert" else {}
        with torch.no_grad():
            return model.model(
                inputs_embeds=model.embed(ids), attention_mask=batch.present.long(), **typed
            ).logits

    token = {"mask": model.mask_id, "pad": model.pad_id}[removal]
    theirs = captum.attr.FeatureAblation(logits).attribute(batch.ids, token, torch.tensor(targets)).numpy()
    ours = attribute(model, encodings, targets, BOTH, removal=removal)
    for i, e in enumerate(encodings):
        expected = theirs[i, : len(e.ids)] * e.maskable
        assert np.abs(ours["leave_one_out"][i] - expected).max() < 1e-5
        assert np.abs(ours["leave_one_out_abs"][i] - np.abs(expected)).max() < 1e-5
        assert np.abs(expected).max() > 0.05


def test_captums_toy_model_gives_what_captums_own_test_expects():
    toy = BasicModel_MultiLayer()
    model = classifier(lambda values, present: toy(values[:, 1:-1]), value=[0, 7, 7, 0, 20, 50, 30])
    (scores,) = attribute(model, [text(A, A + 1, A + 2)], [0], ["leave_one_out"])["leave_one_out"]
    assert scores.tolist() == [0, 80, 200, 120, 0]
    theirs = captum.attr.FeatureAblation(toy).attribute(torch.tensor([[20.0, 50, 30]]), target=0)
    assert theirs[0].tolist() == [80, 200, 120]


@pytest.mark.parametrize("kind", tiny.CAUSAL_KINDS)
@pytest.mark.parametrize("removal", ["mask", "delete", "pad"])
def test_batched_is_one_by_one_is_with_prefixes(kind, removal, monkeypatch):
    model = tiny.causal(kind)
    encodings, targets = model.encode(tiny.PROMPTS), np.arange(len(tiny.PROMPTS)) + 5
    prefixes, make = [], model.prefix
    monkeypatch.setattr(model, "prefix", lambda batch: prefixes.append(len(batch.ids)) or make(batch))
    shared = attribute(model, encodings, targets, BOTH, removal=removal)
    assert prefixes
    monkeypatch.setattr(forward, "_families", lambda variants, rows: [])
    plain = attribute(model, encodings, targets, BOTH, removal=removal)
    token = {"mask": model.mask_id, "pad": model.pad_id, "delete": None}[removal]
    for i, e in enumerate(encodings):
        expected = np.zeros(len(e.ids))
        for at in np.flatnonzero(e.maskable):
            without = np.delete(e.ids, at)
            if token is not None:
                without = np.insert(without, at, token)
            expected[at] = next_token(model, e.ids, targets[i]) - next_token(model, without, targets[i])
        assert np.abs(shared["leave_one_out"][i] - expected).max() < 1e-5
        assert np.abs(plain["leave_one_out"][i] - expected).max() < 1e-5
        assert np.abs(shared["leave_one_out_abs"][i] - np.abs(expected)).max() < 1e-5
        assert len(e.ids) < 4 or np.abs(expected).max() > 1e-3


def test_perturbing_finds_the_token_that_is_copied():
    model = tiny.copying_lm(back=3)
    encodings = model.encode([tiny.TEXTS[1], tiny.TEXTS[4], tiny.TEXTS[3]])
    targets = [e.ids[-4] for e in encodings]
    for definition in ({}, {"definition": "released", "paper": "noiser"}):
        for name, rows in attribute(model, encodings, targets, [*BOTH, "beam"], **definition).items():
            for row in rows:
                assert row.argmax() == len(row) - 4, name
                assert name == "beam" or row[-4] > 10 * np.abs(np.delete(row, -4)).max()


# What both keep -----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [tiny.classifier, tiny.causal])
def test_batch_order_and_budget_do_not_change_scores(make, monkeypatch):
    model = make()
    encodings, targets = model.encode(tiny.TEXTS), np.array([0, 1, 2, 1, 0])
    wanted = [*BOTH, "beam"]
    together = attribute(model, encodings, targets, wanted, beam=3)
    order = [3, 0, 4, 1, 2]
    shuffled = attribute(model, [encodings[i] for i in order], targets[order], wanted, beam=3)
    monkeypatch.setitem(batching.TOKEN_BUDGET, "cpu", 1)
    alone = attribute(model, encodings, targets, wanted, beam=3)
    for name in wanted:
        for i in range(5):
            assert np.abs(together[name][i] - alone[name][i]).max() < 1e-5
            assert np.abs(together[name][order[i]] - shuffled[name][i]).max() < 1e-5
            assert (together[name][i][~encodings[i].maskable] == 0).all()


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_a_deleted_token_is_not_there(kind):
    model = tiny.classifier(kind)
    encodings, targets = model.encode(tiny.TEXTS, tiny.TEXTS_B), [0, 1, 2, 1, 0]
    ours = attribute(model, encodings, targets, ["leave_one_out"], removal="delete")["leave_one_out"]
    for e, target, row in zip(encodings, targets, ours, strict=True):
        kept = [e] + [e.at(np.arange(len(e.ids)) != at) for at in np.flatnonzero(e.maskable)]
        with torch.no_grad():
            y = [model.logits(model.collate([k]))[0, target].item() for k in kept]
        assert np.abs(row[e.maskable] - (y[0] - np.array(y[1:]))).max() < 1e-5


def test_the_noiser_release_takes_shares_of_absolute_losses():
    """As captum's occlusion of the word embeddings, which inseq calls, then absolute values and shares."""
    model = tiny.causal("gpt2")
    encodings, targets = model.encode(tiny.PROMPTS), np.arange(len(tiny.PROMPTS)) + 5
    batch, target = model.collate(encodings), torch.tensor(targets)
    ours = releases_inseq.occlusion_of_inseq(model, batch, target)
    for i, e in enumerate(encodings):
        embeddings = model.embed(torch.tensor(e.ids))[None].detach()
        unknown = model.embed(torch.full((1, len(e.ids)), model.tokenizer.unk_token_id)).detach()
        occlude = captum.attr.Occlusion(lambda x: model.model(inputs_embeds=x).logits[:, -1].softmax(-1))
        theirs = occlude.attribute(
            embeddings, (1, embeddings.shape[2]), target=int(targets[i]), baselines=unknown
        )[0, :, 0].abs()
        for name in BOTH:
            row = ours[name][i, : len(e.ids)]
            assert (row - theirs / theirs.sum()).abs().max() < 1e-5 and row.sum().item() == pytest.approx(1)
        assert row[0] > 1e-3  # the special token takes its share
    scores = attribute(model, encodings, targets, BOTH, definition="released", paper="noiser")
    assert 0 < scores["leave_one_out"][0].sum() < 1 and scores["leave_one_out"][0][0] == 0


def test_no_change_at_all_is_no_share_at_all():
    model = tiny.causal()
    with torch.no_grad():
        model.model.get_output_embeddings().weight.zero_()
    scores = attribute(model, model.encode(["a long plot"]), [3], BOTH, definition="released", paper="noiser")
    assert (scores["leave_one_out"][0] == 0).all()


@pytest.mark.parametrize("function", [occlusion.leave_one_out, beam.beam_search])
def test_progress_adds_up_to_one(function, four):
    model, encodings = four
    shares = []
    function(model, model.collate(encodings), torch.tensor([0]), progress=shares.append)
    assert sum(shares) == pytest.approx(1) and min(shares) > 0


# Bad input ----------------------------------------------------------------------------------------


def test_a_token_that_the_tokenizer_lacks_is_told(four):
    _, encodings = four
    unmasked, unpadded = classifier(None, mask=None), tiny.classifier()
    refused("numbers has no mask token: give its tokenizer one", attribute, unmasked, encodings, [0], BOTH)
    unpadded.tokenizer.pad_token = None  # as GPT-2's, whose token 0 is "!"
    plot = unpadded.encode(["plot"])
    refused("has no pad token: give its tokenizer one", attribute, unpadded, plot, [0], BOTH, removal="pad")


def test_deleting_all_of_a_prompt_is_told():
    model = tiny.causal()
    bare = [model.encode(["plot"])[0].at(slice(1, None))]  # without [CLS]
    message = "removal='delete' would leave an empty input .all 1 tokens"
    refused(message, attribute, model, bare, [3], BOTH, removal="delete")
    assert attribute(model, bare, [3], BOTH)["leave_one_out"][0][0] != 0
