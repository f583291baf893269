"""`evaluate`: one table of attributions and metrics, values by hand, and what is refused before any work."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import datasets
import numpy as np
import pandas as pd
import pytest
import tiny
from sklearn.metrics import average_precision_score
from wrong import refused

from faithlib import attributions, load_data, store
from faithlib.engine import forward
from faithlib.metrics import registry
from faithlib.metrics.inputs import Inputs
from faithlib.scores import permuted
from faithlib.statistics import crossed_interval
from faithlib.study import COLUMNS, evaluate, explorer, plan, remarks

ATTRIBUTIONS = ["gradient_l2", "random_uniform"]


def test_a_row_for_each_attribution_and_metric(classifier, position):
    study = evaluate(classifier, tiny.TEXTS, ATTRIBUTIONS, [position, "ns"])
    assert list(study.table) == COLUMNS and len(study.table) == 4
    assert study.table.attribution.tolist() == [name for name in ATTRIBUTIONS for _ in range(2)]
    row = study.table.set_index(["attribution", "metric"]).loc["gradient_l2", position]
    firsts = [s[e.maskable][0] for s, e in zip(study.scores["gradient_l2"], study.encodings, strict=True)]
    assert row.value == pytest.approx(np.mean(firsts)) and row.ci_low <= row.value <= row.ci_high
    assert (row.n, row.void) == (len(tiny.TEXTS), 0)
    values = study.values.query("metric == @position and attribution == 'gradient_l2'")
    wide = values.pivot(index="example", columns="baseline", values="value")
    preferred = (wide[""] > wide["matched"]) + 0.5 * (wide[""] == wide["matched"])
    assert row.diagnosticity == pytest.approx(preferred.mean())


def test_the_default_is_every_metric_that_can_have_a_value(classifier):
    frame = pd.DataFrame({"text": tiny.TEXTS[:2], "evidence": [[0], [1, 2]]})
    metrics = set(evaluate(classifier, frame, ["random_uniform"]).table.metric)
    wanted = {
        name
        for name in registry.names()
        if registry.get(name).level == "example"
        and registry.get(name).default
        and set(registry.get(name).needs) <= {"classifier", "mask", "evidence"}
    }
    assert metrics == wanted >= {"ns", "soft_nc", "auprc"}
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
    actual, matched = seen
    assert [s.tolist() for s in actual] == [s.tolist() for s in study.scores["gradient_l2"]]
    for s, m, e in zip(actual, matched, study.encodings, strict=True):
        assert sorted(s) == sorted(m) and (m[~e.maskable] == 0).all()
        assert permuted(s, e, np.random.default_rng(0)).shape == m.shape


def test_a_metric_of_another_shape_is_told(classifier):
    @registry.register("short", better="higher", range=(0, 1))
    def short(inputs, scores):
        return [0.5]

    try:
        with pytest.raises(ValueError, match=r"'short' gives values of shape \(1,\): give 5, one a text"):
            evaluate(classifier, tiny.TEXTS, ["random_uniform"], ["short"])
    finally:
        registry.unregister("short")


def test_scores_and_texts_of_other_containers_are_taken(classifier):
    listed = [np.arange(len(e.ids)) for e in classifier.encode(tiny.TEXTS)]
    column = datasets.Dataset.from_dict({"text": tiny.TEXTS})["text"]
    for texts in (column, pd.Index(tiny.TEXTS)):
        study = evaluate(classifier, texts, {"mine": iter(listed)}, ["ns"], progress=False)
        assert study.texts == tiny.TEXTS
        assert study.table.equals(evaluate(classifier, tiny.TEXTS, {"mine": listed}, ["ns"]).table)


def test_a_metric_that_gives_no_numbers_is_told(classifier):
    @registry.register("words", better="higher", range=(0, 1))
    def words(inputs, scores):
        return {"first": 0.5}

    try:
        refused(
            "metric 'words' gives no numbers: give one",
            evaluate,
            classifier,
            tiny.TEXTS,
            ["random_uniform"],
            ["words"],
        )
    finally:
        registry.unregister("words")


def test_a_setting_that_no_chosen_attribution_takes_is_said(classifier, capsys):
    evaluate(classifier, tiny.TEXTS, ["leave_one_out"], ["ns"], samples=50)
    assert "samples=50: no attribution of leave_one_out takes it" in capsys.readouterr().out
    evaluate(
        classifier, tiny.TEXTS, ["leave_one_out", "integrated_gradients"], ["ns"], steps=5, removal="mask"
    )
    assert "takes it" not in capsys.readouterr().out


@pytest.mark.parametrize("value", [6.5, -0.1, np.inf])
def test_a_value_outside_a_metrics_range_is_told(classifier, value):
    registry.register("beyond", better="higher", range=(0, 1))(
        lambda inputs, scores: [value, np.nan] * 2 + [1]
    )
    try:
        with pytest.raises(ValueError, match=f"'beyond' gives {value}, its range is 0 to 1: give NaN"):
            evaluate(classifier, tiny.TEXTS, ["random_uniform"], ["beyond"])
    finally:
        registry.unregister("beyond")


# Labels, several models and the rest of a call ------------------------------------------------------


def test_erasure_that_changes_nothing_is_void(classifier, monkeypatch):
    study = evaluate(
        classifier, tiny.TEXTS, ["gradient_l2"], ["ns", "soft_ns", "equal_soft_ns"], operator="zero"
    )
    p = forward.probabilities(classifier, [forward.unchanged(e) for e in study.encodings])
    zero = forward.probabilities(classifier, [forward.zeroed(e, e.maskable) for e in study.encodings])
    rows = np.arange(len(p))
    room = np.maximum(0, p[rows, study.targets] - zero[rows, study.targets])  # 1 − S0
    void = (room < 0.05).sum()
    assert 0 < void < len(rows) and (study.table.void == void).all()
    assert (study.table.n + study.table.void == len(rows)).all()


def test_several_models_are_crossed_with_texts():
    models = [tiny.classifier(seed=seed) for seed in (2, 4, 5)]
    study = evaluate(models, tiny.TEXTS, ["gradient_l2", "random_uniform"], ["nc", "decision_flip"])
    assert [part.model_name for part in study.parts] == ["tiny-bert", "tiny-bert (2)", "tiny-bert (3)"]
    assert study.model_name == "tiny-bert, tiny-bert (2), tiny-bert (3)"
    assert set(study.table.unit) == {"models × texts"} and set(study.parts[0].table.unit) == {
        "texts, for this model"
    }
    wide = study.values.query("baseline == '' and attribution == 'gradient_l2' and metric == 'decision_flip'")
    wide = wide.pivot(index="model", columns="example", values="value").to_numpy()
    expected = crossed_interval(wide, limits=(0, 1))
    row = study.table.set_index(["attribution", "metric"]).loc["gradient_l2", "decision_flip"]
    assert [row.value, row.ci_low, row.ci_high] == pytest.approx(
        [expected.value, expected.low, expected.high]
    )
    alone = evaluate(models[1], tiny.TEXTS, ["gradient_l2", "random_uniform"], ["nc", "decision_flip"])
    assert study.parts[1].values.value.tolist() == pytest.approx(alone.values.value.tolist(), nan_ok=True)


def test_baselines_are_drawn_as_often_as_asked(classifier, position):
    study = evaluate(classifier, tiny.TEXTS, ["gradient_l2"], [position], baselines=3)
    matched = study.values.query("baseline == 'matched'")
    assert sorted(set(matched.draw)) == [0, 1, 2] and len(matched) == 3 * len(tiny.TEXTS)
    assert len(set(matched[matched.example == 4].value)) > 1
    values = study.values.query("baseline == ''").set_index("example").value
    first = evaluate(classifier, tiny.TEXTS, ["gradient_l2"], [position]).values.query(
        "baseline == 'matched'"
    )
    assert first.value.tolist() == matched[matched.draw == 0].value.tolist()
    won = [np.sign(values[i] - v) / 2 + 0.5 for i, v in zip(matched.example, matched.value, strict=True)]
    assert study.table.diagnosticity[0] == pytest.approx(np.mean(won))
    none = evaluate(classifier, tiny.TEXTS, ["gradient_l2"], [position], baselines=0)
    assert none.table.diagnosticity.isna().all() and set(none.values.baseline) == {""}


def test_the_same_seed_gives_the_same_study(classifier):
    names, metrics = ["lime", "random_normal"], ["soft_ns", "equal_soft_nc"]
    first, again, other = (
        evaluate(classifier, tiny.TEXTS, names, metrics, seed=seed, samples=10) for seed in (3, 3, 4)
    )
    pd.testing.assert_frame_equal(first.values, again.values)
    pd.testing.assert_frame_equal(first.table, again.table)
    assert not np.allclose(first.scores["random_normal"][0], other.scores["random_normal"][0])
    assert not np.allclose(first.values.value, other.values.value, equal_nan=True)


def test_a_budget_bounds_every_pass(classifier, monkeypatch):
    sizes, logits = [], classifier.logits

    def watching(batch, **more):
        sizes.append(batch.ids.numel())
        return logits(batch, **more)

    whole = evaluate(classifier, tiny.TEXTS, ["leave_one_out"], ["soft_ns", "naopc_sufficiency"])
    monkeypatch.setattr(classifier, "logits", watching)
    small = evaluate(classifier, tiny.TEXTS, ["leave_one_out"], ["soft_ns", "naopc_sufficiency"], budget=15)
    assert max(sizes) <= 15
    assert small.values.value.tolist() == pytest.approx(whole.values.value.tolist(), abs=1e-5, nan_ok=True)


def test_an_estimate_is_one_line_where_it_takes_long(classifier, monkeypatch, capsys):
    monkeypatch.setattr(plan, "seconds_per_token", lambda *args: 10.0)
    study = evaluate(classifier, tiny.TEXTS, ["gradient_l2"], ["ns"])
    output = capsys.readouterr()
    (line,) = [line for line in (output.out + output.err).splitlines() if "passes" in line]
    assert line.startswith(
        f"5 texts, 1 attributions, 1 metrics: {study.estimate}; dearest: ns and gradient_l2; "
    )
    assert line.endswith("minutes=10 stops after ten minutes; dtype='auto' of load_model may halve it")
    evaluate(classifier, tiny.TEXTS, ["gradient_l2"], ["ns"], minutes=1)
    output = "".join(capsys.readouterr())
    assert "20 texts take " in output and "minutes=1" in output
    evaluate(classifier, tiny.TEXTS, ["gradient_l2"], ["ns"], progress=False)
    assert "passes" not in "".join(capsys.readouterr())
    monkeypatch.setattr(plan, "seconds_per_token", lambda *args: 0.0)
    evaluate(classifier, tiny.TEXTS, ["gradient_l2"], ["ns"])
    assert "passes" not in "".join(capsys.readouterr())


def test_a_contrast_can_fall_by_more_than_one(monkeypatch):
    seen = []
    monkeypatch.setattr("faithlib.study.table._interval", lambda defined, names, limits: seen.append(limits))
    for contrast in (None, [2]):
        asked = dict(targets=[0], contrast=contrast, samples=5)
        evaluate(tiny.classifier(), tiny.TEXTS[:1], ["lime"], ["aopc_sufficiency"], **asked)
    assert seen == [(-1, 1), (-2, 2)]


def test_next_tokens_and_answers_are_shown_in_words():
    lm = tiny.causal()
    study = evaluate(lm, tiny.PROMPTS[:2], ["gradient_l2"], ["causal_soft_ns"], ["great", "it was long"])
    facts = explorer.described(study)
    assert [f["target"] for f in facts] == study.target_names == ["great", "it was long"]
    assert not any(f["predicted"].isdigit() for f in facts)


def test_a_study_says_where_converted_weights_come_from():
    model = tiny.causal("llama")
    model.model.config.origin = {"package": "some-package==1.0", "quantisation": "4 bits a weight"}
    study = evaluate(model, tiny.PROMPTS[:2], ["random_uniform"], ["aopc_comprehensiveness"])
    assert f"Weights of {study.model_name}: some-package==1.0, 4 bits a weight." in study.notes
    assert not evaluate(
        tiny.causal("llama"), tiny.PROMPTS[:1], ["random_uniform"], ["aopc_sufficiency"]
    ).notes


@pytest.mark.parametrize("read", [lambda frame: frame, partial(load_data, evidence="evidence")])
def test_evidence_without_blanks_is_that_of_the_tokens(capsys, read):
    """Characters are mapped by the tokens that overlap them; the whole text would give 1 to all."""
    model, text = tiny.classifier("roberta"), "这部电影很好看"
    frame = pd.DataFrame({"text": [text], "evidence": [[(4, 7)]]})
    study = evaluate(model, read(frame), ["random_uniform"], ["auprc"], progress=False)
    starts, stops = study.encodings[0].spans[study.encodings[0].maskable].T
    true, scores = (starts < 7) & (stops > 4), study.scores["random_uniform"][0][study.encodings[0].maskable]
    assert not true.all() and study.table.value[0] == pytest.approx(average_precision_score(true, scores))
    evaluate(model, frame.assign(evidence=[[(0, 7)]]), ["random_uniform"], ["auprc"], progress=False)
    assert "Evidence is every token of 1 of 1 texts" in capsys.readouterr().out


def test_a_study_may_stop_after_some_minutes_and_go_on(classifier, tmp_path, capsys):
    texts = [" ".join(np.random.default_rng(i).choice(tiny.TEXTS[3].split(), 6)) for i in range(25)]
    setup = dict(
        model=classifier, data=texts, attributions=["gradient_l2"], metrics=["ns", "soft_nc"], progress=False
    )
    whole = evaluate(**setup)
    first = evaluate(**setup, minutes=1e-6, resume=tmp_path)
    assert len(first.texts) == 10 and "10 of 25 texts, in a random order, were done" in first.notes[-1]
    later = evaluate(**setup, resume=tmp_path)
    pd.testing.assert_frame_equal(later.values, whole.values, rtol=1e-5, atol=1e-5)
    pd.testing.assert_frame_equal(later.table, whole.table, rtol=1e-5, atol=1e-5)
    both = first.values.assign(text=first.values.example.map(dict(enumerate(first.texts))))
    other = whole.values.assign(text=whole.values.example.map(dict(enumerate(whole.texts))))
    keys = ["text", "metric", "baseline"]
    pairs = both.merge(other.drop_duplicates(keys), on=keys)
    assert pairs.value_x.tolist() == pytest.approx(pairs.value_y.tolist(), abs=1e-5, nan_ok=True)
    for minutes in (0, -1, "10", True):
        refused("must be above 0, and finite", evaluate, **setup, minutes=minutes)


def test_equal_tokens_of_other_words_are_no_repeated_text_where_evidence_is_given(tmp_path):
    model = tiny.classifier()
    one = model.encode(["great film"])[0]
    other = replace(one, words=np.where(one.words > 0, 0, one.words))
    part = SimpleNamespace(encodings=[one, other], inputs=SimpleNamespace(evidence=[[1], [1]]))
    part.targets = SimpleNamespace(listed=[0, 0], contrast=None)
    assert remarks.repeated(part) == set() and store._plain(one) != store._plain(other)
    part.inputs.evidence = None
    assert remarks.repeated(part) == {1}


def test_repeated_texts_count_among_those_that_are_done(classifier, tmp_path):
    texts = tiny.TEXTS * 5
    setup = dict(model=classifier, data=texts, attributions=["gradient_l2"], metrics=["soft_nc"])
    first = evaluate(**setup, minutes=1e-6, resume=tmp_path, progress=False)
    assert len(first.texts) == 10 and first.table.n[0] == len(set(first.texts))


def test_curves_are_what_aopc_is_the_mean_of(classifier, tmp_path):
    setup = dict(model=classifier, data=tiny.TEXTS, attributions=["gradient_l2"], progress=False)
    for resume in (None, tmp_path, tmp_path):
        study = evaluate(**setup, metrics=["aopc_comprehensiveness"], resume=resume)
        falls = [np.mean(curve[0] - np.array(curve[1:])) for curve in study.curves["gradient_l2"]]
        values = study.values[study.values.baseline == ""].sort_values("example").value
        assert falls == pytest.approx(values.tolist(), abs=1e-6)
        assert [curve[0] for curve in study.curves["gradient_l2"]] == pytest.approx(
            study.p.tolist(), abs=1e-6
        )
    assert evaluate(**setup, metrics=["ns"]).curves == {}


def test_one_operator_for_all_metrics(classifier):
    setup = dict(
        model=classifier,
        data=tiny.TEXTS,
        attributions=["gradient_l2"],
        metrics=["nc", "soft_nc", "auprc"][:2],
    )
    usual, masked = evaluate(**setup, progress=False), evaluate(**setup, operator="mask", progress=False)
    assert usual.table.operator.tolist() == ["mask", "zero"]  # soft metrics erase parts of tokens
    assert masked.table.operator.tolist() == ["mask", "mask"]
    assert set(masked.table.dtype) == {"float32"}
    default, named = (s.values.query("metric == 'nc'").value.tolist() for s in (usual, masked))
    assert default == pytest.approx(named, nan_ok=True)
    inputs = Inputs(classifier, masked.encodings, masked.targets, operator="mask")
    by_hand = registry.get("nc").resolve()(inputs, masked.scores["gradient_l2"])
    assert masked.values.query("metric == 'nc' and baseline == ''").value.tolist() == pytest.approx(
        by_hand, nan_ok=True
    )
    for wrong in ("erase", ["mask"]):
        refused("operator=.* is unknown", evaluate, **setup, operator=wrong, progress=False)
