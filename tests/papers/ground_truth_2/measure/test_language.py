"""Metrics of a language model on planted texts: targets, log ratio and judge, by hand."""

from functools import partial

import numpy as np
import pytest

from faithlib import models
from faithlib.corpora import planted
from faithlib.engine.operators import Operator
from faithlib.metrics import soft_causal
from faithlib.metrics.inputs import Inputs
from notebooks.ground_truth_2.card import LANGUAGE_MODEL
from notebooks.ground_truth_2.measure import language, scoring
from notebooks.noiser.measure.judge import Judge

BEST, WORST = ("best", ""), ("worst", "")


class Reader(Judge):
    """Names the class of a planted word that it is shown, else the third."""

    def __init__(self):
        super().__init__("reader", "{text}")

    def _ask(self, prompts):
        for prompt in prompts:
            seen = [label for label, words in enumerate(planted.CLASSES) if set(words) & set(prompt.split())]
            yield prompt, [planted.LABELS[seen[0] if seen else 2]]


@pytest.fixture(scope="module")
def rows_and_model():
    """Four texts with whole evidence, and a language model with their words."""
    rows = [row for row in planted.make("one_word", 60, 2) if row["kind"] == "whole"][:4]
    words = [*(row["text"] for row in rows), " ".join(planted.LABELS)]
    return rows, models.load_causal(LANGUAGE_MODEL, words)


@pytest.fixture(scope="module")
def inputs(rows_and_model):
    rows, model = rows_and_model
    encodings = model.encode([row["text"] for row in rows])
    return Inputs(model, encodings, language.targets(model, rows), seed=1, operator=Operator(model, "zero"))


def scores_of(rows, encodings, first):
    """Scores of each text with its evidence first, or last."""
    of_texts = []
    for e, row in zip(encodings, rows, strict=True):
        scores = np.zeros(len(e.ids))
        evidence = np.isin(e.words, row["evidence"])[e.maskable]
        scores[e.maskable] = np.where(evidence, first, np.linspace(0.2, 0.8, len(evidence)))
        of_texts.append(scores)
    return of_texts


def test_the_next_word_is_the_class(rows_and_model):
    rows, model = rows_and_model
    assert model.tokenizer.convert_ids_to_tokens(language.targets(model, rows).tolist()) == [
        planted.LABELS[row["label"]] for row in rows
    ]


def test_the_log_ratio_is_that_of_the_soft_metrics(rows_and_model, inputs):
    rows, draws = rows_and_model[0], 4
    scores = scores_of(rows, inputs.encodings, 1.0)
    ratios = language.log_ratio(inputs, scores, draws)
    ns, nc = (f(inputs, scores, draws) for f in (soft_causal.causal_soft_ns, soft_causal.causal_soft_nc))
    random = []
    for i, e in enumerate(inputs.encodings):
        drawn = np.zeros(len(e.ids))
        rng = np.random.default_rng([*inputs.seeds(i, 1)[0], 1])
        drawn[e.maskable] = rng.random(e.maskable.sum())
        random.append(drawn)
    base = [f(inputs, random, draws) for f in (soft_causal.causal_soft_ns, soft_causal.causal_soft_nc)]
    positive = ns > 0
    expected = np.log(ns[positive] / base[0][positive]) + np.log(nc / base[1])[positive]
    assert positive.any() and ratios[positive] == pytest.approx(expected)
    assert (ratios[~positive] == language.LOWEST).all()


def test_scores_of_zero_keep_nothing_and_have_the_lowest_log_ratio(inputs):
    nothing = [np.zeros(len(e.ids)) for e in inputs.encodings]
    assert (language.log_ratio(inputs, nothing, 2) == language.LOWEST).all()


def test_the_judge_needs_the_evidence(rows_and_model, inputs):
    rows, model = rows_and_model
    answered, needed = language.judged(Reader(), model, [row["text"] for row in rows], inputs.targets)
    assert (answered.sign, needed.sign) == (1, -1) and not answered.erases and not needed.erases
    best, worst = (scores_of(rows, inputs.encodings, first) for first in (1.0, 0.0))
    assert list(answered.function(inputs, best)) == [1] * 4
    assert list(answered.function(inputs, worst)) == [0] * 4
    words = np.array([len(row["text"].split()) for row in rows])
    assert list(needed.function(inputs, best)) == pytest.approx(list(1 / words))
    assert list(needed.function(inputs, worst)) == [1] * 4


def test_words_with_gaps_are_words_of_the_text(rows_and_model):
    rows, _ = rows_and_model
    gapped = language.gapped({"train": rows}, seed=3)["train"]
    assert [row["label"] for row in gapped] == [row["label"] for row in rows]
    assert all(set(a["text"].split()) <= set(b["text"].split()) for a, b in zip(gapped, rows, strict=True))


def test_what_erases_nothing_is_scored_once(rows_and_model, inputs):
    rows, model = rows_and_model
    maskable = [e.maskable for e in inputs.encodings]
    ordered = [scores_of(rows, inputs.encodings, first) for first in (1.0, 0.0)]
    explanations = [
        {BEST: best[of], WORST: worst[of]} for best, worst, of in zip(*ordered, maskable, strict=True)
    ]
    pairs = [[("near", "linear", BEST, WORST)]] * len(rows)
    operators = scoring.with_tokens([Operator(model, name) for name in ("zero", "mask", "delete")])
    texts = [row["text"] for row in rows]
    entries = partial(language.entries, judge=Reader(), model=model, texts=texts, targets=inputs.targets)
    prepared = scoring.Prepared(
        operators, inputs.encodings, inputs.targets, explanations, pairs, 1, len(rows), entries
    )
    table = scoring.rows(prepared, 0, len(rows), draws=2)
    judged = table[table.metric.isin(["answerability", "min_top_k"])]
    assert set(judged.operator) == {""} and len(judged) == 2 * len(rows) and (judged.right == 1).all()
    hard = table[table.metric == "aopc_sufficiency"]
    assert set(zip(hard.operator, hard.by, strict=True)) == {
        ("zero", "element"), ("mask", "token"), ("delete", "token")
    }  # fmt: skip
    soft = table[table.metric == "causal_soft_ns"]
    assert set(soft["map"]) == {"clip", "rank", "equal"} and ("zero", "token") in set(
        zip(soft.operator, soft.by, strict=True)
    )
