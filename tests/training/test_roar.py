"""ROAR: masks by hand and as released, the graph of models, recursion, and a unit that is interrupted."""

import json
import multiprocessing
import os
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import breaking
import numpy as np
import pandas as pd
import psutil
import pytest
import tiny
import torch
import wrong

from faithlib.scores import ranking, top
from faithlib.training import fine_tuning as training
from faithlib.training import roar
from faithlib.training.roar import Plan

GOLDEN = Path(__file__).parents[1] / "golden" / "roar_masks.json"
RATIOS = tuple(range(10, 101, 10))
SETTINGS = dict(epochs=1, batch_size=3, learning_rate=1e-2)
make_model = partial(tiny.classifier, "bert")


# Masks

FLOORS = {  # maskable tokens -> how many are masked at 10 %, 20 %, ..., 100 %
    5: [0, 1, 1, 2, 2, 3, 3, 4, 4, 5],
    7: [0, 1, 2, 2, 3, 4, 4, 5, 6, 7],
    20: [2, 4, 6, 8, 10, 12, 14, 16, 18, 20],
    33: [3, 6, 9, 13, 16, 19, 23, 26, 29, 33],
}


@pytest.mark.parametrize("n", FLOORS)
def test_masks_at_every_ratio(n):
    """Scores fall along the text but for its last token, the highest one; [CLS] and [SEP] score more."""
    scores = np.array([99, *range(n, 1, -1), 50, 99], float)
    maskable = np.array([False, *[True] * n, False])
    plan = Plan(["gradient_l2"])
    for step, k in zip(RATIOS, FLOORS[n], strict=True):
        assert plan.masked(step, n) == k
        mask = top(scores, maskable, np.zeros(n + 2, bool), plan.masked(step, n))
        expected = [] if k == 0 else [*range(1, k), n]
        assert np.flatnonzero(mask).tolist() == expected


def test_masks_by_count():
    plan = Plan(["gradient_l2"], steps=range(1, 11), by="count")
    assert [plan.masked(step, 4) for step in (0, 1, 3, 4, 5, 10)] == [0, 1, 3, 4, 4, 4]


def test_places_by_hand():
    scores = np.array([9.0, 0.5, 2.0, 0.5, -1.0, 7.0, -3.0])
    maskable = np.array([False, True, True, True, True, False, True])
    masked = np.array([False, False, False, False, True, False, False])
    # The fifth token is masked already; then 2.0, the first 0.5, the second, -3.0; the others have no place.
    assert ranking(scores, maskable, masked).tolist() == [7, 2, 1, 3, 0, 7, 4]
    assert top(scores, maskable, masked, 2).tolist() == [False, False, True, False, True, False, False]
    assert not top(scores, maskable, masked, 0).any()
    assert (top(scores, maskable, masked, 5) == maskable).all()


def test_masks_grow():
    draw = np.random.default_rng(0)
    for n in (1, 6, 31):
        scores, maskable = draw.integers(0, 4, n).astype(float), draw.random(n) < 0.8
        masked = np.zeros(n, bool)
        for k in range(n + 1):
            wider = top(draw.permutation(scores), maskable, masked, k)
            assert (wider >= masked).all() and wider.sum() == min(k, maskable.sum())
            assert not (wider & ~maskable).any()
            masked = wider


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_token_without_a_score_is_told(value):
    scores, maskable = np.array([np.nan, 1.0, value, 3.0]), np.array([False, True, True, True])
    with pytest.raises(ValueError, match="1 of a text's 3 maskable tokens have no finite score"):
        ranking(scores, maskable, np.zeros(4, bool))


def released(case):
    """A golden case in our terms: (ids, maskable, scores of one importance list)."""
    ids = np.array(case.get("sentence") or case["input_ids"])
    maskable = np.array(case.get("maskable") or case["first_sequence"], bool)
    return ids, maskable, lambda importance: np.array([-np.inf if s is None else s for s in importance])


@pytest.mark.parametrize("kind", ["nlp_roar", "fmm"])
def test_masks_are_those_of_the_release(kind):
    document, checked = json.loads(GOLDEN.read_text()), 0
    mask_id = document["inputs"]["mask_token_id"]
    for case in document["expected"][kind]:
        ids, maskable, numbers = released(case)
        n = maskable.sum()
        for name, by in (
            ("non_recursive_quantile", "ratio"),
            ("non_recursive", "ratio"),
            ("non_recursive_count", "count"),
        ):
            plan = Plan(["gradient_l2"], by=by)
            for step, expected in case.get(name, {}).items():
                masks = top(numbers(case["importance"]), maskable, ids == mask_id, plan.masked(int(step), n))
                assert np.where(masks, mask_id, ids).tolist() == expected
                checked += 1
        plan, now = Plan(["gradient_l2"]), ids
        for step in case.get("recursive_quantile", case.get("recursive", [])):
            masks = top(numbers(step["importance"]), maskable, now == mask_id, plan.masked(step["ratio"], n))
            now = np.where(masks, mask_id, now)
            assert now.tolist() == step["output"]
            checked += 1
    assert checked > 200


def test_numbers_masked_are_those_of_the_release():
    table = json.loads(GOLDEN.read_text())["expected"]["number_masked_table_ratio_10_to_100"]
    plan = Plan(["gradient_l2"])
    assert {n: [plan.masked(step, int(n)) for step in RATIOS] for n in table} == table


# The graph of models


def test_the_whole_grid_shares_what_it_can():
    measures = ("attention", "gradient_l2", "input_x_gradient_abs", "integrated_gradients_abs")
    jobs = Plan(measures).jobs()
    # The unmasked and the all-masked model, 9 by random masks, and of each measure 9 of ROAR and 9 of
    # Recursive ROAR that begin with the same one.
    assert len(jobs) == 2 + 9 + 4 * (9 + 9 - 1)
    assert jobs["unmasked"].explains == measures
    assert {job.explains for job in jobs.values() if job.measure in ("", "random")} == {(), measures}
    for measure in measures:
        explaining = [name for name, job in jobs.items() if job.measure == measure and job.explains]
        assert explaining == [f"{measure}.ratio{'-'.join(map(str, RATIOS[:i]))}" for i in range(1, 9)]
        assert all(jobs[name].explains == (measure,) for name in explaining)
    behind = list(jobs)
    assert all(behind.index(job.source) < behind.index(name) for name, job in jobs.items() if job.source)


def test_models_have_names_that_say_how_their_data_were_masked():
    plan = Plan(["attention"], steps=(20, 50, 100))
    masked = "attention.ratio20 attention.ratio50 attention.ratio20-50"
    assert " ".join(plan.jobs()) == f"unmasked random.ratio20 random.ratio50 all-masked {masked}"
    assert plan.job("attention", True, 50).source == "attention.ratio20"
    assert plan.job("attention", False, 50).source == plan.job("attention", True, 20).source == "unmasked"
    counted = Plan(["attention"], steps=(1, 2), by="count", recursive=[True])
    names = "unmasked random.count1 random.count2 attention.count1 attention.count1-2"
    assert " ".join(counted.jobs()) == names
    hundred = Plan(["attention"], steps=(100,), by="count").jobs()
    assert list(hundred) == ["unmasked", "random.count100", "attention.count100"]  # tokens, not percent


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(measures=["random", "attention"]), "'random' is always there, leave it out"),
        (dict(settings={"definition": "relesed"}), "definition='relesed' is unknown"),
        (dict(settings={"path": "question"}), "path='question' is unknown: use 'input', 'text'"),
        (dict(steps=[10, 10, 20]), "must be increasing"),
    ],
)
def test_plans_that_cannot_be_run_are_refused(changes, message):
    wrong.refused(message, Plan, **{"measures": ["gradient_l2"], **changes})


# A unit, without any training: what is trained on, what is explained


class Spy:
    """Stands in for training and explaining. The score of a token: its id, from the other end once masked."""

    def __init__(self, classifier):
        self.trained, self.explained, self.starts, self.fail_at = [], [], [], None
        self.mask_id = classifier.mask_id

    def fine_tune(self, classifier, splits, seed, **settings):
        if len(self.trained) == self.fail_at:
            raise KeyboardInterrupt
        weights = next(classifier.model.parameters())
        self.starts.append(weights.detach().clone())
        self.trained.append({split: [e.ids for e in encodings] for split, (encodings, _) in splits.items()})
        with torch.no_grad():
            weights += len(self.trained)  # the next model must not start from here
        return [{"epoch": epoch, "kept": epoch == 2} for epoch in (1, 2, 3)]

    def evaluate(self, classifier, encodings, labels):
        masked = np.mean([(e.ids == self.mask_id).sum() / e.maskable.sum() for e in encodings])
        probabilities = np.tile([0.2, 0.5, 0.3], (len(labels), 1))
        probabilities[0] = [0.6, 0.3, 0.1]
        return {"accuracy": 1 - masked, "probabilities": probabilities}

    def attribute(self, model, encodings, targets, wanted, **settings):
        self.explained.append((tuple(wanted), [e.ids for e in encodings], list(targets), settings))
        sign = [-1 if (e.ids == self.mask_id).any() else 1 for e in encodings]
        scores = [s * e.ids * e.maskable.astype(float) for s, e in zip(sign, encodings, strict=True)]
        return {name: scores for name in wanted}


@pytest.fixture
def splits():
    """Texts of 2 to 10 tokens, each with a text_b, under different labels in the three splits."""
    classifier = make_model()
    encodings = classifier.encode(tiny.TEXTS, tiny.TEXTS_B)
    encodings[2] = classifier.encode(["boring film"], ["who ?"])[0]
    return {
        "train": (encodings, np.array([0, 1, 2, 0, 1])),
        "validation": (encodings[:2], np.array([2, 0])),
        "test": (encodings[1:4], np.array([1, 1, 2])),
    }


@pytest.fixture
def spy(monkeypatch):
    spy = Spy(make_model())
    monkeypatch.setattr(training, "fine_tune", spy.fine_tune)
    monkeypatch.setattr(training, "evaluate", spy.evaluate)
    monkeypatch.setattr(roar.attributions, "attribute", spy.attribute)
    return spy


COLUMNS = "measure recursive by step job metric value epochs best_epoch seconds_train seconds_explain"
COLUMNS += " peak_memory_mib masked_tokens new_tokens unchanged_texts classes_predicted read_back"
PLAN = Plan(["gradient_l2"], steps=(30, 60, 100), settings={"baseline": "pad"})


def run(splits, folder, plan=PLAN, make_model=make_model, settings=SETTINGS, **options):
    return roar.run(make_model, splits, plan, settings, folder, **options)


def masked_by_hand(encoding, path, mask_id):
    """Plain loops: mask the tokens of highest ids first, or of lowest where something is masked already."""
    ids = encoding.ids.tolist()
    places = [i for i, m in enumerate(encoding.maskable) if m]
    for ratio in path:
        lowest_first = mask_id in ids
        left = [i for i in places if ids[i] != mask_id]
        left.sort(key=lambda i: ids[i], reverse=not lowest_first)
        wanted = ratio * len(places) // 100
        while sum(ids[i] == mask_id for i in places) < wanted:
            ids[left.pop(0)] = mask_id
    return ids


def test_what_is_trained_on_from_the_same_weights_and_explained(splits, spy, tmp_path):
    curves, _, _ = run(splits, tmp_path)
    names = list(PLAN.jobs())
    assert names == list(dict.fromkeys(curves.job)) and len(spy.trained) == len(names) == 7
    first = next(make_model().model.parameters())
    assert len(spy.starts) == 7 and all(torch.equal(weights, first) for weights in spy.starts)
    trained = dict(zip(names, spy.trained, strict=True))
    paths = {
        "unmasked": (), "all-masked": (100,), "gradient_l2.ratio30": (30,), "gradient_l2.ratio60": (60,),
        "gradient_l2.ratio30-60": (30, 60),
    }  # fmt: skip
    for name, path in paths.items():
        for split, (encodings, _) in splits.items():  # train, validation and test
            expected = [masked_by_hand(e, path, spy.mask_id) for e in encodings]
            assert [ids.tolist() for ids in trained[name][split]] == expected
    again = trained["gradient_l2.ratio30-60"]["train"]
    assert any((a != b).any() for a, b in zip(again, trained["gradient_l2.ratio60"]["train"], strict=True))
    for data in spy.trained:  # special tokens and text_b stay
        for ids, e in zip(data["train"], splits["train"][0], strict=True):
            assert (ids[~e.maskable] == e.ids[~e.maskable]).all()
    # Explained are the gold labels of all splits, and only models that a later step needs: 100 % needs none.
    labels = [0, 1, 2, 0, 1, 2, 0, 1, 1, 2]
    assert [(wanted, targets, settings) for wanted, _, targets, settings in spy.explained] == [
        (("gradient_l2",), labels, {"seed": 0, "baseline": "pad"})
    ] * 2
    for (_, ids, _, _), name in zip(spy.explained, ["unmasked", "gradient_l2.ratio30"], strict=True):
        data = trained[name]
        expected = [*data["train"], *data["validation"], *data["test"]]
        assert all((a == b).all() for a, b in zip(ids, expected, strict=True))


def test_random_masks_are_nested_and_belong_to_the_text(splits, spy, tmp_path):
    trainer = roar.Trainer(make_model, splits, PLAN, SETTINGS, tmp_path, seed=0)
    few, many = (trainer.masks(PLAN.job("random", False, step)) for step in (30, 60))
    n = [e.maskable.sum() for e in trainer.encodings]
    assert [m.sum() for m in few] == [30 * k // 100 for k in n]
    assert [m.sum() for m in many] == [60 * k // 100 for k in n]
    assert all((a <= b).all() for a, b in zip(few, many, strict=True))
    for i, j in ((0, 5), (1, 6), (1, 7)):  # the same text in another split
        assert (many[i] == many[j]).all()
    other = roar.Trainer(make_model, splits, PLAN, SETTINGS, tmp_path, seed=1)
    others = other.masks(PLAN.job("random", True, 60))
    assert any((a != b).any() for a, b in zip(many, others, strict=True))


def test_the_table_of_curves(splits, spy, tmp_path):
    curves, predictions, sparsity = run(splits, tmp_path)
    assert list(curves) == COLUMNS.split()
    assert len(curves) == 2 * 2 * 4 and set(curves.metric) == {"accuracy"}
    for _, curve in curves.groupby(["measure", "recursive"]):
        assert curve.step.tolist() == [0, 30, 60, 100]
        assert curve.value.tolist()[::3] == [1, 0] and curve.value.is_monotonic_decreasing
        # Ten texts of 4, 11, 2, 7, 11, 4, 11, 11, 2 and 7 tokens; of 2 tokens 30 % is none.
        assert curve.masked_tokens.tolist() == [0, 18, 40, 70]
        assert curve.new_tokens.tolist() == [0, 18, 22, 30]
        assert curve.unchanged_texts.tolist() == [10, 2, 0, 0]
    assert set(curves.epochs) == {3} and set(curves.best_epoch) == {2}
    assert set(curves.classes_predicted) == {2}  # of three
    twice = curves[curves.measure == "random"].pivot(index="step", columns="recursive", values="job")
    assert (twice[False] == twice[True]).all()
    of_one = predictions[predictions.job == "gradient_l2.ratio30-60"]
    assert of_one.example.tolist() == [0, 1, 2] and of_one.predicted.tolist() == [0, 1, 1]
    assert np.allclose(of_one.p_gold, [0.3, 0.5, 0.3])
    assert len(predictions) == 7 * 3 and set(sparsity.job) == {"unmasked", "gradient_l2.ratio30"}


def test_steps_of_one_token(splits, spy, tmp_path):
    plan = Plan(["gradient_l2"], steps=(1, 2, 3), by="count", recursive=[True])
    curves, _, _ = run(splits, tmp_path, plan)
    curve = curves[curves.measure == "gradient_l2"]
    assert curve.masked_tokens.tolist() == [0, 10, 20, 28]
    assert curve.unchanged_texts.tolist() == [10, 0, 0, 2]  # texts of two tokens have no third one


# Kept results


def scientific(tables):
    return [t.drop(columns=roar.COSTS, errors="ignore") for t in tables]


def assert_same(one, other):
    for a, b in zip(scientific(one), scientific(other), strict=True):
        pd.testing.assert_frame_equal(a, b, check_exact=True)


@pytest.mark.parametrize("at", range(7))
def test_an_interrupted_unit_goes_on_where_it_was(splits, spy, tmp_path, at):
    whole = run(splits, tmp_path / "whole")
    spy.trained.clear(), spy.explained.clear()
    spy.fail_at = at
    with pytest.raises(KeyboardInterrupt):
        run(splits, tmp_path / "parts")
    spy.fail_at = None
    assert_same(run(splits, tmp_path / "parts"), whole)
    assert len(spy.trained) == 7 and len(spy.explained) == 2  # each once
    run(splits, tmp_path / "parts")
    assert len(spy.trained) == 7


def test_costs_count_what_was_read_back_and_the_memory_of_workers(splits, spy, tmp_path, monkeypatch):
    monkeypatch.setattr(roar.provenance, "peak_memory_mib", lambda: 300)
    spy.fail_at = 3
    with pytest.raises(KeyboardInterrupt):
        run(splits, tmp_path)
    spy.fail_at = None
    curves, *_ = run(splits, tmp_path)
    of_models = curves.drop_duplicates("job")
    assert of_models.read_back.sum() == 3 and set(of_models.peak_memory_mib) == {300}
    curves[["seconds_train", "seconds_explain"]] = 10.004, 2
    unit = SimpleNamespace(earlier=1, earlier_cpu=2)
    costs = roar.costs(unit, curves, 2)
    assert unit.earlier == pytest.approx(1 + 3 * 12.004 / 2)  # two at a time
    assert unit.earlier_cpu == pytest.approx(2 + 3 * 12.004)
    assert costs.pop("peak_memory_mib") == 300 + 2 * 300
    assert costs == {"seconds_of_models": {job: [10, 2] for job in of_models.job}}
    assert set(roar.costs(unit, curves, 1)) == {"seconds_of_models"}


def test_a_model_that_was_not_explained_is_not_done(splits, spy, tmp_path, monkeypatch):
    def broken(*args, **settings):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(roar.attributions, "attribute", broken)
        with pytest.raises(KeyboardInterrupt):
            run(splits, tmp_path)
    assert not list(tmp_path.rglob("*.json"))
    run(splits, tmp_path)
    assert len(spy.trained) == 8  # the unmasked model twice


@pytest.mark.parametrize(
    "name",
    ["unmasked.json", "unmasked.parquet", "unmasked.gradient_l2.parquet", "gradient_l2.ratio30-60.json"],
)
def test_a_kept_model_whose_files_are_damaged_is_trained_again(splits, spy, tmp_path, name):
    whole = run(splits, tmp_path)
    (file,) = tmp_path.rglob(name)
    file.write_bytes(file.read_bytes()[:-9])
    spy.trained.clear()
    assert_same(run(splits, tmp_path), whole)
    assert len(spy.trained) == 1


def test_other_plans_share_models_and_other_units_do_not(splits, spy, tmp_path):
    def trains(**changed):
        before = len(spy.trained)
        run(**{"splits": splits, "folder": tmp_path, **changed})
        return len(spy.trained) - before

    assert trains() == 7 and trains() == 0
    assert trains(plan=replace(PLAN, recursive=(True,))) == 0
    assert trains(plan=replace(PLAN, steps=(30, 60))) == 0
    assert trains(plan=replace(PLAN, steps=(60,))) == 0
    assert trains(plan=replace(PLAN, steps=(1, 2), by="count", recursive=(True,))) == 4
    # Another measure: the unmasked model once more, to explain it, and its own three.
    assert trains(plan=replace(PLAN, measures=("gradient_l2", "gradient_l1"))) == 4
    assert trains(settings={**SETTINGS, "epochs": 2}) == 7
    assert trains(plan=replace(PLAN, settings={})) == 7
    assert trains(seed=1) == 7
    assert trains(make_model=partial(tiny.classifier, "bert", 1)) == 7
    relabelled = {**splits, "test": (splits["test"][0], np.array([0, 0, 0]))}
    assert trains(splits=relabelled) == 7
    masked = [replace(e, maskable=e.maskable & (np.arange(len(e.ids)) > 1)) for e in splits["train"][0][1:2]]
    assert trains(splits={**splits, "validation": (masked, np.array([1]))}) == 7


def test_what_fails_names_its_model(splits, spy, tmp_path, monkeypatch):
    def broken(*args, **settings):
        raise FloatingPointError("training loss is nan")

    monkeypatch.setattr(training, "fine_tune", broken)
    with pytest.raises(FloatingPointError, match="^model unmasked: training loss is nan$"):
        run(splits, tmp_path)


# Refused before any work


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2"])
def test_workers_are_a_number(splits, spy, tmp_path, workers):
    with pytest.raises(ValueError, match=f"workers={workers!r} must be at least 1, a whole number"):
        run(splits, tmp_path, workers=workers)


def test_units_that_cannot_be_run_are_refused(splits, spy, tmp_path):
    def refused(message, splits, **options):
        wrong.refused(message, run, splits, tmp_path, **options)
        assert not spy.trained

    encodings, labels = splits["test"]
    refused("label 3 is no output: tiny-bert has 0 to 2", {**splits, "test": (encodings, [0, 1, 3])})
    refused("label -1 is no output", {**splits, "test": (encodings, [0, 1, -1])})
    refused("split 'test' has 3 texts and 2 labels", {**splits, "test": (encodings, labels[:2])})
    empty = [*encodings[:2], tiny.encoding(4, [])]
    refused("example 9 has no maskable token", {**splits, "test": (empty, labels)})
    refused("handed to other processes", splits, make_model=lambda: make_model(), workers=2)

    def without_mask():
        classifier = make_model()
        classifier.tokenizer.mask_token = None
        return classifier

    refused("tiny-bert has no mask token", splits, make_model=without_mask)

    def without_attention():
        classifier = make_model()
        classifier.attentions = lambda batch: 1 / 0
        return classifier

    with pytest.raises(ZeroDivisionError):  # it is asked for a try before the first model is trained
        run(splits, tmp_path, replace(PLAN, measures=("attention",)), make_model=without_attention)


# Processes

REAL = Plan(["attention", "gradient_l2"], steps=(40, 80, 100))


def data(copies=6):
    """A unit of 30 examples; in each split other ones are first."""
    encodings = make_model().encode(tiny.TEXTS * copies, tiny.TEXTS_B * copies)
    labels = np.tile([0, 1, 2, 0, 1], copies)
    return {
        "train": (encodings, labels),
        "validation": (encodings[2:7], labels[2:7]),
        "test": (encodings[1:9], labels[1:9]),
    }


@pytest.mark.parametrize(
    "how",
    [
        pytest.param("fork", marks=pytest.mark.skipif(sys.platform != "linux", reason="forks threads")),
        pytest.param("spawn", marks=pytest.mark.slow),  # as it is done, but each process imports torch
    ],
)
def test_processes_give_what_one_does(tmp_path, monkeypatch, how):
    asked = {"spawn": multiprocessing.get_context(how)}
    monkeypatch.setattr(multiprocessing, "get_context", asked.__getitem__)
    threads, before = torch.get_num_threads(), len(psutil.Process().children())
    alone = run(data(), tmp_path / "alone", REAL)
    assert torch.get_num_threads() == threads
    together = run(data(), tmp_path / "together", REAL, workers=2)
    assert_same(alone, together)
    assert alone[0].value.nunique() > 6  # these are models that differ
    assert len(psutil.Process().children()) <= before + 1  # the resource tracker stays
    files = sorted(path.name for path in tmp_path.rglob("alone/*/*"))
    assert files == sorted(path.name for path in tmp_path.rglob("together/*/*"))
    assert not [name for name in files if name.endswith(".part")]


@pytest.mark.slow
def test_a_process_that_dies_is_told(tmp_path):
    with pytest.raises(RuntimeError, match="run again with fewer workers; finished models are kept"):
        run(data(), tmp_path, REAL, make_model=breaking.Doomed(make_model, home=os.getpid()), workers=2)


SCRIPT = """
import pathlib
import sys

sys.path[:0] = {paths!r}
import breaking
import test_roar

if __name__ == "__main__":
    folder = pathlib.Path({folder!r})
    held = breaking.Held(test_roar.make_model, folder=folder)
    test_roar.run(test_roar.data(), folder, test_roar.REAL, make_model=held, workers=2)
"""


@pytest.mark.slow
def test_a_killed_unit_leaves_no_process_and_goes_on(tmp_path):
    """Killed by force in the middle of a level: goes on with the same numbers, training nothing again."""
    whole = run(data(), tmp_path / "whole", REAL)
    script, folder = tmp_path / "unit.py", tmp_path / "parts"
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    script.write_text(SCRIPT.format(paths=paths, folder=str(folder)))
    started = psutil.Popen([sys.executable, str(script)], stdout=subprocess.DEVNULL)
    while len(list(folder.rglob("*.json"))) < 3:
        assert started.poll() is None
        time.sleep(0.05)
    workers = started.children()
    started.kill()
    assert not psutil.wait_procs(workers)[1]
    done = {path: path.stat().st_mtime_ns for path in folder.rglob("*.json")}
    assert 3 <= len(done) < len(REAL.jobs())
    assert_same(run(data(), folder, REAL), whole)
    assert all(path.stat().st_mtime_ns == at for path, at in done.items())


# The benchmark


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    from benchmarks import roar as benchmark

    return benchmark


def test_the_benchmark_compares_models_a_minute(benchmark, monkeypatch):
    plan = Plan(["gradient_l2"], steps=(50, 100), recursive=[False])
    arguments = partial(make_model, device="cpu"), None, plan, {}
    seconds = {(1, 1, "packed"): 48.0, (1, 1, "padded"): 20.0, (1, 2, "padded"): 30.0, (2, 1, "padded"): 12.0}
    curves = {
        way: pd.DataFrame({"value": [0.5 * way[1]], **dict.fromkeys(roar.COSTS, [1])}) for way in seconds
    }
    monkeypatch.setattr(benchmark, "timed", lambda args, *way: (3.0, seconds[way], curves[way]))
    table = benchmark.measure(arguments, list(seconds), repeats=2)
    assert table.models.tolist() == [4] * 4 and table.start_seconds.tolist() == [3] * 4
    assert table.models_per_minute.tolist() == [5, 12, 8, 20]
    assert table.ratio_to_bound.tolist() == pytest.approx([1, 1, 1 / 3, 5 / 6])
    assert table.ratio_to_best_loop.tolist() == pytest.approx([5 / 12, 1, 2 / 3, 5 / 3])
    assert table.ratio_to_best_packed.tolist() == pytest.approx([1, 2.4, 1.6, 4])


def test_the_benchmarks_packed_loop_has_the_same_model(benchmark):
    make_model, splits, *_ = benchmark.unit("cpu", quick=True)
    encodings, _ = splits["test"]
    ours, usual = make_model(), benchmark.packed(make_model)
    assert len({len(e.ids) for e in encodings}) > 1
    batch = ours.collate(encodings)
    torch.testing.assert_close(usual.logits(batch), ours.logits(batch), rtol=1e-5, atol=1e-6)
    assert usual.model.encoder.text.lstm.bidirectional


@pytest.mark.slow
def test_the_benchmark_runs(benchmark, tmp_path, capsys):
    benchmark.main(["--quick", "--repeats", "1", "--folder", str(tmp_path)])
    table = pd.read_csv(tmp_path / "roar.csv")
    columns = "processes threads lstm models start_seconds models_per_minute spread"
    assert list(table) == f"{columns} ratio_to_bound ratio_to_best_loop ratio_to_best_packed".split()
    assert {"host", "device", "git", "versions"} <= set(json.loads((tmp_path / "roar.json").read_text()))
    assert "times the models a minute of the best loop" in capsys.readouterr().out
