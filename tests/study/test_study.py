"""`evaluate`: one table of attributions and metrics, values by hand, and what is refused before any work."""

import numpy as np
import pandas as pd
import pytest
import tiny

from faithlib import attributions, forward
from faithlib.metrics import registry
from faithlib.scores import permuted
from faithlib.study import COLUMNS, evaluate

ATTRIBUTIONS = ["gradient_l2", "random_uniform"]


@pytest.fixture(scope="module")
def classifier():
    return tiny.classifier()


@pytest.fixture
def position():
    """A metric by hand: the score of the first maskable token; higher is better."""

    @registry.register("first_score", better="higher", range=(-np.inf, np.inf))
    def first_score(inputs, scores):
        return [s[e.maskable][0] for s, e in zip(scores, inputs.encodings, strict=True)]

    yield "first_score"
    registry.unregister("first_score")


def test_a_row_for_each_attribution_and_metric(classifier, position):
    study = evaluate(classifier, tiny.TEXTS, ATTRIBUTIONS, [position, "ns"])
    assert list(study.table) == COLUMNS and len(study.table) == 4
    assert study.table.attribution.tolist() == [name for name in ATTRIBUTIONS for _ in range(2)]
    own = study.table.set_index(["attribution", "metric"]).loc["gradient_l2", position]
    firsts = [s[e.maskable][0] for s, e in zip(study.scores["gradient_l2"], study.encodings, strict=True)]
    assert own.value == pytest.approx(np.mean(firsts)) and own.ci_low <= own.value <= own.ci_high
    assert (own.n, own.void) == (len(tiny.TEXTS), 0)
    values = study.values.query("metric == @position and attribution == 'gradient_l2'")
    wide = values.pivot(index="example", columns="baseline", values="value")
    preferred = (wide[""] > wide["matched"]) + 0.5 * (wide[""] == wide["matched"])
    assert own.diagnosticity == pytest.approx(preferred.mean())


def test_targets_are_the_predictions_unless_given(classifier, position):
    study = evaluate(classifier, tiny.TEXTS, ["input_x_gradient"], [position])
    variants = [forward.unchanged(e) for e in study.encodings]
    assert (study.targets == forward.probabilities(classifier, variants).argmax(1)).all()
    other = evaluate(classifier, tiny.TEXTS, ["input_x_gradient"], [position], targets=[0, 1, 2, 0, 1])
    assert other.targets.tolist() == [0, 1, 2, 0, 1] and other.table.value[0] != study.table.value[0]


def test_the_default_is_every_metric_that_can_have_a_value(classifier):
    frame = pd.DataFrame({"text": tiny.TEXTS[:2], "evidence": [[0], [1, 2]]})
    found = set(evaluate(classifier, frame, ["random_uniform"]).table.metric)
    wanted = {
        name
        for name in registry.names()
        if registry.get(name).level == "example"
        and registry.get(name).default
        and set(registry.get(name).needs) <= {"classifier", "mask", "evidence"}
    }
    assert found == wanted >= {"ns", "soft_nc", "auprc"}
    without = evaluate(classifier, tiny.TEXTS[:2], ["random_uniform"]).table.metric
    assert wanted - set(without) >= {"auprc", "precision", "first_hit"}


def test_values_belong_to_a_text_whatever_its_company(classifier):
    whole = evaluate(classifier, tiny.TEXTS, ["gradient_l2"], ["soft_ns", "ns"]).values
    alone = evaluate(classifier, tiny.TEXTS[2:3], ["gradient_l2"], ["soft_ns", "ns"]).values
    part = whole[whole.example == 2].reset_index(drop=True)
    assert part.value.tolist() == pytest.approx(alone.value.tolist(), abs=1e-5, nan_ok=True)


def test_values_that_mean_nothing_are_counted_and_left_out(classifier):
    @registry.register("half", better="lower", range=(0, 1))
    def half(inputs, scores):
        return [0.5, np.nan, 0.5, np.nan, 0.5]

    try:
        row = evaluate(classifier, tiny.TEXTS, ["random_uniform"], ["half"]).table.iloc[0]
        assert (row.value, row.n, row.void, row.diagnosticity) == (0.5, 3, 2, 0.5)
    finally:
        registry.unregister("half")


def test_an_attribution_of_ones_own_is_measured(classifier, position):
    @attributions.register("everywhere", signed=False, family="perturbation", cost="none")
    def everywhere(model, batch, target):
        return {"everywhere": batch.maskable.float()}

    try:
        table = evaluate(classifier, tiny.TEXTS, ["everywhere"], [position]).table
        assert (table.value[0], table.diagnosticity[0]) == (1, 0.5)
    finally:
        attributions.unregister("everywhere")


def test_language_models_have_metrics_of_their_own():
    model = tiny.causal()
    table = evaluate(model, tiny.PROMPTS, ["random_uniform"]).table
    assert {"causal_soft_ns", "causal_soft_nc"} <= set(table.metric) and "ns" not in set(table.metric)


def test_matched_scores_are_the_attributions_own_in_random_order(classifier):
    seen = []

    @registry.register("seen", better="higher", range=(0, 1))
    def watching(inputs, scores):
        seen.append(scores)
        return np.zeros(len(scores))

    try:
        study = evaluate(classifier, tiny.TEXTS, ["gradient_l2"], ["seen"])
    finally:
        registry.unregister("seen")
    own, matched = seen
    assert own is study.scores["gradient_l2"]
    for s, m, e in zip(own, matched, study.encodings, strict=True):
        assert sorted(s) == sorted(m) and (m[~e.maskable] == 0).all()
        assert permuted(s, e, np.random.default_rng(0)).shape == m.shape


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (dict(data="one text"), "data='one text' is one text: give a list of texts"),
        (dict(data=pd.DataFrame({"review": ["a"]})), "data has the columns review: name the column"),
        (dict(data=[]), "data has no rows: give at least one text"),
        (dict(attributions=["limes"]), "attribution 'limes' is unknown: did you mean 'lime'"),
        (dict(attributions=[]), "attributions=[] leaves nothing to explain with"),
        (dict(metrics=["nz"]), "metric 'nz' is unknown"),
        (dict(metrics=["auprc"]), "metric 'auprc' needs words that are known"),
        (dict(metrics=["racu"]), "metric 'racu' needs models trained again"),
        (dict(step=5), "setting 'step' is unknown: did you mean 'steps'"),
    ],
)
def test_wrong_requests_are_one_line_before_any_work(classifier, monkeypatch, given, told):
    monkeypatch.setattr(classifier, "logits", None)
    request = {"data": tiny.TEXTS, "attributions": ["lime"], "metrics": ["ns"], **given}
    with pytest.raises(ValueError) as error:
        evaluate(classifier, request.pop("data"), request.pop("attributions"), **request)
    assert told in str(error.value) and "\n" not in str(error.value)


def test_a_metric_of_another_shape_is_told(classifier):
    @registry.register("short", better="higher", range=(0, 1))
    def short(inputs, scores):
        return [0.5]

    try:
        with pytest.raises(ValueError, match=r"'short' gives values of shape \(1,\) for 5 texts"):
            evaluate(classifier, tiny.TEXTS, ["random_uniform"], ["short"])
    finally:
        registry.unregister("short")
