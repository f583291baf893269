"""The attributions of a study: names, functions that join for one call, scores given."""

from functools import partial

import numpy as np
import pytest
import tiny
import torch

from faithlib import attributions
from faithlib.study import evaluate, methods

NAMES = attributions.names()


def keep(model, batch, target):
    return batch.maskable * 1.0


def sized(model, batch, target, size=1.0):
    return {"sized": batch.maskable * size * torch.arange(batch.ids.shape[1])}


@pytest.fixture(autouse=True)
def nothing_stays_registered():
    yield
    assert attributions.names() == NAMES


def test_functions_are_registered_for_one_call():
    with methods.joined([keep, "lime", sized]) as joined:
        assert joined.computed == {"keep": "keep", "lime": "lime", "sized": "sized"}
        assert {"keep", "sized"} <= set(attributions.names())
    with methods.joined({"mine": keep, "theirs": "lime", "given": [[0.5]]}) as joined:
        assert joined.computed == {"mine": "mine", "theirs": "lime"} and joined.scores == {"given": [[0.5]]}
        assert joined.order == ["mine", "theirs", "given"]
    for several in (np.array(["lime", "beam"]), (name for name in ("lime", "beam"))):
        with methods.joined(several) as joined:
            assert joined.order == ["lime", "beam"]


def test_they_leave_when_the_call_fails():
    with pytest.raises(ZeroDivisionError), methods.joined([keep]):
        _ = 1 / 0


def test_functions_return_scores_or_a_dict_or_rows():
    model = tiny.classifier()

    def rows(model, batch, target):
        return [np.where(e.maskable, 1.0, 0) for e in batch.encodings]

    def array(model, batch, target):
        return batch.maskable.numpy() * 1.0

    study = evaluate(model, tiny.TEXTS, [keep, rows, array, sized], ["ns"], size=2.0)
    for i, e in enumerate(study.encodings):
        for name in ("keep", "rows", "array"):
            assert study.scores[name][i].tolist() == e.maskable.astype(float).tolist()
        assert study.scores["sized"][i].tolist() == (2.0 * e.maskable * np.arange(len(e.ids))).tolist()


def test_a_function_that_writes_into_the_texts_is_refused():
    def spoils(model, batch, target):
        batch.encodings[0].ids[1] = model.mask_id
        return batch.maskable * 1.0

    with pytest.raises(
        ValueError, match="attribution 'spoils' changes encoding.ids, which others read: copy"
    ):
        evaluate(tiny.classifier(), tiny.TEXTS, [spoils, "gradient_l2"], ["ns"], progress=False)


def test_settings_of_one_attribution():
    model = tiny.classifier()
    wanted = {"two": partial(sized, size=2.0), "one": "gradient_l2"}

    def two(model, batch, target):
        return wanted["two"](model, batch, target)["sized"]

    study = evaluate(model, tiny.TEXTS, {**wanted, "two": two}, ["ns"])
    assert list(study.scores) == ["two", "one"] and study.scores["two"][0][2] == 4
