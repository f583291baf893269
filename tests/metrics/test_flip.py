"""Decision flips of a linear model whose flips are worked out by hand, and of a real one by brute force."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import tiny
import torch
from wrong import refused, tells

from faithlib.engine import batching, forward
from faithlib.metrics import flip
from faithlib.metrics.flip import decision_flip, steps
from faithlib.models import Classifier
from faithlib.options import REMOVALS

PAD, CLS, SEP, MASK = 0, 2, 3, 4
TEN = tiny.encoding(12, range(1, 11), ids=[CLS, *range(10, 20), SEP])


class Linear(Classifier):
    """Predicts class 1 where the weights of the ids that are there, {id: weight}, sum to more than 0."""

    device = torch.device("cpu")
    mask_id, pad_id, name, max_length = MASK, PAD, "linear", 64

    def __init__(self, weights):
        config = SimpleNamespace(num_labels=2)
        self.model = SimpleNamespace(eval=lambda: None, config=config, parameters=list)
        self.weights = torch.zeros(20)
        self.weights[list(weights)] = torch.tensor(list(weights.values()), dtype=torch.float)
        self.seen = []

    def collate(self, encodings):
        longest = max(len(e.ids) for e in encodings)
        ids = [[*e.ids.tolist(), *[1] * (longest - len(e.ids))] for e in encodings]  # 1: beyond the text
        return SimpleNamespace(ids=torch.tensor(ids))

    def logits(self, batch):
        self.seen += [tuple(i for i in row if i != 1) for row in batch.ids.tolist()]
        total = self.weights[batch.ids].sum(1)
        return torch.stack([torch.zeros_like(total), total], 1)


def descending(n=10):
    """Scores by which the first word goes first."""
    return np.array([0, *range(n, 0, -1), 0], float)


def one(table, attribution="mine", example=0):
    (row,) = table[(table.attribution == attribution) & (table.example == example)].itertuples()
    return row


# Steps --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "step", "expected"),
    [
        (20, 0.05, range(1, 21)), (10, 0.25, [3, 5, 8, 10]), (10, 0.3, [3, 6, 9, 10]), (10, 1.0, [10]),
        (3, 0.05, [1, 2, 3]), (1, 0.5, [1]), (5, 1, [1, 2, 3, 4, 5]), (5, 2, [2, 4, 5]), (5, 9, [5]),
        (40, 0.05, range(2, 41, 2)), (30, 0.1, range(3, 31, 3)), (5, 1e-12, [1, 2, 3, 4, 5]),
    ],
)  # fmt: skip
def test_steps_by_hand(n, step, expected):
    assert steps(n, step).tolist() == list(expected)


def test_steps_end_with_everything_and_are_no_longer_than_asked():
    for n in range(1, 200):
        for share in (0.05, 0.07, 0.1, 1 / 3):
            counts = steps(n, share)
            assert counts[-1] == n and (np.diff(counts) > 0).all() and counts[0] >= 1
            assert len(counts) <= min(n, np.ceil(round(1 / share, 9)))
            assert np.diff(counts, prepend=0).max() <= np.ceil(round(share * n, 9))


# By hand ------------------------------------------------------------------------------------------


def test_a_linear_model_by_hand():
    model = Linear({10: 1, 11: 1, 12: 1, 19: -1.5})  # 1.5; without the first two words −0.5
    row = one(decision_flip(model, [TEN], {"mine": [descending()]}))
    assert (row.fraction, row.flipped, row.removed) == (0.2, True, 2)
    backwards = one(decision_flip(model, [TEN], {"mine": [-descending()]}))  # −1.5 first, the rest: 7 zeros
    assert (backwards.fraction, backwards.flipped, backwards.removed) == (1.0, True, 10)


def test_the_step_is_that_at_which_the_flip_is_seen():
    model = Linear({10: 1, 11: 1, 12: 1, 19: -1.5})
    for step, removed in ((1, 2), (2, 2), (3, 3), (0.3, 3), (0.25, 3), (0.5, 5), (1.0, None), (10, None)):
        row = one(decision_flip(model, [TEN], {"mine": [descending()]}, step=step))
        assert row.removed == (removed or 10) and row.flipped and row.fraction == row.removed / 10


def test_the_first_change_counts_even_where_it_is_taken_back():
    model = Linear({10: 1, 11: -1, CLS: 0.5})  # 0.5, −0.5 without the first word, 0.5 without both
    assert one(decision_flip(model, [TEN], {"mine": [descending()]})).removed == 1


def test_a_text_that_never_flips_counts_what_is_asked():
    model = Linear({CLS: 1})
    for never in (1.0, 0.5):
        row = one(decision_flip(model, [TEN], {"mine": [descending()]}, never=never))
        assert (row.fraction, row.flipped, row.removed) == (never, False, 10)


def test_special_tokens_and_text_b_are_never_removed():
    encoding = forward.replaced(TEN, np.zeros(12, bool), 0).encoding
    maskable, auxiliary = (np.isin(np.arange(12), places) for places in ([1, 2], range(4, 11)))
    encoding = replace(encoding, maskable=maskable, auxiliary=auxiliary)
    model = Linear({CLS: 1, SEP: 1, 15: 1})
    scores = np.array([9, 1, 2, 9, 9, 9, 9, 9, 9, 9, 9, 9], float)
    row = one(decision_flip(model, [encoding], {"mine": [scores]}))
    assert (row.fraction, row.flipped) == (1.0, False)
    assert all({CLS, SEP, *range(13, 20)} <= set(ids) for ids in model.seen)


def test_signed_scores_go_from_high_to_low_and_the_earlier_of_equal_ones_first():
    model = Linear({10: -1, 12: 1, 13: 1})  # the third word gone: a tie is class 0, and so a flip
    scores = np.zeros(12)
    scores[1] = -9  # far from 0 and still the last
    scores[3] = 0.1
    assert one(decision_flip(model, [TEN], {"mine": [scores]}, step=1)).removed == 1
    tied = Linear({11: 1})
    assert one(decision_flip(tied, [TEN], {"mine": [np.zeros(12)]}, step=1)).removed == 2


@pytest.mark.parametrize(
    ("removal", "first"),
    [
        ("mask", (CLS, MASK, *range(11, 20), SEP)),
        ("pad", (CLS, PAD, *range(11, 20), SEP)),
        ("delete", (CLS, *range(11, 20), SEP)),
    ],
)
def test_removals(removal, first):
    model = Linear({19: 1})
    row = one(decision_flip(model, [TEN], {"mine": [descending()]}, step=1, removal=removal))
    assert row.removed == 10 and row.flipped and first in model.seen
    nothing = {"mask": (MASK,) * 10, "pad": (PAD,) * 10, "delete": ()}[removal]
    assert (CLS, *nothing, SEP) in model.seen


def test_a_text_of_one_token():
    single = tiny.encoding(3, [1], ids=[CLS, 10, SEP])
    assert one(decision_flip(Linear({10: 1}), [single], {"mine": [np.zeros(3)]})).fraction == 1.0


# Against brute force, and what batches must not change ---------------------------------------------


def brute(model, encoding, scores, step, removal):
    """One token set after the other, one at a time."""

    def predicted(e):
        with torch.inference_mode():
            return int(model.logits(model.collate([e]))[0].argmax())

    n = int(encoding.maskable.sum())
    order = sorted(np.flatnonzero(encoding.maskable), key=lambda i: (-scores[i], i))
    for k in steps(n, step):
        erased = np.isin(np.arange(len(scores)), order[:k])
        if removal == "delete":
            variant = forward.deleted(encoding, erased)
        else:
            variant = forward.replaced(
                encoding, erased, {"mask": model.mask_id, "pad": model.pad_id}[removal]
            )
        if predicted(variant.encoding) != predicted(encoding):
            return k / n, True, int(k)
    return 1.0, False, n


@pytest.fixture(scope="module", params=tiny.KINDS)
def model(request):
    return tiny.classifier(request.param, seed=4)  # one whose predictions do change


def scored(encodings, names=("one", "other")):
    rng = np.random.default_rng(0)
    return {name: [rng.normal(size=len(e.ids)) for e in encodings] for name in names}


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("step", [0.05, 0.3, 1, 2])
def test_as_one_variant_at_a_time(model, removal, step):
    encodings = model.encode(tiny.TEXTS, tiny.TEXTS_B)
    scores = scored(encodings)
    table = decision_flip(model, encodings, scores, step, removal)
    assert table.columns.tolist() == flip.COLUMNS and len(table) == 2 * len(encodings)
    for name, score in scores.items():
        for i, encoding in enumerate(encodings):
            row = one(table, name, i)
            assert (row.fraction, row.flipped, row.removed) == brute(model, encoding, score[i], step, removal)
    assert table.fraction.between(0, 1, inclusive="right").all() and 0 < table.flipped.sum()


@pytest.mark.parametrize("budget", [1, 50, 10**6])
def test_neither_batches_nor_company_change_a_flip(model, budget, monkeypatch):
    encodings = model.encode(tiny.TEXTS, tiny.TEXTS_B)
    scores = scored(encodings)
    whole = decision_flip(model, encodings, scores, step=1)
    monkeypatch.setitem(batching.TOKEN_BUDGET, "cpu", budget)
    assert decision_flip(model, encodings, scores, step=1).equals(whole)
    for i in range(len(encodings)):
        alone = decision_flip(model, [encodings[i]], {"other": [scores["other"][i]]}, step=1)
        expected = whole[(whole.attribution == "other") & (whole.example == i)]
        assert alone.drop(columns="example").equals(expected.drop(columns="example").reset_index(drop=True))


def test_variants_are_evaluated_once_and_no_more_of_them_than_needed(monkeypatch):
    monkeypatch.setitem(batching.TOKEN_BUDGET, "cpu", 1)  # one step a round
    model, scores = Linear({10: 1, 11: 1, 12: 1, 19: -1.5}), descending()
    decision_flip(model, [TEN], {"one": [scores], "same": [2 * scores], "third": [scores]}, step=1)
    assert len(model.seen) == 1 + 2  # the text, without one word, without two
    model = Linear({10: 1, 11: 1, 12: 1, 19: -1.5})
    swapped = scores.copy()
    swapped[[1, 2]] = swapped[[2, 1]]
    decision_flip(model, [TEN], {"one": [scores], "swapped": [swapped]}, step=1)
    assert len(model.seen) == len(set(model.seen)) == 1 + 3  # both are without the same two words
    cache, model = forward.Cache(), Linear({10: 1, 11: 1, 12: 1, 19: -1.5})
    for _ in range(2):
        decision_flip(model, [TEN], {"one": [scores]}, step=1, cache=cache)
    assert len(model.seen) == 3


def test_a_round_fills_a_batch_where_few_are_left(monkeypatch):
    monkeypatch.setitem(batching.TOKEN_BUDGET, "cpu", 48)  # four variants of twelve tokens
    model, calls, evaluate = Linear({15: 1}), [], forward.probabilities

    def spied(model, variants, *others):
        calls.append(len(variants))
        return evaluate(model, variants, *others)

    monkeypatch.setattr(forward, "probabilities", spied)
    assert one(decision_flip(model, [TEN], {"mine": [descending()]}, step=1)).removed == 6
    assert calls == [1, 4, 4]


# Bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"step": 0.0}, "step=0.0"),
        ({"step": 1.5}, "step=1.5"),
        ({"step": True}, "step=True"),
        ({"step": -1}, "step=-1"),
        ({"step": "5 %"}, "step='5 %'"),
        ({"never": 1.5}, "never=1.5"),
        ({"never": float("nan")}, "never=nan"),
        ({"scores": {"mine": [np.zeros(11)]}}, "'mine', example 0: 11 scores for 12 tokens"),
        ({"encodings": [tiny.encoding(12, [])]}, "example 0 has no maskable token"),
        ({"encodings": [tiny.encoding(12, range(12))], "removal": "delete"}, "linear has no special token"),
    ],
)
def test_bad_input_is_told_before_any_work(change, words):
    model = Linear({10: 1})
    setup = {"encodings": [TEN], "scores": {"mine": [np.zeros(12)]}, **change}
    tells([words], decision_flip, model, setup.pop("encodings"), setup.pop("scores"), **setup)
    assert not model.seen


def test_a_model_without_a_mask_token_is_told():
    model = Linear({10: 1})
    model.mask_id = None
    refused("linear has no mask token", decision_flip, model, [TEN], {"mine": [np.zeros(12)]})
