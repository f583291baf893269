"""Agreement with evidence: values worked out by hand, and every way to break a tie tried out."""

from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
import tiny
from wrong import refused

from faithlib import models, tasks
from faithlib.metrics.plausibility import (
    BETTER,
    COLUMNS,
    auprc,
    chance,
    evidence_tokens,
    first_hit,
    part_shares,
    plausibility,
    precision,
    without_evidence,
    words_of,
)

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
FIVE = tiny.encoding(7, (1, 2, 3, 4, 5))  # five words between two special tokens


def by_hand(order):
    """AUPRC, precision and first hit of tokens in a definite order, best first: plain counting."""
    hits = [rank for rank, true in enumerate(order, 1) if true]
    average = sum(count / rank for count, rank in enumerate(hits, 1)) / len(hits)
    return average, sum(order[: len(hits)]) / len(hits), hits[0]


@pytest.mark.parametrize(
    ("scores", "true", "expected"),
    [
        ([3, 2, 1, 0], [1, 0, 0, 0], (1, 1, 1)),
        ([3, 2, 1, 0], [0, 0, 0, 1], (1 / 4, 0, 4)),
        ([3, 2, 1, 0], [0, 1, 0, 1], ((1 / 2 + 2 / 4) / 2, 1 / 2, 2)),
        ([-3, -2, -1, -4], [0, 1, 1, 0], (1, 1, 1)),  # an order, not a size: negative scores rank too
        ([5, 0, 0, 0], [1, 1, 0, 0], ((1 + 2 / 4) / 2, (1 + 1 / 3) / 2, 1)),  # one of three for one place
        ([5, 0, 0, 0], [0, 1, 0, 0], (1 / 4, 0, 1 + 4 / 2)),
        ([1, 1, 1, 1], [0, 1, 1, 0], (1 / 2, 1 / 2, 5 / 3)),
        ([2, 1, 1, 0], [1, 1, 1, 1], (1, 1, 1)),
        ([7], [1], (1, 1, 1)),
    ],
)
def test_values_by_hand(scores, true, expected):
    scores, true = np.array(scores, float), np.array(true, bool)
    assert (auprc(scores, true), precision(scores, true), first_hit(scores, true)) == pytest.approx(expected)


def test_ties_are_the_mean_over_every_way_to_break_them():
    for levels in product((0, 1, 2), repeat=5):  # all patterns of ties of five tokens
        scores = np.array(levels, float)
        for true in (np.array(t, bool) for t in ([1, 0, 0, 0, 0], [0, 1, 0, 1, 0], [1, 0, 1, 0, 1])):
            tried = [
                by_hand(true[sorted(order, key=lambda i: -scores[i])])  # a stable sort
                for order in permutations(range(5))
            ]
            _, expected_precision, expected_first = np.mean(tried, axis=0)
            assert precision(scores, true) == pytest.approx(expected_precision)
            assert first_hit(scores, true) == pytest.approx(expected_first)


@pytest.mark.parametrize(("n", "h"), [(1, 1), (2, 1), (5, 1), (5, 3), (6, 2), (6, 6)])
def test_chance_is_the_mean_over_all_orders(n, h):
    true = np.arange(n) < h
    expected = np.mean([by_hand(true[list(order)]) for order in permutations(range(n))], axis=0)
    assert list(chance(n, h)) == list(BETTER)
    assert list(chance(n, h).values()) == pytest.approx(list(expected))


def test_a_constant_attribution_wins_nothing():
    first, last = np.arange(8) < 2, np.arange(8) > 5
    same = np.zeros(8)
    for metric in (auprc, precision, first_hit):
        assert metric(same, first) == metric(same, last)  # wherever the evidence stands
    assert precision(same, first) == chance(8, 2)["precision"]
    assert first_hit(same, first) == chance(8, 2)["first_hit"]
    assert auprc(same, first) == 2 / 8 < chance(8, 2)["auprc"]


def test_only_the_order_counts():
    generator = np.random.default_rng(0)
    for _ in range(20):
        scores, true = generator.integers(-3, 4, 9).astype(float), generator.permutation(9) < 3
        shuffled = generator.permutation(9)
        for metric in (auprc, precision, first_hit):
            value = metric(scores, true)
            assert metric(np.exp(scores) - 7, true) == value  # any growing function of the scores
            assert metric(scores[shuffled], true[shuffled]) == pytest.approx(value)


def test_the_evidence_itself_is_perfect_and_its_opposite_is_worst():
    true = np.arange(9) % 3 == 0  # 3 of 9
    assert [m(true.astype(float), true) for m in (auprc, precision, first_hit)] == [1, 1, 1]
    opposite = -true.astype(float)
    assert [m(opposite, true) for m in (auprc, precision, first_hit)] == [3 / 9, 0, 7]


def test_the_tokens_of_an_evidence_word_are_its_pieces():
    model = tiny.classifier()
    (encoding,) = model.encode(["a long , not unlikely film"], ["not unlikely ?"])
    true = evidence_tokens(encoding, [3, 4])
    assert np.array(model.tokens(encoding))[true].tolist() == ["not", "un", "##like", "##ly"]
    assert not true[~encoding.maskable].any()  # the same words in text_b are none
    assert not evidence_tokens(encoding, []).any()


def test_the_driver_looks_at_maskable_tokens_only():
    scores = {"mine": [np.array([9, 1, 3, 2, 0, 0, 9.0])], "last": [np.array([9, 1, 2, 3, 4, 5, 9.0])]}
    table = plausibility([FIVE], [[0, 2]], scores)  # words 0 and 2: tokens 1 and 3
    assert list(table) == COLUMNS and len(table) == 6
    value = table.set_index(["attribution", "metric"]).value
    assert list(value["mine"]) == pytest.approx([(1 / 2 + 2 / 3) / 2, 1 / 2, 2])
    assert list(value["last"]) == pytest.approx([(1 / 3 + 2 / 5) / 2, 0, 3])
    assert list(table.metric[:3]) == list(BETTER)
    assert dict(zip(table.metric, table.chance, strict=True)) == chance(5, 2)


def test_examples_are_kept_apart_and_in_order():
    other = tiny.encoding(4, (1, 2))
    table = plausibility([FIVE, other], [[4], [0]], {"mine": [np.arange(7.0), np.array([0, 1, 0, 0.0])]})
    first = table[table.metric == "first_hit"]
    assert list(first.example) == [0, 1] and list(first.value) == [1, 1] and list(first.chance) == [3, 1.5]


def test_examples_without_evidence_are_told_and_not_dropped():
    model = tiny.classifier(positions=9)
    texts = ["boring , boring , boring , boring , boring , long"] * 4
    encodings = [model.truncate(e) for e in model.encode(texts)]  # seven words of eleven are left
    evidence = [[], [9, 10], [0, 10], [0, 2]]
    table = plausibility(encodings, evidence, {"mine": [np.arange(9.0)] * 4})
    assert len(table) == 4 * 3
    assert table[table.example < 2][["value", "chance"]].isna().all(axis=None)
    assert table[table.example >= 2][["value", "chance"]].notna().all(axis=None)
    notes = without_evidence(encodings, evidence)
    assert [row["what"] for row in notes] == [
        "no value: no evidence",
        "no value: no evidence left",
        "a part of the evidence missing",
    ]
    assert [row["n"] for row in notes] == [1, 1, 1]
    assert without_evidence(encodings[3:], evidence[3:]) == []


@pytest.mark.parametrize(
    ("evidence", "scores", "named"),
    [
        ([[0]], [np.zeros(7)] * 2, "'mine' has scores of 2 examples for 1"),
        ([[0]], [np.zeros(5)], "'mine', example 0: 5 scores for 7 tokens"),
        ([[0]], [np.full(7, np.nan)], "'mine' has NaN or infinite scores for example 0"),
        ([[-1]], [np.zeros(7)], r"evidence \[-1\]"),
        ([[True, False]], [np.zeros(7)], "give indices of words"),
    ],
)
def test_mistakes_are_one_line(evidence, scores, named):
    refused(named, plausibility, [FIVE], evidence, {"mine": scores})


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the mirror of the data sets")
@pytest.mark.parametrize("task", ["multirc", "evidence_inference"])
def test_human_rationales_lie_on_the_tokens_of_the_real_model(task):
    data = tasks.load(task, data_dir=DATA, sizes={"train": 20, "validation": 20, "test": 20})
    rows = data.splits["test"]
    model = models.load("sentence-transformers/all-MiniLM-L6-v2", data.task.labels, max_length=256)
    encodings = model.encode(rows["text"], rows["text_b"])
    for encoding, row in zip(encodings, rows, strict=True):
        words = row["text"].split()
        marked = "".join(words[i] for i in row["evidence"])
        marked = model.tokenizer.backend_tokenizer.normalizer.normalize_str(marked).replace(" ", "")
        pieces = [
            t.removeprefix("##")
            for t in np.array(model.tokens(encoding))[evidence_tokens(encoding, row["evidence"])]
        ]
        assert "[UNK]" in pieces or "".join(pieces) == marked
    encodings, _ = models.check_examples(model, encodings, "truncate")
    generator = np.random.default_rng(0)
    scores = [generator.standard_normal(len(e.ids)) for e in encodings]
    table = plausibility(encodings, rows["evidence"], {"noise": scores})
    gone = sum(row["n"] for row in without_evidence(encodings, rows["evidence"]) if "no value" in row["what"])
    assert table[table.metric == "auprc"].value.isna().sum() == gone < len(rows)


# Parts of a text ------------------------------------------------------------------------------------


def test_a_part_is_found_word_by_word():
    text = "When my flight landed in Japan, I slept. (I had a dream). It was in the capital,"
    words = text.split()
    assert [words[i] for i in words_of(text, "Japan")] == ["Japan,"]
    assert [words[i] for i in words_of(text, "(I had a dream).")] == ["(I", "had", "a", "dream)."]
    assert words_of(text, "When my") == [0, 1] and words_of(text, "") == []
    refused("'Chad' is not in", words_of, text, "Chad")


def test_shares_by_hand():
    encodings = [tiny.encoding(6, [1, 2, 3, 4]), tiny.encoding(4, [1, 2])]
    parts = [{"subject": [0], "distractor": [1, 2]}, {"distractor": [0]}]
    scores = {"a": [np.array([9, 1, -2, 0, 1, 9]), np.zeros(4)]}
    table = part_shares(encodings, parts, scores)
    assert table.part.tolist() == ["subject", "distractor", "distractor"]
    assert table.share.tolist()[:2] == [0.25, 0.5] and np.isnan(table.share[2])
    assert table.chance.tolist() == [0.25, 0.5, 0.5]
    refused("parts of 1 examples for 2", part_shares, encodings, parts[:1], scores)
