"""The certificate of models that do not read: it holds for them, and for no other model."""

import numpy as np
import pytest
import tiny
import torch
from wrong import refused

from notebooks.ground_truth_2.measure.certificate import (
    CERTIFIED,
    certificate,
    largest_gradient,
    operators_of,
    sentence,
)
from notebooks.ground_truth_2.measure.read_half import KINDS, ReadHalf, half_read

TARGETS = np.array([0, 2, 1, 0])


def studied(kind):
    """(model, texts with bits, operators)."""
    model = ReadHalf(tiny.classifier(), kind)
    texts = [text for text in tiny.TEXTS if len(text.split()) > 1]
    return model, half_read(model.encode(texts), 1), operators_of(model, [5, 6, 7, 8], 1)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_moves_where_unread_tokens_are_erased(kind):
    table = certificate(*studied(kind)[:2], TARGETS, studied(kind)[2]).set_index("operator")
    assert table.index[table.certified].tolist() == list(CERTIFIED[kind])
    assert table.largest[table.certified].max() < 1e-5
    assert table.largest["delete"] > 1e-3  # places move
    assert table.all_mean.min() > 1e-3
    assert table["mean"].le(table.largest).all()


def test_a_masked_place_is_read_under_zero():
    model, encodings, operators = studied("mask")
    assert certificate(model, encodings, TARGETS, operators).set_index("operator").largest["zero"] > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_zero_at_unread_tokens_alone(kind):
    model, encodings, _ = studied(kind)
    assert largest_gradient(model, encodings, TARGETS) == 0
    for encoding in encodings:  # as unread as a text can be: with the bits turned
        encoding.types[encoding.maskable] = 1 - encoding.types[encoding.maskable]
    assert largest_gradient(model, encodings, TARGETS) == 0


def test_a_model_that_reads_has_no_certificate():
    model, encodings, operators = studied("attention")
    inputs = model._inputs
    model._inputs = lambda batch, *rest: {**inputs(batch, *rest), "attention_mask": batch.present.long()}
    message = "reads unread tokens: erasing them with zero, mask, pad, resample"
    refused(message, certificate, model, encodings, TARGETS, operators, error=AssertionError)
    with torch.enable_grad():
        assert largest_gradient(model, encodings, TARGETS) > 0


def test_the_certificate_in_words():
    model, encodings, operators = studied("attention")
    words = sentence(certificate(model, encodings, TARGETS, operators))
    assert words.startswith("Erasing all unread tokens moves p by at most ")
    assert "under zero, mask, pad, resample; under delete, where places move, by 0." in words
