"""RACU by retraining: rungs that are made again for masked texts, and what each strategy makes of them."""

from functools import partial

import numpy as np
import pytest

from faithlib import attributions, models
from faithlib.corpora import planted
from faithlib.scores import mask, ranking
from faithlib.training import roar
from notebooks.ground_truth.measure import protocol, retraining
from notebooks.ground_truth.measure.compiled import compiled
from notebooks.ground_truth.measure.explanations import RUNGS, with_evidence_at


def texts(mechanism, size, seed=1):
    rows = planted.make(mechanism, size, seed)
    return [row["text"] for row in rows], np.array([row["label"] for row in rows]), rows


def test_evidence_is_behind_so_many_other_tokens():
    evidence, rng = np.array([False, True, False, False, True, False]), np.random.default_rng(0)
    for first, places in ((0, [0, 1]), (1, [1, 2]), (4, [4, 5])):
        scores = with_evidence_at(first, evidence, rng)
        assert np.flatnonzero(evidence[np.argsort(-scores)]).tolist() == places


def test_rungs_are_made_again_for_the_tokens_that_are_left():
    sentences, _, rows = texts("xor", 30)
    model = compiled("xor", sentences)
    (row,) = [row for row in rows if row["kind"] == "whole"][:1]
    (e,) = model.encode([row["text"]])
    first, second = row["evidence"]
    (masked,) = mask([e], [np.isin(e.words, [first])], model.mask_id)
    for encoding, left in ((e, [first, second]), (masked, [second])):
        gone = encoding.ids == model.mask_id
        n = encoding.maskable.sum()
        for rung, scores in enumerate(retraining.rungs(model, [encoding]).values()):
            place = ranking(*scores, encoding.maskable, gone)[np.isin(encoding.words, left)]
            low, high = (int(share / RUNGS * (n - len(left) + 1)) for share in (rung, rung + 1))
            assert max(low, gone.sum()) <= min(place) <= max(high, gone.sum()) and max(place) < n
    again = retraining.rungs(model, [masked, e])
    assert all((again[name][1] == scores[0]).all() for name, scores in retraining.rungs(model, [e]).items())


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """Of models that learn nothing, and of the compiled one, which reads the evidence and nothing else."""
    sentences, labels, _ = texts("one_word", 90)
    model = compiled("one_word", sentences)
    parts = np.split(np.arange(90), [30, 60])
    splits = {
        name: (model.encode([sentences[i] for i in part]), labels[part])
        for name, part in zip(roar.SPLITS, parts, strict=True)
    }
    make = partial(models.load, "bilstm", planted.LABELS, sentences, width=4, hidden=4)
    settings = {"epochs": 1, "batch_size": 30, "learning_rate": 1e-6}
    return retraining.score(make, model, splits, settings, tmp_path_factory.mktemp("roar"))


def test_a_model_that_uses_the_evidence_alone_orders_all_rungs(scored):
    counts, means = scored
    assert list(counts) == ["metric", "ladder", *protocol.COUNTS] and list(means) == protocol.MEANS
    tuned = counts.set_index("metric").loc[retraining.TUNED]
    assert (tuned.pairs, tuned.right, tuned.ties, tuned.texts) == (10, 10, 0, 30)
    racu = means[means.metric == retraining.TUNED].value.to_numpy()
    assert (np.diff(racu) < 0).all() and racu[0] > 0.5 > 0 > racu[-1]


def test_models_that_learn_nothing_tie(scored):
    counts = scored[0].set_index("metric")
    for strategy in retraining.STRATEGIES.values():
        row = counts.loc[strategy]
        assert row.pairs == 10 and row.right + row.ties + row["void"] <= 10
        assert row.ties + row["void"] == 10
    assert not {*retraining.NAMES} & {*attributions.names()}
