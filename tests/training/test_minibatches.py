"""Mini-batches: every row once, cut to the longest, and masks as Algorithm 1 draws them."""

import numpy as np
import pandas as pd
import pytest
import tiny
import torch
from tiny import splits

from faithlib.training import minibatches


def batches(masking, epochs, pairs=False):
    """Batches as training cuts them: rows, which tokens are masked and which may be, (batch, tokens) bool."""
    classifier = tiny.classifier()
    encodings, labels = splits(classifier, pairs=pairs)["train"]
    data = minibatches.MaskedSplit(classifier, encodings, labels, masking, seed=0)
    generator = np.random.default_rng(0)
    for _ in range(epochs):
        for rows in minibatches.shuffled_by_length(data.lengths, 4, generator):
            batch, target = data.at(rows)
            before = classifier.collate([encodings[i] for i in rows])
            eligible = np.zeros(batch.ids.shape, bool)
            for row, i in zip(eligible, rows, strict=True):
                row[: len(encodings[i].ids)] = encodings[i].maskable | encodings[i].auxiliary
            changed = (batch.ids != before.ids).numpy()
            assert (batch.ids.numpy()[changed] == classifier.mask_id).all() and not changed[~eligible].any()
            for field in ("types", "present", "maskable"):
                assert torch.equal(getattr(batch, field), getattr(before, field))
            assert target.tolist() == labels[rows].tolist()
            yield rows, changed, eligible


# What is masked -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_tokens_of_text_and_text_b_are_masked_and_special_ones_never(kind):
    classifier = tiny.classifier(kind)
    encodings = classifier.encode(tiny.TEXTS * 100, tiny.TEXTS_B * 100)
    copies = minibatches.masked(classifier, encodings, np.random.default_rng(2))
    masked = [m.ids != e.ids for m, e in zip(copies, encodings, strict=True)]
    for m, e, mask in zip(copies, encodings, masked, strict=True):
        assert not mask[~(e.maskable | e.auxiliary)].any() and (m.ids[mask] == classifier.mask_id).all()
        for field in ("types", "maskable", "auxiliary", "words"):
            assert (getattr(m, field) == getattr(e, field)).all()
    for part in ("maskable", "auxiliary"):
        share = np.mean([mask[getattr(e, part)].mean() for e, mask in zip(encodings, masked, strict=True)])
        assert share == pytest.approx(0.5, abs=0.05)


def test_ratios_are_uniform():
    """Of n tokens every number from 0 to n is masked equally often: the binomial's mean over U[0, 1)."""
    classifier, n = tiny.classifier(), 9
    encodings = classifier.encode([" ".join(tiny.WORDS[:n])]) * 5000
    copies = minibatches.masked(classifier, encodings, np.random.default_rng(1))
    counts = np.bincount([(e.ids == classifier.mask_id).sum() for e in copies], minlength=n + 1)
    assert np.allclose(counts / 5000, 1 / (n + 1), atol=5 * np.sqrt(0.1 * 0.9 / 5000))
    shares = np.mean([e.ids == classifier.mask_id for e in copies], axis=0)[1:-1]  # wherever a token is
    assert np.allclose(shares, 0.5, atol=0.03)


@pytest.mark.parametrize("n", [1, 2, 7, 10])
def test_half_is_the_lesser_half_at_random(n):
    classifier = tiny.classifier()
    encodings = classifier.encode([" ".join(tiny.WORDS[:15])] * n)
    generator, masked = np.random.default_rng(0), np.zeros((300, n))
    for draw in masked:
        copies = minibatches.masked(classifier, encodings, generator, "half")
        draw[:] = [(e.ids == classifier.mask_id).any() for e in copies]
    assert masked.sum(1).max() == n // 2  # fewer where a ratio is so low that no token is masked
    assert masked.mean() == pytest.approx(15 / 16 * (n // 2) / n, abs=0.03)
    assert np.ptp(masked.mean(0)) < 0.2


def test_masks_belong_to_a_generator():
    classifier = tiny.classifier()
    encodings = classifier.encode(tiny.TEXTS)
    one, again, other = (
        [e.ids.tolist() for e in minibatches.masked(classifier, encodings, generator)]
        for generator in map(np.random.default_rng, (0, 0, 1))
    )
    assert one == again != other


# Batches ------------------------------------------------------------------------------------------


def test_half_of_every_batch_is_masked_and_anew_in_every_epoch():
    shares, masks = [], set()
    for rows, changed, eligible in batches("half", 100, pairs=True):
        assert changed.any(1).sum() <= len(rows) // 2
        shares.append(changed.sum() / eligible.sum())
        masks |= {(i, mask.tobytes()) for i, mask in zip(rows, changed, strict=True)}
    assert len(shares) == 300 and np.mean(shares) == pytest.approx(0.25, abs=0.03)
    assert len(masks) > 250  # of 500 that are masked; some texts have few tokens


def test_all_examples_are_masked_where_all_is_asked():
    shares = [changed.sum() / eligible.sum() for _, changed, eligible in batches("all", 100)]
    assert np.mean(shares) == pytest.approx(0.5, abs=0.03)


def test_short_texts_are_masked_as_often_as_long_ones():
    """Batches are in order of length, so that always the second half would be the longer texts."""
    shares = [[] for _ in range(10)]
    for rows, changed, eligible in batches("half", 400):
        for i, mask, allowed in zip(rows, changed, eligible, strict=True):
            shares[i].append(mask[allowed].mean())
    assert np.allclose([np.mean(s) for s in shares], 0.25, atol=0.06)


def test_batches_hold_every_row_once_and_similar_lengths():
    lengths = np.random.default_rng(0).integers(5, 60, 1003)
    batches = minibatches.shuffled_by_length(lengths, 8, np.random.default_rng(1), pool=10)
    assert sorted(np.concatenate(batches)) == list(range(1003))
    assert len(batches) == 126 and max(map(len, batches)) == 8
    spread = np.mean([np.ptp(lengths[b]) for b in batches])
    assert spread < 0.25 * np.mean([np.ptp(lengths[i : i + 8]) for i in range(0, 1003, 8)])
    again = minibatches.shuffled_by_length(lengths, 8, np.random.default_rng(1), pool=10)
    other = minibatches.shuffled_by_length(lengths, 8, np.random.default_rng(2), pool=10)
    assert all((a == b).all() for a, b in zip(batches, again, strict=True))
    assert not all(len(a) == len(b) and (a == b).all() for a, b in zip(batches, other, strict=True))
    one_pool = minibatches.shuffled_by_length(lengths[:800], 8, np.random.default_rng(1), pool=100)
    means = [lengths[b].mean() for b in one_pool]
    assert abs(np.corrcoef(means, range(len(means)))[0, 1]) < 0.4  # neither short first nor long first


def test_labels_may_be_of_any_whole_type():
    classifier = tiny.classifier()
    for labels in (np.array([1, 0], np.int32), pd.Series([1, 0], index=[7, 9])):
        split = minibatches.Split(classifier, classifier.encode(tiny.TEXTS[:2]), labels)
        assert split.labels.tolist() == [1, 0] and split.labels.dtype == torch.int64


def test_a_batch_is_cut_to_its_longest():
    classifier = tiny.classifier()
    encodings, labels = splits(classifier)["train"]
    rows = np.array([2, 0, 7])
    batch, target = minibatches.Split(classifier, encodings, labels).at(rows)
    expected = classifier.collate([encodings[i] for i in rows])
    for field in ("ids", "types", "present", "maskable"):
        assert torch.equal(getattr(batch, field), getattr(expected, field))
    assert target.tolist() == labels[rows].tolist()
