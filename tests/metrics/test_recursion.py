"""Recursive masking: by hand, as released, by brute force one measure at a time; what is computed once."""

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from wrong import refused

from faithlib import scores
from faithlib.attributions import attribute
from faithlib.engine import batching, forward
from faithlib.metrics import curves
from faithlib.metrics.recursion import NEVER, RATIOS, performance, random_masking, recursive_masking
from faithlib.models import Classifier
from faithlib.training import fine_tuning as training
from faithlib.training import roar

GOLDEN = Path(__file__).parents[1] / "golden" / "roar_masks.json"
GRADIENTS = ("gradient_l1", "gradient_l2", "input_x_gradient", "input_x_gradient_abs")
LEAVE = ("leave_one_out", "leave_one_out_abs")
CLS, SEP, MASK = 2, 3, 4
TEN = tiny.encoding(12, range(1, 11), ids=[CLS, *range(10, 20), SEP])
LABELS = np.array([0, 1, 2, 0, 1])
LONG = [*tiny.TEXTS[:4], tiny.TEXTS[4] + " and boring"]
pytestmark = pytest.mark.filterwarnings("ignore:A single label")  # few examples, so perhaps one class


class Table(Classifier):
    """Of ten words, 10 to 19, and their masks: logits (0, value(the words left, a frozenset))."""

    device, mask_id, pad_id, name, max_length = torch.device("cpu"), MASK, 0, "table", 64

    def __init__(self, value):
        self.model, self.value = tiny.classifier().model, value
        self.seen = []

    @property
    def outputs(self):
        return 2

    def logits(self, batch):
        left = [frozenset(i for i in row if i >= 10) for row in batch.ids.tolist()]
        self.seen += left
        return torch.tensor([[0.0, self.value(words)] for words in left])


def masks(ratios, measure, ratio, i=0):
    return np.flatnonzero(ratios[measure][i] <= ratio).tolist()


def rising(encodings, examples, measures):
    """Later tokens score more; "back" the other way round."""
    return {m: [np.arange(len(e.ids)) * (-1.0 if m == "back" else 1.0) for e in encodings] for m in measures}


def asking(model, labels, asked=None, **settings):
    def scores_of(encodings, examples, measures):
        if asked is not None:
            asked.append((tuple(measures), [e.ids.tobytes() for e in encodings]))
        return attribute(model, encodings, labels[examples], measures, **settings)

    return scores_of


# By hand ------------------------------------------------------------------------------------------


def test_floors_are_cumulative_and_masks_nested():
    model, five = Table(len), tiny.encoding(7, range(1, 6), ids=[CLS, *range(10, 15), SEP])
    ratios = recursive_masking(model, [TEN, five], rising, ["rising", "back"])
    assert [len(masks(ratios, "rising", r)) for r in RATIOS] == list(range(1, 11))
    assert [len(masks(ratios, "rising", r, 1)) for r in RATIOS] == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5]
    assert ratios["rising"][0].tolist() == [NEVER, *range(100, 0, -10), NEVER]
    assert ratios["back"][1].tolist() == [NEVER, 20, 40, 60, 80, 100, NEVER]


def test_of_equal_scores_the_first_goes_first():
    def flat(encodings, examples, measures):
        return {"flat": [np.zeros(len(e.ids)) for e in encodings]}

    for once in ((), ("flat",)):
        ratios = recursive_masking(Table(len), [TEN], flat, ["flat"], once=once)
        assert ratios["flat"][0].tolist() == [NEVER, *range(10, 101, 10), NEVER]


def test_importance_is_asked_anew_of_what_is_left():
    """First 15 counts, then, without it, 11: a ranking of the whole text would not know."""

    def value(words):
        return 4.0 * (15 in words) + (2.0 if 15 in words else 3.0 * (11 in words)) + 0.1 * (12 in words)

    model = Table(value)
    scores_of = asking(model, np.array([1]))
    ratios = recursive_masking(model, [TEN], scores_of, ["leave_one_out"])["leave_one_out"][0]
    assert (ratios[6], ratios[2]) == (10, 20)  # tokens 15 and 11
    ranked = recursive_masking(model, [TEN], scores_of, ["leave_one_out"], once=["leave_one_out"])
    assert ranked["leave_one_out"][0][6] == 10 and ranked["leave_one_out"][0][3] == 20  # 12, which it knew


def test_special_tokens_and_text_b_are_never_masked():
    model = tiny.classifier()
    encodings = model.encode(LONG, ["who ?"] * 5)
    ratios = recursive_masking(model, encodings, rising, ["rising"])
    for name in ("rising", scores.RANDOM):
        for e, at in zip(encodings, ratios[name], strict=True):
            assert (at[~e.maskable] == NEVER).all() and (at[e.maskable] <= 100).all()


def test_a_mask_token_that_was_there_counts_as_masked():
    text = tiny.encoding(12, range(1, 11), ids=[CLS, 10, 11, 12, MASK, 14, 15, 16, 17, 18, 19, SEP])
    for once in ((), ("back",)):
        ratios = recursive_masking(Table(len), [text], rising, ["back"], once=once)["back"][0]
        assert ratios.tolist() == [NEVER, 20, 30, 40, 10, *range(50, 101, 10), NEVER]


def test_nothing_is_asked_at_100_and_of_texts_that_lose_nothing():
    counted = []

    def scores_of(encodings, examples, measures):
        counted.extend((int(i), int((e.ids == MASK).sum())) for i, e in zip(examples, encodings, strict=True))
        return rising(encodings, examples, measures)

    three = tiny.encoding(5, [1, 2, 3], ids=[CLS, 10, 11, 12, SEP])
    one = tiny.encoding(3, [1], ids=[CLS, 10, SEP])
    ratios = recursive_masking(Table(len), [three, one, TEN], scores_of, ["rising"])
    assert sorted(counted) == [(0, 0), (0, 1)] + [(2, k) for k in range(9)]
    assert ratios["rising"][0].tolist() == [NEVER, 100, 70, 40, NEVER]
    assert ratios["rising"][1].tolist() == [NEVER, 100, NEVER]


def test_ratios_may_be_few_and_end_early():
    ratios = recursive_masking(Table(len), [TEN], rising, ["rising"], ratios=(25, 50))
    assert ratios["rising"][0].tolist() == [*[NEVER] * 6, 50, 50, 50, 25, 25, NEVER]
    once = recursive_masking(Table(len), [TEN], rising, ["rising"], ratios=(25, 50), once=["rising"])
    assert (once["rising"][0] == ratios["rising"][0]).all() and masks(once, scores.RANDOM, 100) != []
    assert (once[scores.RANDOM][0] <= 50).sum() == 5


# As released --------------------------------------------------------------------------------------


def test_masks_are_those_of_the_release():
    model, checked = Table(len), 0

    def equal(text, scores_of, outputs, **settings):
        (at,) = recursive_masking(model, [text], scores_of, ["mine"], **settings)["mine"]
        for ratio, expected in outputs.items():
            assert scores.mask([text], [at <= int(ratio)], MASK)[0].ids.tolist() == expected
        return len(outputs)

    for case in json.loads(GOLDEN.read_text())["expected"]["fmm"]:
        ids, places = case["input_ids"], np.flatnonzero(case["first_sequence"])
        text = tiny.encoding(len(ids), places, ids)
        importance = {"mine": [np.array(case["importance"])]}
        checked += equal(text, lambda *asked, i=importance: i, case["non_recursive"], once=["mine"])

        def of_steps(encodings, examples, measures, case=case, places=places):
            done = (encodings[0].ids[places] == MASK).sum()  # the scores of the step that masks more
            step = next(s for s in case["recursive"] if s["ratio"] * len(places) // 100 > done)
            return {"mine": [np.array(step["importance"])]}

        if "recursive" in case:
            checked += equal(text, of_steps, {s["ratio"]: s["output"] for s in case["recursive"]})
    assert checked > 200


def test_random_masks_are_those_of_roar():
    model = tiny.classifier()
    encodings = model.encode(LONG)
    draws = [roar.uniform(e, roar.generator(e, 3)) for e in encodings]
    ratios = recursive_masking(model, encodings, None, [], seed=3)
    assert list(ratios) == [scores.RANDOM]
    for ratio in RATIOS:
        for e, u, at in zip(encodings, draws, ratios[scores.RANDOM], strict=True):
            k = ratio * e.maskable.sum() // 100
            assert (scores.top(u, e.maskable, np.zeros(len(u), bool), k) == (at <= ratio)).all()
    other = recursive_masking(model, encodings, None, [], seed=4)
    assert any((a != b).any() for a, b in zip(ratios[scores.RANDOM], other[scores.RANDOM], strict=True))


def test_random_draws_are_the_first_of_more_and_differ():
    model = tiny.classifier()
    encodings = model.encode(LONG)
    three = random_masking(model, encodings, seed=3, draws=3)
    (first,) = random_masking(model, encodings, seed=3)
    recursive = recursive_masking(model, encodings, None, [], seed=3)[scores.RANDOM]
    for one, other, same in zip(three[0], first, recursive, strict=True):
        assert one.tolist() == other.tolist() == same.tolist()
    assert any((a != b).any() for a, b in zip(*three[:2], strict=True))
    for draw in three:
        for e, at in zip(encodings, draw, strict=True):
            assert (at[~e.maskable] == NEVER).all() and (at[e.maskable] <= 100).all()


# What several measures share ----------------------------------------------------------------------


def brute_force(model, encodings, labels, measure):
    """Algorithm 3 to the letter: one measure, one text and one step at a time."""
    ratios = []
    for e, label in zip(encodings, labels, strict=True):
        masked, at, n = np.zeros(len(e.ids), bool), np.full(len(e.ids), NEVER), e.maskable.sum()
        for ratio in RATIOS:
            (now,) = scores.mask([e], [masked], model.mask_id)
            score = attribute(model, [now], [label], [measure], steps=3)[measure][0]
            order = sorted(np.flatnonzero(e.maskable & ~masked), key=lambda i: (-score[i], i))  # noqa: B023
            masked[order[: ratio * n // 100 - masked.sum()]] = True
            at[masked & (at == NEVER)] = ratio
        ratios.append(at)
    return ratios


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_measures_at_once_are_each_of_them_alone(kind):
    model = tiny.classifier(kind)
    encodings = model.encode(LONG, tiny.TEXTS_B)
    families = [GRADIENTS, ("integrated_gradients", "integrated_gradients_abs"), LEAVE]
    ratios = recursive_masking(model, encodings, asking(model, LABELS, steps=3), families)
    assert list(ratios) == [scores.RANDOM, *(m for family in families for m in family)]
    for measure in ratios:
        if measure != scores.RANDOM:
            expected = brute_force(model, encodings, LABELS, measure)
            assert [at.tolist() for at in ratios[measure]] == [at.tolist() for at in expected], measure


def test_what_measures_share_is_computed_once():
    model, asked = tiny.classifier(), []
    encodings = model.encode(LONG)
    recursive_masking(model, encodings, asking(model, LABELS, asked), [GRADIENTS, LEAVE])
    for family in (GRADIENTS, LEAVE):
        calls = [(set(measures), inputs) for measures, inputs in asked if set(measures) <= set(family)]
        assert calls[0][0] == set(family)  # at the first step all members at once
        assert sum(len(inputs) for _, inputs in calls) == len({i for _, inputs in calls for i in inputs})
    alone = []
    recursive_masking(model, encodings, asking(model, LABELS, alone), [*GRADIENTS, *LEAVE])
    inputs, inputs_alone = (sum(len(i) for _, i in calls) for calls in (asked, alone))
    assert inputs < 0.8 * inputs_alone


def test_scores_do_not_depend_on_the_size_of_batches(monkeypatch):
    model = tiny.classifier()
    encodings = model.encode(LONG)
    ratios = recursive_masking(model, encodings, asking(model, LABELS), [LEAVE])
    monkeypatch.setitem(batching.TOKEN_BUDGET, "cpu", 8)
    again = recursive_masking(model, encodings, asking(model, LABELS), [LEAVE])
    backwards = recursive_masking(model, encodings[::-1], asking(model, LABELS[::-1]), [LEAVE])
    for measure in ratios:
        for i, at in enumerate(ratios[measure]):
            assert (at == again[measure][i]).all() and (at == backwards[measure][-1 - i]).all()


def test_seconds_of_what_is_shared_count_for_each(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr("faithlib.metrics.recursion.time.perf_counter", lambda: next(clock))
    seconds = {}
    recursive_masking(Table(len), [TEN], rising, [("rising", "forth"), "back"], seconds=seconds)
    assert seconds == {"rising": 9, "forth": 9, "back": 9}  # 10 % to 90 %, one batch each
    recursive_masking(Table(len), [TEN], rising, ["back"], once=["back"], seconds=seconds)
    assert seconds["back"] == 10 and seconds["rising"] == 9


def test_measures_that_part_are_asked_apart():
    asked = []

    def scores_of(encodings, examples, measures):
        asked.append((tuple(measures), len(encodings)))
        return rising(encodings, examples, measures)

    recursive_masking(Table(len), [TEN], scores_of, [("rising", "forth", "back")], ratios=(10, 20))
    assert asked == [(("rising", "forth", "back"), 1), (("rising", "forth"), 1), (("back",), 1)]


# Performance --------------------------------------------------------------------------------------


def test_performance_by_hand():
    """Class 1 where more than four, three or two words are left."""
    model = Table(lambda words: 1.0 if len(words) > 4 or len(words) in (2, 3) else -1.0)
    three = tiny.encoding(5, [1, 2, 3], ids=[CLS, 10, 11, 12, SEP])
    ratios = recursive_masking(model, [TEN, three], rising, ["rising"])
    table, predictions = performance(model, [TEN, three], [1, 1], ratios)
    assert list(table) == ["measure", "step", "metric", "value", "masked_tokens", "unchanged_texts"]
    table = table[table.measure == "rising"]
    rows = table[table.metric == "accuracy"].set_index("step")
    assert list(rows.index) == [0, *RATIOS]
    assert rows.value.tolist() == [1, 1, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0, 0]
    assert rows.masked_tokens.tolist() == [0, 1, 2, 3, 5, 6, 7, 9, 10, 11, 13]
    assert rows.unchanged_texts.tolist() == [2, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0]
    assert set(table.metric) == set(training.performance(np.array([0]), np.array([0])))
    p = predictions[(predictions.measure == "rising") & (predictions.example == 0)]
    assert p.predicted.tolist() == [1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 0]
    assert np.allclose(p.p_gold, [1 / (1 + np.exp(-v)) for v in 2.0 * p.predicted - 1])


def test_equal_inputs_are_evaluated_once():
    model, cache = Table(len), forward.Cache()
    ratios = recursive_masking(model, [TEN], rising, ["rising", "forth", "back"])
    model.seen.clear()
    table, _ = performance(model, [TEN], [1], ratios, cache=cache)
    masked = {(at <= r).tobytes() for at in (ratios[m][0] for m in ratios) for r in (0, *RATIOS)}
    assert len(model.seen) == len(set(model.seen)) == len(masked) <= 11 + 9 + 9
    assert len(table) == 4 * 11 * table.metric.nunique()
    performance(model, [TEN], [1], ratios, cache=cache)
    assert len(model.seen) == len(masked)


def test_unmasked_performance_is_that_of_evaluate():
    model = tiny.classifier()
    encodings = model.encode(LONG, tiny.TEXTS_B)
    ratios = recursive_masking(model, encodings, rising, ["rising"])
    table, _ = performance(model, encodings, LABELS, ratios)
    for step in (0, 40, 100):
        expected = training.evaluate(
            model, scores.mask(encodings, [at <= step for at in ratios["rising"]], model.mask_id), LABELS
        )
        rows = table[(table.measure == "rising") & (table.step == step)].set_index("metric")
        assert rows.value.to_dict() == {m: expected[m] for m in rows.index}


def test_curves_make_acu_and_racu():
    """Only the last word matters: masked at 10 %, or whenever chance comes to it."""
    model = Table(lambda words: 2.0 * (19 in words) - 1)
    ratios = recursive_masking(model, [TEN], rising, ["rising", "back"])
    table, _ = performance(model, [TEN], [1], ratios)
    table = table[table.metric == "accuracy"].assign(dataset="toy", model="table", seed=0)
    areas = curves.summary(table, ("dataset", "model")).set_index("measure")
    gone = ratios[scores.RANDOM][0][10] / 100
    assert areas.acu["rising"] == pytest.approx(gone - 0.1) and areas.acu["back"] == pytest.approx(gone - 1)
    assert areas.racu["rising"] == pytest.approx((gone - 0.1) / (gone - 0.05))


@pytest.mark.parametrize("seed", range(4))
def test_beam_finds_the_best_order_and_leave_one_out_none_better(seed):
    """Five words, a step each: all 120 orders by exhaustion. A beam that holds all sets is the optimum."""
    draw, words = np.random.default_rng(seed), tuple(range(10, 15))
    logit = {frozenset(w for i, w in enumerate(words) if bits >> i & 1): draw.normal() for bits in range(32)}
    model, text = Table(logit.get), tiny.encoding(7, range(1, 6), ids=[CLS, *words, SEP])

    def area(order):
        """The mean logit while words go in this order: less is more faithful."""
        return np.mean([logit[frozenset(words) - set(order[:k])] for k in range(1, 6)])

    def found_by(measure, once, **settings):
        scores_of = asking(model, np.array([1]), **settings)
        at = recursive_masking(model, [text], scores_of, [measure], range(20, 101, 20), once)[measure][0]
        return area([words[i] for i in np.argsort(at[1:6])])

    best = min(map(area, permutations(words)))
    greedy = found_by("leave_one_out", ())
    assert found_by("beam", ["beam"], beam=10) == pytest.approx(best) and greedy >= best - 1e-9
    assert found_by("beam", ["beam"], beam=1) == pytest.approx(greedy)  # a beam of one is leave-one-out, anew


# Bad input ----------------------------------------------------------------------------------------


def test_a_text_that_cannot_be_masked_is_told():
    empty = tiny.encoding(2, [], ids=[CLS, SEP])
    with pytest.raises(ValueError, match="example 1 has no maskable token: remove empty texts"):
        recursive_masking(Table(len), [TEN, empty], rising, ["rising"])


def test_a_model_without_a_mask_token_is_told():
    model = Table(len)
    model.mask_id = None
    with pytest.raises(ValueError, match="table has no mask token .*: choose another model"):
        recursive_masking(model, [TEN], rising, ["rising"])


@pytest.mark.parametrize("ratios", [(), (0, 10), (10, 10), (20, 10), (50, 110), (0.1, 0.2), (True, 50)])
def test_ratios_that_are_none_are_refused(ratios):
    with pytest.raises(ValueError, match="ratios=.* must be increasing whole percentages from 1 to 100"):
        recursive_masking(Table(len), [TEN], rising, ["rising"], ratios=ratios)


@pytest.mark.parametrize(
    ("families", "once", "message"),
    [
        (["rising", ("back", "rising")], (), "'rising' is given twice"),
        (["random"], (), "'random' is given twice .*always there"),
        (["rising"], ("beam",), "'beam' is not one of the measures"),
    ],
)
def test_measures_that_do_not_fit_are_refused(families, once, message):
    refused(message, recursive_masking, Table(len), [TEN], rising, families, once=once)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({}, "scores_of returns no 'mine': return scores of every"),
        ({"mine": [np.zeros(3)]}, "'mine', example 0: 3 scores for 12 tokens"),
        ({"mine": [np.full(12, np.nan)]}, "'mine' has NaN or infinite scores"),
        ({"mine": []}, "'mine' has scores of 0 examples for 1 encodings"),
    ],
)
def test_scores_that_do_not_fit_are_told(scores, message):
    refused(message, recursive_masking, Table(len), [TEN], lambda *asked: scores, ["mine"])
