"""LIME: against captum on the same samples, on linear models, and what it must keep."""

import captum.attr
import numpy as np
import pytest
import tiny
import torch
from captum._utils.models.linear_model import SkLearnLinearModel
from captum.testing.helpers.classification_models import SoftmaxModel
from sample import lookup
from sklearn.linear_model import Ridge
from sklearn.metrics import pairwise_distances
from wrong import refused

from faithlib.attributions import attribute, releases_inseq, surrogates
from faithlib.engine import batching, forward


@pytest.fixture
def seen(monkeypatch):
    """The variants that LIME evaluates."""
    variants, evaluate = [], forward.target_values

    def recorded(model, inputs, *args, **settings):
        variants.extend(inputs)
        return evaluate(model, inputs, *args, **settings)

    monkeypatch.setattr(forward, "target_values", recorded)
    return variants


def ribeiros_weight(original, perturbed, there, **settings):
    """The text explainer's: the square root of exp(−d²/25²), d 100 times the cosine distance to all ones."""
    distance = 100 * pairwise_distances(there.numpy(), np.ones((1, there.shape[1])), metric="cosine")[0, 0]
    return np.sqrt(np.exp(-(distance**2) / 25**2))


def captums(probability, ids, there, erased_id, target):
    """captum's LIME with given samples `there` (samples, tokens) of the tokens in `ids`."""

    def samples(original, **settings):
        for row in there:
            yield torch.tensor(row[None], dtype=torch.long)

    def erased(row, original, **settings):
        return torch.where(row.bool(), original, erased_id)

    ridge = SkLearnLinearModel("linear_model.Ridge", alpha=1)
    explainer = captum.attr.LimeBase(probability, ridge, ribeiros_weight, samples, True, erased, None)
    scores = explainer.attribute(ids, target=target, n_samples=len(there), perturbations_per_eval=8)
    return scores.numpy()[0]


# captum -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_lime_is_captums_on_the_same_samples(kind, seen):
    model = tiny.classifier(kind)
    for text, text_b, target in zip(tiny.TEXTS[3:], tiny.TEXTS_B[3:], (0, 2), strict=True):
        (e,) = model.encode([text], [text_b])
        seen.clear()
        (ours,) = attribute(model, [e], [target], ["lime"], samples=60)["lime"]
        there = np.array([v.encoding.ids == e.ids for v in seen])[:, e.maskable]

        def probability(tokens, e=e):
            batch = model.collate([e] * len(tokens))
            batch.ids[:, e.maskable] = tokens
            return model.logits(batch).softmax(-1)

        with torch.no_grad():
            theirs = captums(probability, torch.tensor(e.ids[e.maskable])[None], there, model.mask_id, target)
        assert len(there) == 60 and np.abs(ours[e.maskable] - theirs).max() < 1e-5
        assert np.abs(theirs).max() > 0.01 and (ours[~e.maskable] == 0).all()


@pytest.mark.parametrize("kind", tiny.CAUSAL_KINDS)
def test_lime_of_a_next_token_is_captums(kind, seen):
    model, target = tiny.causal(kind), 9
    (e,) = model.encode([tiny.TEXTS[1]])
    (ours,) = attribute(model, [e], [target], ["lime"], samples=60)["lime"]
    there = np.array([v.encoding.ids == e.ids for v in seen])[:, e.maskable]
    start = torch.tensor(e.ids[:1])

    def probability(tokens):
        prompts = torch.cat([start.expand(len(tokens), 1), tokens], 1)
        with torch.no_grad():
            return model.model(input_ids=prompts).logits[:, -1].softmax(-1)

    theirs = captums(probability, torch.tensor(e.ids[e.maskable])[None], there, model.mask_id, target)
    assert np.abs(ours[e.maskable] - theirs).max() < 1e-5 and np.abs(theirs).max() > 1e-3


def test_captums_toy_network_gives_what_captum_finds(seen):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        toy = SoftmaxModel(3, 8, 2)
    model = lookup.classifier(lambda values, present: toy(values).log(), [0, 2, -3, 4], mask=0)
    e = tiny.encoding(3, (0, 1, 2))
    (ours,) = attribute(model, [e], [0], ["lime"], samples=40)["lime"]
    there = np.array([v.encoding.ids == e.ids for v in seen])
    theirs = captums(lambda x: toy(x).detach(), torch.tensor([[2.0, -3.0, 4.0]]), there, 0.0, 0)
    assert np.abs(ours - theirs).max() < 1e-5 and np.abs(theirs).max() > 0.02


# What is drawn ------------------------------------------------------------------------------------


def test_the_first_neighbour_is_the_text_and_the_others_lose_every_number_equally_often(seen):
    model = tiny.classifier()
    (e,) = model.encode(["she liked the ending"])
    attribute(model, [e], [0], ["lime"], samples=4001)
    lost = np.array([v.encoding.ids == model.mask_id for v in seen])
    assert not lost[0].any() and not lost[:, ~e.maskable].any()
    lost = lost[1:, e.maskable]
    for n in range(1, 5):
        of_size = lost[lost.sum(1) == n]
        assert 890 < len(of_size) < 1110  # 1000 ± 4 standard deviations
        assert np.abs(of_size.mean(0) - n / 4).max() < 0.07


@pytest.mark.parametrize("removal", ["mask", "pad", "delete"])
def test_what_is_not_there_was_removed_as_told(removal, seen):
    model = tiny.classifier()
    (e,) = model.encode([tiny.TEXTS[3]], ["is it long ?"])
    attribute(model, [e], [1], ["lime"], samples=30, removal=removal)
    for variant in seen:
        ids = variant.encoding.ids
        if removal == "delete":
            assert set(e.ids[~e.maskable]) <= set(ids) <= set(e.ids)
        else:
            token = {"mask": model.mask_id, "pad": model.pad_id}[removal]
            assert set(ids[ids != e.ids]) <= {token} and (ids == e.ids)[~e.maskable].all()
    assert min(len(v.encoding.ids) for v in seen) == (
        len(e.ids) - e.maskable.sum() if removal == "delete" else len(e.ids)
    )


def test_draws_depend_on_the_seed_and_the_example_alone(seen):
    model = tiny.classifier()
    encodings = model.encode(tiny.TEXTS)
    first, again, other = (
        attribute(model, encodings, [0] * 5, ["lime"], samples=20, seed=s)["lime"] for s in (1, 1, 2)
    )
    for a, b, c in zip(first, again, other, strict=True):
        assert (a == b).all() and (len(a) == 3 or (a != c).any())
    seen.clear()
    attribute(model, model.encode(["the plot was great", "she liked the film"]), [0, 0], ["lime"], samples=20)
    lost = np.array([v.encoding.ids == model.mask_id for v in seen])
    assert (lost[:20] != lost[20:]).any()  # of the same length, but with neighbours of their own


# What is found ------------------------------------------------------------------------------------


def test_a_linear_probability_is_recovered():
    """p = 0.2 + 0.1 a + 0.3 b − 0.15 d, each letter 1 where it is there, 0 where it is masked."""

    def logits(values, present):
        p = 0.2 + values @ torch.tensor([0.1, 0.3, 0.0, -0.15])
        return torch.stack([1 - p, p], 1).log()

    model = lookup.classifier(logits, [0, 1, 1, 1, 1], mask=0)
    (scores,) = attribute(model, [tiny.encoding(4, range(4))], [1], ["lime"], samples=4000)["lime"]
    assert scores == pytest.approx([0.1, 0.3, 0, -0.15], abs=2e-3)  # the ridge takes a little
    (few,) = attribute(model, [tiny.encoding(4, range(4))], [1], ["lime"], samples=20)["lime"]
    assert 0.1 < few[1] < 0.295  # and more of few samples


def test_lime_finds_the_token_that_is_copied():
    model = tiny.copying_lm(back=3)
    encodings = model.encode([tiny.TEXTS[1], tiny.TEXTS[4], tiny.TEXTS[3]])
    targets = [e.ids[-4] for e in encodings]
    for definition in ({}, {"definition": "released", "paper": "noiser"}):
        for row in attribute(model, encodings, targets, ["lime"], **definition)["lime"]:
            assert row.argmax() == len(row) - 4 and row[-4] > 5 * np.abs(np.delete(row, -4)).max()


@pytest.mark.parametrize("make", [tiny.classifier, tiny.causal])
@pytest.mark.parametrize("definition", [{}, {"definition": "released", "paper": "noiser"}])
def test_batch_order_and_budget_do_not_change_scores(make, definition, monkeypatch):
    model = make()
    encodings, targets = model.encode(tiny.TEXTS), np.array([0, 1, 2, 1, 0])
    settings = {"samples": 25, **definition}
    together = attribute(model, encodings, targets, ["lime"], **settings)["lime"]
    order = [3, 0, 4, 1, 2]
    shuffled = attribute(model, [encodings[i] for i in order], targets[order], ["lime"], **settings)["lime"]
    monkeypatch.setattr(surrogates, "VARIANTS", 50)  # two examples in one call of the engine
    parts = attribute(model, encodings, targets, ["lime"], **settings)["lime"]
    monkeypatch.setitem(batching.TOKEN_BUDGET, "cpu", 1)
    alone = attribute(model, encodings, targets, ["lime"], **settings)["lime"]
    for i in range(5):
        assert np.abs(together[i]).max() > 1e-5
        assert np.abs(together[i] - alone[i]).max() < 1e-5
        assert np.abs(together[i] - parts[i]).max() < 1e-5
        assert np.abs(together[order[i]] - shuffled[i]).max() < 1e-5


@pytest.mark.parametrize("function", [surrogates.lime, releases_inseq.lime_of_inseq])
def test_progress_adds_up_to_one(function, monkeypatch):
    monkeypatch.setattr(surrogates, "VARIANTS", 60)
    model, shares = tiny.causal(), []
    batch = model.collate(model.encode(tiny.PROMPTS))
    function(model, batch, torch.arange(len(tiny.PROMPTS)), samples=20, progress=shares.append)
    assert sum(shares) == pytest.approx(1) and min(shares) > 0


# The Noiser release -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_the_noiser_release_fits_the_embedding_entries(kind, monkeypatch):
    """The inputs of ours, and then all of inseq's method spelled out: a coefficient of every entry."""
    model, target = tiny.causal(kind), 9
    (e,) = model.encode([tiny.TEXTS[1]])
    inputs, logits = [], model.logits

    def recorded(batch, embeddings):
        inputs.extend(embeddings)
        return logits(batch, embeddings=embeddings)

    monkeypatch.setattr(model, "logits", recorded)
    ours = releases_inseq.lime_of_inseq(model, model.collate([e]), torch.tensor([target]))["lime"][0].numpy()
    original = model.embed(torch.tensor(e.ids))[None].detach()
    assert len(inputs) == 50 and all(
        ((x == original[0]).all(1) | (x == model.tokenizer.unk_token_id).all(1)).all() for x in inputs
    )
    masked = np.mean([(x != original[0]).all(1).numpy() for x in inputs])
    assert masked == pytest.approx(0.3, abs=4 * (0.21 / 50 / len(e.ids)) ** 0.5)

    with torch.no_grad():
        p = [model.model(inputs_embeds=x[None]).logits[0, -1].softmax(-1)[target].item() for x in inputs]
    entries = torch.stack(inputs).flatten(1).double()  # (samples, tokens · width)
    unchanged = [(x == original[0]).sum().item() for x in inputs]
    fitted = Ridge(alpha=1).fit(entries.numpy(), p, sample_weight=unchanged).coef_.reshape(original[0].shape)
    theirs = np.linalg.norm(fitted, axis=1)
    assert ours.sum() == pytest.approx(1) and ours.min() >= 0 and ours[0] > 0
    assert np.abs(ours - theirs / theirs.sum()).max() < 1e-5


# Bad input ----------------------------------------------------------------------------------------


def test_a_text_that_would_be_empty_is_told():
    model = tiny.causal()
    bare = [model.encode(["a long plot"])[0].at(slice(1, None))]
    message = "removal='delete' would leave an empty input .all 3 tok"
    refused(message, attribute, model, bare, [3], ["lime"], removal="delete")
