"""A study that was stopped goes on, and never with chunks of another study."""

import copy
import sys
import threading
from functools import partial

import numpy as np
import pandas as pd
import pytest
import tiny

from faithlib import attributions, plugins
from faithlib.metrics import registry
from faithlib.models import Classifier
from faithlib.study import chunks, evaluate, measure

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
    monkeypatch.setattr(measure, "_values", lambda *args: None.nothing)
    again = evaluate(model, tiny.TEXTS, NAMES, METRICS, resume=str(tmp_path / "new"))
    for other in (first, again):
        pd.testing.assert_frame_equal(other.table, plain.table, rtol=1e-6)
        pd.testing.assert_frame_equal(other.values, plain.values, rtol=1e-5, atol=1e-6)
        for name in NAMES:
            for ours, theirs in zip(other.scores[name], plain.scores[name], strict=True):
                assert ours == pytest.approx(theirs, abs=1e-6)


def test_what_is_finished_when_it_is_stopped_is_kept(model, tmp_path, monkeypatch):
    monkeypatch.setattr(tiny, "ASKED", [], raising=False)  # a metric depends on its closure and globals

    @registry.register("stopping", better="higher", range=(0, 1))
    def stopping(inputs, scores):
        tiny.ASKED.append(len(tiny.ASKED))
        if len(tiny.ASKED) == 3:
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
    assert len(tiny.ASKED) == 7  # the attribution and its baseline: 2, stopped at the third, then 2 · 2
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
    setup = dict(model=model, data=tiny.TEXTS, attributions=["integrated_gradients"], metrics=["ns"], steps=2)
    evaluate(**setup, resume=tmp_path)
    before = set(tmp_path.iterdir())
    study = evaluate(**setup | changed, resume=tmp_path)
    assert len(set(tmp_path.iterdir()) - before) == 2
    pd.testing.assert_frame_equal(study.values, evaluate(**setup | changed).values, rtol=1e-5, atol=1e-6)


def test_a_function_that_was_changed_runs_again(model, tmp_path):
    def version(factor):
        def mine(model, batch, target):
            return batch.maskable * factor

        return mine

    def mine(model, batch, target):
        return batch.maskable * 4.0

    versions = version(1.0), version(2.0), version(1.0), mine
    studies = [evaluate(model, tiny.TEXTS, [m], ["ns"], resume=tmp_path) for m in versions]
    assert [study.scores["mine"][0][1] for study in studies] == [1, 2, 1, 4]
    assert len(list(tmp_path.glob("mine.scores.*"))) == 3


class Once(Classifier):
    def logits(self, *args, **kwargs):
        return super().logits(*args, **kwargs)


class Twice(Classifier):
    def logits(self, *args, **kwargs):
        return 2 * super().logits(*args, **kwargs)


def test_a_model_whose_methods_are_others_is_another(model):
    def traits(of):
        twin = copy.copy(model)
        twin.__class__ = of
        return chunks.identity(twin)

    assert traits(Once) == traits(Once) != traits(Twice) and traits(Classifier)[3] == []


def test_a_model_that_is_set_up_otherwise_is_another(model):
    masked = tiny.classifier()
    before = chunks.identity(masked)
    masked.tokenizer.mask_token = "[UNK]"
    assert chunks.identity(masked)[0] == before[0] and chunks.identity(masked) != before
    cold, warm = copy.copy(model), copy.copy(model)
    cold.__class__ = warm.__class__ = Once
    cold.temperature, warm.temperature = 0.1, 1.0
    assert chunks.identity(cold) != chunks.identity(warm)


def test_a_module_whose_forward_was_replaced_makes_another_model():
    torn = tiny.classifier()
    before, module = chunks.identity(torn), torn.model.classifier
    plain = module.forward
    module.forward = lambda hidden: 2 * plain(hidden)
    doubled = chunks.identity(torn)
    module.forward = lambda hidden: 3 * plain(hidden)
    assert before[0] == doubled[0] and before != doubled != chunks.identity(torn)


class Times:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, model, batch, target):
        return batch.maskable * self.factor


def with_array(factor):
    array = np.array([factor])
    return lambda model, batch, target: batch.maskable * float(array[0])


def with_keyword(factor):
    def mine(model, batch, target, *, by=factor):
        return batch.maskable * by

    return mine


def typed(factor):
    made = {}
    exec(f"def mine(model, batch, target): return batch.maskable * {factor}", made)
    return made["mine"]


def cells(factor, helper):
    """As cells of a notebook: a global, a function that reads it, and the attribution that calls this one."""
    made = {"FACTOR": factor}
    for cell in (
        "def by():\n    return FACTOR" if helper else "",
        f"def mine(model, batch, target): return batch.maskable * {'by()' if helper else 'FACTOR'}",
    ):
        exec(cell, made)
    return made["mine"]


class Held:
    def __init__(self, factor):
        self.factor = factor

    def explain(self, model, batch, target):
        return self.factor * batch.maskable.double()


def method(factor):
    return Held(factor).explain


@pytest.mark.parametrize(
    "make",
    [
        Times,
        method,
        with_array,
        with_keyword,
        typed,
        partial(cells, helper=False),
        partial(cells, helper=True),
    ],
)
def test_what_a_function_holds_makes_it_another(model, tmp_path, make):
    scores = [
        evaluate(model, tiny.TEXTS, {"mine": make(factor)}, ["ns"], resume=tmp_path).scores["mine"][0][1]
        for factor in (1.0, -3.0, 1.0)
    ]
    assert scores == [1, -3, 1] and len(list(tmp_path.glob("mine.scores.*"))) == 2


def test_a_module_that_a_function_uses_makes_it_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep.py").write_text("def two():\n    return 2\n")
    (tmp_path / "helper.py").write_text("from deep import two\n")
    (tmp_path / "my.py").write_text("import math\nimport helper\n\ndef one(*_):\n    return helper.two()\n")
    monkeypatch.syspath_prepend(tmp_path)
    try:
        (module,) = plugins.load([tmp_path / "my.py"])
        first = chunks.source(module.one)
        assert chunks.source(module.one) == first
        assert [name for name, _ in first[1]] == ["deep.py", "helper.py", "my.py"]
        (tmp_path / "deep.py").write_text("def two():\n    return 3\n")
        assert chunks.source(module.one) != first
    finally:
        for name in ("deep", "helper"):
            sys.modules.pop(name, None)


def test_what_cannot_be_compared_is_never_read_back(model, tmp_path):
    lock = threading.Lock()

    def mine(model, batch, target):
        with lock:
            return batch.maskable * 1.0

    for _ in range(2):
        evaluate(model, tiny.TEXTS, [mine], ["ns"], resume=tmp_path)
    assert len(list(tmp_path.glob("mine.scores.*"))) == 2


def test_a_damaged_chunk_is_computed_again(model, tmp_path):
    evaluate(model, tiny.TEXTS, ["gradient_l2"], ["ns"], resume=tmp_path)
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:50])
    assert len(evaluate(model, tiny.TEXTS, ["gradient_l2"], ["ns"], resume=tmp_path).table) == 1
