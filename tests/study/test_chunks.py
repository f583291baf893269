"""A study that was stopped goes on, and never with chunks of another study."""

import numpy as np
import pandas as pd
import pytest
import tiny

from faithlib import attributions
from faithlib.metrics import registry
from faithlib.study import evaluate, study

NAMES, METRICS = ["gradient_l2", "gradient_l1", "leave_one_out"], ["ns", "soft_nc", "decision_flip"]


@pytest.fixture(scope="module")
def model():
    return tiny.classifier()


def test_a_study_from_chunks_is_the_same(model, tmp_path, monkeypatch):
    plain = evaluate(model, tiny.TEXTS, NAMES, METRICS)
    first = evaluate(model, tiny.TEXTS, NAMES, METRICS, resume=tmp_path / "new")
    kept = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert len(kept) == len(NAMES) * (1 + len(METRICS))
    monkeypatch.setattr(attributions, "attribute", None)
    monkeypatch.setattr(study._Session, "_measured", lambda *given: None.nothing)
    again = evaluate(model, tiny.TEXTS, NAMES, METRICS, resume=str(tmp_path / "new"))
    for other in (first, again):
        pd.testing.assert_frame_equal(other.table, plain.table, rtol=1e-6)
        pd.testing.assert_frame_equal(other.values, plain.values, rtol=1e-5, atol=1e-6)
        for name in NAMES:
            for ours, theirs in zip(other.scores[name], plain.scores[name], strict=True):
                assert ours == pytest.approx(theirs, abs=1e-6)


def test_what_is_finished_when_it_is_stopped_is_kept(model, tmp_path):
    asked = []

    @registry.register("stopping", better="higher", range=(0, 1))
    def stopping(inputs, scores):
        asked.append(len(asked))
        if len(asked) == 3:
            raise KeyboardInterrupt
        return np.full(len(scores), 0.5)

    try:
        for _ in range(2):
            try:
                done = evaluate(model, tiny.TEXTS, NAMES, ["ns", "stopping"], resume=tmp_path)
            except KeyboardInterrupt:
                assert len(list(tmp_path.glob("*.ns.*"))) == 3 and len(list(tmp_path.glob("*.scores.*"))) == 3
                assert len(list(tmp_path.glob("*.stopping.*"))) == 1
    finally:
        registry.unregister("stopping")
    assert len(asked) == 7  # the attribution and its baseline: 2, stopped at the third, then 2 · 2
    assert len(done.table) == 6


@pytest.mark.parametrize(
    "changed",
    [
        dict(targets=[0, 1, 2, 0, 1]), dict(seed=1), dict(baselines=2), dict(data=tiny.TEXTS[:4]),
        dict(model=tiny.classifier(seed=1)), dict(steps=3),
    ],
    ids=lambda changed: next(iter(changed)),
)  # fmt: skip
def test_another_study_finds_nothing(model, tmp_path, changed):
    given = dict(model=model, data=tiny.TEXTS, attributions=["integrated_gradients"], metrics=["ns"], steps=2)
    evaluate(**given, resume=tmp_path)
    before = set(tmp_path.iterdir())
    found = evaluate(**given | changed, resume=tmp_path)
    assert len(set(tmp_path.iterdir()) - before) == 2
    pd.testing.assert_frame_equal(found.values, evaluate(**given | changed).values, rtol=1e-5, atol=1e-6)


def test_a_function_that_was_changed_runs_again(model, tmp_path):
    def version(factor):
        def mine(model, batch, target):
            return batch.maskable * factor

        return mine

    def mine(model, batch, target):
        return batch.maskable * 4.0

    versions = version(1.0), version(2.0), version(1.0), mine
    found = [evaluate(model, tiny.TEXTS, [m], ["ns"], resume=tmp_path) for m in versions]
    assert [study.scores["mine"][0][1] for study in found] == [1, 2, 1, 4]
    assert len(list(tmp_path.glob("mine.scores.*"))) == 3


def test_a_damaged_chunk_is_computed_again(model, tmp_path):
    evaluate(model, tiny.TEXTS, ["gradient_l2"], ["ns"], resume=tmp_path)
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:50])
    assert len(evaluate(model, tiny.TEXTS, ["gradient_l2"], ["ns"], resume=tmp_path).table) == 1
