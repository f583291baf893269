"""Scores of metrics: controls, and every metric on the compiled model against a plain loop."""

import numpy as np
import pandas as pd
import pytest
from wrong import refused

from faithlib.corpora import planted
from faithlib.metrics import erasure, fidelity, flip, normalised, registry, soft
from notebooks.ground_truth.measure import protocol
from notebooks.ground_truth.measure.compiled import COPIES, SHARP, TOTAL, compiled
from notebooks.ground_truth.measure.explanations import ladders

DRAWS = 3
LADDERS = {"one_word": ("fifths", "shuffled"), "redundant": ("copies",), "graded": ("grades",)}


def known(mechanism, count=4, seed=2):
    """Texts with whole evidence and their compiled model."""
    rows = [row for row in planted.make(mechanism, 60, seed) if row["kind"] == "whole"][:count]
    return rows, compiled("one_word" if mechanism == "blind" else mechanism, [row["text"] for row in rows])


def accuracy(table):
    known = table.pairs - table.void
    return ((table.right + table.ties / 2) / known).groupby([table.metric, table.ladder]).mean()


@pytest.mark.parametrize("mechanism", LADDERS)
def test_controls_have_their_known_scores(mechanism):
    rows, model = known(mechanism, 12)
    functions = protocol.metrics(["nc"])
    table = protocol.score(
        model, planted.MECHANISMS[mechanism], rows, functions | protocol.controls(functions)
    )
    found = accuracy(table)
    for ladder in LADDERS[mechanism]:
        if mechanism != "graded":  # the oracle knows which words are evidence, not how much each weighs
            assert found["oracle", ladder] == 1
        assert found["magnitude", ladder] == 0.5
        assert found["1 - nc", ladder] == pytest.approx(1 - found["nc", ladder])
        assert found["nc", ladder] > 0.7
    ties = table[(table.metric == "magnitude") & table.ladder.isin(LADDERS[mechanism])]
    assert (ties.ties == ties.pairs).all()


def test_random_is_at_chance():
    rows, model = known("one_word", 60)
    rows = [row for row in planted.make("one_word", 900, 5) if row["kind"] == "whole"][:400]
    model = compiled("one_word", [row["text"] for row in rows])
    random = {"random": protocol.controls(protocol.metrics(["nc"]))["random"]}
    found = accuracy(protocol.score(model, planted.MECHANISMS["one_word"], rows, random))
    assert found["random", "fifths"] == pytest.approx(0.5, abs=0.04)  # 4,000 pairs


def test_a_blind_model_gives_every_metric_nothing_to_see():
    """A model of other words: evidence by name alone. Plausibility is 1, metrics tie or mean nothing."""
    rows = [row for row in planted.make("blind", 60, 1) if row["kind"] == "whole"][:6]
    model = compiled("xor", [row["text"] for row in rows])
    functions = protocol.metrics(["aopc_comprehensiveness", "decision_flip", "soft_nc"], draws=1)
    table = protocol.score(model, planted.MECHANISMS["blind"], rows, functions | protocol.controls(functions))
    found = accuracy(table)
    assert found["oracle", "fifths"] == 1
    assert found["aopc_comprehensiveness", "fifths"] == found["decision_flip", "fifths"] == 0.5
    kept, void = protocol.total(table)
    assert dict(void) == {"soft_nc": 1.0} and "soft_nc" not in set(kept.metric)


def test_a_metric_that_means_nothing_on_a_third_of_the_texts_is_not_scored():
    table = pd.DataFrame({"metric": ["mine"] * 2 + ["nc"], "ladder": ["a", "b", "a"], "void": [5, 2, 3]})
    table = table.reindex(columns=[*protocol.KEYS, *protocol.COUNTS]).fillna(0).assign(pairs=10)
    kept, void = protocol.total(table)
    assert kept.metric.tolist() == ["nc"] and void == [("mine", 0.35)]


def test_no_text_is_one_line():
    with pytest.raises(ValueError, match="no text of xor passes the gates: train longer, or leave"):
        protocol.score(None, planted.MECHANISMS["xor"], [], {})


def test_a_metric_without_a_value_of_a_text_is_refused():
    refused("metric 'racu' has no value of a text", protocol.metrics, ["racu"])
    assert {"released_soft_ns", "soft_ns", "ns"} < set(protocol.metrics())


def test_scales_count_as_invariant_unless_they_reverse_a_decided_pair():
    of = {1.0: (2.0, 1.0), 0.1: (1.0, 2.0), 10.0: (5.0, 5.0)}  # of the better and the worse explanation
    values = {
        ("fifths", rung, power): np.array([pair[rung]]) for power, pair in of.items() for rung in (0, 1)
    }
    values |= {("null", kind, 1.0): np.array([2.0]) for kind in ("flat", "peaked", "normal", "ones")}
    first, *nulls = protocol._counts(values, [{"fifths": [(0, 1)]}])
    assert (first["right"], first["decided"], first["invariant"]) == (1, 2, 1)  # a tie is no reversal
    assert [row["ties"] for row in nulls] == [1] * 4


def test_attributions_are_ordered_where_their_auprc_is_told_apart():
    names = {"gradient_l2": 0.9, "leave_one_out_abs": 0.5, "lime": 0.2, "random_uniform": 0.1}
    noise = np.random.default_rng(0).normal(0, 0.01, (len(names), 30))
    rows = [
        (f"t{text}", name, metric, value + noise[i, text] if metric == "auprc" else sign * value)
        for i, (name, value) in enumerate(names.items())
        for metric, sign in (("auprc", 1), ("good", 1), ("bad", -1))
        for text in range(30)
    ]
    table = protocol.order(pd.DataFrame(rows, columns=["text", "attribution", "metric", "value"]))
    found = table.set_index(["metric", "ladder"])
    assert found.loc["good", "attributions, absolute"][["pairs", "right"]].tolist() == [1, 1]
    assert found.loc["bad", "attributions, absolute"].right == 0
    assert "attributions, signed" not in found.loc["good"].index  # lime alone is signed
    assert "attributions, absolute without occlusion" not in found.loc["good"].index


@pytest.mark.parametrize("keep", [True, False])
def test_the_released_definition_is_that_of_the_soft_metrics(keep):
    """Against the driver of the paper's release, draw by draw, which names its seeds in another way."""
    rows, model = known("one_word")
    given, draws = protocol.inputs(model, rows), 3
    scores = [
        protocol.placed(e, np.random.default_rng(i).random(e.maskable.sum()))
        for i, e in enumerate(given.encodings)
    ]
    expected = []
    for draw in range(draws):
        plan = soft.Settings(definition="released", erasures=("soft",), seed=draw)
        table = soft.values(model, given.encodings, given.targets, {"": scores}, plan)
        own = table[(table.metric == ("Soft-NS" if keep else "Soft-NC")) & (table.baseline == "")]
        expected.append(own[own.attribution == ""].raw.to_numpy())
    given.seeds = lambda i, n: [[soft.SOFT_DRAWS, draw, i, 0] for draw in range(n)]
    np.testing.assert_allclose(protocol.released(given, scores, draws, keep), np.mean(expected, 0), atol=1e-6)


def test_explanations_together_have_the_values_that_each_has_alone():
    rows, model = known("xor", 3)
    functions = protocol.metrics(draws=2)
    encodings = model.encode([row["text"] for row in rows])
    scores = {
        name: [
            protocol.placed(e, np.random.default_rng([n, i]).random(e.maskable.sum()))
            for i, e in enumerate(encodings)
        ]
        for n, name in enumerate("ab")
    }
    found = protocol._values(model, rows, scores, functions, seed=1)
    for metric, (function, sign) in functions.items():
        for name in scores:
            alone = sign * np.asarray(function(protocol.inputs(model, rows, 1), scores[name]), float)
            np.testing.assert_allclose(found[metric][name], alone, atol=1e-6)


def test_a_metric_with_another_number_of_values_is_one_line():
    rows, model = known("one_word", 2)
    functions = {"mine": (lambda inputs, scores: [0.5], 1)}
    told = r"metric 'mine' gives values of shape \(1,\) for 2 texts: return one"
    refused(told, protocol._values, model, rows, {"a": [None] * 2}, functions, 0)


# Enumeration --------------------------------------------------------------------------------------


def p(present, n=None):
    """The probability of the class of an input of n tokens that has this share of its evidence's dimensions.

    The head of the class looks for the evidence: exp(SHARP · share) against exp(SHARP / 2) for [CLS] itself
    and 1 for every other token. Without n, attention is a step.
    """
    looked = np.exp(SHARP * present)
    head = present * looked / (looked + np.exp(SHARP / 2) + n - 2) if n else present
    logits = np.array([TOTAL * head - TOTAL / 2, -TOTAL / 2, 0])
    return (np.exp(logits) / np.exp(logits).sum())[0]


S0 = 1 - (p(True) - p(False))


def by_hand(metric, scores, evidence, label, seeds):
    """A metric's value by a plain loop over its perturbed inputs; what is erased is a neutral word."""
    order, n = np.argsort(-scores, kind="stable"), len(scores)
    drop = lambda erased: max(0, p(True) - p(not evidence[list(erased)].any()))  # noqa: E731
    if metric in ("ns", "nc"):
        tops = [order[: int(np.ceil(round(r * n, 9)))] for r in erasure.RATIOS]
        if metric == "nc":
            return np.mean([drop(top) for top in tops]) / (1 - S0)
        return np.mean([1 - drop(np.setdiff1d(order, top)) - S0 for top in tops]) / (1 - S0)
    if metric.startswith("aopc"):
        order = order if metric.endswith("comprehensiveness") else np.argsort(scores, kind="stable")
        return np.mean([drop(order[:k]) for k in normalised.levels(n)])
    if metric == "decision_flip":
        return next(k for k in flip.steps(n) if evidence[order[:k]].any()) / n
    if metric.startswith("f_fidelity"):
        falls = []
        for size in fidelity.SIZES:
            top, rest = np.split(order, [max(1, round(size * n))])
            part = np.sort(top if metric.endswith("plus") else rest)
            for seed in seeds:
                drawn = np.random.default_rng(seed).random(n + 2)[1:-1][part]  # of [CLS] and [SEP], too
                masked = part[np.argsort(drawn)[: max(1, int(min(len(part) / 2, n / 10)))]]
                falls.append(drop(masked))
        return np.mean(falls)
    released, keep = metric.startswith("released_"), metric.endswith("ns")
    row, inside = np.concatenate([[0], scores, [0]]), np.array([False, *[True] * n, False])
    (at,), width, values = np.flatnonzero(np.concatenate([[False], evidence, [False]])), 2 * COPIES, []
    role = slice(label * COPIES, (label + 1) * COPIES)
    for seed in seeds:
        if released:
            a = soft.released_probability(row, inside, 1 if keep else 5)
            e = soft.factor("bernoulli", a, inside | True, not keep, width, seed)
        else:
            a = soft.to_probability(row, inside, "equal" if metric.startswith("equal") else "minmax")
            e = soft.factor("bernoulli", a, inside, keep, width, seed)
        fall = max(0, p(True) - p(e[at, role].mean(), n + 2))
        value = (1 - fall - S0) / (1 - S0) if keep else fall / (1 - S0)
        values.append(np.clip((1 - fall - S0 + 1e-4) / (1 - S0 + 1e-4), 0, 1) if released and keep else value)
    return np.clip(np.mean(values), 0, 1) if released else np.mean(values)


@pytest.mark.parametrize("metric", protocol.metrics(draws=DRAWS))
def test_every_metric_is_that_of_a_plain_loop_on_the_compiled_model(metric):
    rows, model = known("one_word")
    function, sign = protocol.metrics(draws=DRAWS)[metric]
    given = protocol.inputs(model, rows)
    better = registry.get(metric.removeprefix("released_")).better
    assert sign == (1 if better == "higher" else -1)
    made = [
        ladders(planted.MECHANISMS["one_word"], row, protocol.evidence_of(e, row["evidence"]),
                np.zeros(int(e.maskable.sum()), bool), i)[0]
        for i, (row, e) in enumerate(zip(rows, given.encodings, strict=True))
    ]  # fmt: skip
    for key in made[0]:
        scores = [protocol.placed(e, text[key]) for e, text in zip(given.encodings, made, strict=True)]
        found = function(given, scores)
        for i, (row, e) in enumerate(zip(rows, given.encodings, strict=True)):
            evidence = protocol.evidence_of(e, row["evidence"])
            expected = by_hand(metric, scores[i][e.maskable], evidence, row["label"], given.seeds(i, DRAWS))
            assert found[i] == pytest.approx(expected, abs=1e-6), key
