"""Metrics of a language model on planted texts: targets, log ratio and judge, by hand."""

import numpy as np
import pytest

from faithlib import models
from faithlib.corpora import planted
from faithlib.metrics import soft_causal
from notebooks.ground_truth.measure import gates, language, protocol
from notebooks.ground_truth.measure.unit import Unit
from notebooks.noiser.measure.judge import Judge


@pytest.fixture(scope="module")
def known():
    """Four texts with whole evidence, and a language model with their words."""
    rows = [row for row in planted.make("one_word", 60, 2) if row["kind"] == "whole"][:4]
    return rows, models.load_causal("tiny-llama", [*(row["text"] for row in rows), " ".join(planted.LABELS)])


class Reader(Judge):
    """Names the class of a planted word that it is shown, else the third."""

    def __init__(self):
        super().__init__("reader", "{text}")

    def _ask(self, prompts):
        for prompt in prompts:
            seen = [label for label, words in enumerate(planted.CLASSES) if set(words) & set(prompt.split())]
            yield prompt, [planted.LABELS[seen[0] if seen else 2]]


def scores_of(rows, model, first):
    """Scores of each text with its evidence first, or last."""
    found = []
    for e, row in zip(model.encode([row["text"] for row in rows]), rows, strict=True):
        evidence = protocol.evidence_of(e, row["evidence"])
        order = np.where(evidence, first, np.linspace(0.2, 0.8, len(evidence)))
        found.append(protocol.placed(e, order))
    return found


def test_the_next_word_is_the_class(known):
    rows, model = known
    assert model.tokenizer.convert_ids_to_tokens(language.targets(model, rows).tolist()) == [
        planted.LABELS[row["label"]] for row in rows
    ]
    table = gates.of_texts(model, planted.MECHANISMS["one_word"], rows, [["box"]], np.random.default_rng(0))
    assert not table.passes.any() and {"without_mask", "without_delete"} < set(table)  # never trained


def test_the_log_ratio_is_that_of_the_soft_metrics(known):
    rows, model = known
    given, draws = protocol.inputs(model, rows, seed=1), 4
    scores = scores_of(rows, model, 1.0)
    found = language.log_ratio(given, scores, draws)
    ns, nc = (f(given, scores, draws) for f in (soft_causal.causal_soft_ns, soft_causal.causal_soft_nc))
    again = protocol.inputs(model, rows, seed=1)
    random = []
    for i, e in enumerate(again.encodings):
        drawn = np.zeros(len(e.ids))
        rng = np.random.default_rng([*again.seeds(i, 1)[0], 1])
        drawn[e.maskable] = rng.random(e.maskable.sum())
        random.append(drawn)
    base = [f(again, random, draws) for f in (soft_causal.causal_soft_ns, soft_causal.causal_soft_nc)]
    known_values = ns > 0
    expected = np.log(ns[known_values] / base[0][known_values]) + np.log(nc / base[1])[known_values]
    assert known_values.any() and found[known_values] == pytest.approx(expected)
    assert (found[~known_values] == language.LOWEST).all()


def test_scores_of_zero_keep_nothing_and_have_the_lowest_log_ratio(known):
    rows, model = known
    given = protocol.inputs(model, rows)
    nothing = [np.zeros(len(e.ids)) for e in given.encodings]
    assert (language.log_ratio(given, nothing, 2) == language.LOWEST).all()


def test_the_judge_needs_the_evidence(known):
    rows, model = known
    functions = language.metrics(Reader(), rows, draws=1)
    given = protocol.inputs(model, rows)
    best, worst = (scores_of(rows, model, first) for first in (1.0, 0.0))
    (answered, better), (needed, fewer) = functions["answerability"], functions["min_top_k"]
    assert (better, fewer) == (1, -1)
    assert list(answered(given, best)) == [1] * 4 and list(answered(given, worst)) == [0] * 4
    words = np.array([len(row["text"].split()) for row in rows])
    assert (
        list(needed(given, best)) == pytest.approx(list(1 / words)) and list(needed(given, worst)) == [1] * 4
    )


def test_words_with_gaps_are_words_of_the_text(known):
    rows, _ = known
    found = language.gapped({"train": rows}, seed=3)["train"]
    assert [row["label"] for row in found] == [row["label"] for row in rows]
    assert all(set(a["text"].split()) <= set(b["text"].split()) for a, b in zip(found, rows, strict=True))


def test_metrics_of_a_language_model_need_no_classes():
    names = set(protocol.metrics(kind="causal"))
    assert {"causal_soft_ns", "causal_soft_nc", "aopc_comprehensiveness", "f_fidelity_plus"} <= names
    assert not {"ns", "soft_ns", "decision_flip", "released_soft_ns"} & names
    assert protocol.passes("log_ratio", 15, 16) == 32 and protocol.passes("min_top_k", 15) == 5
    with pytest.raises(ValueError, match="metric 'ns' has no value of a text and a language model alone"):
        protocol.metrics(["ns"], kind="causal")


@pytest.mark.parametrize("given", [{"classes": 2}, {"masking": "half"}, {"sentences": ("a b c d e f",)}])
def test_a_language_model_has_the_main_setting_only(given):
    with pytest.raises(ValueError, match="tiny-llama has three classes, generated texts and no masks"):
        Unit("tiny-llama", 0, **given).mechanisms()
