"""The perturbation engine: what is evaluated, how often, and that batching changes nothing."""

import numpy as np
import pytest
import tiny
import torch

from faithlib.engine import batching, forward


@pytest.fixture
def classifier():
    return tiny.classifier()


@pytest.fixture
def encodings(classifier):
    return classifier.encode(tiny.TEXTS, tiny.TEXTS_B)


def spy(classifier, monkeypatch, limit=None):
    """The sizes (rows, tokens) of the batches evaluated; one of more than `limit` rows does not fit."""
    sizes, logits = [], classifier.logits

    def spied(batch, **changes):
        if limit and len(batch.ids) > limit:
            raise torch.OutOfMemoryError("CUDA out of memory")
        sizes.append(tuple(batch.ids.shape))
        return logits(batch, **changes)

    monkeypatch.setattr(classifier, "logits", spied)
    return sizes


def many(encodings):
    """Variants of every sort, of several lengths."""
    generator, variants = np.random.default_rng(0), []
    for e in encodings:
        n = len(e.ids)
        u, weight = generator.random((n, 16), np.float32), generator.random(n)
        variants += [
            forward.unchanged(e), forward.zeroed(e, e.maskable), forward.replaced(e, e.maskable, 4),
            forward.Variant(e, factor=lambda u=u: u, key=None), forward.Variant(e, weight=weight, key=b"w"),
        ]  # fmt: skip
    return variants


def test_probabilities_are_the_softmax_of_the_logits(classifier, encodings):
    p = forward.probabilities(classifier, [forward.unchanged(e) for e in encodings])
    with torch.no_grad():
        expected = torch.cat([classifier.logits(classifier.collate([e])) for e in encodings]).softmax(-1)
    assert p.dtype == np.float32 and p.shape == (5, 3)
    assert np.abs(p - expected.numpy()).max() < 1e-5
    assert np.allclose(p.sum(1), 1)


def test_equal_variants_are_evaluated_once(classifier, encodings, monkeypatch):
    sizes, (a, b) = spy(classifier, monkeypatch), encodings[:2]
    some, other, nothing = (np.isin(np.arange(len(a.ids)), at) for at in ([1, 2], [3], []))
    blank = forward.replaced(a, some, 0)
    variants = [
        forward.unchanged(a), forward.zeroed(a, some), forward.unchanged(b), forward.zeroed(a, some.copy()),
        forward.zeroed(a, nothing), forward.unchanged(a), forward.replaced(a, nothing, 0), blank,
        forward.zeroed(blank.encoding, other),
    ]  # fmt: skip
    p = forward.probabilities(classifier, variants)
    assert sum(rows for rows, _ in sizes) == 5  # a; a zeroed; b; a replaced; a replaced and zeroed
    for same in ((0, 4, 5, 6), (1, 3)):
        assert (p[list(same)] == p[same[0]]).all()
    assert len(set(p[[0, 1, 2, 7, 8], 0].tolist())) == 5


def test_equal_ids_of_other_types_are_not_the_same_input(classifier, monkeypatch):
    sizes = spy(classifier, monkeypatch)
    (pair,) = classifier.encode(["plot"], ["good"])
    single = forward.Encoding(pair.ids, 0 * pair.types, pair.maskable, pair.auxiliary, pair.words)
    p = forward.probabilities(classifier, [forward.unchanged(pair), forward.unchanged(single)])
    assert sum(rows for rows, _ in sizes) == 2 and abs(p[0] - p[1]).max() > 1e-4


def test_variants_without_a_key_are_never_shared(classifier, encodings, monkeypatch):
    sizes, e = spy(classifier, monkeypatch), encodings[0]
    halves = [np.full(len(e.ids), x, np.float32) for x in (0.5, 0.25)]
    p = forward.probabilities(
        classifier, [forward.Variant(e, factor=lambda h=h: h, key=None) for h in (*halves, halves[0])]
    )
    assert sum(rows for rows, _ in sizes) == 3
    assert np.allclose(p[0], p[2]) and abs(p[0] - p[1]).max() > 1e-5


def test_results_do_not_depend_on_budget_or_order(classifier, encodings, monkeypatch):
    variants = many(encodings)
    with batching.limited(classifier, 10**6):
        expected = forward.probabilities(classifier, variants)
    for budget in (1, 40, 100):
        with monkeypatch.context() as patch, batching.limited(classifier, budget):
            sizes = spy(classifier, patch)
            p = forward.probabilities(classifier, variants)
        assert all(rows == 1 or rows * tokens <= budget for rows, tokens in sizes)
        assert np.abs(p - expected).max() < 1e-5
    order = np.random.default_rng(1).permutation(len(variants))
    with batching.limited(classifier, 100):
        shuffled = forward.probabilities(classifier, [variants[i] for i in order])
    assert np.abs(shuffled - expected[order]).max() < 1e-5
    assert expected.std(0).min() > 0.05  # and the variants do differ


def test_batches_are_sorted_by_length_and_hold_every_row_once():
    lengths = [3, 9, 4, 9, 1, 30, 2]
    batches = batching.batches_by_length(lengths, budget=18)
    assert [b.tolist() for b in batches] == [[5], [1, 3], [2, 0, 6, 4]]


def test_a_batch_that_does_not_fit_is_halved(classifier, encodings, monkeypatch):
    variants = many(encodings)
    expected = forward.probabilities(classifier, variants)
    sizes = spy(classifier, monkeypatch, limit=3)
    with batching.limited(classifier, 10**6):
        p = forward.probabilities(classifier, variants)
    assert np.abs(p - expected).max() < 1e-5
    assert sum(rows for rows, _ in sizes) == len(variants) and max(rows for rows, _ in sizes) == 3


def test_one_input_that_does_not_fit_and_other_errors_are_told(classifier, encodings, monkeypatch):
    def full(*args, **changes):
        raise torch.OutOfMemoryError("full")

    monkeypatch.setattr(classifier, "logits", full)
    with pytest.raises(torch.OutOfMemoryError, match="full"):
        forward.probabilities(classifier, [forward.unchanged(e) for e in encodings])
    calls = []

    def broken(*args, **changes):
        calls.append(1)
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(classifier, "logits", broken)
    with pytest.raises(RuntimeError, match="shapes"):
        forward.probabilities(classifier, [forward.unchanged(e) for e in encodings])
    assert len(calls) == 1  # not tried again with half of it


def test_broken_weights_are_told(classifier, encodings):
    with torch.no_grad():
        classifier.model.classifier.weight[0, 0] = float("nan")
    with pytest.raises(FloatingPointError, match="its weights are broken"):
        forward.probabilities(classifier, [forward.unchanged(encodings[0])])


def test_zeroed_sets_the_embedding_output_to_zero(classifier, encodings):
    e = encodings[1]
    erased = np.isin(np.arange(len(e.ids)), [2, 5])
    batch, states = classifier.collate([e]), []
    encoder = classifier.model.bert.encoder
    hook = encoder.register_forward_pre_hook(lambda module, args: states.append(args[0]))
    p = forward.probabilities(classifier, [forward.zeroed(e, erased)])[0]
    hook.remove()
    with torch.no_grad():
        plain = classifier.model.bert.embeddings(batch.ids, batch.types)[0]
    assert (states[-1][0, [2, 5]] == 0).all()  # those before tried the model
    assert torch.allclose(states[-1][0, ~erased], plain[~erased], atol=1e-6)
    assert abs(p - forward.probabilities(classifier, [forward.unchanged(e)])[0]).max() > 1e-3


def test_replaced_changes_ids_there_and_nothing_else(encodings):
    e = encodings[0]
    erased = np.isin(np.arange(len(e.ids)), [1, 3])
    variant = forward.replaced(e, erased, 4)
    assert variant.encoding.ids[[1, 3]].tolist() == [4, 4]
    assert (variant.encoding.ids[~erased] == e.ids[~erased]).all() and (e.ids[[1, 3]] != 4).all()
    for field in ("types", "maskable", "auxiliary", "words"):
        assert (getattr(variant.encoding, field) == getattr(e, field)).all()
    assert variant.factor is None and variant.weight is None


def test_replaced_by_the_padding_id_keeps_the_positions_of_the_others():
    classifier = tiny.classifier("roberta")  # which counts positions by looking for padding ids
    (e,) = classifier.encode(["the plot was not great"])
    erased = np.isin(np.arange(len(e.ids)), [1, 2])
    p = forward.probabilities(classifier, [forward.replaced(e, erased, classifier.tokenizer.pad_token_id)])
    ids = torch.tensor(np.where(erased, 1, e.ids))[None]
    inputs = dict(input_ids=ids, attention_mask=torch.ones_like(ids))
    positions = torch.arange(2, 2 + ids.shape[1])[None]
    with torch.no_grad():
        expected = classifier.model(**inputs, position_ids=positions).logits.softmax(-1).numpy()
        shifted = classifier.model(**inputs).logits.softmax(-1).numpy()
    assert np.abs(p - expected).max() < 1e-6 and np.abs(p - shifted).max() > 1e-3


def test_rows_of_different_kinds_share_a_batch(classifier, encodings):
    """A factor of width 1, one of full width, a weight and nothing, in one batch of several lengths."""
    variants = many(encodings)
    alone = np.concatenate([forward.probabilities(classifier, [v]) for v in variants])
    with batching.limited(classifier, 10**6):
        assert np.abs(forward.probabilities(classifier, variants) - alone).max() < 1e-5


def test_progress_is_told_in_shares_of_the_call(classifier, encodings):
    shares, cache = [], forward.Cache()
    twice = [forward.unchanged(e) for e in [*encodings, *encodings]]
    with batching.limited(classifier, 20):
        forward.probabilities(classifier, twice, cache, shares.append)
    assert sum(shares) == pytest.approx(1) and len(shares) > 2
    shares.clear()
    forward.probabilities(classifier, twice, cache, shares.append)  # nothing is left to do
    assert sum(shares) == 1


def test_evaluation_leaves_the_model_as_it_was(classifier, encodings):
    classifier.model.train()
    before = {k: v.clone() for k, v in classifier.model.state_dict().items()}
    one, two = (forward.probabilities(classifier, many(encodings)) for _ in range(2))
    assert (one == two).all()  # dropout is off
    assert not classifier.model.base_model.embeddings._forward_hooks
    assert all(torch.equal(v, before[k]) for k, v in classifier.model.state_dict().items())


# Sharing ------------------------------------------------------------------------------------------


def test_calls_that_share_a_cache_compute_what_they_share_once(classifier, encodings, monkeypatch):
    cache, sizes = forward.Cache(), spy(classifier, monkeypatch)
    variants = many(encodings)
    first = forward.probabilities(classifier, variants, cache)
    computed = sum(rows for rows, _ in sizes)
    sizes.clear()
    again = forward.probabilities(classifier, variants[::-1], cache)
    shared = np.array([v.key is not None for v in variants])
    assert (again[::-1] == first)[shared].all()
    assert np.abs(again[::-1] - first).max() < 1e-6
    unshared = (~shared).sum()  # random ones are never shared, and meet in other batches now
    assert sum(rows for rows, _ in sizes) == unshared < computed
    assert cache.hits == 2 * len(variants) - computed - unshared


def test_every_target_and_quantity_comes_from_the_same_pass(classifier, encodings, monkeypatch):
    with torch.no_grad():
        expected = classifier.logits(classifier.collate(encodings))  # (examples, classes)
    cache, sizes = forward.Cache(), spy(classifier, monkeypatch)
    variants = [forward.unchanged(e) for e in encodings]
    for target in range(3):
        for of, outputs in (("logit", expected), ("probability", expected.softmax(-1))):
            values = forward.target_values(classifier, variants, [target] * len(variants), of, cache)
            assert np.abs(values - outputs[:, target].numpy()).max() < 1e-5
    assert sum(rows for rows, _ in sizes) == len(variants)


def test_a_cache_belongs_to_one_model(classifier, encodings):
    cache = forward.Cache()
    forward.probabilities(classifier, [forward.unchanged(encodings[0])], cache)
    with pytest.raises(ValueError, match="the cache is of tiny-bert, not tiny-bert: make a new Cache"):
        forward.probabilities(tiny.classifier(seed=1), [forward.unchanged(encodings[0])], cache)


def test_deleted_tokens_are_gone_and_the_rest_moves_up(encodings):
    e = encodings[1]
    variant = forward.deleted(e, np.isin(np.arange(len(e.ids)), [2, 5]))
    assert variant.encoding.ids.tolist() == np.delete(e.ids, [2, 5]).tolist()
    assert variant.start == 2 and variant.base is e
    assert variant.encoding.maskable.sum() == e.maskable.sum() - 2
