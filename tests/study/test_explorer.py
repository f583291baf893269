"""The explorer: what it holds, that texts stay texts, that it loads nothing, and its size."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from studies import NASTY, SCORES, TOKENS, study

from faithlib.study import explorer


class Elements(HTMLParser):
    """All elements of a page: names with attributes, and the text of scripts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.scripts, self.open = [], [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
            self.open = True

    def handle_endtag(self, tag):
        self.open = self.open and tag != "script"

    def handle_data(self, data):
        if self.open:
            self.scripts[-1] += data


def test_a_page_holds_what_was_measured():
    held = json.loads(Elements(explorer.page(study())).scripts[0])
    assert held == explorer.data(study())
    assert held["metrics"] == [
        {"label": "NS", "better": "higher"},
        {"label": "decision flip (fraction)", "better": "lower"},
    ]
    assert held["attributions"] == ["leave-one-out", "LIME"]
    first = held["texts"][0]
    assert first["values"] == [[0.5, 0.2], [0.7, 0.1]]
    assert held["texts"][2]["values"][0] == [None, 0.6]
    assert (first["target"], first["predicted"], first["gold"], first["right"]) == ("good",) * 3 + (True,)
    assert [text["right"] for text in held["texts"]] == [True, False, True]


def test_scores_are_steps_of_a_rows_largest_and_others_than_maskable_ones_are_zero():
    texts = explorer.data(study())["texts"]
    assert texts[0]["scores"][0] == [0, 250, -999, 500, 0, 0] and texts[0]["largest"] == [0.4, 4.0]
    assert texts[1]["scores"][0] == [0, 999, 500, 0] and texts[1]["largest"][0] == 2.0
    assert texts[2]["scores"][0] == [0, 0, 0] and texts[2]["largest"][0] == 0.0
    for text, scores in zip(texts, zip(*SCORES.values(), strict=True), strict=True):
        for steps, largest, row in zip(text["scores"], text["largest"], scores, strict=True):
            read = np.array(steps) * largest / explorer.LEVELS
            assert read[1:-1] == pytest.approx(row[1:-1], abs=largest / explorer.LEVELS)


def test_tokens_are_read_without_marks():
    text = explorer.data(study())["texts"][0]
    assert text["tokens"] == ["[CLS]", "un", "like", "ly", "<b>", "[SEP]"] and text["kinds"] == "owjjwo"
    encoding = SimpleNamespace(
        ids=np.arange(4), words=np.array([0, 0, 1, 2]), maskable=np.full(4, True), auxiliary=None
    )
    bytewise = study(encodings=[encoding], tokens=[["un", "likely", "Ġfilm", "▁"]], texts=None)
    bytewise.scores = {"lime": [np.ones(4)]}
    text = explorer.data(bytewise)["texts"][0]
    assert text["tokens"] == ["un", "likely", "film", "▁"] and text["kinds"] == "wjww"
    assert text["text"] == "un likely Ġfilm ▁"


def test_texts_labels_and_notes_stay_text():
    nasty = study(model_name=NASTY, notes=[NASTY], label_names=(NASTY, "good"))
    for page in (explorer.page(nasty), explorer.page(study(), title=f"{NASTY} &")):
        elements = Elements(page)
        assert [attrs.get("id", "") for tag, attrs in elements.tags if tag == "script"] == ["data", ""]
        assert page.count("</script>") == 2 and not {"b", "img"} & {tag for tag, _ in elements.tags}
        assert json.loads(elements.scripts[0])["texts"][1]["tokens"] == TOKENS[1]
        assert "&lt;/script&gt;" in page


@pytest.mark.parametrize(
    "odd", ["@@SCRIPT@@", "\u2028", "<!--", "]]>", "\\u003c", "\ud83d\ude00\\", "\x00'\""]
)
def test_odd_characters_come_back(odd):
    odd = odd.encode("utf-16", "surrogatepass").decode("utf-16")
    held = study(tokens=[[odd] * len(row) for row in TOKENS], texts=[odd] * 3)
    text = json.loads(Elements(explorer.page(held)).scripts[0])["texts"][0]
    assert text["text"] == odd and text["tokens"] == [odd] * 6


def test_nothing_is_loaded_and_no_other_script_runs():
    elements = Elements(explorer.page(study()))
    assert not [attrs for _, attrs in elements.tags if {"src", "href", "action"} & set(attrs)]
    policy = next(attrs["content"] for tag, attrs in elements.tags if tag == "meta" and "content" in attrs
                  and attrs.get("http-equiv"))  # fmt: skip
    assert policy.startswith("default-src 'none'") and "script-src 'sha256-" in policy
    script = elements.scripts[1]
    digest = hashlib.sha256(script.encode()).digest()
    assert f"'sha256-{base64.b64encode(digest).decode()}'" in policy
    for word in ("innerHTML", "insertAdjacent", "document.write", "eval(", "fetch(", "http"):
        assert word not in script
    style = (explorer.PARTS / "explorer.css").read_text(encoding="utf-8")
    assert "url(" not in style and "@import" not in style


def test_every_control_has_a_label():
    page = explorer.page(study())
    controls = re.findall(r"<(?:input|select)[^>]*>", page.split("<script")[0])
    assert len(controls) == 7 and all(f"{c}" in "".join(re.findall(r"<label>.*?</label>", page, re.S))
                                      for c in controls)  # fmt: skip
    assert 'lang="en"' in page and "<noscript>" in page


def luminance(rgb):
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (x / 255 for x in rgb)]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize("theme", [":root {", ':root[data-theme="dark"] {'])
def test_tokens_can_be_read_on_the_strongest_colour(theme):
    """Contrast of at least 4.5 : 1 (WCAG 2.2, AA)."""
    style = (explorer.PARTS / "explorer.css").read_text(encoding="utf-8")
    light = dict(re.findall(r"--([a-z]+): ([^;]+);", style.split("}")[0]))
    values = light | dict(re.findall(r"--([a-z]+): ([^;]+);", style[style.index(theme) :].split("}")[0]))
    page, ink = (np.array([int(values[n][i : i + 2], 16) for i in (1, 3, 5)]) for n in ("page", "ink"))
    for colour in ("positive", "negative"):
        strongest = np.array(values[colour].split(), float) * float(values["most"]) + page * (
            1 - float(values["most"])
        )
        high, low = sorted((luminance(ink), luminance(strongest)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5


def test_two_hundred_texts_are_below_a_megabyte(tmp_path):
    """200 texts of 60 tokens, five attributions, five metrics."""
    draw, names = np.random.default_rng(0), [f"method_{i}" for i in range(5)]
    words = np.arange(60)
    encoding = SimpleNamespace(ids=words, words=words, maskable=words >= 0, auxiliary=None)
    metrics = ("ns", "nc", "soft_ns", "soft_nc", "decision_flip")
    index = pd.MultiIndex.from_product(
        [range(200), names, metrics], names=["example", "attribution", "metric"]
    )
    large = study(
        values=pd.DataFrame({"value": draw.normal(size=len(index)), "baseline": ""}, index).reset_index(),
        scores={name: [draw.normal(size=60) for _ in range(200)] for name in names},
        encodings=[encoding] * 200,
        targets=np.zeros(200, int),
        tokens=[["tokens"] * 60] * 200,
        texts=[" ".join(["tokens"] * 60)] * 200,
        **dict.fromkeys(("labels", "predicted")),
    )
    assert 3e5 < explorer.write(large, tmp_path / "new" / "explorer.html").stat().st_size < 1e6


def test_texts_without_names_and_labels_are_shown():
    bare = study(labels=None, predicted=None, label_names=None, texts=None, tokens=None, notes=None)
    text = explorer.data(bare)["texts"][1]
    assert (text["target"], text["predicted"], text["gold"], text["right"]) == ("0", "0", "", None)
    assert text["tokens"] == ["0", "1", "2", "3"]
    named = study(label_names=None, target_names=["a film", "b", "c"], predicted=None, labels=None)
    assert explorer.data(named)["texts"][0]["target"] == "a film"


CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.mark.skipif(not CHROMIUM, reason="no browser")
def test_a_browser_draws_all_texts(tmp_path):
    path = explorer.write(study(), tmp_path / "explorer.html")
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'home'}",
    ]  # fmt: skip
    done = subprocess.run([*command, "--dump-dom", path.as_uri()], capture_output=True, timeout=300)
    drawn = done.stdout.decode()
    assert drawn.count("<article") == 3 and "texts 1 to 3 of 3" in drawn
    assert "&lt;script&gt;alert" in drawn and drawn.count("<script") == 2
    assert drawn.count('<td class="heat"') == 6 and "background" not in drawn.split("<article")[1]
