"""Token heat maps: a colour by sign, a strength by row, text that stays text."""

import io
import re

import IPython.display
import matplotlib.pyplot as plt
import numpy as np
import PIL.Image
from wrong import refused

from faithlib.report.display import DPI, NEGATIVE, POSITIVE, _picture, heat, show_drawn


def colours(html):
    """[(rgb, strength, token)] of all spans."""
    spans = re.findall(r"rgba\((\d+),(\d+),(\d+),([\d.]+)\)[^>]*>([^<]*)<", html.data)
    return [(tuple(map(int, rgb)), float(strength), token) for *rgb, strength, token in spans]


def test_the_strongest_colour_of_a_row_is_its_largest_score():
    cells = colours(heat(["a", "b", "c"], {"one": [1, -4, 0], "two": [0.01, 0.005, 0]}))
    assert cells == [
        (POSITIVE, 0.25, "a"), (NEGATIVE, 1.0, "b"), (POSITIVE, 0.0, "c"), (POSITIVE, 1.0, "a"),
        (POSITIVE, 0.5, "b"), (POSITIVE, 0.0, "c"),
    ]  # fmt: skip


def test_scores_of_zero_are_no_colour_and_no_error():
    assert [strength for _, strength, _ in colours(heat(["a", "b"], {"none": [0.0, 0.0]}))] == [0, 0]


def test_tokens_and_notes_are_shown_as_they_are():
    html = heat(["<s>", "a&b"], {"x<y": [1, 2]}, notes={"x<y": "p < 0.5"}).data
    assert "&lt;s&gt;" in html and "a&amp;b" in html and "x&lt;y" in html and "p &lt; 0.5" in html
    assert "<s>" not in html


def test_a_row_of_another_length_is_told():
    refused("'mine' has 1 scores for 2 tokens", heat, ["a", "b"], {"mine": [1.0]})


def test_the_beginning_of_a_caption_is_the_picture_s_alternative_text(monkeypatch):
    displayed = []
    monkeypatch.setattr(IPython.display, "display", lambda *things: displayed.extend(things))
    show_drawn(plt.figure(), "**Does *it*\n  fall?** Lower is better.")
    picture, caption = displayed
    assert picture._repr_mimebundle_()[1] == {"image/png": {"alt": "Does it fall?"}}
    assert caption.data.endswith("Lower is better.") and not plt.get_fignums()


def test_a_picture_has_few_colours_and_with_a_colour_bar_the_right_ones():
    figure, axis = plt.subplots(figsize=(2, 2))
    drawn = axis.imshow([[0, 1], [2, 3]])
    assert len(PIL.Image.open(io.BytesIO(_picture(figure))).getcolors()) <= 96
    figure.colorbar(drawn)
    assert len(PIL.Image.open(io.BytesIO(_picture(figure))).getcolors()) > 200
    figure.savefig(whole := io.BytesIO(), format="png", dpi=DPI)
    whole, small = (
        np.asarray(PIL.Image.open(f).convert("RGB"), int) for f in (whole, io.BytesIO(_picture(figure)))
    )
    assert np.abs(whole - small).max() <= 10  # of 255
    plt.close(figure)
