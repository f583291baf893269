"""Beam search: look-up tables worked out by hand, released values, invariants."""

from itertools import permutations

import numpy as np
import pytest
import tiny
from sample.lookup import LOSSES, A, look_up, losing, next_token, text

from faithlib.attributions import attribute

BOTH = ["leave_one_out", "leave_one_out_abs"]


def ranks(model, encodings, beam):
    rows = attribute(model, encodings, [0] * len(encodings), ["beam"], beam=beam)["beam"]
    return [row[e.maskable].tolist() for e, row in zip(encodings, rows, strict=True)]


def test_beam_search_by_hand(four):
    """
    B = 1: a (4), a b (4 + 5 = 9), a b d (9 + 6 = 15), then c: a 4, b 3, d 2, c 1.
    B = 2: a (4), b (3); of the pairs b d (3 + 8 = 11) and a b (9, before b c with 9 too); of the triples
           b d c (11 + 9 = 20) and b d a (17, better than a b d): b 4, d 3, c 2, a 1.
    B = 3: c (2) stays as well; c d (2 + 12 = 14), then b (14 + 9 = 23): c 4, d 3, b 2, a 1.
    """
    assert ranks(*four, beam=1) == [[4, 3, 1, 2]]
    assert ranks(*four, beam=2) == [[1, 4, 2, 3]]
    assert ranks(*four, beam=3) == [[1, 2, 4, 3]]
    assert ranks(*four, beam=10) == [[1, 2, 4, 3]]


def test_equal_orders_keep_the_order_in_which_they_were_reached():
    model = look_up(losing("abc", 0, {"ab": 1, "ac": 1, "bc": 1}))
    assert ranks(model, [text(A, A + 1, A + 2)], beam=1) == [[3, 2, 1]]
    assert ranks(model, [text(A, A + 1, A + 2)], beam=5) == [[3, 2, 1]]
    # b d and a c have 5 each, and so have all triples: b d came from the better parent.
    model = look_up(losing("abcd", 0, {"a": 2, "b": 3, "bd": 2, "ac": 3}))
    assert ranks(model, [text(A, A + 1, A + 2, A + 3)], beam=2) == [[2, 4, 1, 3]]


def test_sums_that_differ_by_rounding_alone_are_equal():
    """c leads b by 5e-5 of a logit, which another batch could reverse: they are equal, and b comes first."""
    model = look_up(losing("abc", 0, {"a": 3, "ab": 1, "ac": 1.00005}))
    assert ranks(model, [text(A, A + 1, A + 2)], beam=1) == [[3, 2, 1]]
    model = look_up(losing("abc", 0, {"a": 3, "ab": 1, "ac": 1.001}))
    assert ranks(model, [text(A, A + 1, A + 2)], beam=1) == [[3, 1, 2]]


def test_a_set_takes_one_place_in_the_beam():
    """a b and b a (9) are one set: b c (8) has the other place of two, and leads to b c d (17)."""
    model = look_up(losing("abcd", 0, {"a": 4, "b": 4, "ab": 5, "bc": 4, "bcd": 9}))
    encodings = [text(A, A + 1, A + 2, A + 3)]
    assert ranks(model, encodings, beam=2) == [[1, 4, 3, 2]]
    assert ranks(model, encodings, beam=1) == [[4, 3, 2, 1]]  # a b c d: 4 + 5 and no more


def test_examples_of_all_lengths_share_the_rounds(four):
    model = look_up(losing("abcd", 20, LOSSES) | losing("ab", 3, {"a": 1, "b": 2}) | losing("c", 1, {"c": 9}))
    encodings = [text(A, A + 1), *four[1], text(A + 2)]
    assert ranks(model, encodings, beam=3) == [[1, 2], [1, 2, 4, 3], [1]]
    assert ranks(model, encodings[::-1], beam=1) == [[1], [4, 3, 1, 2], [1, 2]]
    rows = attribute(model, encodings, [0] * 3, BOTH)["leave_one_out"]
    assert [row.tolist() for row in rows] == [[0, 1, 2, 0], [0, 4, 3, 2, -1, 0], [0, 9, 0]]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tokens", [1, 3, 6])
def test_a_wide_beam_finds_the_best_order(tokens, seed):
    words, draw = "abcdef"[:tokens], np.random.default_rng([tokens, seed])
    losses = {
        "".join(w for i, w in enumerate(words) if bits >> i & 1): float(draw.normal())
        for bits in range(1, 2**tokens)
    }
    model, encodings = look_up(losing(words, 1, losses)), [text(*range(A, A + tokens))]

    def area(order):
        return sum(losses["".join(sorted(order[:n]))] for n in range(1, tokens + 1))

    areas = [area(order) for order in permutations(words)]
    by_size = {}
    for size in (1, 20):  # 20 = the sets of 3 out of 6
        (row,) = ranks(model, encodings, size)
        assert sorted(row) == list(range(1, tokens + 1))
        by_size[size] = area([words[i] for i in np.argsort(row)[::-1]])
    assert by_size[20] == pytest.approx(max(areas), abs=1e-5) and by_size[1] <= by_size[20] + 1e-5
    if tokens == 6:
        assert by_size[20] > np.median(areas) + 0.5


def test_beam_search_explains_the_probability_of_a_language_model():
    model = tiny.causal()
    (prompt,) = model.encode(["the plot was great"])
    target = 9
    full = next_token(model, prompt.ids, target)

    def area(order):
        ids, total = prompt.ids.copy(), 0
        for at in order:
            ids[at] = model.mask_id
            total += full - next_token(model, ids, target)
        return total

    best = max(permutations(range(1, 5)), key=area)
    (row,) = attribute(model, [prompt], [target], ["beam"])["beam"]
    assert row[list(best)].tolist() == [4, 3, 2, 1]
