"""README.md: its examples run and give its numbers, its links lead somewhere; the other pages' links too."""

import io
import re

import pandas as pd
import pytest
from docs.page import BLOCK, ROOT

from replication import papers
from replication.cards import CELL, with_counts

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "benchmarks/README.md",
    "docs/adding.md",
    "docs/judge.md",
    "docs/models.md",
    "docs/running.md",
    "docs/using.md",
]
CARDS = [f"notebooks/{paper}/README.md" for paper in papers.names()]


def targets(page):
    """The files that a page links to, relative to it, with what follows their #."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", text))
    return [target.partition("#") for target in found if not target.startswith("http")]


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


MODEL = """
from faithlib import load_data, load_model
from faithlib.training.fine_tuning import fine_tune

reviews = load_data("sentiment", sizes={"train": 600, "validation": 60, "test": 8})
model = load_model("tiny-bert", data=reviews)
splits = {s: (model.encode(list(x["text"])), list(x["label"])) for s, x in reviews.splits.items()}
fine_tune(model, splits, epochs=3, batch_size=32, learning_rate=2e-3)
model.model.save_pretrained("my-fine-tuned-model")
model.tokenizer.save_pretrained("my-fine-tuned-model")
reviews.splits["test"].to_pandas()[["text", "label"]].to_parquet("reviews.parquet")
"""


def test_the_examples_run_and_print_the_table(tmp_path, monkeypatch):
    own, generated = [text for language, text in BLOCK.findall(README) if language == "python"]
    assert len([line for line in own.splitlines() if line]) == 5
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in (MODEL, own, generated):
        exec(code, names)
    assert (tmp_path / "out" / "explorer.html").is_file() and (tmp_path / "out" / "tables").is_dir()
    table = names["study"].table
    (text,) = [text for language, text in BLOCK.findall(README) if language == "text"]
    printed = pd.read_csv(io.StringIO(text), sep=r"\s+").reset_index(drop=True)
    keys, numbers = ["attribution", "metric"], ["value", "ci_low", "ci_high", "diagnosticity"]
    assert printed[keys].values.tolist() == table[keys].values.tolist() and len(printed) == 6
    # training compounds rounding, which differs between processors
    assert (printed[numbers] - table[numbers]).abs().max().max() <= 0.05


def test_the_picture_is_of_the_words_that_the_example_prints():
    drawn = (ROOT / "figures/method/one_review.svg").read_text(encoding="utf-8")
    removed = re.findall(r"(\d+) of (\d+) words masked", drawn)
    assert len(removed) == 3 and len({of for _, of in removed}) == 1
    assert all(1 <= int(n) <= int(of) for n, of in removed)


def test_the_verdicts_are_those_of_the_claims():
    assert with_counts(README, ROOT / "results/small") == README, "run `python -m replication small --cards`"
    assert [paper for _, paper, _ in CELL.findall(README)] and {m[1] for m in CELL.findall(README)} == set(
        papers.names()
    )


def test_it_is_short_and_names_every_paper():
    assert len(README.splitlines()) <= 150
    for paper in papers.names():
        assert f"`{paper}`" in README and f"(notebooks/{paper}/README.md)" in README


@pytest.mark.parametrize("page", PAGES + CARDS)
def test_links_lead_to_files_and_headings(page):
    for file, _, anchor in targets(page):
        path = (ROOT / page).parent / file if file else ROOT / page
        assert path.exists(), f"{page}: there is no {file}"
        if anchor:
            assert anchor in anchors(path), f"{page}: {file} has no heading #{anchor}"


@pytest.mark.parametrize("paper", papers.names())
def test_a_card_begins_with_title_citation_link_and_notebooks(paper):
    card, text = papers.card(paper), (ROOT / f"notebooks/{paper}/README.md").read_text(encoding="utf-8")
    first = text.split("\n## ")[0]
    for part in (f"# {card.title}\n", card.citation, card.url, "(experiment.ipynb)", "(report.ipynb)"):
        assert part in first


def test_the_targets_that_pages_name_are_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    known = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)[1].split()
    for page in PAGES + CARDS:
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in re.findall(r"(?:^|`)make ([a-z][\w-]*)", text, re.M):
            assert target in known, f"{page} names make {target}"
