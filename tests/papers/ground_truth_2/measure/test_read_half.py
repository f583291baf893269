"""Models that read half of the words: their bits, and what they cannot see."""

import numpy as np
import pytest
import tiny
from wrong import refused

from faithlib.engine import forward
from notebooks.ground_truth_2.measure.read_half import (
    KINDS,
    READ,
    UNREAD,
    ReadHalf,
    half_read,
    read_tokens,
    unread_tokens,
    with_bits,
)

TEXT = "she liked the unlikely ending a lot"  # "unlikely" is three tokens


@pytest.fixture(params=KINDS)
def model(request):
    return ReadHalf(tiny.classifier(), request.param)


def p(model, encoding):
    return forward.probabilities(model, [forward.unchanged(encoding)])[0]


def bits(encoding, unread):
    """The encoding whose words of these indices are not read."""
    types = np.where(np.isin(encoding.words, unread), UNREAD, READ)
    return type(encoding)(encoding.ids, types, encoding.maskable, encoding.auxiliary, encoding.words)


def test_bits_are_of_words_and_leave_special_tokens_read():
    (encoding,) = tiny.classifier().encode([TEXT])
    drawn = with_bits(encoding, 0.5, np.random.default_rng(1))
    assert len(set(drawn.types[drawn.words == 3])) == 1
    assert (drawn.types[~drawn.maskable] == READ).all()
    assert (read_tokens(drawn) ^ unread_tokens(drawn)).tolist() == drawn.maskable.tolist()
    assert read_tokens(with_bits(encoding, 1, np.random.default_rng(1))).sum() == encoding.maskable.sum()
    assert unread_tokens(with_bits(encoding, 0, np.random.default_rng(1))).sum() == encoding.maskable.sum()


def test_bits_know_the_number_of_a_text_and_not_its_words():
    one, other = (tiny.classifier().encode([text] * 2) for text in (TEXT, "it was a long and boring film"))
    drawn = [[e.types[np.unique(e.words, return_index=True)[1]].tolist() for e in half_read(es, 3)]
             for es in (one, other)]  # fmt: skip
    assert drawn[0] == drawn[1] and drawn[0][0] != drawn[0][1]
    again = half_read(one, 4)[0].types.tolist(), half_read(one, 5)[0].types.tolist()
    assert again[0] != again[1]


def test_what_is_not_read_does_not_matter(model):
    (encoding,) = model.encode([TEXT])
    some = bits(encoding, [1, 3])
    expected = p(model, some)
    for new in (5, 9, 4):
        other = bits(encoding, [1, 3])
        other.ids[unread_tokens(other)] = new
        assert np.abs(p(model, other) - expected).max() < 1e-6
    read = bits(encoding, [1, 3])
    read.ids[1] = 9
    assert np.abs(p(model, read) - expected).max() > 1e-3


def test_with_all_words_read_it_is_the_model_itself(model):
    plain = tiny.classifier()
    (encoding,) = plain.encode([TEXT])
    assert p(model, encoding) == pytest.approx(p(plain, encoding), abs=1e-6)


def test_the_kinds_differ_in_whether_a_place_is_read():
    masked, hidden = (ReadHalf(tiny.classifier(), kind) for kind in ("mask", "attention"))
    (encoding,) = masked.encode([TEXT])
    ids = encoding.ids.copy()
    ids[encoding.words == 3] = masked.mask_id
    by_hand = tiny.encoding(len(ids), np.flatnonzero(encoding.maskable), ids)
    assert p(masked, bits(encoding, [3])) == pytest.approx(p(tiny.classifier(), by_hand), abs=1e-6)
    zero = np.where(encoding.words == 3, 0.0, 1.0)
    weighted = forward.Variant(encoding, weight=zero, key=None)
    expected = forward.probabilities(tiny.classifier(), [weighted])[0]
    assert p(hidden, bits(encoding, [3])) == pytest.approx(expected, abs=1e-5)


def test_a_text_b_and_an_unknown_kind_are_refused():
    model = tiny.classifier()
    (pair,) = model.encode([TEXT], ["who ?"])
    refused("the encoding has a text_b", with_bits, pair, 0.5, np.random.default_rng(0))
    refused("kind='none' is unknown: use 'attention', 'mask'", ReadHalf, model, "none")
    model.tokenizer.mask_token = None
    refused("tiny-bert has no mask token: use a masked language model", ReadHalf, model, "mask")
