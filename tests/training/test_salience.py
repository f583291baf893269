"""Salience by hand, against networkx and golden values; the salience loss, its zero and its gradient."""

import json
from pathlib import Path

import networkx
import numpy as np
import pytest
import tiny
import torch
from wrong import refused

from faithlib.attributions import attribute
from faithlib.training import salience

GOLDEN = Path(__file__).parents[1] / "golden"


def text(*ids):
    """An encoding of [CLS] ids [SEP]."""
    return tiny.encoding(len(ids) + 2, range(1, len(ids) + 1), [1, *ids, 2])


def random_texts(n=20):
    rng = np.random.default_rng(0)
    return [rng.integers(0, rng.integers(1, 80), rng.integers(1, 120)) for _ in range(n)]


def neighbours(ids, window):
    """Different ids less than `window` tokens apart, the other way round: token by token."""
    near = {int(i): set() for i in ids}
    for k, one in enumerate(ids):
        for other in ids[k + 1 : k + window]:
            if one != other:
                near[int(one)].add(int(other))
                near[int(other)].add(int(one))
    return near


# TextRank ----------------------------------------------------------------------------------------------


def test_five_words_by_hand():
    # With a window of 2 they are a path: s₁ = .15 + .425 s₂, s₃ = .15 + .85 s₂, s₂ = .15 + .85 s₁ + .425 s₃.
    s2 = 0.34125 / 0.2775
    expected = [0.15 + 0.425 * s2, s2, 0.15 + 0.85 * s2, s2, 0.15 + 0.425 * s2]
    assert salience.textrank([7, 3, 9, 4, 5], window=2) == pytest.approx(expected, abs=1e-6)
    # With 4 all are joined but the first and the last: e = .15 + .6375 m, 2 e + 3 m = 5.
    m = 4.7 / 4.275
    e = 0.15 + 0.6375 * m
    assert salience.textrank([7, 3, 9, 4, 5]) == pytest.approx([e, m, m, m, e], abs=1e-6)


@pytest.mark.parametrize("damping", [0.5, 0.85, 0.95])
def test_the_fixed_point_of_equation_1_is_reached(damping):
    for ids in random_texts():
        scores = salience.textrank(ids, damping=damping)
        of, near = dict(zip(ids.tolist(), scores, strict=True)), neighbours(ids, 4)
        assert all(of[int(i)] == s for i, s in zip(ids, scores, strict=True))  # repeated ids share a score
        if len(of) == 1:
            assert (scores == 1).all()
            continue
        for i in of:
            new = (1 - damping) + damping * sum(of[j] / len(near[j]) for j in near[i])
            assert new == pytest.approx(of[i], abs=1e-6)


def test_textrank_is_pagerank_of_the_same_graph_times_the_nodes():
    for ids in random_texts():
        near = neighbours(ids, 4)
        graph = networkx.Graph([(i, j) for i in near for j in near[i]])
        graph.add_nodes_from(near)
        rank = networkx.pagerank(graph, tol=1e-12, max_iter=1000)
        assert salience.textrank(ids) == pytest.approx([len(near) * rank[int(i)] for i in ids], abs=1e-6)


@pytest.mark.parametrize("rank", [salience.textrank, salience.released_textrank])
def test_a_text_of_one_token_and_of_one_repeated_token(rank):
    assert rank([5]).tolist() == [1]
    assert rank([5, 5, 5]) == pytest.approx([1, 1, 1], abs=1e-12)


def test_released_by_hand():
    # great great movie: great is its own neighbour. 1 -> .15 + .85 (½ + 1) = 1.425, movie: .15 + .425 = .575
    assert salience.released_textrank([8, 8, 6]) == pytest.approx([1.244375, 1.244375, 0.755625], abs=1e-12)


def test_released_is_what_the_release_computes():
    for case in json.loads((GOLDEN / "textrank.json").read_text())["expected"]:
        tokens, expected = case["tokens"], np.array(case["scores"])
        inner = np.flatnonzero(expected)
        ids = np.unique(tokens, return_inverse=True)[1]
        assert np.abs(salience.released_textrank(ids[inner]) - expected[inner]).max() < 1e-10
        if inner[0] == 1:  # [CLS] text [SEP]
            encoding = tiny.encoding(len(inner) + 2, range(1, len(inner) + 1), ids[: len(inner) + 2])
            (ours,) = salience.fit("textrank", [], definition="released")([encoding])
            assert np.abs(ours - expected[: len(ours)]).max() < 1e-10


# The others, and what all have in common ---------------------------------------------------------------


def fitted(kind, definition="paper"):
    classifier = tiny.classifier()
    encodings = classifier.encode(tiny.TEXTS, tiny.TEXTS_B)
    return encodings, salience.fit(kind, encodings, [0, 1, 2, 0, 1], definition)(encodings)


@pytest.mark.parametrize("kind", salience.SALIENCES)
def test_a_distribution_over_the_maskable_tokens(kind):
    for encoding, sigma in zip(*fitted(kind), strict=True):
        assert sigma.shape == encoding.ids.shape and sigma.dtype == float
        assert sigma.sum() == pytest.approx(1) and (sigma >= 0).all()
        assert not sigma[~encoding.maskable].any()
        for i in set(encoding.ids[encoding.maskable]):
            assert len(set(sigma[encoding.maskable & (encoding.ids == i)])) == 1


@pytest.mark.parametrize("kind", ["tfidf", "chi2", "uniform"])
def test_on_the_releases_scale_the_mean_of_the_maskable_tokens_is_1(kind):
    (encodings, paper), (_, released) = fitted(kind), fitted(kind, "released")
    for encoding, one, other in zip(encodings, paper, released, strict=True):
        assert other == pytest.approx(one * encoding.maskable.sum())


def test_as_released_textrank_ranks_all_between_the_first_and_the_last_token():
    for encoding, sigma in zip(*fitted("textrank", "released"), strict=True):
        assert encoding.auxiliary.any() and sigma[encoding.auxiliary].all()
        assert sigma[0] == sigma[-1] == 0
        assert sigma[1:-1].tolist() == salience.released_textrank(encoding.ids[1:-1]).tolist()


def test_a_text_does_not_depend_on_its_auxiliary_part():
    classifier = tiny.classifier()
    single, pair = (classifier.encode(tiny.TEXTS[-1:], b)[0] for b in (None, tiny.TEXTS_B[:1]))
    rank = salience.fit("textrank", [])
    one, other = rank([single, pair])
    assert one[single.maskable].tolist() == other[pair.maskable].tolist()


def test_tfidf_by_hand():
    train = [text(11, 12), text(11, 13), text(11, 12)]
    often, two, one = (1 + np.log(4 / (1 + n)) for n in (3, 2, 1))
    (sigma,) = salience.fit("tfidf", train)([text(13, 11, 12, 11, 99)])  # 99 is not in the training split
    expected = np.array([0, one, 2 * often, two, 2 * often, 0, 0])
    assert sigma == pytest.approx(expected / expected.sum())


def test_chi2_by_hand():
    train, labels = [text(11, 11, 12), text(11, 12), text(13, 12)], np.array([1, 1, 0])
    # Two thirds of the texts have label 1. 11 is there 3 times, and never in those of label 0: 2 and 1 are
    # expected; 12: 2 and 1, as expected; 13: 0 and 1, 2/3 and 1/3 are expected.
    expected = np.array([0, 1 / 2 + 1, 0, (2 / 3) ** 2 / (2 / 3) + (2 / 3) ** 2 / (1 / 3), 0])
    (sigma,) = salience.fit("chi2", train, labels)([text(11, 12, 13)])
    assert sigma == pytest.approx(expected / expected.sum(), abs=1e-12)


def test_bad_input_is_told_in_one_line():
    one, empty = text(5), tiny.encoding(2, [])
    for message, call in {
        "no example has label 1": lambda: salience.fit("chi2", [one, one], [0, 0]),
        "no example has label 0": lambda: salience.fit("chi2", [one, one], [1, 1]),
        "no example has label 2": lambda: salience.fit("chi2", [one] * 3, [0, 1, 3]),
        "tfidf of example 1 is 0 for every token": lambda: salience.fit("tfidf", [one])([one, text(6)]),
        "example 1 has no maskable token": lambda: salience.fit("uniform", [])([one, empty]),
        "example 0 has no maskable token: remove": lambda: salience.fit("tfidf", [empty]),
        "attention of example 0 is 0": lambda: salience.divergence([np.zeros(3)], [np.ones(3)]),
    }.items():
        refused(message, call)


# The loss ----------------------------------------------------------------------------------------------


def batch(seed=0, lengths=(7, 4, 5)):
    """Attention over whole texts, salience over their inner tokens, which tokens are maskable and present."""
    rng, shape = np.random.default_rng(seed), (len(lengths), max(lengths))
    at, n = np.arange(shape[1]), np.array(lengths)[:, None]
    present, maskable = at < n, (at > 0) & (at < n - 1)
    attention, sigma = (rng.uniform(0.1, 1, shape) * mask for mask in (present, maskable))
    arrays = (x / x.sum(1, keepdims=True) for x in (attention, sigma))
    return *(torch.tensor(x) for x in arrays), torch.tensor(maskable), torch.tensor(present)


def test_the_loss_is_the_mean_kl_of_normalised_attention():
    attention, sigma, maskable, _ = batch()
    expected = []
    for a, s, mask in zip(attention.numpy(), sigma.numpy(), maskable.numpy(), strict=True):
        alpha = a[mask] / a[mask].sum()
        expected.append((alpha * np.log(alpha / s[mask])).sum())
    assert salience.salience_loss(attention, sigma, maskable).item() == pytest.approx(np.mean(expected))
    rows = [x.numpy() * maskable.numpy() for x in (attention, sigma)]
    assert salience.divergence(*rows) == pytest.approx(expected)


def test_padding_and_order_do_not_change_the_loss():
    arrays = batch()
    for definition, index in (("paper", 2), ("released", 3)):
        loss = salience.salience_loss(arrays[0], arrays[1], arrays[index], definition)
        padded = [torch.nn.functional.pad(arrays[k].flip(0), (0, 3)) for k in (0, 1, index)]
        assert salience.salience_loss(*padded, definition).item() == pytest.approx(loss.item())


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_the_loss_is_0_where_attention_equals_salience(share):
    _, sigma, maskable, _ = batch()
    attention = share * sigma  # the rest is paid to [CLS] and [SEP]
    attention[:, 0] = 1 - share
    attention.requires_grad_()
    loss = salience.salience_loss(attention, sigma, maskable)
    loss.backward()
    assert abs(loss.item()) < 1e-9 and attention.grad.abs().max() < 1e-6
    assert salience.salience_loss(*batch()[:3]).item() > 0.01


def test_the_gradient_is_that_of_the_loss_and_pulls_attention_towards_salience():
    for definition, index in (("paper", 2), ("released", 3)):
        arrays = batch()

        def loss(scores, arrays=arrays, index=index, definition=definition):
            attention = scores.masked_fill(~arrays[3], -torch.inf).softmax(-1)
            return salience.salience_loss(attention, arrays[1], arrays[index], definition)

        scores = torch.randn(arrays[0].shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        scores.requires_grad_()
        assert torch.autograd.gradcheck(loss, scores)
        before = loss(scores).item()
        distance = []
        for _ in range(300):
            (slope,) = torch.autograd.grad(loss(scores), scores)
            scores = (scores - 3 * slope).detach().requires_grad_()
            attention = scores.masked_fill(~arrays[3], -torch.inf).softmax(-1).detach() * arrays[2]
            distance.append((attention / attention.sum(1, keepdim=True) - arrays[1]).abs().sum().item())
        assert loss(scores).item() < before
        if definition == "paper":
            assert loss(scores).item() < 0.05 * before and distance[-1] < 0.2 * distance[0]


def test_a_salience_of_0_is_dear_but_finite():
    _, sigma, maskable, _ = batch()
    attention = torch.zeros(3, 7, dtype=torch.float64)
    attention[:, 1] = 1
    sigma[:, 1] = 0
    attention.requires_grad_()
    loss = salience.salience_loss(attention, sigma, maskable)
    loss.backward()
    assert loss.item() == pytest.approx(-np.log(1e-10)) and attention.grad.isfinite().all()


def test_attention_that_dropout_took_away_adds_nothing():
    _, sigma, maskable, _ = batch()
    attention = torch.zeros(3, 7, dtype=torch.float64, requires_grad=True)
    loss = salience.salience_loss(attention, sigma, maskable)
    loss.backward()
    assert loss.item() == 0 and attention.grad.isfinite().all()


def test_the_released_loss_is_what_the_release_computes():
    expected = json.loads((GOLDEN / "salience_loss.json").read_text())["expected"]
    for case in expected["cases"]:
        arrays = (torch.tensor(case[name]) for name in ("attention", "salience"))
        loss = salience.salience_loss(*arrays, torch.tensor(case["attention_mask"]) == 1, "released")
        assert loss.item() == pytest.approx(case["expected_loss"], rel=1e-5)
    for case in expected["kl_div_loss_alone"]:
        kl = salience._kl(torch.tensor(case["p"]), torch.tensor(case["q"]))
        assert kl.sum().item() ** 2 == pytest.approx(case["expected"], rel=1e-5)


def test_the_divergence_of_an_attribution_from_salience():
    classifier = tiny.classifier()
    encodings = classifier.encode(tiny.TEXTS, tiny.TEXTS_B)
    attention = attribute(classifier, encodings, np.zeros(5, int), ["attention"])["attention"]
    sigma = salience.fit("textrank", encodings)(encodings)
    values = salience.divergence(attention, sigma)
    assert values.shape == (5,) and (values[[0, 1, 3, 4]] > 0.001).all()
    assert values[2] == pytest.approx(0, abs=1e-9)  # a text of one token
    same = [np.where(e.maskable, s, 0) for e, s in zip(encodings, sigma, strict=True)]
    assert np.abs(salience.divergence(same, sigma)).max() < 1e-9
