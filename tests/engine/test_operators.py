"""Operators: what an erased token becomes, by hand, and what a model cannot have."""

import numpy as np
import pytest
import tiny
from wrong import refused

from faithlib.engine import forward
from faithlib.engine.operators import OPERATORS, Operator

UNIGRAMS = [5, 6, 7]  # of a training split, as ids
E = tiny.encoding(6, (1, 2, 3, 4), ids=[2, 9, 10, 11, 12, 3])
SOME = np.array([False, True, False, True, False, False])


@pytest.fixture
def model():
    return tiny.classifier()


def operator(model, name, **settings):
    """An operator with all that it may need."""
    return Operator(model, name, **{"unigrams": UNIGRAMS, "stream": "ground truth", **settings})


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("zero", [2, 9, 10, 11, 12, 3]), ("mask", [2, 4, 10, 4, 12, 3]), ("pad", [2, 0, 10, 0, 12, 3]),
        ("delete", [2, 10, 12, 3]),
    ],
)  # fmt: skip
def test_what_an_erased_token_becomes(model, name, ids):
    (variant,) = operator(model, name).variants(E, SOME)
    assert variant.encoding.ids.tolist() == ids
    assert variant.factor is None if name != "zero" else variant.factor().tolist() == (~SOME).tolist()


def test_resampled_tokens_are_of_the_training_split_and_others_stay(model):
    variants = operator(model, "resample").variants(E, SOME)
    ids = np.array([v.encoding.ids for v in variants])
    assert ids.shape == (4, 6) and set(ids[:, SOME].ravel()) <= set(UNIGRAMS)
    assert (ids[:, ~SOME] == E.ids[~SOME]).all()
    assert len({row.tobytes() for row in ids}) > 1


def test_a_replacement_text_is_the_same_for_all_explanations(model):
    """By position: what is erased elsewhere, before, or under another seed moves no replacement."""
    resample, others = operator(model, "resample"), np.array([False, False, True, True, True, False])
    some = [resample.variant(E, SOME, n).encoding.ids for n in range(4)]
    other = [resample.variant(E, others, n).encoding.ids for n in range(4)]
    assert [ids[3] for ids in some] == [ids[3] for ids in other]  # the third token is erased in both
    again = operator(model, "resample").variants(E, SOME)
    assert np.array_equal(some, [v.encoding.ids for v in again])
    assert np.array_equal(some[1], resample.variant(E, SOME, 5).encoding.ids)  # modulo the number of texts


def test_a_replacement_text_depends_on_its_streams_name_and_on_its_text(model):
    ids = {
        name: operator(model, "resample", stream=name, texts=9).variants(E, E.maskable)
        for name in ("train", "other")
    }
    assert any(
        a.encoding.ids.tobytes() != b.encoding.ids.tobytes() for a, b in zip(*ids.values(), strict=True)
    )
    longer = tiny.encoding(6, (1, 2, 3, 4), ids=[2, 9, 10, 11, 13, 3])
    of_text = operator(model, "resample", stream="train", texts=9).variants(longer, E.maskable)
    pairs = zip(of_text, ids["train"], strict=True)
    assert any(a.encoding.ids.tobytes() != b.encoding.ids.tobytes() for a, b in pairs)


def test_token_types_travel_with_their_tokens(model):
    typed = tiny.encoding(6, (1, 2, 3, 4), ids=E.ids)
    typed.types[:] = [0, 1, 0, 0, 1, 0]
    for name in ("mask", "pad", "resample"):
        (variant, *_) = operator(model, name).variants(typed, SOME)
        assert variant.encoding.types.tolist() == [0, 1, 0, 0, 1, 0]
    (deleted,) = operator(model, "delete").variants(typed, SOME)
    assert deleted.encoding.types.tolist() == [0, 0, 1, 0]


def test_soft_metrics_draw_elements_under_zero_and_tokens_under_all_others(model):
    assert {name: operator(model, name).by for name in OPERATORS} == {
        "zero": "element", "mask": "token", "delete": "token", "pad": "token", "resample": "token",
    }  # fmt: skip
    assert operator(model, "zero", by="token").by == "token"


class Closed:
    """A model whose embeddings cannot be reached, and that has neither a mask nor a padding token."""

    name, mask_id, pad_id = "closed", None, None

    def logits(self, batch):
        """Never called."""


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"name": "blur"}, "operator='blur' is unknown: use 'zero', 'mask', 'delete', 'pad', 'resample'"),
        (
            {"name": "mask"},
            "operator='mask': closed has no mask token: use one of 'zero', 'delete', 'pad'",
        ),
        ({"name": "pad"}, "operator='pad': closed has no pad token: use one of"),
        ({"name": "zero"}, "operator='zero', but closed gives no access to its embeddings"),
        (
            {"name": "delete", "by": "element"},
            "by='element' with operator='delete': only for 'zero'",
        ),
        ({"name": "delete", "by": "word"}, "by='word' is unknown: use 'element', 'token'"),
        (
            {"name": "resample", "unigrams": ()},
            "operator='resample' needs the token ids of the training split",
        ),
        ({"name": "resample", "stream": ""}, "give unigrams and stream"),
        ({"name": "resample", "texts": 0}, "texts=0 must be at least 1"),
    ],
)
def test_what_a_model_cannot_have_is_told_in_one_line(settings, words):
    refused(words, operator, Closed(), **settings)


def test_a_text_of_which_nothing_is_left_is_told(model):
    whole = tiny.encoding(3, (0, 1, 2))
    with pytest.raises(ValueError, match="operator='delete', but tiny-bert has no special token"):
        operator(model, "delete").check([E, whole])
    operator(model, "mask").check([whole])
    operator(model, "delete").check([E])


def test_the_engine_evaluates_every_operator(model):
    for name in OPERATORS:
        p = forward.probabilities(model, operator(model, name).variants(E, SOME))
        assert p.shape[1] == 3 and p.sum(1) == pytest.approx(1)


def test_logits_that_pass_their_settings_on_can_be_zeroed(model, monkeypatch):
    logits = model.logits
    monkeypatch.setattr(model, "logits", lambda batch, **more: logits(batch, **more))
    assert Operator(model, "zero").name == "zero"
    monkeypatch.setattr(model, "logits", lambda batch: logits(batch))
    refused("gives no access to its embeddings", Operator, model, "zero")
