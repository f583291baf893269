"""README.md: its examples run and give its numbers, its links lead somewhere; the other pages' links too."""

import io
import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from docs.page import BLOCK, ROOT

from replication import papers
from replication.cards import CELL, with_counts

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = (
    "README.md CONTRIBUTING.md CHANGELOG.md benchmarks/README.md docs/adding.md "
    "docs/judge.md docs/models.md docs/running.md docs/using.md docs/which-metric.md "
    "docs/api.md docs/coming-from.md docs/glossary.md docs/index.md docs/statistics.md docs/teaching.md"
).split()
CARDS = [f"notebooks/{paper}/README.md" for paper in papers.names()]


def targets(page):
    """The files that a page links to, relative to it, with what follows their #."""
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", text))
    return [target.partition("#") for target in links if not target.startswith("http")]


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
    example, generated = [text for language, text in BLOCK.findall(README) if language == "python"]
    assert len([line for line in example.splitlines() if line]) == 5
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in (MODEL, example, generated):
        exec(code, names)
    assert (tmp_path / "out" / "explorer.html").is_file() and (tmp_path / "out" / "tables").is_dir()
    table = names["study"].table
    (text,) = [text for language, text in BLOCK.findall(README) if language == "text"]
    printed = pd.read_csv(io.StringIO(text), sep=r"\s+").reset_index(drop=True)
    keys, numbers = ["attribution", "metric"], ["value", "ci_low", "ci_high", "n", "void", "diagnosticity"]
    assert printed[keys].values.tolist() == table[keys].values.tolist() and len(printed) == 6
    # training compounds rounding, which differs between processors
    assert (printed[numbers] - table[numbers]).abs().max().max() <= 0.05


@pytest.mark.parametrize("never", [False, True])
def test_the_picture_shows_when_a_prediction_changes_and_never_where_it_does_not(load, monkeypatch, never):
    """The model says 1 while its word "a" is there; with all words masked it says 0, or still 1."""
    drawing, picked = load("readme_example"), []
    words = [["b", "a"], ["a", "b"]]
    encodings = [SimpleNamespace(ids=[9, 8], maskable=np.array([True, True]))] * 2
    scores = {name: [np.array([1.0, 0.5])] * 2 for name in drawing.LABELS}
    study = SimpleNamespace(tokens=words, encodings=encodings, scores=scores)
    classes = iter([(1, 1), (1, 0), (1, 0)])  # the first text keeps its class: not shown
    monkeypatch.setattr(drawing, "predictions", lambda model, encoding: next(classes))
    rows = [(name, 0, 1.0, not never, 2) for name in drawing.LABELS]
    flips = pd.DataFrame(rows, columns=["attribution", "example", "fraction", "flipped", "removed"])
    monkeypatch.setattr(drawing, "decision_flip", lambda *arguments: picked.append(arguments) or flips)
    news = SimpleNamespace(task=SimpleNamespace(labels=("no", "yes")))
    drawn = drawing.drawn(news, None, study)
    assert drawn.count(">a</text>") == 3 and "“yes”" in drawn and len(picked) == 1
    assert drawn.count("never changes, with 2 of 2 words masked" if never else "after 2 of 2 words") == 3


def test_the_generated_words_are_those_of_the_records(load):
    assert with_counts(README, ROOT / "results/small") == README, "run `python -m replication small --cards`"
    assert {paper for _, paper, _ in CELL.findall(README)} == set(papers.names())
    metric = load("which_metric")
    assert all(path.read_text("utf-8") == text for path, text in metric.pages().items()), metric.__doc__
    assert "finding: metrics -->For" in README
    assert "🟩 **Holds**" in README and "🟥 **Does not hold**" in README


def test_what_to_report_follows_the_records(load, tmp_path):
    metric = load("which_metric")
    tables = tmp_path / "small/ground_truth_2/tables"
    tables.mkdir(parents=True)
    columns = ["metric", "map", "operator", "by", "worst", "cell", "mean", "verdict", "cells", "texts"]
    best = ("aopc_sufficiency", "", "delete", "token", 0.81, "P1 near", 0.9, "undecided", 6, 1.0)
    published = ("aopc_sufficiency", "", "mask", "token", 0.7, "P3 order", 0.9, "undecided", 6, 1.0)
    worst = ("soft_ns", "minmax", "zero", "element", 0.2, "P3 ones but one", 0.6, "fails", 6, 1.0)
    equal = ("soft_ns", "equal", "zero", "element", 0.6, "P1 near", 0.6, "undecided", 6, 1.0)  # a map of ours
    second = ("ns", "", "delete", "token", 0.75, "P1 near", 0.9, "undecided", 6, 1.0)
    classes = [best, second, published, equal, worst]
    words = [best, ("log_ratio", "clip", "zero", "element", 0.1, "P2 missed", 0.5, "fails", 6, 1.0)]
    cells = pd.DataFrame(
        [(*best[:4], "P1", "one of two", 1.0)], columns=[*columns[:4], "kind", "error", "accuracy"]
    )
    for (name, of), rows in zip(metric.KINDS.values(), (classes, words), strict=True):
        cells.to_csv(tables / f"{name}.csv", index=False)
        entries = pd.DataFrame(rows, columns=columns)
        entries = entries.assign(
            lowest=entries.worst, ci_low=0.1, ci_high=0.9, inside=[*[0.7] * (len(rows) - 1), ""]
        )
        entries.to_csv(tables / f"{of}.csv", index=False)
    pd.DataFrame({"refused": ["", "below chance"]}).to_csv(tables / "gates.csv", index=False)
    transfer = pd.DataFrame({"between": ["kind", "kind", "shape"], "tau": [-0.1, 0.5, 0.9]})
    transfer.to_csv(tables / "transfer.csv", index=False)
    results = tmp_path / "small"
    finding = metric.finding(results)
    start = (
        "For classifiers **AOPC, sufficiency or NS**, with `operator='delete'`: in the worst of 6 kinds of "
    )
    assert finding.startswith(start + "models and errors 81 % and 75 % of pairs")
    assert "Soft-NS as published 20 %; chance is 50 %." in finding
    rows = metric.metrics_table(results).splitlines()
    assert rows[2] == "| AOPC, sufficiency | 70 %: P3 order | 81 %: delete |  | 81 %: delete | 10 |"
    assert rows[5] == "| log ratio |  |  | 10 %: P2 missed | 10 %: zero by element |  |"
    answer = metric.answer(results)
    assert "For **language models**:\n\n- **Report** AOPC" in answer and "Where one of two" in answer
    assert "| Soft-NS | The size of the scores" in metric.fooled_table(results)
    assert metric.rests(results).endswith(
        "(Kendall's τ -0.10 to 0.50), so what counts is the lowest cell of all kinds."
    )
    (tables / "language_models.csv").unlink()
    assert metric.answer(results).endswith("For **language models** there are no records yet.")
    assert "language models" not in metric.metrics_table(results)


def test_its_minutes_are_those_that_were_measured():
    (row,) = pd.read_csv(ROOT / "results/benchmarks/quick.csv").itertuples()
    assert f"generated data: {row.wall_seconds / 60:.0f} minutes on two cores" in README
    assert "one unit on generated data, about a minute" in README and row.cpu_seconds / row.units < 60


def test_numbers_in_prose_are_those_of_tables_and_records():
    means = papers.published("soft_metrics", "table_2").query("attribution == 'average'").set_index("metric")
    assert f"the lead is {means.value['Soft-NS'] - means.value['NS']:+.3f}, a mean over four data" in README
    records = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / "results").glob("*/*/*.json"))
        if path.parents[1].name in ("small", "base")
    ]
    gaps = pd.DataFrame(
        row
        for record in records
        for row in record["metrics"]
        if (record["scale"], record["paper"], row["metric"]) == ("base", "soft_metrics", "completeness_gap")
    )
    median, change = (
        [f"{x:.2f}".lstrip("0") for x in (of.min(), of.max())] for of in (gaps["median"], gaps.change)
    )
    card = (ROOT / "notebooks/soft_metrics/README.md").read_text(encoding="utf-8")
    assert f"they miss {' to '.join(median)} where the logit changes by {' to '.join(change)}" in card
    rows = {record["params"]["task"]: record["provenance"]["data"] for record in records}
    names = "snli", "ag_news", "boolq", "evidence_inference"
    counts = [f"{rows[name]['source_rows']['train']:,}" for name in names]
    running = (ROOT / "docs/running.md").read_text(encoding="utf-8")
    assert f"copies with {', '.join(counts[:3])} and {counts[3]} training rows" in running
    tried = pd.read_csv(ROOT / "results/small/saloss/tables/lambdas.csv").query("definition == 'paper'")
    keys = ["dataset", "model", "seed"]
    without = tried[tried.salience == "none"].set_index(keys).attention_kl
    chosen = tried[tried.chosen & (tried.salience == "textrank")].set_index(keys).attention_kl
    less = (chosen / without.reindex(chosen.index)) <= 0.9
    saloss = (ROOT / "notebooks/saloss/README.md").read_text(encoding="utf-8")
    assert f"in {less.sum()} of {len(less)} models by a tenth or more" in saloss


def test_it_is_short_and_names_every_paper():
    assert len(README.splitlines()) <= 120
    for paper in papers.names():
        assert f"`{paper}`" in README and f"(notebooks/{paper}/README.md)" in README


@pytest.mark.parametrize("page", PAGES + CARDS)
def test_links_lead_to_files_and_headings(page):
    for file, _, anchor in targets(page):
        path = (ROOT / page).parent / file if file else ROOT / page
        assert path.exists(), f"{page}: there is no {file}"
        if anchor and path.suffix in (".md", ".ipynb"):  # others are anchors of the site's generated pages
            assert anchor in anchors(path), f"{page}: {file} has no heading #{anchor}"


@pytest.mark.parametrize("paper", papers.names())
def test_a_card_begins_with_title_citation_link_and_notebooks(paper):
    card, text = papers.card(paper), (ROOT / f"notebooks/{paper}/README.md").read_text(encoding="utf-8")
    first = text.split("\n## ")[0]
    for part in (f"# {card.title}\n", card.citation, card.url, "(experiment.ipynb)", "(report.ipynb)"):
        assert part in first


def test_the_targets_that_pages_name_are_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    listed = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)[1].split()
    for page in PAGES + CARDS:
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in re.findall(r"(?:^|`)make ([a-z][\w-]*)", text, re.M):
            assert target in listed, f"{page} names make {target}"
